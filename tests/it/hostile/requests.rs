//! Bytes on standard input.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::{KCTL, Ran, Rig};

/// Sends `bytes`, as much of them as kctl cares to read.
fn send(rig: &Rig, bytes: &[u8]) -> Ran {
    let mut command = rig.program(KCTL);
    let mut child = command
        .arg("rpc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    std::thread::scope(|scope| {
        // It may stop reading and answer.
        scope.spawn(move || stdin.write_all(bytes).unwrap_or_default());
        Ran::of(&child.wait_with_output().expect("it ends"))
    })
}

fn is_legal(response: &Value) -> bool {
    let one = response.get("result").is_some() != response.get("error").is_some();
    response["jsonrpc"] == "2.0" && response.get("id").is_some() && one
}

#[test]
fn whatever_is_sent_the_answer_is_legal_json_rpc_or_nothing_and_nothing_crashes() {
    let rig = Rig::new();
    let seeds = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "task.create", "params": { "title": "x", "labels": ["a"] } }),
        json!([{ "jsonrpc": "2.0", "id": "a", "method": "status" }, { "jsonrpc": "2.0", "method": "task.list" }]),
        json!({ "jsonrpc": "2.0", "id": null, "method": "commit.open", "params": { "objective": "x", "criteria": ["check:test"] } }),
    ];
    let mut random = 20_261_130_u64;
    let mut next = move || {
        // Numerical Recipes' generator: enough to choose places by, and the same every time.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).expect("31 bits")
    };
    for round in 0..90 {
        let mut bytes = seeds[round % seeds.len()].to_string().into_bytes();
        for _ in 0..next() % 4 + 1 {
            let at = next() % bytes.len();
            match next() % 4 {
                0 => bytes[at] = u8::try_from(next() % 256).expect("a byte"),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"{}[]\":,\\0\x00\xff"[next() % 11]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let ran = send(&rig, &bytes);
        let told = format!("{:?} gave {ran:?}", String::from_utf8_lossy(&bytes));
        assert!(ran.status == Some(0) && !ran.stderr.contains("panicked"), "{told}");
        let legal = match serde_json::from_str(&ran.stdout) {
            _ if ran.stdout.is_empty() => true,
            Ok(Value::Array(all)) => !all.is_empty() && all.iter().all(is_legal),
            Ok(single) => is_legal(&single),
            Err(_) => false,
        };
        assert!(legal, "{told}");
    }
    rig.assert_sound("after ninety bad requests");
}

#[test]
fn a_request_of_50_mb_is_refused_before_it_is_read() {
    let rig = Rig::new();
    let title = "x".repeat(50 << 20);
    let bytes = json!({ "jsonrpc": "2.0", "id": 1, "method": "task.create", "params": { "title": title } }).to_string();
    let began = Instant::now();
    let ran = send(&rig, bytes.as_bytes());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(ran.code().as_deref(), Some("REQUEST_TOO_LARGE"), "{ran:?}");
    assert!(ran.stdout.len() < 4096, "the request is not echoed");
}

#[test]
fn large_members_within_the_limit_are_refused_by_name_and_leave_nothing() {
    let rig = Rig::new();
    let before = rig.logged().len();
    let long = "x".repeat(4 << 20);
    let calls = [
        ("task.create", json!({ "title": long })),
        ("task.create", json!({ "title": "x", "labels": vec!["l"; 100_000] })),
        ("session.acquire", json!({ "agent": long })),
        ("session.acquire", json!({ "agent": "ada", "host": long })),
        ("commit.open", json!({ "objective": long, "criteria": ["check:test"] })),
        ("task.create", json!({ "title": "x", "idempotency_key": long })),
        ("task.list", json!({ "after": long })),
        ("context.resolve", json!({ "query": long })),
        ("status", json!({ (long.as_str()): 1 })),
        (long.as_str(), json!({})),
    ];
    for (op, params) in calls {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": op, "params": params }).to_string();
        let ran = send(&rig, request.as_bytes());
        let code = ran.code();
        let legal = ["INVALID_VALUE", "INVALID_PARAMS", "NOT_FOUND", "UNKNOWN_OPERATION"];
        let op = &op[..op.len().min(40)];
        assert!(code.as_deref().is_some_and(|code| legal.contains(&code)), "{op}: {code:?}");
        assert!(ran.stdout.len() < 40 << 10, "{op}: an answer of {} bytes", ran.stdout.len());
    }
    assert_eq!(rig.logged().len(), before);
}
