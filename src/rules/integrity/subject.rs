//! Whether the tests still test what they tested: names that a file of tests took from the code, and now makes itself,
//! takes from elsewhere, or replaces while it runs.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::bindings::is_runner;
use super::body::short;
use super::chain::split;
use super::model::{Finding, Kind, Language, Severity, Suite, Test};
use super::standard::{PYTHON, RUNNERS};
use super::syntax::{Class, Source, line_number, named};

/// A module of such a name helps tests, and is not what they are about.
const HELPS: &[&str] =
    &["test", "fixture", "helper", "mock", "fake", "stub", "util", "support", "factor", "spec", "dummy"];
/// Top-level blocks are entered so deep.
const MAX_DEPTH: usize = 4;

/// Names of a file by where they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Name and module.
    pub imports: BTreeMap<String, String>,
    /// What an imported name is called where it comes from, where that is another name.
    pub origins: BTreeMap<String, String>,
    pub defined: BTreeSet<String>,
    mocks: Vec<Mock>,
}

impl Names {
    pub fn of_runner(&self, language: Language, name: &str) -> bool {
        self.imports.get(name).is_some_and(|module| is_runner(language, module))
    }
}

/// A name, or a whole module, that is replaced while tests run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mock {
    target: String,
    /// The name that it is reached by, where it is one of the file.
    owner: String,
    module: bool,
    text: String,
    line: u32,
}

pub(super) fn names(source: &Source) -> Names {
    let mut names = Names::default();
    match source.language {
        Language::Python => python(source, source.root(), 0, &mut names),
        Language::JavaScript | Language::TypeScript | Language::Tsx => script(source, source.root(), &mut names),
        Language::Rust => rust(source, &mut names),
        Language::Go | Language::Java => {}
    }
    if source.language != Language::Rust {
        for at in 0..source.tokens.len() {
            names.mocks.extend(mock(source, at));
        }
    }
    names
}

fn python(source: &Source, node: Node<'_>, depth: usize, names: &mut Names) {
    for child in named(node) {
        match child.kind() {
            "import_statement" => {
                for item in named(child) {
                    let alias = source.field(item, "alias");
                    let full = if alias.is_empty() { source.text(item) } else { source.field(item, "name") };
                    let local = if alias.is_empty() { full.split('.').next().unwrap_or(full) } else { alias };
                    names.imports.insert(local.to_owned(), full.to_owned());
                }
            }
            "import_from_statement" => {
                let module = source.field(child, "module_name").to_owned();
                for item in named(child).into_iter().skip(1) {
                    let alias = source.field(item, "alias");
                    let local = if alias.is_empty() { source.text(item) } else { alias };
                    names.imports.insert(local.to_owned(), module.clone());
                    names.origins.remove(local);
                    if !alias.is_empty() && alias != source.field(item, "name") {
                        names.origins.insert(local.to_owned(), source.field(item, "name").to_owned());
                    }
                }
            }
            "function_definition" | "class_definition" => {
                names.defined.insert(source.field(child, "name").to_owned());
            }
            "decorated_definition" => {
                let name = child.child_by_field_name("definition").map_or("", |inner| source.field(inner, "name"));
                names.defined.insert(name.to_owned());
            }
            "expression_statement" => {
                if let Some(left) = child.named_child(0).and_then(|inner| inner.child_by_field_name("left")) {
                    let words = source.slice(left).filter(|at| source.class(*at) == Some(Class::Word));
                    if matches!(left.kind(), "identifier" | "pattern_list") {
                        names.defined.extend(words.map(|at| source.word(at).to_owned()));
                    }
                }
            }
            "try_statement" | "if_statement" | "block" | "except_clause" | "else_clause" if depth < MAX_DEPTH => {
                python(source, child, depth + 1, names);
            }
            _ => {}
        }
    }
}

