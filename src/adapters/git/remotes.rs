//! What talks to remotes.

use std::ffi::OsStr;
use std::path::Path;

use git2::Repository;

use super::branches::legal_ref;
use super::objects::{ancestry, theirs};
use super::program::{MAX_LOCAL_WAIT, MAX_REMOTE_WAIT, MAX_TRANSFER_WAIT, Program, Ran};
use super::url::remote_url;
use crate::domain::id::Oid;
use crate::ports::git::{Ancestry, Depth, GitFault, GitResult, Pushed, RefUpdate, Rejection, RemoteUrl};

/// Refs that one call asks for or moves.
const MAX_REFS: usize = 256;

pub(super) fn legal_remote(name: &str) -> GitResult<&str> {
    let legal = git2::Remote::is_valid_name(name) && !name.starts_with('-');
    if legal { Ok(name) } else { Err(GitFault::IllegalName { noun: "remote's name", name: name.to_owned() }) }
}

/// The one address that a push goes to. Rewriting by `url.*.insteadOf` has been done.
pub(super) fn push_url(git: &Program, dir: &Path, remote: &str) -> GitResult<RemoteUrl> {
    let args = ["remote", "get-url", "--push", "--all", legal_remote(remote)?].map(OsStr::new);
    let ran = git.must(dir, &args, MAX_LOCAL_WAIT)?;
    let text = String::from_utf8(ran.stdout)
        .map_err(|_| GitFault::IllegalName { noun: "address", name: format!("the push address of {remote}") })?;
    let mut urls = text.lines();
    match (urls.next(), urls.next()) {
        (Some(url), None) => Ok(remote_url(url)),
        // A push there would be several, and none of them the exact one.
        _ => Err(GitFault::TooMany { what: "push addresses of one remote", limit: 1 }),
    }
}

pub(super) fn remote_refs(git: &Program, dir: &Path, url: &RemoteUrl, refs: &[&str]) -> GitResult<Vec<(String, Oid)>> {
    if refs.len() > MAX_REFS {
        return Err(GitFault::TooMany { what: "refs in one question", limit: MAX_REFS });
    }
    if refs.is_empty() {
        return Ok(Vec::new());
    }
    let mut args: Vec<&OsStr> = ["ls-remote", "--", &url.secret].map(OsStr::new).to_vec();
    for name in refs {
        legal_ref(name)?;
        args.push(OsStr::new(name));
    }
    let ran = git.run(dir, &args, MAX_REMOTE_WAIT)?;
    if !ran.ok() {
        return Err(GitFault::Unreachable { remote: url.shown.clone(), words: ran.words() });
    }
    let text = String::from_utf8_lossy(&ran.stdout);
    // A pattern also matches the end of longer names.
    let named = text.lines().filter_map(|line| line.split_once('\t')).filter(|(_, name)| refs.contains(name));
    let parsed = named.filter_map(|(oid, name)| Some((name.to_owned(), oid.parse().ok()?)));
    Ok(parsed.collect())
}

pub(super) fn fetch(
    git: &Program,
    repo: &Repository,
    dir: &Path,
    remote: &str,
    reference: &str,
    depth: Depth,
) -> GitResult<Option<Oid>> {
    let reference = legal_ref(reference)?;
    // An address of several would be asked in turn; a fetch uses the first.
    let ran = git.must(dir, &["remote", "get-url", legal_remote(remote)?].map(OsStr::new), MAX_LOCAL_WAIT)?;
    let url = remote_url(String::from_utf8_lossy(&ran.stdout).lines().next().unwrap_or_default());
    let mut args = vec!["fetch", "--quiet", "--no-write-fetch-head", "--no-tags", "--no-recurse-submodules"];
    if depth == Depth::Whole && repo.is_shallow() {
        args.push("--unshallow");
    }
    args.extend(["--", remote, &reference]);
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    // The ref can move between the question and the fetch; then the fetch brought its successor, and we ask again.
    for _ in 0..2 {
        let Some((_, oid)) = remote_refs(git, dir, &url, &[&reference])?.pop() else { return Ok(None) };
        let ran = git.run(dir, &args, MAX_TRANSFER_WAIT)?;
        if !ran.ok() {
            return Err(GitFault::Unreachable { remote: url.shown, words: ran.words() });
        }
        repo.odb().and_then(|odb| odb.refresh()).map_err(super::place::broken)?;
        if repo.find_object(theirs(&oid)?, None).is_ok() {
            return Ok(Some(oid));
        }
    }
    Err(GitFault::Unreachable { remote: url.shown, words: format!("`{reference}` moved during each fetch") })
}

