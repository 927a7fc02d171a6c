//! One walk through the body of a test or helper: what it asserts, how often, and whether that can fail at all.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tree_sitter::Node;

use super::calls::{ends_with_success, skip_call, swallowed_promise};
use super::chain::{Chain, split};
use super::claims::{Demand, condition, demands};
use super::express::{bare, constant, skeleton};
use super::grammar::{Shapes, shapes};
use super::length::length;
use super::looser::{Slack, among};
use super::model::{Claim, Hollow, Language, MAX_TIMES, Marker, Strength};
use super::syntax::{Class, Source, children, hash, is_comment};

/// Assertions nested in assertions are read so deep.
const MAX_NESTED_ASSERTIONS: u8 = 6;

#[derive(Debug, Default)]
pub(super) struct Body {
    pub claims: Vec<Claim>,
    pub dead_claims: u32,
    pub dead: Option<Hollow>,
    /// Names called, with how often, in live code.
    pub calls: BTreeMap<String, u32>,
    pub skip: Option<Marker>,
    pub xfail: Option<Marker>,
    pub exits: Vec<Marker>,
    pub implicit: u32,
    pub empty: bool,
    pub literals: BTreeSet<u64>,
    pub named: BTreeSet<String>,
    /// Names that are bound: variables and nested functions.
    pub bound: BTreeSet<String>,
    /// Live claims that stand under an `if` without an `else`.
    pub conditional: u32,
    /// The list that a loop with assertions runs over has so many elements.
    pub table: Option<u32>,
    /// A loop runs over a list whose length is not seen.
    pub uncounted: bool,
}

#[derive(Clone, Copy)]
struct Context {
    times: u32,
    dead: Option<Hollow>,
    asserting: bool,
    /// Assertions around this place.
    nested: u8,
    chained: bool,
    statement: bool,
    conditional: bool,
    decorated: bool,
    /// Directly in the body, not in a nested function, branch or loop.
    top: bool,
    /// The condition of the `if` right around, and whether this is what happens when it holds.
    guard: Option<(usize, usize)>,
}

/// Lists with a known length, by name.
pub(super) type Tables = BTreeMap<String, u32>;

pub(super) struct Walk<'s> {
    pub source: &'s Source,
    pub shapes: &'static Shapes,
    pub tables: &'s Tables,
    local: Tables,
    /// Nodes that are tests of their own and not part of this body.
    pub apart: &'s dyn Fn(Node<'_>) -> bool,
    out: Body,
    /// How often each word stands in the body.
    uses: BTreeMap<&'s str, u32>,
}

