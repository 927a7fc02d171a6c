//! What kctl says about itself: its exit statuses.

use super::output::EXIT_NOT_WRITTEN;
use crate::domain::refusal::Code;

/// What `kctl help exit` prints: every exit status, and the refusals that have it.
pub(super) fn exit_statuses() -> String {
    let mut text = "Exit statuses of kctl:\n\n   0  an answer; also when its reader closed the pipe early\n".to_owned();
    let mut statuses: Vec<u8> = Code::ALL.iter().map(|code| code.exit_status()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let codes: Vec<&Code> = Code::ALL.iter().filter(|code| code.exit_status() == status).collect();
        for (index, code) in codes.iter().enumerate() {
            let status = if index == 0 { format!("{status:>4}") } else { " ".repeat(4) };
            text.push_str(&format!("{status}  {:<26} {}\n", code.name(), code.about()));
        }
    }
    text.push_str(&format!("{EXIT_NOT_WRITTEN:>4}  the answer could not be written to standard output\n"));
    text
}
