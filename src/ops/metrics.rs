//! `metrics.show`: what the ledger says was done over a window, and how it went.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::answer::Truncation;
use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::refusal::Refusal;
use crate::domain::run::{Run, Subject};
use crate::domain::stamp::{Length, Stamp};
use crate::domain::task::Task;
use crate::ports::ledger::{LedgerFault, MAX_PAGE, Views};
use crate::rules::metrics::{
    AgentRow, CheckRow, GateRow, Metrics, NOTES, NamedCount, Past, RefusalRow, Totals, exposition,
};

use super::call::Call;
use super::fault;
use super::op::Op;

/// The most events that one answer counts: the newest of them.
pub const MAX_EVENTS: u64 = 100_000;
/// How far back it looks unless it is told.
const DEFAULT_WINDOW: Length = Length::hours(7 * 24);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// How far back, such as `24h` or `30d`, or from when: a time in RFC 3339 (default: 7d)
    #[serde(default)]
    since: Option<String>,
    /// Also the text that Prometheus scrapes
    #[serde(default)]
    prometheus: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    since: Stamp,
    until: Stamp,
    /// How many events were counted.
    events: u64,
    totals: Totals,
    agents: Vec<AgentRow>,
    gates: Vec<GateRow>,
    checks: Vec<CheckRow>,
    refusals: Vec<RefusalRow>,
    /// Publications that failed, by code.
    failed_publications: Vec<NamedCount>,
    /// Events of types that only a newer kctl knows, by type.
    unknown: Vec<NamedCount>,
    /// Events that cannot be read at all; `ledger.verify` names them.
    unreadable: u64,
    /// What counts mean whose names do not say it.
    notes: [&'static str; 2],
    /// In the text format of Prometheus, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    prometheus: Option<String>,
}

pub struct Show;

impl Op for Show {
    const NAME: &'static str = "metrics.show";
    const ABOUT: &'static str = "Count what was done over a window, and how it went, by host, agent, gate and check";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const HIDDEN: &'static [&'static str] = &["checks.skipped", "checks.criteria_passed", "checks.criteria_failed"];
    const RAW: Option<&'static str> = Some("prometheus");
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl metrics", "the last seven days"),
        ("kctl metrics --since 24h --json", "the last day, for a program"),
        (
            "kctl metrics --since 2026-01-01T00:00:00Z --prometheus",
            "for a scraper: from a fixed time, counters only grow",
        ),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let until = call.now();
        let since = since(input.since.as_deref(), until)?;
        let window = window(call.views()?, since, MAX_EVENTS).map_err(fault::of_ledger)?;
        let metrics = count(call, &window, since)?;
        if window.cut {
            let how = "the newest are counted; ask for a shorter window with `since`".to_owned();
            call.truncated.push(Truncation { what: "events".to_owned(), limit: MAX_EVENTS, total: None, how });
        }
        Ok(Out {
            since,
            until,
            events: metrics.events,
            totals: metrics.totals(),
            agents: metrics.agents(),
            gates: metrics.gates(),
            checks: metrics.checks(),
            refusals: metrics.refusals(),
            failed_publications: metrics.failed_publications(),
            unknown: metrics.unknown_types(),
            unreadable: metrics.unreadable,
            notes: NOTES,
            prometheus: input.prometheus.then(|| exposition(&metrics)),
        })
    }
}

/// From when: a length before `now`, or a time.
fn since(text: Option<&str>, now: Stamp) -> Result<Stamp, Refusal> {
    let before = |length: Length| Stamp::from_ms(now.ms().saturating_sub(length.ms()));
    let Some(text) = text else { return Ok(before(DEFAULT_WINDOW)) };
    match (text.parse::<Length>(), text.parse::<Stamp>()) {
        (Ok(length), _) => Ok(before(length)),
        (Err(_), Ok(at)) if at > now => {
            Err(Refusal::invalid("since", format!("`{text}` is still to come")).with("now", now))
        }
        (Err(_), Ok(at)) => Ok(at),
        (Err(_), Err(_)) => {
            let words = format!("`{text}` is neither a length such as `24h` nor a time such as `2026-01-31T00:00:00Z`");
            Err(Refusal::invalid("since", words))
        }
    }
}

/// The places in the ledger that hold everything since a time.
#[derive(Debug, PartialEq, Eq)]
pub struct Window {
    /// The place before the first.
    pub after: u64,
    pub last: u64,
    /// Whether there was more than may be read.
    pub cut: bool,
}

/// Finds where the events since `since` begin, without reading what is before them. Events are in the order in which they
/// were recorded, and a clock that was set back makes their times jump: from what a search finds, it is gone back as
/// long as there is still one that belongs in the window within a page.
///
/// # Errors
/// When the ledger cannot be read.
pub fn window(views: &dyn Views, since: Stamp, max_events: u64) -> Result<Window, LedgerFault> {
    let last = last_place(views)?;
    let first_after = |after: u64| views.events(None, after, 1).map(|events| events.first().map(|event| event.at));
    let mut after = halved(last, |place| Ok(first_after(place)?.is_none_or(|at| at >= since.ms())))?;
    let oldest = last.saturating_sub(max_events);
    while after > oldest {
        let page = views.events(None, after.saturating_sub(u64::from(MAX_PAGE)), MAX_PAGE)?;
        let belongs = page.iter().find(|event| event.seq <= after && event.at >= since.ms());
        let Some(earlier) = belongs else { break };
        after = earlier.seq.saturating_sub(1);
    }
    Ok(Window { after: after.max(oldest), last, cut: after < oldest })
}

/// The place of the last event: doubled until nothing follows, and then halved.
fn last_place(views: &dyn Views) -> Result<u64, LedgerFault> {
    let is_beyond = |place: u64| views.events(None, place, 1).map(|events| events.is_empty());
    let mut most = 1;
    while !is_beyond(most)? {
        most *= 2;
    }
    halved(most, is_beyond)
}

/// The smallest place up to `most` of which `holds` is true; `most` if there is none before.
fn halved(most: u64, holds: impl Fn(u64) -> Result<bool, LedgerFault>) -> Result<u64, LedgerFault> {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}

fn count(call: &Call<'_>, window: &Window, since: Stamp) -> Result<Metrics, Refusal> {
    let mut metrics = Metrics::default();
    let mut after = window.after;
    while after < window.last {
        let page = call.views()?.events(None, after, MAX_PAGE).map_err(fault::of_ledger)?;
        let Some(end) = page.last() else { break };
        after = end.seq;
        let within = page.iter().filter(|event| event.at >= since.ms() && event.seq <= window.last);
        within.for_each(|event| metrics.take(event, &Ledger { call }));
    }
    Ok(metrics)
}

/// What stood before the window, as it is folded now.
struct Ledger<'c, 'w> {
    call: &'c Call<'w>,
}

impl Ledger<'_, '_> {
    fn state<T: crate::domain::fold::Entity>(&self, kind: Kind, id: &str) -> Option<T> {
        // What cannot be read tells nothing, and is counted as that.
        let row = self.call.views().ok()?.load(kind, id).ok()??;
        super::call::held::<T>(&row).ok().map(|held| held.value)
    }
}

impl Past for Ledger<'_, '_> {
    fn subject(&self, run: &str) -> Option<Subject> {
        self.state::<Run>(Kind::Run, run)?.subject
    }

    fn required(&self, task: &str) -> BTreeSet<String> {
        let task = self.state::<Task>(Kind::Task, task);
        let criteria = task.into_iter().flat_map(|task| task.contract.criteria);
        criteria.filter(|criterion| criterion.required).map(|criterion| criterion.id.as_str().to_owned()).collect()
    }
}
