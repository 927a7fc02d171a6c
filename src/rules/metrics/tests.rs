use std::collections::{BTreeMap, BTreeSet};

use super::{Metric, Metrics, Past, exposition, percentile};
use crate::domain::caller::{Caller, Door, Grade};
use crate::domain::digest::Digest;
use crate::domain::event::{Event, Recorded};
use crate::domain::failure::Gate;
use crate::domain::run::Subject;
use crate::domain::session::SessionEvent;
use crate::domain::supervision::FailureEvent;
use crate::domain::task::TaskEvent;

/// Nothing was before.
struct Nothing;

impl Past for Nothing {
    fn subject(&self, _: &str) -> Option<Subject> {
        None
    }

    fn required(&self, _: &str) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

fn caller(agent: Option<&str>, host: Option<&str>) -> Caller {
    let agent = agent.map(|agent| agent.parse().expect("a legal name"));
    Caller { agent, host: host.map(str::to_owned), ..Caller::unknown(Door::Rpc) }
}

fn recorded(stream: &str, ver: u64, caller: &Caller, event: impl Into<Event>) -> Recorded {
    let spelled = event.into().spell();
    let caller = serde_json::to_string(caller).expect("it serialises");
    raw(stream, ver, &caller, &spelled.type_name, spelled.version, spelled.body)
}

fn raw(stream: &str, ver: u64, caller: &str, type_name: &str, version: u32, body: Vec<u8>) -> Recorded {
    Recorded {
        seq: ver,
        id: "an id".to_owned(),
        stream: stream.to_owned(),
        ver,
        type_name: type_name.to_owned(),
        version,
        at: 1_000,
        caller: caller.to_owned(),
        origin: "o-000000000000".to_owned(),
        oseq: ver,
        prev: String::new(),
        body,
        seal: String::new(),
    }
}

fn folded(events: &[Recorded]) -> Metrics {
    let mut metrics = Metrics::default();
    events.iter().for_each(|event| metrics.take(event, &Nothing));
    metrics
}

/// A run of check `test` for task `t-000000000000` and its criterion `AC-1`, as it began and ended with `verdict`.
fn run(id: &str, verdict: &str, seconds: i64) -> [Recorded; 2] {
    let ada = serde_json::to_string(&caller(Some("ada"), Some("a host"))).expect("it serialises");
    let digest = Digest::of(b"x");
    let subject = serde_json::json!({
        "subject": { "key": "check:test", "definition": digest, "task": "t-000000000000", "commitment": null,
            "criteria": ["AC-1"] },
        "deadline": "2026-01-01T00:00:00Z",
    });
    let ended = crate::domain::stamp::Stamp::from_ms(seconds * 1000);
    let record = serde_json::json!({ "record": {
        "verdict": verdict, "reasons": [], "level": "L1", "strength": "asserted", "argv": [], "cwd": ".",
        "work_tree": "/w", "env_digest": null, "tools": {}, "input_before": digest, "input_after": digest,
        "candidate": { "head": null, "tree": null, "base": null, "clean": true }, "contract_digest": null,
        "started": "1970-01-01T00:00:00Z", "ended": ended, "exit": 0, "signal": null, "pipe_statuses": [],
        "output": null, "output_bytes": 0, "output_omitted": 0, "redactions": 0, "tail": "", "session": null,
        "fence": null, "kctl_version": "0",
    } });
    let stream = format!("run:{id}");
    [
        raw(&stream, 1, &ada, "run.started", 1, subject.to_string().into_bytes()),
        raw(&stream, 2, &ada, "run.ended", 1, record.to_string().into_bytes()),
    ]
}

fn claimed(ver: u64) -> Recorded {
    let event = TaskEvent::CompletionClaimed { fence: 1, summary: "done".to_owned() };
    recorded("task:t-000000000000", ver, &caller(Some("ada"), None), event)
}

fn rejected(ver: u64) -> Recorded {
    let unmet = vec!["AC-1".parse().expect("legal")];
    let event =
        TaskEvent::FinalizationRejected { fence: 1, unmet, basis: Digest::of(b"b"), bases: Vec::new(), turn: None };
    recorded("task:t-000000000000", ver, &caller(Some("ada"), None), event)
}

#[test]
fn a_turn_that_is_held_is_counted_apart_from_a_task_that_was_to_be_finished() {
    let unmet = vec!["AC-1".parse().expect("legal")];
    let turn = Some("7".to_owned());
    let held = TaskEvent::FinalizationRejected { fence: 1, unmet, basis: Digest::of(b"b"), bases: Vec::new(), turn };
    let held = recorded("task:t-000000000000", 1, &caller(Some("ada"), None), held);
    let events = [run("e-000000000000", "fail", 1).to_vec(), vec![held, rejected(2)]].concat();
    let metrics = folded(&events);
    let totals = metrics.totals();
    assert_eq!((totals.turns_held, totals.finalizations_rejected, totals.finalizations_proposed), (1, 1, 1));
    assert_eq!((totals.actions_refused, totals.false_successes), (1, 2));
    let gates = metrics.gates();
    let told: Vec<_> = gates.iter().map(|row| (row.gate.as_str(), row.rejected, row.false_successes)).collect();
    assert_eq!(told, [("task.finish", 1, 1), ("turn.end", 1, 1)]);
    let agents = metrics.agents();
    let ada = agents.iter().find(|row| row.agent == "ada").expect("she is there");
    assert_eq!((ada.rejected, ada.turns_held, ada.false_successes), (1, 1, 2));
    let fields = serde_json::to_value(&totals).expect("JSON");
    for note in super::NOTES {
        let (name, _) = note.split_once(':').expect("a name, and what it means");
        assert!(fields.get(name).is_some(), "`{name}` is no total");
    }
}

#[test]
fn a_false_success_is_counted_once_a_call_and_only_while_something_required_fails() {
    let false_successes = |events: Vec<Recorded>| folded(&events).totals().false_successes;
    let after = |verdict: &str, more: Vec<Recorded>| [run("e-000000000000", verdict, 1).to_vec(), more].concat();
    assert_eq!(false_successes(vec![claimed(1), rejected(2)]), 0, "nothing was shown to fail");
    assert_eq!(false_successes(after("pass", vec![claimed(1), rejected(2)])), 0);
    assert_eq!(false_successes(after("error", vec![claimed(1), rejected(2)])), 0, "nobody could tell");
    assert_eq!(false_successes(after("fail", vec![claimed(1), rejected(2)])), 1, "one call did both");
    assert_eq!(false_successes(after("fail", vec![claimed(1), rejected(2), rejected(3)])), 2);
    let mended = after("fail", run("e-000000000001", "pass", 1).to_vec());
    assert_eq!(false_successes([mended, vec![claimed(1)]].concat()), 0, "it passes by now");
}

#[test]
fn what_cannot_be_read_is_counted_and_what_is_new_is_counted_by_its_name() {
    let ada = serde_json::to_string(&caller(Some("ada"), None)).expect("it serialises");
    let metrics = folded(&[
        raw("session:s", 1, &ada, "session.released", 1, b"not JSON".to_vec()),
        raw("session:s", 2, "not JSON", "session.released", 1, b"{}".to_vec()),
        raw("task:t", 1, &ada, "task.praised", 1, b"{}".to_vec()),
        raw("task:t", 2, &ada, "task.created", 99, b"{}".to_vec()),
    ]);
    assert_eq!((metrics.events, metrics.unreadable), (4, 2));
    let unknown: Vec<String> = metrics.unknown_types().into_iter().map(|one| one.name).collect();
    assert_eq!(unknown, ["task.created", "task.praised"]);
}

#[test]
fn regrounds_and_tickets_are_counted_for_who_was_told() {
    let ticket = || FailureEvent::TicketOpened {
        ticket: "k-000000000000".parse().expect("legal"),
        gate: Gate::Criterion("AC-1".to_owned()),
        lineage: None,
        capability: "a person".to_owned(),
        evidence: None,
    };
    let ada = caller(Some("ada"), None);
    let regrounded = FailureEvent::Regrounded { lineage: 1 };
    let metrics = folded(&[recorded("failure:t", 1, &ada, regrounded), recorded("failure:t", 2, &ada, ticket())]);
    let totals = metrics.totals();
    assert_eq!((totals.regrounds, totals.tickets, metrics.agents()[0].regrounds), (1, 1, 1));
    assert!(
        exposition(&metrics).contains(r#"kctl_tickets_total{host="(unknown)",agent="ada",gate="criterion AC-1"} 1"#)
    );
}

#[test]
fn percentiles_are_by_the_nearest_rank() {
    let ten: Vec<i64> = (1..=10).collect();
    assert_eq!([percentile(&ten, 50), percentile(&ten, 90), percentile(&ten, 100)], [Some(5), Some(9), Some(10)]);
    assert_eq!((percentile(&[7], 50), percentile(&[7], 90), percentile(&[], 50)), (Some(7), Some(7), None));
    let runs: Vec<Recorded> = (1..=10).flat_map(|n| run(&format!("e-{n:012}"), "pass", n)).collect();
    let check = folded(&runs).checks().remove(0);
    assert_eq!((check.runs, check.criteria_passed, check.median_s, check.p90_s), (10, 10, Some(5.0), Some(9.0)));
}

#[test]
fn every_event_is_somebodys() {
    let person = Caller { grade: Grade::Tty, ..Caller::unknown(Door::Cli) };
    let cancelled = || TaskEvent::Cancelled { reason: "no".to_owned() };
    let metrics = folded(&[
        recorded("task:t", 1, &person, cancelled()),
        recorded("task:t", 2, &caller(None, None), cancelled()),
        recorded("task:t", 3, &caller(Some("ada"), Some("h")), cancelled()),
    ]);
    let who: Vec<_> = metrics.agents().into_iter().map(|row| (row.host, row.agent, row.events)).collect();
    let row = |host: &str, agent: &str| (host.to_owned(), agent.to_owned(), 1);
    assert_eq!(who, [row("(unknown)", "(person)"), row("(unknown)", "(unknown)"), row("h", "ada")]);
}

/// Reads a text as strictly as the format is described: families whole and once, types known, samples once.
fn parsed(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    let mut current: Option<String> = None;
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, about) = rest.split_once(' ').expect("a name and a text");
            assert!(is_name(name) && !about.is_empty() && !families.contains_key(name), "{line}");
            current = Some(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a type");
            assert_eq!(current.as_deref(), Some(name), "the type follows the help: {line}");
            assert!(["counter", "summary", "gauge"].contains(&kind), "{line}");
            assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
            let (name, labels) = labels_of(series);
            let family = current.as_deref().expect("a sample belongs to a family");
            let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("of another family: {line}"));
            let legal = match families[family].as_str() {
                "summary" => ["", "_sum", "_count"].contains(&suffix),
                "counter" => suffix.is_empty() && family.ends_with("_total"),
                _ => suffix.is_empty(),
            };
            assert!(legal, "{line}");
            let value: f64 = value.parse().unwrap_or_else(|why| panic!("{why}: {line}"));
            assert!(samples.insert(format!("{name}{labels:?}"), value).is_none(), "twice: {line}");
        }
    }
    samples
}

