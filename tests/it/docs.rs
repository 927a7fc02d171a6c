//! The documents say what the code does: links lead somewhere, commands parse, names and codes exist.

mod stand_ins;
mod tour;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use kctl::domain::action::GateCode;
use kctl::domain::op_info::OpInfo;
use kctl::domain::refusal::{Code, Refusal};
use kctl::doors::cli::{Action, Console, parse};
use kctl::ops::registry::OPS;
use kctl::rules::adoption::agents_block::{self, Edit};
use kctl::rules::profile;

/// Reports on measurements and on what is asserted, which quote names of other programs and places in answers.
const REPORTS: [&str; 3] = ["docs/BENCHMARKS.md", "docs/ROBUSTNESS.md", "docs/SCENARIOS.md"];
/// Spelled like refusal codes, and none.
const NOT_CODES: [&str; 1] = ["FOLD_VERSION"];
const VARIABLES: [&str; 6] = ["KCTL_", "GIT_", "XDG_", "CARGO_", "RUST_", "MAX_"];
/// What stands behind a dot in a file's name and not in an operation's.
const FILE_ENDS: [&str; 6] = ["db", "lock", "rs", "md", "toml", "json"];

struct Document {
    /// From the top of the repository.
    name: String,
    text: String,
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs_err::read_to_string(top().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// Every Markdown file that is written by hand and read by people.
fn documents() -> Vec<Document> {
    let mut names = Vec::new();
    for dir in ["", "docs", "docs/decisions", "specs"] {
        let listed = fs_err::read_dir(top().join(dir)).unwrap_or_else(|why| panic!("{dir}: {why}"));
        let found = listed.map(|entry| PathBuf::from(dir).join(entry.expect("it can be listed").file_name()));
        names.extend(found.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    assert!(names.len() > 20, "the documents were found: {names:?}");
    let name = |path: &PathBuf| path.to_str().expect("names are UTF-8").to_owned();
    names.iter().map(name).map(|name| Document { text: read(&name), name }).collect()
}

fn without_reports() -> Vec<Document> {
    documents().into_iter().filter(|one| !REPORTS.contains(&one.name.as_str())).collect()
}

/// The text outside of fenced blocks, and the lines inside of those that hold commands.
fn split(text: &str) -> (String, Vec<String>) {
    let (mut prose, mut commands, mut fence) = (String::new(), Vec::new(), None);
    for line in text.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(language), None) => fence = Some(language.trim()),
            (Some(_), Some(_)) => fence = None,
            (None, None) => prose.extend([line, "\n"]),
            (None, Some("sh")) => commands.push(line.to_owned()),
            (None, Some("console")) => commands.extend(line.strip_prefix("$ ").map(str::to_owned)),
            (None, Some(_)) => {}
        }
    }
    assert!(fence.is_none(), "a fenced block is not closed");
    (prose, commands)
}

/// What stands between single backticks.
fn spans(prose: &str) -> Vec<String> {
    // A span may run over a line's end, never over an empty line.
    let in_paragraph = |paragraph: &str| -> Vec<String> {
        paragraph
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    prose.split("\n\n").flat_map(in_paragraph).collect()
}

/// The words of each command of `line` that calls kctl, as a shell would split them.
fn calls(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None::<String>, None::<char>);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '|' | '&' | ';' | '>' | '<') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| words.first().is_some_and(|first| first == "kctl"));
    commands
}

fn parsed(words: &[String]) -> Result<Action, Refusal> {
    let infos: Vec<OpInfo> = OPS.iter().map(|entry| entry.info).collect();
    let args: Vec<OsString> = words.iter().skip(1).map(OsString::from).collect();
    let mut nothing = |_: kctl::doors::cli::Source<'_>| Ok(Box::new(io::empty()) as Box<dyn io::Read>);
    parse(&args, &infos, &mut Console { columns: 0, open: &mut nothing }).map(|parsed| parsed.action)
}

