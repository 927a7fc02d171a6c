//! A ledger that somebody or something damaged.

use std::fs;

use rusqlite::Connection;
use serde_json::json;

use crate::rig::Rig;

/// A ledger of several pages.
fn worked_in() -> Rig {
    let rig = Rig::new();
    for n in 0..40 {
        rig.task(json!({ "title": format!("task {n}"), "goal": "x".repeat(300) }));
    }
    rig
}

#[test]
fn a_page_overwritten_anywhere_is_found_or_harmless_and_never_a_crash() {
    let rig = worked_in();
    let whole = fs::read(rig.ledger()).expect("it is there");
    let page = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    assert!(whole.len() / page > 6, "{} pages", whole.len() / page);
    let events = rig.logged().len();
    let mut found = 0;
    for number in 0..whole.len() / page {
        let mut bytes = whole.clone();
        let from = number * page + page / 4;
        bytes[from..from + page / 2].fill(0xA5);
        fs::write(rig.ledger(), &bytes).expect("written");
        for op in ["status", "task.list", "ledger.log", "doctor", "ledger.export"] {
            let ran = rig.run(op, &json!({}));
            assert!(ran.signal.is_none() && !ran.stderr.contains("panicked"), "{op}, page {number}: {ran:?}");
            assert_ne!(ran.code().as_deref(), Some("INTERNAL"), "{op}, page {number}");
        }
        let verified = rig.run("ledger.verify", &json!({}));
        if verified.code().is_none() {
            // Nothing that counts lay there: then nothing is missing either.
            assert_eq!(rig.logged().len(), events, "page {number}");
            continue;
        }
        found += 1;
        assert_eq!(verified.status, Some(12), "page {number}: {verified:?}");
    }
    assert!(found >= 4, "only {found} pages mattered");
    fs::write(rig.ledger(), &whole).expect("written");
    rig.assert_sound("whole again");
}

#[test]
fn a_damaged_ledger_is_kept_and_what_reads_is_recovered() {
    let rig = worked_in();
    let mut bytes = fs::read(rig.ledger()).expect("it is there");
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let last = bytes.len() - page;
    bytes[last..].fill(0xA5);
    fs::write(rig.ledger(), &bytes).expect("written");
    let code = rig.run("ledger.verify", &json!({})).code();
    if code.is_some() {
        let recovered = rig.ok("ledger.recover", json!({}));
        let kept = recovered["kept"].as_str().expect("it was kept");
        assert_eq!(fs::read(kept).expect("it is there"), bytes, "as it was");
        rig.ok("ledger.verify", json!({}));
        rig.ok("task.create", json!({ "title": "and on" }));
    }
}

#[test]
fn what_is_no_ledger_is_told_apart_from_none() {
    let rig = worked_in();
    let whole = fs::read(rig.ledger()).expect("it is there");
    for (what, bytes, wanted) in [
        ("garbage", vec![7; 8192], "LEDGER_CORRUPT"),
        ("nothing", Vec::new(), "LEDGER_MISSING"),
        ("half of it", whole[..whole.len() / 2].to_vec(), "LEDGER_CORRUPT"),
    ] {
        fs::write(rig.ledger(), bytes).expect("written");
        let ran = rig.run("ledger.verify", &json!({}));
        assert_eq!(ran.code().as_deref(), Some(wanted), "{what}: {ran:?}");
        let ran = rig.run("task.create", &json!({ "title": "x" }));
        assert!(ran.code().is_some_and(|code| code.starts_with("LEDGER_")), "{what}: {ran:?}");
    }
    fs::remove_file(rig.ledger()).expect("removed");
    for op in ["status", "task.create", "init"] {
        let params = if op == "task.create" { json!({ "title": "x" }) } else { json!({}) };
        let ran = rig.run(op, &params);
        assert_eq!(ran.code().as_deref(), Some("LEDGER_MISSING"), "{op}: {ran:?}");
    }
}

#[test]
fn rows_that_were_swapped_or_changed_by_hand_do_not_verify() {
    let rig = worked_in();
    let saved = rig.save();
    let swap = "CREATE TEMP TABLE two AS SELECT seq, body FROM events WHERE type = 'task.created' LIMIT 2;
         UPDATE events SET body = (SELECT body FROM two WHERE two.seq <> events.seq) WHERE seq IN (SELECT seq FROM two)";
    let places = "UPDATE events SET seq = -1 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 6;
         UPDATE events SET seq = 6 WHERE seq = -1";
    let states = "CREATE TEMP TABLE two AS SELECT id, body FROM state WHERE kind = 'task' LIMIT 2;
         UPDATE state SET body = (SELECT body FROM two WHERE two.id <> state.id) WHERE id IN (SELECT id FROM two)";
    for (what, sql) in [
        ("two bodies swapped", swap),
        ("two places swapped", places),
        ("two states swapped", states),
        ("a body changed", "UPDATE events SET body = CAST(replace(body, 'task', 'tusk') AS BLOB) WHERE seq = 8"),
        ("a time changed", "UPDATE events SET at = at - 1 WHERE seq = 7"),
        ("a caller changed", "UPDATE events SET caller = '{\"door\":\"cli\",\"grade\":\"tty\"}' WHERE seq = 7"),
        ("a row deleted", "DELETE FROM events WHERE seq = 9"),
        (
            "a state deleted",
            "DELETE FROM state WHERE kind = 'task' AND id = (SELECT min(id) FROM state WHERE kind = 'task')",
        ),
    ] {
        rig.restore(&saved);
        let conn = Connection::open(rig.ledger()).expect("opened");
        // Whoever can write the file can take the triggers away, and put them back.
        let triggers: Vec<(String, String)> = conn
            .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
            .and_then(|mut rows| rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
            .expect("read");
        assert!(conn.execute_batch("DELETE FROM events WHERE seq = 3").is_err(), "the triggers refuse it");
        triggers.iter().for_each(|(name, _)| conn.execute_batch(&format!("DROP TRIGGER {name}")).expect("dropped"));
        conn.execute_batch(sql).expect(what);
        triggers.iter().for_each(|(_, sql)| conn.execute_batch(sql).expect("made"));
        drop(conn);
        let ran = rig.run("ledger.verify", &json!({}));
        assert_eq!(ran.code().as_deref(), Some("LEDGER_CORRUPT"), "{what}: {ran:?}");
        assert!(ran.json()["error"]["data"]["details"]["problems"][0]["what"].is_string(), "{what}: {ran:?}");
    }
}
