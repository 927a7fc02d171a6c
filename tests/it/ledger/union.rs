//! Two clones' events: in whatever order they arrive, they fold into one state, and nothing they hold makes a fold
//! fail (I2).

use std::convert::Infallible;
use std::sync::LazyLock;

use anyhow::Result;
use kctl::domain::caller::{Caller, Door};
use kctl::domain::event::{Event, Recorded, Spelled};
use kctl::domain::fold::Kind;
use kctl::domain::replay::{Replay, replay};
use kctl::domain::stamp::Stamp;
use kctl::domain::task::{ClaimEnd, Task, TaskEvent, TaskStatus};
use kctl::ports::ledger::{Access, Ledgers};
use proptest::prelude::*;

use super::samples;
use super::support::*;

fn fold(name: &str, events: &[Recorded]) -> Replay {
    let mut events = events.to_vec();
    events.sort_by(|a, b| a.order().cmp(&b.order()));
    match replay(name, events.into_iter().map(Ok::<_, Infallible>)) {
        Ok(done) => done,
        Err(never) => match never {},
    }
}

fn caller(by: Option<u32>) -> String {
    let caller = Caller { session: by.map(session), ..Caller::unknown(Door::Rpc) };
    serde_json::to_string(&caller).expect("a caller serialises")
}

fn row(origin: u8, oseq: u64, at: i64, by: Option<u32>, event: &Event) -> Recorded {
    row_of(origin, oseq, at, by, event.spell())
}

fn row_of(origin: u8, oseq: u64, at: i64, by: Option<u32>, spelled: Spelled) -> Recorded {
    Recorded {
        seq: u64::from(origin) * 1_000 + oseq,
        id: format!("{origin}-{oseq}"),
        stream: String::new(),
        ver: oseq,
        type_name: spelled.type_name,
        version: spelled.version,
        at,
        caller: caller(by),
        origin: format!("o-{origin}"),
        oseq,
        prev: String::new(),
        body: spelled.body,
        seal: String::new(),
    }
}

static SAMPLES: LazyLock<Vec<Spelled>> = LazyLock::new(|| samples::all().iter().map(Event::spell).collect());

/// Any sample of any kind, under any caller, at any time; some with a version or a body that nobody knows.
fn any_row(origin: u8, oseq: u64) -> impl Strategy<Value = Recorded> {
    let at = prop_oneof![8 => NOON..NOON + 20, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => Just(0_i64)];
    let spoil = prop_oneof![12 => Just(0_u8), 1 => Just(1), 1 => Just(2), 1 => Just(3), 1 => Just(4)];
    (at, spoil, proptest::option::of(1..4_u32), 0..SAMPLES.len()).prop_map(move |(at, spoil, by, sample)| {
        let mut row = row_of(origin, oseq, at, by, SAMPLES[sample].clone());
        match spoil {
            1 => row.version = 9,
            2 => row.body = b"{\"x\":".to_vec(),
            3 => row.type_name = "moon.landed".into(),
            4 => row.caller = "nobody".into(),
            _ => {}
        }
        row
    })
}

fn any_rows() -> impl Strategy<Value = Vec<Recorded>> {
    let of = |origin| {
        (0..12_u64).prop_flat_map(move |many| (1..=many).map(|oseq| any_row(origin, oseq).boxed()).collect::<Vec<_>>())
    };
    (of(1), of(2))
        .prop_map(|(mut one, other)| {
            one.extend(other);
            one
        })
        .prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_of_any_events_folds_and_replays_to_the_same_state(rows in any_rows(), order in any::<u64>()) {
        let mut again = rows.clone();
        again.sort_by_key(|row| row.seq.wrapping_mul(order | 1));
        for kind in Kind::ALL {
            let known = match kind {
                Kind::Task | Kind::Workspace | Kind::Failure => task(1).to_string(),
                Kind::Session | Kind::Action => session(1).to_string(),
                Kind::Root => "o-0123456789ab".to_owned(),
                Kind::Commitment => "c-0123456789ab".to_owned(),
                Kind::Run => "e-0123456789ab".to_owned(),
                Kind::Publication => "p-0123456789ab".to_owned(),
                Kind::Finding => "f-0123456789ab".to_owned(),
            };
            let name = format!("{}:{known}", kind.name());
            let done = fold(&name, &rows);
            prop_assert_eq!(&done, &fold(&name, &again), "arrival decides nothing");
            prop_assert_eq!(done.events, rows.len() as u64);
            if let Some(state) = done.state {
                prop_assert_eq!(state.ver, rows.len() as u64, "what is not understood is counted");
            }
        }
        for name in ["task:../up", "moon:1", "", "task:"] {
            prop_assert_eq!(fold(name, &rows).state, None);
        }
    }

    #[test]
    fn a_state_reads_back_as_it_was_folded(rows in any_rows()) {
        let name = format!("task:{}", task(1));
        let Some(state) = fold(&name, &rows).state else { return Ok(()) };
        let task: Task = serde_json::from_slice(&state.folded.body).expect("a folded state reads");
        prop_assert_eq!(serde_json::to_vec(&task).expect("it serialises"), state.folded.body);
        prop_assert!(task.claim.as_ref().is_none_or(|claim| claim.fence == task.fence), "the claim has the last fence");
    }
}

