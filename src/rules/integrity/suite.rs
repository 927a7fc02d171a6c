//! The survey of one file: its tests and helpers, with the helpers' assertions counted where they are called.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::body::{Body, Tables, Walk, short};
use super::length::length;
use super::model::{Claim, Hollow, Language, MAX_NESTING, MAX_TIMES, Marker, Strength, Suite, Symbol, Test, Unread};
use super::reach::Outline;
use super::syntax::{Class, Source, children, hash, is_comment, line_number};
use super::{bindings, compared, go, java, marks, python, rust, script, subject};

/// Helpers are followed so deep.
const MAX_HELPER_DEPTH: u8 = 3;
/// Distinct assertions kept of one test.
const MAX_CLAIMS: usize = 2000;
const MAX_WORDS: usize = 4000;

/// What a test is besides its body.
#[derive(Default)]
pub(super) struct Spec {
    pub name: String,
    pub line: u32,
    pub skip: Option<Marker>,
    pub xfail: Option<Marker>,
    pub focus: Option<Marker>,
    pub cases: Option<u32>,
    pub cases_marked: u32,
    /// The cases are there, but their number is not seen.
    pub uncounted: bool,
    /// Assertions outside of the body: `should_panic`, `expected = …`.
    pub claims: Vec<Claim>,
}

/// Markers that hold for everything inside a block.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub path: Vec<String>,
    pub skip: Option<Marker>,
    pub xfail: Option<Marker>,
    pub focus: Option<Marker>,
    pub times: Option<u32>,
    /// Inside a module or file of tests.
    pub tests: bool,
}

impl Scope {
    pub fn within(&self, name: &str) -> Scope {
        let mut inner = self.clone();
        inner.path.push(name.to_owned());
        inner
    }
    pub fn too_deep(&self) -> bool {
        self.path.len() > MAX_NESTING
    }
}

pub(super) struct Collector<'s> {
    pub source: &'s Source,
    pub tables: &'s Tables,
    pub suite: Suite,
    /// Nodes of the structure that were entered: a bound on recursion.
    pub depth: usize,
    /// Hooks that skip, by the path of the block that they belong to.
    pub pending: Vec<(String, Marker)>,
}

impl<'s> Collector<'s> {
    pub fn marker(&self, node: Node<'_>, conditional: bool) -> Marker {
        Marker { text: short(self.source.text(node)), line: self.source.line(node), conditional, inherited: false }
    }
    pub fn enter(&mut self) -> bool {
        let fits = self.depth < 4 * MAX_NESTING;
        if fits {
            self.depth += 1;
        } else {
            self.suite.unread = Some(Unread::TooDeep);
        }
        fits
    }
    pub fn walk(&self, body: Node<'_>, apart: &dyn Fn(Node<'_>) -> bool) -> Body {
        Walk::new(self.source, self.tables, apart).run(body)
    }
    pub fn test(&mut self, spec: Spec, scope: &Scope, body: Option<Node<'_>>, apart: &dyn Fn(Node<'_>) -> bool) {
        let test = built(self.source, spec, scope, body.map(|body| (body, self.walk(body, apart))));
        self.add(test.0, test.1);
    }
    pub fn add(&mut self, test: Test, exits: Vec<Marker>) {
        self.suite.exits.extend(exits);
        if self.source.language == Language::Python {
            // A later definition replaces an earlier one of the same name.
            self.suite.tests.retain(|earlier| earlier.id != test.id);
        }
        self.suite.tests.push(test);
    }
    pub fn helper(&mut self, name: &str, node: Node<'_>, body: Node<'_>, tests: bool) {
        let mut found = self.walk(body, &|_| false);
        if !tests {
            // The project's own code asserts for itself; only what cannot be meant for itself counts for a test.
            let own = matches!(self.source.language, Language::Rust | Language::Python | Language::Go);
            found.claims.retain(|claim| !own && claim.strength != Strength::Failure);
            found.calls.clear();
        }
        let range = self.source.slice(body);
        let words = range
            .clone()
            .filter(|at| self.source.word(*at) != name)
            .take(MAX_WORDS)
            .map(|at| hash(self.source.word(at)));
        let mut words: Vec<u64> = words.collect();
        words.sort_unstable();
        self.suite.exits.extend(found.exits);
        self.suite.helpers.push(Symbol {
            name: name.to_owned(),
            line: self.source.line(node),
            body_digest: self.source.digest(range, true),
            words,
            claims: found.claims,
            calls: found.calls,
            skips: found.skip.into_iter().collect(),
            in_tests: tests,
            function: true,
        });
    }
    /// A name with no body that is read: a type, a constant.
    pub fn symbol(&mut self, name: &str, node: Node<'_>, tests: bool) {
        let range = self.source.slice(node);
        let mut words: Vec<u64> = range
            .clone()
            .filter(|at| self.source.word(*at) != name)
            .take(MAX_WORDS)
            .map(|at| hash(self.source.word(at)))
            .collect();
        words.sort_unstable();
        self.suite.helpers.push(Symbol {
            name: name.to_owned(),
            line: self.source.line(node),
            body_digest: self.source.digest(range, true),
            words,
            claims: Vec::new(),
            calls: BTreeMap::new(),
            skips: Vec::new(),
            in_tests: tests,
            function: false,
        });
    }
    /// A hook that skips does so for every test of its block, whether it stands before or after them.
    pub fn hook(&mut self, path: &[String], marker: Marker) {
        self.pending.push((path.join(" > "), marker.clone()));
        self.suite.loose_skips.push(marker);
    }
    fn apply_hooks(&mut self) {
        for (prefix, marker) in std::mem::take(&mut self.pending) {
            let inside = |id: &str| {
                prefix.is_empty() || id.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with(" > "))
            };
            for test in self.suite.tests.iter_mut().filter(|test| inside(&test.id)) {
                test.skipped.get_or_insert(Marker { inherited: true, ..marker.clone() });
            }
        }
    }
    /// Code that runs around the tests: a hook, a fixture, the module itself.
    pub fn around(&mut self, body: Node<'_>, apart: &dyn Fn(Node<'_>) -> bool) -> Option<Marker> {
        let found = self.walk(body, apart);
        self.suite.exits.extend(found.exits);
        found.skip
    }
}