#[test]
fn every_command_in_a_block_parses() {
    let mut seen = 0;
    for document in without_reports() {
        for words in split(&document.text).1.iter().flat_map(|line| calls(line)) {
            seen += 1;
            if let Err(refusal) = parsed(&words) {
                panic!("{}: {words:?}: {refusal}", document.name);
            }
        }
    }
    assert!(seen > 30, "only {seen} commands were found");
}

#[test]
fn every_command_in_a_sentence_exists() {
    for document in without_reports() {
        let spans = spans(&split(&document.text).0);
        // Words in capitals stand for something; a shape such as `kctl NOUN VERB` is no command.
        let real = spans.iter().filter(|span| !["NOUN", "…", "SHELL"].iter().any(|mark| span.contains(mark)));
        for words in real.flat_map(|span| calls(span)) {
            match parsed(&words) {
                Ok(_) => {}
                // A sentence may name a command without all that it needs.
                Err(refusal) if refusal.details().contains_key("missing") => {}
                Err(refusal) => panic!("{}: {words:?}: {refusal}", document.name),
            }
        }
    }
}

#[test]
fn the_refusal_codes_that_documents_name_exist() {
    let gates = GateCode::ALL.iter().map(|code| serde_json::to_value(code).expect("it serialises"));
    let gates: BTreeSet<String> = gates.filter_map(|code| code.as_str().map(str::to_owned)).collect();
    let known: BTreeSet<&str> =
        Code::ALL.iter().map(|code| code.name()).chain(gates.iter().map(String::as_str)).collect();
    let is_code = |span: &str| {
        span.contains('_')
            && span.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            && !VARIABLES.iter().any(|start| span.starts_with(start))
            && !NOT_CODES.contains(&span)
    };
    for document in without_reports() {
        for span in spans(&split(&document.text).0).iter().filter(|span| is_code(span)) {
            assert!(known.contains(span.as_str()), "{}: no refusal has the code `{span}`", document.name);
        }
    }
}

#[test]
fn the_interfaces_list_every_code_as_it_is() {
    let text = read("specs/interfaces.md");
    for code in Code::ALL {
        let category = serde_json::to_value(code.category()).expect("it serialises");
        let (category, retry) = (category.as_str().expect("a text"), if code.retry_helps() { "yes" } else { "no" });
        let (name, number, status, about) = (code.name(), code.number(), code.exit_status(), code.about());
        let row = format!("| `{name}` | {number} | {category} | {status} | {retry} | {about} |");
        assert!(text.contains(&row), "specs/interfaces.md lacks the row\n{row}");
    }
    let rows = text.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 7).count();
    assert_eq!(rows, Code::ALL.len(), "specs/interfaces.md lists a code that does not exist");
}

#[test]
fn the_readme_lists_every_exit_status() {
    let text = read("README.md");
    for code in Code::ALL {
        let category = serde_json::to_value(code.category()).expect("it serialises");
        let row = format!("| {} | {} |", code.exit_status(), category.as_str().expect("a text"));
        assert!(text.contains(&row), "README.md lacks a row that begins with {row}");
    }
    let answered = kctl::doors::cli::EXIT_NOT_WRITTEN;
    assert!(text.contains(&format!("| {answered} | – |")), "README.md lacks the status {answered}");
}

#[test]
fn the_operations_and_events_that_documents_name_exist() {
    let ops: BTreeSet<&str> = OPS.iter().map(|entry| entry.info.name).collect();
    let nouns: BTreeSet<&str> = ops.iter().filter_map(|name| name.split_once('.')).map(|(noun, _)| noun).collect();
    let events = event_types();
    for document in without_reports() {
        for span in spans(&split(&document.text).0) {
            let Some((noun, verb)) = span.split_once('.') else { continue };
            let is_name = verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && !verb.is_empty();
            if nouns.contains(noun) && is_name && !FILE_ENDS.contains(&verb) {
                let exists = ops.contains(span.as_str()) || events.contains(&span);
                assert!(exists, "{}: neither an operation nor an event is called `{span}`", document.name);
            }
        }
    }
}

