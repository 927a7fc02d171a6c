//! Commands as help, completions and man pages show them.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;

use super::leaf::Leaf;
use super::{builtin, globals};
use crate::domain::op_info::{OpInfo, meant, words_for};

/// The widest that help is wrapped to, in columns.
pub(super) const MAX_HELP_COLUMNS: usize = 100;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const ABOUT: &str = "The control plane that a coding agent's host calls";

/// A command that looks like all others. `columns` is the terminal's width.
pub(super) fn styled(command: Command, columns: usize) -> Command {
    command
        .styles(STYLES)
        .term_width(columns.min(MAX_HELP_COLUMNS))
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .no_binary_name(true)
}

/// The distinct nouns in the order of `ops`, each with the other words for it behind it.
fn words(ops: &[OpInfo]) -> impl Iterator<Item = &'static str> {
    nouns(ops).into_iter().flat_map(words_for)
}

/// The distinct nouns, in the order of `ops`.
pub(super) fn nouns(ops: &[OpInfo]) -> Vec<&'static str> {
    let mut nouns: Vec<&'static str> = Vec::new();
    for info in ops {
        if !nouns.contains(&info.noun()) {
            nouns.push(info.noun());
        }
    }
    nouns
}

/// What `kctl --help` shows: nouns with their verbs, none of them built.
pub(super) fn root_help(ops: &[OpInfo], columns: usize) -> Command {
    let nouns = words(ops).map(|word| Command::new(word.replace('_', "-")).about(word_about(word, ops)));
    let builtins = builtin::commands().into_iter().filter(|command| !is_noun(command.get_name(), ops));
    root(columns).subcommands(nouns).subcommands(builtins)
}

/// What `kctl NOUN --help` shows: verbs, none of them built.
pub(super) fn noun_help(word: &str, ops: &[OpInfo], columns: usize) -> Command {
    let noun = meant(word);
    let of_noun = ops.iter().filter(|info| info.noun() == noun);
    let verbs =
        of_noun.filter_map(|info| info.verb().map(|verb| Command::new(verb.replace('_', "-")).about(info.about)));
    let same = if word == noun { String::new() } else { format!("`{word}` is another word for `{noun}`\n") };
    let noun = word.replace('_', "-");
    let after = format!("{same}Run `kctl {noun} VERB --help` for flags and examples");
    let command =
        Command::new(noun.clone()).bin_name(format!("kctl {noun}")).override_usage(format!("kctl {noun} VERB [FLAGS]"));
    styled(command, columns)
        .subcommand_help_heading("Verbs")
        .subcommands(verbs)
        .args(globals::args(&globals::CHANGING))
        .after_help(after)
}

/// Every command with every flag: for completions and man pages only.
pub(super) fn full(ops: &[OpInfo], columns: usize) -> Command {
    let builtins = builtin::commands().into_iter().filter(|command| !is_noun(command.get_name(), ops));
    let nouns = words(ops).map(|word| full_noun(word, ops, columns));
    root(columns).no_binary_name(false).subcommands(nouns).subcommands(builtins)
}

fn full_noun(word: &'static str, ops: &[OpInfo], columns: usize) -> Command {
    let noun = meant(word);
    let of_noun = || ops.iter().filter(|info| info.noun() == noun);
    let base = match of_noun().find(|info| info.verb().is_none()) {
        Some(single) => Leaf::for_help(single, columns),
        None => Command::new(word.replace('_', "-")).about(word_about(word, ops)).disable_help_subcommand(true),
    };
    // A built-in command of the same name (`hook`) lives beside the operations of the noun.
    let built_in = builtin::commands().into_iter().find(|command| command.get_name() == noun);
    let base = base.args(built_in.iter().flat_map(|command| command.get_arguments().cloned()));
    let verbs = of_noun().filter(|info| info.verb().is_some());
    base.subcommands(verbs.map(|info| Leaf::for_help(info, columns)))
}

fn is_noun(name: &str, ops: &[OpInfo]) -> bool {
    ops.iter().any(|info| info.noun() == name)
}

fn root(columns: usize) -> Command {
    let version = Arg::new("version").long("version").short('V').action(ArgAction::SetTrue).help("Print the version");
    styled(Command::new("kctl").bin_name("kctl"), columns)
        .override_usage("kctl [FLAGS] NOUN [VERB]")
        .about(ABOUT)
        .disable_version_flag(true)
        .args(globals::args(&globals::CHANGING))
        .arg(version.help_heading("Global flags"))
        .after_help("Run `kctl NOUN --help` for its verbs, `kctl help exit` for exit statuses")
}

/// What stands behind `word`, which may be another word for a noun.
fn word_about(word: &str, ops: &[OpInfo]) -> String {
    match meant(word) {
        noun if noun == word => noun_about(noun, ops),
        noun => format!("another word for `{noun}`: {}", noun_about(noun, ops)),
    }
}

pub(super) fn noun_about(noun: &str, ops: &[OpInfo]) -> String {
    let of_noun: Vec<&OpInfo> = ops.iter().filter(|info| info.noun() == noun).collect();
    match of_noun.as_slice() {
        [only] if only.verb().is_none() => only.about.to_owned(),
        many => many.iter().filter_map(|info| info.verb()).collect::<Vec<_>>().join(", ").replace('_', "-"),
    }
}

/// The completion script for `shell`.
pub fn completions(shell: Shell, ops: &[OpInfo]) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut full(ops, MAX_HELP_COLUMNS), "kctl", &mut script);
    script
}
