//! The kernel's own rules, for where `bwrap` does not work. They hold what is written and, where the kernel is new enough, TCP;
//! they hide nothing, and processes of the run see all others.

use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError,
};
use serde::{Deserialize, Serialize};

use super::places::Places;

/// Written to by nearly everything.
const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/dev", "/proc"];

/// What the helper asks of the kernel before it becomes the command.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rules {
    writable: Vec<PathBuf>,
    network: bool,
}

impl Rules {
    pub fn new(places: &Places, network: bool) -> Self {
        let shared = SHARED.iter().map(PathBuf::from).filter(|path| path.exists());
        let mut writable: Vec<PathBuf> = places.writable.iter().cloned().chain(shared).collect();
        writable.push(places.work_tree.clone());
        writable.extend(std::env::var_os("TMPDIR").map(PathBuf::from).filter(|path| path.is_dir()));
        Self { writable, network }
    }

    /// Holds this thread, and everything that it starts or becomes, to these rules for good.
    pub fn hold(&self) -> Result<(), RulesetError> {
        let writing = AccessFs::from_write(ABI::V5);
        let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(writing)?;
        if !self.network {
            rules = rules.handle_access(AccessNet::ConnectTcp)?;
        }
        let mut held = rules.create()?;
        for path in &self.writable {
            let Ok(opened) = PathFd::new(path) else { continue };
            let may = if path.is_dir() { writing } else { writing & AccessFs::from_file(ABI::V5) };
            held = held.add_rule(PathBeneath::new(opened, may))?;
        }
        held.restrict_self().map(drop)
    }
}

/// Whether the kernel can hold writes, and whether it can hold the network.
pub fn known() -> (bool, bool) {
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    (strict().handle_access(AccessFs::WriteFile).is_ok(), strict().handle_access(AccessNet::ConnectTcp).is_ok())
}
