//! pytest, tox, coverage, mypy and ruff, in `pyproject.toml`, `pytest.ini`, `setup.cfg`, `tox.ini`, and `conftest.py`.

use std::collections::BTreeMap;

use super::flat::{Difference, Flat, ini, toml};
use super::{File, Severity, Verdict, base};
use crate::rules::integrity::model::{Finding, Kind, Language};
use crate::rules::integrity::syntax::{Source, named};

pub(super) fn is_config(name: &str) -> bool {
    matches!(
        name,
        "pyproject.toml"
            | "pytest.ini"
            | ".pytest.ini"
            | "pytest.toml"
            | "setup.cfg"
            | "tox.ini"
            | ".coveragerc"
            | "mypy.ini"
            | ".flake8"
            | "ruff.toml"
            | ".ruff.toml"
            | "noxfile.py"
    )
}

pub(super) fn findings(file: &File<'_>, out: &mut Vec<Finding>) {
    match base(file.path) {
        "noxfile.py" if file.old.is_some() => out.push(file.finding(
            Severity::Hold,
            Kind::TestConfigChanged,
            None,
            "the file that runs the tests changed",
        )),
        "noxfile.py" => {}
        name if name.ends_with(".toml") => {
            let ruff = name.contains("ruff");
            file.judge(out, toml, |found| if ruff { linter(found) } else { project(found) });
        }
        ".flake8" | "mypy.ini" => file.judge(out, ini, linter),
        ".coveragerc" => file.judge(out, ini, coverage),
        _ => file.judge(out, ini, sections),
    }
}

fn project(found: &Difference) -> Verdict {
    let key = found.key.as_str();
    if key.starts_with("tool.pytest") {
        return pytest(found);
    }
    if key.starts_with("tool.coverage") {
        return coverage(found);
    }
    if ["tool.mypy", "tool.ruff", "tool.pyright", "tool.pylint", "tool.flake8"].iter().any(|tool| key.starts_with(tool))
    {
        return linter(found);
    }
    let runs = ["tool.hatch", "tool.poe", "tool.pdm.scripts", "tool.tox", "tool.taskipy"]
        .iter()
        .any(|tool| key.starts_with(tool));
    (runs && key.contains("test") && found.old.is_some() || key == "(unreadable)").then_some(Severity::Hold)
}

fn sections(found: &Difference) -> Verdict {
    let (section, _) = found.key.rsplit_once('.').unwrap_or(("", ""));
    if matches!(section, "pytest" | "tool:pytest") {
        return pytest(found);
    }
    if section.starts_with("coverage") {
        return coverage(found);
    }
    if section.starts_with("testenv")
        && matches!(found.last(), "commands" | "ignore_outcome" | "ignore_errors" | "allowlist_externals" | "setenv")
    {
        return Some(if found.old.is_none() && found.last() != "ignore_outcome" && found.last() != "ignore_errors" {
            Severity::Note
        } else {
            Severity::Hold
        });
    }
    if section == "tox" && matches!(found.last(), "envlist" | "env_list") {
        return Some(if found.removed().is_empty() { Severity::Note } else { Severity::Hold });
    }
    if matches!(section, "flake8" | "mypy") || section.starts_with("mypy-") {
        return linter(found);
    }
    None
}

/// Directories that hold no tests of the project.
const BUILD_DIRS: [&str; 12] =
    [".git", "build", "dist", "node_modules", ".venv", "venv", ".tox", "*.egg", ".*", "{arch}", "__pycache__", ".eggs"];

