//! `doctor`: whether everything that kctl rests on is in order here, and what to do where it is not.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::isolation::MAY_LEAVE;
use crate::domain::profile::IsolationWish;
use crate::domain::refusal::Refusal;
use crate::ops::base::Base;
use crate::ops::call::Call;
use crate::ops::catalogue::NoParams;
use crate::ops::check::declared::{self, Declared};
use crate::ops::fault;
use crate::ops::hooks;
use crate::ops::op::{Needs, Op};
use crate::ops::tools;
use crate::ops::verification::subject::Subject;
use crate::ops::verification::{assess, beside};
use crate::ports::ledger::LedgerFault;
use crate::ports::runner::{Sandbox, Tier};
use crate::rules::adoption::hooks::{GateStatus, status as hook_status};
use crate::rules::verification::due::Due;

/// How far the clock may be behind the last event, in milliseconds, before it counts as set back.
const MAX_SKEW_MS: i64 = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Ok,
    /// It works, and somebody should know.
    Warning,
    Problem,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Finding {
    part: &'static str,
    health: Health,
    what: String,
    /// What to do, where there is something to do.
    remedy: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    healthy: bool,
    kctl: &'static str,
    findings: Vec<Finding>,
}

pub struct Doctor;

impl Op for Doctor {
    const NAME: &'static str = "doctor";
    const ABOUT: &'static str = "Check git, the ledger, hooks, the profile, the clock and permissions";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Repository;
    const COLUMNS: &'static [&'static str] = &["part", "health", "what", "remedy"];
    const HOLDS: Option<&'static str> = Some("healthy");
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl doctor", "exits with 8 if anything is a problem")];
    type In = NoParams;
    type Out = Out;

    fn run(call: &mut Call<'_>, _: NoParams) -> Result<Out, Refusal> {
        let mut findings = vec![git(call), repository(call)?];
        findings.extend(ledger(call)?);
        findings.push(profile(call));
        findings.extend(tools(call));
        findings.push(base(call));
        findings.extend(remote(call));
        findings.push(gate(call));
        findings.push(isolation(call)?);
        findings.extend(not_shut_in(call));
        findings.extend(beside_the_tree(call));
        findings.push(clock(call)?);
        findings.push(secrets(call));
        let healthy = findings.iter().all(|finding| finding.health != Health::Problem);
        Ok(Out { healthy, kctl: crate::VERSION, findings })
    }
}

fn ok(part: &'static str, what: impl Into<String>) -> Finding {
    Finding { part, health: Health::Ok, what: what.into(), remedy: None }
}

fn warning(part: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { part, health: Health::Warning, what: what.into(), remedy: Some(remedy.into()) }
}

fn problem(part: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { part, health: Health::Problem, what: what.into(), remedy: Some(remedy.into()) }
}

fn git(call: &Call<'_>) -> Finding {
    match call.world.runner.tool_version("git", &call.world.cwd, None) {
        Ok(version) => ok("git", version),
        Err(why) => problem("git", why.to_string(), "install git, and make it reachable through PATH"),
    }
}

fn repository(call: &Call<'_>) -> Result<Finding, Refusal> {
    let place = call.repository()?.place();
    let common = place.common_dir.display();
    Ok(match &place.work_tree {
        Some(work_tree) => ok("repository", format!("{} (shared part: {common})", work_tree.display())),
        None => warning("repository", format!("{common} has no work tree"), "work in a linked worktree of it"),
    })
}

