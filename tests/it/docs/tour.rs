//! The tour of the README is what the binary says: every line behind `$` is typed into a shell, and what is shown below
//! it is what came back, with ids, digests and places replaced by ones that stay. `KCTL_BLESS=1 cargo test --test it
//! docs::tour` writes it anew.
#![expect(clippy::disallowed_methods, reason = "a test types what a reader types, and writes the document it checks")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::stand_ins::StandIns;
use super::{read, top};

/// The moment at which the tour is taken: a still clock tells no reader how fast this machine is.
const NOW_MS: &str = "1796048907410";

/// As wide as the README's own lines are.
const COLUMNS: &str = "125";

/// A line that is indented so much further than the one before it goes on with it.
const WRAPPED: usize = 12;

/// The ids that the README's tour has, in the order in which they come up.
const TOUR: [&str; 8] = [
    "o-cvxpkmrd0gmg",
    "s-j2mf16nbgmyf",
    "c-sk1rrw6m6tr7",
    "t-zrxebm1q795p",
    "e-sc9vct0x1t36",
    "e-ec9r5c0v8hsm",
    "p-de4vjn90qz89",
    "e-7w2m0c9ktqzd",
];

/// The same for the scenes of the quickstart.
const SCENES: [&str; 5] = ["t-xh3qy5gq4bfy", "e-8m1xw0t6rkcn", "e-y3d7gq2hvn5s", "e-11hg3qws72cz", "e-mf04th50gwnd"];

/// A shell that is typed into.
struct Typist {
    shell: Child,
    words: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Typist {
    fn new(dir: &Path) -> Self {
        let bin = Path::new(env!("CARGO_BIN_EXE_kctl")).parent().expect("it has a directory").display().to_string();
        let mut command = Command::new("bash");
        command.args(["--norc", "--noprofile"]).current_dir(dir).env_clear();
        command.env("PATH", format!("{bin}:{}", std::env::var("PATH").expect("PATH is set")));
        for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", dir).env("XDG_STATE_HOME", dir.join("state")).env("TMPDIR", dir);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("KCTL_TEST_NOW_MS", NOW_MS).env("COLUMNS", COLUMNS);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "ada").env(format!("GIT_{who}_EMAIL"), "ada@example.invalid");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut shell = command.spawn().expect("bash starts");
        let words = shell.stdin.take().expect("it is piped");
        let said = BufReader::new(shell.stdout.take().expect("it is piped"));
        Self { shell, words, said }
    }

    /// Types `line`, and gives what both streams said.
    fn types(&mut self, line: &str) -> String {
        const END: &str = "\u{1e}end";
        writeln!(self.words, "{{\n{line}\n}} </dev/null 2>&1\nprintf '\\036end\\n'").expect("bash listens");
        let mut all = String::new();
        while !all.ends_with(&format!("{END}\n")) {
            assert_ne!(self.said.read_line(&mut all).expect("UTF-8"), 0, "bash ended at `{line}`: {all}");
        }
        all.truncate(all.len() - END.len() - 1);
        all
    }

    fn ends(mut self) {
        drop(self.words);
        assert!(self.shell.wait().expect("it ends").code().is_some());
    }
}

/// A piece of a document.
enum Piece {
    /// Shown as it is.
    Text(String),
    /// Run and not shown.
    Script(String),
    /// A line behind `$`, and what is shown of its answer.
    Typed { line: String, shown: Vec<String> },
}

fn pieces(text: &str) -> Vec<Piece> {
    let (mut pieces, mut fence) = (Vec::new(), None);
    for line in text.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(language), None) => {
                fence = Some(language);
                pieces.push(Piece::Text(line.to_owned()));
                if language == "sh" {
                    pieces.push(Piece::Script(String::new()));
                }
            }
            (Some(_), Some(_)) => {
                fence = None;
                pieces.push(Piece::Text(line.to_owned()));
            }
            (None, Some("console")) => match (line.strip_prefix("$ "), pieces.last_mut()) {
                (Some(typed), _) => pieces.push(Piece::Typed { line: typed.to_owned(), shown: Vec::new() }),
                (None, Some(Piece::Typed { shown, .. })) => shown.push(line.to_owned()),
                (None, _) => panic!("an answer without a question: {line}"),
            },
            (None, Some("sh")) => match pieces.last_mut() {
                Some(Piece::Script(script)) => script.extend([line, "\n"]),
                _ => panic!("a script without a beginning: {line}"),
            },
            (None, _) => pieces.push(Piece::Text(line.to_owned())),
        }
    }
    pieces
}

