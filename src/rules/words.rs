//! A shell text as words and what joins them. Quotes, comments and substitutions are understood; reserved words are
//! words like any other.

use std::iter::Peekable;
use std::str::Chars;

pub enum Token {
    Word(Word),
    /// `;`, a line's end, `&`, `&&`, `||`, `|`.
    Join(&'static str),
    /// The next word is a file's name or a descriptor.
    Redirect,
}

#[derive(Default)]
pub struct Word {
    pub text: String,
    /// Whether a command inside it can fail in its stead, as in `A=$(make)`.
    pub substitutes: bool,
    quoted: bool,
}

impl Word {
    pub fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Whether it is only a line that goes on.
    fn is_nothing(&self) -> bool {
        self.text.is_empty() && !self.quoted && !self.substitutes
    }

    pub fn is_assignment(&self) -> bool {
        let name = self.text.split_once('=').map_or("", |(name, _)| name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }
}

/// Reads the tokens of `text`.
pub fn tokens(text: &str) -> impl Iterator<Item = Token> {
    Lexer { chars: text.chars().peekable() }
}

struct Lexer<'t> {
    chars: Peekable<Chars<'t>>,
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let first = *self.chars.peek()?;
            match first {
                '#' => while self.chars.next_if(|c| *c != '\n').is_some() {},
                ' ' | '\t' | '\r' | '(' | ')' => {
                    self.chars.next();
                }
                ';' | '\n' => return self.join(";"),
                '&' => {
                    self.chars.next();
                    return match self.chars.peek() {
                        Some('&') => self.join("&&"),
                        Some('>') => self.redirect(),
                        _ => Some(Token::Join("&")),
                    };
                }
                '|' => {
                    self.chars.next();
                    return if self.chars.peek() == Some(&'|') { self.join("||") } else { Some(Token::Join("|")) };
                }
                '<' | '>' => return self.redirect(),
                _ => match self.word() {
                    word if word.is_nothing() => {}
                    word => return Some(Token::Word(word)),
                },
            }
        }
    }
}

impl Lexer<'_> {
    fn join(&mut self, join: &'static str) -> Option<Token> {
        self.chars.next();
        Some(Token::Join(join))
    }

    fn redirect(&mut self) -> Option<Token> {
        while self.chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|')).is_some() {}
        Some(Token::Redirect)
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.chars.next_if(|c| !" \t\r\n;&|<>()".contains(*c)) {
            word.quoted |= matches!(c, '\'' | '"');
            match c {
                '\'' => self.until('\'', &mut word),
                '"' => self.quoted(&mut word),
                '\\' => match self.chars.next() {
                    None | Some('\n') => {}
                    Some(escaped) => word.text.push(escaped),
                },
                '`' => self.backtick(&mut word),
                '$' => self.dollar(&mut word),
                c => word.text.push(c),
            }
        }
        word
    }

    fn until(&mut self, end: char, word: &mut Word) {
        word.text.extend(self.chars.by_ref().take_while(|c| *c != end));
    }

    fn quoted(&mut self, word: &mut Word) {
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => word.text.extend(self.chars.next()),
                '`' => self.backtick(word),
                '$' => self.dollar(word),
                c => word.text.push(c),
            }
        }
    }

    fn backtick(&mut self, word: &mut Word) {
        word.substitutes = true;
        self.until('`', word);
    }

    /// Takes `$(…)` and `${…}` whole, so that no separator inside them splits the word.
    fn dollar(&mut self, word: &mut Word) {
        word.text.push('$');
        let (open, close) = match self.chars.peek() {
            Some('(') => ('(', ')'),
            Some('{') => ('{', '}'),
            _ => return,
        };
        word.substitutes |= open == '(';
        let mut depth = 0_usize;
        for c in self.chars.by_ref() {
            word.text.push(c);
            depth = if c == open { depth + 1 } else { depth - usize::from(c == close) };
            if depth == 0 {
                return;
            }
        }
    }
}
