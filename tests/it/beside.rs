//! What a check goes by that the digest of the tree does not hold: programs that nobody else has, files that git ignores.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::place::{Place, text, write};

/// A program that ends with `status`; `mark` makes it another file.
fn program(at: &Path, status: u8, mark: &str) {
    write(at, &format!("#!/bin/sh\n# {mark}\nexit {status}\n"));
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A place whose base has one check, let out of any sandbox: what it runs may lie where none would let it look.
fn place(run: &str, more: &str) -> Place {
    let place =
        Place::with_profile(&format!("version = 1\n[checks.own]\nrun = '''{run}'''\nisolation = \"none\"\n{more}"));
    place.write(".gitignore", "*.local\nout/\ndist/\n.venv/\nnode_modules/\nmade\n");
    place.commit("ignores");
    place.git(&["push", "-q", "origin", "main"]);
    place
}

fn validate(place: &Place) -> Value {
    place.call("validate", json!({})).expect("it answers")
}

/// What the row of `check` says: verdict, and whether it was fresh.
fn came(answer: &Value, check: &str) -> (String, bool) {
    let rows = answer["data"]["results"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["check"] == check).unwrap_or_else(|| panic!("no {check}: {answer:#}"));
    (text(&row["verdict"]), row["fresh"] == true)
}

/// Warnings of the two kinds that are about this.
fn warned(answer: &Value) -> Vec<(String, String)> {
    let all = answer["warnings"].as_array().expect("a list").iter();
    let about = all.map(|warning| (text(&warning["code"]), text(&warning["message"])));
    about.filter(|(code, _)| ["program_outside", "inputs_outside"].contains(&code.as_str())).collect()
}

/// `false_done-21`: what the digest of the tree does not speak for judges the tree. Its content is an input all the same.
#[test]
fn a_program_that_nobody_tracks_is_an_input_by_its_content_and_is_said_to_be_nobody_elses() {
    for (run, is_inside) in [("OUTSIDE/x.sh", false), ("sh OUTSIDE/x.sh --fast", false), ("./x.local", true)] {
        let dir = tempfile::tempdir().expect("a directory");
        let outside = dir.path().canonicalize().expect("it is there");
        let place = place(&run.replace("OUTSIDE", outside.to_str().expect("UTF-8")), "");
        let at = if is_inside { place.repo.join("x.local") } else { outside.join("x.sh") };
        program(&at, 0, "one");
        let first = validate(&place);
        assert_eq!(came(&first, "own"), ("pass".into(), false), "{run}: {first:#}");
        let said = warned(&first);
        let why = if is_inside { "git ignores" } else { "outside of the tree" };
        assert!(
            matches!(said.as_slice(), [(code, words)] if code == "program_outside" && words.contains(why)),
            "{said:?}"
        );
        let evidence = json!({ "evidence": first["data"]["results"][0]["evidence"] });
        let shown = place.call("evidence.show", evidence).expect("it answers")["data"].to_string();
        assert!(shown.contains("x.sh\":\"sha256:") || shown.contains("x.local\":\"sha256:"), "{run}: {shown}");
        let again = validate(&place);
        assert_eq!((came(&again, "own"), warned(&again)), (("pass".into(), true), said), "{run}: it is fresh");
        program(&at, 1, "two");
        assert_eq!(came(&validate(&place), "own"), ("fail".into(), false), "{run}: another program judges anew");
        program(&at, 0, "one");
        assert_eq!(came(&validate(&place), "own"), ("pass".into(), true), "{run}: and the old one is known");
    }
}

/// `false_done-21` itself: the script of the root's work tree, called from a workspace, tests the root's tree.
#[test]
fn a_script_of_another_work_tree_is_not_run_and_shows_nothing() {
    let place = Place::with_profile("version = 1\n");
    let script = place.repo.join("scripts/test.sh");
    write(&script, "cd \"$(dirname \"$0\")/..\"\ntest ! -e broken\n");
    let profile = |run: &str| format!("version = 1\n[checks.own]\nrun = '''{run}'''\nisolation = \"none\"\n");
    place.write(".decapod/kctl.toml", &profile(&format!("sh '{}'", script.display())));
    place.commit("a script, by its place");
    place.git(&["push", "-q", "origin", "main"]);
    let ada = place.agent("ada");
    let task = ada.claimed(json!({ "title": "one", "criteria": ["o=check:own"] }));
    let tree = ada.workspace(&task);
    write(&tree.join("broken"), "");
    place.commit_in(&tree, "break");
    let shown = ada.ok("validate", json!({ "task": task }));
    let row = &shown["results"][0];
    assert_eq!((&row["verdict"], &row["evidence"]), (&json!("error"), &json!(null)), "{shown:#}");
    assert!(row["reasons"].to_string().contains("another work tree"), "{row:#}");
    assert_eq!((&shown["verified"], &shown["criteria"][0]["state"]), (&json!(false), &json!("never_checked")));
    ada.no("FINALIZATION_REJECTED", "task.finish", json!({ "task": task, "summary": "done" }));
    let own = ada.ok("validate", json!({ "task": task, "run": format!("sh {}", "scripts/test.sh") }));
    assert_eq!(own["results"][0]["verdict"], "fail", "the script of the tree itself tests the tree: {own:#}");
    // In the root's own tree it is the tree's own script.
    assert_eq!(came(&validate(&place), "own"), ("pass".into(), false));
}

/// What managers of tools put somewhere is the toolchain: nothing is said, and an upgrade does not stale everything.
#[test]
fn a_tool_that_a_manager_keeps_is_no_file_of_the_project() {
    for run in
        ["./.venv/bin/t", "node_modules/.bin/t", "OUTSIDE/.cargo/bin/t", "OUTSIDE/env/bin/t", "/bin/sh -c 'exit 0;'"]
    {
        let dir = tempfile::tempdir().expect("a directory");
        let outside = dir.path().canonicalize().expect("it is there");
        write(&outside.join("env/pyvenv.cfg"), "home = /usr\n");
        let run = run.replace("OUTSIDE", outside.to_str().expect("UTF-8"));
        let place = place(&format!("{run} && test -d ."), "");
        let at = place.repo.join(run.split(' ').next().expect("a word"));
        let is_system = at.starts_with("/bin");
        if !is_system {
            program(&at, 0, "one");
        }
        let first = validate(&place);
        assert_eq!((came(&first, "own"), warned(&first)), (("pass".into(), false), vec![]), "{run}: {first:#}");
        if !is_system {
            program(&at, 0, "two");
        }
        assert_eq!(came(&validate(&place), "own"), ("pass".into(), true), "{run}");
    }
}

/// A program that a needed check builds is not there, or another, when the call begins.
#[test]
fn a_program_that_a_needed_check_makes_is_judged_as_it_is_when_it_is_run() {
    let make = "rm -f made; printf '#!/bin/sh\\n# %s\\n' $$-$RANDOM > made; chmod +x made; test -s made";
    let more = format!("needs = [\"build\"]\n[checks.build]\nrun = '''{make}'''\n");
    let place = place("./made", &more);
    for (what, params) in [("at first", json!({})), ("made anew", json!({ "rerun": true }))] {
        let answer = place.call("validate", params).expect("it answers");
        assert_eq!((came(&answer, "own"), warned(&answer)), (("pass".into(), false), vec![]), "{what}: {answer:#}");
    }
    let fresh = validate(&place);
    assert_eq!((came(&fresh, "build"), came(&fresh, "own")), (("pass".into(), true), ("pass".into(), true)));
    program(&place.repo.join("made"), 1, "swapped");
    let swapped = validate(&place);
    assert_eq!((came(&swapped, "build"), came(&swapped, "own")), (("pass".into(), true), ("fail".into(), false)));
}

/// `false_done-04`: a verdict about an old build output. What git ignores cannot stale evidence, and that is said where it
/// can be known from the profile's own words.
#[test]
fn what_a_check_goes_by_and_git_ignores_is_said_by_validate_and_the_doctor() {
    let more = "inputs = [\"src/**\", \"dist/**\", \"tests/**\", \"check.sh\"]\n";
    let place = place("sh check.sh out/app.apk > out/said", more);
    place.write("check.sh", "test -e \"$1\"\n");
    place.commit("check");
    place.git(&["push", "-q", "origin", "main"]);
    for made in ["out/app.apk", "out/said", "dist/app.js"] {
        place.write(made, "x\n");
    }
    let answer = validate(&place);
    assert_eq!(came(&answer, "own"), ("pass".into(), false), "it is no refusal: {answer:#}");
    let said = warned(&answer);
    let [(code, words)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(code, "inputs_outside");
    assert!(words.contains("`out/app.apk`, `dist/**`:"), "what is read, not what is written or may come: {words}");
    let doctor = place.call("doctor", json!({})).expect("it answers")["data"]["findings"].to_string();
    assert!(doctor.contains(&words.replace('"', "\\\"")), "{doctor}");
    place.write("dist/app.js", "y\n");
    assert_eq!(came(&validate(&place), "own"), ("pass".into(), true), "which is what the warning is about");
    // What is tracked, or not there, is no matter.
    place.git(&["add", "-f", "out/app.apk", "dist/app.js"]);
    assert_eq!(warned(&validate(&place)), []);
}
