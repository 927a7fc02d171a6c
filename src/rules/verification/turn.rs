//! Whether an agent's turn may end: what a host's Stop hook is told. Recorded verdicts are judged; nothing is run.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::task::{MAX_TOTAL, MAX_UNCHANGED};

use super::state::{CriterionState, Standing};

/// How many unmet criteria a message tells of.
const MAX_TOLD: usize = 10;
/// For how many of them it quotes the last output, and how many lines, and how much of each. Hosts cut what they show
/// a model at 9,000 characters.
const MAX_QUOTED: usize = 3;
const MAX_TAIL_LINES: usize = 8;
const MAX_LINE_CHARS: usize = 140;
/// How many changed files it names for each.
const MAX_FILES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The agent is to go on: the message says with what.
    Continue,
    LetGo,
}

/// Why the turn ends, or does not. Stable words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Required criteria are not met.
    Unmet,
    /// The tree was changed and nothing that is required was shown, or a tool for it is missing here: said once.
    Corrective,
    /// kctl was never set up here.
    NoLedger,
    NoSession,
    /// The session holds no task, or several and stands in the worktree of none.
    NoTask,
    /// Another session holds the task, or the claim ran out.
    NotHeld,
    /// The task is finished or cancelled.
    Over,
    /// This session changed nothing.
    NothingChanged,
    Blocked,
    /// The agent asked a person, which blocks the task.
    Asked,
    BackgroundWork,
    CheckRunning,
    /// Only others can show what is unmet: a person, or who signs a receipt.
    AwaitsPerson,
    /// Its own criteria are met, and another task has to be finished first.
    WaitsForTask,
    Verified,
    /// Refused too often without progress. The gates stay shut.
    Exhausted,
    /// kctl could not judge; a warning says why.
    NotJudged,
}

impl Why {
    pub const fn decision(self) -> Decision {
        match self {
            Why::Unmet | Why::Corrective => Decision::Continue,
            Why::NoLedger
            | Why::NoSession
            | Why::NoTask
            | Why::NotHeld
            | Why::Over
            | Why::NothingChanged
            | Why::Blocked
            | Why::Asked
            | Why::BackgroundWork
            | Why::CheckRunning
            | Why::AwaitsPerson
            | Why::WaitsForTask
            | Why::Verified
            | Why::Exhausted
            | Why::NotJudged => Decision::LetGo,
        }
    }
}

/// What is known before the tree is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce {
    pub over: bool,
    /// The caller's session has the live claim.
    pub held: bool,
    pub asked: bool,
    pub blocked: bool,
    pub background: bool,
}

/// Lets go of what needs no look at the tree.
pub const fn at_once(facts: AtOnce) -> Option<Why> {
    match facts {
        AtOnce { over: true, .. } => Some(Why::Over),
        AtOnce { held: false, .. } => Some(Why::NotHeld),
        AtOnce { asked: true, .. } => Some(Why::Asked),
        AtOnce { blocked: true, .. } => Some(Why::Blocked),
        AtOnce { background: true, .. } => Some(Why::BackgroundWork),
        AtOnce { over: false, held: true, asked: false, blocked: false, background: false } => None,
    }
}

/// What was found on looking.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// The session changed the tree, committed, or said that it is done.
    pub changed: bool,
    pub running: bool,
    /// Required criteria that are not met, and those that are.
    pub unmet: usize,
    pub met: usize,
    /// Another task has to be finished first.
    pub waits: bool,
    /// The contract requires something itself; else only what the profile requires counts.
    pub has_own: bool,
    /// The agent said that it is done.
    pub claimed_done: bool,
    /// The agent can do something about what is unmet: not only a person, or a tool that is missing here.
    pub in_reach: bool,
    /// All that is unmet is for others to show.
    pub awaits_others: bool,
    /// It was given up on, and there is no progress since.
    pub is_shut: bool,
    /// The end of this very turn was refused just now: it is told a second time.
    pub told_before: bool,
    /// Refusals as they would stand after this one: in a row without a change, and since the last progress.
    pub unchanged: u32,
    pub total: u32,
}

/// Judges the end of a turn.
pub const fn judge(facts: &Facts) -> Why {
    let required = facts.unmet + facts.met;
    if !facts.changed {
        return Why::NothingChanged;
    }
    if facts.running {
        return Why::CheckRunning;
    }
    if facts.unmet == 0 && required > 0 {
        return if facts.waits { Why::WaitsForTask } else { Why::Verified };
    }
    if facts.awaits_others {
        return Why::AwaitsPerson;
    }
    if facts.is_shut {
        return Why::Exhausted;
    }
    let once = !facts.in_reach || (facts.met == 0 && !facts.has_own && !facts.claimed_done);
    let why = if once { Why::Corrective } else { Why::Unmet };
    let is_left = if once { facts.total <= 1 } else { facts.unchanged <= MAX_UNCHANGED && facts.total <= MAX_TOTAL };
    if facts.told_before || is_left { why } else { Why::Exhausted }
}

