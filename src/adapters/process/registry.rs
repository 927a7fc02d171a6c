//! The runs that are on in this process. A run is registered before its command starts, and until nothing of it is
//! left, so that no sweep takes one run's processes for another's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::interrupt;

static COUNT: AtomicU64 = AtomicU64::new(0);
static RUNS: Mutex<Runs> = Mutex::new(Runs { on: Vec::new(), is_subreaper: false });

#[derive(Debug)]
pub struct Runs {
    on: Vec<Entry>,
    is_subreaper: bool,
}

#[derive(Debug)]
struct Entry {
    id: String,
    /// Known once the command has started.
    main: Option<i32>,
}

impl Runs {
    pub fn is_alone(&self) -> bool {
        self.on.len() == 1
    }

    /// Whether this child is some run's command, which only that run may reap.
    pub fn is_main(&self, pid: i32) -> bool {
        self.on.iter().any(|entry| entry.main == Some(pid))
    }

    /// Whether orphans come to us.
    pub fn is_subreaper(&self) -> bool {
        self.is_subreaper
    }
}

/// A run's place in the registry. Dropping it takes the run out.
#[must_use]
pub struct Registered {
    pub id: String,
}

impl Registered {
    pub fn new() -> Self {
        let mut random = [0; 8];
        // Without randomness the process id and the count still tell runs apart.
        let _ = getrandom::fill(&mut random);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{count}-{:016x}", std::process::id(), u64::from_ne_bytes(random));
        let mut runs = lock();
        if runs.on.is_empty() {
            runs.is_subreaper = subreaper(true);
            interrupt::hold(true);
        }
        runs.on.push(Entry { id: id.clone(), main: None });
        Self { id }
    }

    pub fn started(&self, main: i32) {
        if let Some(entry) = lock().on.iter_mut().find(|entry| entry.id == self.id) {
            entry.main = Some(main);
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut runs = lock();
        runs.on.retain(|entry| entry.id != self.id);
        if runs.on.is_empty() {
            subreaper(false);
            interrupt::hold(false);
        }
    }
}

/// Holding this keeps runs from starting and ending.
pub fn lock() -> MutexGuard<'static, Runs> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(target_os = "linux")]
fn subreaper(on: bool) -> bool {
    let flag = if on { Some(rustix::process::getpid()) } else { None };
    rustix::process::set_child_subreaper(flag).is_ok() && on
}

#[cfg(not(target_os = "linux"))]
fn subreaper(_: bool) -> bool {
    false
}
