//! From the bytes of `.decapod/kctl.toml` to a profile that every later reader may trust.

use toml::de::DeValue;

use super::fault::{ProfileFault, ProfileFaults};
use super::lines::{Lines, line_at};
use super::sound;
use crate::domain::profile::{PROFILE_VERSION, Profile};

/// How much of a profile is read.
pub const MAX_PROFILE_BYTES: usize = 256 * 1024;

/// Reads a profile. Nothing is run and no path is opened: the bytes may come from the work tree or from a git object.
pub fn read(bytes: &[u8]) -> Result<Profile, ProfileFaults> {
    if bytes.len() > MAX_PROFILE_BYTES {
        let fault = ProfileFault::TooLarge { bytes: bytes.len(), max_bytes: MAX_PROFILE_BYTES };
        return Err(ProfileFaults::one(fault));
    }
    let text = std::str::from_utf8(bytes).map_err(|fault| {
        let line = 1 + bytes[..fault.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        ProfileFaults::one(ProfileFault::NotText { line })
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::parse(text).map_err(|fault| {
        let line = line_at(text, fault.span().map_or(0, |span| span.start));
        ProfileFaults::one(ProfileFault::Syntax { line, problem: one_line(fault.message()) })
    })?;
    // The version comes first: a newer format may have keys that this reader would call unknown.
    known_version(&lines).map_err(ProfileFaults::one)?;
    let profile = toml::from_str::<Profile>(text).map_err(|fault| {
        let (key, line) = lines.at(fault.span());
        ProfileFaults::one(ProfileFault::Shape { key, line, problem: one_line(fault.message()) })
    })?;
    match ProfileFaults::of(sound::faults(&profile, &lines)) {
        Some(faults) => Err(faults),
        None => Ok(profile),
    }
}

fn known_version(lines: &Lines<'_>) -> Result<(), ProfileFault> {
    let Some((_, value)) = lines.table().iter().find(|(key, _)| key.get_ref() == "version") else {
        let problem = format!("is missing: write `version = {PROFILE_VERSION}`");
        return Err(ProfileFault::Shape { key: "version".into(), line: 1, problem });
    };
    match value.get_ref() {
        DeValue::Integer(number) if number.to_string() != PROFILE_VERSION.to_string() => Err(ProfileFault::Value {
            key: "version".into(),
            line: lines.of(&["version"]),
            problem: format!("is {number}, which this kctl cannot read"),
            legal: format!("write {PROFILE_VERSION}, or use a newer kctl"),
        }),
        // Another kind of value is refused by its type.
        _ => Ok(()),
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::profile::{CheckKind, Gate, IsolationWish, Overlap, Parser, Run};
    use crate::domain::refusal::{Code, Refusal};
    use crate::domain::stamp::Length;

    fn faults(text: &str) -> Vec<String> {
        match read(text.as_bytes()) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        }
    }

    const WHOLE: &str = r#"
version = 1

[checks.build]
run = ["cargo", "build", "--locked"]
kind = "build"

[checks.tests]
run = "cargo test --locked"
inputs = ["src/**", "tests/**", "Cargo.*"]
timeout = "20m"
kind = "test"
needs = ["build"]
env = ["RUST_LOG"]
required = false
parser = "cargo-test"
report = "target/junit.xml"
min_tests = 3
network = true
isolation = "auto"

[workspace]
dir = "../work trees"
setup = ["npm ci", ["make", "deps"]]
copy = [".env"]

[publish]
remote = "upstream"
base = "trunk"
protected = ["trunk", "release/**"]
gate = "all"

[tasks]
overlap = "refuse"
lease = "2h"

[limits]
max_output = "1MiB"
parallel = 3

[sandbox]
writable = ["../scratch", "~/.tool"]
"#;

    #[test]
    fn every_key_is_read() {
        let profile = read(WHOLE.as_bytes()).expect("legal");
        let tests = &profile.checks[&"tests".parse().expect("a name")];
        assert_eq!(tests.run, Run::Shell("cargo test --locked".into()));
        assert_eq!((tests.timeout, tests.kind), (Length::minutes(20), CheckKind::Test));
        assert_eq!((tests.required, tests.needs.len()), (false, 1));
        assert_eq!(profile.required().count(), 1);
        assert_eq!(profile.workspace.setup[1], Run::Argv(vec!["make".into(), "deps".into()]));
        assert_eq!((profile.publish.gate, profile.tasks.overlap), (Gate::All, Overlap::Refuse));
        assert_eq!(profile.limits.max_output.bytes(), 1 << 20);
        assert_eq!((tests.parser, tests.report.as_deref()), (Parser::CargoTest, Some("target/junit.xml")));
        assert_eq!((tests.min_tests, tests.network, tests.isolation), (Some(3), true, IsolationWish::Auto));
        assert_eq!((profile.limits.parallel, profile.sandbox.writable.len()), (Some(3), 2));
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        assert_eq!(read(b"version = 1\n"), Ok(Profile::default()));
        assert_eq!(read(b"\xef\xbb\xbfversion = 1\r\n[checks]\r\n"), Ok(Profile::default()));
    }

    #[test]
    fn the_digest_is_of_the_meaning_and_not_of_the_text() {
        let one = read(b"version=1\n[checks.a]\nrun='make check'\ntimeout='600s'\n").expect("legal");
        let other =
            read(b"# why\n[checks.a]\ntimeout = 600\nrun = \"make check\"\n[tasks]\n[limits]\nmax_output=4096\n");
        assert!(other.is_err(), "the version is missing");
        let other = read(b"version = 1\n[checks]\na = { run = \"make check\" }\n").expect("legal");
        assert_eq!(one.digest(), other.digest());
    }

    #[test]
    fn a_fault_names_the_key_the_line_and_what_is_legal() {
        let cases = [
            ("", "line 1: `version`: is missing: write `version = 1`"),
            (
                "version = 2\nnew = 1",
                "line 1: `version` is 2, which this kctl cannot read; write 1, or use a newer kctl",
            ),
            ("version = 1\n[checks.a]\n", "line 2: `checks.a`: missing field `run`"),
            (
                "version = 1\n\n[tasks]\noverlap = \"never\"\n",
                "line 4: `tasks.overlap`: unknown variant `never`, expected `warn` or `refuse`",
            ),
            (
                "version = 1\n[checks.a]\nrun = 3\n",
                "line 3: `checks.a.run`: invalid type: integer `3`, expected a string (run by the shell) or a list of \
                 strings (run directly)",
            ),
            (
                "version = 1\n[tasks]\nlaese = '1h'\n",
                "line 3: `tasks.laese`: unknown field `laese`, expected `overlap` or `lease`",
            ),
            (
                "version = 1\n[checks.Tests]\nrun = 'make'\n",
                "line 2: `checks.Tests`: \"Tests\" is not a check's name: a small letter, then up to 63 of a-z 0-9 _ -",
            ),
        ];
        for (text, said) in cases {
            assert_eq!(faults(text), [said], "{text}");
        }
    }

    #[test]
    fn a_text_that_is_not_toml_names_the_line() {
        assert!(faults("version = 1\n[checks\n")[0].starts_with("line 2: the profile is not TOML: "));
        assert!(faults("version = 1\nversion = 1\n")[0].starts_with("line 2: the profile is not TOML: "));
        assert_eq!(read(b"version = 1\n\xff").map_err(|f| f.first().line()), Err(Some(2)));
        assert!(matches!(read(&vec![b'#'; MAX_PROFILE_BYTES + 1]), Err(f) if f.first().key().is_none()));
        let deep = format!("version = 1\na = {}", "[".repeat(100_000));
        assert!(faults(&deep)[0].contains("not TOML"));
    }

    #[test]
    fn a_refusal_carries_key_and_line() {
        let refusal = Refusal::from(read(b"version = 1\n[tasks]\nlease = 0\n").expect_err("no length"));
        assert_eq!(refusal.code(), Code::PROFILE_INVALID);
        assert_eq!(refusal.details()["key"], "tasks.lease");
        assert_eq!(refusal.details()["line"], 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn a_profile_with_one_piece_replaced_never_panics(
            from in 0..WHOLE.len(), len in 0..40usize, with in "[\\PC\n\"'\\[\\]=.]{0,12}",
        ) {
            let to = (from + len).min(WHOLE.len());
            if WHOLE.is_char_boundary(from) && WHOLE.is_char_boundary(to) {
                let text = format!("{}{with}{}", &WHOLE[..from], &WHOLE[to..]);
                let _ = read(text.as_bytes()).map_err(|faults| Refusal::from(faults).data());
            }
        }
    }
}
