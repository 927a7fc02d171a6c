//! Proofs that are looked up in the tree, and not run. What cannot be read decides nothing: it is an error.

use crate::domain::contract::Proof;
use crate::domain::path::TreePath;
use crate::domain::run::Verdict;
use crate::domain::workspace::Dirt;
use crate::rules::{contract, scope};

use super::syntax::{self, Format};

/// How many paths a reason names.
const MAX_NAMED: usize = 20;

/// A file as a proof sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum File {
    Absent,
    Regular(Vec<u8>),
    /// A directory, a symlink, or anything else that is not a regular file.
    Other(&'static str),
    Unreadable(String),
}

/// A verdict and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub verdict: Verdict,
    pub reasons: Vec<String>,
}

impl Finding {
    pub fn pass() -> Self {
        Self { verdict: Verdict::Pass, reasons: Vec::new() }
    }

    pub fn fail(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, reasons: vec![why.into()] }
    }

    pub fn error(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Error, reasons: vec![why.into()] }
    }

    /// The same, found while something went on that leaves open what it was found on.
    pub fn unsettled(mut self, why: impl Into<String>) -> Self {
        self.verdict = Verdict::Error;
        self.reasons.insert(0, why.into());
        self
    }
}

/// Judges a proof about one file.
pub fn of_file(proof: &Proof, file: &File) -> Finding {
    match (proof, file) {
        (_, File::Unreadable(why)) => Finding::error(format!("it cannot be read: {why}")),
        (Proof::FileExists { .. }, File::Regular(_)) | (Proof::FileAbsent { .. }, File::Absent) => Finding::pass(),
        (Proof::FileAbsent { path }, _) => Finding::fail(format!("`{path}` exists")),
        (proof, file) => {
            let Some(path) = proof.path() else {
                return Finding::error(format!("a `{}` proof is not about one file", proof.kind()));
            };
            match file {
                File::Regular(bytes) => of_content(proof, path, bytes),
                File::Other(kind) => Finding::fail(format!("`{path}` is {kind}, not a regular file")),
                File::Absent | File::Unreadable(_) => Finding::fail(format!("`{path}` does not exist")),
            }
        }
    }
}

fn of_content(proof: &Proof, path: &str, bytes: &[u8]) -> Finding {
    let format = match proof {
        Proof::FileContains { text, pattern, .. } => return contains(path, text, pattern, bytes),
        Proof::JsonValid { comments: false, .. } => Format::Json,
        Proof::JsonValid { comments: true, .. } => Format::Jsonc,
        Proof::TomlValid { .. } => Format::Toml,
        Proof::YamlValid { .. } => Format::Yaml,
        Proof::Parses { .. } => match Format::of_path(path) {
            Some(format) => format,
            None => return Finding::error(format!("kctl has no parser for `{path}`")),
        },
        proof => return Finding::error(format!("a `{}` proof does not read the file", proof.kind())),
    };
    match syntax::parse(format, bytes) {
        Ok(()) => Finding::pass(),
        Err(why) => Finding::fail(format!("`{path}` is not {}: {why}", format.name())),
    }
}

fn contains(path: &str, text: &Option<String>, pattern: &Option<String>, bytes: &[u8]) -> Finding {
    let found = match (text, pattern) {
        (Some(text), _) => Ok(memchr::memmem::find(bytes, text.as_bytes()).is_some()),
        (None, Some(pattern)) => contract::compile(pattern).map(|regex| regex.is_match(bytes)),
        (None, None) => Err("neither a text nor a pattern is given".to_owned()),
    };
    match found {
        Ok(true) => Finding::pass(),
        Ok(false) => Finding::fail(format!("`{path}` does not contain it")),
        Err(why) => Finding::error(why),
    }
}

/// A search that must find nothing. It is trusted only after it found the control that was planted for it: a search
/// that finds nothing because it does not work proves nothing.
pub struct Search {
    regex: regex::bytes::Regex,
    scope: Option<globset::GlobSet>,
    hits: Vec<TreePath>,
    more: usize,
    looked_at: usize,
}

impl Search {
    /// # Errors
    /// In words, when the pattern or a glob does not compile.
    pub fn new(pattern: &str, paths: &[String]) -> Result<Self, String> {
        let scope = if paths.is_empty() { None } else { Some(scope::compile(paths)?) };
        Ok(Self { regex: contract::compile(pattern)?, scope, hits: Vec::new(), more: 0, looked_at: 0 })
    }

    pub fn covers(&self, path: &TreePath) -> bool {
        self.scope.as_ref().is_none_or(|scope| path.as_str().is_some_and(|path| scope.is_match(path)))
    }

    pub fn look(&mut self, path: &TreePath, bytes: &[u8]) {
        self.looked_at += 1;
        if !self.regex.is_match(bytes) {
            return;
        }
        if self.hits.len() < MAX_NAMED {
            self.hits.push(path.clone());
        } else {
            self.more += 1;
        }
    }

