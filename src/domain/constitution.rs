//! The constitution: the rules that agents are served, as short Markdown documents with front matter. They are
//! embedded in the binary; a project adds to them, or words them anew, from its accepted base.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::path::TreePath;

/// The largest document that is read, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024;
/// The most documents that a project may bring.
pub const MAX_PROJECT_DOCUMENTS: usize = 64;
/// The most entries in one list of the front matter.
pub const MAX_LIST: usize = 64;

const EMBEDDED: [(&str, &str); 10] = [
    ("start.md", include_str!("../../constitution/start.md")),
    ("custody.md", include_str!("../../constitution/custody.md")),
    ("workspaces.md", include_str!("../../constitution/workspaces.md")),
    ("evidence.md", include_str!("../../constitution/evidence.md")),
    ("completion.md", include_str!("../../constitution/completion.md")),
    ("publication.md", include_str!("../../constitution/publication.md")),
    ("commitments.md", include_str!("../../constitution/commitments.md")),
    ("safety.md", include_str!("../../constitution/safety.md")),
    ("asking.md", include_str!("../../constitution/asking.md")),
    ("context.md", include_str!("../../constitution/context.md")),
];

static KERNEL: LazyLock<Constitution> = LazyLock::new(|| {
    let documents = EMBEDDED.iter().map(|(name, text)| {
        Mandate::parse(text, Authority::Kernel).unwrap_or_else(|why| panic!("embedded document {name}: {why}"))
    });
    Constitution { mandates: documents.map(|mandate| (mandate.id.clone(), mandate)).collect() }
});

/// Who stands behind a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// Embedded in the binary.
    Kernel,
    /// Read from the accepted base of the project.
    Project,
}

/// One document of the constitution, and when it is served.
#[derive(Clone, Debug)]
pub struct Mandate {
    pub id: String,
    pub title: String,
    /// Operations it is served with: a name, `noun.*`, or `*`.
    pub ops: BTreeSet<String>,
    /// Globs over the paths it is served with.
    pub paths: Vec<String>,
    pub tags: BTreeSet<String>,
    pub authority: Authority,
    /// Documents that are served whenever this one is.
    pub requires: BTreeSet<String>,
    /// The Markdown below the front matter.
    pub text: String,
    /// Of the whole document, front matter included: a mandate that is bound anew is a new version.
    pub digest: Digest,
    globs: GlobSet,
}

/// A document that cannot be taken as it stands, and why (it is named, never dropped in silence).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub document: String,
    pub why: String,
}

