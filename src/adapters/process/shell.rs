//! Running a text under bash, and learning the exit status of each stage of its last pipeline.

/// No profile and no rc file: what runs is the text and nothing of whoever calls.
pub const BASH: [&str; 5] = ["bash", "--noprofile", "--norc", "-o", "pipefail"];
/// The shell reports on a file descriptor above all that people number by hand (9 is usual for locks).
pub const MIN_REPORT_FD: i32 = 187;
/// Enough for the statuses of several hundred stages.
pub const MAX_REPORT_BYTES: usize = 4096;

/// Puts the report in front of `command`, as a trap. Nothing is put behind it, and it is not quoted again, so that here
/// documents, comments and continued lines mean what they meant. The trap keeps the exit status and says nothing.
pub fn reporting(command: &str, fd: i32) -> String {
    format!(
        "trap '{{ builtin printf \"%s \" \"$?\" \"${{PIPESTATUS[@]}}\" >&{fd}; }} 2>/dev/null || :' EXIT\n{command}"
    )
}

/// The stages' statuses from what the shell reported, if they are those that made it exit with `code`: after `exit 3`
/// the shell still reports the pipeline before.
pub fn statuses(report: &[u8], code: i32) -> Vec<i32> {
    let Ok(text) = std::str::from_utf8(report) else { return Vec::new() };
    let Ok(numbers) = text.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<i32>, _>>() else {
        return Vec::new();
    };
    let Some((reported, stages)) = numbers.split_first() else { return Vec::new() };
    let under_pipefail = stages.iter().rev().find(|status| **status != 0).copied().unwrap_or(0);
    let explains = *reported == code && (under_pipefail == code || stages.last() == Some(&code));
    if explains { stages.to_vec() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_count_only_where_they_explain_the_exit_code() {
        assert_eq!(statuses(b"1 1 0 ", 1), [1, 0]);
        assert_eq!(statuses(b"0 1 0 ", 0), [1, 0], "without pipefail the last stage decides");
        let unexplained: [(&[u8], i32); 7] =
            [(b"3 0 ", 3), (b"1 1 ", 2), (b"", 0), (b"0", 0), (b"x", 0), (b"\xff", 0), (b"99999999999", 1)];
        for (report, code) in unexplained {
            assert!(statuses(report, code).is_empty(), "{report:?}");
        }
    }
}
