//! The narrow waist: every door comes in here, and no operation runs without it. Find, check the input, know the
//! caller, judge custody, take the write lock if it writes, run, record, answer with a receipt.

use serde_json::{Map, Value};

use crate::domain::answer::{Answer, Receipt, Warning};
use crate::domain::caller::{Caller, Door, Grade};
use crate::domain::digest::{Digest, Fields};
use crate::domain::effect::Effect;
use crate::domain::id::SessionId;
use crate::domain::refusal::{Code, Next, Refusal};
use crate::ports::git::GitFault;
use crate::ports::ledger::{Access, LedgerFault, StoredAnswer};

use super::call::Call;
use super::custody;
use super::fault;
use super::op::{Entry, Needs, Prepared, Span};
use super::refusals;
use super::registry;
use super::seen;
use super::world::World;

/// The longest idempotency key, in bytes.
pub const MAX_KEY_BYTES: usize = 200;

/// Members that any operation's parameters may carry beside its own.
pub const RESERVED: [&str; 4] = ["session", "token", "idempotency_key", "dry_run"];

/// What a door knows of the caller before anything is verified.
#[derive(Clone, Debug)]
pub struct Presented {
    pub door: Door,
    pub grade: Grade,
    pub host: Option<String>,
}

/// What a call carries beside the operation's own parameters.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    pub session: Option<String>,
    pub token: Option<String>,
    pub idempotency_key: Option<String>,
    pub dry_run: bool,
}

/// Runs the operation `name`. The only way in.
///
/// # Errors
/// Every refusal there is; none of them leaves anything half-written.
pub fn call(
    world: &World<'_>,
    presented: &Presented,
    name: &str,
    params: Map<String, Value>,
) -> Result<Answer, Refusal> {
    let entry = registry::find(name).ok_or_else(|| unknown(name))?;
    let (envelope, params) = split(params)?;
    let request = Digest::of_json(&(name, &params));
    let afresh = Next::new(name, "looks again: this is what was answered then", Value::Object(params.clone()));
    let prepared = (entry.prepare)(params)?;
    let mut call = open(world, entry, envelope.dry_run)?;
    call.caller = match custody::identify(&mut call, presented, &envelope, entry.info.custody) {
        Ok(caller) => caller,
        Err(refusal) => return before_release(&call, &envelope, entry, (request, afresh))?.ok_or(refusal),
    };
    let key = envelope.idempotency_key.as_deref().filter(|_| entry.info.effect.changes() && !call.dry_run);
    let key = key.map(|key| Key { stored_as: owned_by(&call.caller, key), shown: key, request, afresh });
    let done = run(&mut call, entry, prepared, key.as_ref());
    if let Err(refusal) = &done {
        refusals::count(&mut call, entry, refusal, key.map(|key| key.digest()).as_ref());
    }
    done
}

/// An idempotency key as one caller gave it.
struct Key<'k> {
    /// Keys are a session's own: what one agent was answered is not said to another that counts from 1 as well.
    stored_as: String,
    shown: &'k str,
    /// Digest of the operation and its parameters.
    request: Digest,
    /// The same call without its key.
    afresh: Next,
}

impl Key<'_> {
    /// Of the key and of what was asked under it.
    fn digest(&self) -> Digest {
        let mut fields = Fields::new();
        fields.push(self.shown.as_bytes()).push(self.request.as_str().as_bytes()).finish()
    }
}

fn owned_by(caller: &Caller, key: &str) -> String {
    stored_as(caller.session.as_ref(), key)
}

fn stored_as(session: Option<&SessionId>, key: &str) -> String {
    format!("{}/{key}", session.map_or("-", |session| session.as_str()))
}

/// What a session was answered under this key before it was released: the release itself may be asked again, by a
/// caller that never saw its answer.
fn before_release(
    call: &Call<'_>,
    envelope: &Envelope,
    entry: &Entry,
    (request, afresh): (Digest, Next),
) -> Result<Option<Answer>, Refusal> {
    let key = envelope.idempotency_key.as_deref().filter(|_| entry.info.effect.changes() && !envelope.dry_run);
    let (Some(key), Some(session)) = (key, custody::released(call, envelope)?) else { return Ok(None) };
    replayed(call, Some(&Key { stored_as: stored_as(Some(&session), key), shown: key, request, afresh }))
}

