//! Help, completions and man pages.

use super::builtin::Action;
use super::fake::OPS;
use super::output::plain;
use super::tests::action;
use super::{man, tree};
use crate::domain::refusal::Code;

fn help(line: &str) -> String {
    match action(line) {
        Action::Help(text) => plain(&text).lines().map(|line| format!("{}\n", line.trim_end())).collect(),
        other => panic!("`{line}` shows help, not {other:?}"),
    }
}

#[test]
fn the_help_of_an_operation_says_all_there_is_to_know() {
    insta::assert_snapshot!(help("task create --help"), @r#"
Create a task

Usage: kctl task create [FLAGS] <TITLE>

Arguments:
  <TITLE>  What is to be done, in one line.

Flags:
      --priority <PRIORITY>
          How soon. [default: normal] [possible values: low, normal, very_high]
      --paths <PATHS>
          What may be touched. (may be repeated)
      --max-runs <N>
          At most so many runs. [default: 10]
      --delta <N>
          A size; negative shrinks.
      --ratio <NUMBER>
          Share of the budget.
      --due <TIME>
          When it must be done.
      --lease <LEASE>
          How long a claim lasts.
      --no-announce
          Off: Tell the others.
      --draft
          Keep it back.
      --agreed
          Whether it was agreed; unknown if absent.
      --no-agreed
          The opposite of --agreed
      --criteria <JSON|@FILE>
          How to tell that it holds. (may be repeated)
      --origin <TEXT|JSON|@FILE>
          Where it comes from.
      --labels <JSON|@FILE>
          Names and values.

Global flags:
  -C <DIR>                     Act as if started in DIR
      --json                   Print the answer, or the refusal, as JSON
      --session <SESSION>      The session that calls [env: KCTL_SESSION]
      --token <TOKEN>          The session's secret [env: KCTL_TOKEN]
      --idempotency-key <KEY>  Give the stored answer if the session used this
                               key before
      --dry-run                Say what would change, and change nothing
  -q, --quiet                  Say nothing beside the answer
  -v, --verbose...             Say more; twice for still more
  -h, --help                   Print this help

Examples:
  kctl task create 'Mend the parser' --paths src/parse
      Create a task that may touch one directory

Effect:   write
Custody:  session (needs a live session: KCTL_SESSION or --session)
On the wire: `task.create`; schemas: `kctl ops describe task.create`
Exit status: 0 is an answer; see `kctl help exit` for the rest
"#);
}

#[test]
fn the_help_of_a_noun_lists_its_verbs() {
    insta::assert_snapshot!(help("task -h"), @r#"
Usage: kctl task VERB [FLAGS]

Verbs:
  create      Create a task
  claim       Claim a task
  list        List tasks
  set-limits  Set the limits of a task

Global flags:
  -C <DIR>                 Act as if started in DIR
      --json               Print the answer, or the refusal, as JSON
      --session <SESSION>  The session that calls [env: KCTL_SESSION]
      --token <TOKEN>      The session's secret [env: KCTL_TOKEN]
  -q, --quiet              Say nothing beside the answer
  -v, --verbose...         Say more; twice for still more
  -h, --help               Print this help

Run `kctl task VERB --help` for flags and examples
"#);
    assert_eq!(help("help task"), help("task --help"));
    assert_eq!(help("help task create"), help("task create --help"));
}

#[test]
fn the_help_of_the_program_lists_nouns() {
    insta::assert_snapshot!(help("--help"), @r#"
The control plane that a coding agent's host calls

Usage: kctl [FLAGS] NOUN [VERB]

Commands:
  task         create, claim, list, set-limits
  validate     Validate the workspace
  evidence     attest
  run          another word for `evidence`: attest
  hook         install
  rpc          Serve JSON-RPC 2.0 on standard input: one request or one batch
  git-hook     Serve a git hook
  completions  Print a completion script
  man          Write the man pages
  quickstart   Show the main job, refusals included, in a throw-away repo
  help         Show help: for a noun, a verb, `exit` (statuses) or `profile`

Global flags:
  -C <DIR>                 Act as if started in DIR
      --json               Print the answer, or the refusal, as JSON
      --session <SESSION>  The session that calls [env: KCTL_SESSION]
      --token <TOKEN>      The session's secret [env: KCTL_TOKEN]
  -q, --quiet              Say nothing beside the answer
  -v, --verbose...         Say more; twice for still more
  -h, --help               Print this help
  -V, --version            Print the version

Run `kctl NOUN --help` for its verbs, `kctl help exit` for exit statuses
"#);
    assert_eq!(help(""), help("help"));
}

#[test]
fn another_word_for_a_noun_stands_wherever_the_noun_does() {
    for (word, noun) in crate::domain::op_info::SYNONYMS {
        let shown = help(&format!("{word} --help"));
        assert!(shown.contains(&format!("Usage: kctl {word} VERB")), "{shown}");
        assert!(shown.contains(&format!("`{word}` is another word for `{noun}`")), "{shown}");
        let pages = man::man_pages(OPS);
        let page = |name: &str| pages.iter().find(|(file, _)| file == name).map(|(_, page)| page.clone());
        let of_noun = pages.iter().filter(|(file, _)| file.starts_with(&format!("kctl-{noun}")));
        for (file, _) in of_noun.clone() {
            let other = page(&file.replace(noun, word)).unwrap_or_else(|| panic!("`{word}` has no page like {file}"));
            let other = String::from_utf8(other).expect("UTF-8");
            assert!(other.contains(".SH \"EXAMPLES\""), "{other}");
        }
        assert!(of_noun.count() > 1);
        let root = String::from_utf8(page("kctl.1").expect("the first page")).expect("UTF-8");
        assert!(root.contains(&format!("kctl\\-{word}(1)")), "{root}");
        for (shell, completed) in [
            (clap_complete::Shell::Bash, format!("kctl,{word})")),
            (clap_complete::Shell::Zsh, format!("'{word}:another word for")),
            (clap_complete::Shell::Fish, format!("-a \"{word}\" -d 'another word for")),
        ] {
            let script = String::from_utf8(tree::completions(shell, OPS)).expect("UTF-8");
            assert!(script.contains(&completed), "{shell} lacks {completed}");
        }
    }
}

#[test]
fn exit_statuses_are_listed_with_every_code() {
    let text = help("help exit");
    assert!(Code::ALL.iter().all(|code| text.contains(code.name())));
    insta::assert_snapshot!(text.lines().take(8).collect::<Vec<_>>().join("\n"), @r#"
Exit statuses of kctl:

   0  an answer; also when its reader closed the pipe early
   2  PARSE_ERROR                The request is not JSON
      INVALID_REQUEST            The JSON is not a JSON-RPC 2.0 request
      UNKNOWN_OPERATION          No operation has this name
      INVALID_PARAMS             The parameters do not fit the operation's schema; the member is named
      REQUEST_TOO_LARGE          The request is larger than the limit named in the answer
"#);
}

#[test]
fn the_whole_tree_is_sound_and_completions_and_pages_come_from_it() {
    tree::full(OPS, 80).debug_assert();
    for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
        let script = String::from_utf8(tree::completions(shell, OPS)).expect("UTF-8");
        assert!(script.contains("max-runs"), "{shell}");
    }
    let pages = man::man_pages(OPS);
    let page = |name: &str| {
        let (_, page) = pages.iter().find(|(file, _)| file == name).expect("the page is there");
        String::from_utf8(page.clone()).expect("UTF-8")
    };
    assert!(page("kctl-task-create.1").contains("max\\-runs"));
    assert!(page("kctl-task-create.1").contains("kctl task create \\(aqMend the parser"));
    assert!(page("kctl.1").contains("kctl\\-task(1)"));
    assert_eq!(man::man_page(OPS), man::man_page(OPS));
    for (name, page) in &pages {
        let page = String::from_utf8(page.clone()).expect("UTF-8");
        let title = format!(
            ".TH {} 1 2026-11-30 \"kctl {}\" \"kctl Manual\"",
            name[..name.len() - 2].to_uppercase(),
            crate::VERSION
        );
        assert!(page.contains(&title), "{name} lacks {title}: {page}");
        for section in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"]
        {
            assert!(
                page.contains(&format!(".SH {section}\n")) || page.contains(&format!(".SH \"{section}\"\n")),
                "{name}: {section}"
            );
        }
        assert!(!page.contains(".SH EXTRA"), "{name}: what help shows last has sections here");
    }
}
