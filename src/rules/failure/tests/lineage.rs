use super::super::lineage;

#[track_caller]
fn one(commands: &[&str], shown: &str) {
    for command in commands {
        assert_eq!(lineage(command).to_string(), shown, "{command}");
    }
}

#[test]
fn spelling_does_not_make_another_lineage() {
    one(
        &[
            "pytest tests/test_a.py",
            "python -m pytest tests/test_a.py",
            "python3.11 -m pytest -v --tb=short ./tests/test_a.py 2>&1 | tail -20",
            "poetry run pytest -x -q -s tests/test_a.py; echo $?",
            "uv run --with pytest-xdist pytest -n auto tests/test_a.py | tee out.log | grep -v ok",
            "FOO=1 BAR='a b' timeout -k 5 60 pytest --color=yes -rA tests/test_a.py > out.txt 2>&1",
            "env A=1 time nice -n 10 pytest tests/test_a.py --maxfail=1 --durations 5 || true",
            "bash -lc 'set -e; pytest tests/test_a.py'",
            "(pytest tests/test_a.py) # again",
            "pytest tests/test_a.py -p no:cacheprovider",
        ],
        "pytest tests/test_a.py",
    );
    one(
        &[
            "cargo test",
            "cargo t --locked",
            "cargo +nightly test -- --nocapture",
            "RUST_BACKTRACE=1 cargo test --color always -j 4 -- --test-threads=1",
            "cargo test 2>&1 | head -50 | cat",
            "timeout 600 cargo test --no-fail-fast -q; echo \"exit: $?\"",
            "time cargo test &> /tmp/log",
        ],
        "cargo test",
    );
    one(&["npm test", "npm t", "npm run test", "npm run -s test", "CI=1 npm test -- --silent"], "npm test");
    one(
        &[
            "npx jest src/a.test.js --verbose",
            "pnpm exec jest --runInBand src/a.test.js",
            "./node_modules/.bin/jest src/a.test.js",
            "yarn exec jest src/a.test.js --ci",
        ],
        "jest src/a.test.js",
    );
    one(&["bundle exec rspec --format doc spec/a_spec.rb", "rspec spec/a_spec.rb"], "rspec spec/a_spec.rb");
    one(&["./gradlew test --stacktrace", "gradle test --info --no-daemon"], "gradle test");
    one(&["go test ./... -v", "go test -json -count=1 ./..."], "go test ...");
}

#[test]
fn what_is_checked_and_where_does() {
    one(&["cargo test --lib -p core parse"], "cargo test --lib -p core parse");
    one(&["cd web && npm test"], "npm test (in web)");
    one(&["make -C web test -j8", "cd web; make test"], "make test (in web)");
    one(&["cargo nextest run --no-fail-fast --test it"], "cargo nextest run --test it");
    one(&["npm run build && npm test"], "npm build && npm test");
    one(&["pytest -k 'a and b'"], "pytest -k a and b");
    one(&["go test -run TestA ./a"], "go test -run TestA a");
    one(&["grep foo a.txt"], "grep a.txt foo");
    for (a, b) in [
        ("cargo test a", "cargo test b"),
        ("cargo test", "cargo build"),
        ("cd a && make", "cd b && make"),
        ("pytest -k a", "pytest -k b"),
    ] {
        assert_ne!(lineage(a), lineage(b));
    }
}

#[test]
fn a_wider_run_covers_a_narrower_one() {
    let covers = |a: &str, b: &str| lineage(a).covers(&lineage(b));
    assert!(covers("pytest", "pytest tests/test_a.py -q"));
    assert!(covers("pytest tests", "python -m pytest tests/test_a.py::test_b"));
    assert!(covers("cargo test", "cargo test --lib parse"));
    assert!(
        covers("go test ./...", "go test ./a")
            && covers("go test ./a/...", "go test ./a/b")
            && !covers("go test ./a/...", "go test ./b")
    );
    assert!(covers("pytest tests/a.py tests/b.py", "pytest tests/a.py"));
    assert!(!covers("pytest tests/test_a.py", "pytest"));
    assert!(!covers("pytest tests/a", "pytest tests/ab"));
    assert!(!covers("cargo test a", "cargo test --lib a"));
    assert!(!covers("cargo build", "cargo test"));
    assert!(!covers("cd web && npm test", "npm test"));
}

#[test]
fn nonsense_has_a_lineage_too() {
    for command in ["", "   ", "'", "\"a", "|", "&&", "$(", "cd", "echo x", "a\u{0}b", "\\"] {
        let _ = lineage(command).to_string();
    }
    assert_eq!(lineage("echo x").program, "echo x");
}