/// A test and the exits in its body.
pub(super) fn built(source: &Source, spec: Spec, scope: &Scope, body: Option<(Node<'_>, Body)>) -> (Test, Vec<Marker>) {
    let inherit = |marker: &Option<Marker>| marker.clone().map(|marker| Marker { inherited: true, ..marker });
    let (digest, shape) = body.as_ref().map_or((0, 0), |(node, _)| {
        let range = source.slice(*node);
        (source.digest(range.clone(), true), source.digest(range, false))
    });
    let found = body.map(|(_, found)| found).unwrap_or(Body { empty: true, ..Body::default() });
    let cases = match (spec.cases, scope.times) {
        (Some(cases), Some(times)) => Some(cases.saturating_mul(times).min(MAX_TIMES)),
        (cases, times) => cases.or(times),
    };
    let mut own = spec.claims;
    own.extend(found.claims);
    let mut id = scope.path.clone();
    id.push(spec.name.clone());
    let test = Test {
        id: id.join(" > "),
        name: spec.name,
        line: spec.line,
        assertions: 0,
        kinds: BTreeMap::new(),
        skipped: spec.skip.or(found.skip).or_else(|| inherit(&scope.skip)),
        expected_failure: spec.xfail.or(found.xfail).or_else(|| inherit(&scope.xfail)),
        focused: spec.focus.or_else(|| inherit(&scope.focus)),
        parametrised: cases,
        cases_marked: spec.cases_marked,
        body_digest: digest,
        shape_digest: shape,
        trivially_true: false,
        hollow: found.empty.then_some(Hollow::EmptyBody),
        claims: Vec::new(),
        dead_claims: found.dead_claims,
        calls: found.named,
        literals: found.literals,
        implicit: found.implicit,
        conditional: found.conditional,
        table: found.table,
        uncounted: found.uncounted || spec.uncounted,
        bound: found.bound,
        own,
        helper_calls: found.calls,
        dead: found.dead,
    };
    (test, found.exits)
}

/// Surveys one file by itself.
#[must_use]
pub fn survey(language: Language, bytes: &[u8]) -> Suite {
    let mut suite = raw(language, bytes, true);
    let helpers = Helpers::of([&suite]);
    helpers.resolve(&mut suite);
    suite
}

/// Surveys a file, leaving the helpers' assertions to be counted later. `tests`: the path says that it holds tests.
pub(super) fn raw(language: Language, bytes: &[u8], tests: bool) -> Suite {
    let source = match Source::parse(language, bytes) {
        Ok(source) => source,
        Err(why) => return Suite { unread: Some(why), ..Suite::default() },
    };
    let tables = tables(&source);
    let suite = Suite { parse_errors: source.errors, ..Suite::default() };
    let mut collector = Collector { source: &source, tables: &tables, suite, depth: 0, pending: Vec::new() };
    comments(&mut collector);
    let tokens = 0..source.tokens.len();
    collector.suite.literals = tokens
        .filter(|at| source.class(*at) == Some(Class::Literal))
        .flat_map(|at| values_in(source.word(at)))
        .collect();
    let scope = Scope { tests, ..Scope::default() };
    match language {
        Language::Rust => rust::collect(&mut collector, &scope),
        Language::Python => python::collect(&mut collector, &scope),
        Language::JavaScript | Language::TypeScript | Language::Tsx => script::collect(&mut collector, &scope),
        Language::Go => go::collect(&mut collector, &scope),
        Language::Java => java::collect(&mut collector, &scope),
    }
    collector.apply_hooks();
    number_twins(&mut collector.suite.tests);
    let suite = collector.suite;
    let names = subject::names(&source);
    let bindings = bindings::bindings(&source, &names);
    Suite {
        marks: marks::scan(&source, tests),
        names,
        bindings,
        compared: compared::compared(&source),
        outline: Outline::of(&source),
        ..suite
    }
}

/// A literal, and the values that a row of a table written as text holds.
fn values_in(text: &str) -> Vec<u64> {
    const MAX_ROW_BYTES: usize = 4096;
    let mut out = vec![hash(text)];
    if text.len() <= MAX_ROW_BYTES && text.contains([',', '|']) {
        out.extend(text.split([',', '|', '\n']).map(|part| hash(part.trim().trim_matches(['\'', '"']))));
    }
    out
}

fn number_twins(tests: &mut [Test]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for test in tests {
        let count = seen.entry(test.id.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            test.id = format!("{} #{count}", test.id);
        }
    }
}

/// Lists of known length, by the name that they are bound to, anywhere in the file.
fn tables(source: &Source) -> Tables {
    let mut tables = Tables::new();
    let mut cursor = source.tree.walk();
    loop {
        let node = cursor.node();
        let fields = match node.kind() {
            "const_item" | "static_item" => Some(("name", "value")),
            "let_declaration" => Some(("pattern", "value")),
            "assignment" | "short_var_declaration" => Some(("left", "right")),
            "variable_declarator" | "const_spec" | "var_spec" => Some(("name", "value")),
            _ => None,
        };
        if let Some((name, value)) = fields
            && let (Some(name), Some(value)) = (node.child_by_field_name(name), node.child_by_field_name(value))
            && let Some(length) = length(source, value, &|_| None)
        {
            tables.insert(source.text(name).to_owned(), length);
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return tables;
            }
        }
    }
}