pub(super) fn push(
    git: &Program,
    repo: &Repository,
    dir: &Path,
    url: &RemoteUrl,
    updates: &[RefUpdate],
) -> GitResult<Pushed> {
    if updates.len() > MAX_REFS {
        return Err(GitFault::TooMany { what: "refs in one push", limit: MAX_REFS });
    }
    for update in updates {
        legal_ref(&update.dst)?;
        theirs(&update.oid)?;
        if let Some(words) = would_drop_commits(repo, update)? {
            return Ok(Pushed::Rejected { reason: Rejection::NotAncestor, words });
        }
    }
    let mut args: Vec<String> =
        ["push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules"].map(str::to_owned).to_vec();
    if updates.len() > 1 {
        args.push("--atomic".to_owned());
    }
    // The lease names what was validated, not what a tracking ref says. An empty value means: must not exist.
    args.extend(updates.iter().map(|update| {
        let expected = update.expected.as_ref().map_or("", Oid::as_str);
        format!("--force-with-lease={}:{expected}", update.dst)
    }));
    args.extend(["--".to_owned(), url.secret.clone()]);
    args.extend(updates.iter().map(|update| format!("{}:{}", update.oid, update.dst)));
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    Ok(outcome(&git.run(dir, &args, MAX_TRANSFER_WAIT)?))
}

/// A lease lets git move a ref to anything, so that a branch only moves forward is held here (I11).
fn would_drop_commits(repo: &Repository, update: &RefUpdate) -> GitResult<Option<String>> {
    let Some(expected) = update.expected.as_ref().filter(|expected| **expected != update.oid) else { return Ok(None) };
    if update.dst.starts_with("refs/tags/") {
        return Ok(Some(format!("`{}` exists, and a tag does not move", update.dst)));
    }
    if !update.dst.starts_with("refs/heads/") {
        return Ok(None);
    }
    match ancestry(repo, expected, &update.oid) {
        Ok(Ancestry::Yes) => Ok(None),
        Ok(Ancestry::No) => Ok(Some(format!("{} does not build on {expected}", update.oid))),
        Ok(Ancestry::UnknownShallow) => Ok(Some("this clone is too shallow to tell what would be dropped".to_owned())),
        Err(GitFault::UnknownRevision { rev }) => Ok(Some(format!("{rev} is not here; fetch it first"))),
        Err(fault) => Err(fault),
    }
}

/// Reads `git push --porcelain`: one line a ref, `<flag> TAB <from>:<to> TAB <summary>`.
fn outcome(ran: &Ran) -> Pushed {
    let text = String::from_utf8_lossy(&ran.stdout);
    let lines: Vec<(char, &str, &str)> = text.lines().filter_map(ref_line).collect();
    if ran.ok() {
        return if lines.iter().all(|(flag, ..)| *flag == '=') { Pushed::UpToDate } else { Pushed::Accepted };
    }
    let words = ran.words();
    if words.contains("does not support --atomic") {
        return Pushed::Rejected { reason: Rejection::AtomicUnsupported, words };
    }
    let refused: Vec<_> = lines.iter().filter(|(flag, ..)| *flag == '!').collect();
    if let Some((_, dst, _)) = refused.iter().find(|(.., summary)| summary.contains("(stale info)")) {
        return Pushed::LeaseMoved { dst: (*dst).to_owned() };
    }
    // With an atomic push, refs that were fine are refused beside the one that was not.
    let telling = refused.iter().find(|(.., summary)| !summary.contains("atomic")).or(refused.first());
    if let Some((_, dst, summary)) = telling {
        // The server compares with what it held when the push began; somebody was faster.
        let raced = ["failed to update ref", "cannot lock ref", "reference already exists", "fetch first"];
        if raced.iter().any(|sign| summary.contains(sign)) {
            return Pushed::LeaseMoved { dst: (*dst).to_owned() };
        }
        let said = format!("{summary}\n{words}");
        return Pushed::Rejected { reason: Rejection::Remote, words: super::url::redact_words(said.trim()) };
    }
    // Git says `fatal:` when the connection failed. A hook of ours that said no is answered by status 1 alone.
    if ran.code() == 1 && !words.contains("fatal:") {
        return Pushed::Rejected { reason: Rejection::Local, words };
    }
    Pushed::Unreachable { words }
}

fn ref_line(line: &str) -> Option<(char, &str, &str)> {
    let mut parts = line.splitn(3, '\t');
    let (flag, refs, summary) = (parts.next()?, parts.next()?, parts.next()?);
    let mut flag = flag.chars();
    let (flag, None) = (flag.next()?, flag.next()) else { return None };
    Some((flag, refs.split_once(':')?.1, summary))
}
