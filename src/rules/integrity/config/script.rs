//! jest, vitest, mocha, playwright, TypeScript and eslint, in JSON or in code.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::flat::{Difference, Flat, json};
use super::{File, Severity, Verdict, base};
use crate::rules::integrity::model::{Finding, Kind, Language};
use crate::rules::integrity::syntax::{Source, named};

const RUNNERS: [&str; 10] = [
    "jest.config.",
    "vitest.config.",
    "vitest.workspace.",
    "vite.config.",
    "playwright.config.",
    "cypress.config.",
    "karma.conf.",
    "ava.config.",
    ".mocharc",
    "wdio.conf.",
];
const MAX_DEPTH: usize = 24;

pub(super) fn is_config(name: &str) -> bool {
    matches!(
        name,
        "package.json" | "biome.json" | "biome.jsonc" | ".nycrc" | ".nycrc.json" | ".c8rc.json" | ".eslintignore"
    ) || RUNNERS.iter().any(|start| name.starts_with(start))
        || name.starts_with(".eslintrc")
        || name.starts_with("eslint.config.")
        || name.starts_with("tsconfig") && name.ends_with(".json")
}

pub(super) fn findings(file: &File<'_>, out: &mut Vec<Finding>) {
    let name = base(file.path);
    if file.new.is_none() {
        let severity = if name == "package.json" { Severity::Note } else { Severity::Hold };
        return out.push(file.finding(severity, Kind::TestConfigChanged, None, "the configuration is gone"));
    }
    let code = crate::rules::integrity::paths::language_of(name);
    let read = |text: &str| match code {
        Some(language) => object(language, text),
        None if name.ends_with(".yml") || name.ends_with(".yaml") || name == ".eslintignore" => lines(text),
        None => json(text),
    };
    if name == "package.json" {
        if file.old.is_some() {
            let called = called(&[&file.old, &file.new]);
            file.judge(out, read, |found| package(found, &called));
        }
    } else if name.starts_with("tsconfig") {
        file.judge(out, read, typescript);
    } else if name.contains("eslint") || name.starts_with("biome") {
        file.judge(out, read, linter);
    } else {
        let fresh = file.old.is_none();
        file.judge(out, read, |found| {
            runner(found).map(|severity| if fresh && !narrows(found) { Severity::Note } else { severity })
        });
    }
}

/// A setting that leaves tests out, whoever writes it first.
fn narrows(found: &Difference) -> bool {
    matches!(
        found.last(),
        "testPathIgnorePatterns"
            | "testIgnore"
            | "passWithNoTests"
            | "ignore"
            | "grep"
            | "testNamePattern"
            | "exclude"
            | "dangerouslyIgnoreUnhandledErrors"
            | "testRunner"
            | "runner"
            | "retry"
            | "retries"
            | "updateSnapshot"
    )
}

/// Words that say of a script that it judges.
const JUDGES: &[&str] = &[
    "test",
    "lint",
    "check",
    "typecheck",
    "type-check",
    "ci",
    "verify",
    "coverage",
    "e2e",
    "tsc",
    "unit",
    "integration",
];

fn judges(name: &str) -> bool {
    JUDGES.iter().any(|word| {
        name == *word
            || name.starts_with(&format!("{word}:"))
            || name.ends_with(&format!(":{word}"))
            || name == format!("pre{word}")
            || name == format!("post{word}")
    })
}

/// Scripts that the judging ones run, by name.
fn called(sides: &[&Option<String>]) -> BTreeSet<String> {
    let flats: Vec<Flat> = sides.iter().filter_map(|text| text.as_deref()).map(json).collect();
    let scripts = || flats.iter().flatten().filter_map(|(key, value)| Some((key.strip_prefix("scripts.")?, value)));
    let mut open: Vec<String> = scripts().filter(|(name, _)| judges(name)).map(|(name, _)| name.to_owned()).collect();
    let mut out = BTreeSet::new();
    while let Some(name) = open.pop() {
        let bodies: Vec<&String> = scripts().filter(|(other, _)| *other == name).flat_map(|(_, body)| body).collect();
        if !out.insert(name) {
            continue;
        }
        for (other, _) in scripts() {
            let named =
                bodies.iter().any(|body| body.split_whitespace().any(|word| word.trim_matches(['"', '\'']) == other));
            let runs = bodies.iter().any(|body| {
                ["npm ", "yarn ", "pnpm ", "run-s", "run-p", "bun ", "npm-run-all"]
                    .iter()
                    .any(|tool| body.contains(tool))
            });
            if named && runs {
                open.push(other.to_owned());
            }
        }
    }
    out
}

