//! Shutting a run in: by `bwrap` where it works, else by Landlock, else not at all, and said plainly.
//!
//! Under both, kctl's own program starts the command from inside (`inner`): it says exactly how the command ended, which
//! `bwrap` cannot (a signal and `exit 137` look alike to it), and it stays until kctl has looked at what was left over.

mod bwrap;
pub mod inner;
mod landlock;
mod places;
pub mod probe;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::environment::Scrubbed;
use crate::domain::isolation::{Isolation, Sandbox, Tier};

pub use places::{Places, make_caches};

/// How one run is shut in.
pub struct Shut {
    pub isolation: Isolation,
    pub means: Means,
}

pub enum Means {
    Open,
    /// `bwrap` with these arguments; the command comes behind them.
    Bwrap {
        program: PathBuf,
        arguments: Vec<OsString>,
    },
    Landlock(landlock::Rules),
}

/// Decides how a run is shut in. `helper` is kctl's own program.
pub fn decide(sandbox: Option<&Sandbox>, scrubbed: &Scrubbed, cwd: &Path, helper: &Path) -> Shut {
    let Some(sandbox) = sandbox else {
        return Shut { isolation: Isolation::none("it was not asked for"), means: Means::Open };
    };
    let places = Places::of(sandbox, &scrubbed.vars);
    let no_bwrap = match probe::bwrap(scrubbed.vars.get(OsStr::new("PATH")), sandbox) {
        Ok(program) => {
            let arguments = bwrap::arguments(&places, sandbox.network, cwd, helper, &probe::empty_file(sandbox));
            let isolation = Isolation {
                tier: Tier::Bwrap,
                network: sandbox.network,
                why: format!("{} works here", program.display()),
            };
            return Shut { isolation, means: Means::Bwrap { program, arguments } };
        }
        Err(why) => why,
    };
    match landlock::known() {
        (false, _) => {
            let why = format!("{no_bwrap}, and the kernel has no Landlock");
            Shut { isolation: Isolation::none(why), means: Means::Open }
        }
        (true, holds_network) => {
            let network = sandbox.network || !holds_network;
            let tail = if holds_network { "" } else { ", which does not hold the network here" };
            let isolation = Isolation { tier: Tier::Landlock, network, why: format!("{no_bwrap}: Landlock{tail}") };
            Shut { isolation, means: Means::Landlock(landlock::Rules::new(&places, network)) }
        }
    }
}
