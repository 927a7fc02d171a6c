use std::path::PathBuf;

use super::*;

fn hooks() -> HookFacts {
    HookFacts {
        common_dir: PathBuf::from("/r/.git"),
        kctl: PathBuf::from("/bin/kctl"),
        settings: Vec::new(),
        own_values: Vec::new(),
        remembered: None,
        usual: Vec::new(),
        usual_is_link: false,
        ours: Vec::new(),
        former_names: Vec::new(),
    }
}

fn fresh() -> InitFacts {
    let tree = TreeFacts {
        paths: ["Cargo.toml".to_owned()].into(),
        contents: [("Cargo.toml".to_owned(), "[package]".to_owned())].into(),
    };
    InitFacts {
        has_ledger: false,
        tree: Some(tree),
        profile: None,
        profile_ignored: false,
        agents: None,
        hooks: hooks(),
    }
}

fn does(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .map(|planned| planned.step.to_string().split(" (").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_fresh_repository_gets_ledger_profile_block_and_gate() {
    let adopted = init(&fresh(), Wanted::default()).expect("planned");
    assert_eq!(
        does(&adopted.plan),
        [
            "make the ledger at $GIT_COMMON_DIR/decapod/ledger.db",
            "create .decapod/kctl.toml",
            "create AGENTS.md",
            "create $GIT_COMMON_DIR/hooks/pre-push",
        ]
    );
    assert!(adopted.plan.to_string().contains("the profile, with 1 proposed check; review it, then commit it"));
    assert!(
        adopted.plan.shown()[1].text.as_deref().expect("text").contains("# Because of `Cargo.toml`.\n[checks.test]")
    );
}

#[test]
fn a_profile_that_is_there_is_never_written() {
    let facts = InitFacts { profile: Some(b"version = 1\n[checks.a]\nrun = 'true'".to_vec()), ..fresh() };
    let adopted = init(&facts, Wanted { agents: false, hooks: false, replace_edits: false }).expect("planned");
    assert_eq!(does(&adopted.plan), ["make the ledger at $GIT_COMMON_DIR/decapod/ledger.db"]);
    assert!(adopted.plan.notices[0].contains("line 3: `checks.a.run` cannot fail"), "{:?}", adopted.plan.notices);
    assert_eq!((adopted.proposals, adopted.written_profile), (None, None));
}

#[test]
fn a_bare_repository_gets_ledger_and_gate() {
    let adopted = init(&InitFacts { tree: None, ..fresh() }, Wanted::default()).expect("planned");
    let expected = ["make the ledger at $GIT_COMMON_DIR/decapod/ledger.db", "create $GIT_COMMON_DIR/hooks/pre-push"];
    assert_eq!(does(&adopted.plan), expected);
}

#[test]
fn an_empty_repository_is_told_that_nothing_can_be_verified() {
    let facts = InitFacts { tree: Some(TreeFacts::default()), profile_ignored: true, ..fresh() };
    let notices = init(&facts, Wanted::default()).expect("planned").plan.notices;
    assert!(notices.iter().any(|notice| notice.contains("no check was proposed")));
    assert!(notices.iter().any(|notice| notice.contains("git ignores `.decapod/kctl.toml`")));
}

#[test]
fn damaged_markers_stop_everything_and_hand_edits_only_the_block() {
    let damaged = InitFacts { agents: Some(b"<!-- kctl:end -->\n".to_vec()), ..fresh() };
    assert_eq!(init(&damaged, Wanted::default()), Err(BlockFault::NoBegin { line: 1 }.into()));
    let edited = InitFacts { agents: Some(b"<!-- kctl:begin 00 -->\nours\n<!-- kctl:end -->\n".to_vec()), ..fresh() };
    let adopted = init(&edited, Wanted::default()).expect("planned");
    assert!(!does(&adopted.plan).iter().any(|step| step.contains("AGENTS.md")));
    assert!(adopted.plan.notices.iter().any(|notice| notice.contains("edited by hand")));
}

#[test]
fn uninstall_keeps_what_a_person_has_changed_and_the_ledger() {
    let written = Digest::of(b"version = 1\n");
    let facts = UninstallFacts {
        has_ledger: true,
        profile: Some(b"version = 1\n".to_vec()),
        written_profile: Some(written),
        agents: None,
        hooks: hooks(),
        purge: false,
    };
    let steps = ["remove .decapod/kctl.toml", "remove .decapod if it is empty"];
    assert_eq!(does(&uninstall(&facts).expect("planned")), steps);
    let changed = UninstallFacts { profile: Some(b"version = 1\n# ours\n".to_vec()), ..facts.clone() };
    assert!(uninstall(&changed).expect("planned").is_empty());
    let unknown = UninstallFacts { written_profile: None, ..facts.clone() };
    assert!(uninstall(&unknown).expect("planned").is_empty());
    let purged = UninstallFacts { purge: true, ..changed };
    assert_eq!(
        does(&uninstall(&purged).expect("planned")),
        ["delete the ledger and its artifacts under $GIT_COMMON_DIR/decapod"]
    );
}
