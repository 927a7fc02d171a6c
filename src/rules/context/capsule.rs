//! The capsule: what a task needs, whole, and as much of the rest as fits a budget of tokens (spec/context §2).
//!
//! How the bound holds: each member is priced as it stands in the compact JSON of the capsule, its quotes, escapes and
//! names included, plus one token for the comma; the frame (names, numbers, the hash) is priced once at its largest.
//! The estimate of the whole never passes the sum (`tokens`), and the sum never passes the budget.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::constitution::{Authority, Mandate};
use crate::domain::digest::Digest;
use crate::domain::fragment::Fragment;

use super::fit::{self, Member, Offer};
use super::tokens::estimate;

/// The smallest budget that can be asked for, in tokens.
pub const MIN_BUDGET: u32 = 256;
/// The largest budget, in tokens: beyond it a capsule is no longer read.
pub const MAX_BUDGET: u32 = 200_000;
/// The most entries of `omitted` that name one fragment each; the others are summed up by kind.
pub const MAX_OMITTED: usize = 32;
/// The most optional fragments that are looked at for one capsule.
pub const MAX_OPTIONAL: usize = 2_000;

/// Optional parts, in the order in which room that others left is given to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Instructions,
    Specs,
    Passages,
    Decisions,
    Knowledge,
    Notes,
    FileMap,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Instructions, Kind::Specs, Kind::Passages, Kind::Decisions, Kind::Knowledge, Kind::Notes, Kind::FileMap];

    /// The part of the optional room that the kind may fill before the others have had theirs, in percent.
    pub(super) const fn share(self) -> u64 {
        match self {
            Kind::Instructions => 20,
            Kind::Specs => 14,
            Kind::Passages => 36,
            Kind::Decisions => 8,
            Kind::Knowledge => 6,
            Kind::Notes => 6,
            Kind::FileMap => 6,
        }
    }

    /// Whether the newest entries, which stand last, are the ones to keep.
    pub(super) const fn keeps_tail(self) -> bool {
        matches!(self, Kind::Decisions | Kind::Notes)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Kind::Instructions => "instructions",
            Kind::Specs => "specs",
            Kind::Passages => "passages",
            Kind::Decisions => "decisions",
            Kind::Knowledge => "knowledge",
            Kind::Notes => "notes",
            Kind::FileMap => "file_map",
        }
    }

    /// The operation that gives what was left out.
    pub(super) const fn how(self) -> &'static str {
        match self {
            Kind::Instructions | Kind::Specs => "read the file",
            Kind::Passages => "read the file at these lines, or narrow `query`",
            Kind::Decisions | Kind::Notes => "context.resolve with a larger budget_tokens",
            Kind::Knowledge => "knowledge.query",
            Kind::FileMap => "list the directory",
        }
    }
}

/// What a capsule is made of.
#[derive(Clone, Debug, Default)]
pub struct Parts<'a> {
    /// Never cut: task, contract, constraints, unmet criteria with their last output's tail. In the order to serve.
    pub required: Vec<Fragment>,
    /// Never cut either.
    pub mandates: Vec<&'a Mandate>,
    /// In order of rank, or of time for decisions and notes. A kind may be given more than once.
    pub optional: Vec<(Kind, Vec<Fragment>)>,
    /// Digests of texts that the host still holds.
    pub have: Vec<Digest>,
}

/// A document of the constitution, as it is served. `text` is absent when the host said that it holds `digest`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    pub id: String,
    pub title: String,
    pub authority: Authority,
    pub digest: Digest,
    pub tokens: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Something that did not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Omitted {
    /// A fragment, or all those of a kind that are not named before.
    pub r#ref: String,
    pub tokens: u32,
    pub why: String,
    pub how: String,
}

/// Context for a model, within a budget, with the origin of every byte. Token counts are estimates (`~`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capsule {
    /// Of all other members.
    pub hash: Digest,
    /// What was asked for, in tokens.
    pub budget: u32,
    /// A bound on the tokens of this capsule as compact JSON.
    pub used: u32,
    pub mandates: Vec<Served>,
    pub fragments: Vec<Fragment>,
    /// The highest authority that text in this capsule has.
    pub authority: Option<Authority>,
    pub omitted: Vec<Omitted>,
}

/// One part of what is never cut, and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    pub r#ref: String,
    pub tokens: u32,
}

/// What is never cut is larger than the budget. The caller asks for more room, or says what it holds in `have`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("what is never cut takes ~{needed} tokens, and the budget is {budget}")]
pub struct Overflow {
    pub budget: u32,
    /// The smallest budget that would do, in tokens.
    pub needed: u32,
    /// Largest first.
    pub parts: Vec<Part>,
}

