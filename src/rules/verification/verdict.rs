//! From how a command ended to what that says.

use crate::domain::process::{Ended, NotStarted, Outcome};
use crate::domain::profile::Run;
use crate::domain::run::Verdict;

use super::exits::{self, SIGPIPE, Says};
use super::proofs::Finding;

/// How a check's run is judged. `moved` says that its inputs were others after it than before.
pub fn of_outcome(outcome: &Outcome, run: &Run, moved: bool) -> Finding {
    let mut finding = of_end(outcome, run);
    if moved {
        // A verdict speaks only for the inputs it saw, and nobody can say which those were (I4).
        finding = finding.unsettled("its inputs changed while it ran");
    }
    if outcome.leftovers.count > 0 {
        finding.reasons.push(format!("{} processes outlived it and were ended", outcome.leftovers.count));
    }
    finding
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
