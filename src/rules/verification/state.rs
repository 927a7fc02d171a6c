//! Where each criterion stands, and whether what rests on them may be called done.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::contract::{Attestation, Criterion, CriterionId, EvidenceClass, Proof, Strength};
use crate::domain::digest::Digest;
use crate::domain::id::EvidenceId;
use crate::domain::run::{Run, Verdict};
use crate::domain::stamp::Stamp;

/// Where a criterion stands. Only `met` satisfies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Met,
    NeverChecked,
    Failed,
    Error,
    Unavailable,
    Stale,
}

/// A criterion with what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CriterionState {
    pub id: CriterionId,
    pub statement: String,
    pub required: bool,
    pub state: Standing,
    /// What the evidence earns; asserted until there is some.
    pub strength: Strength,
    pub evidence: Option<EvidenceId>,
    pub last: Option<Last>,
}

/// The last evidence, short.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Last {
    pub verdict: Verdict,
    /// Seconds since it was made.
    pub age_s: i64,
    pub exit: Option<i32>,
    pub reasons: Vec<String>,
    pub tail: String,
    /// Files that changed since, where that is known.
    pub changed: Vec<String>,
}

/// What was found in the ledger for one thing that is due.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The newest finished run of the same definition on the same inputs.
    pub fresh: Option<Run>,
    /// The newest finished run for the same subject, whatever it ran on.
    pub last: Option<Run>,
    /// Paths among the inputs that changed since `last`.
    pub changed: Vec<String>,
    /// Why the instrument itself cannot be used.
    pub unavailable: Option<String>,
}

/// Judges one criterion by what was found. `fence` is the claim under which evidence counts; none where no claim
/// matters.
pub fn judge(criterion: &Criterion, found: &Found, fence: Option<u64>, now: Stamp) -> CriterionState {
    let fresh = found.fresh.as_ref().and_then(|run| run.record.as_ref().map(|record| (run, record)));
    let under_fence = fresh.filter(|(_, record)| fence.is_none() || record.fence == fence);
    let state = match (under_fence, fresh, &found.last, &found.unavailable) {
        (_, _, _, Some(_)) => Standing::Unavailable,
        (Some((_, record)), ..) => match record.verdict {
            Verdict::Pass => Standing::Met,
            Verdict::Fail => Standing::Failed,
            Verdict::Error => Standing::Error,
            Verdict::Unavailable => Standing::Unavailable,
            Verdict::Skipped => Standing::NeverChecked,
        },
        // Evidence of an earlier claim, or of other inputs.
        (None, Some(_), ..) | (None, None, Some(_), _) => Standing::Stale,
        (None, None, None, _) => Standing::NeverChecked,
    };
    let shown = fresh.map(|(run, _)| run).or(found.last.as_ref());
    CriterionState {
        id: criterion.id.clone(),
        statement: criterion.statement.clone(),
        required: criterion.required,
        state,
        strength: strength(state, under_fence.map(|(_, record)| record.strength), &criterion.proof),
        evidence: shown.map(|run| run.id.clone()),
        last: shown.and_then(|run| last(run, &found.changed, now)),
    }
}

/// A criterion's strength is what its record earned, and never more than its kind can earn (I5).
fn strength(state: Standing, recorded: Option<Strength>, proof: &Proof) -> Strength {
    match state {
        Standing::Met => recorded.unwrap_or(Strength::Asserted).min(proof.earns()),
        Standing::NeverChecked | Standing::Failed | Standing::Error | Standing::Unavailable | Standing::Stale => {
            Strength::Asserted
        }
    }
}

fn last(run: &Run, changed: &[String], now: Stamp) -> Option<Last> {
    let record = run.record.as_ref()?;
    Some(Last {
        verdict: record.verdict,
        age_s: record.ended.seconds_until(now),
        exit: record.exit,
        reasons: record.reasons.clone(),
        tail: record.tail.clone(),
        changed: changed.to_vec(),
    })
}

/// Judges an attested criterion: a person's word, bound to the contract it was given for.
pub fn judge_attested(criterion: &Criterion, attestations: &[Attestation], contract: &Digest) -> CriterionState {
    let given = attestations
        .iter()
        .rev()
        .find(|attestation| attestation.criterion == criterion.id && attestation.contract_digest == *contract);
    CriterionState {
        id: criterion.id.clone(),
        statement: criterion.statement.clone(),
        required: criterion.required,
        state: if given.is_some() { Standing::Met } else { Standing::NeverChecked },
        strength: if given.is_some() { Strength::Attested } else { Strength::Asserted },
        evidence: None,
        last: None,
    }
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    Blocked,
    InProgress,
    ImplementedNotVerified,
    Verified,
}

