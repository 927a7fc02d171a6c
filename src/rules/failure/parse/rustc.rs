//! rustc, clippy and cargo's own errors, as text.

use super::found::{Draft, Found};
use crate::domain::failure::Kind;
use crate::rules::failure::mask::{pattern, volatile};
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(HEAD, r"^(?:[^\s:]*\s)?(error|warning)(?:\[(E\d{4})\])?: (.+)$");
pattern!(SHORT, r"^([^\s:][^:]*\.rs):(\d+):\d+: (error|warning)(?:\[(E\d{4})\])?: (.+)$");
pattern!(PLACE, r"^\s*--> (.+?):(\d+):\d+$");
pattern!(PRIMARY, r"\^+ (\S.*)$");
pattern!(
    WRAPPER,
    r"^(?:could not compile|aborting due to|test failed|doctest failed|\d+ targets? failed|build failed|process didn't exit|\d+ (?:warnings?|errors?) emitted|test run failed|recipe |script |failed to push|.* generated \d+ warning)"
);
/// How many lines one message may take.
const MAX_BLOCK_LINES: usize = 60;

pub fn read(text: &Text<'_>, found: &mut Found) {
    let lines: Vec<(usize, &str)> =
        text.open().filter(|(_, line)| line.contains("error") || line.contains("warning")).collect();
    let by_cargo = looks_like_cargo(text);
    for (at, line) in lines {
        if text.is_claimed(at) {
            continue;
        }
        if let Some(short) = SHORT.captures(line) {
            let number = short[2].parse().ok();
            place(
                found,
                &short[3] == "error",
                short.get(4).map_or("", |code| code.as_str()),
                &short[5],
                &short[1],
                number,
            );
            text.claim(at, at + 1);
        } else if let Some(head) =
            HEAD.captures(line).filter(|_| line.starts_with("error") || line.starts_with("warning"))
        {
            let code = head.get(2).map_or("", |code| code.as_str());
            block(text, found, at, (&head[1] == "error", by_cargo), code, &head[3]);
        }
    }
}

fn block(text: &Text<'_>, found: &mut Found, at: usize, (is_error, by_cargo): (bool, bool), code: &str, message: &str) {
    if WRAPPER.is_match(message) {
        return;
    }
    let end = (at + 1..text.lines.len().min(at + MAX_BLOCK_LINES))
        .find(|next| {
            text.line(*next).is_empty() || HEAD.is_match(text.line(*next)) && !text.line(*next).starts_with(' ')
        })
        .unwrap_or(text.lines.len().min(at + MAX_BLOCK_LINES));
    let body = &text.lines[at + 1..end];
    let found_at = body.iter().take(4).find_map(|line| PLACE.captures(line));
    let label = body.iter().find_map(|line| PRIMARY.captures(line)).map(|label| label[1].to_owned());
    // A suggestion is shown like a label, but no other format prints it.
    let label = label.filter(|label| !label.starts_with("help: "));
    if let Some(found_at) = found_at {
        let whole = label.map_or_else(|| message.to_owned(), |label| format!("{message}: {label}"));
        place(found, is_error, code, &whole, &found_at[1], found_at[2].parse().ok());
        text.claim(at, end);
    } else if is_error && by_cargo {
        let because = last_cause(text, at + 1);
        let detail = volatile(&[message, &because].join(" "));
        found.push(
            Draft::new(Kind::Compiler, format!("cargo: {}", volatile(message)))
                .cause(because_of(&because))
                .message(&detail),
        );
        text.claim(at, at + 1);
    }
}

fn place(found: &mut Found, is_error: bool, code: &str, message: &str, file: &str, line: Option<u32>) {
    let draft = diagnostic(code, message, file, line);
    if is_error { found.push(draft) } else { found.warnings.push(draft) }
}

/// Names a message of the compiler. A lint's name is left out: rustc tells it only at the lint's first place.
pub fn diagnostic(code: &str, message: &str, file: &str, line: Option<u32>) -> Draft {
    let file = path::stable(file);
    let cause = volatile(message);
    let module = matches!(code, "E0463") || (matches!(code, "E0432" | "E0433") && message.contains("unlinked crate"));
    let kind = if module { Kind::MissingModule } else { Kind::Compiler };
    let id = if code.is_empty() { format!("rustc {file}") } else { format!("{code} {file}") };
    Draft::new(kind, id).cause(cause).at(file, line).message(message)
}

fn looks_like_cargo(text: &Text<'_>) -> bool {
    ["cargo", "Compiling ", "Cargo.toml", "crates.io", "could not compile", "build.rs", "linking with", "rustc"]
        .iter()
        .any(|word| text.has(word))
}

/// Cargo tells the root cause last, below `Caused by:`.
fn last_cause(text: &Text<'_>, from: usize) -> String {
    let to = text.lines.len().min(from + MAX_BLOCK_LINES);
    let mut because = "";
    for at in from..to {
        if text.line(at).trim() == "Caused by:" {
            because = text.line(at + 1).trim();
        } else if text.line(at).starts_with("error") {
            break;
        }
    }
    because.to_owned()
}

fn because_of(because: &str) -> String {
    volatile(because)
}
