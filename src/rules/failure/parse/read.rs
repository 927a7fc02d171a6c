//! Chooses readers by what the output shows. The declared parser and the program let one reader take a looser form.

use super::found::Found;
use super::{
    cargo_json, cc, crash, diagnostics, dotnet, eslint, fallback, format, go, go_json, jest, jest_json, json_lint,
    junit, jvm, libtest, markers, minitest, misc, mocha, modules, nextest, node_spec, prove, pytest, rustc, shellcheck,
    tap, unittest, vitest,
};
use crate::domain::failure::{Kind, Parser, Report};
use crate::rules::failure::text::{Text, clean};

struct Reader {
    name: &'static str,
    read: fn(&Text<'_>, &mut Found),
}

/// Readers that know one tool's form, those first that claim the most lines. Each looks for its own marks and finds
/// nothing in another tool's output, so all of them run: one output may hold several tools.
const TOOLS: &[Reader] = &[
    Reader { name: "junit", read: junit::read },
    Reader { name: "cargo-json", read: cargo_json::read },
    Reader { name: "go-json", read: go_json::read },
    Reader { name: "jest-json", read: jest_json::read },
    Reader { name: "lint-json", read: json_lint::read },
    Reader { name: "nextest", read: nextest::read },
    Reader { name: "cargo-test", read: libtest::read },
    Reader { name: "pytest", read: pytest::read },
    Reader { name: "unittest", read: unittest::read },
    Reader { name: "vitest", read: vitest::read },
    Reader { name: "jest", read: jest::read },
    Reader { name: "mocha", read: mocha::read },
    Reader { name: "prove", read: prove::read },
    Reader { name: "tap", read: tap::read },
    Reader { name: "node-test", read: node_spec::read },
    Reader { name: "go-test", read: go::read },
    Reader { name: "surefire", read: jvm::read_surefire },
    Reader { name: "gradle", read: jvm::read_gradle },
    Reader { name: "dotnet", read: dotnet::read },
    Reader { name: "phpunit", read: misc::read_phpunit },
    Reader { name: "rspec", read: misc::read_rspec },
    Reader { name: "minitest", read: minitest::read },
    Reader { name: "ctest", read: misc::read_ctest },
    Reader { name: "rustc", read: rustc::read },
    Reader { name: "javac", read: jvm::read_javac },
    Reader { name: "tsc", read: diagnostics::read_parenthesised },
    Reader { name: "eslint", read: eslint::read },
    Reader { name: "shellcheck", read: shellcheck::read },
    Reader { name: "format", read: format::read },
    Reader { name: "gcc", read: cc::read },
    Reader { name: "lint", read: diagnostics::read },
];

/// Readers for what a program without a form of its own leaves: used where no tool spoke.
const CRASHES: &[Reader] =
    &[Reader { name: "modules", read: modules::read }, Reader { name: "crash", read: crash::read }];

/// Reads one output. `hint` is the declared parser, `program` the program's name, `exit` and `signal` the wait status.
pub fn parse(
    hint: Option<Parser>,
    program: Option<&str>,
    output: &str,
    exit: Option<i32>,
    signal: Option<i32>,
) -> Report {
    parse_in(&[], hint, program, output, exit, signal)
}

/// Reads one output of a run inside `roots`: paths below them become relative, which no guess can do as well.
pub fn parse_in(
    roots: &[&str],
    hint: Option<Parser>,
    program: Option<&str>,
    output: &str,
    exit: Option<i32>,
    signal: Option<i32>,
) -> Report {
    let whole = clean(output, roots);
    let text = Text::new(&whole);
    let status = fallback::Status::new(&text, exit, signal);
    let mut found = Found::asked(hint, program);
    markers::read(&text, &mut found);
    run(TOOLS, &text, &mut found);
    if found.is_empty() && (status.failed_or_unknown() || found.said_failed) {
        run(CRASHES, &text, &mut found);
    }
    if found.is_empty() && status.failed_or_unknown() {
        take_warnings(&mut found);
    }
    let dropped = fallback::read(&text, &status, &mut found);
    report(found, dropped)
}

/// The order is fixed whatever was declared, so that one output has one set of names.
fn run(readers: &[Reader], text: &Text<'_>, found: &mut Found) {
    for reader in readers {
        let before = (found.len(), found.counts);
        (reader.read)(text, found);
        if before != (found.len(), found.counts) {
            found.readers.push(reader.name);
        }
    }
}

fn take_warnings(found: &mut Found) {
    for warning in std::mem::take(&mut found.warnings) {
        found.push(warning);
    }
    if !found.is_empty() {
        found.readers.push("warnings");
    }
}

fn report(mut found: Found, dropped: usize) -> Report {
    found.said_failed |= found.has(Kind::Test) || found.has(Kind::Compiler) || found.has(Kind::MissingModule);
    let mut readers = std::mem::take(&mut found.readers);
    readers.dedup();
    let parser = if readers.is_empty() { "none".to_owned() } else { readers.join("+") };
    let (counts, cached, said_failed, items_omitted) = (found.counts, found.cached, found.said_failed, found.omitted);
    Report { parser, items: found.into_items(), counts, cached, said_failed, dropped, items_omitted }
}
