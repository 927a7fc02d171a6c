//! `kctl quickstart`: the main job, refusals included, in a throw-away repository. It types real command lines into a real
//! shell, shows what comes back, and stops where that is not what it tells.

mod place;
mod project;
mod scenes;
mod story;
mod teller;

use std::path::Path;

use crate::doors::cli::Look;

pub use teller::Stopped;

/// Tells the story in `dir`, or in a new directory for temporary files.
///
/// # Errors
/// When it cannot begin, when something does not behave as told, and when nobody reads any more.
pub fn run(dir: Option<&Path>, look: &Look) -> Result<(), Stopped> {
    let place = place::make(dir)?;
    let mut teller = teller::Teller::new(place.shell()?, look);
    let told = story::tell(&mut teller, &place);
    told.map_err(|stopped| stopped.left_at(&place.root))
}
