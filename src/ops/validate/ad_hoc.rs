//! A command of the caller's own, run as a check is.

use serde_json::json;

use super::In;
use crate::domain::profile::Run;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::verification::subject::Subject;
use crate::rules::failure;
use crate::rules::stagnation::{self, MAX_COMMAND_BYTES};
use crate::rules::verification::due::{Due, of_command};

/// A command of the caller's own. It may be run, and shows nothing that was asked for: whoever works chose it.
pub(super) fn due(call: &mut Call<'_>, subject: &Subject, run: &str, input: &In) -> Result<Due, Refusal> {
    let legal = !run.trim().is_empty() && run.len() <= MAX_COMMAND_BYTES && !run.contains('\0');
    if !legal {
        return Err(Refusal::invalid("run", format!("`run` is a command of at most {MAX_COMMAND_BYTES} bytes")));
    }
    if !input.criteria.is_empty() || !input.checks.is_empty() {
        let other = if input.checks.is_empty() { "criteria" } else { "checks" };
        let words = format!("`run` and `{other}` cannot be given together: a command of your own shows no criterion");
        return Err(Refusal::invalid("run", words).next("check.list", "lists what can be shown", json!({})));
    }
    let words = "what a command of your own says is asserted and shows no criterion: what counts is declared in \
        .decapod/kctl.toml, which a person puts on the base";
    call.warn("not_evidence", words);
    let key = failure::lineage(run);
    let known = [subject.judges().base, subject.judges().work_tree].into_iter().flatten();
    if let Some((check, _)) = known.filter_map(|profile| stagnation::check_of(profile, &key)).next() {
        let params = json!({ "check": check, "task": subject.task });
        call.propose("check.run", "runs the declared check that this is, or is part of: that makes evidence", params);
    }
    Ok(of_command(Run::Shell(run.to_owned())))
}
