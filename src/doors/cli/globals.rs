//! Flags that every command takes, before the noun or after it.

use std::fmt;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches};

/// What was said beside the command itself.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Globals {
    /// Where to act; the current directory if absent. Several `-C` join, as git's do.
    pub dir: Option<PathBuf>,
    pub json: bool,
    pub session: Option<String>,
    pub token: Option<String>,
    pub idempotency_key: Option<String>,
    /// Only set for operations that change something.
    pub dry_run: bool,
    pub quiet: bool,
    pub verbose: u8,
}

impl Globals {
    /// Adds what `matches` says; a word that stands later wins.
    pub(super) fn take(&mut self, matches: &ArgMatches) {
        let text = |id: &str| matches.try_get_one::<String>(id).ok().flatten().cloned();
        let flag = |id: &str| matches.try_get_one::<bool>(id).ok().flatten().copied().unwrap_or(false);
        if let Ok(Some(dirs)) = matches.try_get_many::<PathBuf>("dir") {
            self.dir = Some(dirs.fold(self.dir.take().unwrap_or_default(), |all, dir| all.join(dir)));
        }
        self.session = text("session").or(self.session.take());
        self.token = text("token").or(self.token.take());
        self.idempotency_key = text("idempotency-key").or(self.idempotency_key.take());
        self.json |= flag("json");
        self.dry_run |= flag("dry-run");
        self.quiet |= flag("quiet");
        let more = matches.try_get_one::<u8>("verbose").ok().flatten().copied().unwrap_or(0);
        self.verbose = self.verbose.saturating_add(more);
    }
}

impl fmt::Debug for Globals {
    /// Never shows the token (I12).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Globals")
            .field("dir", &self.dir)
            .field("json", &self.json)
            .field("session", &self.session)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("idempotency_key", &self.idempotency_key)
            .field("dry_run", &self.dry_run)
            .field("quiet", &self.quiet)
            .field("verbose", &self.verbose)
            .finish()
    }
}

/// Global flags that take a value, as they are typed.
pub(super) const WITH_VALUE: [&str; 4] = ["-C", "--session", "--token", "--idempotency-key"];

/// Global flags of operations that change something, and of no other command.
pub(super) const CHANGING: [&str; 2] = ["dry-run", "idempotency-key"];

/// The global flags, without those whose name is in `taken`: an operation's own flag of that name goes first, and the
/// global one is still taken before the noun.
pub(super) fn args(taken: &[&str]) -> impl Iterator<Item = Arg> {
    let value =
        |id: &'static str, name: &'static str, help: &'static str| Arg::new(id).long(id).value_name(name).help(help);
    let all = [
        Arg::new("dir")
            .short('C')
            .value_name("DIR")
            .value_parser(clap::value_parser!(PathBuf))
            .action(ArgAction::Append)
            .help("Act as if started in DIR"),
        switch("json", "Print the answer, or the refusal, as JSON"),
        value("session", "SESSION", "The session that calls [env: KCTL_SESSION]"),
        value("token", "TOKEN", "The session's secret [env: KCTL_TOKEN]"),
        value("idempotency-key", "KEY", "Give the stored answer if the session used this key before"),
        switch("dry-run", "Say what would change, and change nothing"),
        switch("quiet", "Say nothing beside the answer").short('q'),
        Arg::new("verbose").long("verbose").short('v').action(ArgAction::Count).help("Say more; twice for still more"),
        Arg::new("help").long("help").short('h').action(ArgAction::Help).help("Print this help"),
    ];
    let taken: Vec<String> = taken.iter().map(|&name| name.to_owned()).collect();
    all.into_iter()
        .filter(move |arg| !taken.iter().any(|name| arg.get_long() == Some(name)))
        .map(|arg| arg.help_heading("Global flags"))
}

fn switch(id: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).action(ArgAction::SetTrue).overrides_with(id).help(help)
}