/// What completion is judged by.
#[derive(Clone, Copy, Debug)]
pub struct CompletionFacts<'a> {
    pub blocked: bool,
    pub claimed_done: bool,
    pub criteria: &'a [CriterionState],
}

/// The first row of the table that fits.
pub fn completion(facts: CompletionFacts<'_>) -> Completion {
    let required = || facts.criteria.iter().filter(|criterion| criterion.required);
    if facts.blocked {
        Completion::Blocked
    } else if !facts.claimed_done {
        Completion::InProgress
    } else if facts.criteria.is_empty() {
        Completion::ImplementedNotVerified
    } else if required().any(|criterion| criterion.state == Standing::Unavailable) {
        Completion::Blocked
    } else if required().any(|criterion| criterion.state != Standing::Met) {
        Completion::ImplementedNotVerified
    } else {
        Completion::Verified
    }
}

/// Why a commitment cannot be closed as fulfilled.
#[derive(Clone, Debug, PartialEq)]
pub enum CannotClose {
    NothingToCloseOn,
    Outstanding(Vec<CriterionId>),
    Stale(Vec<CriterionId>),
    TooWeak { required: Strength, achieved: Strength },
}

/// Judges a close as `fulfilled` and gives the strength it has.
///
/// # Errors
/// The first reason that stands against it.
pub fn fulfil(criteria: &[CriterionState], class: EvidenceClass) -> Result<Strength, CannotClose> {
    let required: Vec<&CriterionState> = criteria.iter().filter(|criterion| criterion.required).collect();
    let Some(achieved) = required.iter().map(|criterion| criterion.strength).min() else {
        return Err(CannotClose::NothingToCloseOn);
    };
    let ids = |wanted: &dyn Fn(Standing) -> bool| -> Vec<CriterionId> {
        required.iter().filter(|criterion| wanted(criterion.state)).map(|criterion| criterion.id.clone()).collect()
    };
    let outstanding = ids(&|state| !matches!(state, Standing::Met | Standing::Stale));
    if !outstanding.is_empty() {
        return Err(CannotClose::Outstanding(outstanding));
    }
    let stale = ids(&|state| state == Standing::Stale);
    if !stale.is_empty() {
        return Err(CannotClose::Stale(stale));
    }
    if achieved < class.least() {
        return Err(CannotClose::TooWeak { required: class.least(), achieved });
    }
    Ok(achieved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(standing: Standing, strength: Strength) -> CriterionState {
        CriterionState {
            id: "AC-1".parse().expect("legal"),
            statement: "it holds".into(),
            required: true,
            state: standing,
            strength,
            evidence: None,
            last: None,
        }
    }

    const ALL: [Standing; 6] = [
        Standing::Met,
        Standing::NeverChecked,
        Standing::Failed,
        Standing::Error,
        Standing::Unavailable,
        Standing::Stale,
    ];

    #[test]
    fn the_completion_table_holds_row_by_row() {
        for standing in ALL {
            let criteria = [state(standing, Strength::Observed)];
            let at = |blocked, claimed_done, criteria| completion(CompletionFacts { blocked, claimed_done, criteria });
            assert_eq!(at(true, true, &criteria), Completion::Blocked);
            assert_eq!(at(false, false, &criteria), Completion::InProgress);
            assert_eq!(at(false, true, &[]), Completion::ImplementedNotVerified);
            let expected = match standing {
                Standing::Met => Completion::Verified,
                Standing::Unavailable => Completion::Blocked,
                _ => Completion::ImplementedNotVerified,
            };
            assert_eq!(at(false, true, &criteria), expected, "{standing:?}");
        }
    }

    #[test]
    fn only_met_criteria_of_enough_strength_fulfil() {
        for standing in ALL {
            for strength in [Strength::Asserted, Strength::Cited, Strength::Observed, Strength::Attested] {
                for class in
                    [EvidenceClass::None, EvidenceClass::Cited, EvidenceClass::Verified, EvidenceClass::Audited]
                {
                    let fulfilled = fulfil(&[state(standing, strength)], class).is_ok();
                    assert_eq!(fulfilled, standing == Standing::Met && strength >= class.least());
                }
            }
        }
        assert_eq!(fulfil(&[], EvidenceClass::None), Err(CannotClose::NothingToCloseOn));
    }

    #[test]
    fn an_optional_criterion_neither_holds_up_nor_carries_a_close() {
        let mut optional = state(Standing::Failed, Strength::Asserted);
        optional.required = false;
        let met = state(Standing::Met, Strength::Observed);
        assert_eq!(fulfil(&[met, optional.clone()], EvidenceClass::Verified), Ok(Strength::Observed));
        assert_eq!(fulfil(&[optional], EvidenceClass::Verified), Err(CannotClose::NothingToCloseOn));
    }
}