fn ledger(call: &Call<'_>) -> Result<Vec<Finding>, Refusal> {
    let common_dir = call.repository()?.place().common_dir.clone();
    let place = call.world.ledgers.describe(&common_dir);
    let mode = place.journal_mode.as_deref().unwrap_or("unknown");
    let about = format!(
        "{} ({} bytes, SQLite {}, journal {mode}, file system {})",
        place.path, place.bytes, place.sqlite_version, place.file_system
    );
    let found = match call.world.ledgers.verify(&common_dir) {
        Ok(verified) if verified.problems.is_empty() => {
            ok("ledger", format!("{} events verify; {about}", verified.events))
        }
        Ok(verified) => {
            let first = verified.problems.first().map_or("", |problem| problem.what.as_str());
            problem("ledger", format!("{} problems, the first: {first}", verified.problems.len()), "kctl ledger verify")
        }
        Err(LedgerFault::Absent) => problem("ledger", "there is none yet", "kctl init"),
        Err(why) => problem("ledger", why.to_string(), "kctl ledger recover"),
    };
    let writable = if place.writable {
        ok("permissions", "custody can be written")
    } else {
        problem("permissions", format!("custody cannot be written at {}", place.path), "give write access to it")
    };
    Ok(vec![found, writable])
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn profile(call: &Call<'_>) -> Finding {
    match call.work_tree_profile(None) {
        Ok(Some(profile)) if profile.checks.is_empty() => {
            warning("profile", "0 checks: nothing is run", "declare a check in .decapod/kctl.toml: kctl help profile")
        }
        Ok(Some(profile)) => ok("profile", counted(profile.checks.len(), "check")),
        Ok(None) => problem("profile", "there is no .decapod/kctl.toml", "kctl init"),
        Err(why) => problem("profile", why.message().to_owned(), "mend the key that is named"),
    }
}

fn base(call: &Call<'_>) -> Finding {
    match call.base() {
        // First: what the base that was seen last is lacking may be there by now.
        Ok(Some(base)) if base.strayed().is_some() => warning(
            "base",
            unasked(&base),
            "kctl validate asks the remote; if that says the same as before, find out who moved the reference",
        ),
        Ok(Some(base)) if base.profile.is_none() => warning(
            "base",
            format!("{} at {} has no profile", base.reference, base.commit.short()),
            "commit .decapod/kctl.toml and push it to the base: until then nothing can be published",
        ),
        Ok(Some(base)) if matches!(call.recorded_base(), Ok(None)) => warning(
            "base",
            format!("{} at {} is taken from the remote's HEAD and not recorded", base.reference, base.commit.short()),
            "kctl init records it, so that nobody can name another judge",
        ),
        Ok(Some(base)) => ok("base", format!("{} at {}", base.reference, base.commit.short())),
        Ok(None) => warning("base", "this clone knows no base", "commit something, or fetch the remote"),
        Err(why) => problem("base", why.message().to_owned(), "mend the profile on the base"),
    }
}

/// What is known of a base whose reference was moved since the remote was asked.
fn unasked(base: &Base) -> String {
    let (reference, judges) = (&base.reference, base.commit.short());
    match &base.tracking {
        Some(here) => format!(
            "{reference} is at {} here, as after a push or a fetch; the remote was not asked yet, and until then {judges} judges",
            here.short()
        ),
        None => format!("{reference} is gone here; the remote was not asked yet, and until then {judges} judges"),
    }
}

/// Says so of every program that a check needs and that is not there.
fn tools(call: &Call<'_>) -> Option<Finding> {
    let profile = call.work_tree_profile(None).ok().flatten()?;
    let missing = tools::missing(call, &profile);
    let named: Vec<String> = missing.iter().map(|(check, tool)| format!("`{tool}` for check `{check}`")).collect();
    if named.is_empty() {
        return (!profile.checks.is_empty()).then(|| ok("tools", "what the checks start is on PATH"));
    }
    let what = format!("not on PATH: {}", named.join(", "));
    Some(warning("tools", what, "install it, or change the check in .decapod/kctl.toml"))
}

/// Warns where there is nowhere to publish to.
fn remote(call: &Call<'_>) -> Option<Finding> {
    match call.repository().and_then(|git| git.remotes().map_err(fault::of_git)) {
        Ok(remotes) if remotes.is_empty() => Some(warning(
            "remote",
            "there is no remote",
            "git remote add origin URL, then kctl init: until then nothing can be published",
        )),
        Ok(_) => None,
        Err(why) => Some(problem("remote", why.message().to_owned(), "mend git's configuration")),
    }
}

fn gate(call: &Call<'_>) -> Finding {
    let facts = match hooks::survey(call) {
        Ok(facts) => facts,
        Err(why) => return problem("hooks", why.message().to_owned(), "look at git's core.hooksPath"),
    };
    match hook_status(&facts) {
        GateStatus::InForce { at, outdated: false } => ok("hooks", format!("the pre-push gate is {}", at.display())),
        GateStatus::InForce { at, outdated: true } => {
            warning("hooks", format!("the pre-push gate at {} is of another kctl", at.display()), "kctl init")
        }
        GateStatus::Absent => warning("hooks", "the pre-push gate is not installed", "kctl init"),
        GateStatus::NotInForce(why) => problem("hooks", why.to_string(), "kctl init"),
    }
}

/// By what checks are shut in here.
fn isolation(call: &Call<'_>) -> Result<Finding, Refusal> {
    let place = call.repository()?.place();
    let Some(work_tree) = place.work_tree.clone() else { return Ok(ok("isolation", "there is no work tree here")) };
    let sandbox = Sandbox { network: false, work_tree, common_dir: place.common_dir.clone(), writable: Vec::new() };
    let found = call.world.runner.isolation(&sandbox);
    let remedy = "install bubblewrap where unprivileged user namespaces are allowed";
    Ok(match found.tier {
        Tier::Bwrap => ok("isolation", format!("checks run under bwrap: {}", found.why)),
        Tier::Landlock => {
            let what = format!(
                "checks run under Landlock, which holds writes and hides nothing, and {MAY_LEAVE}: {}",
                found.why
            );
            warning("isolation", what, remedy)
        }
        Tier::None => {
            let what = format!("checks are not shut in, and {MAY_LEAVE}: {}", found.why);
            warning("isolation", what, remedy)
        }
    })
}

/// The checks that the machine's tier does not speak for, since the profile lets them out.
fn not_shut_in(call: &Call<'_>) -> Option<Finding> {
    let profile = call.work_tree_profile(None).ok().flatten()?;
    let open = profile.checks.iter().filter(|(_, check)| check.isolation == IsolationWish::None);
    let names: Vec<String> = open.map(|(name, _)| format!("`{name}`")).collect();
    let what = format!("not shut in, as the profile asks: {}; of these {MAY_LEAVE}", names.join(", "));
    let remedy = "leave `isolation` out of a check that can do without it";
    (!names.is_empty()).then(|| warning("isolation", what, remedy))
}

/// What checks go by that nobody else has, or whose change stales nothing. Best effort: what cannot be looked at is for
/// `validate` to refuse.
fn beside_the_tree(call: &Call<'_>) -> Vec<Finding> {
    let Ok(subject) = Subject::of_tree(call) else { return Vec::new() };
    let Ok(snapshot) = assess::snapshot(call, &subject) else { return Vec::new() };
    let due: Vec<Due> = declared::all(&subject).iter().map(Declared::due).collect();
    let found = beside::warnings(call, &subject, &due, &snapshot);
    let remedy = "track it, or let a check make it from what is tracked";
    found.into_iter().map(|(_, what)| warning("inputs", what, remedy)).collect()
}

fn clock(call: &Call<'_>) -> Result<Finding, Refusal> {
    let now = call.now();
    let Some(ledger) = &call.ledger else { return Ok(ok("clock", now.to_string())) };
    let last = ledger.last_at().map_err(crate::ops::fault::of_ledger)?;
    Ok(match last {
        Some(last) if now.ms().saturating_add(MAX_SKEW_MS) < last.ms() => problem(
            "clock",
            format!("it says {now}, and the last event was recorded at {last}"),
            "set the clock: until it catches up, leases last longer than they say",
        ),
        Some(_) | None => ok("clock", now.to_string()),
    })
}

fn secrets(call: &Call<'_>) -> Finding {
    let exposed = call.world.secrets.exposed();
    if let Some(first) = exposed.first() {
        let what =
            format!("{} can be read or written by others: `{first}`", counted(exposed.len(), "file or directory"));
        let what = if exposed.len() == 1 { format!("`{first}` can be read or written by others") } else { what };
        return problem("secrets", what, format!("chmod go-rwx '{first}', and end the session that it belongs to"));
    }
    match call.world.secrets.place() {
        Ok(place) => ok("secrets", format!("tokens are kept in {place}")),
        Err(why) => warning("secrets", why, "set HOME or XDG_STATE_HOME, or send the token with each call"),
    }
}