fn package(found: &Difference, called: &BTreeSet<String>) -> Verdict {
    let mut parts = found.key.split('.');
    let local = |found: &Difference| {
        let local =
            |value: &String| ["file:", "link:", "portal:", "./", "../"].iter().any(|start| value.starts_with(start));
        (found.is().iter().any(local) && !found.was().iter().any(local)).then_some(Severity::Hold)
    };
    match parts.next().unwrap_or("") {
        "scripts" => script(found, called),
        "devDependencies" | "overrides" | "resolutions" => local(found),
        "jest" | "vitest" | "mocha" | "ava" | "nyc" | "c8" | "tap" => runner(found),
        "eslintConfig" | "eslintIgnore" => linter(found),
        "(unreadable)" => Some(Severity::Note),
        "workspaces" if !found.removed().is_empty() => Some(Severity::Hold),
        _ => None,
    }
}

fn script(found: &Difference, called: &BTreeSet<String>) -> Verdict {
    let name = found.key.trim_start_matches("scripts.");
    if !judges(name) && !called.contains(name) {
        return None;
    }
    let Some(old) = found.was().first() else {
        let runs_before = name.starts_with("pretest") || name.starts_with("posttest");
        return Some(if runs_before { Severity::Hold } else { Severity::Note });
    };
    let Some(new) = found.is().first() else { return Some(Severity::Hold) };
    let harmless = [
        "--verbose",
        "--coverage",
        "--color",
        "--colors",
        "--runInBand",
        "-i",
        "--ci",
        "--forbid-only",
        "--max-warnings=0",
        "--reporter=verbose",
        "--run",
        "--silent=false",
        "--detectOpenHandles",
        "--strict",
    ];
    let added = new.split_whitespace().filter(|word| !old.split_whitespace().any(|known| known == *word));
    let removed = old.split_whitespace().filter(|word| !new.split_whitespace().any(|known| known == *word));
    let quieter = [
        "--verbose",
        "--color",
        "--colors",
        "--runInBand",
        "-i",
        "--watch",
        "--silent",
        "--passWithNoTests",
        "--bail",
        "-b",
        "-x",
    ];
    let same =
        added.clone().all(|word| harmless.contains(&word)) && removed.clone().all(|word| quieter.contains(&word));
    Some(if same { Severity::Note } else { Severity::Hold })
}

fn runner(found: &Difference) -> Verdict {
    let key = found.key.as_str();
    let last = found.last();
    let held = match last {
        _ if key.to_lowercase().contains("threshold")
            || matches!(last, "branches" | "lines" | "functions" | "statements") =>
        {
            found.lowered()
        }
        "testPathIgnorePatterns"
        | "exclude"
        | "ignore"
        | "testIgnore"
        | "modulePathIgnorePatterns"
        | "ignoreFiles"
        | "coveragePathIgnorePatterns" => {
            !found.added().is_empty()
                && !last.starts_with("coverage")
                && !key.contains("coverage")
                && !key.contains("watch")
        }
        "testMatch" | "testRegex" | "roots" | "include" | "spec" | "files" | "testDir" | "rootDir" | "projects"
        | "specPattern" | "extension" | "dir" | "root" => {
            !key.contains("coverage")
                && (found.old.is_none() || !found.removed().is_empty())
                && (found.old.is_some() || !usual(found))
        }
        "check-coverage" | "forbidOnly" | "forbidPending" | "failZero" | "errorOnDeprecated" => !found.is_new("true"),
        "passWithNoTests" | "allowOnly" | "dangerouslyIgnoreUnhandledErrors" | "invert" | "exit" => {
            found.is_new("true") && last != "exit"
        }
        "grep" | "fgrep" | "testNamePattern" | "grepInvert" => found.new.is_some(),
        // Tried again until it passes.
        "retry" | "retries" | "runMode" => raised(found),
        "updateSnapshot" | "update" | "updateSnapshots" => found.new.is_some() && !found.is_new("false"),
        "testRunner" | "runner" => found.new.is_some(),
        "(unreadable)" => true,
        _ => false,
    };
    Some(if held { Severity::Hold } else { Severity::Note })
}

fn raised(found: &Difference) -> bool {
    let number = |values: &[String]| values.first().and_then(|value| value.parse::<u32>().ok());
    found.new.is_some() && number(found.is()).is_none_or(|new| new > number(found.was()).unwrap_or(0))
}

/// A first setting that says what the runner does anyway.
fn usual(found: &Difference) -> bool {
    found.is().iter().all(|value| {
        let value = value.trim_matches(['"', '\'', '`']);
        value.starts_with("**/") && value.contains("test")
            || matches!(value, "src" | "tests" | "<rootDir>/src" | "<rootDir>" | "./" | "." | "<rootDir>/tests")
    })
}

