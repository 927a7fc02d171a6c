//! Where each criterion stands, and whether what rests on them may be called done.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::contract::{
    Attestation, Criterion, CriterionId, EvidenceClass, GivenOn, LIMITS, Proof, Strength, Terms, Waiver,
};
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
    /// It passed and failed on exactly the same inputs, and not enough runs since then agree.
    Flaky,
    /// It passed, and something about the run says that it may not have looked.
    Suspicious,
    /// It passed, and what was handed in is nobody's evidence.
    InsufficientStrength,
    /// A person decided that it need not be met for now. It holds nothing up and carries nothing.
    Waived,
}

impl Standing {
    /// Whether nothing more has to be shown for now.
    pub const fn is_settled(self) -> bool {
        matches!(self, Standing::Met | Standing::Waived)
    }

    pub const fn words(self) -> &'static str {
        match self {
            Standing::Met => "met",
            Standing::NeverChecked => "never checked",
            Standing::Failed => "failed",
            Standing::Error => "undecided, its check ended in an error",
            Standing::Unavailable => "unavailable",
            Standing::Stale => "stale",
            Standing::Flaky => "flaky: it passed and failed on the same inputs",
            Standing::Suspicious => "held back, its pass is suspicious",
            Standing::InsufficientStrength => "no more than asserted",
            Standing::Waived => "waived",
        }
    }
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
    /// When it last went from passing to failing, if it fails now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regressed_at: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiver: Option<Waiver>,
    /// `person` while it waits for one's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<&'static str>,
    /// Whether only a person's word shows it: no run would help.
    #[serde(skip)]
    pub by_person: bool,
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
    /// The newest finished run of the same definition on the same inputs: one that counts under the claim, if there is
    /// one.
    pub fresh: Option<Run>,
    /// Whether `fresh` was made for this task under its claim as it is now; true where no claim matters.
    pub under_claim: bool,
    /// The newest finished run for the same subject, whatever it ran on.
    pub last: Option<Run>,
    /// Paths among the inputs that changed since `last`.
    pub changed: Vec<String>,
    /// Why the instrument itself cannot be used.
    pub unavailable: Option<String>,
    /// Verdicts of earlier runs on exactly these inputs, newest first, without those that could not tell.
    pub verdicts: Vec<Verdict>,
    /// When it last went from passing to failing, whatever the inputs were.
    pub regressed_at: Option<Stamp>,
}

/// How many runs in a row have to agree before a check that did both, pass and fail, on the same inputs is believed.
pub const AGREEING_RUNS: usize = 3;

/// How many more runs must agree; none for a check that is not flaky. `verdicts` are of the same inputs, newest first.
pub fn flaky(verdicts: &[Verdict]) -> Option<usize> {
    let newest = verdicts.first()?;
    let agreeing = verdicts.iter().take_while(|verdict| *verdict == newest).count();
    (agreeing < verdicts.len() && agreeing < AGREEING_RUNS).then(|| AGREEING_RUNS - agreeing)
}

/// Why a check that did both on the same inputs is run once more; none for one that is not flaky. Only passes lead on: a
/// failure that repeats settles it as well, and then nothing is run.
pub fn run_again(verdicts: &[Verdict]) -> Option<String> {
    flaky(verdicts)?;
    let passes = verdicts.iter().take_while(|verdict| **verdict == Verdict::Pass).count();
    let before = if passes > 0 { "failed" } else { "passed" };
    Some(format!("it {before} before on these same inputs: run again, {} of {AGREEING_RUNS}", passes + 1))
}

/// What evidence is held against.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// What is weaker does not meet a criterion.
    pub least: Strength,
    pub now: Stamp,
}

impl CriterionState {
    /// The same, waived if a person decided so: what is met needs no waiver.
    pub fn under(self, terms: &Terms, criterion: &Criterion, now: Stamp) -> Self {
        match terms.waiver(criterion, now).filter(|_| self.state != Standing::Met) {
            Some(waiver) => Self { state: Standing::Waived, waiver: Some(waiver.clone()), waits_for: None, ..self },
            None => self,
        }
    }
}

