//! A run from start to end.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal};

use super::capture::Capture;
use super::compiled::Compiled;
use super::environment::{self, Scrubbed};
use super::interrupt::interrupted;
use super::kin::Run;
use super::registry::Registered;
use super::shut::{self, Means, Shut};
use super::start::{self, Started};
use super::sweep::Family;
use super::watch::{Inside, Stream, Watch};
use super::{many, shell, version};
use crate::adapters::failpoint;
use crate::adapters::world::current_program;
use crate::domain::digest::Digest;
use crate::domain::secret::Redaction;
use crate::domain::stamp::{Length, Stamp};
use crate::ports::runner::{
    Ended, Invocation, Isolation, Job, Leftovers, NoVersion, NotStarted, Outcome, Output, Program, Runner, Sandbox,
};

/// Makes what takes secrets out of one stream, from the values that are known to be secret.
pub type MakeRedaction = fn(&[String]) -> Box<dyn Redaction>;

/// After the command's end, how long nothing may happen before what still holds the output counts as left over.
const SETTLE: Duration = Duration::from_millis(100);
/// The same if output keeps coming: a `tee` may have much to write.
const MAX_SETTLE: Duration = Duration::from_secs(2);
/// What is left over has this long between TERM and KILL.
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// How long ending everything may take: what forks on and on, or hangs in the kernel, is then reported as alive.
const MAX_SWEEP: Duration = Duration::from_secs(10);
/// When kctl itself is told to stop, nobody waits for a long grace.
const MAX_INTERRUPT_GRACE: Duration = Duration::from_secs(2);
const SWEEP_STEP: Duration = Duration::from_millis(5);

/// Runs commands as `ports::runner` promises.
pub struct Supervisor {
    environment: Vec<(OsString, OsString)>,
    redaction: MakeRedaction,
    /// kctl's own program, which starts commands from inside where they are shut in.
    helper: PathBuf,
}

impl Supervisor {
    /// Runs get the environment that this process has now, scrubbed.
    pub fn new(redaction: MakeRedaction) -> Self {
        Self::with_environment(std::env::vars_os().collect(), redaction)
    }

    pub fn with_environment(environment: Vec<(OsString, OsString)>, redaction: MakeRedaction) -> Self {
        Self { environment, redaction, helper: current_program() }
    }

    /// The same with another program as kctl's own.
    #[must_use]
    pub fn with_helper(self, helper: impl Into<PathBuf>) -> Self {
        Self { helper: helper.into(), ..self }
    }

    fn streams(&self, invocation: &Invocation, started: &mut Started, secrets: &[String]) -> Vec<Stream> {
        let capture = || Capture::new((self.redaction)(secrets), invocation.max_output_bytes);
        let stderr = started.stderr.take().map(|pipe| Stream::new(pipe, capture()));
        let stdout = started.stdout.take().map(|pipe| Stream::new(pipe, capture()));
        stdout.into_iter().chain(stderr).collect()
    }

    fn redact(&self, secrets: &[String], text: &str) -> String {
        let (mut redaction, mut out) = ((self.redaction)(secrets), String::new());
        redaction.push(text, &mut out);
        redaction.finish(&mut out);
        out
    }
}

impl Runner for Supervisor {
    fn run(&self, invocation: &Invocation, on_output: &mut dyn FnMut(&str)) -> Outcome {
        let clocks = Clocks::start();
        let scrubbed = match environment::scrub(&self.environment, invocation) {
            Ok(scrubbed) => scrubbed,
            Err(why) => {
                return clocks.outcome(Ended::NotStarted(why), Digest::of(b""), Isolation::none("it did not start"));
            }
        };
        if let Some(sandbox) = &invocation.sandbox {
            shut::make_caches(sandbox, &scrubbed.vars);
        }
        let shut = shut::decide(invocation.sandbox.as_ref(), &scrubbed, &invocation.cwd, &self.helper);
        let isolation = shut.isolation.clone();
        let registered = Registered::new();
        if let Some(signal) = interrupted() {
            return clocks.outcome(Ended::Interrupted { signal }, scrubbed.digest, isolation);
        }
        let marker = environment::marker(&self.environment, &registered.id);
        let compiled = Compiled::of(&shut.means, &registered.id);
        match start::start(invocation, &scrubbed, &marker, &shut, &self.helper, compiled.path()) {
            Ok(started) => {
                let outcome = self.supervise(invocation, &scrubbed, started, &shut, registered, clocks, on_output);
                Outcome { isolation, ..outcome }
            }
            Err(why) => clocks.outcome(Ended::NotStarted(why), scrubbed.digest, isolation),
        }
    }

