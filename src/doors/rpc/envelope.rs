//! One request object: is it one, what does it ask, and may it be answered?

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::strict::{self, Members, clip, kind_of, step};
use crate::domain::refusal::{Code, Refusal};

/// Members a request object has. Everything else is refused by name.
const MEMBERS: [&str; 4] = ["jsonrpc", "method", "params", "id"];

/// A valid request, or a notification when `id` is `None`.
pub(super) struct Request<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// Why an entry does not run, and whether that may be said.
pub(super) struct Rejected<'a> {
    /// The id, if it could be read.
    pub(super) id: Option<&'a RawValue>,
    /// The entry is a valid notification whose params are off: nothing is said.
    pub(super) silent: bool,
    pub(super) refusal: Refusal,
}

/// Reads `entry`; pointers in refusals start with `prefix`.
pub(super) fn read<'a>(entry: &'a RawValue, prefix: &str) -> Result<Request<'a>, Rejected<'a>> {
    let invalid = |refusal| Rejected { id: None, silent: false, refusal };
    if !entry.get().starts_with('{') {
        let message = format!("a request is an object, not {}", kind_of(entry.get()));
        return Err(invalid(wrong("not_an_object", message, prefix)));
    }
    let members = Members::of(entry).map_err(|error| invalid(wrong("syntax", error.to_string(), prefix)))?;
    let envelope = Envelope { members: members.0, prefix };
    let id = envelope.id().map_err(invalid)?;
    let method = envelope.method().map_err(|refusal| Rejected { id, silent: false, refusal })?;
    match envelope.params() {
        Ok(params) => Ok(Request { id, method, params }),
        Err(refusal) => {
            let silent = id.is_none() && refusal.code() == Code::INVALID_PARAMS;
            Err(Rejected { id, silent, refusal })
        }
    }
}

struct Envelope<'a, 'p> {
    members: Vec<(String, &'a RawValue)>,
    prefix: &'p str,
}

impl<'a> Envelope<'a, '_> {
    fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(other, _)| other == name).map(|(_, raw)| *raw)
    }

    fn wrong(&self, fault: &str, member: &str, message: String) -> Refusal {
        wrong(fault, message, &clip(&format!("{}{}", self.prefix, step(member))))
    }

    /// The id as it stands, `None` when there is none.
    fn id(&self) -> Result<Option<&'a RawValue>, Refusal> {
        if self.members.iter().filter(|(name, _)| name == "id").count() > 1 {
            return Err(self.wrong("duplicate_member", "id", "the member `id` is given twice".to_owned()));
        }
        let Some(id) = self.find("id") else { return Ok(None) };
        match kind_of(id.get()) {
            "a string" | "a number" | "null" => Ok(Some(id)),
            other => {
                let message = format!("`id` must be a string, a number or null, not {other}");
                Err(self.wrong("wrong_type", "id", message))
            }
        }
    }

    /// The method's name, once all that makes a request object one has been checked, but for `params`.
    fn method(&self) -> Result<String, Refusal> {
        self.no_duplicates()?;
        match self.find("jsonrpc").map(text_of) {
            Some(Some(version)) if version == "2.0" => {}
            Some(_) => {
                let message = "`jsonrpc` must be exactly the string `2.0`".to_owned();
                return Err(self.wrong("wrong_version", "jsonrpc", message));
            }
            None => {
                let message = "the member `jsonrpc` is missing: it must be the string `2.0`".to_owned();
                return Err(self.wrong("missing_member", "jsonrpc", message));
            }
        }
        let Some(method) = self.find("method") else {
            let message = "the member `method` is missing: it names the operation".to_owned();
            return Err(self.wrong("missing_member", "method", message));
        };
        let Some(method) = text_of(method) else {
            let message = format!("`method` must be a string, not {}", kind_of(method.get()));
            return Err(self.wrong("wrong_type", "method", message));
        };
        self.no_strangers()?;
        Ok(method)
    }

    fn no_duplicates(&self) -> Result<(), Refusal> {
        let mut seen = std::collections::HashSet::new();
        match self.members.iter().find(|(name, _)| !seen.insert(name)) {
            Some((name, _)) => {
                let message = format!("the member `{}` is given twice", clip(name));
                Err(self.wrong("duplicate_member", name, message))
            }
            None => Ok(()),
        }
    }

    fn no_strangers(&self) -> Result<(), Refusal> {
        match self.members.iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
            Some((name, _)) => {
                let message = format!(
                    "a request object has no member `{}`: parameters of the operation go into `params`",
                    clip(name)
                );
                Err(self.wrong("unknown_member", name, message))
            }
            None => Ok(()),
        }
    }

    fn params(&self) -> Result<Map<String, Value>, Refusal> {
        let Some(raw) = self.find("params") else { return Ok(Map::new()) };
        let pointer = format!("{}/params", self.prefix);
        match kind_of(raw.get()) {
            "an object" | "an array" => {}
            other => {
                let message = format!("`params` must be an object, not {other}; leave it out if there are none");
                return Err(self.wrong("wrong_type", "params", message));
            }
        }
        match strict::value(raw, &pointer)? {
            Value::Object(params) => Ok(params),
            Value::Array(items) if items.is_empty() => Ok(Map::new()),
            _ => {
                let message = "params are taken by name only: send an object whose members are the parameters";
                let refusal = Refusal::new(Code::INVALID_PARAMS, message);
                Err(refusal.with("fault", "not_by_name").with("pointer", pointer))
            }
        }
    }
}

fn text_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn wrong(fault: &str, message: String, pointer: &str) -> Refusal {
    Refusal::new(Code::INVALID_REQUEST, message).with("fault", fault).with("pointer", pointer)
}
