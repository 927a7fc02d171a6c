//! What a person sees, and that the command lines that are proposed can be pasted.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::builtin::Action;
use super::fake::OPS;
use super::line::{command_line, quoted};
use super::parse::{Voice, parse};
use super::render::{Look, answer, answer_json, refusal, refusal_json, refused};
use super::source::{Console, Source};
use super::text::is_hostile;
use crate::domain::answer::{Answer, Truncation, Warning};
use crate::domain::refusal::{Code, Next, Refusal};
use crate::domain::stamp::Stamp;

fn look() -> Look {
    let now: Stamp = "2026-11-30T12:00:00Z".parse().expect("a time");
    Look { colour: false, colour_stderr: false, columns: Some(80), now, quiet: false, verbose: 0 }
}

fn shown(given: &Answer, op: &str, look: &Look) -> String {
    let info = OPS.iter().find(|info| info.name == op);
    let printed = answer(given, info, OPS, look);
    format!("{}--- stderr\n{}", printed.stdout, printed.stderr)
}

fn tasks() -> Value {
    json!({"tasks": [
        {"id": "t-0123456789ab", "state": "open", "title": "Mend the parser", "at": "2026-11-30T11:57:00.000Z"},
        {"id": "t-zzzzzzzzzzzz", "state": "claimed", "title": "A long title that has to be wrapped somewhere because it \
         does not fit", "claim": {"holder": "ada"}, "at": "2026-11-28T11:57:00.000Z"},
    ]})
}

