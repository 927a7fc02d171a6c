//! `docs/SCENARIOS.md`: what is asserted of each scenario, written from the tables that are played.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::{Entry, Expectation, Table};

const HEAD: &str = "# Acceptance scenarios

Written from the tables `tests/it/scenarios/*.toml` by the test that checks this file; edit those and
`KCTL_BLESS=1 cargo test --test it scenarios::`.

Each entry is played by a test of its own through the real binary: a git repository with a remote, an agent `ada` with a task and its
workspace, and a scripted host that asks `action.evaluate` before each of its tools, runs only what is allowed, and reports it to `action.observe`. A row lists all that is
asserted, `STEP/PLACE` by JSON pointer in the answer of the step of that name; steps that are named stand in the table.
No host's own hooks are built yet: the operations that they will call are called over JSON-RPC, and that is not repeated below.
`.h` are the hardening cases that came with the scenarios, `.o` our own. `logged` counts the events a step recorded, and
`rewritten` says whether the ledger's file changed, both read past kctl.

";

/// The whole document.
pub fn render(table: &Table) -> String {
    let mut text = HEAD.to_owned();
    let of = |wanted: &str| table.entry.iter().filter(|entry| standing(entry) == wanted).count();
    let _ = writeln!(
        text,
        "{} entries: {} played in full, {} in part, {} not yet.\n",
        table.entry.len(),
        of("played"),
        of("partly"),
        of("waits")
    );
    text.push_str("| scenario | what | test | stands | asserted |\n|---|---|---|---|---|\n");
    for entry in in_order(table) {
        let _ = writeln!(
            text,
            "| {} | {} | `scenarios::{}` | {} | {} |",
            entry.id,
            cell(&entry.title),
            test_of(&entry.id),
            standing(entry),
            asserted(entry)
        );
    }
    text.push_str("\n## What is missing, and why\n\n| scenario | reason | more of it is shown by |\n|---|---|---|\n");
    for entry in in_order(table) {
        let Some(reason) = entry.partly.as_ref().or(entry.needs.as_ref()) else { continue };
        let see: Vec<String> = entry.see.iter().map(|test| format!("`{test}`")).collect();
        let _ = writeln!(text, "| {} | {} | {} |", entry.id, cell(reason), see.join(", "));
    }
    text
}

/// The scenarios of the kernel, then those of a session, each with its hardening cases behind it.
fn in_order(table: &Table) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = table.entry.iter().collect();
    entries.sort_by_key(|entry| (entry.id.starts_with('A'), entry.id.clone()));
    entries
}

/// The test that plays the entry.
pub fn test_of(id: &str) -> String {
    id.to_lowercase().replace('.', "_")
}

fn standing(entry: &Entry) -> &'static str {
    match (&entry.needs, &entry.partly) {
        (Some(_), _) => "waits",
        (None, Some(_)) => "partly",
        (None, None) => "played",
    }
}

fn asserted(entry: &Entry) -> String {
    let all: Vec<String> = entry.then.iter().map(one).collect();
    all.join("; ")
}

fn one(expected: &Expectation) -> String {
    let place = format!("`{}{}`", expected.at.as_deref().unwrap_or("last"), expected.ptr);
    let value = |word: &str, value: &Value| format!("{word} {}", span(&value.to_string()));
    let said = [
        expected.present.map(|there| if there { "is there" } else { "is absent" }.to_owned()),
        expected.eq.as_ref().map(|is| value("is", is)),
        expected.ne.as_ref().map(|is| value("is not", is)),
        expected.has.as_ref().map(|part| value("has", part)),
        expected.lacks.as_ref().map(|part| value("lacks", part)),
        expected.starts.as_ref().map(|start| format!("begins with {}", span(start))),
        expected.len.map(|len| format!("is {len} long")),
        expected.min.map(|min| format!("is at least {min}")),
        expected.same_as.as_ref().map(|other| format!("equals {}", span(other))),
    ];
    format!("{place} {}", said.into_iter().flatten().collect::<Vec<_>>().join(" and "))
}

/// Text as it is, also where it holds backticks.
fn span(text: &str) -> String {
    let text = cell(text);
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Text that does not end a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