fn claim(origin: u8, oseq: u64, at: i64, by: u32, fence: u64) -> Recorded {
    let agent = format!("agent-{by}").parse().expect("a legal name");
    let event = TaskEvent::Claimed { session: session(by), agent, fence, until: Stamp(NOON + 10_000) };
    row(origin, oseq, at, Some(by), &event.into())
}

fn folded(rows: &[Recorded]) -> Task {
    let state = fold(&format!("task:{}", task(1)), rows).state.expect("a task's events fold");
    serde_json::from_slice(&state.folded.body).expect("a folded state reads")
}

#[test]
fn of_two_claims_under_one_fence_the_first_stands_and_the_other_cannot_touch_it() {
    let ended = TaskEvent::ClaimEnded { fence: 1, how: ClaimEnd::Released, note: Some("mine".into()) };
    let renewed = TaskEvent::ClaimRenewed { fence: 1, until: Stamp(NOON + 99_000) };
    let done = TaskEvent::CompletionClaimed { fence: 1, summary: "done".into() };
    let rows = [
        claim(1, 1, NOON, 1, 1),
        claim(2, 1, NOON + 1, 2, 1),
        row(2, 2, NOON + 2, Some(2), &renewed.into()),
        row(2, 3, NOON + 3, Some(2), &done.into()),
        row(2, 4, NOON + 4, Some(2), &ended.clone().into()),
    ];
    let task = folded(&rows);
    let claim = task.claim.expect("the first claim stands");
    assert_eq!((claim.session, claim.until, claim.fence), (Some(session(1)), Stamp(NOON + 10_000), 1));
    assert_eq!((task.completion, task.note), (None, None));
    let released = row(1, 2, NOON + 5, Some(1), &ended.clone().into());
    assert_eq!(folded(&[rows.as_slice(), &[released]].concat()).claim, None, "its holder may end it");
    let by_a_person = row(1, 2, NOON + 5, None, &ended.into());
    assert_eq!(folded(&[rows.as_slice(), &[by_a_person]].concat()).claim, None, "and a person may");
}

#[test]
fn the_first_end_of_a_task_stands() {
    let finished =
        TaskEvent::Finished { fence: 1, evidence: vec![], contract_digest: kctl::domain::digest::Digest::of(b"x") };
    let cancelled = TaskEvent::Cancelled { reason: "no".into() };
    let finish = |at| row(1, 1, at, None, &finished.clone().into());
    let cancel = |at| row(2, 1, at, None, &cancelled.clone().into());
    assert_eq!(folded(&[finish(NOON), cancel(NOON + 1)]).status, TaskStatus::Finished);
    assert_eq!(folded(&[finish(NOON + 1), cancel(NOON)]).status, TaskStatus::Cancelled);
}

/// Two ledgers that took each other's rows by hand, in opposite orders, fold into the same states; and a clock that
/// runs behind folds nothing that it decided before what it had seen.
#[test]
fn two_ledgers_that_hold_the_same_events_hold_the_same_states() -> Result<()> {
    let (left, right) = (quick_dir()?, quick_dir()?);
    let (one, other) = (Fixture::sqlite(left.path()), Fixture::sqlite(right.path()));
    one.record(&[created(1, &[]), created(2, &[]), claimed(1, 1, 1, 1, NOON + 5_000)])?;
    other.record(&[created(3, &[]), acquired(1, "ada", NOON, NOON)])?;
    take(&one, &other)?;
    let behind = draft::<Task>(&task(1), 2, NOON - 100_000, TaskEvent::Cancelled { reason: "seen, then ended".into() });
    other.record(&[behind])?;
    take(&other, &one)?;
    for fixture in [&one, &other] {
        assert_eq!(fixture.problems()?, [""; 0]);
    }
    let states = |fixture: &Fixture| -> Result<Vec<(String, u64, Vec<u8>)>> {
        let ledger = fixture.open(Access::Read)?;
        let rows = ledger.query(&kctl::ports::ledger::Query::all(Kind::Task))?;
        Ok(rows.into_iter().map(|row| (row.id, row.ver, row.body)).collect())
    };
    assert_eq!(states(&one)?, states(&other)?);
    let cancelled = one.open(Access::Read)?.load(Kind::Task, task(1).as_str())?.expect("it is there");
    assert!(String::from_utf8(cancelled.body)?.contains("cancelled"), "the later decision folds last");
    Ok(())
}

/// Copies the rows of `from` that `to` lacks, and folds anew, as a sync will.
fn take(from: &Fixture, to: &Fixture) -> Result<()> {
    let conn = by_hand(&to.dir)?;
    conn.execute("ATTACH ?1 AS other", [file(&from.dir).to_str()])?;
    let columns = "id, stream, ver, type, v, at, caller, origin, oseq, prev, body, seal";
    conn.execute_batch(&format!(
        "INSERT INTO main.events ({columns}) SELECT {columns} FROM other.events o
           WHERE NOT EXISTS (SELECT 1 FROM main.events WHERE id = o.id) ORDER BY o.seq;
         INSERT OR REPLACE INTO main.heads SELECT h.* FROM other.heads h
           WHERE h.oseq > coalesce((SELECT oseq FROM main.heads WHERE origin = h.origin), 0);"
    ))?;
    drop(conn);
    let rebuilt = sqlite().rebuild(&to.dir, false)?;
    assert_eq!(rebuilt.quarantined, []);
    Ok(())
}
