//! Standard output as kctl was given it.
//!
//! A program that is started with its standard output closed (`kctl status >&-`) has none. The language's runtime then
//! opens `/dev/null` in its place before `main`, so that no file which is opened later gets the number; and every
//! answer would seem to have been written. So it is looked at before the runtime does.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

#[ctor::ctor(unsafe)]
fn look() {
    // One system call and one store: nothing here needs the runtime, which is not there yet.
    CLOSED.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
}

/// Where answers go. Writing to it fails if it was closed from the start.
pub fn stdout() -> impl Write {
    Stdout(io::stdout().lock())
}

struct Stdout(io::StdoutLock<'static>);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if CLOSED.load(Ordering::Relaxed) {
            return Err(rustix::io::Errno::BADF.into());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
