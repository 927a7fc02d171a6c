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
    /// Only events behind the one with this `seq`, the oldest of them (default: the newest events)
    #[serde(default)]
    after: Option<u64>,
    /// Only events ahead of the one with this `seq`, the newest of them
    #[serde(default)]
    before: Option<u64>,
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

/// The oldest events behind `after`.
pub fn onward(call: &mut Call<'_>, stream: Option<&str>, after: u64, limit: u32) -> Result<Vec<Recorded>, Refusal> {
    let mut events = call.views()?.events(stream, after, limit + 1).map_err(fault::of_ledger)?;
    call.cut(&mut events, limit, "items", |event| event.seq.to_string());
    Ok(events)
}

/// The newest events ahead of `before`.
fn backward(call: &mut Call<'_>, stream: Option<&str>, before: u64, limit: u32) -> Result<Vec<Recorded>, Refusal> {
    let mut events = call.views()?.events_before(stream, before, limit + 1).map_err(fault::of_ledger)?;
    let earlier = events.len().saturating_sub(limit as usize);
    if earlier > 0 {
        events.drain(..earlier);
        let first = events.first().map_or(before, |event| event.seq);
        let how = format!("for earlier events ask again with `before`: `{first}`");
        call.truncated.push(Truncation { what: "items".to_owned(), limit: u64::from(limit), total: None, how });
    }
    Ok(events)
}

pub struct Log;

impl Op for Log {
    const NAME: &'static str = "ledger.log";
    const ABOUT: &'static str = "Show the newest recorded events, in the order in which they were recorded";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["seq", "at", "type", "stream", "agent"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl ledger log", "the newest events; the last line is the last one"),
        ("kctl ledger log --before 100", "those ahead of number 100: page by page back to the first"),
        ("kctl ledger log --after 0 --limit 20", "from the first one on"),
    ];
    type In = In;
    type Out = List<Logged>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Logged>, Refusal> {
        let stream = input.stream.map(|stream| call.stream(&stream)).transpose()?;
        let (stream, limit) = (stream.as_deref(), page(input.limit)?);
        let events = match (input.after, input.before) {
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid(
                    "before",
                    "`after` pages onward and `before` pages back: give one of them",
                ));
            }
            (Some(after), None) => onward(call, stream, after, limit)?,
            (None, before) => backward(call, stream, before.unwrap_or(u64::MAX), limit)?,
        };
        Ok(List { items: events.into_iter().map(Logged::of).collect() })
    }
}

/// What an answer says when a whole export did not fit.
pub fn cut_export(call: &mut Call<'_>, limit: u64, last: u64) {
    let how = format!("ask again with `after`: {last}");
    call.truncated.push(Truncation { what: "events".to_owned(), limit, total: None, how });
}
