//! `ledger.log`: events as they were recorded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::answer::Truncation;
use crate::domain::effect::{Custody, Effect};
use crate::domain::event::Recorded;
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Stamp;
use crate::ops::call::{Call, List, page};
use crate::ops::fault;
use crate::ops::op::Op;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Only events of this stream, such as `task:t-7k2`: a kind of thing, and an id or a unique prefix of one
    #[serde(default)]
    stream: Option<String>,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The `seq` of the last event of the page before
    #[serde(default)]
    after: Option<u64>,
}

/// One event, readable.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Logged {
    pub seq: u64,
    pub id: String,
    pub at: Stamp,
    pub stream: String,
    pub ver: u64,
    #[serde(rename = "type")]
    pub type_name: String,
    pub v: u32,
    pub agent: Option<String>,
    pub caller: Value,
    pub origin: String,
    pub oseq: u64,
    pub seal: String,
    /// As recorded; `null` if it is not JSON any more.
    pub body: Value,
}

impl Logged {
    pub fn of(event: Recorded) -> Self {
        let caller: Value = serde_json::from_str(&event.caller).unwrap_or_default();
        Self {
            seq: event.seq,
            id: event.id,
            at: Stamp::from_ms(event.at),
            stream: event.stream,
            ver: event.ver,
            type_name: event.type_name,
            v: event.version,
            agent: caller["agent"].as_str().map(str::to_owned),
            caller,
            origin: event.origin,
            oseq: event.oseq,
            seal: event.seal,
            body: serde_json::from_slice(&event.body).unwrap_or_default(),
        }
    }
}

/// A page of events.
pub fn read(
    call: &mut Call<'_>,
    stream: Option<&str>,
    after: Option<u64>,
    limit: Option<u32>,
) -> Result<List<Logged>, Refusal> {
    let limit = page(limit)?;
    let mut events = call.views()?.events(stream, after.unwrap_or(0), limit + 1).map_err(fault::of_ledger)?;
    call.cut(&mut events, limit, "items", |event| event.seq.to_string());
    Ok(List { items: events.into_iter().map(Logged::of).collect() })
}

pub struct Log;

impl Op for Log {
    const NAME: &'static str = "ledger.log";
    const ABOUT: &'static str = "Show recorded events, oldest first";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["seq", "at", "type", "stream", "agent"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl ledger log --after 100 --limit 20", "the events after number 100")];
    type In = In;
    type Out = List<Logged>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Logged>, Refusal> {
        let stream = input.stream.map(|stream| call.stream(&stream)).transpose()?;
        read(call, stream.as_deref(), input.after, input.limit)
    }
}

/// What an answer says when a whole export did not fit.
pub fn cut_export(call: &mut Call<'_>, limit: u64, last: u64) {
    let how = format!("ask again with `after`: {last}");
    call.truncated.push(Truncation { what: "events".to_owned(), limit, total: None, how });
}
