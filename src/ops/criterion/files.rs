//! A criterion about a file names a file: where a directory stands, nothing could ever meet it.

use std::path::{Path, PathBuf};

use crate::domain::contract::{Contract, Criterion, Proof};
use crate::domain::refusal::{Code, Refusal};
use crate::ops::call::Call;

/// Refuses a criterion of `new`, unless it is among the `old` ones, that means a file and names a directory of the work
/// tree: the one at `top`, or else the one that the call was made in.
///
/// # Errors
/// `VACUOUS_CRITERION` with the field.
pub fn refuse_directories(
    call: &Call<'_>,
    top: Option<PathBuf>,
    new: &Contract,
    old: &[Criterion],
) -> Result<(), Refusal> {
    let Some(top) = top.or_else(|| call.work_tree().ok().map(Path::to_owned)) else { return Ok(()) };
    for (index, criterion) in new.criteria.iter().enumerate() {
        // That a directory is gone is something that can be asked for.
        if old.contains(criterion) || matches!(criterion.proof, Proof::FileAbsent { .. }) {
            continue;
        }
        let Some(path) = criterion.proof.path().filter(|path| call.world.trees.exists(&top.join(path))) else {
            continue;
        };
        let words = format!("`{path}` is a directory where a file is meant");
        return Err(Refusal::new(Code::VACUOUS_CRITERION, words).with("field", format!("criteria[{index}].path")));
    }
    Ok(())
}
