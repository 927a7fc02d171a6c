//! Maven, Gradle, Make and their like.

use super::flat::{Difference, Flat};
use super::{File, Severity, Verdict, base};
use crate::rules::integrity::model::{Checks, Finding, Kind};

pub(super) fn is_config(name: &str) -> bool {
    matches!(
        name,
        "pom.xml"
            | "testng.xml"
            | "junit-platform.properties"
            | "build.gradle"
            | "build.gradle.kts"
            | "gradle.properties"
            | "maven.config"
            | "Makefile"
            | "makefile"
            | "GNUmakefile"
            | "justfile"
            | "Justfile"
            | "codecov.yml"
            | ".codecov.yml"
            | ".golangci.yml"
            | ".golangci.yaml"
    )
}

pub(super) fn findings(file: &File<'_>, checks: &Checks, out: &mut Vec<Finding>) {
    let fresh = file.old.is_none();
    match base(file.path) {
        "pom.xml" if fresh => {}
        "pom.xml" => file.judge(out, xml, maven),
        "testng.xml" => file.judge(out, xml, |found| {
            Some(if found.removed().is_empty() && found.old.is_some() { Severity::Note } else { Severity::Hold })
        }),
        "build.gradle" | "build.gradle.kts" if fresh => {}
        "build.gradle" | "build.gradle.kts" => gradle(file, out),
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" => {
            if fresh && checks.programs.iter().any(|program| matches!(program.as_str(), "make" | "gmake" | "just")) {
                let message = "a new file of targets, which a check may be made from";
                out.push(file.finding(Severity::Hold, Kind::TestConfigChanged, None, message));
            }
            recipes(file, checks, out);
        }
        _ if fresh => {}
        "junit-platform.properties" | "maven.config" | "gradle.properties" => file.judge(out, properties, |found| {
            let about = found.key.to_lowercase();
            (about.contains("test") || about.contains("junit") || about.contains("skip")).then_some(Severity::Hold)
        }),
        _ => out.push(file.finding(
            Severity::Note,
            Kind::TestConfigChanged,
            None,
            "the configuration of a check changed",
        )),
    }
}

fn properties(text: &str) -> Flat {
    let pairs = text.lines().map(str::trim).filter(|line| !line.starts_with('#')).filter(|line| !line.is_empty());
    pairs
        .map(|line| {
            line.split_once('=').map_or((line.to_owned(), Vec::new()), |(key, value)| {
                (key.trim().to_owned(), vec![value.trim().to_owned()])
            })
        })
        .collect()
}

/// Element paths and their texts and attributes; comments left out. No more is needed to compare two of them.
fn xml(text: &str) -> Flat {
    let mut out = Flat::new();
    let mut path: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let value = rest[..open].trim();
        if !value.is_empty() && !path.is_empty() {
            out.entry(path.join(".")).or_default().push(value.to_owned());
        }
        rest = &rest[open..];
        let end =
            if rest.starts_with("<!--") { rest.find("-->").map(|at| at + 3) } else { rest.find('>').map(|at| at + 1) };
        let Some(end) = end else { break };
        let tag = &rest[1..end.saturating_sub(1).max(1)];
        rest = &rest[end..];
        if tag.starts_with(['!', '?']) {
            continue;
        }
        if tag.starts_with('/') {
            path.pop();
            continue;
        }
        let name = tag.split([' ', '\n', '\t', '/']).next().unwrap_or("");
        const MAX_PATH: usize = 64;
        if path.len() < MAX_PATH {
            path.push(name);
        }
        let attributes = tag[name.len()..].trim().trim_end_matches('/').trim();
        if !attributes.is_empty() {
            out.entry(format!("{}.@", path.join("."))).or_default().push(attributes.to_owned());
        }
        if tag.ends_with('/') {
            out.entry(path.join(".")).or_default().push(String::new());
            path.pop();
        }
    }
    out
}

