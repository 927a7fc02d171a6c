//! Typed "no": every refusal carries a stable code, a category, an exit status, and the next legal operations (I9).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What kind of fault it is. Each has one exit status for the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Decode,
    Validation,
    Boundary,
    Permission,
    Custody,
    Execution,
    Verification,
    ContextRequired,
    Completion,
    Publication,
    Storage,
    Internal,
}

impl Category {
    /// The command line's exit status. 0 is an answer; 74 is an answer that could not be written to stdout.
    pub const fn exit_status(self) -> u8 {
        match self {
            Category::Decode => 2,
            Category::Validation => 3,
            Category::Boundary => 4,
            Category::Permission => 5,
            Category::Custody => 6,
            Category::Execution => 7,
            Category::Verification => 8,
            Category::ContextRequired => 9,
            Category::Completion => 10,
            Category::Publication => 11,
            Category::Storage => 12,
            Category::Internal => 70,
        }
    }
}

macro_rules! codes {
    ($($name:ident = $number:literal, $category:ident, recoverable $recoverable:literal, retry $retry:literal, $about:literal;)*) => {
        /// The stable, documented list of refusal codes. Numbers and names are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(non_camel_case_types, reason = "a code is spelled once, as it stands on the wire")]
        pub enum Code { $(#[doc = $about] $name,)* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Code::$name => stringify!($name),)* }
            }

            /// The JSON-RPC error code.
            pub const fn number(self) -> i64 {
                match self { $(Code::$name => $number,)* }
            }

            pub const fn category(self) -> Category {
                match self { $(Code::$name => Category::$category,)* }
            }

            /// Whether the caller, or a person it can ask, can get past this refusal.
            pub const fn recoverable(self) -> bool {
                match self { $(Code::$name => $recoverable,)* }
            }

            /// Whether sending the same request again, unchanged, can succeed.
            pub const fn retry_helps(self) -> bool {
                match self { $(Code::$name => $retry,)* }
            }

            pub const fn about(self) -> &'static str {
                match self { $(Code::$name => $about,)* }
            }
        }
    };
}

