//! The table of checks that are on, as text: where each stands, on the base and here, and the last thing it said.

use std::time::{Duration, Instant};

/// Of an unfinished line of output this much is kept, in bytes: no screen shows more.
const MAX_LINE_BYTES: usize = 1024;

/// Lines are written over each other; one that is too long is cut by the terminal and never wraps.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

#[derive(Default)]
pub(super) struct Board {
    rows: Vec<Row>,
    /// Whether what is told now happens on the base.
    pub on_base: bool,
    /// How many lines of it stand on the screen.
    drawn: usize,
}

struct Row {
    what: String,
    base: State,
    here: State,
    /// The last line of output, and the one that is being written.
    said: String,
    line: String,
}

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    Running(Instant),
    Ended(String, Option<Duration>),
}

impl Board {
    pub fn plan(&mut self, whats: &[String]) {
        for what in whats {
            self.row(what);
        }
    }

    /// Until it says something itself, its row says why it is run `again`.
    pub fn start(&mut self, what: &str, again: Option<&str>, now: Instant) {
        *self.state(what) = State::Running(now);
        self.row(what).said = again.unwrap_or_default().to_owned();
    }

    /// How long it ran, if it did.
    pub fn end(&mut self, what: &str, how: &str, now: Instant) -> Option<Duration> {
        let how = self.plain(how);
        let state = self.state(what);
        let took = match state {
            State::Running(since) => Some(now.saturating_duration_since(*since)),
            State::Waiting | State::Ended(..) => None,
        };
        *state = State::Ended(how, took);
        let row = self.row(what);
        row.said.clear();
        row.line.clear();
        took
    }

    pub fn output(&mut self, what: &str, text: &str) {
        let row = self.row(what);
        for piece in text.split_inclusive(['\n', '\r']) {
            let room = MAX_LINE_BYTES.saturating_sub(row.line.len());
            let end = (0..=room.min(piece.len())).rev().find(|end| piece.is_char_boundary(*end)).unwrap_or(0);
            row.line.push_str(&piece[..end]);
            if piece.ends_with(['\n', '\r']) {
                let line = std::mem::take(&mut row.line);
                if !line.trim().is_empty() {
                    row.said = line;
                }
            }
        }
    }

    /// What a line is called that is not in a table.
    pub fn title(&self, what: &str) -> String {
        let what = self.plain(what);
        if self.on_base { format!("{what} (base)") } else { what }
    }

    /// `text` on one line and without anything that steers a terminal: checks write what they like.
    pub fn plain(&self, text: &str) -> String {
        let text = anstream::adapter::strip_str(text).to_string();
        let shown = text.trim().chars().map(|c| if c == '\t' { ' ' } else { c });
        shown.filter(|c| !c.is_control() && !is_turning(*c)).collect()
    }

    /// Everything that draws the table over the one before, within `size` in columns and rows.
    pub fn frame(&mut self, (columns, rows): (usize, usize), now: Instant) -> String {
        let lines = self.lines(columns, rows.saturating_sub(1).max(1), now);
        let mut out = self.home();
        out.push_str(NO_WRAP);
        for line in &lines {
            out.push_str(&format!("{line}{CLEAR_LINE}\n"));
        }
        out.push_str(CLEAR_BELOW);
        out.push_str(WRAP);
        self.drawn = lines.len();
        out
    }

    /// Takes the table away.
    pub fn clear(&mut self) -> String {
        let out = if self.drawn > 0 { self.home() + CLEAR_BELOW } else { String::new() };
        self.drawn = 0;
        out
    }

    fn home(&self) -> String {
        if self.drawn > 0 { format!("\x1b[{}A\r", self.drawn) } else { String::new() }
    }

