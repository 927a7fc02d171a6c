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

/// A page has a bound whatever the output is: a line that does not fit goes on in the next one.
const MAX_PAGE_BYTES: usize = 64 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    evidence: EvidenceRef,
    /// The last line of the page before (default: 0, the beginning)
    #[serde(default)]
    after: Option<u64>,
    /// Instead of lines: from this byte on
    #[serde(default)]
    from_byte: Option<u64>,
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
    /// How many lines and bytes are stored.
    lines: u64,
    bytes: u64,
    /// The first line shown, counted from 1, and the last; 0 if none is.
    from: u64,
    to: u64,
    /// Where that begins, and where it ends.
    from_byte: u64,
    to_byte: u64,
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
        ("kctl run log e-3fz --after 50 --limit 100", "lines 51 to 150; `run` is another word for `evidence`"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let limit = limit(&input)?;
        let run = call.evidence(&input.evidence)?.value;
        let record = run.record.as_ref();
        let text = record.and_then(|record| record.output.clone()).map(|digest| stored(call, &digest)).transpose()?;
        let text = text.unwrap_or_default();
        let starts: Vec<usize> = starts(&text);
        let start = match (input.tail, input.from_byte) {
            (Some(_), _) => starts.get(starts.len().saturating_sub(limit)).copied().unwrap_or(0),
            (None, Some(byte)) => start_of_character(&text, usize::try_from(byte).unwrap_or(usize::MAX)),
            (None, None) => {
                let after = usize::try_from(input.after.unwrap_or(0)).unwrap_or(usize::MAX);
                starts.get(after).copied().unwrap_or(text.len())
            }
        };
        let shown = page_of(&text[start..], limit);
        let end = start + shown.len();
        let line_at = |byte: usize| starts.partition_point(|start| *start <= byte) as u64;
        let (from, to) = if shown.is_empty() { (0, 0) } else { (line_at(start), line_at(end - 1)) };
        if end < text.len() {
            let how = format!("ask again with `from_byte`: {end}");
            let (what, total) = ("output".to_owned(), Some(text.len() as u64));
            call.truncated.push(Truncation { what, limit: end as u64, total, how });
            let params = json!({ "evidence": run.id, "from_byte": end, "limit": limit });
            call.propose("evidence.log", "the next page", params);
        }
        Ok(Out {
            verdict: run.verdict(),
            lines: starts.len() as u64,
            bytes: text.len() as u64,
            from,
            to,
            from_byte: start as u64,
            to_byte: end as u64,
            omitted_bytes: record.map_or(0, |record| record.output_omitted),
            text: shown.to_owned(),
            id: run.id,
        })
    }
}

/// How many lines are asked for.
fn limit(input: &In) -> Result<usize, Refusal> {
    let places = [input.after.is_some(), input.from_byte.is_some(), input.tail.is_some()];
    if places.into_iter().filter(|given| *given).count() > 1 {
        let field = if input.tail.is_some() { "tail" } else { "from_byte" };
        return Err(Refusal::invalid(field, "`after`, `from_byte` and `tail` say where to begin: give one of them"));
    }
    let lines = match input.tail {
        Some(tail) if !(1..MAX_PAGE).contains(&tail) => {
            return Err(Refusal::invalid("tail", format!("`tail` is from 1 to {}, not {tail}", MAX_PAGE - 1)));
        }
        Some(tail) => tail,
        None => page(input.limit)?,
    };
    Ok(lines as usize)
}

/// Where each line of `text` begins.
fn starts(text: &str) -> Vec<usize> {
    let mut at = 0;
    let start = |line: &str| {
        at += line.len();
        at - line.len()
    };
    text.split_inclusive('\n').map(start).collect()
}

/// `byte`, or the start of the character that it is in.
fn start_of_character(text: &str, byte: usize) -> usize {
    let byte = byte.min(text.len());
    (0..=byte).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first lines of `text`, up to `limit` of them, and no more than a page holds.
fn page_of(text: &str, limit: usize) -> &str {
    let end = text.split_inclusive('\n').take(limit).map(str::len).sum::<usize>();
    &text[..start_of_character(text, end.min(MAX_PAGE_BYTES))]
}

/// The stored output behind `digest`.
///
/// # Errors
/// When it is not here, or not what was stored.
pub fn stored(call: &Call<'_>, digest: &Digest) -> Result<String, Refusal> {
    let bytes = call.artifacts()?.load(digest, MAX_OUTPUT_BYTES as u64).map_err(fault::of_artifact)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