fn script(source: &Source, root: Node<'_>, names: &mut Names) {
    for child in named(root) {
        match child.kind() {
            "import_statement" => {
                let range = source.slice(child);
                let module = range.clone().rfind(|at| source.class(*at) == Some(Class::Literal));
                let module = module.map_or("", |at| source.word(at)).to_owned();
                let renamed =
                    range.clone().filter(|at| source.word(*at) == "as" && source.word(at.saturating_sub(1)) != "*");
                names
                    .origins
                    .extend(renamed.map(|at| (source.word(at + 1).to_owned(), source.word(at - 1).to_owned())));
                let words = range.filter(|at| source.class(*at) == Some(Class::Word) && source.word(at + 1) != "as");
                let locals =
                    words.map(|at| source.word(at)).filter(|word| !matches!(*word, "import" | "from" | "type"));
                names.imports.extend(locals.map(|name| (name.to_owned(), module.clone())));
            }
            "lexical_declaration" | "variable_declaration" => {
                for declared in named(child) {
                    let (Some(name), Some(value)) =
                        (declared.child_by_field_name("name"), declared.child_by_field_name("value"))
                    else {
                        continue;
                    };
                    let is_name = |at: &usize| {
                        source.class(*at) != Some(Class::Literal)
                            && source.word(*at).starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
                            && source.word(at + 1) != ":"
                    };
                    let words = source.slice(name).filter(is_name);
                    let locals: Vec<String> = words.map(|at| source.word(at).to_owned()).collect();
                    let range = source.slice(value);
                    let start = range.start + usize::from(source.word(range.start) == "await");
                    if matches!(source.word(start), "require" | "import") && source.word(start + 1) == "(" {
                        let module = source.word(start + 2).to_owned();
                        names.imports.extend(locals.into_iter().map(|name| (name, module.clone())));
                    } else {
                        names.defined.extend(locals);
                    }
                }
            }
            "function_declaration" | "class_declaration" | "generator_function_declaration" => {
                names.defined.insert(source.field(child, "name").to_owned());
            }
            _ => {}
        }
    }
}

/// Leaves of `use a::{b, c as d}`; functions are known as helpers.
fn rust(source: &Source, names: &mut Names) {
    let mut at = 0;
    while at < source.tokens.len() {
        if source.word(at) != "use" || source.class(at) == Some(Class::Literal) {
            at += 1;
            continue;
        }
        let module = source.word(at + 1).to_owned();
        let line = source.tokens.get(at).map_or(0, |token| token.start as usize);
        let end = source.text.get(line..).and_then(|rest| rest.find(';')).map_or(line, |found| line + found);
        at += 1;
        while source.tokens.get(at).is_some_and(|token| (token.start as usize) < end) {
            if source.class(at) == Some(Class::Word) && !matches!(source.word(at + 1), "::" | "as") {
                names.imports.insert(source.word(at).to_owned(), module.clone());
            }
            at += 1;
        }
    }
}

fn mock(source: &Source, at: usize) -> Option<Mock> {
    let word = source.word(at);
    let literal = |at: usize| source.class(at) == Some(Class::Literal);
    let made = |target: &str, owner: &str, module: bool, end: usize| {
        let end = end.min(source.tokens.len());
        let (first, last) = (source.tokens.get(at)?, source.tokens.get(end.saturating_sub(1))?);
        let text = short(source.text.get(first.start as usize..last.end as usize)?);
        let row = source.text.get(..first.start as usize)?.matches('\n').count();
        let (target, owner) = (target.to_owned(), owner.to_owned());
        Some(Mock { target, owner, module, text, line: line_number(row) })
    };
    // `calc.add = …`, at the beginning of a statement.
    if source.class(at) == Some(Class::Word)
        && source.word(at + 1) == "."
        && source.word(at + 3) == "="
        && source.word(at.saturating_sub(1)) != "."
    {
        return made(source.word(at + 2), word, false, at + 6);
    }
    if source.word(at + 1) != "(" || literal(at) {
        return None;
    }
    let close = source.close(at + 1);
    let args = split(source, at + 2..close, &[","]);
    let first = args.first().filter(|first| !first.is_empty())?;
    let root = if source.word(at.saturating_sub(1)) == "." { source.word(at.saturating_sub(2)) } else { "" };
    if literal(first.start) && first.len() == 1 {
        let text = source.word(first.start);
        let whole =
            matches!((root, word), ("jest" | "vi", "mock" | "doMock" | "unstable_mockModule") | ("mock", "module"));
        if whole && args.len() > 1 {
            return made(text, "", true, close + 1);
        }
        let (owner, target) = text.rsplit_once('.')?;
        return matches!(word, "patch" | "setattr")
            .then(|| made(target, owner.split('.').next().unwrap_or(owner), false, close + 1))
            .flatten();
    }
    let second = args.get(1).filter(|second| second.len() == 1 && literal(second.start))?;
    let replaces = match word {
        "setattr" | "object" | "stub" | "method" | "replace" | "replaceProperty" => true,
        "spyOn" => {
            source.word(close + 1) == "." && {
                let then = source.word(close + 2);
                ["mock", "and", "calls", "returns"].iter().any(|start| then.starts_with(start))
            }
        }
        _ => false,
    };
    replaces.then(|| made(source.word(second.start), source.word(first.start), false, close + 1)).flatten()
}