fn maven(found: &Difference) -> Verdict {
    let key = found.key.as_str();
    let last = found.last();
    let held = match last {
        "skipTests" | "skip" | "maven.test.skip" | "skipITs" | "testFailureIgnore" | "skipExec" | "trimStackTrace"
            if last != "trimStackTrace" =>
        {
            found.is().iter().filter(|value| *value != "false").count()
                > found.was().iter().filter(|value| *value != "false").count()
        }
        "exclude" if key.contains("excludes") && !key.contains("resource") => !found.added().is_empty(),
        "excludedGroups" | "groups" | "test" | "excludesFile"
            if key.contains("configuration") || key.contains("properties") =>
        {
            found.new.is_some()
        }
        "include" if key.contains("includes") => !found.removed().is_empty() || found.old.is_none(),
        "failIfNoTests" | "failIfNoSpecifiedTests" | "haltOnFailure" => found.is_new("false"),
        "rerunFailingTestsCount" => true,
        "module" => !found.removed().is_empty(),
        "minimum" | "coveredratio" => found.lowered(),
        _ => {
            return if ["skip", "test.skip"].iter().any(|word| last.to_lowercase().contains(word))
                && found.is_new("true")
            {
                Some(Severity::Hold)
            } else {
                None
            };
        }
    };
    Some(if held { Severity::Hold } else { Severity::Note })
}

/// Words by which a Gradle build leaves tests out or forgives them.
const GRADLE: [&str; 14] = [
    "exclude",
    "excludeTags",
    "excludeTestsMatching",
    "includeTestsMatching",
    "includeTags",
    "ignoreFailures",
    "isIgnoreFailures",
    "enabled",
    "isEnabled",
    "onlyIf",
    "excludeCategories",
    "failOnNoMatchingTests",
    "filter",
    "setExcludes",
];

fn gradle(file: &File<'_>, out: &mut Vec<Finding>) {
    file.judge(out, blocks, |found| {
        let added = found.added();
        let removed = found.removed();
        let says =
            |line: &str| GRADLE.iter().any(|word| line.split(|c: char| !c.is_alphanumeric()).any(|part| part == *word));
        let off =
            |line: &str| says(line) && !line.contains("ignoreFailures = false") && !line.contains("enabled = true");
        let about_tests = found.key.to_lowercase().contains("test") || found.key.contains("jacoco");
        let loosened = about_tests && added.iter().any(|line| off(line))
            || added.iter().any(|line| {
                (line.contains("test.enabled")
                    || line.contains("test.onlyIf")
                    || line.contains("ignoreFailures")
                    || line.contains("test.exclude")
                    || (line.contains("withType(Test)") && off(line)))
                    && !line.contains("ignoreFailures = false")
            });
        let lost = about_tests
            && removed.iter().any(|line| line.contains("useJUnitPlatform") || line.contains("useTestNG"))
            && !added.iter().any(|line| line.contains("use"))
            || removed.iter().any(|line| line.contains("dependsOn") && line.to_lowercase().contains("test"));
        if loosened || lost {
            return Some(Severity::Hold);
        }
        about_tests.then_some(Severity::Note)
    });
}

/// Lines by the headers of the braces around them.
fn blocks(text: &str) -> Flat {
    let mut out = Flat::new();
    let mut path: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("").trim();
        if line.is_empty() || line.starts_with('*') || line.starts_with("/*") {
            continue;
        }
        let closes = line.matches('}').count();
        let opens = line.matches('{').count();
        if opens > closes {
            let header = line.split('{').next().unwrap_or("").trim();
            path.push(header.to_owned());
            let tail = line.split('{').nth(1).unwrap_or("").trim();
            if !tail.is_empty() {
                out.entry(path.join(".")).or_default().push(tail.to_owned());
            }
            continue;
        }
        if opens == closes && opens > 0 {
            let header = line.split('{').next().unwrap_or("").trim();
            let inner = line.split_once('{').map_or("", |(_, rest)| rest.trim_end_matches('}').trim());
            let key = if path.is_empty() { header.to_owned() } else { format!("{}.{header}", path.join(".")) };
            out.entry(key).or_default().push(inner.to_owned());
            continue;
        }
        if closes == 0 {
            out.entry(path.join(".")).or_default().push(line.to_owned());
        }
        (opens..closes).for_each(|_| {
            path.pop();
        });
    }
    out
}

/// `target: needs`, then its indented commands.
fn targets(text: &str) -> Flat {
    let mut out = Flat::new();
    let mut target = String::new();
    for line in text.lines() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            out.entry(target.clone()).or_default().push(line.trim().to_owned());
        } else if let Some((name, needs)) = line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')) {
            target = name.trim().to_owned();
            out.entry(target.clone()).or_default().push(needs.trim().to_owned());
        } else {
            target = "(variables)".to_owned();
            out.entry(target.clone()).or_default().push(line.trim().to_owned());
        }
    }
    out
}

