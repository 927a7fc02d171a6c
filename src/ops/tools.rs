//! Whether the programs that checks need are there.

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
    // A relative path is one of the work tree, and a check before it may make it: that it is missing is not known.
    let may_be_made = program.contains('/') && !program.starts_with('/');
    may_be_made || call.world.env.has_program(program)
}
