//! Faults of ports as refusals, once: code, words, and what is legal next.

use std::path::Path;

use serde_json::json;

use crate::domain::caller::Caller;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::ops::workspace::look::AtRisk;
use crate::ports::artifacts::ArtifactError;
use crate::ports::git::GitFault;
use crate::ports::ledger::LedgerFault;
use crate::ports::trees::TreeFault;
use crate::ports::world::LockFault;

pub fn of_ledger(fault: LedgerFault) -> Refusal {
    let words = fault.to_string();
    match fault {
        LedgerFault::Absent => not_initialised(),
        LedgerFault::Missing(path) => Refusal::new(Code::LEDGER_MISSING, words)
            .with("path", path.display().to_string())
            .with(
                "remedy",
                "restore a backup with `from`; only where there is none, a person may start an empty ledger",
            )
            .next("ledger.recover", "names what it could be recovered from", json!({ "dry_run": true })),
        LedgerFault::Moved { stream, expected, found } => Refusal::new(Code::LEDGER_BUSY, words)
            .with("stream", stream)
            .with("expected", expected)
            .with("found", found),
        LedgerFault::Busy { waited_ms } => Refusal::new(Code::LEDGER_BUSY, words).with("waited_ms", waited_ms),
        LedgerFault::NotWritable(why) => Refusal::new(Code::LEDGER_NOT_WRITABLE, words).with("why", why).next(
            "doctor",
            "says what is wrong with the place",
            json!({}),
        ),
        LedgerFault::Corrupt(why) => Refusal::new(Code::LEDGER_CORRUPT, words)
            .with("why", why)
            .next("ledger.verify", "says what does not hold", json!({}))
            .next("ledger.recover", "salvages what can be read and keeps the damaged file", json!({})),
        LedgerFault::Version(_) => Refusal::new(Code::LEDGER_VERSION, words).next(
            "ledger.rebuild",
            "folds every state anew, if this kctl is the newer one",
            json!({}),
        ),
        LedgerFault::Unsuitable(name) => Refusal::new(Code::FILESYSTEM_UNSUITABLE, words).with("file_system", name),
        LedgerFault::Failed(_) => Refusal::new(Code::STORAGE_FAILED, words),
    }
}

pub fn of_git(fault: GitFault) -> Refusal {
    let words = fault.to_string();
    match fault {
        GitFault::NotARepository { dir } => no_repository(&dir),
        GitFault::DubiousOwnership { dir } => Refusal::new(Code::DENIED, words)
            .with("path", dir.display().to_string())
            .with("remedy", format!("git config --global --add safe.directory '{}'", dir.display())),
        GitFault::Unsupported { what, .. } => Refusal::new(Code::REPOSITORY_UNSUPPORTED, words).with("what", what),
        GitFault::NoWorkTree { .. } => Refusal::new(Code::NO_WORK_TREE, words),
        GitFault::Io { path, .. } => Refusal::new(Code::STORAGE_FAILED, words).with("path", path.display().to_string()),
        GitFault::UnknownRevision { rev } => Refusal::new(Code::NOT_FOUND, words).with("revision", rev),
        GitFault::IllegalName { name, .. } => Refusal::new(Code::INVALID_VALUE, words).with("value", name),
        GitFault::WouldLose { path, what } => Refusal::new(Code::WOULD_LOSE_WORK, words)
            .with("path", path.display().to_string())
            .with("would_lose", AtRisk::of(&what))
            .with("remedy", "commit it, or move it elsewhere")
            .next("workspace.list", "names the workspaces and where they are", json!({})),
        GitFault::Taken { path, .. } => {
            Refusal::new(Code::WORKSPACE_FAILED, words).with("path", path.display().to_string())
        }
        GitFault::Unreachable { remote, words: said } => {
            Refusal::new(Code::REMOTE_UNREACHABLE, words).with("remote", remote).with("words", said)
        }
        GitFault::TooLarge { .. }
        | GitFault::TooMany { .. }
        | GitFault::Broken { .. }
        | GitFault::Failed { .. }
        | GitFault::TimedOut { .. }
        | GitFault::NotRun { .. }
        | GitFault::Tree(_) => Refusal::new(Code::GIT_FAILED, words),
    }
}

