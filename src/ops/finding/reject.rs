//! `finding.reject`: a person says no to a weakening. It stays held until it is undone, and says why.

use super::decide::{In, Out, decide};
use crate::domain::effect::{Custody, Effect};
use crate::domain::finding::Ruling;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;

pub struct Reject;

impl Op for Reject {
    const NAME: &'static str = "finding.reject";
    const ABOUT: &'static str = "Reject as a person a weakening of what judges a change: it stays held and says why";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Person;
    const POSITIONAL: &'static [&'static str] = &["finding"];
    const HIDDEN: &'static [&'static str] = &["about.digest"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl finding reject f-9qd --reason 'the case is still supported'",
        "only at a terminal, and without a session",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        decide(call, &input, Ruling::Rejected)
    }
}