    fn run_many(
        &self,
        first: Vec<Job>,
        parallel: usize,
        on_output: &(dyn Fn(usize, &str) + Sync),
        on_end: &mut dyn FnMut(usize, Outcome) -> Vec<Job>,
    ) {
        many::run(self, first, parallel, on_output, on_end);
    }

    fn processors(&self) -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }

    fn tool_version(&self, program: &str, cwd: &Path, sandbox: Option<&Sandbox>) -> Result<String, NoVersion> {
        version::of(self, program, cwd, sandbox)
    }

    fn isolation(&self, sandbox: &Sandbox) -> Isolation {
        let invocation = Invocation::new(Program::Argv(Vec::new()), &sandbox.work_tree, Length::seconds(1));
        match environment::scrub(&self.environment, &invocation) {
            Ok(scrubbed) => shut::decide(Some(sandbox), &scrubbed, &sandbox.work_tree, &self.helper).isolation,
            Err(why) => Isolation::none(why.to_string()),
        }
    }
}

impl Supervisor {
    #[expect(clippy::too_many_arguments, reason = "each is of another thing, and all of them are of one run")]
    fn supervise(
        &self,
        invocation: &Invocation,
        scrubbed: &Scrubbed,
        mut started: Started,
        shut: &Shut,
        registered: Registered,
        clocks: Clocks,
        on_output: &mut dyn FnMut(&str),
    ) -> Outcome {
        let streams = self.streams(invocation, &mut started, &scrubbed.secrets);
        let is_boxed = matches!(shut.means, Means::Bwrap { .. });
        let mut going = Going::new(started.child, registered, is_boxed);
        let mut watch = Watch::new(going.main, streams, started.told.map(Inside::new), on_output);
        let cut_short = going.until_end(invocation, &mut watch, clocks.began);
        going.settle(&mut watch, cut_short.is_some());
        going.sweep(&mut watch);
        if is_boxed {
            going.close_box(&mut watch);
        }
        let said = watch.said();
        let mut outputs = watch.finish().into_iter();
        let output = outputs.next().expect("stdout is always there");
        let stderr = outputs.next();
        let (status, leftovers) = going.reap(|command| self.redact(&scrubbed.secrets, command));
        let ended = cut_short.unwrap_or_else(|| match said {
            Some(said) => said.ended(is_boxed).unwrap_or_else(|| ended(status)),
            None => ended(status),
        });
        let pipe_statuses = match (&ended, started.report) {
            (Ended::Exited { code }, Some(report)) => shell::statuses(&read_report(report), *code),
            _ => Vec::new(),
        };
        failpoint::reach("run.ended");
        let bare = clocks.outcome(ended, scrubbed.digest.clone(), shut.isolation.clone());
        Outcome { pipe_statuses, output, stderr, leftovers, ..bare }
    }
}

/// A command that is on. However this is dropped, nothing of the command stays.
struct Going {
    child: Child,
    main: Pid,
    family: Option<Family>,
    is_reaped: bool,
    _registered: Registered,
}

impl Going {
    fn new(child: Child, registered: Registered, is_boxed: bool) -> Self {
        let main = Pid::from_child(&child);
        registered.started(main.as_raw_pid());
        let run = Run { id: registered.id.clone(), main: main.as_raw_pid(), is_boxed };
        Self { child, main, family: Some(Family::new(run)), is_reaped: false, _registered: registered }
    }

    fn family(&mut self) -> &mut Family {
        self.family.as_mut().expect("it is there until the end")
    }

    /// Waits for the command's own end, and brings it about if it does not come in time. Answers how, if it did.
    fn until_end(&mut self, invocation: &Invocation, watch: &mut Watch<'_>, began: Instant) -> Option<Ended> {
        let deadline = began + invocation.timeout.duration();
        while !watch.has_ended && Instant::now() < deadline && interrupted().is_none() {
            watch.turn(deadline);
        }
        if watch.has_ended {
            return None;
        }
        let (grace, signal) = match interrupted() {
            Some(signal) => (invocation.grace.duration().min(MAX_INTERRUPT_GRACE), Some(signal)),
            None => (invocation.grace.duration(), None),
        };
        let killed = self.end_all(grace, watch);
        Some(signal.map_or(Ended::TimedOut { killed }, |signal| Ended::Interrupted { signal }))
    }