const SUPPRESSIONS: [&str; 11] = [
    "eslint-disable",
    "noqa",
    "type: ignore",
    "@ts-ignore",
    "@ts-nocheck",
    "@ts-expect-error",
    "nolint",
    "NOSONAR",
    "pylint: disable",
    "pyright: ignore",
    "biome-ignore",
];

fn comments(collector: &mut Collector<'_>) {
    let source = collector.source;
    let mut cursor = source.tree.walk();
    loop {
        let node = cursor.node();
        if is_comment(node.kind()) {
            let text = source.text(node);
            let line = line_number(node.start_position().row);
            if SUPPRESSIONS.iter().any(|word| text.contains(word)) {
                collector.suite.suppressions.push(Marker {
                    text: short(text),
                    line,
                    conditional: false,
                    inherited: false,
                });
            }
            if source.language == Language::Go && (text.starts_with("//go:build ") || text.starts_with("// +build ")) {
                let conditional = !text.contains("ignore");
                collector.suite.constraints.push(Marker { text: short(text), line, conditional, inherited: true });
            }
        } else if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The helpers of one side of a change, by name.
pub(super) struct Helpers<'h> {
    local: BTreeMap<&'h str, &'h Symbol>,
    by_name: &'h BTreeMap<String, Symbol>,
}

impl<'h> Helpers<'h> {
    /// All helpers of one side. Several of one name: the one that asserts most is the one that counts.
    pub fn of(suites: impl IntoIterator<Item = &'h Suite>) -> OwnedHelpers {
        let mut by_name: BTreeMap<String, Symbol> = BTreeMap::new();
        for symbol in suites
            .into_iter()
            .flat_map(|suite| &suite.helpers)
            .filter(|symbol| symbol.in_tests || !symbol.claims.is_empty())
        {
            if by_name.get(&symbol.name).is_none_or(|known| known.claims.len() < symbol.claims.len()) {
                by_name.insert(symbol.name.clone(), symbol.clone());
            }
        }
        OwnedHelpers { by_name }
    }
    /// A name means the file's own helper first.
    fn find(&self, name: &str) -> Option<&'h Symbol> {
        self.local.get(name).copied().or_else(|| self.by_name.get(name))
    }
    fn expand(
        &self,
        calls: &BTreeMap<String, u32>,
        depth: u8,
        memo: &mut BTreeMap<(String, u8), Vec<Claim>>,
    ) -> Vec<Claim> {
        let mut claims = Vec::new();
        if depth == 0 {
            return claims;
        }
        for (name, times) in calls {
            let Some(symbol) = self.find(name) else { continue };
            let key = (name.clone(), depth);
            let inner = match memo.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let mut inner = symbol.claims.clone();
                    inner.extend(self.expand(&symbol.calls, depth - 1, memo));
                    inner.truncate(MAX_CLAIMS);
                    memo.insert(key, inner.clone());
                    inner
                }
            };
            claims.extend(
                inner
                    .into_iter()
                    .map(|claim| Claim { times: claim.times.saturating_mul(*times).min(MAX_TIMES), ..claim }),
            );
            if claims.len() > MAX_CLAIMS {
                claims.truncate(MAX_CLAIMS);
                break;
            }
        }
        claims
    }
}

