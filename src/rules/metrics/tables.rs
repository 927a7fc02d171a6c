//! What was counted, as people and programs read it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::fold::TURN;
use super::{Metric, Metrics, Series, percentile};
use crate::domain::run::Verdict;

/// Everything that was counted in the window, whoever did it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Totals {
    /// Tools that a host reported.
    pub tools_observed: u64,
    /// Those of them that ended with a status other than 0.
    pub tools_failed: u64,
    /// Calls of a session that were to change something and were refused, of those that count.
    pub actions_refused: u64,
    /// Runs of checks and look-ups of proofs that ended.
    pub verifications: u64,
    pub verifications_passed: u64,
    pub verifications_failed: u64,
    pub criteria_passed: u64,
    pub criteria_failed: u64,
    /// Finishing a task, closing a commitment as fulfilled or publishing was asked for.
    pub finalizations_proposed: u64,
    pub finalizations_rejected: u64,
    pub finalizations_accepted: u64,
    /// Turns that a host named when it ended them, while something required was not shown.
    pub turns_held: u64,
    /// Completion was claimed, finishing asked for or a turn ended, while a required criterion was failing.
    pub false_successes: u64,
    pub regrounds: u64,
    pub tickets: u64,
    pub tasks_completed: u64,
    pub tasks_blocked: u64,
    pub tasks_cancelled: u64,
    pub tasks_taken_over: u64,
    pub publications_started: u64,
    pub publications_done: u64,
    pub publications_failed: u64,
}

/// What one agent did in one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentRow {
    pub host: String,
    pub agent: String,
    pub events: u64,
    /// Tools that the host reported.
    pub tools: u64,
    pub refused: u64,
    pub runs: u64,
    pub passed: u64,
    pub failed: u64,
    pub rejected: u64,
    pub turns_held: u64,
    pub false_successes: u64,
    pub regrounds: u64,
    pub completed: u64,
    pub blocked: u64,
}

/// What one gate answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GateRow {
    pub gate: String,
    pub proposed: u64,
    pub accepted: u64,
    pub rejected: u64,
    pub false_successes: u64,
}

