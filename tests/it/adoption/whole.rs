//! The whole plan on a real tree.

use std::collections::BTreeMap;
use std::fs;

use kctl::domain::plan::{Place, Plan, Step};
use kctl::ports::files::Files as _;
use kctl::rules::adoption::agents_block::MAX_AGENTS_BYTES;
use kctl::rules::adoption::checks::{MAX_CONTENT_BYTES, TreeFacts, wanted};
use kctl::rules::adoption::{Adopted, InitFacts, UninstallFacts, Wanted, init, uninstall};
use kctl::rules::profile;

use super::world::World;

fn facts(world: &World) -> InitFacts {
    let files = world.files();
    let listed = world.git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let paths = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    let read = |path: String| {
        let bytes = files.read(&Place::tree(&path), MAX_CONTENT_BYTES as u64).ok().flatten()?;
        Some((path, String::from_utf8(bytes).ok()?))
    };
    let contents: BTreeMap<String, String> = wanted(&paths).into_iter().filter_map(read).collect();
    InitFacts {
        has_ledger: true,
        tree: Some(TreeFacts { paths, contents }),
        profile: files.read(&Place::tree(".decapod/kctl.toml"), 1 << 20).expect("read"),
        profile_ignored: false,
        agents: files.read(&Place::tree("AGENTS.md"), MAX_AGENTS_BYTES as u64).expect("read"),
        hooks: world.survey(),
    }
}

fn adopt(world: &World) -> Adopted {
    let adopted = init(&facts(world), Wanted::default()).expect("planned");
    world.carry_out(&adopted.plan);
    adopted
}

fn take_back(world: &World, adopted: &Adopted) -> Plan {
    let now = facts(world);
    let plan = uninstall(&UninstallFacts {
        has_ledger: false,
        profile: now.profile,
        written_profile: adopted.written_profile.clone(),
        agents: now.agents,
        hooks: now.hooks,
        purge: false,
    })
    .expect("planned");
    world.carry_out(&plan);
    plan
}

#[test]
fn init_twice_is_init_once_and_uninstall_takes_all_of_it_back() {
    let world = World::new();
    world.put("Cargo.toml", "[package]\nname = \"a\"\n", 0o644);
    world.put(".decapod/constitution.md", "Decapod's own\n", 0o644);
    world.put("AGENTS.md", "# Ours\r\n\r\nno line end", 0o600);
    let (hooks, agents) = (world.snapshot(), fs::read(world.repo.join("AGENTS.md")).expect("there"));
    let adopted = adopt(&world);
    let written = fs::read(world.repo.join(".decapod/kctl.toml")).expect("there");
    assert_eq!(profile::read(&written).expect("legal").checks.len(), 1);
    let again = init(&facts(&world), Wanted::default()).expect("planned").plan;
    assert!(again.is_empty(), "{again}");
    let plan = take_back(&world, &adopted);
    assert!(!plan.steps.iter().any(|planned| matches!(planned.step, Step::PurgeLedger)));
    assert_eq!(world.snapshot(), hooks, "Decapod's own files are as they were");
    assert_eq!(fs::read(world.repo.join("AGENTS.md")).expect("there"), agents);
}

#[test]
fn a_fresh_tree_is_bare_again_after_uninstall() {
    let world = World::new();
    let adopted = adopt(&world);
    assert!(world.repo.join("AGENTS.md").exists());
    take_back(&world, &adopted);
    assert_eq!(world.git(&["status", "--porcelain", "--ignored"]), "");
    assert!(!world.repo.join(".decapod").exists());
}

#[test]
fn planning_changes_nothing() {
    let world = World::new();
    world.put("package.json", r#"{"scripts":{"test":"jest"}}"#, 0o644);
    let before = (world.snapshot(), world.git(&["status", "--porcelain"]));
    let shown = init(&facts(&world), Wanted::default()).expect("planned").plan.to_string();
    assert!(shown.contains("create .decapod/kctl.toml") && shown.contains("create AGENTS.md"), "{shown}");
    assert_eq!((world.snapshot(), world.git(&["status", "--porcelain"])), before);
}
