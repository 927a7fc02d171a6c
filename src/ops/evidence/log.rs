//! `evidence.log`: the stored output of a run, page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::answer::Truncation;
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{EvidenceId, EvidenceRef};
use crate::domain::refusal::Refusal;
use crate::domain::run::Verdict;
use crate::ops::call::{Call, page};
use crate::ops::fault;
use crate::ops::op::Op;
use crate::ports::ledger::MAX_PAGE;
use crate::ports::runner::MAX_OUTPUT_BYTES;

/// The longest line that is shown whole, in bytes: a page has a bound whatever the output is.
const MAX_LINE_BYTES: usize = 8 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    evidence: EvidenceRef,
    /// The last line of the page before (default: 0, the beginning)
    #[serde(default)]
    after: Option<u64>,
    /// Only the last lines, this many
    #[serde(default)]
    tail: Option<u32>,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    id: EvidenceId,
    /// None while it runs, or when its supervisor died.
    verdict: Option<Verdict>,
    /// How many lines are stored.
    lines: u64,
    /// The first line shown, counted from 1; 0 if none is.
    from: u64,
    to: u64,
    /// Bytes from the middle of the output that were not stored; a line in their place says so.
    omitted_bytes: u64,
    text: String,
}

pub struct Log;

impl Op for Log {
    const NAME: &'static str = "evidence.log";
    const ABOUT: &'static str = "Page through the stored output of a run";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["evidence"];
    const TEXTS: &'static [&'static str] = &["text"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl evidence log e-3fz --tail 20", "how it ended"),
        ("kctl evidence log e-3fz --after 50 --limit 100", "lines 51 to 150"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let limit = match (input.tail, input.after) {
            (Some(_), Some(_)) => return Err(Refusal::invalid("tail", "`tail` and `after` cannot be given together")),
            (Some(tail), None) if !(1..MAX_PAGE).contains(&tail) => {
                let words = format!("`tail` is from 1 to {}, not {tail}", MAX_PAGE - 1);
                return Err(Refusal::invalid("tail", words));
            }
            (Some(tail), None) => tail,
            (None, _) => page(input.limit)?,
        };
        let run = call.evidence(&input.evidence)?.value;
        let record = run.record.as_ref();
        let text = record.and_then(|record| record.output.clone()).map(|digest| stored(call, &digest)).transpose()?;
        let text = text.unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let limit_lines = limit as usize;
        let after = match input.tail {
            Some(_) => lines.len().saturating_sub(limit_lines),
            None => usize::try_from(input.after.unwrap_or(0)).unwrap_or(usize::MAX).min(lines.len()),
        };
        let shown = &lines[after..lines.len().min(after.saturating_add(limit_lines))];
        let to = after + shown.len();
        if to < lines.len() {
            let total = Some(lines.len() as u64);
            let how = format!("ask again with `after`: {to}");
            call.truncated.push(Truncation { what: "lines".to_owned(), limit: u64::from(limit), total, how });
            call.propose("evidence.log", "the next page", json!({ "evidence": run.id, "after": to, "limit": limit }));
        }
        Ok(Out {
            verdict: record.map(|record| record.verdict),
            lines: lines.len() as u64,
            from: if shown.is_empty() { 0 } else { after as u64 + 1 },
            to: if shown.is_empty() { 0 } else { to as u64 },
            omitted_bytes: record.map_or(0, |record| record.output_omitted),
            text: whole(call, shown),
            id: run.id,
        })
    }
}

/// The lines as one text; what is too long of a line is said.
fn whole(call: &mut Call<'_>, lines: &[&str]) -> String {
    let mut text = String::new();
    let mut cut = 0_u64;
    for line in lines {
        let end = (0..=MAX_LINE_BYTES.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        text.push_str(&line[..end]);
        if end < line.len() {
            text.push('…');
            cut += 1;
        }
        text.push('\n');
    }
    if cut > 0 {
        let how = format!("{cut} lines are longer; the whole is in the artifact that `evidence.show` names");
        let limit = MAX_LINE_BYTES as u64;
        call.truncated.push(Truncation { what: "bytes of a line".to_owned(), limit, total: None, how });
    }
    text
}

/// The stored output behind `digest`.
///
/// # Errors
/// When it is not here, or not what was stored.
pub fn stored(call: &Call<'_>, digest: &Digest) -> Result<String, Refusal> {
    let bytes = call.artifacts()?.load(digest, MAX_OUTPUT_BYTES as u64).map_err(fault::of_artifact)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
