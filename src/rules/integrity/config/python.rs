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

/// Hooks by which `conftest.py` changes what runs and what counts as failed.
const HOOKS: [&str; 14] = [
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "pytest_collect_file",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_runtest_call",
    "pytest_runtest_protocol",
    "pytest_pyfunc_call",
    "pytest_itemcollected",
    "pytest_runtest_setup",
    "pytest_exception_interact",
    "pytest_report_teststatus",
    "pytest_configure",
    "pytest_make_collect_report",
];

pub(super) fn conftest(file: &File<'_>, out: &mut Vec<Finding>) {
    file.judge(out, hooks, |found| {
        let soft = found.last() == "pytest_configure"
            && !found.is().iter().any(|body| body.contains("exit") || body.contains("ignore"));
        Some(if soft || found.new.is_none() && found.old.is_some() { Severity::Note } else { Severity::Hold })
    });
}

fn hooks(text: &str) -> Flat {
    let mut out: Flat = BTreeMap::new();
    let Ok(source) = Source::parse(Language::Python, text.as_bytes()) else { return out };
    for item in named(source.root()) {
        let item =
            item.child_by_field_name("definition").filter(|_| item.kind() == "decorated_definition").unwrap_or(item);
        let inner = item.named_child(0).unwrap_or(item);
        let name = source.field(item, "name");
        if item.kind() == "function_definition" && HOOKS.contains(&name) {
            let words: Vec<&str> = source.slice(item).map(|at| source.word(at)).collect();
            out.insert(name.to_owned(), vec![words.join(" ")]);
        }
        let left = source.field(inner, "left");
        if matches!(inner.kind(), "assignment" | "augmented_assignment") && left.starts_with("collect_ignore") {
            let words: Vec<&str> = source.slice(inner).map(|at| source.word(at)).collect();
            out.insert(left.to_owned(), vec![words.join(" ")]);
        }
    }
    out
}
