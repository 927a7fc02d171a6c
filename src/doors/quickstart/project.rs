//! The small real project of the story: its one test fails because of one bug.

/// What the project is made of, and what the story does to it.
pub struct Project {
    /// How the story speaks of it.
    pub about: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    /// The file that has the bug.
    pub source: &'static str,
    /// What its failing test is called.
    pub failing: &'static str,
    /// Begins a comment in the file.
    pub comment: &'static str,
    /// Mends it: a patch for `git apply`.
    pub fix: &'static str,
    /// A check for the profile, where `kctl init` can find none.
    pub check: Option<&'static str>,
}

/// For where there is cargo.
pub const RUST: Project = Project {
    about: "a Rust crate without dependencies",
    files: &[
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\n"),
        (".gitignore", "/target\n"),
        ("src/lib.rs", RUST_SOURCE),
        ("tests/discount.rs", RUST_TEST),
    ],
    source: "src/lib.rs",
    failing: "ten_percent_are_a_tenth_of_the_total",
    comment: "//",
    fix: RUST_FIX,
    check: None,
};

/// For where there is no cargo, and make.
pub const MAKE: Project = Project {
    about: "a shell script with a Makefile, because PATH has no cargo with a linker",
    files: &[("Makefile", MAKEFILE), ("src/discount.sh", SHELL_SOURCE), ("tests/discount.sh", SHELL_TEST)],
    source: "src/discount.sh",
    failing: "ten percent are a tenth of the total",
    comment: "#",
    fix: SHELL_FIX,
    check: None,
};

/// For where there is neither.
pub const SHELL: Project = Project {
    about: "a shell script, because PATH has neither cargo with a linker nor make",
    files: &[("src/discount.sh", SHELL_SOURCE), ("tests/discount.sh", SHELL_TEST)],
    source: "src/discount.sh",
    failing: "ten percent are a tenth of the total",
    comment: "#",
    fix: SHELL_FIX,
    check: Some("\n[checks.test]\nrun = \"sh tests/discount.sh\"\nkind = \"test\"\n"),
};

const RUST_SOURCE: &str = "\
/// The total of `prices`, in cents, with `percent` taken off.
pub fn discounted(prices: &[u64], percent: u64) -> u64 {
    let total: u64 = prices.iter().sum();
    total - percent
}
";

const RUST_TEST: &str = "\
use shop::discounted;

#[test]
fn nothing_is_taken_off_at_zero_percent() {
    assert_eq!(discounted(&[1000, 1500], 0), 2500);
}

#[test]
fn ten_percent_are_a_tenth_of_the_total() {
    assert_eq!(discounted(&[1000, 1500], 10), 2250);
}
";

const RUST_FIX: &str = "\
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -2,4 +2,4 @@
 pub fn discounted(prices: &[u64], percent: u64) -> u64 {
     let total: u64 = prices.iter().sum();
-    total - percent
+    total - total * percent / 100
 }
";

const MAKEFILE: &str = ".PHONY: test\ntest:\n\t@sh tests/discount.sh\n";

const SHELL_SOURCE: &str = "\
# Prints the total of the prices, in cents, with a percentage taken off: discounted PERCENT PRICE...
discounted() {
    percent=$1 total=0
    shift
    for price in \"$@\"; do total=$((total + price)); done
    echo $((total - percent))
}
";

const SHELL_TEST: &str = "\
. ./src/discount.sh
status=0
expect() {
    if [ \"$2\" = \"$3\" ]; then echo \"ok: $1\"; else echo \"FAILED: $1: $3 instead of $2\"; status=1; fi
}
expect 'nothing is taken off at zero percent' 2500 \"$(discounted 0 1000 1500)\"
expect 'ten percent are a tenth of the total' 2250 \"$(discounted 10 1000 1500)\"
exit $status
";

const SHELL_FIX: &str = "\
--- a/src/discount.sh
+++ b/src/discount.sh
@@ -4,4 +4,4 @@
     shift
     for price in \"$@\"; do total=$((total + price)); done
-    echo $((total - percent))
+    echo $((total - total * percent / 100))
 }
";