/// Judges one criterion by what was found.
pub fn judge(criterion: &Criterion, found: &Found, bar: Bar) -> CriterionState {
    let Bar { least, now } = bar;
    let fresh = found.fresh.as_ref().and_then(|run| run.record.as_ref().map(|record| (run, record)));
    let is_accepted = fresh.is_some_and(|(run, _)| run.accepted.is_some());
    let under_claim = fresh.filter(|_| found.under_claim);
    let state = match (under_claim, fresh, &found.last, &found.unavailable) {
        (_, _, _, Some(_)) => Standing::Unavailable,
        (Some((_, record)), ..) if record.is_held_back() && !is_accepted => Standing::Suspicious,
        (Some((run, record)), ..) => match run.verdict().unwrap_or(record.verdict) {
            _ if flaky(&found.verdicts).is_some() => Standing::Flaky,
            Verdict::Pass if !is_accepted && record.strength.min(criterion.proof.earns()) < least => {
                Standing::InsufficientStrength
            }
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
        // What a person lets count was observed all the same.
        strength: strength(
            state,
            under_claim.map(|(_, record)| if is_accepted { Strength::Observed } else { record.strength }),
            &criterion.proof,
        ),
        evidence: shown.map(|run| run.id.clone()),
        last: shown.and_then(|run| last(run, &found.changed, now)),
        regressed_at: found.regressed_at.filter(|_| state == Standing::Failed),
        waiver: None,
        waits_for: None,
        by_person: false,
    }
}

/// A criterion's strength is what its record earned, and never more than its kind can earn (I5).
fn strength(state: Standing, recorded: Option<Strength>, proof: &Proof) -> Strength {
    match state {
        Standing::Met => recorded.unwrap_or(Strength::Asserted).min(proof.earns()),
        Standing::NeverChecked
        | Standing::Failed
        | Standing::Error
        | Standing::Unavailable
        | Standing::Stale
        | Standing::Flaky
        | Standing::Suspicious
        | Standing::InsufficientStrength
        | Standing::Waived => Strength::Asserted,
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

/// What a person's word is held against.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub contract: &'a Digest,
    /// Digest of the whole work tree as it is now.
    pub input: &'a Digest,
    /// The same of the trees that verified publications put on the remote: a word that was given on one of them
    /// speaks for what was published, whatever became of the work tree.
    pub published: &'a [Digest],
}

impl Ground<'_> {
    fn holds(&self, attestation: &Attestation) -> bool {
        let Some(given) = &attestation.given_on else { return true };
        given.input == *self.input || self.published.contains(&given.input)
    }
}

/// Judges an attested criterion: a person's word, bound to the contract and to the tree it was given for. The newest
/// word that holds counts; if none does, the newest is stale.
pub fn judge_attested(
    criterion: &Criterion,
    attestations: &[Attestation],
    ground: Ground<'_>,
    changed: impl FnOnce(&GivenOn) -> Vec<String>,
    now: Stamp,
) -> CriterionState {
    let given = || {
        let of_this = |one: &&Attestation| one.criterion == criterion.id && one.contract_digest == *ground.contract;
        attestations.iter().rev().filter(of_this)
    };
    let (state, shown) = match (given().find(|one| ground.holds(one)), given().next()) {
        (Some(holds), _) => (Standing::Met, Some(holds)),
        (None, Some(newest)) => (Standing::Stale, Some(newest)),
        (None, None) => (Standing::NeverChecked, None),
    };
    let changed = match (state, shown.and_then(|one| one.given_on.as_ref())) {
        (Standing::Stale, Some(given)) => changed(given),
        _ => Vec::new(),
    };
    CriterionState {
        id: criterion.id.clone(),
        statement: criterion.statement.clone(),
        required: criterion.required,
        state,
        strength: if state == Standing::Met { Strength::Attested } else { Strength::Asserted },
        evidence: None,
        last: shown.map(|one| attested(one, changed, now)),
        regressed_at: None,
        waiver: None,
        waits_for: (state != Standing::Met).then_some("person"),
        by_person: true,
    }
}

fn attested(attestation: &Attestation, changed: Vec<String>, now: Stamp) -> Last {
    let on = match &attestation.given_on {
        None => "the contract alone".to_owned(),
        Some(given) => match (&given.head, given.clean) {
            (Some(head), true) => format!("{} as committed", head.short()),
            (Some(head), false) => format!("{} with changes that were not committed", head.short()),
            (None, _) => "a tree without a commit".to_owned(),
        },
    };
    Last {
        verdict: Verdict::Pass,
        age_s: attestation.at.seconds_until(now),
        exit: None,
        reasons: vec![format!("a person attested it for {on}: {}", attestation.note)],
        tail: String::new(),
        changed,
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
    } else if facts.criteria.iter().all(|criterion| criterion.id.as_str() == LIMITS) {
        Completion::ImplementedNotVerified
    } else if required().any(|criterion| criterion.state == Standing::Unavailable) {
        Completion::Blocked
    } else if required().any(|criterion| !criterion.state.is_settled()) {
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
    let counts = |criterion: &&CriterionState| criterion.required && criterion.state != Standing::Waived;
    let required: Vec<&CriterionState> = criteria.iter().filter(counts).collect();
    let achieved = required.iter().map(|criterion| criterion.strength).min();
    let Some(achieved) = achieved.filter(|_| required.iter().any(|criterion| criterion.id.as_str() != LIMITS)) else {
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
            regressed_at: None,
            waiver: None,
            waits_for: None,
            by_person: false,
        }
    }

    const ALL: [Standing; 10] = [
        Standing::Met,
        Standing::NeverChecked,
        Standing::Failed,
        Standing::Error,
        Standing::Unavailable,
        Standing::Stale,
        Standing::Flaky,
        Standing::Suspicious,
        Standing::InsufficientStrength,
        Standing::Waived,
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
                Standing::Met | Standing::Waived => Completion::Verified,
                Standing::Unavailable => Completion::Blocked,
                _ => Completion::ImplementedNotVerified,
            };
            assert_eq!(at(false, true, &criteria), expected, "{standing:?}");
        }
    }

    #[test]
    fn a_check_that_did_both_on_the_same_inputs_is_believed_after_three_that_agree() {
        use Verdict::{Fail, Pass};
        assert_eq!(flaky(&[]), None);
        assert_eq!(flaky(&[Pass, Pass]), None);
        assert_eq!(flaky(&[Pass, Pass, Pass, Pass, Pass]), None);
        assert_eq!(flaky(&[Pass, Fail]), Some(2));
        assert_eq!(flaky(&[Pass, Pass, Fail, Pass]), Some(1));
        assert_eq!(flaky(&[Pass, Pass, Pass, Fail]), None);
        assert_eq!(flaky(&[Fail, Pass, Pass, Pass]), Some(2));
        let said = |verdicts: &[Verdict]| run_again(verdicts).unwrap_or_default();
        assert_eq!(said(&[Pass, Fail]), "it failed before on these same inputs: run again, 2 of 3");
        assert!(said(&[Pass, Pass, Fail]).ends_with("again, 3 of 3"));
        assert_eq!(said(&[Fail, Pass]), "it passed before on these same inputs: run again, 1 of 3");
        assert_eq!((run_again(&[Fail]), run_again(&[Pass, Pass, Pass, Fail])), (None, None));
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
    fn a_persons_word_holds_for_its_contract_and_its_tree() {
        let criterion = Criterion {
            id: "AC-1".parse().expect("legal"),
            statement: "it holds".into(),
            required: true,
            proof: Proof::Attested { question: None },
        };
        let digest = |text: &str| Digest::of(text.as_bytes());
        let word = |contract: &str, tree: Option<&str>| Attestation {
            criterion: criterion.id.clone(),
            contract_digest: digest(contract),
            note: "seen".into(),
            grade: crate::domain::caller::Grade::Tty,
            at: Stamp(0),
            given_on: tree.map(|tree| GivenOn { work_tree: "/w".into(), input: digest(tree), head: None, clean: true }),
        };
        let (input, contract, published) = (digest("now"), digest("this"), [digest("published")]);
        let ground = Ground { contract: &contract, input: &input, published: &published };
        let judged = |words: &[Attestation]| {
            let changed = |_: &GivenOn| vec!["a".to_owned()];
            let state = judge_attested(&criterion, words, ground, changed, Stamp(0));
            let changed = state.last.map_or_else(Vec::new, |last| last.changed);
            assert_eq!(state.strength == Strength::Attested, state.state == Standing::Met);
            assert_eq!(changed.is_empty(), state.state != Standing::Stale);
            state.state
        };
        assert_eq!(judged(&[]), Standing::NeverChecked);
        assert_eq!(judged(&[word("other", Some("now"))]), Standing::NeverChecked);
        assert_eq!(judged(&[word("this", Some("now"))]), Standing::Met);
        assert_eq!(judged(&[word("this", Some("before"))]), Standing::Stale);
        assert_eq!(judged(&[word("this", Some("published"))]), Standing::Met);
        assert_eq!(judged(&[word("this", None)]), Standing::Met, "an earlier kctl bound it to the contract alone");
        let taken_back = [word("this", Some("now")), word("this", Some("before"))];
        assert_eq!(judged(&taken_back), Standing::Met, "any word on this tree counts, not only the newest");
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
