//! Whether the programs that checks need are there.

use std::path::{Path, PathBuf};

use crate::domain::profile::{CheckName, Profile, Run};
use crate::rules::tools::needed;

use super::call::Call;

/// The checks of `profile` whose program is missing, with its name.
pub fn missing<'p>(call: &Call<'_>, profile: &'p Profile) -> Vec<(&'p CheckName, &'p str)> {
    let needs = profile.checks.iter().filter_map(|(name, check)| Some((name, absent(call, &check.run)?)));
    needs.collect()
}

/// The program that `run` needs and that is not there.
pub fn absent<'r>(call: &Call<'_>, run: &'r Run) -> Option<&'r str> {
    needed(run).filter(|program| !is_there(call, program))
}

fn is_there(call: &Call<'_>, program: &str) -> bool {
    let exists = |path: &Path| call.world.trees.exists(path);
    if program.contains('/') {
        // A path is one of the work tree, and a check may make it: only an absolute one can be known to be missing.
        return !program.starts_with('/') || exists(Path::new(program));
    }
    let path = call.world.env.var("PATH").unwrap_or_default();
    path.split(':').filter(|dir| !dir.is_empty()).any(|dir| exists(&PathBuf::from(dir).join(program)))
}
