//! What every ledger promises, asked of each adapter.

use anyhow::{Result, bail};
use kctl::domain::digest::Digest;
use kctl::domain::fold::{Kind, Rel, Stream};
use kctl::domain::stamp::Stamp;
use kctl::domain::task::{ClaimEnd, Task, TaskEvent};
use kctl::ports::ledger::{ANSWER_LIFETIME_MS, Access, LedgerFault, MAX_PAGE, Query, RecoverFrom, Row, StoredAnswer};

use super::support::*;

macro_rules! contract {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $name() -> anyhow::Result<()> {
                let dir = super::quick_dir()?;
                super::$name(&super::Fixture::sqlite(dir.path()))
            })*
        }
        mod memory {
            $(#[test]
            fn $name() -> anyhow::Result<()> {
                let dir = super::quick_dir()?;
                super::$name(&super::Fixture::memory(dir.path()))
            })*
        }
    };
}

contract!(
    a_ledger_that_never_was_is_absent_and_is_made_once,
    an_event_gets_a_place_a_version_and_a_seal_behind_the_last,
    a_stream_that_moved_refuses_the_whole_batch_and_the_transaction_goes_on,
    a_batch_may_write_one_stream_twice,
    what_is_not_committed_was_never_there,
    an_append_needs_a_transaction_and_a_transaction_needs_to_write,
    an_event_of_another_kind_is_refused_and_ends_the_transaction,
    an_event_id_is_recorded_once,
    nobody_sees_what_is_not_committed,
    a_clock_that_was_set_back_records_nothing_before_what_is_there,
    pages_walk_every_state_once_in_order,
    a_page_holds_no_more_than_the_bound,
    every_condition_narrows,
    what_is_ready_is_open_and_needs_nothing_unfinished,
    counts_follow_the_states,
    a_prefix_finds_what_starts_with_it,
    events_come_in_order_page_by_page_and_by_stream,
    an_answer_is_stored_once_and_kept_for_its_lifetime,
    a_sound_ledger_verifies_and_a_rebuild_changes_nothing,
    a_backup_brings_back_what_it_held_and_never_overwrites,
    nothing_to_recover_from_is_said,
);

fn a_ledger_that_never_was_is_absent_and_is_made_once(fixture: &Fixture) -> Result<()> {
    for access in [Access::Read, Access::Write] {
        assert!(matches!(fixture.open(access), Err(LedgerFault::Absent)));
    }
    assert!(matches!(fixture.ledgers().verify(&fixture.dir), Err(LedgerFault::Absent)));
    let made = fixture.create()?.origin().clone();
    assert_eq!(*fixture.create()?.origin(), made);
    let ledger = fixture.open(Access::Read)?;
    assert_eq!((ledger.origin().clone(), ledger.head()?, ledger.last_at()?), (made, None, None));
    assert_eq!(ledger.load(Kind::Task, task(1).as_str())?, None);
    Ok(())
}

fn an_event_gets_a_place_a_version_and_a_seal_behind_the_last(fixture: &Fixture) -> Result<()> {
    let first = fixture.record(&[created(1, &[])])?.remove(0);
    let second = fixture.record(&[claimed(1, 1, 1, 1, NOON + 5_000)])?.remove(0);
    let third = fixture.record(&[created(2, &[])])?.remove(0);
    let places = [&first, &second, &third].map(|event| (event.seq, event.oseq, event.ver));
    assert_eq!(places, [(1, 1, 1), (2, 2, 2), (3, 3, 1)]);
    assert_eq!([first.prev.as_str(), &second.prev, &third.prev], ["", &first.seal, &second.seal]);
    assert!([&first, &second, &third].iter().all(|event| event.computed_seal().as_str() == event.seal));
    let ledger = fixture.open(Access::Read)?;
    let head = ledger.head()?.expect("three events are recorded");
    assert_eq!((head.oseq, head.seal.as_str()), (3, third.seal.as_str()));
    let row = ledger.load(Kind::Task, task(1).as_str())?.expect("the task is there");
    assert_eq!((row.ver, row.seq), (2, 2));
    assert_eq!(ledger.events(None, 0, 10)?, [first, second, third]);
    Ok(())
}

