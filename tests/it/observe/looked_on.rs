//! What others than the agent are told of what its host reports.

use serde_json::json;

use super::Host;
use crate::place::{Place, text, write};

/// `loop-04`: much is done, all of it new, and nothing comes of it. The agent is told; so is whoever looks at the session,
/// which looks alive by its lease.
#[test]
fn much_activity_without_progress_is_told_to_the_agent_and_shown_to_who_looks_on() {
    let place = Place::new();
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one" }));
    let shown = || {
        let work = host.agent.ok("status", json!({}))["work"][0]["unmoved"].clone();
        (work, host.agent.ok("session.list", json!({}))["items"][0]["unmoved"].clone())
    };
    let advice: Vec<String> = (0..=200).map(|n| host.advice_on(&format!("f{n}"))).collect();
    assert_eq!(advice.iter().filter(|advice| *advice != "go_on").collect::<Vec<_>>(), ["unmoved"]);
    assert_eq!(advice[200], "unmoved");
    assert_eq!(shown(), (json!(200), json!(200)));
    host.agent.ok("session.renew", json!({}));
    assert_eq!(shown(), (json!(200), json!(200)), "a lease that is renewed is no progress");
    host.agent.ok("task.block", json!({ "task": task, "reason": "stuck", "question": "what now?" }));
    host.read("f201");
    assert_eq!(shown(), (json!(null), json!(0)), "a question that was asked is");
}

/// `GATE_GAP`: edits in the tree that no report of the host speaks for are told by the next `validate`.
#[test]
fn edits_beside_what_the_host_reports_are_told_by_validate() {
    let place = Place::new();
    let host = Host::new(&place);
    let task = host.agent.claimed(json!({ "title": "one" }));
    let tree = host.agent.workspace(&task);
    let gaps = || {
        let answer = host.agent.call("validate", json!({ "task": task })).expect("it answers");
        let warnings = answer["warnings"].as_array().expect("a list").iter();
        let gaps = warnings.filter(|warning| warning["code"] == "gate_gap").map(|warning| text(&warning["message"]));
        gaps.collect::<Vec<_>>()
    };
    write(&tree.join("src/before.txt"), "x\n");
    assert_eq!(gaps(), Vec::<String>::new(), "a host that reports nothing is not held against its silence");
    let wrote = |path: &str, content: &str| {
        write(&tree.join(path), content);
        host.report(&tree, "file_write", json!({ "path": path }), json!({})).expect("recorded");
    };
    wrote("src/before.txt", "y\n");
    wrote("src/told.txt", "x\n");
    assert_eq!(gaps(), Vec::<String>::new(), "all of it was reported");
    write(&tree.join("src/told.txt"), "another\n");
    write(&tree.join("src/quiet.txt"), "x\n");
    let said = gaps();
    assert!(matches!(said.as_slice(), [words] if words.starts_with("`src/quiet.txt`, `src/told.txt` ")), "{said:?}");
    place.commit_in(&tree, "work");
    assert_eq!(gaps(), said, "a commit hides nothing");
    host.report(&tree, "process", json!({ "command": "sh fmt.sh" }), json!({ "exit": 0 })).expect("recorded");
    assert_eq!(gaps(), Vec::<String>::new(), "a command after them may have made them");
    std::fs::remove_file(tree.join("src/told.txt")).expect("removed");
    assert_eq!(gaps(), Vec::<String>::new(), "nobody can say when it went");
}
