//! Any commands, in any order: both adapters give the same answers, and what they hold verifies.

use kctl::domain::digest::Digest;
use kctl::domain::event::Draft;
use kctl::domain::fold::{Kind, Rel};
use kctl::domain::id::OriginId;
use kctl::domain::session::{Session, SessionEvent};
use kctl::domain::stamp::Stamp;
use kctl::domain::task::{ClaimEnd, Task, TaskEvent};
use kctl::ports::ledger::{Access, Ledger, LedgerFault, Ledgers, Query, StoredAnswer};
use proptest::prelude::*;

use kctl::adapters::memory::MemoryLedgers;
use kctl::adapters::sqlite::SqliteLedgers;

use super::support::*;

/// Streams are few, so that commands meet.
const STREAMS: u32 = 5;

#[derive(Clone, Debug)]
enum Command {
    Begin,
    Append(Vec<Step>),
    Remember(u8),
    Commit,
    Rollback,
    Reopen,
    Rebuild,
}

/// One event, of one stream, at one time; `stale` makes its expected version wrong.
#[derive(Clone, Debug)]
struct Step {
    n: u32,
    at: i64,
    stale: bool,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Create { priority: u8, needs: Vec<u32>, label: Option<u8>, parent: Option<u32> },
    Update { priority: Option<u8>, label: Option<u8> },
    Claim { by: u32, fence: u64, until: i64 },
    End { fence: u64 },
    Block,
    Unblock,
    Finish,
    Cancel,
    Acquire { name: u8, until: i64 },
    Renew { until: i64 },
    Release,
}