/// Why a text is not a document of the constitution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotADocument {
    #[error("it has {0} bytes, and at most {MAX_DOCUMENT_BYTES} are read")]
    TooLarge(usize),
    #[error("it does not begin with front matter between two lines `---`")]
    NoFrontMatter,
    #[error("line {0} of the front matter is not `name: value`")]
    NotAField(usize),
    #[error("`{0}` is not a member of the front matter: id, title, ops, paths, tags, authority, requires")]
    UnknownField(String),
    #[error("`{0}` is given twice")]
    Twice(String),
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{0}` is not a list in brackets of at most {MAX_LIST} plain words")]
    NotAList(String),
    #[error("`{0}` is not an id: 1 to 48 of a-z, 0-9 and -")]
    NotAnId(String),
    #[error("`{0}` is not an authority: kernel or project")]
    NotAnAuthority(String),
    #[error("only documents inside the binary have the authority `kernel`")]
    NotKernel,
    #[error("`{0}` is not a glob over paths")]
    NotAGlob(String),
    #[error("it has no text")]
    NoText,
}

/// All documents in force.
#[derive(Clone, Debug)]
pub struct Constitution {
    mandates: BTreeMap<String, Mandate>,
}

impl Constitution {
    /// The documents embedded in the binary, parsed once.
    pub fn embedded() -> &'static Self {
        &KERNEL
    }

    /// The embedded documents with those of a project, given as (file name, text) from its accepted base. A document
    /// with the id of an embedded one words it anew; it cannot make it served less often. What cannot be read is
    /// reported and leaves the embedded document in force.
    pub fn with_project(documents: &[(String, String)]) -> (Self, Vec<Problem>) {
        let mut constitution = Self::embedded().clone();
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        let mut sorted: Vec<_> = documents.iter().collect();
        sorted.sort();
        for (index, (name, text)) in sorted.into_iter().enumerate() {
            let problem = |why: String| Problem { document: name.clone(), why };
            if index >= MAX_PROJECT_DOCUMENTS {
                problems.push(problem(format!("only the first {MAX_PROJECT_DOCUMENTS} documents are read")));
                continue;
            }
            match Mandate::parse(text, Authority::Project) {
                Ok(mandate) if !seen.insert(mandate.id.clone()) => {
                    problems.push(problem(format!("another document has the id `{}`", mandate.id)));
                }
                Ok(mandate) => constitution.insert(mandate),
                Err(why) => problems.push(problem(why.to_string())),
            }
        }
        problems.extend(constitution.dangling());
        (constitution, problems)
    }

    fn insert(&mut self, mut mandate: Mandate) {
        if let Some(kernel) = KERNEL.mandates.get(&mandate.id) {
            mandate.ops.extend(kernel.ops.iter().cloned());
            mandate.tags.extend(kernel.tags.iter().cloned());
            mandate.requires.extend(kernel.requires.iter().cloned());
            let more: Vec<String> = kernel.paths.iter().filter(|path| !mandate.paths.contains(path)).cloned().collect();
            mandate.paths.extend(more);
            mandate.globs = globs(&mandate.paths).expect("both lists of globs were read before");
        }
        self.mandates.insert(mandate.id.clone(), mandate);
    }

    fn dangling(&self) -> Vec<Problem> {
        let missing = |mandate: &Mandate| {
            let unknown = mandate.requires.iter().filter(|id| !self.mandates.contains_key(*id));
            unknown
                .map(|id| Problem {
                    document: mandate.id.clone(),
                    why: format!("it requires `{id}`, and there is no such document"),
                })
                .collect::<Vec<_>>()
        };
        self.mandates.values().flat_map(missing).collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Mandate> {
        self.mandates.values()
    }

    pub fn find(&self, id: &str) -> Option<&Mandate> {
        self.mandates.get(id)
    }

    /// The documents that a call is served: those bound to its operation, its paths or its tags, and all that these
    /// require. Ordered by authority, then id.
    pub fn mandates_for(&self, op: Option<&str>, paths: &[TreePath], tags: &[String]) -> Vec<&Mandate> {
        let bound = self.all().filter(|mandate| mandate.is_bound_to(op, paths, tags));
        let mut open: Vec<&Mandate> = bound.collect();
        let mut served: BTreeMap<(Authority, &str), &Mandate> = BTreeMap::new();
        while let Some(mandate) = open.pop() {
            if served.insert((mandate.authority, &mandate.id), mandate).is_none() {
                open.extend(mandate.requires.iter().filter_map(|id| self.find(id)));
            }
        }
        served.into_values().collect()
    }
}

impl Mandate {
    /// Reads one document. `most` is the highest authority that its place of origin can give.
    fn parse(text: &str, most: Authority) -> Result<Self, NotADocument> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(NotADocument::TooLarge(text.len()));
        }
        let clean = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let (front, body) = split(&clean).ok_or(NotADocument::NoFrontMatter)?;
        let mut fields = read_fields(front)?;
        let mut list = |name: &'static str| match fields.remove(name) {
            Some(value) => read_list(name, &value),
            None => Ok(Vec::new()),
        };
        let (ops, paths, tags, requires) = (list("ops")?, list("paths")?, list("tags")?, list("requires")?);
        let id = fields.remove("id").ok_or(NotADocument::Missing("id"))?;
        let title = fields.remove("title").filter(|title| !title.is_empty()).ok_or(NotADocument::Missing("title"))?;
        let body = body.trim();
        if !is_id(&id) {
            return Err(NotADocument::NotAnId(id));
        }
        if body.is_empty() {
            return Err(NotADocument::NoText);
        }
        Ok(Self {
            authority: read_authority(fields.get("authority").map(String::as_str), most)?,
            globs: globs(&paths)?,
            ops: ops.into_iter().collect(),
            tags: tags.into_iter().collect(),
            requires: requires.into_iter().collect(),
            digest: Digest::of(text.as_bytes()),
            text: format!("{body}\n"),
            id,
            title,
            paths,
        })
    }

    fn is_bound_to(&self, op: Option<&str>, paths: &[TreePath], tags: &[String]) -> bool {
        let by_op = |op: &str| self.ops.iter().any(|pattern| op_matches(pattern, op));
        let by_path = |path: &TreePath| self.globs.is_match(String::from_utf8_lossy(path.as_bytes()).as_ref());
        op.is_some_and(by_op) || tags.iter().any(|tag| self.tags.contains(tag)) || paths.iter().any(by_path)
    }
}

fn op_matches(pattern: &str, op: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => op.starts_with(prefix),
        None => pattern == op,
    }
}

fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n")?;
    let end = rest.find("\n---\n")?;
    Some((&rest[..end], &rest[end + "\n---\n".len()..]))
}

fn read_fields(front: &str) -> Result<BTreeMap<String, String>, NotADocument> {
    const KNOWN: [&str; 7] = ["id", "title", "ops", "paths", "tags", "authority", "requires"];
    let mut fields = BTreeMap::new();
    for (index, line) in front.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.split_once(':').ok_or(NotADocument::NotAField(index + 2))?;
        let (name, value) = (name.trim(), value.trim());
        if !KNOWN.contains(&name) {
            return Err(NotADocument::UnknownField(name.to_owned()));
        }
        if fields.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(NotADocument::Twice(name.to_owned()));
        }
    }
    Ok(fields)
}

fn read_list(name: &str, value: &str) -> Result<Vec<String>, NotADocument> {
    let wrong = || NotADocument::NotAList(name.to_owned());
    let inner = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(wrong)?;
    let items: Vec<&str> = inner.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    if items.len() > MAX_LIST {
        return Err(wrong());
    }
    let bare = |item: &str| match (item.strip_prefix('"'), item.strip_suffix('"')) {
        (None, None) if !item.contains(['"', '[', ']']) => Ok(item.to_owned()),
        (Some(_), Some(_)) if item.len() > 2 && !item[1..item.len() - 1].contains('"') => {
            Ok(item[1..item.len() - 1].to_owned())
        }
        (None | Some(_), None | Some(_)) => Err(wrong()),
    };
    items.into_iter().map(bare).collect()
}

fn read_authority(value: Option<&str>, most: Authority) -> Result<Authority, NotADocument> {
    match (value, most) {
        (None, _) => Ok(most),
        (Some("kernel"), Authority::Kernel) => Ok(Authority::Kernel),
        (Some("kernel"), Authority::Project) => Err(NotADocument::NotKernel),
        (Some("project"), _) => Ok(Authority::Project),
        (Some(other), _) => Err(NotADocument::NotAnAuthority(other.to_owned())),
    }
}

fn is_id(text: &str) -> bool {
    (1..=48).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn globs(paths: &[String]) -> Result<GlobSet, NotADocument> {
    let mut set = GlobSetBuilder::new();
    for path in paths {
        let wrong = |_| NotADocument::NotAGlob(path.clone());
        set.add(GlobBuilder::new(path).literal_separator(true).build().map_err(wrong)?);
    }
    set.build().map_err(|_| NotADocument::NotAGlob(paths.join(", ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(mandates: &[&Mandate]) -> Vec<String> {
        mandates.iter().map(|mandate| mandate.id.clone()).collect()
    }

    fn document(id: &str, more: &str) -> (String, String) {
        (format!("{id}.md"), format!("---\nid: {id}\ntitle: T\n{more}\n---\n- **Do it.** It helps.\n"))
    }

    #[test]
    fn the_embedded_documents_parse_and_require_nothing_unknown() {
        let constitution = Constitution::embedded();
        assert_eq!(constitution.all().count(), EMBEDDED.len());
        assert_eq!(constitution.dangling(), []);
        for (name, _) in EMBEDDED {
            assert!(constitution.find(name.trim_end_matches(".md")).is_some(), "{name} has another id");
        }
    }

    #[test]
    fn the_embedded_documents_are_read_in_ten_minutes() {
        let words: usize = Constitution::embedded().all().map(|m| m.text.split_whitespace().count()).sum();
        assert!(words <= 2000, "{words} words at 200 a minute");
    }

    #[test]
    fn every_embedded_mandate_is_an_imperative_with_a_reason() {
        for mandate in Constitution::embedded().all() {
            let items: Vec<_> = mandate.text.split("\n- **").skip(1).collect();
            assert!(items.len() >= 4, "{}", mandate.id);
            for item in items {
                let (order, reason) = item.split_once("**").expect("the order ends");
                assert!(order.ends_with('.') && reason.split_whitespace().count() >= 4, "{}: {item}", mandate.id);
            }
        }
    }

    #[test]
    fn an_operation_brings_its_mandates_and_all_that_they_require() {
        let constitution = Constitution::embedded();
        assert_eq!(ids(&constitution.mandates_for(Some("publish"), &[], &[])), ["evidence", "publication"]);
        assert_eq!(ids(&constitution.mandates_for(Some("workspace.ensure"), &[], &[])), ["custody", "workspaces"]);
        assert_eq!(ids(&constitution.mandates_for(Some("task.finish"), &[], &[])), ["completion", "evidence"]);
        assert_eq!(ids(&constitution.mandates_for(Some("unheard.of"), &[], &[])), [""; 0]);
    }

    #[test]
    fn paths_and_tags_bring_mandates_too() {
        let constitution = Constitution::embedded();
        let workflow = TreePath::new(".github/workflows/ci.yml");
        assert_eq!(ids(&constitution.mandates_for(None, &[workflow], &[])), ["evidence", "publication"]);
        assert_eq!(ids(&constitution.mandates_for(None, &[TreePath::new(b"\xff.rs".to_vec())], &[])), [""; 0]);
        assert_eq!(ids(&constitution.mandates_for(None, &[], &["injection".to_owned()])), ["asking", "safety"]);
    }

    #[test]
    fn a_project_adds_and_rewords_but_cannot_silence() {
        let (constitution, problems) = Constitution::with_project(&[
            document("publication", "ops: []"),
            document("house", "ops: [publish]\nrequires: [start, house]"),
        ]);
        assert_eq!(problems, []);
        let served = constitution.mandates_for(Some("publish"), &[], &[]);
        assert_eq!(ids(&served), ["evidence", "start", "house", "publication"]);
        assert_eq!(served[3].authority, Authority::Project);
        assert_ne!(served[3].digest, Constitution::embedded().find("publication").expect("embedded").digest);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_leaves_the_kernel_in_force() {
        let cases = [
            ("big.md".to_owned(), "x".repeat(MAX_DOCUMENT_BYTES + 1)),
            ("bare.md".to_owned(), "# hello".to_owned()),
            document("evidence", "authority: kernel"),
            document("a", "colour: red"),
            document("b", "ops: publish"),
            document("c", "id: c"),
            document("d", "paths: [\"a{b\"]"),
            document("E!", ""),
            document("f", "requires: [nothing]"),
            ("g.md".to_owned(), "---\nid: g\ntitle: T\n---\n  \n".to_owned()),
        ];
        let (constitution, problems) = Constitution::with_project(&cases);
        assert_eq!(problems.len(), cases.len(), "{problems:#?}");
        assert_eq!(constitution.find("evidence").expect("embedded").authority, Authority::Kernel);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", front in "[-a-z:\\[\\]\", \\n*{}]{0,120}") {
            let _ = Constitution::with_project(&[
                ("a".to_owned(), text),
                ("b".to_owned(), format!("---\n{front}\n---\nbody")),
            ]);
        }
    }
}