    /// The verdict, given whether the search found `control`, a text made to match the pattern.
    pub fn finish(self, control: Option<&[u8]>) -> Finding {
        let works = control.is_some_and(|control| self.regex.is_match(control));
        if !self.hits.is_empty() {
            let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
            return Finding::fail(format!("found in {}{more}", names(&self.hits)));
        }
        if !works {
            return Finding::error(
                "the search did not find its planted control, so that it found nothing proves nothing",
            );
        }
        if self.looked_at == 0 {
            return Finding::error("no file is in the search's paths, so that it found nothing proves nothing");
        }
        Finding::pass()
    }
}

/// A text that `pattern` matches, made by following the pattern itself. None where that is beyond it.
pub fn control_for(pattern: &str) -> Option<Vec<u8>> {
    let hir = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).build().parse(pattern).ok()?;
    let mut out = Vec::new();
    write_sample(&hir, &mut out, 0)?;
    Some(out)
}

const MAX_SAMPLE_BYTES: usize = 64 * 1024;
const MAX_SAMPLE_DEPTH: usize = 200;

fn write_sample(hir: &regex_syntax::hir::Hir, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    use regex_syntax::hir::{Class, HirKind};
    if out.len() > MAX_SAMPLE_BYTES || depth > MAX_SAMPLE_DEPTH {
        return None;
    }
    match hir.kind() {
        HirKind::Empty => Some(()),
        // A word boundary holds around a word: the sample stands alone, and the final check tells.
        HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            out.extend_from_slice(&literal.0);
            Some(())
        }
        HirKind::Class(Class::Unicode(class)) => {
            let mut buffer = [0; 4];
            let first = class.ranges().first()?.start();
            // A printable sample where there is one: `.` would else begin with NUL.
            let sample =
                ['a', '0', ' '].into_iter().find(|c| class.ranges().iter().any(|r| (r.start()..=r.end()).contains(c)));
            out.extend_from_slice(sample.unwrap_or(first).encode_utf8(&mut buffer).as_bytes());
            Some(())
        }
        HirKind::Class(Class::Bytes(class)) => {
            let first = class.ranges().first()?.start();
            let sample = [b'a', b'0', b' ']
                .into_iter()
                .find(|c| class.ranges().iter().any(|r| (r.start()..=r.end()).contains(c)));
            out.push(sample.unwrap_or(first));
            Some(())
        }
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min.max(1).min(repetition.max.unwrap_or(u32::MAX)) {
                write_sample(&repetition.sub, out, depth + 1)?;
            }
            Some(())
        }
        HirKind::Capture(capture) => write_sample(&capture.sub, out, depth + 1),
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write_sample(part, out, depth + 1)),
        HirKind::Alternation(parts) => write_sample(parts.first()?, out, depth + 1),
    }
}

/// Judges which of the `changed` paths are outside `paths`. Dirt that stood before the work began and is identical
/// still does not count.
pub fn diff_scope(
    (paths, max_files): (&[String], Option<u32>),
    changed: &[(TreePath, String)],
    baseline: &[Dirt],
) -> Finding {
    let scope = match scope::compile(paths) {
        Ok(scope) => scope,
        Err(why) => return Finding::error(why),
    };
    let was_there =
        |path: &TreePath, content: &String| baseline.iter().any(|dirt| dirt.path == *path && dirt.content == *content);
    let mut work: Vec<&TreePath> =
        changed.iter().filter(|(path, content)| !was_there(path, content)).map(|(path, _)| path).collect();
    // Staged and then changed again it is one file.
    work.dedup();
    let mut reasons = Vec::new();
    // What is not UTF-8 matches no glob but the one for everything.
    let inside = |path: &TreePath| path.as_str().map_or(paths == ["**"], |path| scope.is_match(path));
    let outside: Vec<&TreePath> = work.iter().copied().filter(|path| !inside(path)).collect();
    if !outside.is_empty() {
        reasons.push(format!("outside the scope: {}", some(&outside)));
    }
    if let Some(max) = max_files.filter(|max| work.len() as u64 > u64::from(*max)) {
        reasons.push(format!("{} files differ from the base, and at most {max} may: {}", work.len(), some(&work)));
    }
    if reasons.is_empty() { Finding::pass() } else { Finding::fail(reasons.join("; ")) }
}

fn some(paths: &[&TreePath]) -> String {
    let more = if paths.len() > MAX_NAMED { format!(" and {} more", paths.len() - MAX_NAMED) } else { String::new() };
    let shown: Vec<TreePath> = paths.iter().take(MAX_NAMED).map(|path| (*path).clone()).collect();
    format!("{}{more}", names(&shown))
}