fn is_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(legal)
}

fn labels_of(series: &str) -> (String, BTreeMap<String, String>) {
    let (name, rest) = series.split_once('{').unwrap_or((series, "}"));
    assert!(is_name(name), "{series}");
    let mut labels = BTreeMap::new();
    let mut rest = rest;
    while rest != "}" {
        let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("no value: {series}"));
        assert!(is_name(label), "{series}");
        let (mut value, mut chars, mut end) = (String::new(), after.char_indices(), None);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    end = Some(at);
                    break;
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => value.push('\n'),
                    Some(c @ ('\\' | '"')) => value.push(c),
                    other => panic!("no escape {other:?}: {series}"),
                },
                c => value.push(c),
            }
        }
        let end = end.unwrap_or_else(|| panic!("no end of the value: {series}"));
        assert!(labels.insert(label.to_owned(), value).is_none(), "a label twice: {series}");
        rest = &after[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    (name.to_owned(), labels)
}

#[test]
fn the_exposition_is_read_by_a_strict_parser_whatever_hosts_are_called() {
    let refused = |op: &str| SessionEvent::Refused { op: op.to_owned(), code: "DENIED".to_owned(), request: None };
    let hosts =
        ["a \"quoted\" host", "back\\slash", "line\nbreak", "\u{1b}[2J", "\u{202e}x", "\u{1b}[2J", "{a=\"b\"}", ""];
    let mut events: Vec<Recorded> = run("e-000000000000", "fail", 2).to_vec();
    events.extend(
        hosts.iter().map(|host| recorded("session:s", 1, &caller(Some("ada"), Some(host)), refused("publish"))),
    );
    let samples = parsed(&exposition(&folded(&events)));
    let refusals: f64 =
        samples.iter().filter(|(name, _)| name.starts_with("kctl_actions_refused_total")).map(|(_, value)| value).sum();
    assert_eq!(refusals, 8.0, "{samples:#?}");
    assert!(samples.keys().any(|name| name.contains(r#"a \"quoted\" host"#)), "{samples:#?}");
    assert_eq!(samples[r#"kctl_check_duration_seconds_sum{"check": "test"}"#], 2.0, "{samples:#?}");
    let empty = exposition(&Metrics::default());
    assert!(parsed(&empty).values().all(|value| *value == 0.0));
    assert!(Metric::ALL.iter().all(|metric| empty.contains(&format!("# TYPE kctl_{}_total counter\n", metric.name()))));
}
