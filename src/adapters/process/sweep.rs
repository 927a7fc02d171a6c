//! Ending what belongs to a run.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::kin::{self, Process, Run};
use super::registry;
use crate::ports::runner::{Leftover, Leftovers, MAX_LEFTOVERS};

/// What is shown of one command line.
const MAX_COMMAND_CHARS: usize = 200;

/// The processes of one run, and which of them had to be ended.
#[derive(Debug)]
pub struct Family {
    run: Run,
    /// By process and start, with the command line as it was when it was first seen.
    seen: HashMap<(i32, u64), String>,
    count: u32,
}

impl Family {
    pub fn new(run: Run) -> Self {
        Self { run, seen: HashMap::new(), count: 0 }
    }

    /// Whether anything but the command is alive. Reaps what has ended and came to us.
    pub fn is_alive(&self) -> bool {
        if self.run.is_boxed && kin::is_box_empty(&self.run) == Some(true) {
            return false;
        }
        if !self.run.is_boxed && registry::lock().is_alone() && kin::is_main_the_only_child(&self.run) == Some(true) {
            return false;
        }
        self.living(&registry::lock()).next().is_some()
    }

    /// Ends what is in the command's group where processes cannot be looked at one by one. That is all there is to do
    /// on systems other than Linux, and without `/proc`; `Leftovers::known` says so.
    pub fn kill_unseen(&self) {
        if let (false, Some(group)) = (kin::can_be_seen(), Pid::from_raw(self.run.main)) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }

    /// Signals everything of the run, the command included. Stopped processes are woken, or TERM would wait for ever.
    pub fn signal_all(&self, signal: Signal) {
        if self.run.is_boxed {
            return self.signal_box(signal);
        }
        if let Some(group) = Pid::from_raw(self.run.main) {
            let _ = rustix::process::kill_process_group(group, signal);
            let _ = rustix::process::kill_process_group(group, Signal::CONT);
        }
        let runs = registry::lock();
        // Those in the group have it already, and many programs take a second TERM for impatience.
        for process in self.living(&runs).filter(|process| process.group != self.run.main) {
            send(&process, signal);
            send(&process, Signal::CONT);
        }
    }

    /// Signals what is in the box, and not what keeps it: that goes down at once and takes everything with it. KILL does
    /// just that.
    fn signal_box(&self, signal: Signal) {
        if signal == Signal::KILL {
            return self.end_box();
        }
        for process in kin::in_box(self.run.main, &kin::all()).iter().filter(|process| !process.is_dead) {
            send(process, signal);
            send(process, Signal::CONT);
        }
    }

    /// Ends the box with everything in it: the kernel ends a process namespace with its first process.
    pub fn end_box(&self) {
        let first = kin::box_of(self.run.main).and_then(|found| Pid::from_raw(found.first));
        if let Some(pid) = first.or(Pid::from_raw(self.run.main)) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }

    /// Signals what outlives the command, and notes it as left over.
    pub fn signal_leftovers(&mut self, signal: Signal) {
        // No run may start or end meanwhile: an orphan without a mark is ours only as long as we are alone.
        let runs = registry::lock();
        let living: Vec<Process> = self.living(&runs).collect();
        let command = if self.run.is_boxed { kin::box_of(self.run.main).map(|found| found.helper) } else { None };
        // In a box the command itself is the one child of kctl's program there.
        for process in living.into_iter().filter(|process| Some(process.parent) != command) {
            self.note(&process);
            send(&process, signal);
            send(&process, Signal::CONT);
        }
    }

    /// What was noted. `redact` is applied before a command line is shortened.
    pub fn leftovers(self, mut redact: impl FnMut(&str) -> String) -> Leftovers {
        let ended = !self.is_alive();
        let known = registry::lock().is_subreaper() && kin::can_be_seen();
        let mut listed: Vec<((i32, u64), String)> = self.seen.into_iter().collect();
        listed.sort();
        let mut shown = |command: &str| redact(command).chars().take(MAX_COMMAND_CHARS).collect();
        let listed = listed.into_iter().map(|((pid, _), command)| Leftover { pid, command: shown(&command) }).collect();
        Leftovers { listed, count: self.count, ended, known }
    }

    fn living(&self, runs: &registry::Runs) -> impl Iterator<Item = Process> {
        let own = kin::of(&self.run, &kin::all(), runs.is_alone());
        let own = own.into_iter().filter(|process| !runs.is_main(process.pid));
        own.filter(|process| if process.is_dead { reap(process.pid) } else { true })
    }

    fn note(&mut self, process: &Process) {
        let key = (process.pid, process.started);
        if self.seen.contains_key(&key) {
            return;
        }
        if self.seen.len() < MAX_LEFTOVERS {
            self.seen.insert(key, kin::command_line(process.pid));
        }
        self.count = self.count.saturating_add(1);
    }
}

/// Reaps an ended process if it is our child. It never counts as alive: the answer is always `false`.
fn reap(pid: i32) -> bool {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
    false
}

/// Signals a process, unless its id has come to belong to another since.
fn send(process: &Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    // The handle is taken first and the process looked at second: what the two agree on is what is signalled.
    let handle = handle(pid);
    if kin::look(process.pid).is_none_or(|now| now.started != process.started) {
        return;
    }
    let _ = match handle {
        #[cfg(target_os = "linux")]
        Some(handle) => rustix::process::pidfd_send_signal(handle, signal),
        _ => rustix::process::kill_process(pid, signal),
    };
}

/// Names a process for as long as it is held, and is readable once the process has ended. `None` on other systems, on
/// kernels before 5.3, and in sandboxes that do not know the call.
pub fn handle(pid: Pid) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    return rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok();
    #[cfg(not(target_os = "linux"))]
    return None;
}