#[test]
fn a_list_is_a_table_of_the_columns_the_operation_chose() {
    insta::assert_snapshot!(shown(&Answer::of(tasks()), "task.list", &look()), @r#"
ID              STATE    TITLE                        CLAIM.HOLDER  AT
t-0123456789ab  open     Mend the parser                            3 min ago
t-zzzzzzzzzzzz  claimed  A long title that has to be  ada           2 days ago
                         wrapped somewhere because
                         it does not fit
--- stderr
"#);
}

#[test]
fn without_a_terminal_nothing_is_wrapped() {
    let wide = Look { columns: None, ..look() };
    let lines = shown(&Answer::of(tasks()), "task.list", &wide);
    assert_eq!(lines.lines().count(), 4, "{lines}");
}

#[test]
fn an_object_is_names_and_values_with_what_lies_in_it_indented() {
    let data = json!({
        "id": "t-0123456789ab", "state": "open", "made_at": "2026-11-30T11:57:00.000Z", "claim": null, "paths": ["a", "b"],
        "goal": "first line\nsecond \u{1b}[2J line\n", "empty": [], "limits": {"runs": 3, "deep": {"er": true}},
        "criteria": [{"name": "tests", "met": false}, {"name": "lint", "met": true}], "notes": ["one, two", "three"],
        "mixed": [1, {"a": 1}],
    });
    insta::assert_snapshot!(shown(&Answer::of(data), "task.create", &look()), @r#"
id:      t-0123456789ab
state:   open
made_at: 2026-11-30T11:57:00Z (3 min ago)
paths:   a, b
goal:
  first line
  second \u{1b}[2J line
limits:
  runs: 3
  deep:
    er: yes
criteria:
  NAME   MET
  tests  no
  lint   yes
notes:
  - one, two
  - three
mixed:
  - 1
  -
    a: 1
--- stderr
"#);
}

#[test]
fn what_is_said_beside_the_answer_goes_to_stderr_and_not_at_all_if_quiet() {
    let mut full = Answer::of(tasks());
    full.receipt.replayed = true;
    full.warnings.push(Warning::new("slow_disk", "the disk is \u{1b}[31mslow"));
    full.truncated.push(Truncation { what: "/tasks".into(), limit: 2, total: Some(9), how: "raise --limit".into() });
    full.next.push(Next::new("task.claim", "it is ready", json!({"task": "t-0123456789ab"})));
    let printed = answer(&full, None, OPS, &look());
    insta::assert_snapshot!(printed.stderr, @r#"
replayed: this is the stored answer of an earlier call with the same idempotency key
warning[slow_disk]: the disk is \u{1b}[31mslow
truncated: /tasks at 2 of 9; raise --limit
next: kctl task claim t-0123456789ab
      it is ready
"#);
    let quiet = answer(&full, None, OPS, &Look { quiet: true, ..look() });
    assert_eq!((quiet.stdout, quiet.stderr), (printed.stdout, String::new()));
}

#[test]
fn nothing_is_shown_as_nothing_on_stdout() {
    assert_eq!(shown(&Answer::of(json!({"tasks": []})), "task.list", &look()), "--- stderr\nnothing to show\n");
    assert_eq!(shown(&Answer::of(json!({})), "task.list", &look()), "--- stderr\ndone\n");
}

#[test]
fn a_refusal_says_what_why_and_what_next() {
    let held = Refusal::new(Code::TASK_HELD, "task `t-1` is held by `a\u{202e}da`")
        .with("holder", "ada")
        .with("until", "2026-11-30T12:30:00Z")
        .next("task.list", "look for another", json!({"state": ["open"]}));
    insta::assert_snapshot!(refusal(&held, OPS, &look()), @r#"
error[TASK_HELD]: task `t-1` is held by `a\u{202e}da`
  holder: ada
  until:  2026-11-30T12:30:00Z (in 30 min)
next: kctl task list --state open
      look for another
"#);
    assert_eq!(
        refusal_json(&Refusal::new(Code::USAGE, "a\u{9b}b")),
        concat!(
            r#"{"error":{"code":1002,"message":"a\u009bb","data":{"code":"USAGE","category":"decode","#,
            r#""recoverable":true,"retry_helps":false,"next":[],"details":{}}}}"#,
            "\n"
        )
    );
}

#[test]
fn names_that_say_little_are_shown_in_words_and_counters_of_nothing_are_not_shown() {
    let unmet = |repeats: u32| json!([{"id": "AC-1", "state": "failed", "repeat_count": repeats}]);
    let told = |repeats| {
        let rejected =
            Refusal::new(Code::FINALIZATION_REJECTED, "no").with("attempts_left", 2).with("unmet", unmet(repeats));
        refusal(&rejected, OPS, &look())
    };
    insta::assert_snapshot!(told(1), @r#"
error[FINALIZATION_REJECTED]: no
  tries before a person is asked: 2
  unmet:
    ID    STATE   REFUSED ALIKE BEFORE
    AC-1  failed  1
"#);
    assert!(!told(0).contains("REFUSED ALIKE"), "{}", told(0));
}

#[test]
fn ids_and_paths_stay_whole_where_a_table_is_wrapped_and_no_word_is_lost() {
    let path = "/a/very/long/path/that/nobody/wants/to/see/broken/".repeat(3);
    let words = "what is to be done where something is off ".repeat(20);
    let data = json!({"findings": [{"part": "ledger", "what": format!("see {path}"), "remedy": words.trim_end()}]});
    for columns in [40, 100, 200] {
        let shown = shown(&Answer::of(data.clone()), "task.create", &Look { columns: Some(columns), ..look() });
        assert!(shown.contains(&path), "{columns}: {shown}");
        assert_eq!(shown.matches("done").count(), 20, "{columns}: {shown}");
    }
    let narrow = json!({"findings": [{"part": "ledger", "what": "small", "remedy": words.trim_end()}]});
    let shown = shown(&Answer::of(narrow), "task.create", &Look { columns: Some(100), ..look() });
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn a_fault_of_the_command_line_is_told_in_the_voice_that_was_asked_for() {
    let usage = Refusal::new(Code::USAGE, "no");
    let told = |voice| refused(&usage, voice, OPS, &look());
    assert_eq!(told(Voice::Human).stderr, "error[USAGE]: no\n");
    assert!(told(Voice::Json).stdout.starts_with(r#"{"error":{"code":1002,"#));
    assert!(told(Voice::Rpc).stdout.starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1002,"#));
    assert!(told(Voice::Human).stdout.is_empty() && told(Voice::Rpc).stderr.is_empty());
}

#[test]
fn colour_repeats_what_words_say() {
    let mut full = Answer::of(tasks());
    full.warnings.push(Warning::new("slow_disk", "slow"));
    let colours = Look { colour: true, colour_stderr: true, ..look() };
    let info = OPS.iter().find(|info| info.name == "task.list");
    let (bright, dull) = (answer(&full, info, OPS, &colours), answer(&full, info, OPS, &look()));
    assert!(bright.stdout.contains("\u{1b}[1m") && bright.stderr.contains("\u{1b}["), "{bright:?}");
    let trimmed = |text: &str| super::output::plain(text).lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(trimmed(&bright.stdout), trimmed(&dull.stdout));
    assert_eq!(trimmed(&bright.stderr), trimmed(&dull.stderr));
}

/// Texts that have been trouble.
fn text() -> impl Strategy<Value = String> {
    let odd = vec![
        "",
        "-",
        "--",
        "-x",
        "@f",
        "{",
        "\"",
        "'",
        "a b",
        "$HOME",
        "`id`",
        "\\",
        "\n",
        "\u{1b}[2J",
        "\u{202e}",
        "7",
        "é",
    ];
    prop_oneof![prop::sample::select(odd).prop_map(str::to_owned), "[ -~]{0,12}", "\\PC{0,6}", "[\u{1}-\u{2f}]{0,6}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn create_params() -> impl Strategy<Value = Map<String, Value>> {
    let member = prop_oneof![
        text().prop_map(|text| ("title", json!(text))),
        text().prop_map(|text| ("origin", json!(text))),
        prop::collection::btree_map(text(), text(), 0..3).prop_map(|labels| ("labels", json!(labels))),
        prop::collection::vec(text(), 0..3).prop_map(|paths| ("paths", json!(paths))),
        any::<i64>().prop_map(|delta| ("delta", json!(delta))),
        // Quarters are exact: serde_json reads other fractions to within one unit in the last place.
        any::<i16>().prop_map(|quarters| ("ratio", json!(f64::from(quarters) / 4.0))),
        any::<bool>().prop_map(|flag| ("announce", json!(flag))),
        any::<bool>().prop_map(|flag| ("agreed", json!(flag))),
        prop_oneof![Just(json!("2h")), Just(json!(90)), Just(json!("90"))].prop_map(|lease| ("lease", lease)),
        prop::collection::vec(json_value(), 0..3).prop_map(|criteria| ("criteria", json!(criteria))),
        Just(("unknown", json!(1))),
    ];
    prop::collection::vec(member, 0..6).prop_map(|members| {
        let mut params: Map<String, Value> =
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        params.entry("title").or_insert(json!("t"));
        params
    })
}

/// What a real shell makes of `line`.
#[expect(clippy::disallowed_methods, reason = "only a shell knows how a shell reads")]
fn split(line: &str) -> Vec<std::ffi::OsString> {
    use std::os::unix::ffi::OsStringExt as _;
    let script = format!("printf '%s\\0' {line}");
    let output = std::process::Command::new("bash").args(["--norc", "-c", &script]).output().expect("bash runs");
    assert!(output.status.success(), "{line}");
    let words = output.stdout.split(|&byte| byte == 0);
    let mut words: Vec<_> = words.map(|word| std::ffi::OsString::from_vec(word.to_vec())).collect();
    words.pop();
    words
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_proposed_command_line_calls_what_was_proposed(params in create_params()) {
        let line = command_line(&Next::new("task.create", "", Value::Object(params.clone())), OPS);
        prop_assert!(!line.chars().any(is_hostile), "{line:?}");
        let words = split(&line);
        let mut open = |_: Source<'_>| unreachable!("no proposal names a file");
        let parsed = parse(&words[1..], OPS, &mut Console { columns: 80, open: &mut open });
        let got = match parsed.map(|parsed| parsed.action) {
            Ok(Action::Op { name: "task.create", params }) => params,
            Ok(Action::Rpc { op: Some(op), params: Some(text) }) if op == "task.create" => {
                serde_json::from_str(&text).expect("proposals are JSON")
            }
            other => return Err(TestCaseError::fail(format!("{line}: {other:?}"))),
        };
        prop_assert_eq!(got, params, "{}", line);
    }

    #[test]
    fn a_shell_reads_back_what_was_quoted(word in "[^\0]{0,24}") {
        prop_assert_eq!(split(&quoted(&word)), vec![std::ffi::OsString::from(word)]);
    }

    #[test]
    fn no_data_reaches_the_terminal_raw(data in json_value(), columns in prop::option::of(0..120_usize)) {
        let look = Look { columns, verbose: 1, ..look() };
        let given = Answer::of(data.clone());
        let printed = answer(&given, None, OPS, &look);
        let refused = refusal(&Refusal::new(Code::CONFLICT, "no").with("why", &data), OPS, &look);
        for text in [&printed.stdout, &printed.stderr, &refused, &answer_json(&given)] {
            prop_assert!(!text.chars().any(|c| is_hostile(c) && c != '\n'), "{text:?}");
        }
    }
}
