//! How the story is told: why, the line as it is typed, what comes back, and whether that is what was told.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::adapters::shell::{Shell, Typed};
use crate::adapters::stdout::stdout;
use crate::domain::refusal::{Code, Refusal};
use crate::doors::cli::{Look, Written, neutral, plain, quoted, write_all};

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const LINE: Style = Style::new().bold();
const STATUS: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();

/// The widest that answers are laid out, in columns, where no terminal says otherwise.
const COLUMNS: usize = 110;

/// Why the story ended early.
#[derive(Debug)]
pub enum Stopped {
    /// It could not begin, or something did not behave as told.
    Refused(Refusal),
    /// The reader is gone, and had what it wanted.
    ReaderGone,
    /// What was told could not be written.
    NotWritten(std::io::Error),
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Stopped {
    /// Adds where everything lies, for whoever wants to know what went wrong.
    pub fn left_at(self, root: &Path) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.with("left_at", root.display().to_string())),
            Self::ReaderGone | Self::NotWritten(_) => self,
        }
    }
}

/// How much of an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    Whole,
    /// So many lines, then how many there are beside them.
    First(usize),
}

/// What a line is told to do.
#[derive(Clone, Debug)]
pub struct Told<'t> {
    /// The exit status; `None` where it only must not be 0: git has its own.
    status: Option<i32>,
    says: &'t [&'t str],
    show: Show,
}

impl<'t> Told<'t> {
    /// It ends with 0, and says each of `says`.
    pub fn done(says: &'t [&'t str]) -> Self {
        Self { status: Some(0), says, show: Show::Whole }
    }

    /// It is refused with the exit status of `code`, names the code, and says each of `says`.
    pub fn refused(code: Code, says: &'t [&'t str]) -> Self {
        Self { status: Some(i32::from(code.exit_status())), says, show: Show::Whole }
    }

    /// Another program fails with a status of its own.
    pub fn fails(says: &'t [&'t str]) -> Self {
        Self { status: None, says, show: Show::Whole }
    }

    pub fn first(self, lines: usize) -> Self {
        Self { show: Show::First(lines), ..self }
    }

    /// What is not as told, in words.
    fn broken_by(&self, typed: &Typed) -> Option<String> {
        match self.status {
            Some(status) if status != typed.status => {
                return Some(format!("it should exit with {status} and exited with {}", typed.status));
            }
            None if typed.status == 0 => return Some("it should fail and exited with 0".to_owned()),
            _ => {}
        }
        let missing = self.says.iter().find(|words| !typed.shown.contains(**words));
        missing.map(|words| format!("its answer should say `{words}`"))
    }
}

/// Tells, types, and watches.
pub struct Teller {
    pub shell: Shell,
    colour: bool,
    scene: usize,
}

impl Teller {
    pub fn new(mut shell: Shell, look: &Look) -> Self {
        let columns = look.columns.unwrap_or(COLUMNS).to_string();
        shell.export("COLUMNS", columns);
        if look.colour {
            shell.export("CLICOLOR_FORCE", "1");
        }
        Self { shell, colour: look.colour, scene: 0 }
    }

    /// Begins a scene.
    pub fn scene(&mut self, title: &str, why: &str) -> Result<(), Stopped> {
        self.scene += 1;
        let head = self.paint(TITLE, &format!("{}. {title}", self.scene));
        self.say(&format!("\n{head}\n{why}\n\n"))
    }

    /// Says something between two lines.
    pub fn aside(&mut self, words: &str) -> Result<(), Stopped> {
        self.say(&format!("{words}\n\n"))
    }

    /// Goes to `dir` as a person would.
    pub fn cd(&mut self, dir: &Path) -> Result<(), Stopped> {
        self.prompt(&format!("cd {}", quoted(&dir.display().to_string())))?;
        self.shell.cd(dir);
        Ok(())
    }

    /// Exports a variable as a person would.
    pub fn export(&mut self, name: &str, value: &str) -> Result<(), Stopped> {
        self.prompt(&format!("export {name}={value}"))?;
        self.shell.export(name, value);
        Ok(())
    }

    /// Types `line`, shows it with what came back, and stops where that is not as told. Gives the answer without colours.
    pub fn line(&mut self, line: &str, told: &Told<'_>) -> Result<String, Stopped> {
        self.prompt(line)?;
        let mut typed = self.run(line)?;
        let shown = without_tokens(&typed.shown);
        self.say(&cut(&shown, told.show))?;
        if typed.status != 0 {
            let status = self.paint(STATUS, &format!("[exit {}]", typed.status));
            self.say(&format!("{status}\n"))?;
        }
        self.say("\n")?;
        typed.shown = plain(&typed.shown);
        match told.broken_by(&typed) {
            None => Ok(typed.shown),
            Some(how) => Err(broken(line, &how, &typed)),
        }
    }

    /// Types `line` without showing it. It must end with 0.
    pub fn quietly(&self, line: &str) -> Result<String, Stopped> {
        let mut typed = self.run(line)?;
        typed.shown = plain(&typed.shown);
        match typed.status {
            0 => Ok(typed.shown),
            status => Err(broken(line, &format!("it should exit with 0 and exited with {status}"), &typed)),
        }
    }