    /// TERM for everything, and KILL for what is still there after `grace`. Answers whether there was something.
    fn end_all(&mut self, grace: Duration, watch: &mut Watch<'_>) -> bool {
        self.family().signal_all(Signal::TERM);
        let until = Instant::now() + grace;
        while Instant::now() < until {
            if watch.has_ended && !self.family().is_alive() {
                return false;
            }
            watch.turn(until);
        }
        self.family().signal_leftovers(Signal::KILL);
        self.family().signal_all(Signal::KILL);
        watch.turn_while(MAX_SWEEP, |watch| !watch.has_ended);
        true
    }

    /// The command's end is not the end of its output: what it started may still be writing, or just about to end.
    fn settle(&mut self, watch: &mut Watch<'_>, is_late: bool) {
        let limit = Instant::now() + if is_late { SETTLE } else { MAX_SETTLE };
        watch.last_output = Instant::now();
        while Instant::now() < limit && watch.last_output.elapsed() < SETTLE {
            if watch.is_output_over() && !self.family().is_alive() {
                return;
            }
            watch.turn(Instant::now() + SWEEP_STEP);
        }
    }

    /// Ends what is left, and reads what it wrote to the end.
    fn sweep(&mut self, watch: &mut Watch<'_>) {
        let began = Instant::now();
        let mut signal = Signal::TERM;
        self.family().kill_unseen();
        while self.family().is_alive() && began.elapsed() < MAX_SWEEP {
            self.family().signal_leftovers(signal);
            watch.turn(Instant::now() + SWEEP_STEP);
            if began.elapsed() >= LEFTOVER_GRACE {
                signal = Signal::KILL;
            }
        }
        watch.turn_while(SETTLE, |watch| !watch.is_output_over());
    }

    /// Ends the box with all that is in it, and waits until it is gone.
    fn close_box(&mut self, watch: &mut Watch<'_>) {
        self.family().end_box();
        watch.turn_while(MAX_SWEEP, |watch| !watch.has_main_ended);
        watch.turn_while(SETTLE, |watch| !watch.is_output_over());
    }

    fn reap(mut self, redact: impl FnMut(&str) -> String) -> (Option<ExitStatus>, Leftovers) {
        let family = self.family.take().expect("it is there until the end");
        let leftovers = family.leftovers(redact);
        // Never a blocking wait: a command that hangs in the kernel would take us with it.
        let status = self.child.try_wait().ok().flatten();
        self.is_reaped = true;
        (status, leftovers)
    }
}

impl Drop for Going {
    /// Only a panic of whoever is shown the output leads here with work to do.
    fn drop(&mut self) {
        if let (false, Some(family)) = (self.is_reaped, &mut self.family) {
            family.signal_all(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// How a command ended, from its exit status.
pub fn ended(status: Option<ExitStatus>) -> Ended {
    let Some(status) = status else {
        return Ended::NotStarted(NotStarted::System { why: "its exit status was taken by somebody else".to_owned() });
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited { code },
        (None, signal) => Ended::Signalled { signal: signal.unwrap_or(0), core_dumped: status.core_dumped() },
    }
}

fn read_report(mut report: std::io::PipeReader) -> Vec<u8> {
    let mut bytes = vec![0; shell::MAX_REPORT_BYTES];
    let length = report.read(&mut bytes).unwrap_or(0);
    bytes.truncate(length);
    bytes
}

/// When a run began, by both clocks.
#[derive(Clone, Copy)]
struct Clocks {
    began: Instant,
    started: Stamp,
}

impl Clocks {
    fn start() -> Self {
        Self { began: Instant::now(), started: now() }
    }

    /// An outcome without output, finished now.
    fn outcome(self, ended: Ended, env_digest: Digest, isolation: Isolation) -> Outcome {
        Outcome {
            ended,
            pipe_statuses: Vec::new(),
            output: Output::empty(),
            stderr: None,
            started: self.started,
            finished: now(),
            elapsed_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            leftovers: Leftovers { ended: true, known: true, ..Leftovers::default() },
            env_digest,
            isolation,
        }
    }
}

fn now() -> Stamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Stamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
