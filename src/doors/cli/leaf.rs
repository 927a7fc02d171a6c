//! One operation as a clap command, and what was typed as its parameters.

use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use super::globals;
use super::param::{Kind, Param, params};
use super::source::Console;
use super::tree::styled;
use super::value;
use crate::domain::effect::Custody;
use crate::domain::op_info::OpInfo;
use crate::domain::refusal::{Code, Refusal};

/// The parameter that may stand for a file: the evidence that keeps what the file would hold.
const EVIDENCE: &str = "evidence";

/// An operation's command and parameters.
pub(super) struct Leaf {
    pub(super) command: Command,
    params: Vec<Param>,
    info: OpInfo,
}

impl Leaf {
    pub(super) fn of(info: &OpInfo, columns: usize) -> Self {
        let params = params(&(info.input_schema)());
        let name = info.verb().unwrap_or(info.name).replace('_', "-");
        let mut command = styled(Command::new(name), columns)
            .about(info.about)
            .override_usage(usage(info, &params))
            .after_help(notes(info))
            .disable_version_flag(true);
        for (at, positional) in info.positional.iter().enumerate() {
            if let Some(param) = params.iter().find(|param| param.name == *positional) {
                // By number: what is made required for help is moved to the end of clap's own list.
                let arg = Arg::new(id(param)).index(at + 1).value_name(param.value_name());
                command = command.arg(described(arg, param));
                command = command.args(by_name(param));
            }
        }
        for param in flags(info, &params) {
            command = command.args(flag_args(param, &params));
        }
        let mut taken: Vec<&str> = flags(info, &params).map(|param| param.flag.as_str()).collect();
        if !info.effect.changes() {
            taken.extend(globals::CHANGING);
        }
        Self { command: command.args(globals::args(&taken)), params, info: *info }
    }

    /// The command as help, completions and man pages show it: what must be typed stands there without brackets. When
    /// it is read, what is missing is told by the operation's own words instead of clap's.
    pub(super) fn for_help(info: &OpInfo, columns: usize) -> Command {
        let Self { command, params, .. } = Self::of(info, columns);
        let must = params.iter().filter(|param| param.required && info.positional.contains(&param.name.as_str()));
        must.fold(command, |command, param| command.mut_arg(id(param), |arg| arg.required(true)))
    }

    /// The flags that take no value, as they are typed.
    pub(super) fn switches(&self) -> Vec<String> {
        let switches = self.params.iter().filter(|param| param.kind == Kind::Switch && !param.list);
        switches.flat_map(|param| [format!("--{}", param.flag), format!("--no-{}", param.flag)]).collect()
    }

    /// What was typed, by member name. Parameters that were not typed are left to the operation's defaults.
    ///
    /// # Errors
    /// `USAGE` that names the flag.
    pub(super) fn read(&self, matches: &ArgMatches, console: &mut Console<'_>) -> Result<Map<String, Value>, Refusal> {
        let mut members = Map::new();
        for param in &self.params {
            let typed = match self.typed(param, matches, console) {
                Err(why) if param.kind == Kind::File && self.params.iter().any(|other| other.name == EVIDENCE) => {
                    members.insert(EVIDENCE.to_owned(), self.evidence(param, matches, &why)?);
                    None
                }
                typed => typed?,
            };
            if let Some(typed) = typed {
                members.insert(param.name.clone(), typed);
            }
        }
        let missing: Vec<&Param> =
            self.params.iter().filter(|param| param.required && !members.contains_key(&param.name)).collect();
        if missing.is_empty() { Ok(members) } else { Err(self.missing(&missing)) }
    }

