//! Being told to stop while a run is on: the run is taken down first, and then kctl ends by its own doing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

static SIGNALS: LazyLock<Signals> = LazyLock::new(Signals::listen);

struct Signals {
    /// The last one that came while a run was on; 0 for none.
    received: Arc<AtomicUsize>,
    /// While no run is on, a signal does what it would have done without us.
    idle: Arc<AtomicBool>,
}

impl Signals {
    fn listen() -> Self {
        let signals = Self { received: Arc::new(AtomicUsize::new(0)), idle: Arc::new(AtomicBool::new(true)) };
        let ignored = ignored_signals();
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            // Under `nohup` a hang-up is ignored on purpose.
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            // Failure leaves the default: kctl ends at once, and the kernel ends the command (see `start`).
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&signals.idle));
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(&signals.received), signal as usize);
        }
        // Whoever ignores the end of children gets no exit status, and hands that down to us.
        if ignored & (1 << (SIGCHLD - 1)) != 0 {
            let _ = signal_hook::flag::register(SIGCHLD, Arc::default());
        }
        signals
    }
}

/// The signal that told kctl to stop while a run was on. The door that sees it ends the process once what was being
/// done is recorded.
pub fn interrupted() -> Option<i32> {
    let signal = SIGNALS.received.load(Ordering::SeqCst);
    (signal != 0).then(|| i32::try_from(signal).unwrap_or(SIGTERM))
}

/// Whether signals wait for runs (`true`) or end kctl at once.
pub fn hold(held: bool) {
    SIGNALS.idle.store(!held, Ordering::SeqCst);
}

/// The mask of the signals that are ignored, where the system says it.
fn ignored_signals() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
