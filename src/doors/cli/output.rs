//! The one way out. `println!` panics on a closed pipe and says nothing about a full disk; this does neither.

use std::io::{self, Write};

/// The exit status when standard output did not take the answer (a full disk): EX_IOERR of sysexits.
pub const EXIT_NOT_WRITTEN: u8 = 74;

/// What became of the bytes.
#[derive(Debug)]
pub enum Written {
    /// All of them are with the system.
    Done,
    /// The reader is gone (`kctl … | head -1`). It had what it wanted: no fault and nothing to say.
    ReaderGone,
    /// Some may be missing.
    Failed(io::Error),
}

/// Writes `bytes` to `out` and flushes.
pub fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Written {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Written::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Written::ReaderGone,
        Err(error) => Written::Failed(error),
    }
}

/// Writes the answer to `out` and what is said beside it to `err`, and gives the exit status of the call.
///
/// What cannot be said on `err` is lost; the status of the call stands.
pub fn emit(out: &mut dyn Write, err: &mut dyn Write, answer: &[u8], beside: &[u8], status: u8) -> u8 {
    let written = write_all(out, answer);
    if let Written::Failed(error) = &written {
        let _ = writeln!(err, "error: the answer could not be written to standard output: {error}");
    }
    let _ = err.write_all(beside).and_then(|()| err.flush());
    exit_status(status, &written)
}

/// The exit status of a call that ends with `status` and whose answer was `written`.
pub fn exit_status(status: u8, written: &Written) -> u8 {
    match written {
        Written::Done | Written::ReaderGone => status,
        Written::Failed(_) => EXIT_NOT_WRITTEN,
    }
}

/// Takes colours out of `text`, for an output that is no terminal.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_exit_74_and_said() {
        let mut full = fs_err::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let mut err = Vec::new();
        assert_eq!(emit(&mut full, &mut err, b"{}\n", b"", 0), 74);
        let said = String::from_utf8(err).expect("UTF-8");
        assert!(said.contains("No space left on device"), "{said}");
    }

    #[test]
    fn a_full_disk_behind_a_buffer_is_found_by_the_flush() {
        let full = fs_err::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        assert!(matches!(write_all(&mut io::BufWriter::new(full), b"x"), Written::Failed(_)));
    }

    #[test]
    fn a_reader_that_went_away_changes_no_status() {
        let (reader, mut writer) = io::pipe().expect("a pipe can be made");
        drop(reader);
        let mut err = Vec::new();
        assert_eq!(emit(&mut writer, &mut err, &[b'x'; 100_000], b"", 6), 6);
        assert!(err.is_empty());
    }
}