codes! {
    // decode: the request could not be read.
    PARSE_ERROR = -32700, Decode, recoverable true, retry false, "The request is not JSON";
    INVALID_REQUEST = -32600, Decode, recoverable true, retry false, "The JSON is not a JSON-RPC 2.0 request";
    UNKNOWN_OPERATION = -32601, Decode, recoverable true, retry false, "No operation has this name";
    INVALID_PARAMS = -32602, Decode, recoverable true, retry false, "The parameters do not fit the operation's schema; the member is named";
    REQUEST_TOO_LARGE = 1001, Decode, recoverable true, retry false, "The request is larger than the limit named in the answer";
    USAGE = 1002, Decode, recoverable true, retry false, "The command line's words are off";
    // validation: read, but not acceptable.
    INVALID_VALUE = 1101, Validation, recoverable true, retry false, "A value is well formed but cannot be accepted; the field is named";
    NOT_FOUND = 1102, Validation, recoverable true, retry false, "Nothing has this id, or more than one thing has this prefix";
    CONFLICT = 1103, Validation, recoverable true, retry false, "The thing is in a state that does not accept this operation";
    CYCLE = 1104, Validation, recoverable true, retry false, "The dependency would make a cycle";
    IDEMPOTENCY_MISMATCH = 1105, Validation, recoverable true, retry false, "This idempotency key was used with other parameters";
    VACUOUS_CRITERION = 1106, Validation, recoverable true, retry false, "A criterion that cannot fail proves nothing";
    PROFILE_INVALID = 1107, Validation, recoverable true, retry false, "The profile cannot be read; the key is named";
    CHECK_UNKNOWN = 1108, Validation, recoverable true, retry false, "The profile declares no check of this name";
    // boundary: outside what kctl may touch, or a kind of repository it cannot serve.
    NO_REPOSITORY = 1201, Boundary, recoverable true, retry false, "The directory is not inside a git repository";
    NOT_INITIALISED = 1202, Boundary, recoverable true, retry false, "The repository has no ledger yet";
    NO_WORK_TREE = 1203, Boundary, recoverable true, retry false, "The operation needs a work tree and there is none here";
    REPOSITORY_UNSUPPORTED = 1204, Boundary, recoverable false, retry false, "The repository uses a format that kctl cannot read yet; it is named";
    OUT_OF_TREE = 1205, Boundary, recoverable true, retry false, "A path leaves the tree it must stay in";
    // permission
    PERSON_REQUIRED = 1301, Permission, recoverable true, retry false, "Only a person, at a terminal or by signature, may do this";
    DENIED = 1302, Permission, recoverable true, retry false, "The operating system denies it; the path is named";
    // custody
    SESSION_REQUIRED = 1401, Custody, recoverable true, retry false, "The operation needs a session and the call names none";
    SESSION_INVALID = 1402, Custody, recoverable true, retry false, "The session's token is missing, wrong, expired or released";
    TASK_HELD = 1403, Custody, recoverable true, retry true, "Another session holds the claim; holder and expiry are named";
    CLAIM_REQUIRED = 1404, Custody, recoverable true, retry false, "The operation needs the live claim on the task";
    FENCE_STALE = 1405, Custody, recoverable true, retry false, "The claim's fence has risen since: somebody else took over";
    WORKSPACE_REQUIRED = 1406, Custody, recoverable true, retry false, "The operation needs the task's workspace and there is none";
    SCOPE_OVERLAP = 1407, Custody, recoverable true, retry true, "The profile refuses live claims whose paths overlap";
    NOTHING_READY = 1408, Custody, recoverable true, retry true, "No task is ready to be claimed";
    // execution
    WORKSPACE_FAILED = 1501, Execution, recoverable true, retry true, "The worktree could not be made, repaired or removed; git's words are given";
    WORKSPACE_BUSY = 1502, Execution, recoverable true, retry true, "Something else holds a lock in the worktree; its age and owner are named";
    WOULD_LOSE_WORK = 1503, Execution, recoverable true, retry false, "Removing it would lose uncommitted or unpublished work; what, is listed";
    GIT_FAILED = 1504, Execution, recoverable true, retry true, "A git command failed; its words are given";
    COMMAND_NOT_RUN = 1505, Execution, recoverable true, retry false, "A command could not be started";
    // verification
    CHECKS_FAILED = 1601, Verification, recoverable true, retry false, "Something that must hold does not hold; what, is listed";
    RECEIPT_INVALID = 1602, Verification, recoverable true, retry false, "The receipt is not signed by a signer of the base, or is about something else";
    // context
    CONTEXT_OVERFLOW = 1701, ContextRequired, recoverable true, retry false, "The part that is never cut is larger than the budget; the parts are named";
    // completion
    FINALIZATION_REJECTED = 1801, Completion, recoverable true, retry false, "Not every required criterion is met by fresh evidence of sufficient strength";
    CRITERIA_OUTSTANDING = 1802, Completion, recoverable true, retry false, "Required criteria have not passed";
    INSUFFICIENT_STRENGTH = 1803, Completion, recoverable true, retry false, "The evidence is weaker than the commitment's class asks for";
    EVIDENCE_STALE = 1804, Completion, recoverable true, retry false, "The evidence's inputs have changed since";
    NOTHING_TO_CLOSE_ON = 1805, Completion, recoverable true, retry false, "There is no criterion and no attestation to close on";
    FINALIZATION_EXHAUSTED = 1806, Completion, recoverable true, retry false, "Finishing was refused too often without progress; a person decides how it goes on";
    CONTRACT_DIGEST_MISMATCH = 1807, Completion, recoverable true, retry false, "The contract is another than the one the caller means; both digests are given";
    // publication
    NOT_CLEARED = 1901, Publication, recoverable true, retry false, "The candidate has blockers; each is listed with its remedy";
    ACCEPTED_BASE_NOT_ANCESTOR = 1902, Publication, recoverable true, retry false, "The candidate does not build on the accepted base";
    PROTECTED_BRANCH = 1903, Publication, recoverable true, retry false, "The branch is protected: nothing is worked on or published there directly";
    REMOTE_MOVED = 1904, Publication, recoverable true, retry false, "The remote's branch is not what the clearance saw";
    REMOTE_UNREACHABLE = 1905, Publication, recoverable true, retry true, "The remote did not answer";
    REMOTE_DIFFERS = 1906, Publication, recoverable true, retry true, "The push was accepted, but the remote does not hold the commit";
    PUSH_REJECTED = 1907, Publication, recoverable true, retry false, "The remote refused the push; its words are given";
    BASE_UNKNOWN = 1908, Publication, recoverable true, retry false, "The accepted base, or its profile, cannot be read";
    INTERRUPTED = 1909, Publication, recoverable true, retry true, "kctl ended between beginning to publish and recording how it went";
    INTEGRITY_HELD = 1910, Publication, recoverable true, retry false, "The change weakens what judges it, and no person accepted that; each finding is named";
    // storage
    LEDGER_MISSING = 2001, Storage, recoverable true, retry false, "There was a ledger here and it is gone; missing is never empty";
    LEDGER_CORRUPT = 2002, Storage, recoverable true, retry false, "The ledger does not verify; what, is named";
    LEDGER_BUSY = 2003, Storage, recoverable true, retry true, "The ledger's lock was not had within the bound";
    LEDGER_NOT_WRITABLE = 2004, Storage, recoverable true, retry false, "Custody is not writable here (read-only directory, full disk, file-size limit)";
    LEDGER_VERSION = 2005, Storage, recoverable true, retry false, "The ledger was written by a newer kctl, or its folds await a rebuild";
    FILESYSTEM_UNSUITABLE = 2006, Storage, recoverable false, retry false, "The ledger lies on a file system whose locks cannot be trusted (NFS and its kin)";
    STORAGE_FAILED = 2007, Storage, recoverable true, retry true, "Reading or writing a file failed; the path and the system's words are given";
    // internal
    INTERNAL = -32603, Internal, recoverable false, retry true, "A fault of kctl itself; nothing was half-written";
}

