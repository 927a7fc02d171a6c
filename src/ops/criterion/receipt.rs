//! `criterion.receipt`: a statement that one of the base's signers signed is verified and recorded.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::holder::Holder;
use super::named::Named;
use super::recorded::{self, Out};
use crate::domain::contract::{CriterionId, Proof};
use crate::domain::digest::Digest;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::path::TreePath;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::run::HandedIn;
use crate::ops::call::Call;
use crate::ops::fault;
use crate::ops::op::Op;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{assess, execute};
use crate::rules::verification::receipt::{self, About, SIGNERS_PATH};

/// The longest statement or signature, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// The longest list of signers, in bytes.
const MAX_SIGNERS_BYTES: u64 = 256 << 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The task whose criterion it is, its own or its commitment's (default: inside a task's worktree, that task)
    #[serde(default)]
    task: Option<TaskRef>,
    /// The commitment whose criterion it is
    #[serde(default, alias = "commit")]
    commitment: Option<CommitmentRef>,
    criterion: CriterionId,
    /// The statement exactly as it was signed: JSON with `criterion`, `contract`, `commit`, `verdict`, and `says` if there is more
    #[schemars(extend("contentMediaType" = "application/json"))]
    statement: String,
    /// What `ssh-keygen -Y sign -n kctl` made for it
    #[schemars(extend("contentMediaType" = "text/plain"))]
    signature: String,
}

pub struct Receive;

impl Op for Receive {
    const NAME: &'static str = "criterion.receipt";
    const ABOUT: &'static str = "Hand in a signed statement that a criterion holds; the base's signers are asked";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::Session;
    const POSITIONAL: &'static [&'static str] = &["criterion"];
    const HIDDEN: &'static [&'static str] = &["handed_in"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        "kctl criterion receipt AC-5 --commitment c-9qd --statement said.json --signature said.json.sig",
        "signed with `ssh-keygen -Y sign -n kctl -f KEY said.json` by a key in the base's .decapod/allowed_signers",
    )];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        for (field, text) in [("statement", &input.statement), ("signature", &input.signature)] {
            if text.trim().is_empty() || text.len() > MAX_BYTES {
                return Err(Refusal::invalid(field, format!("`{field}` has from 1 to {MAX_BYTES} bytes")));
            }
        }
        let holder = Named::of(call, input.task.as_ref(), input.commitment.as_ref())?;
        holder.refuse_unless_open(call)?;
        let criterion = holder.criterion(&input.criterion)?.clone();
        recorded::refuse_unless_by(Self::NAME, &criterion)?;
        let Proof::Receipt { signer } = &criterion.proof else { unreachable!("only a receipt is received") };
        let subject = holder.subject(call)?;
        let signers = signers(call, &subject)?;
        let snapshot = assess::snapshot(call, &subject)?;
        let candidate = execute::candidate(call, &subject, &snapshot)?;
        let about = About {
            criterion: &criterion.id,
            contract: &subject.contract_digest,
            candidate: &candidate,
            signer: signer.as_deref(),
        };
        let (signer, finding) = receipt::verify(&input.statement, &input.signature, &signers, about)
            .map_err(|(field, why)| invalid(&holder, field, &why))?;
        let said = HandedIn::Receipt { signer, statement: Digest::of(input.statement.as_bytes()) };
        recorded::record(call, &holder, (&subject, &snapshot), &criterion, (finding, said))
    }
}

fn invalid(holder: &Holder, field: &str, why: &str) -> Refusal {
    Refusal::new(Code::RECEIPT_INVALID, format!("the `{field}` does not count: {why}")).with("field", field).next(
        "criterion.list",
        "shows the contract's digest and the criterion that a statement has to name",
        holder.reference(),
    )
}

/// Who may sign, by the accepted base: a candidate cannot name its own witnesses (I7).
fn signers(call: &Call<'_>, subject: &Subject) -> Result<String, Refusal> {
    let none = |why: &str| {
        Refusal::new(Code::RECEIPT_INVALID, format!("nobody may sign: {why}"))
            .with("field", "signature")
            .with("path", SIGNERS_PATH)
            .next("doctor", "shows which base this clone goes by", json!({}))
    };
    let base = subject.base.as_ref().ok_or_else(|| none("there is no base"))?;
    let path = TreePath::new(SIGNERS_PATH);
    let blob = call.repository()?.read_at(&base.commit, &path, MAX_SIGNERS_BYTES).map_err(fault::of_git)?;
    let blob = blob.ok_or_else(|| none(&format!("the base has no `{SIGNERS_PATH}`")))?;
    String::from_utf8(blob.bytes).map_err(|_| none("the base's list of signers is not UTF-8"))
}
