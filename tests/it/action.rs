//! `action.evaluate` from outside: what is malformed, huge or binary is refused or denied, and nothing is ever recorded.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, text};

/// Asks, and holds that neither the ledger nor the tree is another afterwards.
fn ask(place: &Place, params: Value) -> Result<Value, Value> {
    let ledger = || fs::read(place.repo.join(".git/decapod/ledger.db")).expect("read");
    let before = (ledger(), place.git(&["status", "--porcelain"]));
    let said = place.call("action.evaluate", params).map(|answer| answer["data"].clone());
    assert_eq!(before, (ledger(), place.git(&["status", "--porcelain"])), "a question changes nothing");
    said
}

#[test]
fn a_question_that_does_not_fit_is_refused_by_the_member_that_is_wrong() {
    let place = Place::new();
    let read = |arguments: Value| json!({ "tool": "file_read", "arguments": arguments });
    for (params, member) in [
        (json!({}), "tool"),
        (json!({ "tool": "file_read" }), "arguments"),
        (json!({ "tool": 7, "arguments": {} }), "tool"),
        (json!({ "tool": "", "arguments": {} }), "tool"),
        (json!({ "tool": "x".repeat(201), "arguments": {} }), "tool"),
        (json!({ "tool": "x".repeat(4 << 20), "arguments": {} }), "tool"),
        (json!({ "tool": "file_read", "arguments": {}, "host": "emacs" }), "host"),
        (json!({ "tool": "file_read", "arguments": {}, "path": "a" }), "path"),
        (read(json!(null)), "arguments"),
        (read(json!([{ "path": "a" }])), "arguments"),
        (read(json!("")), "arguments"),
        (read(json!("not JSON")), "arguments"),
        (read(json!("\u{1}\u{feff}")), "arguments"),
        (read(json!({})), "arguments.path"),
        (read(json!({ "path": null })), "arguments.path"),
        (read(json!({ "path": "" })), "arguments.path"),
        (read(json!({ "path": "a\u{0}b" })), "arguments.path"),
        (read(json!({ "path": ["a"] })), "arguments.path"),
        (read(json!({ "path": "a/".repeat(2 << 20) })), "arguments.path"),
        (
            json!({ "tool": "apply_patch", "host": "codex", "arguments": { "command": "\u{1}".repeat(99) } }),
            "arguments.command",
        ),
        (
            json!({ "tool": "apply_patch", "host": "codex", "arguments": { "command": "*** Add File: x\n".repeat(3) + &"*** Add File: ".repeat(1 << 16) } }),
            "arguments.command",
        ),
    ] {
        let shown: String = params.to_string().chars().take(120).collect();
        let refusal = ask(&place, params).expect_err(&shown);
        assert_eq!(refusal["code"], "INVALID_PARAMS", "{shown}: {refusal:#}");
        let named = format!("{} {}", refusal["message"], refusal["details"]).replace('/', ".");
        assert!(named.contains(member), "{shown}: `{member}` is not named: {refusal:#}");
        assert!(refusal.to_string().len() < 16 * 1024, "{shown}: a refusal does not give back what was sent");
    }
}

#[test]
fn what_no_path_can_be_is_denied_and_what_is_large_but_fits_is_judged() {
    let place = Place::new();
    let decide =
        |tool: &str, arguments: Value| ask(&place, json!({ "tool": tool, "arguments": arguments })).expect("judged");
    for (path, code) in [
        ("~/.ssh/id_ed25519", "BOUNDARY_VIOLATION"),
        ("file:///etc/passwd", "BOUNDARY_VIOLATION"),
        ("/proc/self/cwd/a", "PATH_UNRESOLVED"),
        (&"x".repeat(300), "PATH_UNRESOLVED"),
        ("\u{feff}.git/config", "BOUNDARY_VIOLATION"),
        ("\u{202e}sr.bil/crs", "REFERENCE_MISSING"),
    ] {
        let said = decide("file_read", json!({ "path": path }));
        assert_eq!((&said["decision"], &said["code"]), (&json!("deny"), &json!(code)), "{path:?}: {said:#}");
        assert!(!text(&said["next_step"]).is_empty(), "{path:?}: {said:#}");
    }
    let large = decide("file_write", json!({ "path": "src/big.bin", "content": "\u{1}\u{fffd}".repeat(1 << 19) }));
    assert_eq!((&large["decision"], &large["paths"][0]["given"]), (&json!("allow"), &json!("src/big.bin")));
    assert!(large.to_string().len() < 4096, "the content is not given back");
}

#[test]
fn bytes_that_are_no_request_are_refused_before_anything_is_looked_at() {
    let place = Place::new();
    let kctl = env!("CARGO_BIN_EXE_kctl");
    let ask = |bytes: &[u8]| place.run(&place.repo, kctl, &["rpc"], Some(bytes)).json();
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"action.evaluate","params":{{"tool":"file_read","arguments":{arguments}}}}}"#
        )
    };
    let binary = [&call(r#"{"path":"a"#).into_bytes()[..], b"\xff\xfe\x00\""].concat();
    let deep = call(&format!("{}{}", r#"{"a":"#.repeat(80), "}".repeat(80)));
    let huge = call(&format!(r#"{{"path":"a","content":"{}"}}"#, "x".repeat(9 << 20)));
    for (what, bytes, codes) in [
        ("binary", binary, &["PARSE_ERROR"][..]),
        ("half", call(r#"{"path":"#).into_bytes(), &["PARSE_ERROR"]),
        ("a lone surrogate", call(r#"{"path":"\ud800"}"#).into_bytes(), &["PARSE_ERROR"]),
        (
            "a member twice",
            call(r#"{"path":"a","path":"/etc/passwd"}"#).into_bytes(),
            &["INVALID_REQUEST", "INVALID_PARAMS"],
        ),
        ("deep", deep.into_bytes(), &["PARSE_ERROR", "INVALID_REQUEST", "REQUEST_TOO_LARGE"]),
        ("huge", huge.into_bytes(), &["REQUEST_TOO_LARGE"]),
    ] {
        let code = text(&ask(&bytes)["error"]["data"]["code"]);
        assert!(codes.contains(&code.as_str()), "{what}: {code}");
    }
}