/// The operation's answer as it stands.
fn answer(call: &Call<'_>, data: Value) -> Answer {
    let ledger = call.ledger.as_ref().and_then(|ledger| ledger.head().ok().flatten());
    let events = if call.dry_run { Vec::new() } else { call.events.clone() };
    Answer {
        data,
        receipt: Receipt { events, ledger, replayed: false },
        next: call.next.clone(),
        warnings: call.warnings.iter().cloned().chain(strayed(call)).collect(),
        truncated: call.truncated.clone(),
    }
}

/// The warning that this clone's reference to the base was moved, where the call looked at the base.
fn strayed(call: &Call<'_>) -> Option<Warning> {
    let words = call.base.get()?.as_ref()?.strayed()?;
    Some(Warning::new("base_strayed", words))
}

fn unknown(name: &str) -> Refusal {
    let near = registry::near(name);
    Refusal::new(Code::UNKNOWN_OPERATION, format!("no operation is called `{name}`")).with("near", near).next(
        "ops.list",
        "lists every operation",
        Value::Object(Map::new()),
    )
}

/// Takes the envelope's members out of the parameters.
fn split(mut params: Map<String, Value>) -> Result<(Envelope, Map<String, Value>), Refusal> {
    let envelope = Envelope {
        session: text(&mut params, "session")?,
        token: text(&mut params, "token")?,
        idempotency_key: text(&mut params, "idempotency_key")?,
        dry_run: match params.remove("dry_run") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(dry_run)) => dry_run,
            Some(_) => return Err(ill_typed("dry_run", "true or false")),
        },
    };
    match &envelope.idempotency_key {
        Some(key) if key.is_empty() || key.len() > MAX_KEY_BYTES => {
            Err(Refusal::invalid("idempotency_key", format!("an idempotency key has 1 to {MAX_KEY_BYTES} bytes")))
        }
        _ => Ok((envelope, params)),
    }
}

fn text(params: &mut Map<String, Value>, name: &'static str) -> Result<Option<String>, Refusal> {
    match params.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ill_typed(name, "a string")),
    }
}

fn ill_typed(member: &str, wanted: &str) -> Refusal {
    Refusal::new(Code::INVALID_PARAMS, format!("`{member}` is {wanted}")).with("member", member)
}

fn open<'w>(world: &'w World<'w>, entry: &Entry, dry_run: bool) -> Result<Call<'w>, Refusal> {
    let mut call = Call {
        world,
        caller: Caller::unknown(Door::Rpc),
        dry_run,
        next: Vec::new(),
        warnings: Vec::new(),
        truncated: Vec::new(),
        repository: None,
        ledger: None,
        events: Vec::new(),
        claim: None,
        base: std::cell::OnceCell::new(),
        in_step: false,
        refusals: Vec::new(),
        kept_refusals: 0,
        secrets: Vec::new(),
        asked: Vec::new(),
    };
    if entry.needs == Needs::Nothing {
        return Ok(call);
    }
    let whatever = entry.needs == Needs::Whatever;
    let repository = match world.repositories.discover(&world.cwd) {
        Ok(repository) => repository,
        Err(GitFault::NotARepository { .. }) if whatever => return Ok(call),
        Err(why) if whatever => {
            call.warn("not_read", why.to_string());
            return Ok(call);
        }
        Err(why) => return Err(fault::of_git(why)),
    };
    let access = if entry.info.effect == Effect::Read { Access::Read } else { Access::Write };
    match world.ledgers.open(&repository.place().common_dir, access) {
        Ok(ledger) => call.ledger = Some(ledger),
        Err(_) if entry.needs == Needs::Repository => {}
        Err(LedgerFault::Absent) if whatever => {}
        Err(why) if whatever => call.warn("not_read", why.to_string()),
        Err(LedgerFault::Absent) => return Err(fault::not_initialised()),
        Err(why) => return Err(fault::of_ledger(why)),
    }
    call.repository = Some(repository);
    Ok(call)
}

/// Judges custody and runs, in one transaction or in the operation's own steps.
fn run(call: &mut Call<'_>, entry: &Entry, prepared: Prepared, key: Option<&Key<'_>>) -> Result<Answer, Refusal> {
    if let Some(answer) = replayed(call, key)? {
        return Ok(answer);
    }
    if entry.asks_base {
        // Nobody waits for a network while this call holds the lock; custody is judged again under it.
        custody::judge(call, entry.info.custody, prepared.task.as_ref())?;
        seen::ask(call)?;
    }
    if entry.info.effect == Effect::Read || entry.span == Span::Steps || call.ledger.is_none() {
        in_steps(call, entry, prepared, key)
    } else {
        in_one(call, entry, prepared, key)
    }
}

