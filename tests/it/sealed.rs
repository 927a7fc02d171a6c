//! Records that were edited behind kctl's back: what ends something for good does not rest on them.

use kctl::domain::event::Recorded;
use rusqlite::Connection;
use serde_json::json;

use crate::place::{Agent, Place, text};

/// The ledger's database as a skilled hand has it: nothing keeps its events.
fn by_hand(place: &Place) -> Connection {
    let db = Connection::open(place.repo.join(".git/decapod/ledger.db")).expect("it opens");
    db.execute_batch("DROP TRIGGER IF EXISTS events_keep").expect("dropped");
    db
}

/// Replaces `from` by `to` in the event of the first run that has it; with `reseal` the event gets the seal of its new bytes.
fn paint(place: &Place, from: &str, to: &str, reseal: bool) {
    let db = by_hand(place);
    let read = "SELECT seq, id, stream, ver, type, v, at, caller, origin, oseq, prev, body, seal FROM events \
                WHERE type = 'run.ended' AND instr(CAST(body AS TEXT), ?1) ORDER BY seq LIMIT 1";
    let mut event = db
        .query_row(read, [from], |row| {
            Ok(Recorded {
                seq: row.get(0)?,
                id: row.get(1)?,
                stream: row.get(2)?,
                ver: row.get(3)?,
                type_name: row.get(4)?,
                version: row.get(5)?,
                at: row.get(6)?,
                caller: row.get(7)?,
                origin: row.get(8)?,
                oseq: row.get(9)?,
                prev: row.get(10)?,
                body: row.get(11)?,
                seal: row.get(12)?,
            })
        })
        .expect("there is such a run");
    event.body = String::from_utf8(event.body).expect("text").replace(from, to).into_bytes();
    if reseal {
        event.seal = event.computed_seal().to_string();
    }
    db.execute("UPDATE events SET body = ?1, seal = ?2 WHERE seq = ?3", (&event.body, &event.seal, event.seq))
        .expect("edited");
}

fn refused(agent: &Agent<'_>, op: &str, params: serde_json::Value, why: &str) {
    let before = agent.place.log().len();
    let refusal = agent.no("LEDGER_CORRUPT", op, params);
    assert!(text(&refusal["message"]).contains(why), "{op}: {refusal:#}");
    assert!(refusal["details"]["stream"].is_string() && refusal["next"][0]["op"] == "ledger.verify", "{refusal:#}");
    assert_eq!(agent.place.log().len(), before, "{op} recorded something");
}

/// Both ways to edit an event: with its seal left as it was, and with one that fits its new bytes.
#[test]
fn nothing_is_published_or_finished_on_a_run_that_was_edited() {
    for (reseal, why) in [(false, "does not have the seal of its bytes"), (true, "does not name its seal")] {
        let place = Place::new();
        let ada = place.agent("ada");
        let (task, _) = ada.worked(json!({ "title": "one", "criteria": ["check:test"] }));
        ada.ok("task.complete", json!({ "task": task, "summary": "it works" }));
        // What was redacted is nobody's evidence, and edited all the same.
        paint(&place, "\"redactions\":0", "\"redactions\":7", reseal);
        place.kctl(&["ledger", "rebuild"]).ok();
        refused(&ada, "task.finish", json!({ "task": task }), why);
        refused(&ada, "publish", json!({ "task": task }), why);
        assert_eq!(place.remote_holds(&format!("refs/heads/kctl/{task}")), None, "nothing left");
        // What runs again rests on records of its own.
        ada.ok("validate", json!({ "task": task, "scope": "branch", "rerun": true }));
        ada.ok("task.finish", json!({ "task": task }));
        ada.ok("publish", json!({ "task": task }));
    }
}

#[test]
fn a_state_that_is_not_the_fold_of_its_events_finishes_nothing_until_it_is_rebuilt() {
    let place = Place::new();
    let ada = place.agent("ada");
    let (task, _) = ada.worked(json!({ "title": "one", "criteria": ["check:test"] }));
    let paint = "UPDATE state SET body = CAST(replace(CAST(body AS TEXT), '\"title\":\"one\"', '\"title\":\"two\"') AS BLOB) \
                 WHERE kind = 'task'";
    by_hand(&place).execute_batch(paint).expect("edited");
    refused(&ada, "task.finish", json!({ "task": task }), "not the fold of its events");
    place.kctl(&["ledger", "rebuild"]).ok();
    ada.ok("task.finish", json!({ "task": task }));
}