/// Agents are told to make these calls, so each of them must be there to be made.
#[test]
fn the_constitution_names_no_call_that_does_not_exist() {
    let ops: BTreeSet<&str> = OPS.iter().map(|entry| entry.info.name).collect();
    let word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut seen = 0;
    for entry in fs_err::read_dir(top().join("constitution")).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        for span in spans(&fs_err::read_to_string(&path).expect("it is text")) {
            if span.split_once('.').is_some_and(|(noun, verb)| word(noun) && word(verb)) {
                seen += 1;
                assert!(ops.contains(span.as_str()), "{}: nobody can call `{span}`", path.display());
            }
        }
    }
    assert!(seen > 20, "only {seen} calls were found");
}

/// The types of all events, as the domain spells them.
fn event_types() -> BTreeSet<String> {
    let listed = fs_err::read_dir(top().join("src/domain")).expect("it can be listed");
    let files = listed.map(|entry| entry.expect("it can be listed").path()).filter(|path| path.is_file());
    let types: BTreeSet<String> = files
        .map(|path| fs_err::read_to_string(path).expect("it is text"))
        .flat_map(|text| {
            text.split("rename = \"")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap_or("").to_owned())
                .collect::<Vec<_>>()
        })
        .filter(|name| name.contains('.'))
        .collect();
    assert!(types.contains("publish.done"), "the events were found: {types:?}");
    types
}

#[test]
fn every_relative_link_leads_somewhere() {
    for document in documents() {
        let dir = top().join(Path::new(&document.name).parent().expect("a file has a directory"));
        for link in links(&split(&document.text).0) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let target = if path.is_empty() { top().join(&document.name) } else { dir.join(path) };
            assert!(target.exists(), "{}: `{link}` leads nowhere", document.name);
            let text =
                if anchor.is_empty() { String::new() } else { fs_err::read_to_string(&target).expect("it is text") };
            assert!(
                anchor.is_empty() || anchors(&text).contains(anchor),
                "{}: `{link}` names no heading",
                document.name
            );
        }
    }
}

/// The targets of `[…](target)`.
fn links(prose: &str) -> Vec<String> {
    prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// Headings as code hosts name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let kept = |letter: &char| letter.is_alphanumeric() || *letter == ' ' || *letter == '-' || *letter == '_';
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>())
        .map(|heading| heading.replace(' ', "-"))
        .collect()
}

#[test]
fn every_decision_is_in_the_index() {
    let index = read("docs/decisions/README.md");
    for document in documents() {
        let Some(name) = document.name.strip_prefix("docs/decisions/").filter(|name| *name != "README.md") else {
            continue;
        };
        let number = &name[..4];
        assert!(index.contains(number), "docs/decisions/README.md does not list {number}");
        assert!(document.text.starts_with(&format!("# {number}: ")), "{name} does not begin with its number");
    }
}

#[test]
fn this_repository_is_set_up_as_init_would_set_it_up() {
    let block = agents_block::install(Some(read("AGENTS.md").as_bytes()), false).expect("AGENTS.md has a kctl block");
    assert!(block == Edit::Unchanged, "run `kctl init`: the block in AGENTS.md is not what it writes");
    let profile = profile::read(read(".decapod/kctl.toml").as_bytes()).expect("the profile can be read");
    let checks: Vec<&str> = profile.checks.keys().map(kctl::domain::profile::CheckName::as_str).collect();
    assert_eq!(checks, ["clippy", "fmt", "test"]);
}

#[test]
fn the_commands_that_an_agent_is_told_to_use_are_whole() {
    for words in
        spans(&split(&read("AGENTS.md")).0).iter().filter(|span| !span.contains("NOUN")).flat_map(|span| calls(span))
    {
        if let Err(refusal) = parsed(&words) {
            panic!("AGENTS.md: {words:?}: {refusal}");
        }
    }
}

#[test]
fn ci_runs_the_commands_that_the_readme_names() {
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    for command in [
        "cargo test --locked",
        "cargo run --release --locked -- quickstart",
        "cargo test --locked --test it -- --ignored crash::a_thousand_kills",
    ] {
        assert!(readme.contains(command), "README.md lacks `{command}`");
        assert!(ci.contains(command), ".ci/run lacks `{command}`");
    }
}