/// The module is one of the project's own, and none that helps tests.
fn is_code(path: &str, module: &str) -> bool {
    let lower = module.to_lowercase();
    if module.is_empty() || HELPS.iter().any(|word| lower.contains(word)) {
        return false;
    }
    let first = module.split('.').next().unwrap_or(module);
    match path.rsplit('.').next() {
        Some("py" | "pyi") => !PYTHON.contains(&first) && !RUNNERS.contains(&first),
        Some("rs") => !matches!(module, "std" | "core" | "alloc" | "proptest" | "rstest"),
        _ => module.starts_with(['.', '#', '~']) || module.starts_with("@/"),
    }
}

/// A changed file of tests on both sides, with the tests that are in it before and after.
pub(super) struct Pair<'a> {
    pub path: &'a str,
    pub old: &'a Suite,
    pub new: &'a Suite,
    pub tests: Vec<(&'a Test, &'a Test)>,
}

/// A changed file on both sides, and whether it is still at its path.
pub(super) type Was<'a> = (Option<&'a Suite>, Option<&'a Suite>, bool);

/// New files, by the name that they are imported under, with what they define; and changed ones.
pub(super) struct Around<'a> {
    pub fresh: BTreeMap<String, &'a Suite>,
    pub changed: BTreeMap<String, Vec<Was<'a>>>,
}

impl Around<'_> {
    /// The module is gone, or gave the name away.
    fn moved(&self, module: &str, name: &str) -> bool {
        let files = self.changed.get(&stem_of(module));
        files.into_iter().flatten().any(|(old, new, here)| {
            !here || old.is_some_and(|old| defines(old, name)) && new.is_some_and(|new| !defines(new, name))
        })
    }
}

fn defines(suite: &Suite, name: &str) -> bool {
    suite.outline.defines(name)
        || suite.names.defined.contains(name)
        || suite.helpers.iter().any(|symbol| symbol.name == name)
}