    /// The `data` of what `line` answers with `--json`. Not shown: it is how the story checks what it tells.
    pub fn data(&self, line: &str) -> Result<Value, Stopped> {
        let line = format!("{line} --json");
        let shown = self.quietly(&line)?;
        let mut answer: Value = serde_json::from_str(&shown).map_err(|why| {
            broken(&line, &format!("it should answer in JSON: {why}"), &Typed { shown: shown.clone(), status: 0 })
        })?;
        Ok(answer["data"].take())
    }

    /// Stops unless `holds`.
    pub fn check(&self, holds: bool, what: &str) -> Result<(), Stopped> {
        if holds { Ok(()) } else { Err(Refusal::new(Code::INTERNAL, format!("the story is broken: {what}")).into()) }
    }

    fn run(&self, line: &str) -> Result<Typed, Stopped> {
        let failed = |why| Refusal::new(Code::COMMAND_NOT_RUN, format!("`{}` could not be run: {why}", neutral(line)));
        self.shell.run(line).map_err(|why| failed(why).into())
    }

    fn prompt(&self, line: &str) -> Result<(), Stopped> {
        let prompt = self.paint(DIM, "$");
        self.say(&format!("{prompt} {}\n", self.paint(LINE, line)))
    }

    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    pub fn say(&self, words: &str) -> Result<(), Stopped> {
        match write_all(&mut stdout(), words.as_bytes()) {
            Written::Done => Ok(()),
            Written::ReaderGone => Err(Stopped::ReaderGone),
            Written::Failed(why) => Err(Stopped::NotWritten(why)),
        }
    }
}

fn broken(line: &str, how: &str, typed: &Typed) -> Stopped {
    Refusal::new(Code::INTERNAL, format!("the story is broken: {how}"))
        .with("line", line)
        .with("status", typed.status)
        .with("answer", &typed.shown)
        .into()
}

/// The first lines of `shown`, and how many there are beside them.
fn cut(shown: &str, show: Show) -> String {
    let lines: Vec<&str> = shown.lines().collect();
    let kept = match show {
        Show::First(most) if lines.len() > most + 1 => most,
        Show::First(_) | Show::Whole => lines.len(),
    };
    let mut text: String = lines[..kept].iter().map(|line| shortened(line) + "\n").collect();
    if kept < lines.len() {
        text.push_str(&format!("… {} more lines\n", lines.len() - kept));
    }
    text
}

/// The longest line that is told, in characters: JSON has no shorter ones.
const MAX_LINE_CHARS: usize = 400;

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// How many characters a session's token has behind its session.
const TOKEN_HEX_CHARS: usize = 64;

/// `shown` without the secret parts of tokens: a story is copied into issues and slides (I12).
fn without_tokens(shown: &str) -> String {
    let hide = |word: &str| match word.split_once('.') {
        Some((head, rest)) => {
            let hex = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
            let is_token = head.contains("s-") && hex == TOKEN_HEX_CHARS;
            if is_token { format!("{head}.…{}", &rest[hex..]) } else { word.to_owned() }
        }
        None => word.to_owned(),
    };
    shown.split_inclusive([' ', '\n']).map(hide).collect()
}

/// The first id of this kind in `shown`: `t` of `t-0123456789ab`.
pub fn id_in(shown: &str, kind: char) -> Result<String, Stopped> {
    let words = shown.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let prefix = format!("{kind}-");
    let found = words.into_iter().find(|word| word.starts_with(&prefix) && word.len() == prefix.len() + 12);
    let missing = || Refusal::new(Code::INTERNAL, format!("the story is broken: no id `{prefix}…` in the answer"));
    found.map(str::to_owned).ok_or_else(|| missing().with("answer", shown).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_does_not_do_what_is_told_is_found_out() {
        let typed = |status, shown: &str| Typed { status, shown: shown.to_owned() };
        let told = Told::refused(Code::NOT_CLEARED, &["error[NOT_CLEARED]", "src/lib.rs"]);
        assert_eq!(told.broken_by(&typed(11, "error[NOT_CLEARED]: `src/lib.rs`")), None);
        let broken = |typed: &Typed| told.broken_by(typed).expect("it is broken");
        assert_eq!(broken(&typed(0, "")), "it should exit with 11 and exited with 0");
        assert_eq!(broken(&typed(11, "error[NOT_CLEARED]")), "its answer should say `src/lib.rs`");
        assert!(Told::fails(&[]).broken_by(&typed(0, "")).is_some());
        assert!(Told::fails(&[]).broken_by(&typed(1, "")).is_none());
    }

    #[test]
    fn no_token_is_told() {
        let secret = "0f".repeat(32);
        let told = without_tokens(&format!("token:  s-6ren7dwekr58.{secret}\nv1.2 a.b\n"));
        assert_eq!(told, "token:  s-6ren7dwekr58.…\nv1.2 a.b\n");
    }

    #[test]
    fn a_long_answer_is_cut_at_a_line_and_says_so() {
        assert_eq!(cut("a\nb\nc\nd\n", Show::First(2)), "a\nb\n… 2 more lines\n");
        assert_eq!(cut("a\nb\nc", Show::First(2)), "a\nb\nc\n", "one line more is not worth cutting");
        assert_eq!(cut("", Show::Whole), "");
    }

    #[test]
    fn ids_are_read_off_an_answer() {
        let found = id_in("task:   t-0123456789ab\nand t-zz", 't');
        assert_eq!(found.expect("there is one"), "t-0123456789ab");
        assert!(id_in("s-12", 's').is_err());
    }
}
