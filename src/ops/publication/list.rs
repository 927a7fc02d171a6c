//! `publication.list`: what was published, or tried to be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::fold::Kind;
use crate::domain::id::{Oid, PublicationId, PublicationRef, TaskId, TaskRef};
use crate::domain::publication::{Publication, PublicationStatus};
use crate::domain::refusal::Refusal;
use crate::domain::stamp::Stamp;
use crate::ops::call::{Call, List, page};
use crate::ops::op::Op;
use crate::ports::ledger::Query;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// Only publications of this task
    #[serde(default)]
    task: Option<TaskRef>,
    /// How many at most, from 1 to 499 (default: 50)
    #[serde(default)]
    limit: Option<u32>,
    /// The last row of the page before
    #[serde(default)]
    after: Option<PublicationRef>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    id: PublicationId,
    task: Option<TaskId>,
    status: PublicationStatus,
    reference: Option<String>,
    commit: Option<Oid>,
    /// What the remote held when it was read back.
    observed: Option<Oid>,
    at: Stamp,
    /// What stands after a failure.
    stands: Option<String>,
}

pub struct ListPublications;

impl Op for ListPublications {
    const NAME: &'static str = "publication.list";
    const ABOUT: &'static str = "List publications, newest first";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const COLUMNS: &'static [&'static str] = &["id", "task", "status", "reference", "commit", "at"];
    type In = In;
    type Out = List<Item>;

    fn run(call: &mut Call<'_>, input: In) -> Result<List<Item>, Refusal> {
        let limit = page(input.limit)?;
        let query = Query {
            parent: input.task.map(|task| call.task(&task)).transpose()?.map(|held| held.value.id.to_string()),
            after: input.after.map(|after| call.cursor(Kind::Publication, after.as_str())).transpose()?,
            limit: limit + 1,
            ..Query::all(Kind::Publication)
        };
        let mut rows = call.query::<Publication>(&query)?;
        call.cut(&mut rows, limit, "items", |held| held.value.id.to_string());
        Ok(List { items: rows.into_iter().map(|held| item(held.value)).collect() })
    }
}

fn item(publication: Publication) -> Item {
    let cleared = publication.cleared;
    Item {
        id: publication.id,
        status: publication.status,
        task: cleared.as_ref().map(|cleared| cleared.task.clone()),
        reference: cleared.as_ref().map(|cleared| cleared.reference.clone()),
        commit: cleared.map(|cleared| cleared.commit),
        observed: publication.observed,
        at: publication.started_at,
        stands: publication.stands,
    }
}
