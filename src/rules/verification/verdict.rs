//! From how a command ended to what that says.

use crate::domain::process::{Ended, NotStarted, Outcome};
use crate::domain::profile::Run;
use crate::domain::run::Verdict;

use super::exits::{self, SIGPIPE, Says};
use super::proofs::Finding;

/// How a check's run is judged. `moved` says that its inputs were others after it than before.
pub fn of_outcome(outcome: &Outcome, run: &Run, moved: bool) -> Finding {
    let mut finding = of_end(outcome, run);
    if finding.verdict != Verdict::Pass && matches!(outcome.ended, Ended::Exited { .. }) && missed_network(outcome) {
        finding.verdict = Verdict::Unavailable;
        finding.reasons.push("it seems to need the network: set `network = true` for it in the profile".to_owned());
    }
    if moved {
        // A verdict speaks only for the inputs it saw, and nobody can say which those were (I4).
        finding = finding.unsettled("its inputs changed while it ran");
    }
    if outcome.leftovers.count > 0 {
        finding.reasons.push(format!("{} processes outlived it and were ended", outcome.leftovers.count));
    }
    finding
}

/// What tools say that cannot reach a name or a host.
const NO_NETWORK: [&str; 14] = [
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "network is unreachable",
    "no address associated with hostname",
    "getaddrinfo enotfound",
    "getaddrinfo eai_again",
    "eai_again",
    "no such host",
    "dial tcp: lookup",
    "failed to lookup address information",
    "dns error",
    "newconnectionerror",
];
/// How much of the end of an output is looked through.
const MAX_LOOKED_AT: usize = 64 * 1024;

/// Whether it was kept from the network, and its last words are those of one who misses it.
fn missed_network(outcome: &Outcome) -> bool {
    let has_sign = |text: &str| {
        let end = &text.as_bytes()[text.len().saturating_sub(MAX_LOOKED_AT)..];
        let end = String::from_utf8_lossy(end).to_lowercase();
        NO_NETWORK.iter().any(|sign| end.contains(sign))
    };
    let mut said = std::iter::once(&outcome.output).chain(&outcome.stderr);
    !outcome.isolation.network && said.any(|output| has_sign(&output.text))
}

fn of_end(outcome: &Outcome, run: &Run) -> Finding {
    let pass = || Finding { verdict: Verdict::Pass, reasons: Vec::new() };
    if let Some(program) = outcome.missing_program() {
        return Finding {
            verdict: Verdict::Unavailable,
            reasons: vec![format!("there is no program `{program}` here")],
        };
    }
    match &outcome.ended {
        Ended::Exited { code: 0 } => pass(),
        Ended::Exited { code } => match outcome.signal() {
            Some(signal) if 128 + signal != SIGPIPE => Finding::error(format!("signal {signal} ended it")),
            Some(_) | None => match exits::of(run, *code, &outcome.pipe_statuses) {
                Says::No(why) => Finding::fail(why),
                Says::CouldNotTell(why) => Finding::error(why),
                Says::Nothing => pass(),
            },
        },
        Ended::NotStarted(NotStarted::Missing { program }) => {
            Finding { verdict: Verdict::Unavailable, reasons: vec![format!("there is no program `{program}` here")] }
        }
        Ended::Signalled { .. } | Ended::TimedOut { .. } | Ended::Interrupted { .. } | Ended::NotStarted(_) => {
            Finding::error(outcome.ended.to_string())
        }
    }
}

/// The one program that a command runs; none where the shell runs several.
pub fn program_of(run: &Run) -> Option<String> {
    let word = match run {
        Run::Argv(words) => words.first().cloned(),
        Run::Shell(text) if text.contains(['|', ';', '&', '\n', '(', '`', '$']) => None,
        Run::Shell(text) => text.split_whitespace().find(|word| !word.contains('=')).map(str::to_owned),
    }?;
    let name = word.rsplit('/').next().unwrap_or_default().to_owned();
    (!name.is_empty()).then_some(name)
}
