//! How a Python exception names a failure.

use super::mask::{forced, pattern, volatile};

pattern!(EXCEPTION, r"^((?:[A-Za-z_][\w]*\.)*([A-Z]\w*|_\w+\.Exception))(?:: (.*))?$");
pattern!(MISSING, r#"(?:ModuleNotFoundError|ImportError): No module named ['"]?([\w.]+)['"]?"#);

/// Names an exception: its class without the module, and what it says where that is not only the compared values.
pub fn cause(text: &str) -> String {
    let text = text.trim();
    if text.starts_with("assert ") || text == "assert" {
        return "AssertionError".to_owned();
    }
    let Some(found) = EXCEPTION.captures(text) else { return volatile(text) };
    let class = &found[2];
    let said = found.get(3).map_or("", |said| said.as_str()).trim();
    match (class, said) {
        (class, "") => class.to_owned(),
        ("AssertionError", said) if said.starts_with("assert ") => "AssertionError".to_owned(),
        ("AssertionError", said) => format!("AssertionError: {}", forced(said)),
        (class, said) => format!("{class}: {}", volatile(said)),
    }
}

/// Says whether a line without indent ends a traceback.
pub fn is_exception(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && EXCEPTION.is_match(line)
}

/// The module that an import did not find.
pub fn missing_module(text: &str) -> Option<String> {
    MISSING.captures(text).map(|found| format!("python:{}", &found[1]))
}

/// The exception that the last traceback among `lines` ends with.
pub fn last_exception<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let from = lines.iter().rposition(|line| line.trim_start().starts_with("Traceback (most recent call last)"))?;
    let indent = indent(lines[from]);
    lines[from + 1..]
        .iter()
        .find(|line| !line.trim().is_empty() && self::indent(line) <= indent)
        .map(|line| line.trim())
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
