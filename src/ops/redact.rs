//! Secrets are taken out of what is recorded before it is appended (I12): the ledger is for good.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::rules::redaction::Redactor;

/// The event with every secret in its texts taken out, and how many there were. `known` are values that are secret
/// whatever they look like.
pub fn event<E: Serialize + DeserializeOwned>(event: E, known: &[String]) -> (E, u32) {
    let mut value = serde_json::to_value(&event).expect("an event always serialises");
    let found = texts(&mut value, &Redactor::new(known));
    if found == 0 {
        return (event, 0);
    }
    // A text that has a form of its own holds no secret, and a free one may be any text.
    let clean = serde_json::from_value(value).expect("an event without its secrets is one still");
    (clean, found)
}

fn texts(value: &mut Value, redactor: &Redactor) -> u32 {
    match value {
        Value::String(text) => {
            let (clean, found) = redactor.redact(text);
            if found > 0 {
                *text = clean;
            }
            found
        }
        Value::Array(items) => items.iter_mut().map(|item| texts(item, redactor)).sum(),
        Value::Object(members) => members.values_mut().map(|member| texts(member, redactor)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::TaskEvent;

    #[test]
    fn a_secret_in_a_note_is_taken_out_and_everything_else_stays() {
        let secret = "ghp_x7Qm2Kd9Tz4Wb8Lr1Vn6Yc3Hj5Pf0Sg2Ae9U";
        let of = |note: &str| TaskEvent::Unblocked { note: note.to_owned() };
        let (clean, found) = event(of(&format!("use {secret}, then correcthorse")), &["correcthorse".to_owned()]);
        assert_eq!((clean, found), (of("use [redacted:github], then [redacted:known]"), 2));
        assert_eq!(event(of("nothing here"), &[]), (of("nothing here"), 0));
    }

    /// What the fold reads again must never be mistaken for a secret, whatever stands beside it.
    #[test]
    fn ids_digests_and_times_are_no_secrets() {
        use crate::domain::digest::Digest;
        use crate::domain::id::{AgentName, SessionId};
        use crate::domain::session::SessionEvent;
        use crate::domain::stamp::Stamp;
        for n in 0..200_u128 {
            let digest = Digest::of(&n.to_le_bytes());
            let acquired = SessionEvent::Acquired {
                agent: "token".parse::<AgentName>().expect("legal"),
                host: Some("password".to_owned()),
                host_session: Some(SessionId::new(uuid::Uuid::from_u128(n * 7919)).to_string()),
                token_digest: digest,
                until: Stamp::from_ms(1_700_000_000_000),
            };
            assert_eq!(event(acquired.clone(), &[]), (acquired, 0));
        }
    }
}
