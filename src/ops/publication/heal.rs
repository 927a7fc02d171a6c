//! Publications that a crash left between the push and its record. What became of them is read from the remote.

use crate::domain::fold::Kind;
use crate::domain::id::PublicationId;
use crate::domain::publication::{Cleared, Publication, PublicationEvent, PublicationStatus};
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::{Call, Held};
use crate::ports::ledger::Query;

use super::look::Destination;

/// Ends every publication of the task that was begun and never ended, by what the remote holds. One that was begun on
/// exactly this clearance is gone on with, and its id is given.
pub fn interrupted(
    call: &mut Call<'_>,
    cleared: &Cleared,
    destination: &Destination,
) -> Result<Option<PublicationId>, Refusal> {
    let query = Query {
        parent: Some(cleared.task.to_string()),
        statuses: vec![PublicationStatus::Started.name()],
        ..Query::all(Kind::Publication)
    };
    let mut goes_on = None;
    for held in call.query::<Publication>(&query)? {
        let same = held.value.cleared.as_ref().is_some_and(|begun| is_same(begun, cleared));
        if same && goes_on.is_none() {
            goes_on = Some(held.value.id);
        } else {
            end(call, &held, destination)?;
        }
    }
    Ok(goes_on)
}

/// Whether what was begun clears the same commit for the same place, under the same claim and judge. What the remote
/// held then may differ: it holds the commit now if the push went through.
fn is_same(begun: &Cleared, now: &Cleared) -> bool {
    let place = |cleared: &Cleared| (cleared.url.clone(), cleared.reference.clone(), cleared.commit.clone());
    let judge = |cleared: &Cleared| (cleared.base.clone(), cleared.profile_digest.clone(), cleared.fence);
    place(begun) == place(now) && judge(begun) == judge(now) && begun.evidence == now.evidence
}

fn end(call: &mut Call<'_>, begun: &Held<Publication>, destination: &Destination) -> Result<(), Refusal> {
    let Some(cleared) = &begun.value.cleared else { return Ok(()) };
    let here = cleared.reference == destination.reference && cleared.url == destination.url.shown;
    let ended = match &destination.held {
        Some(held) if here && *held == cleared.commit => {
            PublicationEvent::Done { observed: held.clone(), base_observed: Some(destination.base.commit.clone()) }
        }
        held => PublicationEvent::Failed {
            code: Code::INTERRUPTED.name().to_owned(),
            words: "kctl ended between beginning to publish and recording how it went".to_owned(),
            stands: match held {
                Some(held) => format!("`{}` on the remote holds {held}", destination.reference),
                None => format!("`{}` was not seen on the remote", destination.reference),
            },
        },
    };
    call.step(|call| {
        let ver = call.load_or_blank::<Publication>(&begun.value.id)?.ver;
        call.record::<Publication>(&begun.value.id, ver, ended.clone()).map(drop)
    })
}
