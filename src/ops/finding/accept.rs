//! `finding.accept`: a person accepts one weakening, exactly as it is: another edit of the file is another finding.

use super::decide::{In, Out, decide};
use crate::domain::effect::{Custody, Effect};
use crate::domain::finding::Ruling;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::op::Op;

pub struct Accept;

impl Op for Accept {
    const NAME: &'static str = "finding.accept";
    const ABOUT: &'static str = "Accept as a person one weakening of what judges a change, exactly as it is";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Person;
    const POSITIONAL: &'static [&'static str] = &["finding"];
    const HIDDEN: &'static [&'static str] = &["about.digest"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl finding accept f-9qd --reason 'quarantined, see issue 12'",
        "only at a terminal, and without a session",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        decide(call, &input, Ruling::Accepted)
    }
}