/// What a check is made from: the targets that judge, what they need, and the variables that these use.
fn recipes(file: &File<'_>, checks: &Checks, out: &mut Vec<Finding>) {
    let side = |text: &Option<String>| text.as_deref().map(targets).unwrap_or_default();
    let (old, new) = (side(&file.old), side(&file.new));
    let mut judging: Vec<String> = old.keys().chain(new.keys()).filter(|name| judges(name)).cloned().collect();
    judging.extend(checks.targets.iter().cloned());
    let mut at = 0;
    while let Some(name) = judging.get(at).cloned() {
        let needs = [&old, &new].into_iter().filter_map(|side| side.get(&name)?.first());
        let needs: Vec<String> = needs.flat_map(|needs| needs.split_whitespace()).map(str::to_owned).collect();
        judging.extend(needs.into_iter().filter(|need| !judging.contains(need)).collect::<Vec<_>>());
        at += 1;
        if at > MAX_TARGETS {
            break;
        }
    }
    let used: String = judging
        .iter()
        .flat_map(|name| [old.get(name), new.get(name)])
        .flatten()
        .flat_map(|lines| lines.iter().skip(1))
        .fold(String::new(), |all, line| all + line + "\n");
    file.judge(out, targets, |found| {
        if found.key == "(variables)" {
            let told = |line: &&str| {
                let name = line.split(['=', ':', '?', '+']).next().unwrap_or("").trim();
                let name = name.trim_start_matches("export ").trim_start_matches("override ").trim();
                let special = matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "PATH" | ".DEFAULT_GOAL");
                let include = line.trim_start_matches(['-', 's']).starts_with("include");
                special || include || used.contains(&format!("$({name})")) || used.contains(&format!("${{{name}}}"))
            };
            let differ = [found.added(), found.removed()].concat();
            return differ.iter().any(told).then_some(Severity::Hold);
        }
        if matches!(found.key.as_str(), ".IGNORE" | ".SILENT" | ".ONESHELL" | ".DEFAULT" | ".POSIX") {
            return (found.key != ".SILENT").then_some(Severity::Hold);
        }
        if found.key == ".PHONY" {
            let loses =
                words(found.was()).iter().any(|name| judging.contains(name) && !words(found.is()).contains(name));
            return Some(if loses { Severity::Hold } else { Severity::Note });
        }
        if !judging.contains(&found.key) {
            return None;
        }
        recipe(found)
    });
}

/// The target that is made when none is named.
pub(in crate::rules::integrity) fn first_target(text: &str) -> Option<String> {
    let heads = text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '.']));
    heads
        .filter_map(|line| line.split_once(':'))
        .find(|(_, rest)| !rest.starts_with('='))
        .map(|(name, _)| name.trim().to_owned())
}

/// The commands of targets and of what they need.
pub(in crate::rules::integrity) fn recipes_of(text: &str, wanted: &[String]) -> Vec<String> {
    let all = targets(text);
    let (mut open, mut out): (Vec<String>, Vec<String>) = (wanted.to_vec(), Vec::new());
    let mut at = 0;
    while let Some(name) = open.get(at).filter(|_| at < MAX_TARGETS).cloned() {
        at += 1;
        let Some(lines) = all.get(&name) else { continue };
        out.extend(lines.iter().skip(1).cloned());
        let needs = lines.first().map(|needs| needs.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let fresh: Vec<String> = needs.unwrap_or_default().into_iter().filter(|need| !open.contains(need)).collect();
        open.extend(fresh);
    }
    out
}

/// Targets are followed to so many.
const MAX_TARGETS: usize = 500;

fn words(lines: &[String]) -> Vec<String> {
    lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect()
}

fn judges(target: &str) -> bool {
    target.split([' ', '-', '_', '/']).any(|word| {
        matches!(
            word,
            "test" | "tests" | "check" | "lint" | "ci" | "verify" | "coverage" | "e2e" | "integration" | "unit"
        )
    })
}

fn recipe(found: &Difference) -> Verdict {
    let masks = |line: &&str| {
        ["exit 0", "|| true", "|| :", "; true", "|| echo", "| cat", "| tee", "2>/dev/null"]
            .iter()
            .any(|word| line.contains(word))
            || line.starts_with('-')
    };
    let grows = found.removed().is_empty() && !found.added().iter().any(masks);
    found.old.is_some().then_some(if grows { Severity::Note } else { Severity::Hold })
}
