//! Places where a test may kill the process. Without the `testing` feature they compile to nothing.
//!
//! `KCTL_FAILPOINT=name` (or `name:nth`) kills at that place as SIGKILL would: nothing is unwound, flushed or given back.
//! `KCTL_FAILPOINT_TRACE=file` writes down every place that was reached, one a line, so that a harness can visit each.

/// Ends the process by SIGKILL, if the environment names this place; panics there for `panic@name`.
#[cfg(feature = "testing")]
pub fn reach(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static REACHED: AtomicU32 = AtomicU32::new(0);

    trace(name);
    let Some((wanted, nth)) = wanted() else { return };
    assert!(wanted.strip_prefix("panic@") != Some(name), "a fault that a test asked for at `{name}`");
    if wanted == name && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == nth {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal may reach another thread first; nothing more happens on this one.
        std::process::abort();
    }
}

/// Whether the process will be killed at this place, for what has to be arranged just before.
#[cfg(feature = "testing")]
pub fn is_armed(name: &str) -> bool {
    wanted().is_some_and(|(wanted, _)| wanted == name)
}

#[cfg(feature = "testing")]
fn wanted() -> Option<(String, u32)> {
    let wanted = std::env::var("KCTL_FAILPOINT").ok()?;
    Some(match wanted.split_once(':') {
        Some((name, nth)) => (name.to_owned(), nth.parse().unwrap_or(1)),
        None => (wanted, 1),
    })
}

#[cfg(feature = "testing")]
fn trace(name: &str) {
    use std::io::Write as _;
    let Some(path) = std::env::var_os("KCTL_FAILPOINT_TRACE") else { return };
    let file = fs_err::OpenOptions::new().create(true).append(true).open(std::path::PathBuf::from(path));
    if let Ok(mut file) = file {
        let _ = writeln!(file, "{name}");
    }
}

#[cfg(not(feature = "testing"))]
#[inline]
pub fn reach(_: &str) {}

#[cfg(not(feature = "testing"))]
#[inline]
pub fn is_armed(_: &str) -> bool {
    false
}
