//! `file:line:col: message` and its relatives: compilers, type checkers and linters.

use super::found::{Draft, Found};
use super::modules;
use crate::domain::failure::Kind;
use crate::rules::failure::mask::{pattern, volatile};
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(
    PAREN,
    r"^\s*(?:\d+>)?(\S.*?)\((\d+)(?:[,-]\d+)*\)\s?: (?:fatal )?(error|warning|info) ([A-Z]+\d+): (.+?)(?: \[[^\]]*proj[^\]]*\])?$"
);
pattern!(PRETTY, r"^(\S.*?):(\d+):\d+ - (error|warning) (TS\d+): (.+)$");
pattern!(
    GLOBAL,
    r"^(?:MSBUILD : |CSC : |\S+proj : )?(error|warning) ((?:TS|CS|MSB|NU|NETSDK|LNK|FS)\d+): (.+?)(?: \[.*\])?$"
);
pattern!(
    COLONS,
    r"^((?:[A-Za-z]:)?[^\s:][^:]*?(?:\.\w{1,6}|[Mm]akefile|Dockerfile|CMakeLists\.txt)):(\d+)(:\d+)?(?:[:-]\d+){0,2}:? ?(?:- )?(.+)$"
);
pattern!(SEVERE, r"^(fatal error|error|warning|note|info|information|style|hint)(?:\[([\w-]+)\])?: (.+)$");
pattern!(CODED, r"^\[?([A-Z]{1,6}\d{2,5})\]?(?:\([\w-]+\))?:?\s(?:\[\*\] )?(.+)$");
pattern!(TRAILING, r"^(.+?)\s+[\[(]([\w@/:.=-]+)[\])]$");
// mypy's `--pretty` breaks the line before the code.
pattern!(CONTINUED, r"^ ?(?:\S.*)?\[[a-z][a-z-]+\]$");
const MAX_CONTINUED_LINES: usize = 4;
pattern!(ANNOTATION, r"^::(?:error|warning) [^:]*::");
pattern!(BIOME, r"^(\S+?):(\d+):\d+ ((?:lint|parse|format|assist|suppressions)\S*)(?: .*)?$");
pattern!(RUFF_HEAD, r"^([A-Z]{1,5}\d{2,5}|invalid-syntax):? (?:\[\*\] )?(.+)$");
pattern!(ARROW, r"^\s*(?:-->|┌─|╭─+\[) ?(\S+?):(\d+):\d+\]?$");
pattern!(MARK, r"^\s*[×✖✘⚠] (.+)$");

/// Programs whose `file:line: message` counts without a severity or a code.
const LINTERS: &[&str] =
    &["lint", "golangci-lint", "vet", "shellcheck", "yamllint", "pyflakes", "staticcheck", "vale", "ruff", "flake8"];

/// tsc and the .NET and Microsoft compilers.
pub fn read_parenthesised(text: &Text<'_>, found: &mut Found) {
    for (at, line) in
        text.open().filter(|(_, line)| line.contains("error ") || line.contains("warning ")).collect::<Vec<_>>()
    {
        let placed = PAREN.captures(line).or_else(|| PRETTY.captures(line));
        if let Some(placed) = placed {
            let draft = coded(&placed[4], &placed[5], &placed[1], placed[2].parse().ok());
            add(found, &placed[3], draft);
            text.claim(at, at + 1);
        } else if let Some(global) = GLOBAL.captures(line) {
            let draft = Draft::new(Kind::Compiler, &global[2]).cause(volatile(&global[3])).message(&global[3]);
            add(found, &global[1], draft);
            text.claim(at, at + 1);
        }
    }
}

fn coded(code: &str, message: &str, file: &str, line: Option<u32>) -> Draft {
    if code == "TS2307"
        && let Some(module) = modules::node_module(message)
    {
        return Draft::new(Kind::MissingModule, module).message(message);
    }
    let file = path::stable(file);
    Draft::new(Kind::Compiler, format!("{code} {file}")).cause(volatile(message)).at(file, line).message(message)
}

pub fn add(found: &mut Found, severity: &str, draft: Draft) {
    match severity {
        "error" | "fatal error" => found.push(draft),
        "note" | "info" | "information" | "hint" => {}
        _ => found.warnings.push(draft),
    }
}