fn pytest(found: &Difference) -> Verdict {
    let hold = |held: bool| Some(if held { Severity::Hold } else { Severity::Note });
    match found.last() {
        "addopts" => hold(options(found)),
        "testpaths" => {
            let usual = found.is().iter().all(|value| {
                matches!(value.trim_end_matches('/'), "tests" | "test" | "." | "src tests" | "tests src" | "src")
            });
            hold(if found.old.is_none() {
                !usual
            } else {
                !found.removed().is_empty() && found.new.is_some() && !found.is().iter().any(|v| v == ".")
            })
        }
        "python_files" | "python_classes" | "python_functions" => {
            let defaults = found.is().iter().any(|value| {
                ["test_*.py", "Test*", "Test", "test_*", "test", "test*"]
                    .iter()
                    .any(|known| value.split([' ', ',']).any(|part| part == *known))
            });
            hold(if found.old.is_none() {
                !defaults
            } else {
                !(found.removed().is_empty() || widened(found) || found.new.is_none() && defaults)
            })
        }
        "norecursedirs" | "collect_ignore" | "collect_ignore_glob" => {
            hold(found.added().iter().any(|value| value.split_whitespace().any(|dir| !BUILD_DIRS.contains(&dir))))
        }
        "xfail_strict" | "empty_parameter_set_mark" => hold(!found.is_new("true") && !found.is_new("True")),
        "filterwarnings" => hold(found.removed().contains(&"error")),
        "usefixtures" | "confcutdir" => hold(true),
        "markers" => None,
        _ => Some(Severity::Note),
    }
}

/// Every pattern that was there still is, within one line.
fn widened(found: &Difference) -> bool {
    let words = |values: &[String]| -> Vec<String> {
        values.iter().flat_map(|value| value.split([' ', ',']).map(str::to_owned)).collect()
    };
    let new = words(found.is());
    words(found.was()).iter().all(|word| new.contains(word))
}

/// Whether the options now choose fewer tests or accept more.
fn options(found: &Difference) -> bool {
    let words = |values: &[String]| -> Vec<String> {
        values.iter().flat_map(|value| value.split_whitespace().map(str::to_owned)).collect()
    };
    let (old, new) = (words(found.was()), words(found.is()));
    let harmless = |word: &str| {
        word.chars().all(|c| c.is_ascii_digit())
            || [
                "-q",
                "-v",
                "-vv",
                "-s",
                "-l",
                "-x",
                "-ra",
                "-rA",
                "-rs",
                "-rfE",
                "-n",
                "auto",
                "-W",
                "error",
                "--showlocals",
                "--no-header",
                "--doctest-modules",
            ]
            .contains(&word)
            || [
                "--strict",
                "--tb",
                "--color",
                "--cov",
                "--durations",
                "--import-mode",
                "--timeout",
                "--junit",
                "--dist",
                "--randomly",
                "--maxfail",
                "--numprocesses",
                "--log",
                "--capture",
                "-Werror",
                "--verbose",
                "--quiet",
                "--html",
                "--asyncio",
                "--disable-socket",
            ]
            .iter()
            .any(|start| word.starts_with(start))
    };
    let lost = |word: &str| {
        ["--strict", "--doctest", "--cov-fail-under", "-Werror", "--runslow", "--run-", "--disable-socket"]
            .iter()
            .any(|start| word.starts_with(start))
    };
    let raised = |word: &str| {
        let number = |word: &str| word.strip_prefix("--cov-fail-under=").and_then(|n| n.parse::<f64>().ok());
        number(word).is_some_and(|old| new.iter().filter_map(|word| number(word)).any(|new| new >= old))
    };
    new.iter().any(|word| !old.contains(word) && !harmless(word))
        || old.iter().any(|word| !new.contains(word) && lost(word) && !raised(word))
}

fn coverage(found: &Difference) -> Verdict {
    match found.last() {
        "fail_under" => Some(if found.lowered() { Severity::Hold } else { Severity::Note }),
        _ => Some(Severity::Note),
    }
}

