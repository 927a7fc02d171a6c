//! Git's own hooks, as git calls them.

use std::ffi::OsString;
use std::io::Read as _;

use serde_json::{Map, Value, json};

use crate::domain::refusal::{Code, Refusal};
use crate::ops::world::World;
use crate::ops::{self, Presented};

/// The most that git may say on a hook's standard input, in bytes.
const MAX_INPUT_BYTES: u64 = 4 * 1024 * 1024;

/// Serves the hook `name`; `Ok` lets git go on.
///
/// # Errors
/// What the gate refuses. A repository that kctl is not set up in has no gate.
pub fn serve(world: &World<'_>, who: &Presented, name: &str, _: &[OsString]) -> Result<(), Refusal> {
    if name != "pre-push" {
        return Err(Refusal::new(Code::USAGE, format!("`{name}` is not a hook that kctl serves: pre-push")));
    }
    let mut input = String::new();
    std::io::stdin()
        .take(MAX_INPUT_BYTES)
        .read_to_string(&mut input)
        .map_err(|why| Refusal::new(Code::USAGE, format!("what git says on standard input cannot be read: {why}")))?;
    let updates = input.lines().filter(|line| !line.trim().is_empty()).map(update).collect::<Result<Vec<_>, _>>()?;
    let mut params = Map::new();
    params.insert("updates".to_owned(), Value::Array(updates));
    match ops::call(world, who, "gate.push", params) {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.code() == Code::NOT_INITIALISED => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

/// One line of git's: local ref, local object, remote ref, remote object.
fn update(line: &str) -> Result<Value, Refusal> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [local_ref, local_oid, remote_ref, _] = parts.as_slice() else {
        return Err(Refusal::new(Code::USAGE, "a line of git's is not `REF OID REF OID`").with("line", line));
    };
    let deletes = local_oid.bytes().all(|byte| byte == b'0');
    let local_oid = if deletes { Value::Null } else { json!(local_oid) };
    Ok(json!({ "local_ref": local_ref, "local_oid": local_oid, "remote_ref": remote_ref }))
}
