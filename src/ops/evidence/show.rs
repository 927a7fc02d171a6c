//! `evidence.show`: one record, whole, with its output if that is wanted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::log;
use crate::domain::answer::Truncation;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{EvidenceId, EvidenceRef};
use crate::domain::refusal::Refusal;
use crate::domain::run::{Record, Subject};
use crate::domain::stamp::Stamp;
use crate::ops::call::Call;
use crate::ops::op::Op;

/// How much of an output one answer carries, in bytes: its end.
const MAX_SHOWN_BYTES: usize = 256 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    evidence: EvidenceRef,
    /// Also the stored output
    #[serde(default)]
    output: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    id: EvidenceId,
    subject: Option<Subject>,
    started: Stamp,
    /// None while it runs, or when its supervisor died.
    record: Option<Record>,
    output: Option<String>,
}

pub struct Show;

impl Op for Show {
    const NAME: &'static str = "evidence.show";
    const ABOUT: &'static str = "Show what a verdict was about, how it was established, and its output";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["evidence"];
    const HIDDEN: &'static [&'static str] = &[
        "subject.definition",
        "subject.commitment",
        "record.env_digest",
        "record.cwd",
        "record.input_after",
        "record.candidate",
        "record.contract_digest",
        "record.output",
        "record.output_bytes",
        "record.session",
        "record.kctl_version",
        "record.started",
        "record.tools",
    ];
    const TEXTS: &'static [&'static str] = &["record.tail", "output"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl evidence show e-3fz --output", "with its output")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let run = call.evidence(&input.evidence)?.value;
        let stored = run.record.as_ref().and_then(|record| record.output.clone()).filter(|_| input.output);
        let output = match stored {
            Some(digest) => Some(text(call, &digest)?),
            None => None,
        };
        Ok(Out { id: run.id, subject: run.subject, started: run.started, record: run.record, output })
    }
}

fn text(call: &mut Call<'_>, digest: &crate::domain::digest::Digest) -> Result<String, Refusal> {
    let whole = log::stored(call, digest)?;
    let mut start = whole.len().saturating_sub(MAX_SHOWN_BYTES);
    while !whole.is_char_boundary(start) {
        start += 1;
    }
    if start > 0 {
        let (limit, total) = (MAX_SHOWN_BYTES as u64, Some(whole.len() as u64));
        let how = "`evidence.log` pages through all of it".to_owned();
        call.truncated.push(Truncation { what: "output".to_owned(), limit, total, how });
    }
    Ok(whole[start..].to_owned())
}