fn a_stream_that_moved_refuses_the_whole_batch_and_the_transaction_goes_on(fixture: &Fixture) -> Result<()> {
    fixture.record(&[created(1, &[])])?;
    let mut ledger = fixture.open(Access::Write)?;
    ledger.begin()?;
    match ledger.append(&[created(2, &[]), claimed(1, 7, 1, 1, NOON)]) {
        Err(LedgerFault::Moved { stream, expected: 7, found: 1 }) => {
            assert_eq!(stream, Stream::new(Kind::Task, task(1).to_string()).to_string());
        }
        other => bail!("expected `Moved`, got {other:?}"),
    }
    assert_eq!(ledger.load(Kind::Task, task(2).as_str())?, None);
    ledger.append(&[claimed(1, 1, 1, 1, NOON)])?;
    ledger.commit()?;
    assert_eq!(ledger.head()?.map(|head| head.oseq), Some(2));
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

fn a_batch_may_write_one_stream_twice(fixture: &Fixture) -> Result<()> {
    let written = fixture.record(&[created(1, &[]), claimed(1, 1, 1, 1, NOON), created(2, &[]), finished(1, 2)])?;
    assert_eq!(written.iter().map(|event| event.ver).collect::<Vec<_>>(), [1, 2, 1, 3]);
    assert_eq!(fixture.open(Access::Read)?.counts(Kind::Task)?, [("finished".to_owned(), 1), ("open".to_owned(), 1)]);
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

fn what_is_not_committed_was_never_there(fixture: &Fixture) -> Result<()> {
    fixture.record(&[created(1, &[])])?;
    let mut ledger = fixture.open(Access::Write)?;
    ledger.begin()?;
    ledger.append(&[created(2, &[])])?;
    assert!(ledger.load(Kind::Task, task(2).as_str())?.is_some(), "a transaction sees its own events");
    ledger.rollback();
    assert_eq!(ledger.load(Kind::Task, task(2).as_str())?, None);
    ledger.rollback();
    ledger.begin()?;
    ledger.append(&[created(3, &[])])?;
    drop(ledger);
    let recorded = fixture.record(&[created(4, &[])])?.remove(0);
    assert_eq!((recorded.oseq, recorded.seq), (2, 2), "the lock was given back, and no number was used up");
    let ledger = fixture.open(Access::Read)?;
    assert_eq!(ledger.counts(Kind::Task)?, [("open".to_owned(), 2)]);
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

fn an_append_needs_a_transaction_and_a_transaction_needs_to_write(fixture: &Fixture) -> Result<()> {
    let mut ledger = fixture.create()?;
    let answer = StoredAnswer { request: Digest::of(b"x"), answer: "{}".to_owned() };
    assert!(matches!(ledger.append(&[created(1, &[])]), Err(LedgerFault::Failed(_))));
    assert!(matches!(ledger.remember("key", &answer, Stamp(NOON)), Err(LedgerFault::Failed(_))));
    assert!(matches!(ledger.commit(), Err(LedgerFault::Failed(_))));
    ledger.begin()?;
    assert!(matches!(ledger.begin(), Err(LedgerFault::Failed(_))));
    ledger.append(&[created(1, &[])])?;
    ledger.commit()?;
    assert!(matches!(ledger.append(&[created(2, &[])]), Err(LedgerFault::Failed(_))));
    let mut reader = fixture.open(Access::Read)?;
    assert!(matches!(reader.begin(), Err(LedgerFault::NotWritable(_))));
    assert_eq!(fixture.record(&[created(2, &[])])?.len(), 1, "no refusal left the lock behind");
    Ok(())
}

fn an_event_of_another_kind_is_refused_and_ends_the_transaction(fixture: &Fixture) -> Result<()> {
    let mut ledger = fixture.create()?;
    ledger.begin()?;
    let mut stray = created(1, &[]);
    stray.stream.kind = Kind::Session;
    assert!(matches!(ledger.append(&[stray]), Err(LedgerFault::Failed(_))));
    let mut nameless = created(1, &[]);
    nameless.stream.id = "../up".to_owned();
    assert!(matches!(ledger.append(&[nameless]), Err(LedgerFault::Failed(_))));
    ledger.rollback();
    assert_eq!(ledger.head()?, None);
    Ok(())
}

fn an_event_id_is_recorded_once(fixture: &Fixture) -> Result<()> {
    let first = created(1, &[]);
    fixture.record(std::slice::from_ref(&first))?;
    let mut again = created(2, &[]);
    again.id = first.id;
    let mut ledger = fixture.open(Access::Write)?;
    ledger.begin()?;
    assert!(matches!(ledger.append(&[created(3, &[]), again]), Err(LedgerFault::Failed(_))));
    assert!(ledger.commit().is_err(), "nothing is left to commit");
    assert_eq!(ledger.counts(Kind::Task)?, [("open".to_owned(), 1)]);
    assert_eq!(fixture.record(&[created(3, &[])])?.len(), 1);
    Ok(())
}

fn nobody_sees_what_is_not_committed(fixture: &Fixture) -> Result<()> {
    let mut writer = fixture.create()?;
    let reader = fixture.open(Access::Read)?;
    writer.begin()?;
    writer.append(&[created(1, &[])])?;
    assert_eq!(reader.load(Kind::Task, task(1).as_str())?, None);
    writer.commit()?;
    assert!(reader.load(Kind::Task, task(1).as_str())?.is_some());
    Ok(())
}

fn a_clock_that_was_set_back_records_nothing_before_what_is_there(fixture: &Fixture) -> Result<()> {
    fixture.record(&[draft::<Task>(&task(1), 0, NOON, new_task("late", 2, &[], &[]))])?;
    let early = draft::<Task>(&task(1), 1, NOON - 60_000, TaskEvent::Unblocked { note: "early".into() });
    assert_eq!(fixture.record(&[early])?[0].at, NOON);
    let elsewhere = draft::<Task>(&task(2), 0, NOON - 60_000, new_task("another", 2, &[], &[]));
    assert_eq!(fixture.record(&[elsewhere])?[0].at, NOON - 60_000, "another stream keeps its own time");
    assert_eq!(fixture.open(Access::Read)?.last_at()?, Some(Stamp(NOON - 60_000)));
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

fn pages_walk_every_state_once_in_order(fixture: &Fixture) -> Result<()> {
    let drafts: Vec<_> = (1..=40)
        .map(|n| draft::<Task>(&task(n), 0, NOON + i64::from(n % 4), new_task("t", (n % 3) as u8, &[], &["a"])))
        .collect();
    fixture.record(&drafts)?;
    let ledger = fixture.open(Access::Read)?;
    let queries = [
        Query::all(Kind::Task),
        Query { statuses: vec!["open", "claimed", "open"], ..Query::all(Kind::Task) },
        Query { link: Some((Rel::Label, "a".to_owned())), ..Query::all(Kind::Task) },
    ];
    for query in queries {
        let all = ledger.query(&query)?;
        assert_eq!(all.len(), 40);
        assert!(all.is_sorted_by_key(|row| (row.rank, row.id.clone())));
        for size in [1, 3, 40, 41] {
            assert_eq!(walk(ledger.as_ref(), &query, size)?, all, "{query:?} by {size}");
        }
    }
    assert_eq!(ledger.query(&Query { limit: 0, ..Query::all(Kind::Task) })?, []);
    Ok(())
}

fn a_page_holds_no_more_than_the_bound(fixture: &Fixture) -> Result<()> {
    let drafts: Vec<_> = (1..=MAX_PAGE + 1).map(|n| created(n, &[])).collect();
    fixture.record(&drafts)?;
    let ledger = fixture.open(Access::Read)?;
    let bound = MAX_PAGE as usize;
    assert_eq!(ledger.query(&Query { limit: u32::MAX, ..Query::all(Kind::Task) })?.len(), bound);
    assert_eq!(ledger.ready(None, u32::MAX)?.len(), bound);
    assert_eq!(ledger.events(None, 0, u32::MAX)?.len(), bound);
    assert_eq!(ledger.with_prefix(Kind::Task, "t-", u32::MAX)?.len(), bound);
    Ok(())
}

fn every_condition_narrows(fixture: &Fixture) -> Result<()> {
    let child = TaskEvent::Created {
        title: "child".into(),
        contract: Default::default(),
        priority: 1,
        needs: vec![task(1)],
        paths: vec![],
        labels: vec!["red".into(), "red".into()],
        parent: Some(task(1)),
        commitment: None,
    };
    fixture.record(&[
        created(1, &[]),
        created(2, &[]),
        draft::<Task>(&task(3), 0, NOON, child),
        claimed(1, 1, 7, 1, NOON + 5_000),
        claimed(2, 1, 7, 1, NOON + 9_000),
        acquired(1, "ada", NOON, NOON + 100),
        acquired(2, "ada", NOON + 1, NOON + 200),
        acquired(3, "bob", NOON + 2, NOON + 300),
    ])?;
    let ledger = fixture.open(Access::Read)?;
    let tasks = |query: Query| ledger.query(&query).map(|rows| ids(&rows).join(" "));
    let (one, two, three) = (task(1).to_string(), task(2).to_string(), task(3).to_string());
    let all = Query::all(Kind::Task);
    let owner = Some(session(7).to_string());
    assert_eq!(tasks(Query { owner: owner.clone(), ..all.clone() })?, format!("{one} {two}"));
    assert_eq!(tasks(Query { owner, live_at: Some(Stamp(NOON + 5_000)), ..all.clone() })?, two);
    assert_eq!(
        tasks(Query { live_at: Some(Stamp(NOON)), statuses: vec!["claimed"], ..all.clone() })?,
        format!("{one} {two}")
    );
    assert_eq!(tasks(Query { live_at: Some(Stamp(NOON)), statuses: vec!["open"], ..all.clone() })?, "");
    assert_eq!(tasks(Query { parent: Some(one.clone()), ..all.clone() })?, three);
    assert_eq!(tasks(Query { link: Some((Rel::Label, "red".into())), ..all.clone() })?, three);
    assert_eq!(tasks(Query { link: Some((Rel::Needs, one.clone())), statuses: vec!["open"], ..all.clone() })?, three);
    assert_eq!(tasks(Query { link: Some((Rel::Commitment, one)), ..all })?, "");
    let sessions = Query { name: Some("ada".into()), ..Query::all(Kind::Session) };
    let newest_first = [session(2).to_string(), session(1).to_string()];
    assert_eq!(ids(&ledger.query(&sessions)?), newest_first);
    assert_eq!(ids(&ledger.query(&Query { live_at: Some(Stamp(NOON + 150)), ..sessions })?), newest_first[..1]);
    Ok(())
}

fn what_is_ready_is_open_and_needs_nothing_unfinished(fixture: &Fixture) -> Result<()> {
    fixture.record(&[
        created(1, &[]),
        created(2, &[task(1)]),
        created(3, &[task(99)]),
        created(4, &[task(1), task(5)]),
        created(5, &[]),
    ])?;
    let ready = || -> Result<String> { Ok(ids(&fixture.open(Access::Read)?.ready(None, 50)?).join(" ")) };
    let names = |numbers: &[u32]| numbers.iter().map(|n| task(*n).to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(ready()?, names(&[1, 5]), "a needed task that nobody knows is not finished");
    fixture.record(&[claimed(1, 1, 1, 1, NOON + 5_000)])?;
    assert_eq!(ready()?, names(&[5]), "a claimed task is taken");
    fixture.record(&[finished(1, 2)])?;
    assert_eq!(ready()?, names(&[2, 5]));
    fixture.record(&[draft::<Task>(&task(5), 1, NOON, TaskEvent::Cancelled { reason: "no".into() })])?;
    assert_eq!(ready()?, names(&[2]), "a cancelled task finishes nothing");
    let ledger = fixture.open(Access::Read)?;
    let first = ledger.ready(None, 1)?;
    assert_eq!(ledger.ready(first.last().map(Row::cursor).as_ref(), 5)?, []);
    Ok(())
}

fn counts_follow_the_states(fixture: &Fixture) -> Result<()> {
    fixture.record(&[created(1, &[]), created(2, &[]), created(3, &[])])?;
    fixture.record(&[claimed(1, 1, 1, 1, NOON), finished(2, 1)])?;
    let counts = |kind| fixture.open(Access::Read)?.counts(kind);
    let all = [("claimed".to_owned(), 1), ("finished".to_owned(), 1), ("open".to_owned(), 1)];
    assert_eq!(counts(Kind::Task)?, all);
    assert_eq!(counts(Kind::Session)?, []);
    let ended = TaskEvent::ClaimEnded { fence: 1, how: ClaimEnd::Yielded, note: None };
    fixture.record(&[draft::<Task>(&task(1), 2, NOON, ended)])?;
    assert_eq!(counts(Kind::Task)?, [("finished".to_owned(), 1), ("open".to_owned(), 2)]);
    Ok(())
}

fn a_prefix_finds_what_starts_with_it(fixture: &Fixture) -> Result<()> {
    let drafts: Vec<_> = (1..=60).map(|n| created(n, &[])).collect();
    fixture.record(&drafts)?;
    let ledger = fixture.open(Access::Read)?;
    let mut all: Vec<String> = (1..=60).map(|n| task(n).to_string()).collect();
    all.sort();
    let some = ["t-", "t-0", "t-z", "t-zz", &all[7], &all[7][..3], "", "t-%", "t-_", "s-", "t-\u{10ffff}"];
    for prefix in some {
        let expected: Vec<_> = all.iter().filter(|id| id.starts_with(prefix)).cloned().collect();
        assert_eq!(ledger.with_prefix(Kind::Task, prefix, 500)?, expected, "{prefix}");
    }
    assert_eq!(ledger.with_prefix(Kind::Task, "t-", 2)?, all[..2]);
    assert_eq!(ledger.with_prefix(Kind::Session, "t-", 2)?, [""; 0]);
    Ok(())
}

fn events_come_in_order_page_by_page_and_by_stream(fixture: &Fixture) -> Result<()> {
    fixture.record(&[created(1, &[]), created(2, &[]), claimed(1, 1, 1, 1, NOON), created(3, &[]), finished(1, 2)])?;
    let ledger = fixture.open(Access::Read)?;
    let seqs = |stream: Option<&str>, after, limit| -> Result<Vec<u64>> {
        Ok(ledger.events(stream, after, limit)?.iter().map(|event| event.seq).collect())
    };
    let one = format!("task:{}", task(1));
    assert_eq!(seqs(None, 0, 2)?, [1, 2]);
    assert_eq!(seqs(None, 2, 500)?, [3, 4, 5]);
    assert_eq!(seqs(Some(&one), 0, 500)?, [1, 3, 5]);
    assert_eq!(seqs(Some(&one), 3, 500)?, [5]);
    assert_eq!(seqs(Some("task:t-nobody"), 0, 500)?, [0; 0]);
    assert_eq!(seqs(None, u64::MAX, 500)?, [0; 0]);
    let back = |stream: Option<&str>, before, limit| -> Result<Vec<u64>> {
        Ok(ledger.events_before(stream, before, limit)?.iter().map(|event| event.seq).collect())
    };
    assert_eq!(back(None, u64::MAX, 2)?, [4, 5]);
    assert_eq!(back(None, 4, 2)?, [2, 3]);
    assert_eq!(back(None, 2, 500)?, [1]);
    assert_eq!(back(Some(&one), 5, 500)?, [1, 3]);
    assert_eq!(back(Some(&one), u64::MAX, 1)?, [5]);
    assert_eq!(back(Some("task:t-nobody"), u64::MAX, 500)?, [0; 0]);
    assert_eq!(back(None, 0, 500)?, [0; 0]);
    Ok(())
}

fn an_answer_is_stored_once_and_kept_for_its_lifetime(fixture: &Fixture) -> Result<()> {
    let answer = |text: &str| StoredAnswer { request: Digest::of(text.as_bytes()), answer: text.to_owned() };
    let keep = |key: &str, text: &str, at: i64| {
        let mut ledger = fixture.create()?;
        ledger.begin()?;
        ledger.remember(key, &answer(text), Stamp(at))?;
        ledger.commit()
    };
    keep("k", "first", NOON)?;
    assert_eq!(fixture.open(Access::Read)?.answer("k")?, Some(answer("first")));
    assert!(matches!(keep("k", "second", NOON), Err(LedgerFault::Failed(_))), "two calls with one key: one is told no");
    assert_eq!(fixture.open(Access::Read)?.answer("k")?, Some(answer("first")));
    keep("other", "x", NOON + ANSWER_LIFETIME_MS)?;
    assert!(fixture.open(Access::Read)?.answer("k")?.is_some());
    keep("third", "x", NOON + ANSWER_LIFETIME_MS + 1)?;
    assert_eq!(fixture.open(Access::Read)?.answer("k")?, None);
    keep("fourth", "x", i64::MIN)?;
    Ok(())
}

fn a_sound_ledger_verifies_and_a_rebuild_changes_nothing(fixture: &Fixture) -> Result<()> {
    fixture.record(&[
        created(1, &[]),
        created(2, &[task(1)]),
        claimed(1, 1, 1, 1, NOON),
        acquired(1, "ada", NOON, NOON),
    ])?;
    let before = fixture.open(Access::Read)?.query(&Query::all(Kind::Task))?;
    let found = fixture.ledgers().verify(&fixture.dir)?;
    assert_eq!((found.events, found.states, found.origins, found.unknown), (4, 3, 1, 0));
    assert_eq!(found.problems, []);
    for dry_run in [true, false] {
        let rebuilt = fixture.ledgers().rebuild(&fixture.dir, dry_run)?;
        assert_eq!((rebuilt.events, rebuilt.states, rebuilt.changed), (4, 3, false));
        assert_eq!(rebuilt.quarantined, []);
    }
    assert_eq!(fixture.open(Access::Read)?.query(&Query::all(Kind::Task))?, before);
    Ok(())
}

fn a_backup_brings_back_what_it_held_and_never_overwrites(fixture: &Fixture) -> Result<()> {
    let to = fixture.dir.join("monday.db");
    fixture.create()?;
    assert!(fixture.ledgers().backup(&fixture.dir, &to).is_err(), "there is nothing to keep");
    fixture.record(&[created(1, &[])])?;
    let head = fixture.ledgers().backup(&fixture.dir, &to)?;
    assert_eq!(Some(head), fixture.open(Access::Read)?.head()?);
    assert!(fixture.ledgers().backup(&fixture.dir, &to).is_err(), "a backup never overwrites");
    let recovered = fixture.ledgers().recover(&fixture.dir, &RecoverFrom::Backup(to))?;
    assert_eq!((recovered.events, recovered.lost), (1, vec![]));
    fixture.record(&[claimed(1, 1, 1, 1, NOON)])?;
    assert_eq!(fixture.problems()?, [""; 0]);
    Ok(())
}

fn nothing_to_recover_from_is_said(fixture: &Fixture) -> Result<()> {
    let ledgers = fixture.ledgers();
    assert!(ledgers.recover(&fixture.dir, &RecoverFrom::Damaged).is_err());
    assert!(ledgers.recover(&fixture.dir, &RecoverFrom::Backup(fixture.dir.join("nowhere"))).is_err());
    let recovered = ledgers.recover(&fixture.dir, &RecoverFrom::DamagedOrNothing)?;
    assert_eq!((recovered.events, recovered.source.as_str()), (0, "nothing"));
    assert!(!recovered.lost.is_empty(), "what is gone is named");
    fixture.record(&[created(1, &[])])?;
    Ok(())
}
