//! A command line as the simple commands that do its work.

/// How deep `bash -c` inside `bash -c` is followed.
const MAX_DEPTH: usize = 4;

/// What only shows the output of the command before it.
const FILTERS: &[&str] = &[
    "head", "tail", "cat", "tee", "grep", "egrep", "fgrep", "rg", "sed", "awk", "less", "more", "wc", "sort", "uniq",
    "cut", "tr", "column", "ts", "jq", "tac", "nl", "fold", "strings", "ansi2txt", "bat",
];

/// What says something, or prepares the shell, and checks nothing.
const ASIDES: &[&str] = &[
    "echo", "printf", "true", ":", "set", "export", "source", ".", "exit", "sleep", "unset", "ulimit", "shopt", "date",
    "clear", "pwd", "wait", "umask", "alias",
];

/// The words of each command that does the work, in order; `cd` is kept, since it says where.
pub fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    collect(line, 0, &mut all);
    all
}

fn collect(line: &str, depth: usize, all: &mut Vec<Vec<String>>) {
    for (text, piped) in split(line) {
        let words = words(&text);
        let Some(program) = words.iter().find(|word| !is_assignment(word)) else { continue };
        let name = program.rsplit('/').next().unwrap_or(program);
        if ASIDES.contains(&name) || piped && FILTERS.contains(&name) {
            continue;
        }
        match inner(&words).filter(|_| depth < MAX_DEPTH) {
            Some(script) => collect(&script, depth + 1, all),
            None => all.push(words),
        }
    }
}

/// The script of `bash -c '…'`, behind wrappers too.
fn inner(words: &[String]) -> Option<String> {
    let at = words
        .iter()
        .position(|word| ["bash", "sh", "zsh", "dash"].contains(&word.rsplit('/').next().unwrap_or(word)))?;
    let flag = words[at + 1..]
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    words.get(at + 1 + flag + 1).cloned()
}

/// Splits at `&&`, `||`, `;`, `|`, `&` and newlines outside of quotes. Says of each part whether a pipe feeds it.
fn split(line: &str) -> Vec<(String, bool)> {
    let mut parts = Vec::new();
    let (mut part, mut piped, mut quote) = (String::new(), false, None);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', Some('"') | None) => {
                part.push(c);
                part.extend(chars.next());
            }
            (c, Some(open)) => {
                quote = (c != open).then_some(open);
                part.push(c);
            }
            ('\'' | '"', None) => {
                quote = Some(c);
                part.push(c);
            }
            ('&', None) if part.ends_with(['>', '<']) || chars.peek() == Some(&'>') => part.push(c),
            ('|', None) if part.ends_with('>') => part.push(c),
            (';' | '&' | '|' | '\n', None) => {
                parts.push((std::mem::take(&mut part), piped));
                let doubled = chars.next_if_eq(&c).is_some();
                piped = c == '|' && !doubled;
                if piped {
                    chars.next_if_eq(&'&');
                }
            }
            ('(' | ')' | '{' | '}', None) if part.trim().is_empty() || c == ')' => {}
            ('#', None) if part.is_empty() || part.ends_with(' ') => while chars.next_if(|c| *c != '\n').is_some() {},
            (c, None) => part.push(c),
        }
    }
    parts.push((part, piped));
    parts
}

/// Words without redirections.
fn words(text: &str) -> Vec<String> {
    let split = shell_words::split(text).unwrap_or_else(|_| text.split_whitespace().map(str::to_owned).collect());
    let mut words = Vec::new();
    let mut skip = false;
    for word in split {
        if std::mem::take(&mut skip) {
            continue;
        }
        let bare = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if bare.starts_with(['>', '<']) && !bare.starts_with("<(") {
            skip = bare.trim_start_matches(['>', '<', '|']).is_empty();
        } else {
            words.push(word);
        }
    }
    words
}

pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
