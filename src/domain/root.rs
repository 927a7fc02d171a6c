//! The root: the governed repository, and how kctl was put into it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::event::Meta;
use super::fold::{Entity, Index, Kind};
use super::id::{Oid, OriginId};
use super::stamp::Stamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "body")]
pub enum RootEvent {
    #[serde(rename = "root.initialised")]
    Initialised {
        kctl_version: String,
        profile_written: Option<Digest>,
        agents_file_created: bool,
        base: Option<BaseName>,
    },
    #[serde(rename = "root.uninstalled")]
    Uninstalled {},
    /// The remote said that its branch is at `commit`, or `init` accepted it as this clone had it.
    #[serde(rename = "root.base_seen")]
    BaseSeen { remote: String, branch: String, commit: Oid },
}

/// The branch that work is accepted onto, as it was when kctl was put into the repository. It is kept, because whoever
/// could name another one later would choose the judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaseName {
    /// None in a repository without a remote.
    pub remote: Option<String>,
    pub branch: String,
}

/// Where a base was when kctl last saw it. A reference of this clone that says otherwise is nobody's word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenBase {
    pub remote: String,
    pub branch: String,
    pub commit: Oid,
    pub at: Stamp,
}

/// The root as the ledger knows it. Its stream has the origin's id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Root {
    pub origin: OriginId,
    pub installed: bool,
    /// Digest of the profile as `init` wrote it, so that `uninstall` takes back only what nobody changed.
    pub profile_written: Option<Digest>,
    pub agents_file_created: bool,
    pub base: Option<BaseName>,
    /// One for each branch that has been a base.
    #[serde(default)]
    pub seen: Vec<SeenBase>,
    pub since: Stamp,
}

impl Entity for Root {
    type Event = RootEvent;
    type Id = OriginId;
    const KIND: Kind = Kind::Root;

    fn blank(origin: OriginId) -> Self {
        Self {
            origin,
            installed: false,
            profile_written: None,
            agents_file_created: false,
            base: None,
            seen: Vec::new(),
            since: Stamp(0),
        }
    }

    fn apply(mut self, event: &RootEvent, meta: &Meta) -> Self {
        match event {
            RootEvent::Initialised { kctl_version: _, profile_written, agents_file_created, base } => {
                self.installed = true;
                if profile_written.is_some() {
                    self.profile_written.clone_from(profile_written);
                }
                self.agents_file_created |= agents_file_created;
                // The first one with a remote stands: naming another takes the profile of that very base.
                if self.base.as_ref().is_none_or(|known| known.remote.is_none()) && base.is_some() {
                    self.base.clone_from(base);
                }
                self.since = meta.at;
            }
            RootEvent::Uninstalled {} => self.installed = false,
            RootEvent::BaseSeen { remote, branch, commit } => {
                self.seen.retain(|seen| seen.remote != *remote || seen.branch != *branch);
                let (remote, branch, commit) = (remote.clone(), branch.clone(), commit.clone());
                self.seen.push(SeenBase { remote, branch, commit, at: meta.at });
            }
        }
        self
    }

    fn index(&self) -> Index {
        Index { status: if self.installed { "installed" } else { "uninstalled" }, ..Index::default() }
    }
}
