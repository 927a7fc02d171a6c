//! `ledger.export`: events byte for byte, for other tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::event::Recorded;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::Op;
use crate::ports::ledger::MAX_PAGE;

use super::log::cut_export;

/// The most events one answer carries.
const MAX_EXPORTED: u32 = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The `seq` of the last event of the export before
    #[serde(default)]
    after: Option<u64>,
}

/// One row as it stands in the ledger: enough to recompute its seal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Exported {
    seq: u64,
    id: String,
    stream: String,
    ver: u64,
    #[serde(rename = "type")]
    type_name: String,
    v: u32,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    at: i64,
    caller: String,
    origin: String,
    oseq: u64,
    prev: String,
    /// The stored bytes as text.
    body: String,
    seal: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    events: Vec<Exported>,
}

pub struct Export;

impl Op for Export {
    const NAME: &'static str = "ledger.export";
    const ABOUT: &'static str = "Give out events byte for byte, with their seals";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["seq", "type", "stream", "seal"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("kctl ledger export --json", "all of it, as JSON")];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let mut events: Vec<Exported> = Vec::new();
        let mut after = input.after.unwrap_or(0);
        loop {
            let rows = call.views()?.events(None, after, MAX_PAGE).map_err(fault::of_ledger)?;
            let Some(last) = rows.last() else { break };
            after = last.seq;
            events.extend(rows.into_iter().map(exported));
            if events.len() >= MAX_EXPORTED as usize {
                cut_export(call, u64::from(MAX_EXPORTED), after);
                break;
            }
        }
        Ok(Out { events })
    }
}

fn exported(event: Recorded) -> Exported {
    Exported {
        seq: event.seq,
        id: event.id,
        stream: event.stream,
        ver: event.ver,
        type_name: event.type_name,
        v: event.version,
        at: event.at,
        caller: event.caller,
        origin: event.origin,
        oseq: event.oseq,
        prev: event.prev,
        body: String::from_utf8_lossy(&event.body).into_owned(),
        seal: event.seal,
    }
}
