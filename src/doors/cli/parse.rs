//! From words to what they ask for, building no more commands than the words name.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

use super::builtin::{self, Action};
use super::globals::{self, Globals};
use super::leaf::Leaf;
use super::source::Console;
use super::tree::{noun_help, root_help, styled};
use super::{catalogue, fault};
use crate::domain::op_info::{OpInfo, meant};
use crate::domain::refusal::{Code, Refusal};
use crate::rules::near::{MAX_COMPARED_CHARS, near};

/// A command line that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub globals: Globals,
    pub action: Action,
}

/// How to speak to whoever typed a command line, known even when it cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Text on stdout, refusals on stderr.
    Human,
    /// `--json`: the answer, or `{"error": …}`, on stdout.
    Json,
    /// `kctl rpc`: response objects on stdout, for faults of the command line as well.
    Rpc,
}

/// Says how to speak, without judging the words.
pub fn voice(args: &[OsString]) -> Voice {
    let before_dashes = || args.iter().take_while(|arg| *arg != "--");
    let mut words = before_dashes();
    while let Some(word) = words.next() {
        let is = |name: &&str| word == OsStr::new(*name);
        if globals::WITH_VALUE.iter().any(is) {
            words.next();
        } else if word == "rpc" {
            return Voice::Rpc;
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            break;
        }
    }
    if before_dashes().any(|arg| arg == "--json") { Voice::Json } else { Voice::Human }
}

/// Reads a command line without its first word, the program.
///
/// # Errors
/// `USAGE` or `UNKNOWN_OPERATION`; what would have been right is named.
pub fn parse(args: &[OsString], ops: &[OpInfo], console: &mut Console<'_>) -> Result<Parsed, Refusal> {
    // Before anything is built: hosts ask for the version at every start.
    if args.first().is_some_and(|first| first == "--version" || first == "-V") {
        return Ok(Parsed { globals: Globals::default(), action: Action::Version });
    }
    let mut parser = Parser { ops, console, globals: Globals::default() };
    let action = parser.root(args)?;
    Ok(Parsed { globals: parser.globals, action })
}

/// The operation that a noun means by itself: where nothing else can be done to it than showing it.
fn only_show<'o>(noun: &str, ops: &'o [OpInfo]) -> Option<&'o OpInfo> {
    let mut of_noun = ops.iter().filter(|info| info.noun() == noun);
    match (of_noun.next(), of_noun.next()) {
        (Some(only), None) if only.verb() == Some("show") => Some(only),
        _ => None,
    }
}

/// What one stage found: a word and what follows it, or an end.
enum Stage {
    Word(String, Vec<OsString>),
    Help,
    Version,
    Nothing,
}

struct Parser<'p, 'c> {
    ops: &'p [OpInfo],
    console: &'p mut Console<'c>,
    globals: Globals,
}

impl Parser<'_, '_> {
    fn root(&mut self, args: &[OsString]) -> Result<Action, Refusal> {
        match self.stage("kctl", args)? {
            Stage::Version => Ok(Action::Version),
            Stage::Help | Stage::Nothing => Ok(self.help(root_help(self.ops, self.console.columns))),
            Stage::Word(noun, rest) => self.noun(&noun, &rest),
        }
    }

    /// Takes global flags up to the next bare word.
    fn stage(&mut self, command: &str, args: &[OsString]) -> Result<Stage, Refusal> {
        let version = Arg::new("version").long("version").short('V').action(ArgAction::SetTrue);
        let staged = styled(Command::new(command.to_owned()), self.console.columns)
            .disable_version_flag(true)
            .allow_external_subcommands(true)
            .args(globals::args(&[]))
            .arg(version);
        let matches = match staged.try_get_matches_from(args) {
            Ok(matches) => matches,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => return Ok(Stage::Help),
            Err(error) => return Err(fault::of_clap(&error, command)),
        };
        self.globals.take(&matches);
        if matches.get_flag("version") {
            return Ok(Stage::Version);
        }
        Ok(match matches.subcommand() {
            Some((word, rest)) => {
                let rest = rest.get_many::<OsString>("").into_iter().flatten().cloned().collect();
                Stage::Word(word.to_owned(), rest)
            }
            None => Stage::Nothing,
        })
    }

    fn noun(&mut self, noun: &str, rest: &[OsString]) -> Result<Action, Refusal> {
        let name = noun.replace('-', "_");
        let name = meant(&name).to_owned();
        let ops = self.ops;
        let of_noun = || ops.iter().filter(|info| info.noun() == name);
        let has_verbs = of_noun().any(|info| info.verb().is_some());
        let single = of_noun().find(|info| info.verb().is_none()).or_else(|| only_show(&name, ops));
        let built_in = builtin::command(noun);
        if !has_verbs {
            return match (single, built_in) {
                (Some(info), _) => self.leaf(info, rest),
                (None, Some(command)) => self.built_in(noun, command, rest),
                (None, None) => Err(self.unknown(noun)),
            };
        }
        // The next bare word decides whether an operation or something else of the same name is meant.
        let kept = self.globals.clone();
        let stage = self.stage(&format!("kctl {noun}"), rest);
        if let Ok(Stage::Word(verb, rest)) = &stage
            && let Some(info) = of_noun().find(|info| info.verb() == Some(verb.replace('-', "_").as_str()))
        {
            return self.leaf(info, rest);
        }
        match (single, built_in) {
            (Some(info), _) => {
                self.globals = kept;
                self.leaf(info, rest)
            }
            (None, Some(command)) => {
                self.globals = kept;
                self.built_in(noun, command, rest)
            }
            (None, None) => self.verbless(noun, &name, stage?),
        }
    }