impl Code {
    pub const fn exit_status(self) -> u8 {
        self.category().exit_status()
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// An operation that is legal next, with parameters that are ready to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Next {
    pub op: String,
    pub why: String,
    pub params: Value,
}

impl Next {
    pub fn new(op: &str, why: impl Into<String>, params: Value) -> Self {
        Self { op: op.to_owned(), why: why.into(), params }
    }
}

/// The longest message, and the longest text among the details, in bytes: what is refused may be megabytes, and is
/// quoted.
pub const MAX_MESSAGE_BYTES: usize = 8 * 1024;
pub const MAX_DETAIL_BYTES: usize = 16 * 1024;

/// `text`, or its beginning and how much there was of it.
fn clipped(mut text: String, max_bytes: usize) -> String {
    let bytes = text.len();
    if bytes > max_bytes {
        let end = (0..=max_bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("… ({bytes} bytes)"));
    }
    text
}

/// A typed "no".
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal(Box<Parts>);

#[derive(Clone, Debug, PartialEq)]
struct Parts {
    code: Code,
    message: String,
    details: Map<String, Value>,
    next: Vec<Next>,
}

impl Refusal {
    /// Refuses with `code`; `message` starts small, ends bare and puts input in backticks.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = clipped(message.into(), MAX_MESSAGE_BYTES);
        Self(Box::new(Parts { code, message, details: Map::new(), next: Vec::new() }))
    }

    /// A value that is well formed and cannot be accepted.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::new(Code::INVALID_VALUE, message).with("field", field)
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        let value = match serde_json::to_value(value).expect("a detail always serialises") {
            Value::String(text) => Value::String(clipped(text, MAX_DETAIL_BYTES)),
            value => value,
        };
        self.0.details.insert(name.to_owned(), value);
        self
    }

    #[must_use]
    pub fn next(mut self, op: &str, why: impl Into<String>, params: Value) -> Self {
        self.0.next.push(Next::new(op, why, params));
        self
    }

    pub fn code(&self) -> Code {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn details(&self) -> &Map<String, Value> {
        &self.0.details
    }

    pub fn proposals(&self) -> &[Next] {
        &self.0.next
    }

    /// The `data` member of the JSON-RPC error.
    pub fn data(&self) -> Value {
        let code = self.0.code;
        json!({
            "code": code.name(),
            "category": code.category(),
            "recoverable": code.recoverable(),
            "retry_helps": code.retry_helps(),
            "next": self.0.next,
            "details": self.0.details,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_is_quoted_is_cut_where_it_is_long() {
        let long = "ü".repeat(1 << 20);
        let refusal = Refusal::invalid(&long, format!("`{long}` is too long")).with("value", &long).with("limit", 3);
        assert!(refusal.message().len() < MAX_MESSAGE_BYTES + 40 && refusal.message().ends_with("… (2097166 bytes)"));
        assert!(refusal.details().values().all(|value| value.to_string().len() < MAX_DETAIL_BYTES + 40));
        assert_eq!(refusal.details()["limit"], 3);
    }

    #[test]
    fn no_two_codes_share_a_name_or_a_number() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        let numbers: HashSet<_> = Code::ALL.iter().map(|code| code.number()).collect();
        assert_eq!((names.len(), numbers.len()), (Code::ALL.len(), Code::ALL.len()));
    }
}