fn linter(found: &Difference) -> Verdict {
    let held = match found.last() {
        "strict" | "warn_unused_ignores" | "check_untyped_defs" | "strict_optional" => {
            !found.is_new("true") && !found.is_new("True")
        }
        last if last.starts_with("disallow_") || last.starts_with("warn_") => {
            !found.is_new("true") && !found.is_new("True")
        }
        "ignore_errors" | "ignore_missing_imports" | "allow_untyped_defs" => {
            found.is_new("true") || found.is_new("True")
        }
        "ignore" | "extend-ignore" | "disable_error_code" | "disable" | "exclude" | "extend-exclude" => {
            !found.added().is_empty()
        }
        "select" | "extend-select" | "enable_error_code" | "files" => !found.removed().is_empty(),
        _ if found.key.contains("per-file-ignores") => !found.added().is_empty(),
        _ => return None,
    };
    Some(if held { Severity::Hold } else { Severity::Note })
}

/// Hooks of pytest that change neither what runs nor what counts as failed.
const HARMLESS: &[&str] = &[
    "pytest_addoption",
    "pytest_addhooks",
    "pytest_report_header",
    "pytest_report_collectionfinish",
    "pytest_sessionstart",
    "pytest_terminal_summary",
    "pytest_assertrepr_compare",
    "pytest_make_parametrize_id",
    "pytest_html_report_title",
    "pytest_html_results_summary",
    "pytest_fixture_setup",
    "pytest_fixture_post_finalizer",
    "pytest_unconfigure",
    "pytest_generate_tests",
    "pytest_configure",
];
/// Words by which even those do.
const HARMFUL: &[&str] = &[
    "exit",
    "_exit",
    "exitstatus",
    "ignore",
    "deselect",
    "keyword",
    "markexpr",
    "maxfail",
    "register",
    "outcome",
    "setattr",
    "testsfailed",
    "TestCase",
    "_pytest",
    "skip",
];

/// Code outside of `conftest.py` that hooks into pytest.
pub(super) fn is_plugin(file: &File<'_>) -> bool {
    let hooks = |text: &Option<String>| {
        text.as_deref().is_some_and(|text| text.contains("def pytest_") || text.contains("hookimpl"))
    };
    file.path.ends_with(".py") && (hooks(&file.new) || hooks(&file.old))
}

pub(super) fn conftest(file: &File<'_>, out: &mut Vec<Finding>) {
    file.judge(out, hooks, |found| {
        if found.new.is_none() {
            return Some(Severity::Note);
        }
        let said = |word: &&str| found.is().iter().any(|body| body.split(' ').any(|part| part == *word));
        let empty = found.is().iter().any(|body| body.contains("parametrize") && body.contains("[ ]"));
        let harmless = HARMLESS.contains(&found.last()) && !HARMFUL.iter().any(said) && !empty;
        Some(if harmless { Severity::Note } else { Severity::Hold })
    });
}

fn hooks(text: &str) -> Flat {
    let mut out: Flat = BTreeMap::new();
    let Ok(source) = Source::parse(Language::Python, text.as_bytes()) else { return out };
    let mut open = named(source.root());
    while let Some(whole) = open.pop() {
        let item =
            whole.child_by_field_name("definition").filter(|_| whole.kind() == "decorated_definition").unwrap_or(whole);
        let inner = item.named_child(0).unwrap_or(item);
        let name = source.field(item, "name");
        let said = |node| source.slice(node).map(|at| source.word(at)).collect::<Vec<_>>().join(" ");
        if item.kind() == "class_definition" {
            // A plugin may be an object.
            open.extend(item.child_by_field_name("body").map(named).unwrap_or_default());
        }
        // `hookimpl(specname=…)` gives a function the name of a hook.
        let hook =
            name.starts_with("pytest_") || whole.kind() == "decorated_definition" && said(whole).contains("specname");
        if item.kind() == "function_definition" && hook {
            out.insert(name.to_owned(), vec![said(item)]);
        }
        let left = source.field(inner, "left");
        if matches!(inner.kind(), "assignment" | "augmented_assignment") && left.starts_with("collect_ignore") {
            out.insert(left.to_owned(), vec![said(inner)]);
        }
    }
    out
}