/// How the runs of one check ended, and how long they took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CheckRow {
    pub check: String,
    pub runs: u64,
    pub pass: u64,
    pub fail: u64,
    pub error: u64,
    pub unavailable: u64,
    pub skipped: u64,
    pub criteria_passed: u64,
    pub criteria_failed: u64,
    /// None for what is looked up and not run.
    pub median_s: Option<f64>,
    pub p90_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefusalRow {
    pub op: String,
    pub code: String,
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NamedCount {
    pub name: String,
    pub count: u64,
}

/// What counts mean whose names do not say it.
pub const NOTES: [&str; 2] = [
    "false_successes: an agent said that it was done, asked to finish or ended its turn while a required criterion was \
     failing; it should be 0",
    "turns_held: a host ended a turn while something required was not shown; `finalizations` counts only who asked to \
     finish, close or publish",
];

impl Metrics {
    fn of(&self, metric: Metric) -> impl Iterator<Item = (&Series, u64)> {
        self.series.iter().filter(move |(series, _)| series.metric == metric).map(|(series, count)| (series, *count))
    }

    /// The sum of `metric` where the label in this place has this value.
    fn sum(&self, metric: Metric, place: usize, value: &str) -> u64 {
        self.of(metric).filter(|(series, _)| series.values[place] == value).map(|(_, count)| count).sum()
    }

    fn all(&self, metric: Metric) -> u64 {
        self.of(metric).map(|(_, count)| count).sum()
    }

    pub fn totals(&self) -> Totals {
        let turns_held = self.sum(Metric::Finalizations, 0, TURN);
        let (rejected, accepted) = (
            self.sum(Metric::Finalizations, 1, "rejected") - turns_held,
            self.sum(Metric::Finalizations, 1, "accepted"),
        );
        let task = |what| self.sum(Metric::Tasks, 0, what);
        Totals {
            tools_observed: self.all(Metric::Observed),
            tools_failed: self.sum(Metric::Observed, 1, "failed"),
            actions_refused: self.all(Metric::Refused),
            verifications: self.all(Metric::Verifications),
            verifications_passed: self.sum(Metric::Verifications, 1, Verdict::Pass.name()),
            verifications_failed: self.sum(Metric::Verifications, 1, Verdict::Fail.name()),
            criteria_passed: self.sum(Metric::Criteria, 1, "passed"),
            criteria_failed: self.sum(Metric::Criteria, 1, "failed"),
            finalizations_proposed: rejected + accepted,
            finalizations_rejected: rejected,
            finalizations_accepted: accepted,
            turns_held,
            false_successes: self.all(Metric::FalseSuccess),
            regrounds: self.all(Metric::Regrounds),
            tickets: self.all(Metric::Tickets),
            tasks_completed: task("completed"),
            tasks_blocked: task("blocked"),
            tasks_cancelled: task("cancelled"),
            tasks_taken_over: task("taken_over"),
            publications_started: self.sum(Metric::Publications, 0, "started"),
            publications_done: self.sum(Metric::Publications, 0, "done"),
            publications_failed: self.sum(Metric::Publications, 0, "failed"),
        }
    }

    pub fn agents(&self) -> Vec<AgentRow> {
        let mut rows: BTreeMap<(&str, &str), AgentRow> = BTreeMap::new();
        for (series, &count) in &self.series {
            let row = rows.entry((&series.host, &series.agent)).or_insert_with(|| AgentRow {
                host: series.host.clone(),
                agent: series.agent.clone(),
                ..AgentRow::default()
            });
            let value = |place: usize| series.values[place].as_str();
            match series.metric {
                Metric::Events => row.events += count,
                Metric::Observed => row.tools += count,
                Metric::Refused => row.refused += count,
                Metric::Verifications => {
                    row.runs += count;
                    row.passed += if value(1) == Verdict::Pass.name() { count } else { 0 };
                    row.failed += if value(1) == Verdict::Fail.name() { count } else { 0 };
                }
                Metric::Finalizations if value(0) == TURN => row.turns_held += count,
                Metric::Finalizations => row.rejected += if value(1) == "rejected" { count } else { 0 },
                Metric::FalseSuccess => row.false_successes += count,
                Metric::Regrounds => row.regrounds += count,
                Metric::Tasks => {
                    row.completed += if value(0) == "completed" { count } else { 0 };
                    row.blocked += if value(0) == "blocked" { count } else { 0 };
                }
                Metric::Criteria | Metric::Tickets | Metric::Publications => {}
            }
        }
        rows.into_values().collect()
    }

    pub fn gates(&self) -> Vec<GateRow> {
        let mut rows: BTreeMap<&str, GateRow> = BTreeMap::new();
        let gated = [Metric::Finalizations, Metric::FalseSuccess].into_iter().flat_map(|metric| self.of(metric));
        for (series, count) in gated {
            let gate = series.values[0].as_str();
            let row = rows.entry(gate).or_insert_with(|| GateRow { gate: gate.to_owned(), ..GateRow::default() });
            match series.values.get(1).map(String::as_str) {
                Some("accepted") => row.accepted += count,
                Some(_) => row.rejected += count,
                None => row.false_successes += count,
            }
            row.proposed = row.accepted + row.rejected;
        }
        rows.into_values().collect()
    }

    pub fn checks(&self) -> Vec<CheckRow> {
        let mut rows: BTreeMap<&str, CheckRow> = BTreeMap::new();
        let told = [Metric::Verifications, Metric::Criteria].into_iter().flat_map(|metric| self.of(metric));
        for (series, count) in told {
            let check = series.values[0].as_str();
            let row = rows.entry(check).or_insert_with(|| CheckRow { check: check.to_owned(), ..CheckRow::default() });
            let verdict = match series.values[1].as_str() {
                "passed" => &mut row.criteria_passed,
                "failed" => &mut row.criteria_failed,
                "undecided" => continue,
                "pass" => &mut row.pass,
                "fail" => &mut row.fail,
                "error" => &mut row.error,
                "unavailable" => &mut row.unavailable,
                _ => &mut row.skipped,
            };
            *verdict += count;
            row.runs = row.pass + row.fail + row.error + row.unavailable + row.skipped;
        }
        for (check, sorted) in self.sorted_durations() {
            if let Some(row) = rows.get_mut(check) {
                let seconds = |percent| percentile(&sorted, percent).map(|ms| ms as f64 / 1000.0);
                (row.median_s, row.p90_s) = (seconds(50), seconds(90));
            }
        }
        rows.into_values().collect()
    }

    /// How long the runs of each check took, in milliseconds, the shortest first.
    pub(super) fn sorted_durations(&self) -> impl Iterator<Item = (&str, Vec<i64>)> {
        self.durations.iter().map(|(check, all)| {
            let mut sorted = all.clone();
            sorted.sort_unstable();
            (check.as_str(), sorted)
        })
    }

    /// Refusals by operation and code, the most frequent first.
    pub fn refusals(&self) -> Vec<RefusalRow> {
        let mut rows: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for (series, count) in self.of(Metric::Refused) {
            *rows.entry((&series.values[0], &series.values[1])).or_default() += count;
        }
        let row =
            |((op, code), count): ((&str, &str), u64)| RefusalRow { op: op.to_owned(), code: code.to_owned(), count };
        let mut rows: Vec<RefusalRow> = rows.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }

    /// Publications that failed, by code.
    pub fn failed_publications(&self) -> Vec<NamedCount> {
        let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
        for (series, count) in self.of(Metric::Publications).filter(|(series, _)| series.values[0] == "failed") {
            *codes.entry(&series.values[1]).or_default() += count;
        }
        codes.into_iter().map(|(code, count)| NamedCount { name: code.to_owned(), count }).collect()
    }

    pub fn unknown_types(&self) -> Vec<NamedCount> {
        self.unknown.iter().map(|(name, &count)| NamedCount { name: name.clone(), count }).collect()
    }
}