/// What the model reads.
pub struct Message<'a> {
    /// Where the work stands, in one sentence.
    pub sentence: &'a str,
    pub attempt: u32,
    pub left: u32,
    pub unmet: &'a [&'a CriterionState],
    /// What to do, one line each.
    pub next: &'a [String],
}

impl Message<'_> {
    pub fn text(&self) -> String {
        let (attempt, all) = (self.attempt, self.attempt.saturating_add(self.left));
        let mut text = format!("FINALIZATION_REJECTED: {} (attempt {attempt} of {all}).", self.sentence);
        let mut quoted = 0;
        for state in self.unmet.iter().take(MAX_TOLD) {
            text.push_str(&format!("\n- `{}` ({}): {}", state.id, line(&state.statement), standing(state)));
            let tail = if quoted < MAX_QUOTED { tail(state) } else { Vec::new() };
            quoted += usize::from(!tail.is_empty());
            tail.iter().for_each(|line| text.push_str(&format!("\n    | {line}")));
        }
        if self.unmet.len() > MAX_TOLD {
            text.push_str(&format!("\n- and {} more", self.unmet.len() - MAX_TOLD));
        }
        for (index, step) in self.next.iter().enumerate() {
            text.push_str(if index == 0 { "\nNext: " } else { "\nOr: " });
            text.push_str(step);
        }
        text
    }
}

fn standing(state: &CriterionState) -> String {
    let mut text = state.state.words().to_owned();
    let Some(last) = &state.last else { return text };
    match state.state {
        Standing::Stale if !last.changed.is_empty() => {
            let named: Vec<_> = last.changed.iter().take(MAX_FILES).map(|file| format!("`{file}`")).collect();
            let more = last.changed.len().saturating_sub(MAX_FILES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!(", {}{more} changed since", named.join(", ")));
        }
        Standing::NeverChecked if state.by_person => text.push_str(": it waits for a person"),
        // Findings stand in the tree as it is now: no check ended long ago.
        Standing::Suspicious if state.by_person => {
            text = format!("held: {}", last.reasons.first().map_or(String::new(), |reason| line(reason)));
        }
        Standing::Failed | Standing::Error | Standing::Unavailable | Standing::Flaky | Standing::Suspicious => {
            if let Some(exit) = last.exit {
                text.push_str(&format!(", exit {exit}"));
            }
            text.push_str(&format!(", {} s ago", last.age_s));
            if let Some(reason) = last.reasons.first() {
                text.push_str(&format!(": {}", line(reason)));
            }
        }
        Standing::Met
        | Standing::NeverChecked
        | Standing::Stale
        | Standing::InsufficientStrength
        | Standing::Waived => {}
    }
    text
}

/// The last lines of the last output, where it failed on what is there now.
fn tail(state: &CriterionState) -> Vec<String> {
    let Some(last) = state.last.as_ref().filter(|_| state.state != Standing::Stale) else { return Vec::new() };
    let lines: Vec<&str> = last.tail.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(MAX_TAIL_LINES)..].iter().map(|text| line(text)).collect()
}

