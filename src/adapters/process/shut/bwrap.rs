//! The words that tell `bwrap` what a run sees.

use std::ffi::OsString;
use std::path::Path;

use super::places::Places;

/// Private to each run, empty at its start and gone at its end.
const PRIVATE: [&str; 2] = ["/tmp", "/var/tmp"];

/// What every run gets, the probe included.
pub const ALWAYS: [&str; 16] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
];
pub const NO_NETWORK: &str = "--unshare-net";

/// `empty` is laid over files that must not be seen.
pub fn arguments(places: &Places, network: bool, cwd: &Path, helper: &Path, empty: &Path) -> Vec<OsString> {
    let mut words = Words(ALWAYS.map(OsString::from).to_vec());
    if !network {
        words.0.push(NO_NETWORK.into());
    }
    if Path::new(PRIVATE[1]).is_dir() {
        words.over("--tmpfs", Path::new(PRIVATE[1]));
    }
    let is_private = |path: &Path| PRIVATE.iter().any(|private| path.starts_with(private));
    // What is laid later lies over what was laid before: the order is what decides.
    places.needed.iter().filter(|path| is_private(path)).for_each(|path| words.lay("--ro-bind", path));
    places.writable.iter().for_each(|path| words.lay("--bind", path));
    words.lay("--bind", &places.work_tree);
    places.fixed.iter().for_each(|path| words.lay("--ro-bind", path));
    words.lay("--ro-bind", helper);
    for path in &places.masked {
        match path.is_dir() {
            true => words.over("--tmpfs", path),
            false => words.0.extend(["--ro-bind".into(), empty.into(), path.into()]),
        }
    }
    words.0.extend(["--setenv".into(), "TMPDIR".into(), PRIVATE[0].into(), "--chdir".into(), cwd.into()]);
    words.0
}

struct Words(Vec<OsString>);

impl Words {
    fn over(&mut self, how: &str, path: &Path) {
        self.0.extend([how.into(), path.into()]);
    }

    /// The same path inside as outside.
    fn lay(&mut self, how: &str, path: &Path) {
        self.0.extend([how.into(), path.into(), path.into()]);
    }
}