    /// The rows that fit: what runs first, then what ended last.
    fn lines(&self, columns: usize, most: usize, now: Instant) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let has_base = self.rows.iter().any(|row| !matches!(row.base, State::Waiting));
        let width = self.rows.iter().map(|row| self.plain(&row.what).chars().count()).max().unwrap_or(0);
        let left_out = self.rows.len().saturating_sub(most);
        let most = if left_out > 0 { most.saturating_sub(1) } else { most };
        let mut ranked: Vec<usize> = (0..self.rows.len()).collect();
        ranked.sort_by_key(|&at| self.rows[at].rank());
        let mut shown: Vec<usize> = ranked.into_iter().take(most).collect();
        shown.sort_unstable();
        let line = |&at: &usize| self.line(&self.rows[at], (width, has_base), columns, now);
        let mut lines: Vec<String> = shown.iter().map(line).collect();
        if left_out > 0 {
            lines.push(format!("and {} more", self.rows.len() - shown.len()));
        }
        lines
    }

    fn line(&self, row: &Row, (width, has_base): (usize, bool), columns: usize, now: Instant) -> String {
        let what = self.plain(&row.what);
        let gap = " ".repeat(width.saturating_sub(what.chars().count()));
        let base = if has_base { format!("  base: {:<16}", row.base.words(now)) } else { String::new() };
        let said = if row.line.trim().is_empty() { &row.said } else { &row.line };
        let line = format!("{what}{gap}{base}  {:<16}  {}", row.here.words(now), self.plain(said));
        line.trim_end().chars().take(columns).collect()
    }

    fn state(&mut self, what: &str) -> &mut State {
        let on_base = self.on_base;
        let row = self.row(what);
        if on_base { &mut row.base } else { &mut row.here }
    }

    fn row(&mut self, what: &str) -> &mut Row {
        let at = self.rows.iter().position(|row| row.what == what).unwrap_or_else(|| {
            let (base, here) = (State::default(), State::default());
            self.rows.push(Row { what: what.to_owned(), base, here, said: String::new(), line: String::new() });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }
}

impl Row {
    /// What is shown first where not everything fits.
    fn rank(&self) -> u8 {
        match (&self.here, &self.base) {
            (State::Running(_), _) | (_, State::Running(_)) => 0,
            (State::Ended(how, _), _) if how.starts_with("pass") => 2,
            (State::Ended(..), _) => 1,
            (State::Waiting, _) => 3,
        }
    }
}

impl State {
    fn words(&self, now: Instant) -> String {
        match self {
            State::Waiting => "waits".to_owned(),
            State::Running(since) => format!("runs {:.1} s", now.saturating_duration_since(*since).as_secs_f64()),
            State::Ended(how, Some(took)) => format!("{how} {:.1} s", took.as_secs_f64()),
            State::Ended(how, None) => how.clone(),
        }
    }
}

/// Whether a character turns the direction of a text or cannot be seen.
fn is_turning(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn a_row_says_where_its_check_stands_and_the_last_it_said() {
        let (mut board, start) = (Board::default(), Instant::now());
        board.plan(&["build".to_owned(), "test".to_owned()]);
        board.start("build", None, start);
        board.output("build", "one\ntwo\r\n\n\x1b[31mthree\x1b[0m \u{202e}and");
        let shown = board.lines(80, 10, after(start, 1_500));
        assert_eq!(shown, ["build  runs 1.5 s        three and", "test   waits"]);
        assert_eq!(board.end("build", "pass", after(start, 2_000)), Some(Duration::from_secs(2)));
        assert_eq!(board.end("test", "fail", start), None);
        assert_eq!(board.lines(80, 10, start), ["build  pass 2.0 s", "test   fail"]);
    }

    #[test]
    fn a_row_says_why_its_check_is_run_again_until_it_says_something_itself() {
        let (mut board, start) = (Board::default(), Instant::now());
        board.start("test", Some("it failed before"), start);
        assert_eq!(board.lines(80, 10, start), ["test  runs 0.0 s        it failed before"]);
        board.output("test", "one\n");
        assert_eq!(board.lines(80, 10, start), ["test  runs 0.0 s        one"]);
        board.end("test", "pass", start);
        board.start("test", None, start);
        assert_eq!(board.lines(80, 10, start), ["test  runs 0.0 s"]);
    }

    #[test]
    fn what_happened_on_the_base_stands_beside_it() {
        let (mut board, start) = (Board::default(), Instant::now());
        board.on_base = true;
        assert_eq!(board.title("test"), "test (base)");
        board.start("test", None, start);
        board.end("test", "pass", start);
        board.on_base = false;
        board.start("test", None, start);
        assert_eq!(board.lines(80, 10, start), ["test  base: pass 0.0 s        runs 0.0 s"]);
    }

    #[test]
    fn a_table_stays_within_the_screen_and_shows_what_runs() {
        let (mut board, start) = (Board::default(), Instant::now());
        board.plan(&(0..50).map(|n| format!("check-{n:02}")).collect::<Vec<_>>());
        board.start("check-40", None, start);
        board.output("check-40", &"x".repeat(10_000));
        let lines = board.lines(30, 5, start);
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 30), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("check-40  runs")), "{lines:?}");
        assert_eq!(lines[4], "and 46 more");
        assert_eq!(board.frame((30, 6), start).matches('\n').count(), 5);
        assert!(board.frame((30, 6), start).starts_with("\x1b[5A\r"), "it is drawn over itself");
        assert_eq!((board.clear(), board.clear()), (format!("\x1b[5A\r{CLEAR_BELOW}"), String::new()));
    }
}
