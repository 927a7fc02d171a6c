//! Files that say which tests run and how: what in them changed, and in which direction.

mod around;
mod build;
mod cargo;
mod ci;
mod flat;
mod python;
mod script;
mod stand_in;

pub(super) use build::{first_target, recipes_of};
use globset::GlobSet;

use super::model::{Change, Checks, Finding, Kind, Severity};
use super::paths::base;
use flat::Difference;

/// What a difference means: nothing, something to know, something to accept.
type Verdict = Option<Severity>;

pub(super) fn findings(changes: &[Change<'_>], checks: &Checks, extra: &GlobSet, out: &mut Vec<Finding>) {
    for change in changes {
        let Some(path) = change.new_path.as_deref().or(change.old_path.as_deref()) else { continue };
        let old_path = change.old_path.as_deref().unwrap_or(path);
        if change.old == change.new && old_path == path {
            continue;
        }
        let file = File { path, old: change.old.map(text), new: change.new.map(text), moved: old_path != path };
        let kept = file.old.is_some() && file.moved && is_config(old_path) && !is_config(path);
        if kept {
            out.push(file.finding(
                Severity::Hold,
                Kind::TestConfigChanged,
                None,
                "the test configuration has a name that nothing reads",
            ));
        }
        out.extend(stand_in::find(change, checks));
        one(&file, checks, extra, out);
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.len().min(super::model::MAX_FILE_BYTES);
    String::from_utf8_lossy(&bytes[..end]).replace("\r\n", "\n")
}

fn is_config(path: &str) -> bool {
    let name = base(path);
    ci::is_pipeline(path)
        || python::is_config(name)
        || script::is_config(name)
        || build::is_config(name)
        || cargo::is_config(path)
        || around::is_config(path)
        || name == "conftest.py"
}

struct File<'a> {
    path: &'a str,
    old: Option<String>,
    new: Option<String>,
    moved: bool,
}

impl File<'_> {
    fn finding(&self, severity: Severity, kind: Kind, difference: Option<&Difference>, message: &str) -> Finding {
        let shown = |values: &Option<Vec<String>>| values.as_ref().map(|values| super::body::short(&values.join(", ")));
        Finding {
            severity,
            kind,
            path: self.path.to_owned(),
            line: None,
            test: None,
            before: difference.and_then(|found| shown(&found.old)),
            after: difference.and_then(|found| shown(&found.new)),
            message: message.to_owned(),
        }
    }
    /// Whether only lines that begin with `#`, and empty ones, differ: a script's comments.
    fn same_but_for_comments(&self) -> bool {
        let said = |text: &str| -> Vec<String> {
            let lines = text.lines().enumerate();
            let kept = lines.filter(|(at, line)| {
                let line = line.trim();
                !(line.is_empty() || line.starts_with('#')) || *at == 0 && line.starts_with("#!")
            });
            kept.map(|(_, line)| line.to_owned()).collect()
        };
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => said(old) == said(new),
            _ => false,
        }
    }
    fn differences(&self, read: impl Fn(&str) -> flat::Flat) -> Vec<Difference> {
        let side = |text: &Option<String>| text.as_deref().map(&read).unwrap_or_default();
        flat::differences(&side(&self.old), &side(&self.new))
    }
    /// Says every difference that the rule has a verdict for.
    fn judge(&self, out: &mut Vec<Finding>, read: impl Fn(&str) -> flat::Flat, rule: impl Fn(&Difference) -> Verdict) {
        for difference in self.differences(read) {
            if let Some(severity) = rule(&difference) {
                let message = format!("`{}` changed", difference.key);
                out.push(self.finding(severity, Kind::TestConfigChanged, Some(&difference), &message));
            }
        }
    }
}

fn one(file: &File<'_>, checks: &Checks, extra: &GlobSet, out: &mut Vec<Finding>) {
    let name = base(file.path);
    if name == "kctl.toml" && file.path.contains(".decapod/") {
        return ci::checks(file, out);
    }
    if ci::is_pipeline(file.path) {
        return ci::pipeline(file, out);
    }
    if cargo::is_config(file.path) {
        return cargo::findings(file, out);
    }
    if name == "conftest.py" {
        return python::conftest(file, out);
    }
    if python::is_config(name) {
        return python::findings(file, out);
    }
    if script::is_config(name) {
        return script::findings(file, out);
    }
    if build::is_config(name) {
        return build::findings(file, checks, out);
    }
    if around::is_config(file.path) {
        return around::findings(file, out);
    }
    if python::is_plugin(file) {
        return python::conftest(file, out);
    }
    if extra.is_match(file.path) && !file.same_but_for_comments() {
        out.push(file.finding(
            Severity::Hold,
            Kind::TestConfigChanged,
            None,
            "a file that the project names as test configuration changed",
        ));
    }
}