fn judge(call: &mut Call<'_>, entry: &Entry, prepared: &Prepared) -> Result<(), Refusal> {
    if call.dry_run && entry.shown_to_all {
        return Ok(());
    }
    custody::judge(call, entry.info.custody, prepared.task.as_ref())
}

fn in_steps(call: &mut Call<'_>, entry: &Entry, prepared: Prepared, key: Option<&Key<'_>>) -> Result<Answer, Refusal> {
    judge(call, entry, &prepared)?;
    let data = (prepared.run)(call)?;
    let Some(key) = key.filter(|_| call.ledger.is_some()) else { return Ok(answer(call, data)) };
    call.step(|call| match replayed(call, Some(key))? {
        // The same request ran beside this one, and its answer is the one that counts.
        Some(first) => Ok(first),
        None => remember(call, entry, key, data.clone()),
    })
}

fn in_one(call: &mut Call<'_>, entry: &Entry, prepared: Prepared, key: Option<&Key<'_>>) -> Result<Answer, Refusal> {
    call.begin()?;
    let done = decide(call, entry, prepared, key);
    let keep = match &done {
        Ok(_) => !call.dry_run,
        // A rejected finalization is itself a fact that is recorded (it is counted); any other refusal leaves nothing.
        Err(refusal) => refusal.code() == Code::FINALIZATION_REJECTED && !call.dry_run,
    };
    call.end(keep)?;
    match done? {
        // Read after the commit, so that the receipt names what is durable.
        Done::Now(data) => Ok(answer(call, data)),
        Done::Before(answer) => Ok(answer),
    }
}

/// Runs the operation under the lock, unless another call with its key ended since it was first asked about.
fn decide(call: &mut Call<'_>, entry: &Entry, prepared: Prepared, key: Option<&Key<'_>>) -> Result<Done, Refusal> {
    if let Some(first) = replayed(call, key)? {
        return Ok(Done::Before(first));
    }
    judge(call, entry, &prepared)?;
    let data = (prepared.run)(call)?;
    if let Some(key) = key {
        remember(call, entry, key, data.clone())?;
    }
    Ok(Done::Now(data))
}

/// What came of an operation under its lock.
enum Done {
    Now(Value),
    /// The stored answer of an earlier call with the same key.
    Before(Answer),
}

/// Stores the answer under the key, without what is shown only once, and gives the answer as it is said now.
fn remember(call: &mut Call<'_>, entry: &Entry, key: &Key<'_>, data: Value) -> Result<Answer, Refusal> {
    let said = answer(call, data);
    let mut stored = said.clone();
    for name in entry.shown_once {
        stored.data[*name] = Value::Null;
    }
    let answer = serde_json::to_string(&stored).expect("an answer always serialises");
    let (at, request) = (call.now(), key.request.clone());
    let ledger = call.ledger.as_mut().ok_or_else(fault::not_initialised)?;
    ledger.remember(&key.stored_as, &StoredAnswer { request, answer }, at).map_err(fault::of_ledger)?;
    Ok(said)
}

/// The stored answer of an earlier call with this key.
fn replayed(call: &Call<'_>, key: Option<&Key<'_>>) -> Result<Option<Answer>, Refusal> {
    let (Some(key), Some(ledger)) = (key, &call.ledger) else { return Ok(None) };
    let Some(stored) = ledger.answer(&key.stored_as).map_err(fault::of_ledger)? else { return Ok(None) };
    let shown = key.shown;
    if stored.request != key.request {
        let words = format!("the idempotency key `{shown}` was used with other parameters");
        return Err(Refusal::new(Code::IDEMPOTENCY_MISMATCH, words).with("field", "idempotency_key"));
    }
    let mut answer: Answer = serde_json::from_str(&stored.answer).map_err(|why| {
        Refusal::new(Code::LEDGER_CORRUPT, format!("the stored answer of `{shown}` cannot be read: {why}"))
    })?;
    answer.receipt.replayed = true;
    // Whether something held is judged again before anything is built on it: the tree may be another by now.
    let is_judgement = registry::find(&key.afresh.op).is_some_and(|entry| entry.info.holds.is_some());
    if is_judgement && !answer.next.is_empty() {
        answer.next = vec![key.afresh.clone()];
    }
    Ok(Some(answer))
}
