//! The rules about paths, by table.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::domain::action::{Capability, Decision, GateCode, Reached, There};

fn facts(capability: Capability, session: bool, trees: &[(&str, bool, bool, bool)], here: &str) -> Facts {
    let tree = |(top, main, claimed, own): &(&str, bool, bool, bool)| Tree {
        top: PathBuf::from(top),
        main: *main,
        claimed: *claimed,
        own: *own,
    };
    let sealed = vec![PathBuf::from("/r/.git"), PathBuf::from("/home/ada/.local/state/kctl/sessions")];
    Facts { capability, here: PathBuf::from(here), trees: trees.iter().map(tree).collect(), session, sealed }
}

fn code(facts: &Facts, real: &str, there: There) -> Option<(Decision, GateCode)> {
    let target = Target { given: real.to_owned(), reached: vec![Reached { real: PathBuf::from(real), there }] };
    decide(&judge(facts, &target)).map(|finding| (finding.decision, finding.code))
}

const ALONE: &[(&str, bool, bool, bool)] = &[("/r", true, false, false), ("/r/.work/t-1", false, false, false)];

#[test]
fn a_path_is_contained_and_what_judges_is_protected() {
    use Capability::{DirList, FileDelete, FileRead, FileWrite, Search};
    use Decision::{Ask, Deny};
    use GateCode::{BoundaryViolation, ProtectedPath, ReferenceMissing};
    use There::{Dir, File, Nothing};
    let cases = [
        (FileRead, "/r/src/a.rs", File, None),
        (FileRead, "/r/src/gone.rs", Nothing, Some((Deny, ReferenceMissing))),
        (FileWrite, "/r/src/new.rs", Nothing, None),
        (FileDelete, "/r/src/a.rs", File, None),
        (DirList, "/r", Dir, None),
        (DirList, "/r/gone", Nothing, None),
        (Search, "/r", Dir, None),
        (FileRead, "/etc/passwd", File, Some((Deny, BoundaryViolation))),
        (FileRead, "/etc/gone", Nothing, Some((Deny, BoundaryViolation))),
        (FileWrite, "/tmp/x", Nothing, Some((Deny, BoundaryViolation))),
        (DirList, "/", Dir, Some((Deny, BoundaryViolation))),
        // A name that begins like the workspace's is not in it.
        (FileRead, "/r2/a", File, Some((Deny, BoundaryViolation))),
        (FileWrite, "/r-evil/a", Nothing, Some((Deny, BoundaryViolation))),
        (FileRead, "/r/.work/t-1/a", File, Some((Deny, BoundaryViolation))),
        (FileDelete, "/r/.work", Dir, Some((Deny, ProtectedPath))),
        (FileDelete, "/r", Dir, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.git/config", File, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.git", Dir, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.git/decapod/ledger.db", File, Some((Deny, ProtectedPath))),
        (FileDelete, "/r/.git/refs/decapod/x", File, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.GIT/config", Nothing, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/sub/.git/hooks/x", Nothing, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.git /x", Nothing, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.git./x", Nothing, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/GIT~1/x", Nothing, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.g\u{200c}it/x", Nothing, Some((Deny, ProtectedPath))),
        (FileWrite, "/r/.git::$INDEX_ALLOCATION/x", Nothing, Some((Deny, ProtectedPath))),
        (FileWrite, "/home/ada/.local/state/kctl/sessions/s.token", File, Some((Deny, ProtectedPath))),
        (FileRead, "/home/ada/.local/state/kctl/sessions/s.token", File, Some((Deny, BoundaryViolation))),
        (FileRead, "/r/.git/config", File, Some((Deny, BoundaryViolation))),
        (DirList, "/r/.git", Dir, Some((Deny, BoundaryViolation))),
        (FileWrite, "/r/.gitignore", File, None),
        (FileWrite, "/r/.github/workflows/ci.yml", File, None),
        (FileWrite, "/r/.decapod/kctl.toml", File, Some((Ask, ProtectedPath))),
        (FileWrite, "/r/.Decapod/KCTL.toml", Nothing, Some((Ask, ProtectedPath))),
        (FileDelete, "/r/.decapod", Dir, Some((Ask, ProtectedPath))),
        (FileRead, "/r/.decapod/kctl.toml", File, None),
        (FileWrite, "/r/.claude/settings.json", File, Some((Ask, ProtectedPath))),
        (FileWrite, "/r/docs/.claude/settings.json", File, None),
        (FileWrite, "/r/.decapods/x", Nothing, None),
    ];
    for (capability, real, there, expected) in cases {
        let found = code(&facts(capability, false, ALONE, "/r"), real, there);
        assert_eq!(found, expected, "{} {real}", capability.name());
    }
}

#[test]
fn work_goes_where_it_was_claimed() {
    use Capability::{FileRead, FileWrite};
    const WORK: &[(&str, bool, bool, bool)] =
        &[("/r", true, false, false), ("/w/t-1", false, true, true), ("/w/t-2", false, true, false)];
    const OTHERS: &[(&str, bool, bool, bool)] =
        &[("/r", true, false, false), ("/w/t-1", false, true, false), ("/w/t-2", false, true, false)];
    let wrong = Some((Decision::Deny, GateCode::WrongWorkspace));
    let outside = Some((Decision::Deny, GateCode::BoundaryViolation));
    let hooks = Some((Decision::Deny, GateCode::ProtectedPath));
    for (capability, session, trees, here, real, expected) in [
        (FileWrite, true, WORK, "/r", "/r/src/a", wrong),
        (FileWrite, true, WORK, "/r", "/w/t-1/src/a", None),
        (FileWrite, true, WORK, "/w/t-1", "/w/t-1/src/a", None),
        (FileWrite, true, WORK, "/w/t-1", "/r/src/a", wrong),
        (FileWrite, true, WORK, "/w/t-1", "/w/t-2/src/a", wrong),
        (FileWrite, true, WORK, "/w/t-1", "/w/t-1/.claude/settings.json", hooks),
        (FileRead, true, WORK, "/r", "/r/src/a", None),
        (FileRead, true, WORK, "/w/t-1", "/r/src/a", outside),
        (FileRead, true, WORK, "/w/t-1", "/w/t-2/src/a", outside),
        // Who names no session may be anybody: the main worktree is shut all the same.
        (FileWrite, false, OTHERS, "/r", "/r/src/a", wrong),
        (FileWrite, false, OTHERS, "/w/t-1", "/w/t-1/src/a", None),
        (FileWrite, false, OTHERS, "/w/t-1", "/w/t-2/src/a", outside),
        (FileWrite, true, OTHERS, "/w/t-2", "/w/t-2/src/a", wrong),
    ] {
        let found = code(&facts(capability, session, trees, here), real, There::File);
        assert_eq!(found, expected, "{} {real} from {here}", capability.name());
    }
    let target = Target {
        given: "src/a".to_owned(),
        reached: vec![Reached { real: PathBuf::from("/r/src/a"), there: There::File }],
    };
    let found = judge(&facts(FileWrite, true, WORK, "/r"), &target);
    assert_eq!(decide(&found).map(|one| one.candidates.clone()), Some(vec!["/w/t-1/src/a".to_owned()]));
}

#[test]
fn a_path_is_refused_if_either_way_to_read_it_leads_out() {
    let inside = Reached { real: PathBuf::from("/r/x"), there: There::File };
    let outside = Reached { real: PathBuf::from("/etc/x"), there: There::Nothing };
    for reached in [vec![inside.clone(), outside.clone()], vec![outside, inside]] {
        let target = Target { given: "link/../x".to_owned(), reached };
        let found = judge(&facts(Capability::FileWrite, false, ALONE, "/r"), &target);
        assert_eq!(decide(&found).map(|one| one.code), Some(GateCode::BoundaryViolation));
    }
}

#[test]
fn words_that_are_no_path_are_refused_before_a_disk_is_asked() {
    for wrong in ["a\0b", "~", "~/.ssh/id", "~root/x", "file:///etc/passwd", "https://example.org/x"] {
        let code = plainly_wrong(wrong).map(|finding| (finding.decision, finding.code));
        assert_eq!(code, Some((Decision::Deny, GateCode::BoundaryViolation)), "{wrong:?}");
    }
    for fine in ["a~b", "./~x", "src/größe.rs", "a:b", "-rf", " ", "a\nb", "://x", "..", "C:\\x"] {
        assert_eq!(plainly_wrong(fine), None, "{fine:?}");
    }
}

#[test]
fn the_decision_is_the_first_denial_or_else_the_first_question() {
    let ask = unknown_tool("x");
    let deny = unresolved("p", "why");
    assert_eq!(decide(&[]), None);
    assert_eq!(decide(&[ask.clone(), deny.clone()]), Some(&deny));
    assert_eq!(decide(std::slice::from_ref(&ask)), Some(&ask));
}

#[test]
fn a_tool_is_known_by_its_host_s_table_and_by_nothing_else() {
    use Host::{ClaudeCode, Codex, GeminiCli, Plain};
    for (host, name, capability) in [
        (ClaudeCode, "Read", Some(Capability::FileRead)),
        (ClaudeCode, "read", None),
        (ClaudeCode, "READ", None),
        (ClaudeCode, "Read ", None),
        (ClaudeCode, "mcp__files__read", Some(Capability::Mcp)),
        (ClaudeCode, "ReadAnything", None),
        (Codex, "Read", None),
        (Codex, "apply_patch", Some(Capability::FileWrite)),
        (GeminiCli, "replace", Some(Capability::FileWrite)),
        (Plain, "file_delete", Some(Capability::FileDelete)),
        (Plain, "unknown", None),
        (Plain, "", None),
    ] {
        assert_eq!(find(host, name).map(|tool| tool.capability), capability, "{host:?} {name}");
    }
    for capability in Capability::ALL.iter().filter(|one| !matches!(one, Capability::Unknown)) {
        assert_eq!(find(Plain, capability.name()).map(|tool| tool.capability), Some(*capability));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "arguments are written where they are read")]
fn read(value: Value) -> Result<Arguments, String> {
    serde_json::from_str(&value.to_string()).map_err(|why| why.to_string())
}

#[test]
fn arguments_are_an_object_or_the_text_of_one_and_never_less_than_was_sent() {
    let object = read(json!({ "path": "a", "more": [1, { "x": null }] })).expect("an object");
    let text = read(json!(r#"{"path":"a","more":[1,{"x":null}]}"#)).expect("the text of one");
    assert_eq!(object, text);
    for wrong in [
        json!(null),
        json!([]),
        json!(1),
        json!(true),
        json!(""),
        json!("x"),
        json!("[]"),
        json!("null"),
        json!(r#""{}""#),
        json!(r#"{"path":"a"} {}"#),
        json!(r#"{"path":"a","path":"/etc/passwd"}"#),
        json!(r#"{"a":{"b":1,"b":2}}"#),
    ] {
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
    let twice: Result<Arguments, _> = serde_json::from_str(r#"{"path":"a","path":"b"}"#);
    assert!(twice.is_err_and(|why| why.to_string().contains("`path` is given twice")));
}

#[test]
fn a_call_s_paths_are_all_found_or_the_call_is_refused() {
    let of = |host, name, value: Value| {
        let tool = find(host, name).expect("a known tool");
        paths(&tool, &read(value).expect("arguments")).map_err(|(member, _)| member)
    };
    let one = |path: &str| Ok(vec![path.to_owned()]);
    assert_eq!(of(Host::Plain, "file_read", json!({ "path": "a", "offset": 3 })), one("a"));
    assert_eq!(of(Host::Plain, "dir_list", json!({})), one("."));
    assert_eq!(of(Host::ClaudeCode, "Grep", json!({ "pattern": "x", "path": null })), one("."));
    assert_eq!(of(Host::ClaudeCode, "Edit", json!({ "file_path": "a" })), one("a"));
    assert_eq!(of(Host::Plain, "process", json!({ "command": "x" })), Ok(Vec::new()));
    for wrong in [
        json!({ "path": "a/".repeat(MAX_PATH_BYTES) }),
        json!({}),
        json!({ "path": "" }),
        json!({ "path": 1 }),
        json!({ "path": ["a"] }),
        json!({ "Path": "a" }),
    ] {
        assert_eq!(of(Host::Plain, "file_read", wrong.clone()), Err("path"), "{wrong}");
    }
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-old\n+*** Add File: no\n ctx\n*** Add File: ../out\n+x\n*** Delete File: c\n*** End Patch";
    let named = of(Host::Codex, "apply_patch", json!({ "command": patch }));
    assert_eq!(named, Ok(["src/a.rs", "src/b.rs", "../out", "c"].map(str::to_owned).to_vec()));
    for wrong in ["", "*** Begin Patch\n*** End Patch", "*** Add File: "] {
        assert_eq!(of(Host::Codex, "apply_patch", json!({ "command": wrong })), Err("command"), "{wrong}");
    }
    let many: String = (0..=MAX_PATHS).map(|at| format!("*** Add File: f{at}\n")).collect();
    assert_eq!(of(Host::Codex, "apply_patch", json!({ "command": many })), Err("command"));
}

#[test]
fn the_closest_paths_are_those_of_like_name_then_of_like_place() {
    let known =
        ["src/parser.rs", "src/printer.rs", "tests/parser.rs", "docs/parser.md", "README.md", "src/a/b/parser.rs"];
    let of = |missing: &str| closest(missing, known.into_iter());
    assert_eq!(of("src/praser.rs"), ["src/parser.rs", "src/a/b/parser.rs", "tests/parser.rs"]);
    assert_eq!(of("src/README.md"), ["README.md"]);
    assert_eq!(of("src/Parser.rs")[0], "src/parser.rs");
    assert_eq!(of("src/sorcery.py"), Vec::<String>::new());
    assert_eq!(of(&"x".repeat(5000)), Vec::<String>::new());
}

#[test]
fn every_code_says_whether_asking_again_helps() {
    let helps: Vec<GateCode> = GateCode::ALL.into_iter().filter(|code| code.repeat_helps()).collect();
    assert_eq!(helps, [GateCode::UnknownTool, GateCode::ReferenceMissing]);
}