fn typescript(found: &Difference) -> Verdict {
    let last = found.last();
    let strict = last.starts_with("strict")
        || last.starts_with("noImplicit")
        || last.starts_with("noUnused")
        || last.starts_with("noUnchecked")
        || matches!(
            last,
            "alwaysStrict"
                | "exactOptionalPropertyTypes"
                | "noFallthroughCasesInSwitch"
                | "checkJs"
                | "noPropertyAccessFromIndexSignature"
                | "useUnknownInCatchVariables"
        );
    if strict {
        let was = found.was().first().is_some_and(|value| value == "true");
        let loosened = found.is_new("false") || (was && found.new.is_none());
        return Some(if loosened { Severity::Hold } else { Severity::Note });
    }
    match found.key.as_str() {
        "exclude" => Some(
            if found
                .added()
                .iter()
                .any(|value| !matches!(*value, "node_modules" | "dist" | "build" | "coverage" | "out"))
            {
                Severity::Hold
            } else {
                Severity::Note
            },
        ),
        "include" | "files" => {
            Some(if found.old.is_some() && !found.removed().is_empty() { Severity::Hold } else { Severity::Note })
        }
        "extends" if found.old.is_some() => Some(Severity::Hold),
        "compilerOptions.noEmitOnError" | "compilerOptions.noCheck" => Some(Severity::Hold),
        "(unreadable)" => Some(Severity::Note),
        _ => None,
    }
}

fn linter(found: &Difference) -> Verdict {
    let last = found.last();
    if found.key.split('.').any(|part| part == "rules") || last.contains('/') {
        let level = |values: &[String]| match values.first().map(|value| value.trim_matches(['"', '\''])) {
            Some("error" | "2") => 2,
            Some("warn" | "1") => 1,
            Some("off" | "0") => 0,
            Some(_) => 2,
            None => -1,
        };
        let (old, new) = (level(found.was()), level(found.is()));
        let held = found.new.is_some() && found.old.is_some() && new < old
            || (found.old.is_none() && new == 0)
            || (found.new.is_none() && old > 0);
        return Some(if held { Severity::Hold } else { Severity::Note });
    }
    Some(match last {
        "ignorePatterns" | "ignores" | "ignore"
            if !found.added().iter().all(|value| {
                ["dist", "build", "coverage", "node_modules", "out", "vendor"].iter().any(|dir| value.contains(dir))
            }) =>
        {
            Severity::Hold
        }
        "extends" if !found.removed().is_empty() && found.added().is_empty() => Severity::Hold,
        "enabled" if found.is_new("false") => Severity::Hold,
        last if last.starts_with("line ") && (found.new.is_none() || found.key.contains("off")) => Severity::Hold,
        _ => Severity::Note,
    })
}

/// The object literals of a configuration that is code.
fn object(language: Language, text: &str) -> Flat {
    let mut out = Flat::new();
    let Ok(source) = Source::parse(language, text.as_bytes()) else { return out };
    let mut stack: Vec<(Node<'_>, String, usize)> = vec![(source.root(), String::new(), 0)];
    while let Some((node, path, depth)) = stack.pop() {
        if depth > MAX_DEPTH {
            continue;
        }
        if node.kind() != "pair" {
            stack.extend(
                named(node)
                    .into_iter()
                    .map(|child| (child, path.clone(), depth + usize::from(node.kind() == "object"))),
            );
            continue;
        }
        let (Some(key), Some(value)) = (node.child_by_field_name("key"), node.child_by_field_name("value")) else {
            continue;
        };
        let key = source.text(key).trim_matches(['"', '\'', '`']);
        let within = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let word = |node: Node<'_>| source.slice(node).map(|at| source.word(at)).collect::<Vec<_>>().join(" ");
        if value.kind() == "object" {
            stack.push((value, within, depth + 1));
        } else if value.kind() == "array" && !named(value).iter().any(|item| item.kind() == "object") {
            out.entry(within).or_default().extend(named(value).into_iter().map(word));
        } else if value.kind() == "array" {
            stack.push((value, within, depth + 1));
        } else {
            out.entry(within).or_default().push(word(value));
        }
    }
    out
}

fn lines(text: &str) -> Flat {
    let kept = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut out = Flat::new();
    for line in kept {
        match line.split_once(':') {
            Some((key, value)) if !line.starts_with('-') => {
                out.entry(key.trim().to_owned()).or_default().push(value.trim().to_owned())
            }
            _ => out.entry(format!("line {line}")).or_default().push(line.to_owned()),
        }
    }
    out
}
