//! Fits optional fragments into the room that the required ones left.
//!
//! Which kinds appear is decided first, by the cheapest fragment of each, cheapest kind first: so a larger budget
//! never loses a kind. Then each kind fills its ceiling in order of rank, and what is left flows on in the order of
//! `Kind`.

use crate::domain::fragment::Fragment;

use super::capsule::{Kind, MAX_OMITTED, Omitted, price};

/// A fragment with its price in the capsule.
pub(super) struct Member {
    pub price: u32,
    pub fragment: Fragment,
}

/// The fragments of one kind, best first.
pub(super) struct Offer {
    pub kind: Kind,
    pub members: Vec<Member>,
}

/// What was taken, what was not, and what the two cost.
pub(super) struct Fitted {
    pub fragments: Vec<Fragment>,
    pub omitted: Vec<Omitted>,
    pub used: u32,
}

/// The part of the optional room, in percent, that is kept for saying what was left out.
const OMITTED_SHARE: u64 = 4;

/// An offer while it is being filled.
struct Filling {
    kind: Kind,
    members: Vec<(Member, bool)>,
    room: u32,
}

/// Fills `room` tokens. `too_many` fragments were not even looked at.
pub(super) fn fill(offers: Vec<Offer>, room: u32, too_many: usize) -> Fitted {
    let (mut fillings, for_omitted) = with_ceilings(offers, room);
    let mut left = room - for_omitted;
    for filling in &mut fillings {
        let ceiling = filling.room.min(left);
        left -= filling.take(ceiling);
    }
    for filling in &mut fillings {
        if filling.room > 0 {
            left -= filling.take(left);
        }
    }
    let omitted_room = for_omitted + left;
    let (omitted, omitted_price) = left_out(&fillings, omitted_room, too_many);
    let used = room - omitted_room + omitted_price;
    let fragments = fillings.into_iter().flat_map(Filling::taken).collect();
    Fitted { fragments, omitted, used }
}

/// Gives every kind that appears room for its cheapest fragment and its share of the rest; the others get none.
fn with_ceilings(offers: Vec<Offer>, room: u32) -> (Vec<Filling>, u32) {
    let cheapest = |offer: &Offer| offer.members.iter().map(|member| member.price).min().unwrap_or(0);
    let mut by_price: Vec<(u32, Kind)> = offers.iter().map(|offer| (cheapest(offer), offer.kind)).collect();
    by_price.sort_unstable();
    let mut sum: u32 = 0;
    by_price.retain(|(price, _)| {
        sum = sum.saturating_add(*price);
        sum <= room
    });
    let rest = u64::from(room - by_price.iter().map(|(price, _)| price).sum::<u32>());
    let percent = |share: u64| u32::try_from(rest * share / 100).expect("a part of a u32");
    let ceiling = |kind: Kind| {
        let appears = by_price.iter().find(|(_, other)| *other == kind);
        appears.map_or(0, |(price, _)| price + percent(kind.share()))
    };
    let filling = |offer: Offer| Filling {
        kind: offer.kind,
        room: ceiling(offer.kind),
        members: offer.members.into_iter().map(|member| (member, false)).collect(),
    };
    (offers.into_iter().map(filling).collect(), percent(OMITTED_SHARE))
}

impl Filling {
    /// Takes what fits into `room`, in order of rank; answers what that costs.
    fn take(&mut self, room: u32) -> u32 {
        let mut used = 0;
        for (member, taken) in self.members.iter_mut().filter(|(_, taken)| !taken) {
            if member.price <= room - used {
                used += member.price;
                *taken = true;
            }
        }
        used
    }

    /// The fragments that were taken; a journal's in the order of time again.
    fn taken(self) -> Vec<Fragment> {
        let keeps_tail = self.kind.keeps_tail();
        let taken = self.members.into_iter().filter(|(_, taken)| *taken).map(|(member, _)| member.fragment);
        if keeps_tail { taken.collect::<Vec<_>>().into_iter().rev().collect() } else { taken.collect() }
    }
}