/// Goes through the tour, and writes what came back in the place of what was shown.
fn taken(tour: &str) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().canonicalize().expect("it is there");
    let mut stand_ins = StandIns::new(&TOUR, &place);
    let mut typist = Typist::new(&place);
    let mut out = String::new();
    for piece in pieces(tour) {
        match piece {
            Piece::Text(text) => out.extend([text.as_str(), "\n"]),
            Piece::Script(script) => {
                typist.types(&script);
                out.push_str(&script);
            }
            Piece::Typed { line, shown } => {
                let said = typist.types(&stand_ins.real(&line));
                let said = stand_ins.replace(&said);
                out.push_str(&format!("$ {line}\n"));
                for line in cut_alike(&shown, &said.lines().map(str::trim_end).collect::<Vec<_>>()) {
                    out.extend([line.as_str(), "\n"]);
                }
            }
        }
    }
    typist.ends();
    out
}

/// What a line is about: its first word, with how far it is indented.
fn label(line: &str) -> &str {
    let start = line.len() - line.trim_start().len();
    line[start..].find([' ', ':']).map_or(line, |end| &line[..start + end])
}

/// As much of `said` as `shown` shows: the lines about the same things, with `…` for what lies between.
fn cut_alike(shown: &[String], said: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut next = 0;
    let is_own = |line: &&String| line.as_str() != "…" && line.len() - line.trim_start().len() < WRAPPED;
    for line in shown.iter().filter(is_own) {
        let Some(found) = (next..said.len()).find(|&at| label(said[at]) == label(line)) else { continue };
        if found > next {
            out.push("…".to_owned());
        }
        out.push(said[found].to_owned());
        next = found + 1;
        // The rest of a wrapped row goes with it.
        let indented = |line: &str| line.len() - line.trim_start().len();
        let most = indented(said[found]) + WRAPPED;
        let rest: Vec<String> =
            said[next..].iter().take_while(|line| indented(line) >= most).map(|&line| line.to_owned()).collect();
        next += rest.len();
        out.extend(rest);
    }
    if !shown.is_empty() && next < said.len() {
        out.push("…".to_owned());
    }
    out
}

/// Holds the README between `from` and `to` to what `make` makes of it, or writes it there.
fn hold(from: &str, to: &str, make: impl Fn(&str) -> String) {
    let readme = read("README.md");
    let start = readme.find(from).unwrap_or_else(|| panic!("README.md has `{from}`")) + from.len();
    let end = start + readme[start..].find(to).unwrap_or_else(|| panic!("README.md has `{to}`"));
    let made = make(&readme[start..end]);
    if std::env::var_os("KCTL_BLESS").is_some_and(|value| value == "1") {
        let text = format!("{}{made}{}", &readme[..start], &readme[end..]);
        fs_err::write(top().join("README.md"), text).expect("written");
        return;
    }
    let is = readme[start..end].lines().zip(made.lines()).find(|(shown, said)| shown != said);
    assert!(readme[start..end] == made, "README.md shows what kctl does not say; the first: {is:#?}\n{made}");
}

#[test]
fn the_tour_and_the_scenes_of_the_readme_are_what_the_binary_says() {
    // One test, because both parts are written into one file.
    hold("fifteen scenes, as they come:\n\n```console\n", "```", |_| scenes());
    hold("## Five minutes by hand\n", "## JSON-RPC\n", taken);
}

/// Two scenes of the quickstart, each up to what its first refusal proposes.
fn scenes() -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().canonicalize().expect("it is there");
    let mut typist = Typist::new(&place);
    let story = typist.types("unset KCTL_TEST_NOW_MS; kctl quickstart --dir told");
    typist.ends();
    let mut stand_ins = StandIns::new(&SCENES, &place);
    let story = stand_ins.replace(&story);
    let scene = |title: &str| {
        let from = story.find(&format!("\n{title}")).unwrap_or_else(|| panic!("`{title}` is told:\n{story}")) + 1;
        let told = &story[from..];
        let why = told.find("\nnext: ").expect("a refusal proposes") + 1;
        let end = why + told[why..].match_indices('\n').nth(1).expect("it says why").0 + 1;
        told[..end].to_owned()
    };
    format!("{}…\n\n{}…\n", scene("7. Nothing is done"), scene("9. An edit after"))
}

#[test]
fn an_answer_is_cut_where_it_was_cut_before() {
    let shown = ["a: 1", "…", "  b  x", "gone: 2", "z: 0"].map(str::to_owned);
    let said = ["a: 7", "q: 1", "  b  y", "r: 2", "z: 3", "end"];
    assert_eq!(cut_alike(&shown, &said), ["a: 7", "…", "  b  y", "…", "z: 3", "…"]);
    assert!(cut_alike(&[], &said).is_empty(), "of what shows nothing, nothing is shown");
}