pub fn of_tree(fault: TreeFault) -> Refusal {
    let words = fault.to_string();
    match fault {
        TreeFault::Unreadable { path, .. } => Refusal::new(Code::DENIED, words).with("path", path.to_string()),
        TreeFault::NotOpened { dir, .. } | TreeFault::Index { dir, .. } => {
            Refusal::new(Code::NO_WORK_TREE, words).with("path", dir.display().to_string())
        }
        TreeFault::TooMany { path, limit, .. } => {
            Refusal::new(Code::STORAGE_FAILED, words).with("path", path.to_string()).with("limit", limit)
        }
    }
}

pub fn of_lock(fault: LockFault) -> Refusal {
    let words = fault.to_string();
    match fault {
        LockFault::Busy { waited_s } => Refusal::new(Code::WORKSPACE_BUSY, words).with("waited_s", waited_s),
        LockFault::Failed { path, .. } => {
            Refusal::new(Code::LEDGER_NOT_WRITABLE, words).with("path", path.display().to_string())
        }
    }
}

pub fn of_artifact(fault: ArtifactError) -> Refusal {
    let words = fault.to_string();
    match fault {
        ArtifactError::Missing(digest) => Refusal::new(Code::NOT_FOUND, words).with("artifact", digest),
        ArtifactError::Corrupt { digest, .. } => Refusal::new(Code::STORAGE_FAILED, words).with("artifact", digest),
        ArtifactError::TooLarge { digest, max_bytes, .. } => {
            Refusal::new(Code::STORAGE_FAILED, words).with("artifact", digest).with("limit", max_bytes)
        }
        ArtifactError::Storage { path, .. } => Refusal::new(Code::LEDGER_NOT_WRITABLE, words).with("path", path),
    }
}

pub fn no_repository(dir: &Path) -> Refusal {
    Refusal::new(Code::NO_REPOSITORY, format!("`{}` is not inside a git repository", dir.display()))
        .with("directory", dir.display().to_string())
        .with("remedy", "call kctl inside a repository, or name one with `-C DIR`")
}

pub fn not_initialised() -> Refusal {
    Refusal::new(Code::NOT_INITIALISED, "kctl is not set up in this repository").next(
        "init",
        "sets it up; `dry_run` shows what would change",
        json!({ "dry_run": true }),
    )
}

/// How to come by a session, with the name that the caller already goes by.
pub fn session_required(caller: &Caller) -> Refusal {
    acquire_next(Refusal::new(Code::SESSION_REQUIRED, "the operation needs a session"), caller)
}

pub fn session_invalid(why: &str, caller: &Caller) -> Refusal {
    acquire_next(Refusal::new(Code::SESSION_INVALID, format!("the session does not hold: {why}")), caller)
}

fn acquire_next(refusal: Refusal, caller: &Caller) -> Refusal {
    let agent = caller.agent.as_ref().map_or("agent", |agent| agent.as_str());
    refusal.next("session.acquire", "gives a session and its token", json!({ "agent": agent }))
}

/// Tells who holds the task and until when.
pub fn task_held(task: &Task, now: Stamp) -> Refusal {
    let id = &task.id;
    let Some(claim) = &task.claim else {
        return Refusal::new(Code::CLAIM_REQUIRED, format!("task `{id}` is not claimed"));
    };
    let holder = &claim.agent;
    Refusal::new(Code::TASK_HELD, format!("task `{id}` is held by `{holder}` until {}", claim.until))
        .with("task", id)
        .with("holder", holder)
        .with("session", &claim.session)
        .with("fence", claim.fence)
        .with("until", claim.until)
        .with("expires_in_s", now.seconds_until(claim.until))
        .next("task.next", "names a task that is free", json!({}))
        .next("task.show", "shows the task and its holder", json!({ "task": id }))
}