/// gcc, clang, mypy, pyright, ruff, flake8, pylint, biome, golangci-lint, shellcheck and others of their form.
pub fn read(text: &Text<'_>, found: &mut Found) {
    let loose = found.is_asked(LINTERS);
    for (at, line) in text.open().filter(|(_, line)| line.contains(':') || line.contains(' ')).collect::<Vec<_>>() {
        if text.is_claimed(at) || !line.contains(|c: char| c.is_ascii_digit()) {
            continue;
        }
        if let Some(biome) = BIOME.captures(line) {
            let said = (at + 1..at + 5)
                .find_map(|next| MARK.captures(text.line(next)))
                .map_or(String::new(), |said| said[1].to_owned());
            found.push(lint(&biome[3], &said, &biome[1], biome[2].parse().ok()));
        } else if let (Some(head), Some(place)) = (RUFF_HEAD.captures(line), ARROW.captures(text.line(at + 1))) {
            found.push(lint(&head[1], &head[2], &place[1], place[2].parse().ok()));
            text.claim(at, at + 2);
        } else if let Some(place) = COLONS.captures(unannotated(line.trim_start())).filter(|place| is_file(&place[1])) {
            let said = place.get(4).map_or("", |said| said.as_str());
            let said = &continued(text, at, said);
            one(found, said, &place[1], place[2].parse().ok(), loose, place.get(3).is_some());
        }
    }
}

/// Joins the lines that a message was broken into, where the last of them brings the code.
fn continued(text: &Text<'_>, at: usize, said: &str) -> String {
    if !SEVERE.is_match(said) || TRAILING.is_match(said) {
        return said.to_owned();
    }
    let below = || (at + 1..=at + MAX_CONTINUED_LINES).map(|at| text.line(at)).take_while(|line| is_rest(line));
    let Some(last) = below().position(|line| CONTINUED.is_match(line)) else { return said.to_owned() };
    std::iter::once(said).chain(below().take(last + 1).map(str::trim)).collect::<Vec<_>>().join(" ")
}

/// What a message was broken into stands at the margin; the source that it is about does not.
fn is_rest(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("  ") && !COLONS.is_match(line)
}

/// Takes off what tells GitHub where to show a message, and the lines that it holds behind the first.
fn unannotated(line: &str) -> &str {
    let told = ANNOTATION.find(line).map_or(line, |head| &line[head.end()..]);
    if told.len() < line.len() { told.split("%0A").next().unwrap_or(told) } else { line }
}

/// A frame of a stack, a quoted sentence or an address is no file with a message.
fn is_file(file: &str) -> bool {
    let spaced = file.contains(' ') && !file.contains('/');
    !spaced
        && !file.contains(['(', ')', '"', '\'', '`', '=', '|', '<', '>'])
        && !file.starts_with("at ")
        && !file.contains("://")
}

fn one(found: &mut Found, said: &str, file: &str, line: Option<u32>, loose: bool, column: bool) {
    if let Some(severe) = SEVERE.captures(said) {
        let code = severe.get(2).map_or("", |code| code.as_str());
        let draft = severity(&severe[1], code, &severe[3], file, line);
        // A note of shellcheck fails its run like any other of its messages.
        return if draft.id.starts_with("SC") { found.push(draft) } else { add(found, &severe[1], draft) };
    }
    if let Some(coded) =
        CODED.captures(said).filter(|coded| !coded[1].starts_with("HTTP") && (column || loose || said.starts_with('[')))
    {
        return found.push(lint(&coded[1], without_name(&coded[2]), file, line));
    }
    let trailing = TRAILING.captures(said).filter(|_| column);
    let (message, rule) = trailing.as_ref().map_or((said, ""), |trailing| {
        (trailing.get(1).map_or("", |m| m.as_str()), trailing.get(2).map_or("", |m| m.as_str()))
    });
    let is_warning = rule.starts_with("Warning/");
    let rule = rule.trim_start_matches("Error/").trim_start_matches("Warning/");
    let draft = lint(rule, message, file, line);
    let says = message.chars().any(char::is_alphabetic);
    if loose && !is_warning && says {
        found.push(draft)
    } else if column && says {
        found.warnings.push(draft)
    }
}

pub fn severity(word: &str, code: &str, message: &str, file: &str, line: Option<u32>) -> Draft {
    if let Some(module) = modules::header(&format!("{word}: {message}")) {
        return Draft::new(Kind::MissingModule, module).message(message);
    }
    let trailing = TRAILING.captures(message).filter(|_| code.is_empty());
    let (message, code) = trailing.as_ref().map_or((message, code), |trailing| {
        (trailing.get(1).map_or("", |m| m.as_str()), trailing.get(2).map_or("", |m| m.as_str()))
    });
    let stable = path::stable(file);
    let id = if code.is_empty() { stable.clone() } else { format!("{code} {stable}") };
    Draft::new(Kind::Compiler, id).cause(volatile(message)).at(stable, line).message(message)
}

/// pylint repeats the rule's name behind the message.
fn without_name(message: &str) -> &str {
    TRAILING
        .captures(message)
        .filter(|end| end[2].contains('-'))
        .map_or(message, |end| end.get(1).map_or(message, |m| m.as_str()))
}

/// Names a linter's message by rule and file; two messages of one rule differ by what they say.
pub fn lint(rule: &str, message: &str, file: &str, line: Option<u32>) -> Draft {
    let file = path::stable(file);
    let id = if rule.is_empty() { file.clone() } else { format!("{rule} {file}") };
    Draft::new(Kind::Lint, id).cause(volatile(message)).at(file, line).message(message)
}
