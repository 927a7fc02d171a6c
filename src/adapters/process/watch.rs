//! Waiting for output, for the command's end and for a point in time, all at once.

use std::io::{PipeReader, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::capture::Capture;
use super::sweep::handle;
use crate::ports::runner::Output;

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

/// A started command as it is watched. It is not reaped here: until it is, its id means nobody else.
pub struct Watch<'a> {
    main: Pid,
    /// Becomes readable when the command ends.
    end: Option<OwnedFd>,
    pub has_ended: bool,
    streams: Vec<Stream>,
    /// When something was last read.
    pub last_output: Instant,
    buffer: Vec<u8>,
    on_output: &'a mut dyn FnMut(&str),
}

impl<'a> Watch<'a> {
    pub fn new(main: Pid, streams: Vec<Stream>, on_output: &'a mut dyn FnMut(&str)) -> Self {
        Self {
            main,
            end: handle(main),
            has_ended: false,
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
        if !self.has_ended {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let answer = rustix::process::waitid(WaitId::Pid(self.main), options);
            self.has_ended = !matches!(answer, Ok(None) | Err(rustix::io::Errno::INTR));
        }
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
        let end: Option<BorrowedFd<'_>> = self.end.as_ref().map(AsFd::as_fd).filter(|_| !self.has_ended);
        let open: Vec<BorrowedFd<'_>> =
            self.streams.iter().filter_map(|it| it.pipe.as_ref()).map(AsFd::as_fd).collect();
        let mut polled: Vec<PollFd<'_>> = open.into_iter().chain(end).map(wanted).collect();
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