    fn typed(&self, param: &Param, matches: &ArgMatches, console: &mut Console<'_>) -> Result<Option<Value>, Refusal> {
        if param.kind == Kind::Switch && !param.list && !self.is_positional(param) {
            return Ok(switched(param, matches).map(Value::Bool));
        }
        let by = |id: &str| matches.try_get_many::<String>(id).ok().flatten();
        let Some(mut words) = by(&id(param)).or_else(|| by(&name_id(param))) else { return Ok(None) };
        let shown = self.shown(param);
        if !param.list {
            return words.next_back().map(|word| value::read(&param.kind, word, &shown, console)).transpose();
        }
        let mut items = Vec::new();
        for word in words {
            match value::read(&param.kind, word, &shown, console)? {
                // A list of objects may come whole.
                Value::Array(more) if param.kind == Kind::Json => items.extend(more),
                item => items.push(item),
            }
        }
        Ok(Some(Value::Array(items)))
    }

    /// The evidence that a word means which is no file.
    fn evidence(&self, param: &Param, matches: &ArgMatches, why: &Refusal) -> Result<Value, Refusal> {
        let by = |id: &str| matches.try_get_one::<String>(id).ok().flatten();
        match by(&id(param)).or_else(|| by(&name_id(param))) {
            Some(word) if word.starts_with("e-") => Ok(Value::from(word.as_str())),
            _ => {
                let words = format!("{}; it takes a file or `-`, or the id of evidence (`e-…`)", why.message());
                Err(Refusal::new(Code::USAGE, words).with("flag", self.shown(param)))
            }
        }
    }

    fn is_positional(&self, param: &Param) -> bool {
        self.info.positional.contains(&param.name.as_str())
    }

    /// The parameter as a person types it.
    fn shown(&self, param: &Param) -> String {
        if self.is_positional(param) { format!("<{}>", param.value_name()) } else { param.dashed() }
    }

    fn missing(&self, missing: &[&Param]) -> Refusal {
        let shown: Vec<String> = missing.iter().map(|param| self.shown(param)).collect();
        let names = shown.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let (verb, usage) = (if shown.len() == 1 { "is" } else { "are" }, usage(&self.info, &self.params));
        Refusal::new(Code::USAGE, format!("{names} {verb} required: {usage}"))
            .with("missing", shown)
            .with("usage", usage)
            .with("op", self.info.name)
    }
}

/// Clap's id of a parameter, apart from the ids of global flags.
fn id(param: &Param) -> String {
    format!("param.{}", param.name)
}

fn no_id(param: &Param) -> String {
    format!("no.{}", param.name)
}

fn name_id(param: &Param) -> String {
    format!("name.{}", param.name)
}

/// A positional parameter by its name: whoever knows the wire types `--task`. Help does not show it, and a global flag
/// of that name keeps its meaning.
fn by_name(param: &Param) -> Option<Arg> {
    let is_global = globals::args(&[]).any(|global| global.get_long() == Some(param.flag.as_str()));
    let long = Arg::new(name_id(param)).long(param.flag.clone()).value_name(param.value_name());
    (!is_global).then(|| described(long, param).conflicts_with(id(param)).hide(true))
}

fn flags<'p>(info: &OpInfo, params: &'p [Param]) -> impl Iterator<Item = &'p Param> {
    params.iter().filter(|param| !info.positional.contains(&param.name.as_str()))
}

fn described(arg: Arg, param: &Param) -> Arg {
    let mut help = param.help.clone();
    if param.required && arg.get_long().is_some() {
        help.push_str(" (required)");
    }
    if param.list && arg.get_long().is_some() {
        help.push_str(" (may be repeated)");
    }
    match &param.default {
        Some(Value::String(text)) if !text.is_empty() => help.push_str(&format!(" [default: {text}]")),
        Some(Value::Number(number)) => help.push_str(&format!(" [default: {number}]")),
        Some(Value::Bool(true)) => help.push_str(" [default: on]"),
        Some(Value::Array(items)) if !items.is_empty() => {
            help.push_str(&format!(" [default: {}]", Value::Array(items.clone())));
        }
        _ => {}
    }
    let arg = match &param.kind {
        Kind::Choice(choices) => arg.value_parser(PossibleValuesParser::new(choices.clone())),
        Kind::Integer | Kind::Number | Kind::TextOrInteger => arg.allow_negative_numbers(true),
        Kind::Text | Kind::Switch | Kind::TextOrJson | Kind::Json | Kind::File => arg,
    };
    let arg = match (param.list, arg.get_long().is_some()) {
        (true, true) => arg.action(ArgAction::Append),
        (true, false) => arg.num_args(1..).action(ArgAction::Append),
        (false, _) => arg,
    };
    arg.help(help.trim_start().to_owned())
}

