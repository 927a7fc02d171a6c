//! Where a run's compiled Python goes. What lies beside a source need not be of it, so a run neither reads it nor leaves
//! any: it compiles into a place of its own, which goes with it.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::shut::Means;

pub struct Compiled {
    path: PathBuf,
    _made: Option<TempDir>,
}

impl Compiled {
    /// The place of the run with this id.
    pub fn of(means: &Means, id: &str) -> Self {
        let path = PathBuf::from(format!("/tmp/kctl-compiled-{id}"));
        // Under `bwrap` the whole of `/tmp` is the run's own, and Python makes what it needs.
        if matches!(means, Means::Bwrap { .. }) {
            return Self { path, _made: None };
        }
        match tempfile::Builder::new().prefix("kctl-compiled-").tempdir() {
            Ok(made) => Self { path: made.path().to_owned(), _made: Some(made) },
            // Python goes on where it can keep nothing.
            Err(_) => Self { path: "/dev/null".into(), _made: None },
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