fn names(paths: &[TreePath]) -> String {
    paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::new(text)
    }

    #[test]
    fn a_file_proof_passes_fails_or_cannot_tell() {
        let exists = Proof::FileExists { path: "a".into() };
        let absent = Proof::FileAbsent { path: "a".into() };
        let regular = File::Regular(b"hello".to_vec());
        for (proof, file, verdict) in [
            (&exists, &regular, Verdict::Pass),
            (&exists, &File::Absent, Verdict::Fail),
            (&exists, &File::Other("a directory"), Verdict::Fail),
            (&exists, &File::Unreadable("denied".into()), Verdict::Error),
            (&absent, &File::Absent, Verdict::Pass),
            (&absent, &regular, Verdict::Fail),
            (&absent, &File::Other("a symlink"), Verdict::Fail),
            (&absent, &File::Unreadable("denied".into()), Verdict::Error),
        ] {
            assert_eq!(of_file(proof, file).verdict, verdict, "{proof:?} {file:?}");
        }
    }

    #[test]
    fn contents_are_found_literally_or_by_pattern() {
        let file = File::Regular(b"a.b\nversion = \"1.2\"\n".to_vec());
        let literal = |text: &str| Proof::FileContains { path: "f".into(), text: Some(text.into()), pattern: None };
        let pattern = |text: &str| Proof::FileContains { path: "f".into(), text: None, pattern: Some(text.into()) };
        assert_eq!(of_file(&literal("a.b"), &file).verdict, Verdict::Pass);
        assert_eq!(of_file(&literal("axb"), &file).verdict, Verdict::Fail);
        assert_eq!(of_file(&pattern(r#"^version = "1\.\d""#), &file).verdict, Verdict::Pass);
        assert_eq!(of_file(&pattern("("), &file).verdict, Verdict::Error);
    }

    #[test]
    fn a_search_that_cannot_find_its_control_proves_nothing() {
        let run = |pattern: &str, files: &[(&str, &str)], control: Option<&[u8]>| {
            let mut search = Search::new(pattern, &["src".into()]).expect("a legal search");
            for (name, text) in files {
                if search.covers(&path(name)) {
                    search.look(&path(name), text.as_bytes());
                }
            }
            search.finish(control).verdict
        };
        let clean: &[(&str, &str)] = &[("src/a.rs", "fn a() {}"), ("docs/x.md", "TODO")];
        assert_eq!(run("TODO", clean, Some(b"TODO")), Verdict::Pass);
        assert_eq!(run("fn", clean, Some(b"fn")), Verdict::Fail);
        assert_eq!(run("TODO", clean, None), Verdict::Error);
        assert_eq!(run("TODO", &[("docs/x.md", "")], Some(b"TODO")), Verdict::Error);
    }

    #[test]
    fn a_control_is_made_for_the_patterns_that_people_write() {
        for pattern in
            ["TODO", r"\bunwrap\(\)", "(?i)password\\s*=", "dbg!|todo!", r"^\s*#\[ignore", "[A-F0-9]{40}", r"x.+y$"]
        {
            let control = control_for(pattern).expect("a sample");
            assert!(contract::compile(pattern).expect("legal").is_match(&control), "{pattern}");
        }
    }

    #[test]
    fn only_new_changes_outside_the_scope_count() {
        let changed = [(path("src/a.rs"), "1".to_owned()), (path("notes.txt"), "2".to_owned())];
        let dirt = Dirt { path: path("notes.txt"), content: "2".to_owned() };
        let scope = ["src/**".to_owned()];
        let scope = (scope.as_slice(), None);
        assert_eq!(diff_scope(scope, &changed, std::slice::from_ref(&dirt)).verdict, Verdict::Pass);
        assert_eq!(diff_scope(scope, &changed, &[]).verdict, Verdict::Fail);
        let edited = [(path("notes.txt"), "3".to_owned())];
        assert_eq!(diff_scope(scope, &edited, &[dirt]).verdict, Verdict::Fail);
    }

    #[test]
    fn at_most_so_many_files_differ_whatever_stands_twice_or_was_there_before() {
        let all = ["**".to_owned()];
        let changed = ["a", "a", "b", "c"].map(|name| (path(name), name.to_owned()));
        let dirt = Dirt { path: path("c"), content: "c".to_owned() };
        for (max, baseline, verdict) in [
            (3, &[][..], Verdict::Pass),
            (2, &[], Verdict::Fail),
            (2, std::slice::from_ref(&dirt), Verdict::Pass),
            (1, std::slice::from_ref(&dirt), Verdict::Fail),
        ] {
            let found = diff_scope((&all, Some(max)), &changed, baseline);
            assert_eq!(found.verdict, verdict, "{max}: {:?}", found.reasons);
        }
        let odd = [(TreePath::new(b"\xff".to_vec()), String::new())];
        assert_eq!(diff_scope((&all, Some(1)), &odd, &[]).verdict, Verdict::Pass);
        assert_eq!(diff_scope((&all, Some(0)), &odd, &[]).verdict, Verdict::Fail);
    }
}
