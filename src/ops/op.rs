//! One definition per operation. Everything a door needs to know of it is rendered from here.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::op_info::OpInfo;
use crate::domain::refusal::{Code, Refusal};

use super::call::Call;

/// What an operation needs to find where it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// A git repository; a ledger may be missing.
    Repository,
    Ledger,
    /// Takes what there is, and is told by warnings what could not be read: for hooks, which never fail.
    Whatever,
}

/// How an operation that writes holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Looked at, decided and recorded in one transaction, which the waist opens and commits.
    One,
    /// Takes so long, or touches so much beside the ledger, that it records in steps of its own.
    Steps,
}

/// An operation: one file, and one line in `OPS`.
pub trait Op {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const EFFECT: Effect;
    const CUSTODY: Custody;
    const NEEDS: Needs = Needs::Ledger;
    const SPAN: Span = Span::One;
    /// Whether the remote is asked where the base is, before any lock is taken, if this clone's reference to it is not
    /// where kctl last saw it.
    const ASKS_BASE: bool = false;
    /// Parameters that the command line takes by position.
    const POSITIONAL: &'static [&'static str] = &[];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[];
    /// What flags cannot say in a line: `OpInfo::help`.
    const HELP: &'static str = "";
    /// Columns of the table that people see.
    const COLUMNS: &'static [&'static str] = &[];
    /// Members that people see only on asking for more: `OpInfo::hidden`.
    const HIDDEN: &'static [&'static str] = &[];
    /// Members that are texts, shown behind everything else: `OpInfo::texts`.
    const TEXTS: &'static [&'static str] = &[];
    /// The member that, where it is there, is all that a person sees: `OpInfo::raw`.
    const RAW: Option<&'static str> = None;
    /// The member of the output that says whether what was asked about holds.
    const HOLDS: Option<&'static str> = None;
    /// Members of the output that are a secret (I12): a stored answer has `null` in their place.
    const SHOWN_ONCE: &'static [&'static str] = &[];
    /// Whether a dry run asks for no custody: it shows what a person would do.
    const SHOWN_TO_ALL: bool = false;
    type In: DeserializeOwned + JsonSchema;
    type Out: Serialize + JsonSchema;

    /// The task whose claim the caller must hold, for `Custody::Claim` and `Custody::Workspace`.
    fn task(_: &Self::In) -> Option<&TaskRef> {
        None
    }

    /// Look, decide, act, record.
    ///
    /// # Errors
    /// A typed refusal; nothing of a refused call is kept unless the operation says so.
    fn run(call: &mut Call<'_>, input: Self::In) -> Result<Self::Out, Refusal>;
}

/// An operation without its types, so that all of them stand in one list.
pub struct Entry {
    pub info: OpInfo,
    pub needs: Needs,
    pub span: Span,
    pub asks_base: bool,
    pub shown_once: &'static [&'static str],
    pub shown_to_all: bool,
    pub prepare: fn(Map<String, Value>) -> Result<Prepared, Refusal>,
}

/// A call whose parameters were read.
pub struct Prepared {
    pub task: Option<TaskRef>,
    pub run: Run,
}

/// What is left to do once the caller is known and custody was judged.
pub type Run = Box<dyn FnOnce(&mut Call<'_>) -> Result<Value, Refusal>>;

/// Makes the list's entry of the operation `T`.
pub const fn entry<T: Op + 'static>() -> Entry {
    Entry {
        info: OpInfo {
            name: T::NAME,
            about: T::ABOUT,
            effect: T::EFFECT,
            custody: T::CUSTODY,
            input_schema: schema_of::<T::In>,
            output_schema: schema_of::<T::Out>,
            positional: T::POSITIONAL,
            examples: T::EXAMPLES,
            help: T::HELP,
            columns: T::COLUMNS,
            hidden: T::HIDDEN,
            texts: T::TEXTS,
            raw: T::RAW,
            holds: T::HOLDS,
        },
        needs: T::NEEDS,
        span: T::SPAN,
        asks_base: T::ASKS_BASE,
        shown_once: T::SHOWN_ONCE,
        shown_to_all: T::SHOWN_TO_ALL,
        prepare: prepare::<T>,
    }
}

fn prepare<T: Op + 'static>(params: Map<String, Value>) -> Result<Prepared, Refusal> {
    let input: T::In = serde_path_to_error::deserialize(Value::Object(params)).map_err(|fault| {
        let member = fault.path().to_string();
        let member = if member == "." { None } else { Some(member) };
        let words = fault.into_inner().to_string();
        misfit::<T>(member, &words)
    })?;
    let task = T::task(&input).cloned();
    let run = move |call: &mut Call<'_>| {
        let out = T::run(call, input)?;
        Ok(serde_json::to_value(out).expect("an operation's output always serialises"))
    };
    Ok(Prepared { task, run: Box::new(run) })
}

/// Names the member that does not fit, and where the schema is.
fn misfit<T: Op>(member: Option<String>, words: &str) -> Refusal {
    let quoted = || words.split('`').nth(1).map(str::to_owned);
    let member = member
        .or_else(|| (words.starts_with("missing field") || words.starts_with("unknown field")).then(quoted).flatten());
    let message = match &member {
        Some(member) => format!("`{member}` does not fit `{}`: {words}", T::NAME),
        None => format!("the parameters do not fit `{}`: {words}", T::NAME),
    };
    Refusal::new(Code::INVALID_PARAMS, message).with("member", member).with("op", T::NAME).next(
        "ops.describe",
        "shows the parameters with their types",
        serde_json::json!({ "name": T::NAME }),
    )
}

/// The JSON Schema of `T` with everything inline, as doors and generated files show it.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value()
}
