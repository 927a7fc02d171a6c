//! What the shell is asked, and what it says about its pipelines.

use super::*;
use crate::ports::runner::{Ended, NotStarted};

#[test]
fn the_status_of_each_stage_is_kept_beside_the_commands_own() {
    let _beside = beside_others();
    for (text, code, stages) in [
        ("false | true", 1, vec![1, 0]),
        ("true | true", 0, vec![0, 0]),
        ("yes | head -1 >/dev/null", 141, vec![141, 0]),
        ("false; true | (exit 4) | true", 4, vec![0, 4, 0]),
        ("set +o pipefail; false | true", 0, vec![1, 0]),
        ("set -e; false | true; echo never", 1, vec![1, 0]),
        ("set -exu; true", 0, vec![0]),
        ("IFS=,; true | false", 1, vec![0, 1]),
        ("echo one; exit 3; echo never", 3, vec![]),
        ("exec false", 1, vec![]),
        ("trap 'echo mine' EXIT; false | true", 1, vec![]),
        ("exec 187>&- 188>&- 189>&- 190>&-; set -e; true", 0, vec![]),
        ("", 0, vec![0]),
        ("# nothing but a comment", 0, vec![0]),
        ("cat <<END | grep -q 'a 2'\na $((1+1))\nEND", 0, vec![0, 0]),
        ("cat <<END\nunterminated", 0, vec![0]),
        ("if true; then\n  (exit 7)\nfi # end \\", 7, vec![7]),
        ("printf() { echo bad; }; false", 1, vec![1]),
    ] {
        let outcome = run(text);
        assert_eq!(outcome.ended, Ended::Exited { code }, "{text}: {}", outcome.output.text);
        if !text.contains("187>&-") {
            assert_eq!(outcome.pipe_statuses, stages, "{text}");
        }
    }
}

#[test]
fn a_text_is_run_as_it_stands() {
    let _beside = beside_others();
    let outcome = run("echo \"$0 $#\"; cat <<'END'\n$HOME `x` \\ \"q\" 'q'\nEND\necho end # not this");
    assert_eq!(outcome.output.text, "bash 0\n$HOME `x` \\ \"q\" 'q'\nend\n");
}

#[test]
fn a_syntax_error_is_the_shells_own_answer() {
    let _beside = beside_others();
    let outcome = run("for");
    assert_eq!(outcome.ended, Ended::Exited { code: 2 });
    assert!(outcome.output.text.contains("`for'") && !outcome.output.text.contains("trap"), "{}", outcome.output.text);
}

#[test]
fn a_program_that_is_missing_is_named() {
    let _beside = beside_others();
    let outcome = supervisor().run(&argv(&["kctl-no-such-program", "x"]), &mut |_| ());
    assert_eq!(outcome.ended, Ended::NotStarted(NotStarted::Missing { program: "kctl-no-such-program".into() }));
    assert_eq!(outcome.missing_program(), Some("kctl-no-such-program"));
    let outcome = run("echo before; kctl-no-such-program x");
    assert_eq!(outcome.ended, Ended::Exited { code: 127 });
    assert_eq!(outcome.missing_program(), Some("kctl-no-such-program"));
    assert_eq!(run("exit 127").missing_program(), None);
}

#[test]
fn what_cannot_be_started_says_why() {
    let _beside = beside_others();
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("plain"), "text").expect("it is writable");
    let refused = |invocation: &Invocation| match supervisor().run(invocation, &mut |_| ()).ended {
        Ended::NotStarted(why) => why,
        ended => panic!("it {ended}"),
    };
    let nowhere = Invocation { cwd: dir.path().join("none"), ..shell("true") };
    assert!(matches!(refused(&nowhere), NotStarted::Directory { .. }));
    let in_file = Invocation { cwd: dir.path().join("plain"), ..shell("true") };
    assert!(matches!(refused(&in_file), NotStarted::Directory { .. }));
    let plain = Invocation { cwd: dir.path().to_owned(), ..argv(&["./plain"]) };
    assert!(matches!(refused(&plain), NotStarted::NotExecutable { .. }));
    assert!(matches!(refused(&argv(&[])), NotStarted::Malformed { .. }));
    assert!(matches!(refused(&argv(&[""])), NotStarted::Malformed { .. }));
    assert!(matches!(refused(&argv(&["true", "a\0b"])), NotStarted::Malformed { .. }));
    assert!(matches!(refused(&shell(&"x".repeat(4 << 20))), NotStarted::Malformed { .. }));
}

#[test]
fn a_relative_program_is_found_in_the_directory() {
    let _beside = beside_others();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let script = dir.path().join("check.sh");
    std::fs::write(&script, "#!/bin/sh\necho \"ran $1\"\n").expect("it is writable");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let outcome =
        supervisor().run(&Invocation { cwd: dir.path().to_owned(), ..argv(&["./check.sh", "$x *"]) }, &mut |_| ());
    assert_eq!(outcome.output.text, "ran $x *\n");
}

#[test]
fn a_tools_version_is_its_first_line() {
    let _beside = beside_others();
    let here = std::env::temp_dir();
    assert!(supervisor().tool_version("bash", &here, None).expect("bash is there").starts_with("GNU bash, version "));
    assert!(supervisor().tool_version("kctl-no-such-program", &here, None).is_err());
    assert!(supervisor().tool_version("false", &here, None).is_err());
}
