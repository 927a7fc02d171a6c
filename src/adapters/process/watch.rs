//! Waiting for output, for the command's end and for a point in time, all at once.

use std::io::{PipeReader, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::capture::Capture;
use super::shut::inner;
use super::start::Told;
use super::sweep::handle;
use crate::ports::runner::{Ended, NotStarted, Output};

/// How long one wait lasts at most, so that a signal to kctl is noticed soon.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// The same where the system cannot tell us of the command's end.
const MAX_BLIND_WAIT: Duration = Duration::from_millis(10);
const READ_BYTES: usize = 64 * 1024;

/// A stream that is being read.
pub struct Stream {
    /// `None` once its last writer is gone.
    pipe: Option<PipeReader>,
    capture: Capture,
}

impl Stream {
    pub fn new(pipe: PipeReader, capture: Capture) -> Self {
        Self { pipe: Some(pipe), capture }
    }
}

/// What kctl's program inside reports.
pub struct Inside {
    pipe: PipeReader,
    said: Vec<u8>,
    /// Under `bwrap` it reports the command's end, and stays after that; else it only reports that it could not become it.
    complaints: Option<PipeReader>,
}

/// A report is a few words.
const MAX_SAID_BYTES: usize = 4096;

impl Inside {
    pub fn new(told: Told) -> Self {
        Self { pipe: told.report, said: Vec::new(), complaints: told.complaints }
    }

    fn read(&mut self) {
        take_in(&mut self.pipe, &mut self.said);
    }

    fn has_ended(&self) -> bool {
        self.complaints.is_some() && self.said.iter().filter(|byte| **byte == b'\n').count() > 1
    }
}

/// Reads what is there now.
fn take_in(pipe: &mut PipeReader, said: &mut Vec<u8>) {
    let mut buffer = [0; MAX_SAID_BYTES];
    while said.len() < MAX_SAID_BYTES {
        match pipe.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => said.extend_from_slice(&buffer[..bytes]),
        }
    }
}

/// All that was reported from inside, and what `bwrap` itself complained of.
pub struct Said {
    report: String,
    complaints: String,
}

impl Said {
    /// How the command ended; none if its own exit status says it.
    pub fn ended(&self, is_boxed: bool) -> Option<Ended> {
        let lines = self.report.strip_prefix(inner::ON).and_then(|rest| rest.strip_prefix('\n'));
        let reported = lines.unwrap_or(&self.report).lines().find_map(|line| serde_json::from_str(line).ok());
        match (reported, lines) {
            (Some(ended), _) => Some(ended),
            (None, _) if !is_boxed => None,
            // Everything in the box was killed from within, and the program that would have told of it too.
            (None, Some(_)) => Some(Ended::Signalled { signal: Signal::KILL.as_raw(), core_dumped: false }),
            (None, None) => {
                let why = format!("the sandbox did not start: {}", self.complaints.trim());
                Some(Ended::NotStarted(NotStarted::System { why }))
            }
        }
    }
}

/// A started command as it is watched. It is not reaped here: until it is, its id means nobody else.
pub struct Watch<'a> {
    main: Pid,
    /// Becomes readable when the process that we started ends.
    end: Option<OwnedFd>,
    inside: Option<Inside>,
    /// The command has ended, as far as can be told.
    pub has_ended: bool,
    /// The process that we started has. It outlives the command where that is shut in by `bwrap`.
    pub has_main_ended: bool,
    streams: Vec<Stream>,
    /// When something was last read.
    pub last_output: Instant,
    buffer: Vec<u8>,
    on_output: &'a mut dyn FnMut(&str),
}

impl<'a> Watch<'a> {
    pub fn new(main: Pid, streams: Vec<Stream>, inside: Option<Inside>, on_output: &'a mut dyn FnMut(&str)) -> Self {
        Self {
            main,
            end: handle(main),
            inside,
            has_ended: false,
            has_main_ended: false,
            streams,
            last_output: Instant::now(),
            buffer: vec![0; READ_BYTES],
            on_output,
        }
    }

    pub fn is_output_over(&self) -> bool {
        self.streams.iter().all(|stream| stream.pipe.is_none())
    }

    /// Waits for the first of: output, the command's end, `until`. Takes in what there is, once.
    pub fn turn(&mut self, until: Instant) {
        let most = if self.end.is_some() { MAX_WAIT } else { MAX_BLIND_WAIT };
        let wait = until.saturating_duration_since(Instant::now()).min(most);
        let ready = self.wait(wait);
        for (stream, is_ready) in self.streams.iter_mut().zip(ready) {
            if is_ready && stream.read(&mut self.buffer, self.on_output) {
                self.last_output = Instant::now();
            }
        }
        if !self.has_main_ended {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let answer = rustix::process::waitid(WaitId::Pid(self.main), options);
            self.has_main_ended = !matches!(answer, Ok(None) | Err(rustix::io::Errno::INTR));
        }
        if let Some(inside) = &mut self.inside {
            inside.read();
            self.has_ended |= inside.has_ended();
        }
        self.has_ended |= self.has_main_ended;
    }

    /// What was reported from inside, if there is an inside.
    pub fn said(&mut self) -> Option<Said> {
        let inside = self.inside.as_mut()?;
        let mut complaints = Vec::new();
        inside.complaints.iter_mut().for_each(|pipe| take_in(pipe, &mut complaints));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(Said { report: text(&inside.said), complaints: text(&complaints) })
    }

    /// Turns for as long as `goes_on`, and no longer than `most`.
    pub fn turn_while(&mut self, most: Duration, goes_on: impl Fn(&Self) -> bool) {
        let until = Instant::now() + most;
        while goes_on(self) && Instant::now() < until {
            self.turn(until);
        }
    }

    pub fn finish(self) -> Vec<Output> {
        let on_output = self.on_output;
        self.streams.into_iter().map(|stream| stream.capture.finish(on_output)).collect()
    }

    /// Whether each stream has something to read, its end included.
    fn wait(&self, wait: Duration) -> Vec<bool> {
        let wanted = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let end = self.end.as_ref().map(AsFd::as_fd).filter(|_| !self.has_main_ended);
        let inside =
            self.inside.as_ref().filter(|it| it.complaints.is_some() && !self.has_ended).map(|it| it.pipe.as_fd());
        let open: Vec<BorrowedFd<'_>> =
            self.streams.iter().filter_map(|it| it.pipe.as_ref()).map(AsFd::as_fd).collect();
        let mut polled: Vec<PollFd<'_>> = open.into_iter().chain(end).chain(inside).map(wanted).collect();
        let wait = Timespec::try_from(wait).expect("a tenth of a second fits");
        // An error is a signal to us, or too little memory: the caller turns again, and its deadlines hold.
        let answered = rustix::event::poll(&mut polled, Some(&wait)).is_ok();
        let mut answers = polled.iter().map(|fd| answered && !fd.revents().is_empty());
        let ready = |stream: &Stream| stream.pipe.is_some() && answers.next().unwrap_or(false);
        self.streams.iter().map(ready).collect()
    }
}

impl Stream {
    /// Reads once; `true` if there was something.
    fn read(&mut self, buffer: &mut [u8], on_output: &mut dyn FnMut(&str)) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        match pipe.read(buffer) {
            Ok(0) => self.pipe = None,
            Ok(bytes) => {
                self.capture.push(&buffer[..bytes], on_output);
                return true;
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
            Err(_) => self.pipe = None,
        }
        false
    }
}