fn what() -> impl Strategy<Value = What> {
    let n = 1..=STREAMS;
    let label = || proptest::option::of(0..3_u8);
    prop_oneof![
        4 => (0..4_u8, proptest::collection::vec(n.clone(), 0..3), label(), proptest::option::of(n))
            .prop_map(|(priority, needs, label, parent)| What::Create { priority, needs, label, parent }),
        1 => (proptest::option::of(0..4_u8), label()).prop_map(|(priority, label)| What::Update { priority, label }),
        3 => (1..4_u32, 0..5_u64, 0..100_i64).prop_map(|(by, fence, until)| What::Claim { by, fence, until }),
        2 => (0..5_u64).prop_map(|fence| What::End { fence }),
        1 => Just(What::Block),
        1 => Just(What::Unblock),
        1 => Just(What::Finish),
        1 => Just(What::Cancel),
        2 => (0..3_u8, 0..100_i64).prop_map(|(name, until)| What::Acquire { name, until }),
        1 => (0..100_i64).prop_map(|until| What::Renew { until }),
        1 => Just(What::Release),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let step = (1..=STREAMS, -50..100_i64, prop::bool::weighted(0.08), what()).prop_map(|(n, at, stale, what)| Step {
        n,
        at,
        stale,
        what,
    });
    prop_oneof![
        4 => Just(Command::Begin),
        10 => proptest::collection::vec(step, 1..4).prop_map(Command::Append),
        1 => (0..3_u8).prop_map(Command::Remember),
        4 => Just(Command::Commit),
        1 => Just(Command::Rollback),
        1 => Just(Command::Reopen),
        1 => Just(Command::Rebuild),
    ]
}

fn write(step: &Step, expected: u64) -> Draft {
    let (n, at) = (step.n, NOON + step.at);
    let name = |prefix: &str, n: u8| format!("{prefix}-{n}");
    let contract_digest = Digest::of(b"contract");
    let event = match step.what.clone() {
        What::Create { priority, needs, label, parent } => TaskEvent::Created {
            title: format!("task {n}"),
            contract: Default::default(),
            priority,
            needs: needs.into_iter().map(task).collect(),
            paths: vec![],
            labels: label.map(|label| name("label", label)).into_iter().collect(),
            parent: parent.map(task),
            commitment: None,
        },
        What::Update { priority, label } => TaskEvent::Updated {
            title: None,
            priority,
            needs: None,
            paths: None,
            labels: label.map(|label| vec![name("label", label), name("label", label)]),
        },
        What::Claim { by, fence, until } => {
            let agent = format!("agent-{by}").parse().expect("a legal name");
            TaskEvent::Claimed { session: session(by), agent, fence, until: Stamp(NOON + until) }
        }
        What::End { fence } => TaskEvent::ClaimEnded { fence, how: ClaimEnd::Released, note: None },
        What::Block => TaskEvent::Blocked { reason: "why".into(), question: None },
        What::Unblock => TaskEvent::Unblocked { note: "so".into() },
        What::Finish => TaskEvent::Finished { fence: 1, evidence: vec![], contract_digest },
        What::Cancel => TaskEvent::Cancelled { reason: "no".into() },
        What::Acquire { .. } | What::Renew { .. } | What::Release => return write_session(step, expected),
    };
    draft::<Task>(&task(n), expected, at, event)
}

fn write_session(step: &Step, expected: u64) -> Draft {
    let event = match step.what {
        What::Acquire { name, until } => SessionEvent::Acquired {
            agent: format!("agent-{name}").parse().expect("a legal name"),
            host: None,
            host_session: None,
            token_digest: Digest::of(b"token"),
            until: Stamp(NOON + until),
        },
        What::Renew { until } => SessionEvent::Renewed { until: Stamp(NOON + until) },
        _ => SessionEvent::Released {},
    };
    draft::<Session>(&session(step.n), expected, NOON + step.at, event)
}

/// The drafts of one batch, each expecting what the ones before it make of its stream.
fn batch(ledger: &dyn Ledger, steps: &[Step]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for step in steps {
        let stream = write(step, 0).stream;
        let stored = ledger.load(stream.kind, &stream.id).expect("a sound ledger loads").map_or(0, |row| row.ver);
        let before = drafts.iter().filter(|draft| draft.stream == stream).count() as u64;
        drafts.push(write(step, stored + before + u64::from(step.stale)));
    }
    drafts
}

/// A fault's kind: the words differ between adapters, and may.
fn kind(fault: &LedgerFault) -> String {
    match fault {
        LedgerFault::Moved { stream, expected, found } => format!("moved {stream} {expected} {found}"),
        LedgerFault::Failed(_) => "failed".to_owned(),
        other => format!("{other:?}"),
    }
}

fn told<T: std::fmt::Debug>(result: Result<T, LedgerFault>) -> String {
    result.map_or_else(|fault| kind(&fault), |value| format!("{value:?}"))
}

/// Everything that the port can be asked, in words.
fn views(ledger: &dyn Ledger) -> Vec<String> {
    let mut seen = vec![
        told(ledger.head()),
        told(ledger.last_at()),
        told(ledger.events(None, 0, 500)),
        told(ledger.events(Some(&format!("task:{}", task(1))), 2, 3)),
        told(ledger.ready(None, 2)),
        told(ledger.ready(None, 500)),
        told(ledger.with_prefix(Kind::Task, "t-", 3)),
    ];
    seen.extend((0..3).map(|n| told(ledger.answer(&format!("key-{n}")))));
    for of in [Kind::Task, Kind::Session] {
        seen.push(told(ledger.counts(of)));
        for query in queries(of) {
            let whole = ledger.query(&query);
            if let Ok(rows) = &whole {
                let paged = walk(ledger, &query, 2).expect("a page reads as the whole does");
                assert_eq!(&paged, rows, "{query:?}");
            }
            seen.push(told(whole));
        }
    }
    seen
}

fn queries(of: Kind) -> Vec<Query> {
    let all = Query::all(of);
    let owner = || Some(session(1).to_string());
    let live = || Some(Stamp(NOON + 50));
    vec![
        all.clone(),
        Query { statuses: vec!["claimed", "open"], ..all.clone() },
        Query { statuses: vec!["finished"], live_at: live(), ..all.clone() },
        Query { owner: owner(), statuses: vec!["claimed", "blocked"], ..all.clone() },
        Query { parent: Some(task(1).to_string()), owner: owner(), ..all.clone() },
        Query { name: Some("agent-1".into()), live_at: live(), ..all.clone() },
        Query { link: Some((Rel::Label, "label-1".into())), ..all.clone() },
        Query { link: Some((Rel::Needs, task(2).to_string())), statuses: vec!["open"], ..all.clone() },
        Query { live_at: live(), ..all },
    ]
}

/// One command given to one ledger, and what came of it.
fn give(
    ledgers: &dyn Ledgers,
    dir: &std::path::Path,
    ledger: &mut Box<dyn Ledger>,
    command: &Command,
    drafts: &[Draft],
) -> String {
    match command {
        Command::Begin => told(ledger.begin()),
        Command::Append(_) => told(ledger.append(drafts)),
        Command::Remember(n) => {
            let answer = StoredAnswer { request: Digest::of(&[*n]), answer: format!("answer {n}") };
            told(ledger.remember(&format!("key-{n}"), &answer, Stamp(NOON)))
        }
        Command::Commit => told(ledger.commit()),
        Command::Rollback => {
            ledger.rollback();
            String::new()
        }
        Command::Reopen => {
            *ledger = ledgers.open(dir, Access::Write).expect("what was made opens");
            String::new()
        }
        Command::Rebuild => {
            ledger.rollback();
            told(ledgers.rebuild(dir, false))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_commands_give_the_same_views_in_both_adapters_and_state_is_the_fold(
        commands in proptest::collection::vec(command(), 1..40),
    ) {
        let dir = quick_dir().expect("a temporary directory");
        let origin = || OriginId::new(id(77));
        let both: [Box<dyn Ledgers>; 2] =
            [Box::new(SqliteLedgers::new(origin)), Box::new(MemoryLedgers::new(origin))];
        let mut open = both.each_ref().map(|ledgers| ledgers.open(dir.path(), Access::Create).expect("it is made"));
        for command in &commands {
            let drafts = match command {
                Command::Append(steps) => batch(open[1].as_ref(), steps),
                _ => Vec::new(),
            };
            let [sqlite, memory] = &mut open;
            let one = give(both[0].as_ref(), dir.path(), sqlite, command, &drafts);
            let other = give(both[1].as_ref(), dir.path(), memory, command, &drafts);
            prop_assert_eq!(one, other, "{:?}", command);
        }
        prop_assert_eq!(views(open[0].as_ref()), views(open[1].as_ref()));
        open.iter_mut().for_each(|ledger| ledger.rollback());
        prop_assert_eq!(views(open[0].as_ref()), views(open[1].as_ref()));
        let [one, other] = both.each_ref().map(|ledgers| ledgers.verify(dir.path()).expect("it reads"));
        prop_assert_eq!(&one.problems, &Vec::new());
        prop_assert_eq!(one, other);
    }
}