/// Helpers of all files of one side, kept apart from the suites that they came from.
pub(super) struct OwnedHelpers {
    by_name: BTreeMap<String, Symbol>,
}

impl OwnedHelpers {
    pub fn resolve(&self, suite: &mut Suite) {
        let mut local: BTreeMap<&str, &Symbol> = BTreeMap::new();
        for symbol in suite.helpers.iter().filter(|symbol| symbol.in_tests) {
            if local.get(symbol.name.as_str()).is_none_or(|known| known.claims.len() < symbol.claims.len()) {
                local.insert(&symbol.name, symbol);
            }
        }
        let helpers = Helpers { local, by_name: &self.by_name };
        let mut memo = BTreeMap::new();
        for test in &mut suite.tests {
            let claims = helpers.expand(&test.helper_calls, MAX_HELPER_DEPTH, &mut memo);
            let names = test.own.iter().filter_map(|claim| claim.by_name.as_deref());
            let seen: BTreeSet<String> = names.filter(|name| helpers.find(name).is_some()).map(str::to_owned).collect();
            finish(test, claims, &seen);
        }
    }
    pub fn claims_of(&self, symbol: &Symbol) -> u32 {
        let helpers = Helpers { local: BTreeMap::new(), by_name: &self.by_name };
        let mut claims = symbol.claims.clone();
        claims.extend(helpers.expand(&symbol.calls, MAX_HELPER_DEPTH - 1, &mut BTreeMap::new()));
        claims.iter().fold(0u32, |sum, claim| sum.saturating_add(claim.times))
    }
}

fn finish(test: &mut Test, found: Vec<Claim>, seen: &BTreeSet<String>) {
    let mut claims = test.own.clone();
    claims.extend(found);
    // A call that is counted by its name (`check_user(…)`) counts by what it does where that is seen.
    claims.retain(|claim| claim.by_name.as_ref().is_none_or(|name| !seen.contains(name)));
    let mut kinds = BTreeMap::new();
    for claim in &claims {
        let count: &mut u32 = kinds.entry(claim.strength).or_insert(0);
        *count = count.saturating_add(claim.times);
    }
    test.assertions = claims.iter().fold(0u32, |sum, claim| sum.saturating_add(claim.times)).min(MAX_TIMES);
    test.kinds = kinds;
    test.claims = claims;
    if test.hollow.is_none() && test.assertions == 0 {
        test.hollow = Some(test.dead.unwrap_or(Hollow::NoAssertion));
    }
    test.trivially_true = test.hollow.is_some_and(|why| why != Hollow::NoAssertion);
}

/// The child right after the attributes or decorators, and they themselves.
pub(super) fn with_attributes<'t>(node: Node<'t>) -> Vec<(Vec<Node<'t>>, Node<'t>)> {
    let mut attributes = Vec::new();
    let mut out = Vec::new();
    for child in children(node) {
        if child.kind() == "attribute_item" {
            attributes.push(child);
        } else if child.is_named() && !is_comment(child.kind()) {
            out.push((std::mem::take(&mut attributes), child));
        }
    }
    out
}
