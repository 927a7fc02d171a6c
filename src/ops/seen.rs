//! Asking the remote where a base is, and keeping what it said. A reference of this clone can be moved by anybody who
//! wants another judge; what kctl itself was told cannot (I7).

use std::cell::OnceCell;

use crate::domain::id::Oid;
use crate::domain::refusal::Refusal;
use crate::domain::root::{BaseName, Root, RootEvent, SeenBase};
use crate::ports::git::{Depth, Git, GitResult};

use super::base::{at, elsewhere, first, reference, tracking};
use super::call::Call;

/// Asks the remote where the base is, unless this clone's reference holds what was last seen there. A remote that does
/// not answer is told of, and what was seen last goes on to judge.
///
/// # Errors
/// When the ledger cannot be read or written, or what git says of this clone.
pub fn ask(call: &mut Call<'_>) -> Result<(), Refusal> {
    if call.ledger.is_none() {
        return Ok(());
    }
    let Some(name) = first(call.repository()?, call.recorded_base()?.as_ref())? else { return Ok(()) };
    ask_of(call, &name)?;
    // What cannot be read there is refused where it is used.
    let Ok(Some(base)) = at(call.repository()?, name, &call.seen_bases()?) else { return Ok(()) };
    match elsewhere(call.repository()?, &base)? {
        Some(named) => ask_of(call, &named),
        None => {
            // Found already: the call is judged by it, and does not look again.
            call.base = OnceCell::from(Some(base));
            Ok(())
        }
    }
}

fn ask_of(call: &mut Call<'_>, name: &BaseName) -> Result<(), Refusal> {
    let (Some(remote), branch) = (name.remote.clone(), name.branch.clone()) else { return Ok(()) };
    let here = tracking(call.repository()?, &reference(Some(&remote), &branch))?;
    if here.is_some() && here == last_seen(call, &remote, &branch)? {
        return Ok(());
    }
    match told(call.repository()?, &remote, &branch, here.as_ref()) {
        Ok(Some(commit)) => record(call, SeenBase { remote, branch, commit, at: call.now() }),
        Ok(None) => {
            call.warn("base_not_seen", format!("the remote `{remote}` has no branch `{branch}`"));
            Ok(())
        }
        Err(why) => {
            let judges = match last_seen(call, &remote, &branch)? {
                Some(commit) => format!("{}, where it was last seen, judges", commit.short()),
                None => "this clone's own reference to it judges".to_owned(),
            };
            call.warn("base_not_asked", format!("`{branch}` of `{remote}` may have moved: {why}. {judges}"));
            Ok(())
        }
    }
}

fn last_seen(call: &Call<'_>, remote: &str, branch: &str) -> Result<Option<Oid>, Refusal> {
    let seen = call.seen_bases()?;
    Ok(seen.into_iter().find(|seen| seen.remote == remote && seen.branch == branch).map(|seen| seen.commit))
}

/// What the remote holds, asked where `publish` asks, with its commit brought here. A reference that holds something else
/// is put right by the same fetch, where the clone fetches that branch.
fn told(git: &dyn Git, remote: &str, branch: &str, here: Option<&Oid>) -> GitResult<Option<Oid>> {
    let wanted = format!("refs/heads/{branch}");
    let url = git.push_url(remote)?;
    let found = git.remote_refs(&url, &[&wanted])?;
    let Some((_, commit)) = found.into_iter().find(|(name, _)| *name == wanted) else { return Ok(None) };
    // Fetched from elsewhere than pushed to, it may not be had; then the commit may be here all the same.
    if here != Some(&commit)
        && let Err(why) = git.fetch(remote, &wanted, Depth::AsConfigured)
        && git.resolve(commit.as_str()).is_err()
    {
        return Err(why);
    }
    git.resolve(commit.as_str())?;
    Ok(Some(commit))
}

/// Keeps where the remote said that a base is, unless that is known.
///
/// # Errors
/// When the ledger cannot be written.
pub fn record(call: &mut Call<'_>, seen: SeenBase) -> Result<(), Refusal> {
    if last_seen(call, &seen.remote, &seen.branch)?.as_ref() == Some(&seen.commit) {
        call.base.take();
        return Ok(());
    }
    if !call.dry_run {
        call.step(|call| note(call, &seen))?;
    }
    call.asked.push(seen);
    // Whatever was looked up before was looked up by an older word.
    call.base.take();
    Ok(())
}

/// The same within a step that is under way.
///
/// # Errors
/// When the ledger cannot be written.
pub fn note(call: &mut Call<'_>, seen: &SeenBase) -> Result<(), Refusal> {
    // Another call may have been told the same meanwhile.
    if last_seen(call, &seen.remote, &seen.branch)?.as_ref() == Some(&seen.commit) {
        return Ok(());
    }
    let origin = call.views()?.origin().clone();
    let held = call.load_or_blank::<Root>(&origin)?;
    let SeenBase { remote, branch, commit, .. } = seen.clone();
    call.record::<Root>(&origin, held.ver, RootEvent::BaseSeen { remote, branch, commit }).map(drop)
}
