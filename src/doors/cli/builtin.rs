//! Commands that are not operations: other doors, and what kctl says about itself. None of them needs a repository.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use serde_json::{Map, Value};

use super::globals;
use crate::domain::refusal::{Code, Refusal};

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Call an operation.
    Op {
        name: &'static str,
        params: Map<String, Value>,
    },
    /// Serve standard input, or call `op` with `params`: JSON text, `@FILE`, or `-` (see `read_value`).
    Rpc {
        op: Option<String>,
        params: Option<String>,
    },
    /// Serve a git hook; `args` are git's own.
    GitHook {
        name: String,
        args: Vec<OsString>,
    },
    Completions {
        shell: Shell,
    },
    /// Man pages into `dir`, or the first one to standard output.
    Man {
        dir: Option<PathBuf>,
    },
    /// In `dir`, which must not exist or be empty, or in a new temporary directory.
    Quickstart {
        dir: Option<PathBuf>,
    },
    /// Text to print, with colours in it.
    Help(String),
    Version,
}

/// The built-in commands, without global flags.
pub(super) fn commands() -> Vec<Command> {
    let text = |id: &'static str, name: &'static str| Arg::new(id).value_name(name);
    let shell = text("shell", "SHELL").required(true).value_parser(value_parser!(Shell));
    let dir = text("out", "DIR").long("dir").value_parser(value_parser!(PathBuf));
    let new = text("new", "DIR").long("dir").value_parser(value_parser!(PathBuf));
    let args = text("args", "ARGS").num_args(0..).value_parser(value_parser!(OsString));
    vec![
        Command::new("rpc").about("Serve JSON-RPC 2.0 on standard input: one request or one batch").args([
            text("op", "NAME").long("op").help("Call this operation instead of reading a request"),
            text("params", "JSON|@FILE|-").long("params").help("Its parameters: a JSON object"),
        ]),
        Command::new("git-hook").about("Serve a git hook").args([
            text("name", "NAME").required(true).help("`pre-push`"),
            args.trailing_var_arg(true).allow_hyphen_values(true).help("What git passes"),
        ]),
        Command::new("completions").about("Print a completion script").arg(shell.help("The shell")),
        Command::new("man")
            .about("Write the man pages")
            .arg(dir.help("Write every page here; otherwise print the first")),
        Command::new("quickstart")
            .about("Show the main job, refusals included, in a throw-away repo")
            .arg(new.help("Here, which must not exist or be empty; otherwise among the temporary files")),
        Command::new("help").about("Show help: for a noun, a verb, `exit` (statuses) or `profile`").arg(
            text("words", "WORDS").num_args(0..).action(ArgAction::Append).help("`task create`, `exit`, `profile`"),
        ),
    ]
}

/// The built-in command called `name`, ready to parse what follows it.
pub(super) fn command(name: &str) -> Option<Command> {
    let command = commands().into_iter().find(|command| command.get_name() == name)?;
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let with_globals = |command: Command| command.disable_help_flag(true).args(globals::args(&globals::CHANGING));
    let command = verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(verb, with_globals));
    let mut command = with_globals(in_our_words(command)).bin_name(format!("kctl {name}"));
    let usage = command.render_usage().to_string().replace("[OPTIONS]", "[FLAGS]");
    Some(command.override_usage(usage.trim_start_matches("Usage: ").to_owned()))
}

/// What the words that `command` requires may be, where they are among a few.
pub(super) fn choices(command: &Command) -> Vec<String> {
    let required = command.get_arguments().filter(|arg| arg.is_required_set());
    required.flat_map(Arg::get_possible_values).map(|value| value.get_name().to_owned()).collect()
}

/// Flags stand under the heading that those of operations have.
fn in_our_words(command: Command) -> Command {
    let heading = |arg: Arg| if arg.get_long().is_some() { arg.help_heading("Flags") } else { arg };
    command.mut_args(heading)
}

/// What the built-in command `name` was asked; `help` is read elsewhere.
///
/// # Errors
/// `USAGE`.
pub(super) fn action(name: &str, matches: &ArgMatches) -> Result<Action, Refusal> {
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    Ok(match name {
        "rpc" => match (text("op"), text("params")) {
            (None, Some(_)) => return Err(usage("`--params` needs `--op`: `kctl rpc --op NAME --params JSON`")),
            (op, params) => Action::Rpc { op, params },
        },
        "git-hook" => {
            let args = matches.get_many::<OsString>("args").into_iter().flatten().cloned().collect();
            Action::GitHook { name: required(matches, "name"), args }
        }
        "completions" => Action::Completions { shell: *matches.get_one("shell").expect("clap requires it") },
        "man" => Action::Man { dir: matches.get_one::<PathBuf>("out").cloned() },
        _ => Action::Quickstart { dir: matches.get_one::<PathBuf>("new").cloned() },
    })
}

fn required(matches: &ArgMatches, id: &str) -> String {
    matches.get_one::<String>(id).cloned().expect("clap requires it")
}

pub(super) fn usage(message: &str) -> Refusal {
    Refusal::new(Code::USAGE, message)
}
