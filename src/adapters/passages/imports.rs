//! Which words a file imports: those on its import-like lines. A hint for ranking, not a resolver.

use super::words;

/// Import lines are looked for in this many lines.
const MAX_LINES: usize = 400;
/// The most words that one file imports.
const MAX_WORDS: usize = 160;

/// The words on the import-like lines of `text`, joined by spaces.
pub fn of(text: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut in_block = false;
    for line in text.lines().take(MAX_LINES) {
        let line = line.trim();
        if in_block && line.starts_with([')', '}']) {
            in_block = false;
        }
        if !(in_block || is_import(line)) || line.len() > 300 {
            continue;
        }
        in_block |= line.ends_with('(') || (line.ends_with('{') && line.starts_with("import"));
        words::each(line, |word| {
            let counts = word.len() >= 3 && found.len() < MAX_WORDS && !is_syntax(word);
            if counts && !found.iter().any(|known| known == word) {
                found.push(word.to_owned());
            }
        });
    }
    found.join(" ")
}

fn is_import(line: &str) -> bool {
    const HEADS: [&str; 12] = [
        "use ",
        "pub use ",
        "mod ",
        "pub mod ",
        "import ",
        "import(",
        "from ",
        "#include",
        "require ",
        "require_relative ",
        "using ",
        "export * from",
    ];
    let is_binding = line.contains("require(") || (line.starts_with("export ") && line.contains(" from "));
    HEADS.iter().any(|head| line.starts_with(head)) || line.starts_with("} from ") || is_binding
}

fn is_syntax(word: &str) -> bool {
    [
        "use", "pub", "mod", "import", "from", "include", "require", "using", "export", "const", "crate", "super",
        "self", "std",
    ]
    .contains(&word)
}

/// What others import a file by: the words of its stem, or of its directory where the stem says nothing. `None` for a
/// path that is not UTF-8.
pub fn stem(path: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let says_nothing = ["mod", "index", "main", "lib", "__init__", "init"].contains(&stem);
    let stem = if says_nothing { parts.next().unwrap_or(stem) } else { stem };
    // Whole, as the last word that `words` gives for it.
    let mut last = None;
    words::each(stem, |word| last = Some(word.to_owned()));
    last.filter(|word| word.len() >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_lines_of_the_usual_languages_are_read() {
        let text = "use crate::domain::digest::Digest;\nfrom app.models import User\nimport {\n  a1,\n} from './rateLimiter'\n\
                    #include \"ring.h\"\nimport (\n\t\"net/http\"\n)\nlet fs = require('node_fs');\nfn other() {}\n";
        assert_eq!(of(text), "domain digest app model user rate limiter ratelimiter ring net http let node nodef");
    }

    #[test]
    fn a_file_is_imported_by_its_stem_or_its_directory() {
        assert_eq!(stem(b"src/rateLimiter.ts").as_deref(), Some("ratelimiter"));
        assert_eq!(stem(b"src/domain/mod.rs").as_deref(), Some("domain"));
        assert_eq!(stem(b"a/\xff.rs"), None);
    }
}
