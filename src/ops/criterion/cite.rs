//! `criterion.cite`: the sources of a citation are handed in. kctl takes each content's digest itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::named::Named;
use super::recorded::{self, Out};
use crate::domain::contract::{CriterionId, Proof};
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::Refusal;
use crate::domain::run::{HandedIn, Source};
use crate::domain::stamp::Stamp;
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{assess, execute};
use crate::rules::verification::due::is_address;
use crate::rules::verification::proofs::{File, Finding};

/// The largest copy of a source that is handed in, in bytes.
const MAX_CONTENT_BYTES: usize = 2 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose criterion it is, its own or its commitment's (default: inside a task's worktree, that task)
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose criterion it is
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
    criterion: CriterionId,
    /// By address: the content as it was read, as text of at most 2 MiB. Files of the tree are read by kctl
    #[serde(default)]
    contents: BTreeMap<String, String>,
    /// When the addresses were read; now unless given
    #[serde(default)]
    retrieved_at: Option<Stamp>,
}

pub struct Cite;

impl Op for Cite {
    const NAME: &'static str = "criterion.cite";
    const ABOUT: &'static str =
        "Hand in the sources of a citation: each gets its content's digest and the time it was read";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["criterion"];
    const HIDDEN: &'static [&'static str] = &["handed_in"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl criterion cite AC-3 --task t-7k2 --contents '{\"https://example.org/rfc\": \"the text that was read\"}'",
        "sources that are files of the tree need no content",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let holder = Named::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        holder.refuse_unless_open(call)?;
        let criterion = holder.criterion(&input.criterion)?.clone();
        recorded::refuse_unless_by(Self::NAME, &criterion)?;
        let Proof::Citation { sources } = &criterion.proof else { unreachable!("only a citation is cited") };
        if let Some(other) = input.contents.keys().find(|name| !sources.contains(name)) {
            return Err(Refusal::invalid("contents", format!("`{other}` is no source of `{}`", criterion.id))
                .with("known", sources));
        }
        let at = input.retrieved_at.unwrap_or_else(|| call.now());
        if at > call.now() {
            return Err(Refusal::invalid("retrieved_at", "nothing was read in the future"));
        }
        let subject = holder.subject(call)?;
        let snapshot = assess::snapshot(call, &subject)?;
        let (mut read, mut missing) = (Vec::new(), Vec::new());
        for source in sources {
            match content(call, &subject, source, &input.contents)? {
                Ok(bytes) => {
                    let (digest, bytes) = (Digest::of(&bytes), bytes.len() as u64);
                    read.push(Source { source: source.clone(), digest, bytes, retrieved_at: at });
                }
                Err(why) => missing.push(why),
            }
        }
        let finding = if missing.is_empty() { Finding::pass() } else { Finding::fail(missing.join("; ")) };
        let said = HandedIn::Citation { sources: read };
        recorded::record(call, &holder, (&subject, &snapshot), &criterion, (finding, said))
    }
}

/// What `source` says, or why that is not known. Only its digest is kept.
fn content(
    call: &Call<'_>,
    subject: &Subject,
    source: &str,
    given: &BTreeMap<String, String>,
) -> Result<Result<Vec<u8>, String>, Refusal> {
    if is_address(source) {
        return Ok(match given.get(source) {
            Some(text) if text.len() > MAX_CONTENT_BYTES => {
                return Err(Refusal::invalid("contents", format!("the content of `{source}` has more than 2 MiB")));
            }
            Some(text) if !text.trim().is_empty() => Ok(text.clone().into_bytes()),
            Some(_) | None => Err(format!("no content of `{source}` was handed in")),
        });
    }
    Ok(match execute::file(call, subject, source) {
        File::Regular(bytes) => Ok(bytes),
        File::Absent => Err(format!("`{source}` does not exist")),
        File::Other(kind) => Err(format!("`{source}` is {kind}, not a regular file")),
        File::Unreadable(why) => Err(format!("`{source}` cannot be read: {why}")),
    })
}