pub(super) fn findings(pair: &Pair<'_>, around: &Around<'_>, out: &mut Vec<Finding>) {
    let (old, new) = (&pair.old.names, &pair.new.names);
    let mut say = |name: &str, line: Option<u32>, before: String, after: String, message: String| {
        out.push(Finding {
            severity: Severity::Hold,
            kind: Kind::SubjectReplaced,
            path: pair.path.to_owned(),
            line,
            test: None,
            before: Some(before),
            after: Some(after),
            message: message.replace("{}", name),
        });
    };
    let taken: Vec<(&String, &String)> = old.imports.iter().filter(|(_, module)| is_code(pair.path, module)).collect();
    for (name, module) in &taken {
        let helper = |suite: &Suite| {
            suite
                .helpers
                .iter()
                .find(|found| found.name == **name && found.in_tests && found.function)
                .map(|found| found.line)
        };
        let defined = new.defined.contains(*name) || helper(pair.new).is_some();
        let before = old.defined.contains(*name) || helper(pair.old).is_some();
        if defined && !before {
            let message = "`{}` is made in the file of tests now, and was taken from the code".to_owned();
            say(name, helper(pair.new), format!("from {module}"), "made here".to_owned(), message);
            continue;
        }
        if let Some(other) = new.imports.get(*name).filter(|other| other != module)
            && (elsewhere(module, other)
                || copied(around, module, other, name)
                || foreign(pair.path, around, module, other, name))
        {
            let message = "`{}` is taken from another place than the code that was tested".to_owned();
            say(name, None, format!("from {module}"), format!("from {other}"), message);
        }
        let (was, is) = (old.origins.get(*name), new.origins.get(*name));
        if was != is && new.imports.get(*name) == Some(module) && !around.moved(module, was.unwrap_or(name)) {
            let of = |name: Option<&String>| name.map_or("by that name", String::as_str).to_owned();
            say(name, None, of(was), of(is), "`{}` is something else of the code than what was tested".to_owned());
        }
        let everything = new.imports.get("*").filter(|other| old.imports.get("*") != Some(other));
        if let Some(other) = everything
            && !related(module, other)
            && !around.moved(module, name)
            && (!new.imports.contains_key(*name)
                || around.fresh.get(&stem_of(other)).is_some_and(|suite| defines(suite, name)))
        {
            let message = "`{}` is taken from another place than the code that was tested".to_owned();
            say(name, None, format!("from {module}"), format!("everything from {other}"), message);
        }
        let local = pair.tests.iter().find(|(was, is)| {
            was.calls.contains(*name)
                && is.calls.contains(*name)
                && is.bound.contains(*name)
                && !was.bound.contains(*name)
        });
        if let Some((_, is)) = local {
            let message = "`{}` is made in the test itself now, and was taken from the code".to_owned();
            say(name, Some(is.line), format!("from {module}"), "made here".to_owned(), message);
        }
    }
    let known: BTreeSet<&str> = old.mocks.iter().map(|mock| mock.text.as_str()).collect();
    for mock in new.mocks.iter().filter(|mock| !known.contains(mock.text.as_str())) {
        let called =
            |name: &str| pair.tests.iter().any(|(was, is)| was.calls.contains(name) && is.calls.contains(name));
        let replaced = if mock.module {
            taken.iter().any(|(name, module)| **module == mock.target && called(name))
        } else {
            called(&mock.target)
                && (taken.iter().any(|(name, _)| *name == &mock.target || *name == &mock.owner)
                    || mock.text.contains('.')
                        && taken.iter().any(|(_, module)| module.split('.').next() == Some(&mock.owner)))
        };
        if replaced {
            let message = "`{}` is replaced while the tests that call it run".to_owned();
            say(&mock.target, Some(mock.line), "the code".to_owned(), mock.text.clone(), message);
        }
    }
}

/// The other module lies among the tests, and the first did not.
fn elsewhere(module: &str, other: &str) -> bool {
    let lower = other.to_lowercase();
    let sibling = (other.starts_with("./") && module.starts_with("../"))
        || (other.starts_with('.') && !other.contains('/') && !module.starts_with('.'));
    sibling || HELPS.iter().any(|word| lower.contains(word))
}

/// A new file defines the name again, beside the code that stays as it is.
fn copied(around: &Around<'_>, module: &str, other: &str, name: &str) -> bool {
    around.fresh.get(&stem_of(other)).is_some_and(|suite| defines(suite, name)) && !around.moved(module, name)
}

/// Another module, while the first still has the name.
fn foreign(path: &str, around: &Around<'_>, module: &str, other: &str, name: &str) -> bool {
    if path.ends_with(".rs") {
        return matches!(other, "std" | "core" | "alloc");
    }
    !around.moved(module, name) && !related(module, other)
}

/// The two may be one module, or one within the other, which hands on what the other has.
fn related(module: &str, other: &str) -> bool {
    if stem_of(module) == stem_of(other) {
        return true;
    }
    let parts = |module: &str| -> Vec<String> {
        let script = module.contains('/') || module.starts_with('@');
        let plain = bare(module);
        let parts =
            plain.split(if script { '/' } else { '.' }).filter(|part| !matches!(*part, "" | "." | "src" | "lib"));
        parts.map(str::to_owned).collect()
    };
    let (was, is) = (parts(module), parts(other));
    was.starts_with(&is) || is.starts_with(&was)
}

/// Without the ending, and without the name that a directory is loaded by.
fn bare(module: &str) -> &str {
    let ends = [".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", ".mts", ".cts"];
    let module = ends.iter().find_map(|end| module.strip_suffix(end)).unwrap_or(module);
    module.strip_suffix("/index").unwrap_or(module)
}

fn stem_of(module: &str) -> String {
    let bare = bare(module);
    let last = bare.rsplit('/').next().unwrap_or(bare);
    last.rsplit('.').next().unwrap_or(last).to_owned()
}