/// Names what was left out, best first, as far as `room` goes, and sums up the rest in one entry, whose price is part
/// of the frame.
fn left_out(fillings: &[Filling], room: u32, too_many: usize) -> (Vec<Omitted>, u32) {
    let (mut omitted, mut used) = (Vec::new(), 0);
    let mut rest: Vec<(Kind, usize, u32)> = Vec::new();
    for filling in fillings {
        let (mut count, mut tokens) = (0, 0_u32);
        for (member, _) in filling.members.iter().filter(|(_, taken)| !taken) {
            let entry = entry(filling.kind, &member.fragment);
            let price = price(&entry);
            if count == 0 && omitted.len() < MAX_OMITTED && price <= room - used {
                used += price;
                omitted.push(entry);
            } else {
                count += 1;
                tokens = tokens.saturating_add(member.fragment.tokens);
            }
        }
        if count > 0 {
            rest.push((filling.kind, count, tokens));
        }
    }
    if too_many > 0 || !rest.is_empty() {
        omitted.push(summary(&rest, too_many));
    }
    (omitted, used)
}

fn entry(kind: Kind, fragment: &Fragment) -> Omitted {
    Omitted {
        r#ref: fragment.r#ref.clone(),
        tokens: fragment.tokens,
        why: format!("no room among {}", kind.name()),
        how: kind.how().to_owned(),
    }
}

fn summary(rest: &[(Kind, usize, u32)], too_many: usize) -> Omitted {
    let mut names: Vec<String> = rest.iter().map(|(kind, count, _)| format!("{count} {}", kind.name())).collect();
    if too_many > 0 {
        names.push(format!("{too_many} more"));
    }
    Omitted {
        r#ref: names.join(", "),
        tokens: rest.iter().fold(0, |sum, (_, _, tokens)| sum.saturating_add(*tokens)),
        why: "no room".to_owned(),
        how: "a larger budget_tokens, or narrower paths and query".to_owned(),
    }
}