/// The flag of `param`; two for a switch, of which help shows the ones that can change something.
fn flag_args(param: &Param, all: &[Param]) -> Vec<Arg> {
    let long = Arg::new(id(param)).long(param.flag.clone()).help_heading("Flags");
    if param.kind != Kind::Switch || param.list {
        return vec![described(long.value_name(param.value_name()), param)];
    }
    let on_by_default = param.default == Some(Value::Bool(true));
    let three_states = param.nullable || (param.required && param.default.is_none());
    let (yes, no) = (id(param), no_id(param));
    let yes_arg = described(long, param).action(ArgAction::SetTrue).overrides_with_all([yes.clone(), no.clone()]);
    let negative = format!("no-{}", param.flag);
    if all.iter().any(|other| other.flag == negative) {
        return vec![yes_arg];
    }
    let no_arg = Arg::new(no.clone())
        .long(negative)
        .action(ArgAction::SetTrue)
        .overrides_with_all([yes, no])
        .help_heading("Flags")
        .help(if on_by_default { format!("Off: {}", param.help) } else { format!("The opposite of --{}", param.flag) });
    vec![yes_arg.hide(on_by_default), no_arg.hide(!on_by_default && !three_states)]
}

fn switched(param: &Param, matches: &ArgMatches) -> Option<bool> {
    let typed =
        |id: &str| matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine);
    match (typed(&id(param)), typed(&no_id(param))) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

/// The usage line: what is required by name, the rest as `[FLAGS]`.
fn usage(info: &OpInfo, params: &[Param]) -> String {
    let mut usage = format!("{} [FLAGS]", info.command());
    for param in flags(info, params).filter(|param| param.required) {
        usage.push_str(&match param.kind {
            Kind::Switch => format!(" --[no-]{}", param.flag),
            _ => format!(" {} <{}>", param.dashed(), param.value_name()),
        });
    }
    for positional in info.positional {
        if let Some(param) = params.iter().find(|param| param.name == *positional) {
            let dots = if param.list { "..." } else { "" };
            usage.push_str(&match param.required {
                true => format!(" <{}>{dots}", param.value_name()),
                false => format!(" [{}]{dots}", param.value_name()),
            });
        }
    }
    usage
}

/// What stands below the flags: examples, effect, custody, exit statuses.
fn notes(info: &OpInfo) -> String {
    let mut notes = String::new();
    if !info.help.is_empty() {
        notes.push_str(&format!("{}\n\n", info.help));
    }
    if !info.examples.is_empty() {
        notes.push_str("Examples:\n");
        for (command, what) in info.examples {
            notes.push_str(&format!("  {command}\n      {what}\n"));
        }
        notes.push('\n');
    }
    let needs = match info.custody {
        Custody::None => "needs nothing",
        Custody::Session => "needs a live session: KCTL_SESSION or --session",
        Custody::Claim => "needs the live claim on the task",
        Custody::Workspace => "needs the claimed task's workspace",
        Custody::Person => "needs a person, at a terminal and without a session",
    };
    notes.push_str(&format!("Effect:   {}\nCustody:  {} ({needs})\n", info.effect, info.custody));
    notes.push_str(&format!("On the wire: `{}`; schemas: `kctl ops describe {}`\n", info.name, info.name));
    notes.push_str("Exit status: 0 is an answer; see `kctl help exit` for the rest");
    notes
}