    /// `word` was typed, and means `noun`.
    fn verbless(&self, word: &str, noun: &str, stage: Stage) -> Result<Action, Refusal> {
        match stage {
            Stage::Word(verb, _) => Err(fault::unknown_verb(noun, &verb.replace('-', "_"), self.ops)),
            Stage::Help => Ok(self.help(noun_help(word, self.ops, self.console.columns))),
            Stage::Version => Ok(Action::Version),
            Stage::Nothing => {
                let of_noun = self.ops.iter().filter(|info| info.noun() == noun);
                let verbs: Vec<String> =
                    of_noun.filter_map(|info| info.verb().map(|verb| verb.replace('_', "-"))).collect();
                let message = format!("`kctl {word}` needs a verb: {}", verbs.join(", "));
                Err(Refusal::new(Code::USAGE, message).with("verbs", verbs))
            }
        }
    }

    fn leaf(&mut self, info: &OpInfo, args: &[OsString]) -> Result<Action, Refusal> {
        let mut leaf = Leaf::of(info, self.console.columns);
        let command = std::mem::take(&mut leaf.command).bin_name(info.command());
        let matches = match command.try_get_matches_from(args) {
            Ok(matches) => matches,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                return Ok(self.help(Leaf::for_help(info, self.console.columns)));
            }
            Err(error) => {
                let switch = fault::behind_switch(&error, args, &leaf.switches());
                return Err(switch.unwrap_or_else(|| fault::of_clap(&error, &info.command())));
            }
        };
        self.globals.take(&matches);
        if self.globals.dry_run && !info.effect.changes() {
            let message = format!("`{}` changes nothing: leave out `--dry-run`", info.command());
            return Err(Refusal::new(Code::USAGE, message).with("flag", "--dry-run"));
        }
        Ok(Action::Op { name: info.name, params: leaf.read(&matches, self.console)? })
    }

    fn built_in(&mut self, name: &str, command: Command, args: &[OsString]) -> Result<Action, Refusal> {
        let command = styled(command, self.console.columns);
        let choices = builtin::choices(&command);
        let matches = match command.try_get_matches_from(args) {
            Ok(matches) => matches,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                return Ok(Action::Help(error.render().ansi().to_string()));
            }
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument && !choices.is_empty() => {
                return Err(fault::no_choice(&error, &format!("kctl {name}"), &choices));
            }
            Err(error) => return Err(fault::of_clap(&error, &format!("kctl {name}"))),
        };
        self.globals.take(&matches);
        if let Some((_, below)) = matches.subcommand() {
            self.globals.take(below);
        }
        if name != "help" {
            return builtin::action(name, &matches);
        }
        let words = matches.get_many::<String>("words").into_iter().flatten();
        self.help_for(&words.map(String::as_str).collect::<Vec<_>>())
    }

    fn help_for(&mut self, words: &[&str]) -> Result<Action, Refusal> {
        match words {
            ["exit" | "exits" | "exit-status"] => Ok(Action::Help(catalogue::exit_statuses())),
            ["profile"] => Ok(Action::Help(include_str!("../../../docs/PROFILE.md").to_owned())),
            _ => {
                let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
                args.push("--help".into());
                self.root(&args)
            }
        }
    }

    fn help(&self, mut command: Command) -> Action {
        Action::Help(command.render_help().ansi().to_string())
    }

    fn unknown(&self, word: &str) -> Refusal {
        let builtins = builtin::commands();
        let names = builtins.iter().map(Command::get_name);
        // `kctl task.create` is what somebody types who has read the wire's names.
        if let Some(info) = self.ops.iter().find(|info| info.name == word) {
            let message = format!("`{word}` is the name on the wire: type `{}`", info.command());
            return Refusal::new(Code::UNKNOWN_OPERATION, message).with("op", word).with("near", [info.name]);
        }
        let nouns = super::tree::nouns(self.ops);
        let near = near(word, nouns.into_iter().chain(names));
        let shown: String = word.chars().take(MAX_COMPARED_CHARS).collect();
        // A verb alone is what somebody types who remembers the half of it.
        let whole = fault::with_verb(&shown, self.ops);
        let hint = match (near.first(), whole.first()) {
            (_, Some(command)) => format!("did you mean `{command}`"),
            (Some(first), None) => format!("did you mean `kctl {}`", first.replace('_', "-")),
            (None, None) => "`kctl --help` lists them all".to_owned(),
        };
        Refusal::new(Code::UNKNOWN_OPERATION, format!("kctl has no command `{shown}`: {hint}"))
            .with("op", shown)
            .with("near", near)
    }
}
