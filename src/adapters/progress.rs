//! What a person sees while checks run: a table that is drawn over itself at a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::board::Board;
use crate::ports::world::Progress;

/// How often the seconds of what runs are drawn anew.
const TICK: Duration = Duration::from_millis(200);

/// Where there is no size to ask for.
const UNKNOWN_SIZE: (usize, usize) = (80, 24);

/// Tells a person on stderr what goes on. The answer is not its business, and goes to stdout.
pub struct TerminalProgress {
    way: Way,
    shared: Arc<Shared>,
    ticker: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nobody reads it: a program asked, or a person wants it quiet.
    Silent,
    /// A line when a check begins, and one when it ended.
    Lines,
    Table,
}

#[derive(Default)]
struct Shared {
    board: Mutex<Board>,
    over: Mutex<bool>,
    ended: Condvar,
}

impl TerminalProgress {
    pub fn new(quiet: bool) -> Self {
        let way = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Way::Silent,
            (false, false) => Way::Lines,
            (false, true) => Way::Table,
        };
        Self { way, shared: Arc::default(), ticker: Mutex::default() }
    }

    /// Changes the board, and shows what came of it. Progress is no part of the answer: where it cannot be shown, it is
    /// not.
    fn change(&self, change: impl FnOnce(&mut Board) -> Option<String>) {
        let mut board = locked(&self.shared.board);
        match (self.way, change(&mut board)) {
            (Way::Silent, _) | (Way::Lines, None) => {}
            (Way::Lines, Some(line)) => drop(writeln!(std::io::stderr(), "{line}")),
            (Way::Table, _) => self.shared.draw(&mut board),
        }
    }

    /// Lets the table be drawn on while nothing else happens.
    fn tick(&self) {
        let mut ticker = locked(&self.ticker);
        if self.way == Way::Table && ticker.is_none() {
            let shared = Arc::clone(&self.shared);
            *ticker = std::thread::Builder::new().spawn(move || shared.tick()).ok();
        }
    }
}

impl Shared {
    fn tick(&self) {
        let mut over = locked(&self.over);
        while !*over {
            over = self.ended.wait_timeout(over, TICK).unwrap_or_else(PoisonError::into_inner).0;
            if !*over {
                self.draw(&mut locked(&self.board));
            }
        }
    }

    fn draw(&self, board: &mut Board) {
        let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
        let size = size.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        let size = size.filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(UNKNOWN_SIZE);
        let _ = std::io::stderr().write_all(board.frame(size, Instant::now()).as_bytes());
    }
}

impl Progress for TerminalProgress {
    fn planned(&self, whats: &[String]) {
        self.change(|board| {
            board.plan(whats);
            None
        });
    }

    fn on_base(&self, is_on_base: bool) {
        locked(&self.shared.board).on_base = is_on_base;
    }

    fn started(&self, what: &str, command: &str, again: Option<&str>) {
        self.tick();
        self.change(|board| {
            board.start(what, again, Instant::now());
            let why = again.map(|why| format!(" ({})", board.plain(why))).unwrap_or_default();
            Some(format!("{}: {}{why}", board.title(what), board.plain(command)))
        });
    }

    fn output(&self, what: &str, text: &str) {
        if self.way == Way::Table {
            // It is drawn with the next tick: a check that says much is not slowed down by being watched.
            locked(&self.shared.board).output(what, text);
        }
    }

    fn ended(&self, what: &str, how: &str) {
        self.change(|board| {
            let took = board.end(what, how, Instant::now());
            let took = took.map(|took| format!(", {:.1} s", took.as_secs_f64())).unwrap_or_default();
            Some(format!("{}: {}{took}", board.title(what), board.plain(how)))
        });
    }
}

impl Drop for TerminalProgress {
    /// Takes the table away: the answer has it all, and more.
    fn drop(&mut self) {
        *locked(&self.shared.over) = true;
        self.shared.ended.notify_all();
        if let Some(ticker) = locked(&self.ticker).take() {
            let _ = ticker.join();
        }
        if self.way == Way::Table {
            let gone = locked(&self.shared.board).clear();
            let _ = std::io::stderr().write_all(gone.as_bytes());
        }
    }
}

/// What a thread that panicked left is still worth showing.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
