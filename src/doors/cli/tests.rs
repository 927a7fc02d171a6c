//! What the command line understands, and what it says when it does not.

use std::ffi::OsString;
use std::io;

use serde_json::{Value, json};

use super::builtin::Action;
use super::fake::OPS;
use super::parse::{Parsed, Voice, parse, voice};
use super::source::{Console, Source};
use crate::domain::refusal::{Code, Refusal};

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn parsed_words(words: &[OsString]) -> Result<Parsed, Refusal> {
    let mut open = |source: Source<'_>| -> io::Result<Box<dyn io::Read>> {
        match source {
            Source::Stdin => Ok(Box::new(&br#"{"name":"from stdin"}"#[..])),
            Source::File(path) if path == "labels.json" => Ok(Box::new(&br#"{"a":"1"}"#[..])),
            Source::File(path) if path == "endless" => Ok(Box::new(io::repeat(b' '))),
            Source::File(_) => Err(io::ErrorKind::NotFound.into()),
        }
    };
    parse(words, OPS, &mut Console { columns: 80, open: &mut open })
}

fn parsed(line: &str) -> Result<Parsed, Refusal> {
    parsed_words(&words(line))
}

pub(super) fn action(line: &str) -> Action {
    parsed(line).unwrap_or_else(|refusal| panic!("`{line}` is understood: {refusal}")).action
}

/// The parameters that `line` gives to the operation `name`.
fn params(line: &str, name: &str) -> Value {
    match action(line) {
        Action::Op { name: called, params } if called == name => Value::Object(params),
        other => panic!("`{line}` calls {name}, not {other:?}"),
    }
}

fn refused(line: &str) -> String {
    let refusal = parsed(line).expect_err("refused");
    format!("{}: {refusal}", refusal.code().name())
}

#[test]
fn flags_become_parameters_of_the_types_the_schema_has() {
    let line = "task create Mend --priority very_high --path x --paths a --paths b,c --max-runs 3 --delta -4 --ratio 0.5 \
                --due 2026-01-01T00:00:00Z --lease 2h --no-announce --draft --no-agreed \
                --criteria {\"name\":\"n\"} --criteria [{\"name\":\"m\"}] --origin {\"url\":\"u\"} --labels @labels.json";
    assert_eq!(
        params(&line.replace(" --path x", ""), "task.create"),
        json!({
            "title": "Mend", "priority": "very_high", "paths": ["a", "b,c"], "max_runs": 3, "delta": -4, "ratio": 0.5,
            "due": "2026-01-01T00:00:00Z", "lease": "2h", "announce": false, "draft": true, "agreed": false,
            "criteria": [{"name": "n"}, {"name": "m"}], "origin": {"url": "u"}, "labels": {"a": "1"}
        })
    );
    assert_eq!(refused(line), "USAGE: `kctl task create` has no flag `--path`: did you mean `--paths`");
}

#[test]
fn what_is_not_typed_is_left_to_the_operation() {
    assert_eq!(params("task create Mend", "task.create"), json!({"title": "Mend"}));
    assert_eq!(params("validate", "validate"), json!({}));
}

#[test]
fn a_text_or_object_takes_either_and_the_last_of_two_switches_wins() {
    let create = |rest: &str| params(&format!("task create T {rest}"), "task.create");
    assert_eq!(create("--origin issue-7")["origin"], "issue-7");
    assert_eq!(create("--origin \"{\"")["origin"], "{");
    assert_eq!(create("--draft --no-draft")["draft"], false);
    assert_eq!(create("--lease 90")["lease"], 90);
    assert_eq!(create("--labels -")["labels"]["name"], "from stdin");
    assert_eq!(params("validate a b", "validate"), json!({"checks": ["a", "b"]}));
    assert_eq!(params("task set-limits", "task.set_limits"), json!({}));
}

#[test]
fn branches_of_a_tagged_choice_are_flags_of_one_command() {
    let line = "evidence attest --kind run --run e-1 --note n";
    assert_eq!(params(line, "evidence.attest"), json!({"kind": "run", "run": "e-1", "note": "n"}));
    let missing = "USAGE: `--kind` is required: kctl evidence attest [FLAGS] --kind <KIND>";
    assert_eq!(refused("evidence attest --note n"), missing);
}

#[test]
fn global_flags_stand_anywhere_and_an_operations_own_flag_goes_first() {
    let line = "-C a --json task -v --token secret claim -C b --idempotency-key k -vq --dry-run t-1 --session own";
    let Parsed { globals, action } = parsed(line).expect("understood");
    assert_eq!(globals.dir.as_deref(), Some(std::path::Path::new("a/b")));
    assert!(globals.json && globals.dry_run && globals.quiet && globals.verbose == 2);
    assert_eq!((globals.token.as_deref(), globals.idempotency_key.as_deref()), (Some("secret"), Some("k")));
    assert_eq!(globals.session, None);
    assert!(!format!("{globals:?}").contains("secret"));
    let params = json!({"task": "t-1", "session": "own"}).as_object().cloned().expect("an object");
    assert_eq!(action, Action::Op { name: "task.claim", params });
    let before = parsed("--session s-1 task claim t-1").expect("understood");
    assert_eq!(before.globals.session.as_deref(), Some("s-1"));
}

#[test]
fn what_is_off_is_named_with_what_would_be_right() {
    let lines = [
        "task create",
        "task create T --titel x",
        "task create T --priority hihg",
        "task create T --priority",
        "task create T --max-runs many",
        "task create T --max-runs 1 --max-runs 2",
        "task create T U",
        "task create T --labels {\"a\":1,\"a\":2}",
        "task create T --labels @nowhere",
        "task create T --labels @endless",
        "task create T --draft=yes",
        "task list --dry-run",
        "--dry-run task list",
        "task",
        "task craete",
        "tsak",
        "task.create",
        "xyzzy",
        "help nope",
        "claim",
        "--jsn task list",
        "rpc --params {}",
        "hook",
        "completions",
        "completions basch",
        "git-hook",
    ];
    let said: Vec<String> = lines.iter().map(|line| format!("{line}\n    {}", refused(line))).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
task create
    USAGE: `<TITLE>` is required: kctl task create [FLAGS] <TITLE>
task create T --titel x
    USAGE: `kctl task create` has no flag `--titel`: did you mean `--title`
task create T --priority hihg
    USAGE: `--priority` takes one of `low`, `normal`, `very_high`, not `hihg`
task create T --priority
    USAGE: `--priority` needs a value, one of `low`, `normal`, `very_high`
task create T --max-runs many
    USAGE: `--max-runs` takes a whole number, not `many`
task create T --max-runs 1 --max-runs 2
    USAGE: `--max-runs` is given more than once, or beside what it excludes
task create T U
    USAGE: `kctl task create` does not take the word `U`
task create T --labels {"a":1,"a":2}
    USAGE: `--labels` takes JSON, or `@FILE`, or `-` for standard input: the member `/a` is given twice
task create T --labels @nowhere
    USAGE: the value of `--labels` cannot be read: entity not found
task create T --labels @endless
    USAGE: the value of `--labels` is larger than 8388608 bytes
task create T --draft=yes
    USAGE: `--draft` takes no value, but `yes` was given
task list --dry-run
    USAGE: `kctl task list` has no flag `--dry-run`: `kctl task list --help` lists them
--dry-run task list
    USAGE: `kctl task list` changes nothing: leave out `--dry-run`
task
    USAGE: `kctl task` needs a verb: create, claim, list, set-limits
task craete
    UNKNOWN_OPERATION: `kctl task` has no verb `craete`: did you mean `kctl task create`
tsak
    UNKNOWN_OPERATION: kctl has no command `tsak`: did you mean `kctl task`
task.create
    UNKNOWN_OPERATION: `task.create` is the name on the wire: type `kctl task create`
xyzzy
    UNKNOWN_OPERATION: kctl has no command `xyzzy`: `kctl --help` lists them all
help nope
    UNKNOWN_OPERATION: kctl has no command `nope`: `kctl --help` lists them all
claim
    UNKNOWN_OPERATION: kctl has no command `claim`: did you mean `kctl task claim`
--jsn task list
    USAGE: `kctl` has no flag `--jsn`: did you mean `--json`
rpc --params {}
    USAGE: `--params` needs `--op`: `kctl rpc --op NAME --params JSON`
hook
    USAGE: `kctl hook` needs a verb: install
completions
    USAGE: `kctl completions` needs `<SHELL>`, one of `bash`, `elvish`, `fish`, `powershell`, `zsh`: `kctl completions bash`
completions basch
    USAGE: `<SHELL>` takes one of `bash`, `elvish`, `fish`, `powershell`, `zsh`, not `basch`: did you mean `bash`
git-hook
    USAGE: `kctl git-hook` needs `<NAME>`
"#);
}

#[test]
fn a_word_that_is_not_utf8_is_refused_but_a_directory_may_be() {
    use std::os::unix::ffi::OsStringExt as _;
    let odd = OsString::from_vec(vec![b'd', 0xff]);
    let refusal = parsed_words(&[words("task create"), vec![odd.clone()]].concat()).expect_err("refused");
    assert_eq!((refusal.code(), refusal.message()), (Code::USAGE, "a word given to `kctl task create` is not UTF-8"));
    assert!(parsed_words(std::slice::from_ref(&odd)).is_err());
    let parsed = parsed_words(&[vec!["-C".into(), odd.clone()], words("task list")].concat()).expect("understood");
    assert_eq!(parsed.globals.dir, Some(odd.into()));
}

#[test]
fn built_in_commands_are_told_apart_from_operations_of_the_same_noun() {
    assert_eq!(action("--version"), Action::Version);
    assert_eq!(action("--json -V"), Action::Version);
    assert_eq!(action("rpc"), Action::Rpc { op: None, params: None });
    let op = Action::Rpc { op: Some("task.list".into()), params: Some("{}".into()) };
    assert_eq!(action("rpc --op task.list --params {}"), op);
    let args = vec!["origin".into(), "--url".into(), "-q".into()];
    assert_eq!(action("git-hook pre-push origin --url -q"), Action::GitHook { name: "pre-push".into(), args });
    assert_eq!(action("man --dir m"), Action::Man { dir: Some("m".into()) });
    assert_eq!(action("quickstart"), Action::Quickstart { dir: None });
    assert_eq!(action("quickstart --dir x"), Action::Quickstart { dir: Some("x".into()) });
    assert_eq!(action("completions zsh"), Action::Completions { shell: clap_complete::Shell::Zsh });
}

#[test]
fn the_voice_is_known_even_when_the_words_are_off() {
    let heard = |line: &str| voice(&words(line));
    assert_eq!(heard("rpc --nonsense"), Voice::Rpc);
    assert_eq!(heard("-C rpc --bad --json rpc"), Voice::Rpc);
    assert_eq!(heard("task create --bad --json"), Voice::Json);
    assert_eq!(heard("task create -- --json"), Voice::Human);
    assert_eq!(heard("task create rpc"), Voice::Human);
}
