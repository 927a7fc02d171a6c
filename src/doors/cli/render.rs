//! Answers and refusals for a person, and as JSON for a program. The answer goes to stdout; what is said about it goes to
//! stderr. Colour repeats what words say and never says anything alone.

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::{Value, json};

use super::layout::{Hints, Layout, sole_list};
use super::line::command_line;
use super::parse::Voice;
use super::text::{neutral, neutral_json};
use crate::adapters::world::SystemEnv;
use crate::domain::answer::Answer;
use crate::domain::op_info::OpInfo;
use crate::domain::refusal::{Code, Next, Refusal};
use crate::domain::stamp::Stamp;
use crate::doors::rpc;
use crate::ports::world::Env as _;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NEXT: Style = AnsiColor::Green.on_default();

/// The width where there is no terminal to ask: logs and transcripts are read by people too.
const PIPED_COLUMNS: usize = 100;

/// How a person wants to see things.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Stdout is a terminal that takes colours; `NO_COLOR` and its kin have been asked.
    pub colour: bool,
    /// The same of stderr: one of them may be a pipe.
    pub colour_stderr: bool,
    /// The width that tables are wrapped to; `None` wraps nothing.
    pub columns: Option<usize>,
    /// For times as people tell them.
    pub now: Stamp,
    /// Nothing beside the answer.
    pub quiet: bool,
    pub verbose: u8,
}

impl Look {
    /// Looks at this process's standard output and its environment.
    pub fn probe(now: Stamp, quiet: bool, verbose: u8) -> Self {
        let stdout = std::io::stdout();
        let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let colour_stderr = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        // A pipe to a pager has no width of its own; who exports one means it.
        let told = || SystemEnv.var("COLUMNS").and_then(|columns| columns.parse().ok());
        let columns = size.map(|size| usize::from(size.ws_col)).or_else(told).filter(|&columns| columns > 0);
        Self { colour, colour_stderr, columns: Some(columns.unwrap_or(PIPED_COLUMNS)), now, quiet, verbose }
    }

    fn on_stderr(&self) -> Self {
        Self { colour: self.colour_stderr, ..*self }
    }

    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// What goes where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

const REPLAYED: &str = "replayed: this is the stored answer of an earlier call with the same idempotency key\n";

/// Renders `answer`, given by the operation `op` if it was one.
pub fn answer(answer: &Answer, op: Option<&OpInfo>, ops: &[OpInfo], look: &Look) -> Printed {
    let mut stdout = String::new();
    let mut stderr = String::new();
    let layout = Layout { hints: Hints::of(op), look };
    let judges = op.is_some_and(|op| op.holds.is_some());
    if answer.receipt.replayed && !judges {
        stderr.push_str(REPLAYED);
    }
    match &answer.data {
        Value::Null => stderr.push_str("done\n"),
        Value::Object(members) if members.is_empty() => stderr.push_str("done\n"),
        Value::Array(items) if items.is_empty() => stderr.push_str("nothing to show\n"),
        Value::Object(members) if sole_list(members).is_some_and(|(_, items)| items.is_empty()) => {
            stderr.push_str("nothing to show\n");
        }
        data => {
            stdout = raw(data, op).unwrap_or_else(|| layout.whole(data));
            // What held then is not read as what holds now.
            if answer.receipt.replayed && judges {
                stdout.insert_str(0, REPLAYED);
            }
            if stdout.is_empty() {
                stderr.push_str("nothing to show\n");
            }
        }
    }
    beside(answer, ops, &look.on_stderr(), &mut stderr);
    if look.quiet {
        stderr.clear();
    }
    Printed { stdout, stderr }
}

/// The text that is printed as it is, line by line, if `op` has one and it is there.
fn raw(data: &Value, op: Option<&OpInfo>) -> Option<String> {
    let text = data[op?.raw?].as_str()?;
    Some(text.lines().fold(String::new(), |all, line| all + &neutral(line) + "\n"))
}

/// Warnings, cuts, the receipt and what can be done next.
fn beside(answer: &Answer, ops: &[OpInfo], look: &Look, out: &mut String) {
    for warning in &answer.warnings {
        let head = look.paint(WARNING, &format!("warning[{}]:", neutral(&warning.code)));
        said(&head, &warning.message, out);
    }
    for cut in &answer.truncated {
        let of = cut.total.map_or_else(String::new, |total| format!(" of {total}"));
        let head = look.paint(WARNING, "truncated:");
        writeln_to(out, &format!("{head} {} at {}{of}; {}", neutral(&cut.what), cut.limit, neutral(&cut.how)));
    }
    if look.verbose > 0 {
        for event in &answer.receipt.events {
            writeln_to(out, &look.paint(DIM, &format!("recorded: {event}")));
        }
        if let Some(head) = &answer.receipt.ledger {
            let line = format!("ledger: {} at {}, seal {}", head.origin, head.oseq, head.seal);
            writeln_to(out, &look.paint(DIM, &line));
        }
    }
    nexts(&answer.next, ops, look, out);
}

fn nexts(next: &[Next], ops: &[OpInfo], look: &Look, out: &mut String) {
    for next in next {
        let head = look.paint(NEXT, "next:");
        writeln_to(out, &format!("{head} {}", command_line(next, ops)));
        if !next.why.is_empty() {
            writeln_to(out, &format!("      {}", look.paint(DIM, &neutral(&next.why))));
        }
    }
}

/// Renders `refusal` for stderr.
pub fn refusal(refusal: &Refusal, ops: &[OpInfo], look: &Look) -> String {
    let look = &look.on_stderr();
    let head = look.paint(ERROR, &format!("error[{}]:", refusal.code().name()));
    let mut out = String::new();
    said(&head, refusal.message(), &mut out);
    // The sentence of a usage fault says all that its details do.
    if refusal.code() != Code::USAGE || look.verbose > 0 {
        Layout { hints: Hints::default(), look }.object(refusal.details(), "", 2, &mut out);
    }
    nexts(refusal.proposals(), ops, look, &mut out);
    out
}

/// Renders `no` for whoever is listening; its exit status is that of its code.
pub fn refused(no: &Refusal, voice: Voice, ops: &[OpInfo], look: &Look) -> Printed {
    match voice {
        Voice::Human => Printed { stdout: String::new(), stderr: refusal(no, ops, look) },
        Voice::Json => Printed { stdout: refusal_json(no), stderr: String::new() },
        Voice::Rpc => {
            let line = String::from_utf8(rpc::refused(no)).expect("serde_json writes UTF-8");
            Printed { stdout: line, stderr: String::new() }
        }
    }
}

/// The line that `--json` prints for an answer.
pub fn answer_json(answer: &Answer) -> String {
    json_line(answer)
}

/// The line that `--json` prints for a refusal: the error member of the JSON-RPC response.
pub fn refusal_json(refusal: &Refusal) -> String {
    let error = json!({ "code": refusal.code().number(), "message": refusal.message(), "data": refusal.data() });
    json_line(&json!({ "error": error }))
}

fn json_line(value: &impl Serialize) -> String {
    let mut line = neutral_json(&serde_json::to_string(value).expect("answers and refusals always serialise"));
    line.push('\n');
    line
}

/// `message` behind `head`, with its further lines below: programs whose words are passed on say more than one.
fn said(head: &str, message: &str, out: &mut String) {
    let mut lines = message.lines().map(str::trim_end).filter(|line| !line.is_empty());
    writeln_to(out, &format!("{head} {}", neutral(lines.next().unwrap_or_default())));
    lines.for_each(|line| writeln_to(out, &format!("  | {}", neutral(line))));
}

pub(super) fn writeln_to(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}
