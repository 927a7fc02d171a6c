//! What is left where no reader spoke: a signal, the last lines, or the bare exit code.

use super::found::{Draft, Found};
use crate::domain::failure::Kind;
use crate::rules::failure::mask::{pattern, volatile};
use crate::rules::failure::signature::digest;
use crate::rules::failure::text::Text;
use std::collections::BTreeSet;

/// Lines that name a failure nobody could parse.
pub const MAX_FALLBACK_LINES: usize = 40;
/// How far back they are looked for.
const MAX_LINES_LOOKED_AT: usize = 4_000;

pattern!(
    EXIT,
    r"^\[?(?:exit(?:ed)?(?: code| status)?|process exited with code|command exited with(?: code)?)[: ]+(\d{1,3})\]?$"
);
pattern!(
    NOISE,
    r"(?x)^(?:
      (?:Compiling|Finished|Running|Downloading|Downloaded|Updating|Locking|Blocking|Fresh|Checking|Building|Adding)\s
    | warning(?:\[\w+\])?:\ | note:\ run\ with | npm\ (?:notice|WARN|warn)\b | >\ \S+@\S+\ \S+$ | >\ \S+$ | npm\ (?:ERR!|error)\s*$
    | npm\ (?:ERR!|error)\ (?:A\ complete\ log|\S*_logs/\S*debug\S*\.log) | \[(?:INFO|DEBUG|WARNING|WARN|TRACE)\]
    | (?:INFO|DEBUG|TRACE|NOTICE)\b | <time>\S*\ .*\b(?:INFO|DEBUG|TRACE|info|debug|trace)\b | (?:added|audited|changed|removed|up\ to\ date)\ ?\d*\ packages
    | \[ERROR\]\s*$ | \[ERROR\]\ (?:To\ see\ the\ full|Re-run\ Maven|For\ more\ information|\[Help\ 1\]|->\ \[Help) | \*\ (?:Try|Get\ more\ help)
    | Run\ with\ -- | Time\ Elapsed | Total\ time | Finished\ (?:at|in) | Done\ in | (?:real|user|sys)\s | Duration\b
    | Requirement\ already | Collecting\ | Using\ cached | Installing\ collected | Successfully\ installed | Node\.js\ v
    | \#\#\[|::(?:group|endgroup) | \d+\ actionable\ tasks? | Starting\ a\ Gradle | \$\ \S | \++\ \S | yarn\ run\ v | info\ (?:Visit|There)
    | <(?:time|date)>$ | at\ <(?:time|date)>$ | (?:OpenJDK|openjdk\ version|Picked\ up\ JAVA)
    )"
);
// npm says which script it runs, and on the next line the command.
pattern!(NPM_SCRIPT, r"^> \S+@\S+ \S+$");
pattern!(WORDS, r"[A-Za-z0-9]");
pattern!(
    TROUBLE,
    r"(?i)\b(?:error|fatal|fail(?:ed|ure)?|exception|cannot|can't|denied|not found|no such|panic|undefined|unable|refused|missing|invalid|unexpected|expected)\b"
);

/// How the process ended, from the wait status or, where that is not known, from what a wrapper printed last.
pub struct Status {
    exit: Option<i32>,
    signal: Option<i32>,
}

impl Status {
    pub fn new(text: &Text<'_>, exit: Option<i32>, signal: Option<i32>) -> Self {
        let last = text.lines.iter().rposition(|line| !line.is_empty()).unwrap_or(0);
        let printed = EXIT.captures(text.line(last)).and_then(|found| found[1].parse().ok());
        if printed.is_some() {
            text.claim(last, last + 1);
        }
        Self { exit: exit.or(if signal.is_none() { printed } else { None }), signal }
    }

    pub fn failed_or_unknown(&self) -> bool {
        self.signal.is_some() || self.exit != Some(0)
    }

    /// A shell reports a child's signal as 128 more.
    fn shell_signal(&self) -> Option<i32> {
        self.exit.map(|exit| exit - 128).filter(|signal| matches!(signal, 1..=15 | 24 | 25 | 31))
    }
}

/// Completes `found`; says how many lines were left out as noise.
pub fn read(text: &Text<'_>, status: &Status, found: &mut Found) -> usize {
    if let Some(signal) = status.signal {
        push_signal(signal, found);
    }
    if !found.is_empty() || !status.failed_or_unknown() {
        return 0;
    }
    let passed = found.counts.is_some_and(|counts| counts.run > 0 && counts.failed == 0);
    if status.exit.is_none() && (passed || text.lines.iter().all(|line| line.trim().is_empty())) {
        return 0;
    }
    if let Some(signal) = status.shell_signal() {
        push_signal(signal, found);
        return 0;
    }
    if status.exit == Some(124) {
        found.push(Draft::new(Kind::Exit, "timeout").message("the time limit of `timeout` ended it"));
        found.readers.push("exit");
        return 0;
    }
    lines(text, status, found)
}

fn push_signal(signal: i32, found: &mut Found) {
    found.push(Draft::new(Kind::Signal, format!("signal {signal}")).message(&format!("ended by signal {signal}")));
    found.readers.push("signal");
}

fn lines(text: &Text<'_>, status: &Status, found: &mut Found) -> usize {
    let mut dropped = 0;
    let mut kept: Vec<String> = Vec::new();
    let open: Vec<(usize, &str)> = text.open().collect();
    for (at, line) in open.iter().rev().take(MAX_LINES_LOOKED_AT) {
        let echo = line.starts_with("> ") && NPM_SCRIPT.is_match(text.line(at.saturating_sub(1)));
        let line = volatile(line);
        if echo || NOISE.is_match(&line) || !WORDS.is_match(&unmasked(&line)) {
            dropped += 1;
        } else if !kept.contains(&line) {
            kept.push(line);
        }
        if kept.len() == MAX_FALLBACK_LINES {
            break;
        }
    }
    let code = status.exit.map_or_else(String::new, |exit| format!("exit {exit}"));
    if kept.is_empty() {
        found.push(Draft::new(Kind::Exit, if code.is_empty() { "no output" } else { &code }));
        found.readers.push("exit");
        return dropped;
    }
    let told = kept.iter().find(|line| TROUBLE.is_match(line)).unwrap_or(&kept[0]).clone();
    let set: BTreeSet<String> = kept.into_iter().collect();
    let all = set.into_iter().collect::<Vec<_>>().join("\n");
    found.push(Draft::new(Kind::Line, format!("lines {}", &digest(&all)[..16])).cause(code).message(&told));
    found.readers.push("lines");
    dropped
}

/// A line that only holds masks says nothing.
fn unmasked(line: &str) -> String {
    ["<time>", "<date>", "<dur>", "<size>", "<pct>", "<n/n>", "<n>", "<hex>", "<addr>", "<uuid>", "<tmp>"]
        .iter()
        .fold(line.to_owned(), |line, mask| line.replace(mask, ""))
}