impl<'s> Walk<'s> {
    pub fn new(source: &'s Source, tables: &'s Tables, apart: &'s dyn Fn(Node<'_>) -> bool) -> Self {
        let out = Body { empty: true, ..Body::default() };
        Walk {
            source,
            shapes: shapes(source.language),
            tables,
            local: Tables::new(),
            apart,
            out,
            uses: BTreeMap::new(),
        }
    }

    pub fn run(mut self, body: Node<'_>) -> Body {
        let start = Context {
            times: 1,
            dead: None,
            asserting: false,
            nested: 0,
            chained: false,
            statement: false,
            conditional: false,
            decorated: false,
            top: true,
            guard: None,
        };
        for at in self.source.slice(body) {
            *self.uses.entry(self.source.word(at)).or_insert(0) += 1;
        }
        let mut stack = vec![(body, start)];
        while let Some((node, context)) = stack.pop() {
            self.visit(node, context, &mut stack);
        }
        self.words(body);
        self.out
    }

    fn words(&mut self, body: Node<'_>) {
        let range = self.source.slice(body);
        for at in range.clone() {
            let before = self.source.word(at.saturating_sub(1));
            let declares = matches!(before, "def" | "fn" | "function" | "let" | "const" | "var" | "mut" | "class");
            let assigns = matches!(self.source.word(at + 1), "=" | ":=") && before != ".";
            if self.source.class(at) == Some(Class::Word) && (declares || assigns) {
                self.out.bound.insert(self.source.word(at).to_owned());
            }
            match self.source.class(at) {
                Some(Class::Literal) => {
                    self.out.literals.insert(hash(self.source.word(at)));
                }
                Some(Class::Word)
                    if matches!(self.source.word(at + 1), "(" | "!") || (self.source.word(at + 1) == "{") =>
                {
                    self.out.named.insert(self.source.word(at).to_owned());
                }
                _ => {}
            }
        }
        let hollow = |at: &usize| matches!(self.source.word(*at), "{" | "}" | "pass" | "..." | "(" | ")" | "=>");
        let documented = |at: &usize| self.source.class(*at) == Some(Class::Literal);
        let code = range.clone().filter(|at| !hollow(at)).filter(|at| !documented(at)).count();
        let unit = range
            .clone()
            .filter(|at| !hollow(at) && !documented(at))
            .all(|at| matches!(self.source.word(at), "return" | "Ok" | "None" | "true" | "async" | "t" | "done"));
        self.out.empty = code == 0 || unit;
    }

    fn visit<'t>(&mut self, node: Node<'t>, mut context: Context, stack: &mut Vec<(Node<'t>, Context)>) {
        let kind = node.kind();
        if !node.is_named() || is_comment(kind) || (self.apart)(node) {
            return;
        }
        let shapes = self.shapes;
        if shapes.functions.contains(&kind) {
            // A nested function runs when it is called: a return in it ends only itself.
            context = Context { top: false, guard: None, chained: false, ..context };
            let name = self.source.field(node, "name");
            let named = matches!(kind, "function_definition" | "function_declaration" | "function_item");
            if named && !context.decorated && self.uses.get(name).copied().unwrap_or(0) < 2 {
                context.dead = context.dead.or(Some(Hollow::NeverEntered));
            }
            if context.nested < MAX_NESTED_ASSERTIONS {
                context.asserting = false;
            }
        }
        if shapes.blocks.contains(&kind) {
            return self.block(node, context, stack);
        }
        if shapes.ifs.contains(&kind) {
            return self.branch(node, context, stack);
        }
        if shapes.each.contains(&kind) || shapes.whiles.contains(&kind) {
            return self.repeat(node, context, stack);
        }
        if shapes.tries.contains(&kind) {
            return self.attempt(node, context, stack);
        }
        if shapes.calls.contains(&kind) {
            return self.call(node, context, stack);
        }
        if shapes.throws.contains(&kind) && !context.asserting {
            self.failure(node, context);
        }
        match kind {
            "assert_statement" => {
                self.assert_statement(node, context);
                context.asserting = true;
                context.nested = context.nested.saturating_add(1);
            }
            "with_statement" if self.suppresses(node) => context.dead = context.dead.or(Some(Hollow::Swallowed)),
            "let_declaration" if self.drops_panic(node) => context.dead = context.dead.or(Some(Hollow::Swallowed)),
            "try_expression" => self.out.implicit = self.out.implicit.saturating_add(1),
            _ => {}
        }
        self.remember(node, kind);
        let statement = kind == "expression_statement";
        context.decorated = kind == "decorated_definition";
        for child in children(node).into_iter().rev() {
            stack.push((
                child,
                Context { statement, chained: context.chained && !shapes.arguments.contains(&kind), ..context },
            ));
        }
    }

    /// Statements after one that leaves the block are dead.
    fn block<'t>(&mut self, node: Node<'t>, context: Context, stack: &mut Vec<(Node<'t>, Context)>) {
        let mut left: Option<Hollow> = None;
        let mut inner: Vec<(Node<'t>, Context)> = Vec::new();
        let mut guarded = None;
        for child in children(node) {
            let mut own = Context { guard: context.guard, ..context };
            own.dead = own.dead.or(left.filter(|_| !self.shapes.hoisted.contains(&child.kind())));
            inner.push((child, own));
            if left.is_none() && self.leaves(child) {
                left = Some(if self.is_return(child) { Hollow::ReturnsFirst } else { Hollow::NeverEntered });
            }
            if context.top && guarded.is_none() {
                guarded = self.guarded_return(child);
            }
        }
        // Read in order: a guard counts only before the first assertion.
        if let Some((marker, at)) = guarded {
            let before =
                inner.iter().take_while(|(child, _)| child.start_byte() < at).any(|(child, _)| self.asserts_in(*child));
            if !before && self.out.skip.is_none() && self.out.claims.is_empty() && context.dead.is_none() {
                self.out.skip = Some(marker);
            }
        }
        stack.extend(inner.into_iter().rev());
    }

    fn branch<'t>(&mut self, node: Node<'t>, context: Context, stack: &mut Vec<(Node<'t>, Context)>) {
        let test = node.child_by_field_name("condition");
        let range = test.map(|test| bare(self.source, self.source.slice(test)));
        let known = range.clone().and_then(|range| constant(self.source, range, 0));
        let then = node.child_by_field_name("consequence").map(|found| found.id());
        let alternative = node.child_by_field_name("alternative").map(|found| found.id());
        for child in children(node).into_iter().rev() {
            let mut own = Context { top: false, guard: None, statement: false, ..context };
            if Some(child.id()) == then {
                own.dead = own.dead.or((known == Some(false)).then_some(Hollow::NeverEntered));
                own.guard = range.clone().map(|range| (range.start, range.end));
                own.conditional = context.conditional || (alternative.is_none() && known != Some(true));
                own.top = context.top && known == Some(true);
            } else if Some(child.id()) == alternative {
                own.dead = own.dead.or((known == Some(true)).then_some(Hollow::NeverEntered));
            }
            stack.push((child, own));
        }
    }

    fn repeat<'t>(&mut self, node: Node<'t>, context: Context, stack: &mut Vec<(Node<'t>, Context)>) {
        let body = node.child_by_field_name("body").map(|found| found.id());
        let mut times = None;
        let mut never = false;
        if self.shapes.each.contains(&node.kind()) {
            let over = node.child_by_field_name(self.shapes.each_over).or_else(|| {
                children(node)
                    .into_iter()
                    .find(|c| c.kind() == "range_clause")
                    .and_then(|c| c.child_by_field_name("right"))
            });
            times = over.and_then(|over| self.length(over));
            never = times == Some(0);
            self.out.uncounted |= times.is_none();
        } else if let Some(test) = node.child_by_field_name("condition") {
            never = constant(self.source, self.source.slice(test), 0) == Some(false);
        }
        if let Some(times) = times {
            self.out.table = self.out.table.max(Some(times));
        }
        for child in children(node).into_iter().rev() {
            let mut own = Context { top: false, guard: None, statement: false, ..context };
            if Some(child.id()) == body {
                own.dead = own.dead.or(never.then_some(Hollow::NeverEntered));
                own.times = own.times.saturating_mul(times.unwrap_or(1).max(1)).min(MAX_TIMES);
            }
            stack.push((child, own));
        }
    }

    /// How many elements a list has that is written here or was named before.
    pub fn length(&self, node: Node<'_>) -> Option<u32> {
        length(self.source, node, &|name| self.local.get(name).or_else(|| self.tables.get(name)).copied())
    }

    fn remember(&mut self, node: Node<'_>, kind: &str) {
        let (name, value) = match kind {
            "let_declaration" => ("pattern", "value"),
            "assignment" | "short_var_declaration" => ("left", "right"),
            "variable_declarator" | "const_spec" | "var_spec" => ("name", "value"),
            _ => return,
        };
        if let (Some(name), Some(value)) = (node.child_by_field_name(name), node.child_by_field_name(value))
            && let Some(length) = self.length(value)
        {
            self.local.insert(self.source.text(name).to_owned(), length);
        }
    }

    fn attempt<'t>(&mut self, node: Node<'t>, context: Context, stack: &mut Vec<(Node<'t>, Context)>) {
        let body = node.child_by_field_name("body").map(|found| found.id());
        let swallows = children(node)
            .into_iter()
            .filter(|child| self.shapes.handlers.contains(&child.kind()))
            .any(|handler| self.catches_all(handler) && !self.speaks_up(handler));
        for child in children(node).into_iter().rev() {
            let mut own = Context { guard: None, statement: false, ..context };
            if Some(child.id()) == body && swallows {
                own.dead = own.dead.or(Some(Hollow::Swallowed));
            }
            stack.push((child, own));
        }
    }

    fn assert_statement(&mut self, node: Node<'_>, context: Context) {
        if context.asserting {
            return;
        }
        let range = self.source.slice(node);
        let parts = split(
            self.source,
            range.start + 1..range.end,
            if self.source.language == Language::Java { &[":"] } else { &[","] },
        );
        let demands = condition(self.source, parts.first().cloned().unwrap_or(0..0), false);
        self.record(node, demands, context);
    }

    fn call<'t>(&mut self, node: Node<'t>, mut context: Context, stack: &mut Vec<(Node<'t>, Context)>) {
        let kind = node.kind();
        let range = self.source.slice(node);
        let mut multiplied = None;
        if !context.chained {
            let chain = Chain::read(self.source, &range);
            self.note_calls(node, &chain, context);
            if swallowed_promise(self.source, &chain) {
                context.dead = context.dead.or(Some(Hollow::Swallowed));
            }
            if !context.asserting
                && let Some(found) = demands(self.source, &chain, &range, context.statement)
            {
                if let [only] = found.as_slice()
                    && only.strength == Strength::Failure
                {
                    self.failure(node, context);
                } else {
                    self.record(node, found, context);
                }
                context.asserting = true;
                context.nested = context.nested.saturating_add(1);
            } else if kind == "macro_invocation" && !context.asserting {
                self.inside_macro(node, &range, context);
            }
            multiplied = self.over_list(node);
        }
        let arguments = node
            .child_by_field_name("arguments")
            .or_else(|| children(node).into_iter().find(|c| self.shapes.arguments.contains(&c.kind())))
            .map(|found| found.id());
        for child in children(node).into_iter().rev() {
            let mut own = Context { chained: true, statement: false, ..context };
            if Some(child.id()) == arguments {
                own.chained = false;
                if let Some(times) = multiplied {
                    own.times = own.times.saturating_mul(times.max(1)).min(MAX_TIMES);
                    own.dead = own.dead.or((times == 0).then_some(Hollow::NeverEntered));
                    self.out.table = self.out.table.max(Some(times));
                }
            }
            stack.push((child, own));
        }
    }

    /// A macro's arguments are tokens only: assertions and calls among them are found by name.
    fn inside_macro(&mut self, node: Node<'_>, range: &Range<usize>, context: Context) {
        let mut at = range.start + 2;
        while at < range.end {
            let opens = matches!(self.source.word(at + 1), "!" | "(");
            if self.source.class(at) == Some(Class::Word) && opens {
                let chain = Chain::read(self.source, &(at..range.end));
                let end = chain.segments.first().and_then(|s| s.args.as_ref()).map_or(at + 1, |args| args.end + 1);
                if context.dead.is_none() {
                    let count = self.out.calls.entry(self.source.word(at).to_owned()).or_insert(0);
                    *count = count.saturating_add(context.times);
                }
                if chain.segments.first().is_some_and(|segment| segment.bang)
                    && let Some(found) = demands(self.source, &Chain::read(self.source, &(at..end)), &(at..end), true)
                {
                    self.record(node, found, context);
                    at = end;
                    continue;
                }
            }
            at += 1;
        }
    }

    /// `list.forEach(…)`.
    fn over_list(&self, node: Node<'_>) -> Option<u32> {
        let callee = node.child_by_field_name("function")?;
        let property =
            self.source.field(callee, if self.source.language == Language::Rust { "field" } else { "property" });
        if !matches!(property, "forEach" | "for_each" | "map" | "every") {
            return None;
        }
        let object = callee.child_by_field_name("object").or_else(|| callee.child_by_field_name("value"))?;
        self.length(object)
    }

    fn note_calls(&mut self, node: Node<'_>, chain: &Chain<'_>, context: Context) {
        let line = self.source.line(node);
        for index in 0..chain.segments.len() {
            let name = chain.name(index);
            if name.is_empty() || !chain.is_call(index) {
                continue;
            }
            if context.dead.is_none() {
                let count = self.out.calls.entry(name.to_owned()).or_insert(0);
                *count = count.saturating_add(context.times);
            }
            if matches!(name, "unwrap" | "expect" | "unwrap_err" | "expect_err")
                && self.source.language == Language::Rust
            {
                self.out.implicit = self.out.implicit.saturating_add(1);
            }
        }
        let source = self.source;
        let marker = |conditional| Marker { text: short(source.text(node)), line, conditional, inherited: false };
        if ends_with_success(self.source, chain) {
            self.out.exits.push(marker(context.conditional));
        }
        match skip_call(self.source, chain) {
            Some(true) if self.out.xfail.is_none() => self.out.xfail = Some(marker(context.conditional)),
            Some(false) if self.out.skip.is_none() && context.dead.is_none() => {
                self.out.skip = Some(marker(context.conditional || self.assumes(chain)));
            }
            _ => {}
        }
    }

    fn assumes(&self, chain: &Chain<'_>) -> bool {
        chain.names().any(|name| name.starts_with("assum") || name == "importorskip")
            && chain
                .args(chain.segments.len() - 1)
                .first()
                .is_none_or(|arg| constant(self.source, arg.clone(), 0).is_none())
    }

    /// A call that fails: what it demands is that the condition around it does not hold.
    fn failure(&mut self, node: Node<'_>, context: Context) {
        let own = self.source.slice(node);
        let found = match context.guard {
            Some((start, end)) => condition(self.source, start..end, true),
            None => vec![Demand { strength: Strength::Failure, error: false, range: own, by_name: false }],
        };
        self.record(node, found, Context { conditional: false, ..context });
    }

    fn record(&mut self, node: Node<'_>, found: Vec<Demand>, context: Context) {
        for demand in found {
            if let Some(reason) = context.dead.or((demand.strength == Strength::Nothing).then_some(Hollow::AlwaysTrue))
            {
                self.out.dead_claims = self.out.dead_claims.saturating_add(1);
                self.out.dead.get_or_insert(reason);
                continue;
            }
            if context.conditional {
                self.out.conditional = self.out.conditional.saturating_add(1);
            }
            let by_name = demand.by_name.then(|| {
                let chain = Chain::read(self.source, &demand.range);
                (0..chain.segments.len()).find(|at| chain.is_call(*at)).map_or("", |at| chain.name(at)).to_owned()
            });
            self.out.claims.push(Claim {
                by_name,
                slack: Slack::of(self.source, &demand.range),
                among: among(self.source, &demand.range),
                strength: demand.strength,
                digest: self.source.digest(demand.range.clone(), true),
                skeleton: skeleton(self.source, demand.range),
                times: context.times,
                line: self.source.line(node),
                error: demand.error,
            });
        }
    }
}

pub(super) fn short(text: &str) -> String {
    const MAX_MARKER_CHARS: usize = 120;
    let head: String = text.chars().take(4 * MAX_MARKER_CHARS).collect();
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out: String = line.chars().take(MAX_MARKER_CHARS).collect();
    if out.len() < line.len() {
        out.push('…');
    }
    out
}
