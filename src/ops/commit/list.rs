//! `commit.list`: what is owed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::commitment::{Closing, Commitment, Phase};
use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{CommitmentId, CommitmentRef};
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Stamp;
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ports::ledger::Query;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Also commitments that are closed
    #[serde(default)]
    all: bool,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The last row of the page before
    #[serde(default)]
    after: Option<CommitmentRef>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    id: CommitmentId,
    objective: String,
    phase: Phase,
    verdict: Option<Closing>,
    /// Criteria met when it was last evaluated, of how many; `commit.show` judges now.
    met: String,
    until: Stamp,
    overdue: bool,
}

pub struct ListCommitments;

impl Op for ListCommitments {
    const NAME: &'static str = "commit.list";
    const ABOUT: &'static str = "List commitments, oldest first";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["id", "objective", "verdict", "until", "overdue"];
    type In = In;
    type Out = List<Item>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Item>, Refusal> {
        let limit = page(input.limit)?;
        let open = vec![Phase::Active.name(), Phase::Satisfying.name()];
        let is_next_page = input.after.is_some();
        let query = Query {
            statuses: if input.all { Vec::new() } else { open },
            after: input.after.map(|after| call.cursor(Kind::Commitment, after.as_str())).transpose()?,
            limit: limit + 1,
            ..Query::all(Kind::Commitment)
        };
        let mut rows = call.query::<Commitment>(&query)?;
        call.cut(&mut rows, limit, "items", |held| held.value.id.to_string());
        if rows.is_empty() && !input.all && !is_next_page {
            call.left_out(Kind::Commitment, Self::NAME, "closed")?;
        }
        let now = call.now();
        Ok(List { items: rows.into_iter().map(|held| item(held.value, now)).collect() })
    }
}

fn item(commitment: Commitment, now: Stamp) -> Item {
    Item {
        met: format!("{}/{}", commitment.met.len(), commitment.contract.clone().with_limits().criteria.len()),
        overdue: commitment.closed.is_none() && commitment.until <= now,
        verdict: commitment.closed.map(|closed| closed.verdict),
        objective: commitment.objective.lines().next().unwrap_or_default().to_owned(),
        id: commitment.id,
        phase: commitment.phase,
        until: commitment.until,
    }
}
