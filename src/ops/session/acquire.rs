//! `session.acquire`: custody begins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{AgentName, SessionId};
use crate::domain::refusal::Refusal;
use crate::domain::session::{Session, SessionEvent};
use crate::domain::stamp::{Length, Stamp};
use crate::ops::call::Call;
use crate::ops::custody::{SESSION_VAR, TOKEN_VAR};
use crate::ops::op::Op;
use crate::ports::world::token_digest;

/// A session lives this long unless it says otherwise.
pub const DEFAULT_TTL: Length = Length::hours(12);
/// The longest name of a host or of its session, in bytes.
const MAX_NAME_BYTES: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The name the agent goes by
    agent: AgentName,
    /// The host it runs in, such as `claude-code` or `codex`
    #[serde(default)]
    host: Option<String>,
    /// The host's own id of this conversation
    #[serde(default)]
    host_session: Option<String>,
    /// How long the session lives: seconds, or `90s`, `10m`, `2h`, `30d` (default: 12h)
    #[serde(default)]
    ttl: Option<Length>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    session: SessionId,
    agent: AgentName,
    expires_at: Stamp,
    /// Shown this once, and `null` when the answer is replayed. Send it as `token`, or as `KCTL_TOKEN`; on this machine
    /// the session's id alone is enough.
    token: Option<String>,
    /// What to type so that later calls in this shell are made in the session; `null` where its token is not kept.
    export: Option<String>,
    /// Where the token is now, and who needs it.
    note: String,
    /// Whether the token was also kept in the platform's state directory, so that `session` alone suffices.
    kept: bool,
}

pub struct Acquire;

impl Op for Acquire {
    const NAME: &'static str = "session.acquire";
    const ABOUT: &'static str = "Begin a session: custody for one agent, with a secret and a lifetime";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        (
            "kctl session acquire --agent ada",
            "prints the session, its token, and the line that makes later calls use it",
        ),
        ("kctl session acquire --agent ada --host claude-code --ttl 2h", "names the host, and ends after two hours"),
    ];
    const HIDDEN: &'static [&'static str] = &["kept"];
    const SHOWN_ONCE: &'static [&'static str] = &["token"];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        bounded("host", input.host.as_deref())?;
        bounded("host_session", input.host_session.as_deref())?;
        let id = SessionId::new(call.world.ids.uuid());
        // The token names its session, so that a host has one thing to keep.
        let token = format!("{id}.{}", call.world.ids.secret());
        let until = call.now().plus(input.ttl.unwrap_or(DEFAULT_TTL));
        let acquired = SessionEvent::Acquired {
            agent: input.agent.clone(),
            host: input.host,
            host_session: input.host_session,
            token_digest: token_digest(&token),
            until,
        };
        call.record::<Session>(&id, 0, acquired)?;
        let kept = keep(call, &id, &token);
        call.propose("task.ready", "lists what can be claimed", json!({}));
        Ok(Out {
            agent: input.agent,
            expires_at: until,
            token: Some(token),
            export: kept.then(|| format!("export {SESSION_VAR}={id}")),
            note: note(call, kept),
            kept,
            session: id,
        })
    }
}

fn note(call: &Call<'_>, kept: bool) -> String {
    match call.world.secrets.place() {
        _ if call.dry_run => "nothing was begun, and the token opens nothing".to_owned(),
        Ok(place) if kept => format!(
            "the token is shown this once and stored in `{place}`, readable for you alone: here the export line is enough"
        ),
        _ => format!("the token is shown this once and stored nowhere: set `{TOKEN_VAR}` to it for later calls"),
    }
}

fn keep(call: &mut Call<'_>, id: &SessionId, token: &str) -> bool {
    if call.dry_run {
        return false;
    }
    match call.world.secrets.keep(id, token) {
        Ok(()) => true,
        Err(why) => {
            call.warn(
                "secret_not_kept",
                format!("the token is not kept on this machine: {why}; send it with each call"),
            );
            false
        }
    }
}

fn bounded(field: &str, text: Option<&str>) -> Result<(), Refusal> {
    match text {
        Some(text) if text.is_empty() || text.len() > MAX_NAME_BYTES || text.chars().any(char::is_control) => {
            Err(Refusal::invalid(field, format!("`{field}` has 1 to {MAX_NAME_BYTES} bytes and no control characters")))
        }
        _ => Ok(()),
    }
}