/// The first line, cut.
fn line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    match first.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", &first[..end]),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::contract::Strength;
    use crate::domain::run::Verdict;
    use crate::rules::verification::state::Last;

    #[test]
    fn what_needs_no_look_is_let_go_in_this_order() {
        let open = AtOnce { held: true, ..AtOnce::default() };
        for (facts, why) in [
            (AtOnce::default(), Some(Why::NotHeld)),
            (AtOnce { over: true, ..AtOnce::default() }, Some(Why::Over)),
            (AtOnce { asked: true, blocked: true, background: true, ..open }, Some(Why::Asked)),
            (AtOnce { blocked: true, background: true, ..open }, Some(Why::Blocked)),
            (AtOnce { background: true, ..open }, Some(Why::BackgroundWork)),
            (open, None),
        ] {
            assert_eq!(at_once(facts), why, "{facts:?}");
        }
    }

    #[test]
    fn the_end_of_a_turn_is_judged_row_by_row() {
        let unmet = Facts {
            changed: true,
            unmet: 2,
            met: 1,
            has_own: true,
            in_reach: true,
            unchanged: 1,
            total: 1,
            ..Facts::default()
        };
        let verified = Facts { unmet: 0, ..unmet };
        let nothing_shown = Facts { met: 0, has_own: false, ..unmet };
        let second = |facts: Facts| Facts { unchanged: 1, total: 2, ..facts };
        for (facts, why) in [
            (Facts { changed: false, ..unmet }, Why::NothingChanged),
            (Facts { running: true, ..unmet }, Why::CheckRunning),
            (verified, Why::Verified),
            (Facts { waits: true, ..verified }, Why::WaitsForTask),
            (Facts { is_shut: true, ..verified }, Why::Verified),
            (unmet, Why::Unmet),
            (Facts { unchanged: 3, total: 3, ..unmet }, Why::Unmet),
            (Facts { unchanged: 4, total: 4, ..unmet }, Why::Exhausted),
            (Facts { unchanged: 1, total: 8, ..unmet }, Why::Unmet),
            (Facts { unchanged: 1, total: 9, ..unmet }, Why::Exhausted),
            (Facts { is_shut: true, ..unmet }, Why::Exhausted),
            (Facts { told_before: true, unchanged: 4, total: 4, ..unmet }, Why::Unmet),
            (Facts { told_before: true, is_shut: true, ..unmet }, Why::Exhausted),
            (nothing_shown, Why::Corrective),
            (second(nothing_shown), Why::Exhausted),
            (second(Facts { claimed_done: true, ..nothing_shown }), Why::Unmet),
            (second(Facts { met: 1, ..nothing_shown }), Why::Unmet),
            (second(Facts { has_own: true, ..nothing_shown }), Why::Unmet),
            // Only others could show it: no attempt is charged, however often it was refused before.
            (Facts { awaits_others: true, in_reach: false, ..unmet }, Why::AwaitsPerson),
            (Facts { awaits_others: true, is_shut: true, total: 9, ..unmet }, Why::AwaitsPerson),
            (Facts { awaits_others: true, ..verified }, Why::Verified),
            // Only a person, or a tool that is not here, could show it: said once.
            (Facts { in_reach: false, ..unmet }, Why::Corrective),
            (second(Facts { in_reach: false, ..unmet }), Why::Exhausted),
            // Nothing at all is asked for.
            (Facts { unmet: 0, ..nothing_shown }, Why::Corrective),
            (second(Facts { unmet: 0, ..nothing_shown }), Why::Exhausted),
        ] {
            assert_eq!(judge(&facts), why, "{facts:?}");
        }
    }

    #[test]
    fn whatever_the_counters_say_a_turn_that_is_never_the_same_ends() {
        for (met, has_own, claimed_done, in_reach) in
            (0..16).map(|bits: u32| ((bits & 1) as usize, bits & 2 > 0, bits & 4 > 0, bits & 8 > 0))
        {
            let at = |count| Facts {
                changed: true,
                unmet: 1,
                met,
                has_own,
                claimed_done,
                in_reach,
                unchanged: count,
                total: count,
                ..Facts::default()
            };
            let held_up = (1..20).filter(|count| judge(&at(*count)).decision() == Decision::Continue).count();
            assert!((1..=3).contains(&held_up), "{held_up} {:?}", at(1));
        }
    }

    fn state(id: &str, standing: Standing, last: Option<Last>) -> CriterionState {
        CriterionState {
            id: id.parse().expect("legal"),
            statement: "it holds".into(),
            required: true,
            state: standing,
            strength: Strength::Asserted,
            evidence: None,
            last,
            regressed_at: None,
            waiver: None,
            waits_for: None,
            by_person: false,
        }
    }

    fn last(verdict: Verdict, tail: String, changed: Vec<String>) -> Last {
        Last { verdict, age_s: 12, exit: Some(1), reasons: Vec::new(), tail, changed }
    }

    #[test]
    fn a_message_names_what_is_unmet_with_its_last_lines_and_what_to_do() {
        let lines = (1..=20).map(|n| format!("line {n}\n\n")).collect();
        let failed = state("AC-1", Standing::Failed, Some(last(Verdict::Fail, lines, Vec::new())));
        let stale = last(Verdict::Pass, "all well\n".into(), vec!["src/parse.rs".into()]);
        let stale = state("AC-2", Standing::Stale, Some(stale));
        let unmet = [&failed, &stale];
        let next = ["kctl validate t-1".to_owned(), "kctl task block t-1".to_owned()];
        let message = Message { sentence: "task `t-1` is not done", attempt: 1, left: 2, unmet: &unmet, next: &next };
        let text = message.text();
        assert!(text.starts_with("FINALIZATION_REJECTED: task `t-1` is not done (attempt 1 of 3).\n"), "{text}");
        assert!(text.contains("- `AC-1` (it holds): failed, exit 1, 12 s ago\n    | line 13\n"), "{text}");
        assert!(!text.contains("line 12") && !text.contains("all well"), "{text}");
        assert!(text.contains("- `AC-2` (it holds): stale, `src/parse.rs` changed since\n"), "{text}");
        assert!(text.ends_with("\nNext: kctl validate t-1\nOr: kctl task block t-1"), "{text}");
    }

    #[test]
    fn a_message_is_bounded_whatever_the_contract_and_the_output() {
        let tail = format!("{}\n", "ü".repeat(5000)).repeat(40);
        let failed = state("AC-1", Standing::Failed, Some(last(Verdict::Fail, tail, Vec::new())));
        let unmet = vec![&failed; 64];
        let message = Message { sentence: "it is not done", attempt: 1, left: 2, unmet: &unmet, next: &[] };
        let text = message.text();
        assert!(text.contains("and 54 more") && text.chars().count() < 8_000, "{}", text.chars().count());
    }
}
