//! Pipelines, and the checks that kctl itself runs.

use super::flat::toml;
use super::{File, Severity, base};
use crate::rules::integrity::model::{Finding, Kind};

pub(super) fn is_pipeline(path: &str) -> bool {
    let name = base(path);
    (path.contains(".github/workflows/") || path.contains(".github/actions/"))
        || matches!(
            name,
            ".gitlab-ci.yml"
                | ".travis.yml"
                | "azure-pipelines.yml"
                | "Jenkinsfile"
                | "appveyor.yml"
                | ".appveyor.yml"
                | ".drone.yml"
                | "bitbucket-pipelines.yml"
                | "cloudbuild.yaml"
                | ".cirrus.yml"
                | "buildspec.yml"
                | ".pre-commit-config.yaml"
        )
        || path.contains(".circleci/")
        || path.contains(".buildkite/")
        || path.starts_with(".ci/")
        || path.contains(".gitlab/ci/")
        || path.contains(".woodpecker/")
}

pub(super) fn pipeline(file: &File<'_>, out: &mut Vec<Finding>) {
    let (severity, message) = match (&file.old, &file.new) {
        (None, _) => (Severity::Note, "a pipeline is new"),
        (_, None) => (Severity::Hold, "a pipeline is gone"),
        _ if file.moved => (Severity::Hold, "a pipeline has another name"),
        (Some(old), Some(new)) => {
            let (old, new) = (lines(old), lines(new));
            if old == new {
                return;
            }
            let versions = old.len() == new.len()
                && old.iter().zip(&new).all(|(a, b)| a == b || (pins(a) && masked(a) == masked(b)));
            if versions {
                (Severity::Note, "versions in a pipeline changed")
            } else {
                (Severity::Hold, "a pipeline changed")
            }
        }
    };
    out.push(file.finding(severity, Kind::CiChanged, None, message));
}

/// A line that names what it uses with a version.
fn pins(line: &str) -> bool {
    ["uses:", "image:", "rev:", "-version:", "version:"].iter().any(|word| line.contains(word))
}

/// Without comments, blank lines and spaces at the end; what stands before keeps its meaning in YAML.
fn lines(text: &str) -> Vec<String> {
    let bare = text.lines().map(|line| {
        let comment = line.find(" #").filter(|at| line[..*at].matches(['"', '\'']).count() % 2 == 0);
        comment.map_or(line, |at| &line[..at]).trim_end()
    });
    bare.filter(|line| !line.is_empty() && !line.trim_start().starts_with('#')).map(str::to_owned).collect()
}

/// The line with its version or commit after `@` or `:` left out.
fn masked(line: &str) -> String {
    let is_version = |text: &str| {
        let bare = text.trim_matches(['"', '\'', ' ']).trim_start_matches('v');
        !bare.is_empty()
            && (bare.starts_with(|c: char| c.is_ascii_digit())
                || bare.len() >= 7 && bare.chars().all(|c| c.is_ascii_hexdigit()))
    };
    match line.rfind(['@', ':', ' ']) {
        Some(at) if is_version(&line[at + 1..]) => line[..at].to_owned(),
        _ => line.to_owned(),
    }
}

/// `.decapod/kctl.toml`: the checks, and everything else in it.
pub(super) fn checks(file: &File<'_>, out: &mut Vec<Finding>) {
    let known: Vec<String> = file.old.as_deref().map(toml).unwrap_or_default().into_keys().collect();
    for difference in file.differences(toml) {
        let check =
            difference.key.strip_prefix("checks.").and_then(|rest| rest.split('.').next()).unwrap_or("").to_owned();
        let judges = difference.key.starts_with("checks") || difference.key == "(unreadable)";
        let fresh = !check.is_empty()
            && !known
                .iter()
                .any(|key| key.starts_with(&format!("checks.{check}.")) || *key == format!("checks.{check}"));
        let severity = if judges && !fresh { Severity::Hold } else { Severity::Note };
        let message = format!("`{}` changed", difference.key);
        out.push(file.finding(severity, Kind::CheckDefinitionChanged, Some(&difference), &message));
    }
}