/// Fits the parts into a budget, which is first brought between `MIN_BUDGET` and `MAX_BUDGET`. The same parts and
/// budget give the same capsule.
///
/// # Errors
/// `Overflow` if the required parts and the mandates do not fit.
pub fn pack(parts: Parts<'_>, budget: u32) -> Result<Capsule, Overflow> {
    let budget = budget.clamp(MIN_BUDGET, MAX_BUDGET);
    let Parts { required, mandates, optional, have } = parts;
    let served: Vec<Served> = mandates.into_iter().map(|mandate| served(mandate, &have)).collect();
    let required: Vec<Member> = required.into_iter().map(|fragment| member(fragment, &have)).collect();
    let (offers, too_many) = offers(&optional, &have);
    let needed = frame(&offers) + served.iter().map(price).sum::<u32>() + required.iter().map(|m| m.price).sum::<u32>();
    if needed > budget {
        return Err(Overflow { budget, needed, parts: sizes(&served, &required) });
    }
    let authority = served.iter().map(|mandate| mandate.authority).min();
    let mut fragments: Vec<Fragment> = required.into_iter().map(|member| member.fragment).collect();
    let fitted = fit::fill(offers, budget - needed, too_many);
    fragments.extend(fitted.fragments);
    Ok(sealed(Capsule {
        hash: Digest::of(b""),
        budget,
        used: needed + fitted.used,
        mandates: served,
        fragments,
        authority,
        omitted: fitted.omitted,
    }))
}

/// The price of a member as it stands in the capsule's JSON, with its comma.
pub(super) fn price<T: Serialize>(member: &T) -> u32 {
    estimate(&serde_json::to_string(member).expect("a part of a capsule always serialises")) + 1
}

/// What the capsule costs without its members: names, numbers, the hash at its dearest, and the one entry of `omitted`
/// that is always affordable.
fn frame(offers: &[Offer]) -> u32 {
    const NAMES_AND_NUMBERS: u32 = 48;
    const HASH: u32 = 72;
    let rest = if offers.is_empty() { 0 } else { price(&fit::dearest_rest()) };
    NAMES_AND_NUMBERS + HASH + rest
}

fn served(mandate: &Mandate, have: &[Digest]) -> Served {
    let held = have.contains(&mandate.digest);
    Served {
        id: mandate.id.clone(),
        title: mandate.title.clone(),
        authority: mandate.authority,
        digest: mandate.digest.clone(),
        tokens: estimate(&mandate.text),
        text: (!held).then(|| mandate.text.clone()),
    }
}

fn member(mut fragment: Fragment, have: &[Digest]) -> Member {
    if have.contains(&fragment.digest) {
        fragment.text = None;
    }
    Member { price: price(&fragment), fragment }
}

/// Prices the optional fragments, best first. Gives those beyond `MAX_OPTIONAL` as a number.
fn offers(optional: &[(Kind, Vec<Fragment>)], have: &[Digest]) -> (Vec<Offer>, usize) {
    let (mut offers, mut looked_at, mut too_many) = (Vec::new(), 0, 0);
    for kind in Kind::ALL {
        let of_kind = optional.iter().filter(|(other, _)| *other == kind).flat_map(|(_, fragments)| fragments);
        let mut fragments: Vec<&Fragment> = of_kind.collect();
        if kind.keeps_tail() {
            fragments.reverse();
        }
        let room = MAX_OPTIONAL - looked_at;
        too_many += fragments.len().saturating_sub(room);
        let members: Vec<Member> = fragments.into_iter().take(room).map(|f| member(f.clone(), have)).collect();
        looked_at += members.len();
        if !members.is_empty() {
            offers.push(Offer { kind, members });
        }
    }
    (offers, too_many)
}

fn sizes(served: &[Served], required: &[Member]) -> Vec<Part> {
    let mandates =
        served.iter().map(|mandate| Part { r#ref: format!("mandate/{}", mandate.id), tokens: price(mandate) });
    let fragments = required.iter().map(|member| Part { r#ref: member.fragment.r#ref.clone(), tokens: member.price });
    let mut parts: Vec<Part> = mandates.chain(fragments).collect();
    parts.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.r#ref.cmp(&b.r#ref)));
    parts
}

fn sealed(mut capsule: Capsule) -> Capsule {
    let Capsule { hash: _, budget, used, mandates, fragments, authority, omitted } = &capsule;
    capsule.hash = Digest::of_json(&(budget, used, mandates, fragments, authority, omitted));
    capsule
}
