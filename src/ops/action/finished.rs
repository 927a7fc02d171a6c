//! A host's finished call, as it is found on disk: what it was about and what came of it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::json;

use super::observe::{In, Observe};
use crate::domain::action::{Capability, Reached, There};
use crate::domain::digest::Digest;
use crate::domain::failure::Key;
use crate::domain::path::TreePath;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::stagnation::{Lines, Saw, Subject, Touched};
use crate::ops::call::Call;
use crate::ops::op::Op as _;
use crate::rules::gates::{self, Tool};
use crate::rules::{failure, stagnation};

/// The largest file whose content is digested, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The most files of one call whose content is digested.
const MAX_FILES: usize = 64;
/// The longest result that is digested here, in bytes.
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;
/// The longest id of a call, a turn or a process, in bytes.
pub const MAX_ID_BYTES: usize = 200;

/// What a call was about.
pub struct Finished {
    pub subject: Subject,
    pub files: Vec<Touched>,
    /// What the disk says of the first of them.
    pub on_disk: Option<Saw>,
    /// The command, where it was one: as it was given, and what it is known as.
    pub command: Option<(String, Key)>,
}

/// Refuses what no host sends: ids that are empty, long or hold control characters, and results that are too long.
pub fn sound(input: &In) -> Result<(), Refusal> {
    let ids = [("call", Some(&input.call)), ("tool", Some(&input.tool)), ("turn", input.turn.as_ref())];
    let process = [("process", input.process.as_ref())];
    for (field, id) in ids.into_iter().chain(process) {
        let legal = |id: &String| (1..=MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(char::is_control);
        if !id.is_none_or(legal) {
            let words = format!("`{field}` is 1 to {MAX_ID_BYTES} bytes without control characters");
            return Err(Refusal::invalid(field, words));
        }
    }
    match (&input.result, &input.result_digest) {
        (Some(_), Some(_)) => Err(Refusal::invalid("result_digest", "give the result or its digest, not both")),
        (Some(result), None) if result.len() > MAX_RESULT_BYTES => {
            let words = format!("`result` has more than {MAX_RESULT_BYTES} bytes: give `result_digest` instead");
            Err(Refusal::invalid("result", words).with("limit", MAX_RESULT_BYTES))
        }
        _ if input.running.is_some() && input.process.is_none() => {
            Err(Refusal::invalid("process", "`running` is about a `process`, and none is named"))
        }
        _ => Ok(()),
    }
}

/// What the call of `tool` was about. Its paths are looked up now, whatever the host says of their content.
pub fn look(call: &mut Call<'_>, input: &In, tool: Option<&Tool>) -> Result<Finished, Refusal> {
    let Some(tool) = tool else { return Ok(other(input)) };
    match tool.capability {
        Capability::Process => {
            let line = stagnation::command(&input.arguments).map_err(|(member, why)| misfit(member, why))?;
            let key = failure::lineage(&line);
            let (command, digest) = stagnation::known_as(&key);
            let subject = Subject::Command { command, digest };
            Ok(Finished { subject, files: Vec::new(), on_disk: None, command: Some((line, key)) })
        }
        Capability::FileRead | Capability::FileWrite | Capability::FileDelete => files(call, input, tool),
        Capability::DirList | Capability::Search => looked_for(call, input, tool),
        Capability::Network | Capability::Vcs | Capability::External | Capability::Mcp | Capability::Unknown => {
            Ok(other(input))
        }
    }
}

fn other(input: &In) -> Finished {
    let subject = Subject::Other { arguments: Digest::of_json(&input.arguments.0) };
    Finished { subject, files: Vec::new(), on_disk: None, command: None }
}

fn looked_for(call: &Call<'_>, input: &In, tool: &Tool) -> Result<Finished, Refusal> {
    let given = gates::paths(tool, &input.arguments).map_err(|(member, why)| misfit(member, why))?;
    let (path, reached) = inside(call, given.first().map_or(".", String::as_str))?;
    let subject = if tool.capability == Capability::Search {
        let (words, narrowed) = stagnation::query(&input.arguments).map_err(|(member, why)| misfit(member, why))?;
        Subject::Query { words, path, narrowed }
    } else {
        Subject::Listing { path }
    };
    let on_disk = (reached.there == There::Nothing).then_some(Saw::Nothing);
    Ok(Finished { subject, files: Vec::new(), on_disk, command: None })
}

fn files(call: &mut Call<'_>, input: &In, tool: &Tool) -> Result<Finished, Refusal> {
    let given = gates::paths(tool, &input.arguments).map_err(|(member, why)| misfit(member, why))?;
    let mut files = Vec::new();
    let (mut total, mut left_out) = (0, 0);
    for given in given {
        let (path, reached) = inside(call, &given)?;
        if files.len() == MAX_FILES {
            left_out += 1;
            continue;
        }
        let (content, lines) = content(call, &path, &reached)?;
        total = lines;
        files.push(Touched { path, content });
    }
    if left_out > 0 {
        call.warn("not_digested", format!("{left_out} files beyond the first {MAX_FILES} are not recorded"));
    }
    let read = files.first().filter(|_| tool.capability == Capability::FileRead);
    let subject = match read {
        Some(file) => {
            let lines = stagnation::lines(input.host, &input.arguments, total);
            let lines = lines.map_err(|(member, why)| misfit(member, why))?;
            // What is not there has no lines to tell apart.
            let lines = if file.content == Saw::Nothing { Lines::ONE } else { lines };
            Subject::Read { path: file.path.clone(), lines }
        }
        None => Subject::Files {},
    };
    let on_disk = files.first().map(|file| file.content.clone());
    Ok(Finished { subject, files, on_disk, command: None })
}

/// Where `given` leads inside of the work tree.
fn inside(call: &Call<'_>, given: &str) -> Result<(TreePath, Reached), Refusal> {
    if let Some(wrong) = gates::plainly_wrong(given) {
        return Err(outside(given, &wrong.reason));
    }
    let here = call.work_tree()?;
    let reached = call.world.paths.reach(&call.world.cwd.join(given)).map_err(|why| outside(given, &why))?;
    let Ok(path) = reached.real.strip_prefix(here) else {
        return Err(outside(given, &format!("it leads to `{}`, outside of the work tree", reached.real.display())));
    };
    let bytes = if path == Path::new("") { b"." } else { path.as_os_str().as_bytes() };
    Ok((TreePath::new(bytes), reached))
}

fn outside(given: &str, why: &str) -> Refusal {
    let words = format!("`{given}` is not a path of the work tree: {why}");
    let refusal = Refusal::new(Code::OUT_OF_TREE, words).with("field", "arguments").with("path", given);
    refusal.next("workspace.list", "names the workspaces: report from inside the one that was worked in", json!({}))
}

/// The digest of what is at `path`, and how many lines it has.
fn content(call: &mut Call<'_>, path: &TreePath, reached: &Reached) -> Result<(Saw, u64), Refusal> {
    match reached.there {
        There::Nothing => return Ok((Saw::Nothing, 0)),
        There::Dir | There::Other => return Ok((Saw::Unsaid, 0)),
        There::File => {}
    }
    match call.world.trees.read(call.work_tree()?, path, MAX_FILE_BYTES) {
        Ok(Some(bytes)) => {
            let ends = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            let open = bytes.last().is_some_and(|last| *last != b'\n');
            Ok((Saw::Content(Digest::of(&bytes)), ends + u64::from(open)))
        }
        Ok(None) => Ok((Saw::Nothing, 0)),
        Err(why) => {
            call.warn("not_digested", format!("`{path}` is recorded without its content: {why}"));
            Ok((Saw::Unsaid, 0))
        }
    }
}

pub fn misfit(member: &str, why: String) -> Refusal {
    Refusal::new(Code::INVALID_PARAMS, why).with("member", format!("arguments.{member}")).next(
        "ops.describe",
        "shows what is taken",
        json!({ "name": Observe::NAME }),
    )
}