/// The dearest entry that `summary` can make.
pub(super) fn dearest_rest() -> Omitted {
    let rest: Vec<_> = Kind::ALL.into_iter().map(|kind| (kind, 8888, u32::MAX)).collect();
    summary(&rest, usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::capsule::{Capsule, MIN_BUDGET, Overflow, Parts, pack};
    use super::super::fragment;
    use super::super::tokens::estimate;
    use crate::domain::constitution::Constitution;
    use crate::domain::fragment::{Source, Trust};

    use super::*;

    fn text(reference: &str, text: &str) -> Fragment {
        fragment::of(reference, Source::Passage, Trust::Untrusted, text)
    }

    fn parts(required: &[String], optional: &[(Kind, Vec<String>)]) -> Parts<'static> {
        let optional = optional.iter().map(|(kind, texts)| {
            let name = |index: usize| format!("{}/{index}", kind.name());
            (*kind, texts.iter().enumerate().map(|(index, t)| text(&name(index), t)).collect())
        });
        Parts {
            required: required.iter().enumerate().map(|(i, t)| text(&format!("required/{i}"), t)).collect(),
            mandates: Vec::new(),
            optional: optional.collect(),
            have: Vec::new(),
        }
    }

    fn size(capsule: &Capsule) -> u32 {
        estimate(&serde_json::to_string(capsule).expect("a capsule is JSON"))
    }

    fn kinds(capsule: &Capsule) -> BTreeSet<String> {
        let refs = capsule.fragments.iter().map(|f| f.r#ref.split('/').next().unwrap_or_default().to_owned());
        refs.filter(|kind| kind != "required").collect()
    }

    fn refs(capsule: &Capsule) -> Vec<&str> {
        capsule.fragments.iter().map(|fragment| fragment.r#ref.as_str()).collect()
    }

    #[test]
    fn a_required_part_that_is_too_large_is_named_with_its_size() {
        let constitution = Constitution::embedded();
        let mut parts = parts(&["small".to_owned(), "word ".repeat(900)], &[]);
        parts.mandates = constitution.mandates_for(Some("task.finish"), &[], &[]);
        let Overflow { budget, needed, parts: sizes } = pack(parts.clone(), 500).expect_err("it cannot fit");
        assert_eq!((budget, sizes[0].r#ref.as_str(), sizes.len()), (500, "required/1", 4));
        assert!(pack(parts.clone(), needed - 1).is_err());
        assert!(pack(parts, needed).is_ok_and(|capsule| capsule.used <= needed));
    }

    #[test]
    fn what_the_host_holds_is_a_pointer() {
        let constitution = Constitution::embedded();
        let mut parts = parts(&["required ".repeat(60)], &[(Kind::Passages, vec!["found ".repeat(60)])]);
        parts.mandates = constitution.mandates_for(Some("publish"), &[], &[]);
        let whole = pack(parts.clone(), 8000).expect("it fits");
        parts.have = whole.fragments.iter().map(|f| f.digest.clone()).collect();
        parts.have.extend(whole.mandates.iter().map(|m| m.digest.clone()));
        let held = pack(parts, 8000).expect("it fits");
        assert!(held.fragments.iter().all(|f| f.text.is_none()) && held.mandates.iter().all(|m| m.text.is_none()));
        assert_eq!(refs(&held), refs(&whole));
        assert!(held.used < whole.used / 2 && held.hash != whole.hash);
    }

    #[test]
    fn a_journal_keeps_its_tail_and_a_list_its_head() {
        let long: Vec<String> = (0..20).map(|index| format!("{index} {}", "word ".repeat(60))).collect();
        let capsule =
            pack(parts(&[], &[(Kind::Decisions, long.clone()), (Kind::Passages, long)]), 1500).expect("it fits");
        let of = |kind: &str| refs(&capsule).into_iter().filter(|r| r.starts_with(kind)).collect::<Vec<_>>();
        assert_eq!(of("passages")[0], "passages/0");
        assert_eq!(of("decisions").last(), Some(&"decisions/19"));
        assert!(capsule.omitted.iter().any(|omitted| omitted.r#ref.contains("passages")), "{:?}", capsule.omitted);
    }

    #[test]
    fn room_that_nobody_else_wants_flows_on() {
        let long: Vec<String> = (0..20).map(|index| format!("{index} {}", "word ".repeat(60))).collect();
        let capsule = pack(parts(&[], &[(Kind::Notes, long)]), 3000).expect("it fits");
        assert!(capsule.used > 2500, "{}", capsule.used);
    }

    #[test]
    fn ten_thousand_fragments_are_bounded_and_counted() {
        let many = vec!["x".to_owned(); 10_000];
        let capsule = pack(parts(&[], &[(Kind::Passages, many)]), 4000).expect("it fits");
        assert!(size(&capsule) <= capsule.used && capsule.used <= 4000);
        assert!(capsule.omitted.last().expect("a summary").r#ref.ends_with("8000 more"));
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~\\n\\t]{0,200}",
            "\\PC{0,60}",
            (1..400_usize).prop_map(|n| "word ".repeat(n)),
            "[0-9a-f]{0,300}",
            "[\"\\\\\n\u{1}]{0,40}",
        ]
    }

    fn any_optional() -> impl Strategy<Value = Vec<(Kind, Vec<String>)>> {
        let kind = prop::sample::select(Kind::ALL.to_vec());
        prop::collection::vec((kind, prop::collection::vec(any_text(), 0..6)), 0..8)
    }

    proptest! {
        #[test]
        fn a_capsule_is_within_its_budget_and_the_required_part_is_whole(
            required in prop::collection::vec(any_text(), 0..4), optional in any_optional(), budget in 0..6000_u32,
        ) {
            let parts = parts(&required, &optional);
            let Ok(capsule) = pack(parts.clone(), budget) else { return Ok(()) };
            prop_assert!(size(&capsule) <= capsule.used, "{} > {}", size(&capsule), capsule.used);
            prop_assert!(capsule.used <= budget.max(MIN_BUDGET));
            prop_assert_eq!(&capsule.fragments[..required.len()], &parts.required[..]);
            prop_assert_eq!(pack(parts, budget).map(|again| again.hash), Ok(capsule.hash));
        }

        #[test]
        fn a_larger_budget_never_loses_a_kind(
            required in prop::collection::vec(any_text(), 0..2), optional in any_optional(),
            budget in 256..4000_u32, more in 0..2000_u32,
        ) {
            let Ok(small) = pack(parts(&required, &optional), budget) else { return Ok(()) };
            let large = pack(parts(&required, &optional), budget + more).expect("what fitted fits");
            prop_assert!(kinds(&small).is_subset(&kinds(&large)));
        }
    }
}
