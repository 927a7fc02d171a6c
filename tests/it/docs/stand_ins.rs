//! Ids, digests and places of one run, replaced by others that stay the same from run to run and have the same width.

use std::collections::BTreeMap;
use std::path::Path;

use kctl::domain::digest::Digest;
use kctl::domain::id::ID_CHARS;

pub struct StandIns {
    /// What stands for the next new id of each kind.
    waiting: Vec<String>,
    /// Real to shown.
    ids: BTreeMap<String, String>,
    digests: BTreeMap<String, String>,
    place: String,
}

impl StandIns {
    /// `ids` stand for the ids of their kinds in the order in which those come up; `place` is not shown.
    pub fn new(ids: &[&str], place: &Path) -> Self {
        let waiting = ids.iter().rev().map(|&id| id.to_owned()).collect();
        let place = place.display().to_string();
        Self { waiting, ids: BTreeMap::new(), digests: BTreeMap::new(), place }
    }

    /// `line` with real ids in the place of those that are shown, or of the beginnings of such.
    pub fn real(&self, line: &str) -> String {
        let whole = |word: &str| {
            let known = self.ids.iter().find(|(_, shown)| word.len() > 2 && shown.starts_with(word));
            known.map_or_else(|| word.to_owned(), |(real, _)| real.clone())
        };
        words(line).into_iter().map(|word| if is_id_start(word) { whole(word) } else { word.to_owned() }).collect()
    }

    /// `said` with nothing in it that the next run would say otherwise.
    pub fn replace(&mut self, said: &str) -> String {
        let text = said.replace(&self.place, "…");
        let text: String = words(&text).into_iter().map(|word| self.word(word)).collect();
        text.lines().map(|line| steady(line) + "\n").collect()
    }

    fn word(&mut self, word: &str) -> String {
        let is_hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if is_id_start(word) && word.len() == ID_CHARS + 2 {
            return self.id(word);
        }
        // Words of letters or digits alone are what they are; digests of these lengths have both.
        let mixed =
            word.bytes().any(|byte| byte.is_ascii_digit()) && word.bytes().any(|byte| byte.is_ascii_alphabetic());
        match word.len() {
            7 | 12 | 40 | 64 if is_hex(word) && mixed => self.digest(word),
            _ => word.to_owned(),
        }
    }

    fn id(&mut self, real: &str) -> String {
        if let Some(shown) = self.ids.get(real) {
            return shown.clone();
        }
        let kind = &real[..2];
        let shown = match self.waiting.iter().rposition(|id| id.starts_with(kind)) {
            Some(at) => self.waiting.remove(at),
            None => {
                let digest = Digest::of(format!("{kind}{}", self.ids.len()).as_bytes());
                format!("{kind}{}", &digest.as_str()["sha256:".len()..][..ID_CHARS])
            }
        };
        self.ids.insert(real.to_owned(), shown.clone());
        shown
    }

    /// Short forms stand for the same thing as the long one, whichever comes first.
    fn digest(&mut self, real: &str) -> String {
        let known = self.digests.iter().find(|(known, _)| known.starts_with(real) || real.starts_with(known.as_str()));
        let long = match known {
            Some((_, shown)) => shown.clone(),
            None => {
                let digest = Digest::of(format!("digest {}", self.digests.len()).as_bytes());
                digest.as_str()["sha256:".len()..].to_owned()
            }
        };
        self.digests.insert(real.to_owned(), long.clone());
        long[..real.len()].to_owned()
    }
}

/// Whether `word` is an id, or the beginning of one.
fn is_id_start(word: &str) -> bool {
    let Some((kind, rest)) = word.split_once('-') else { return false };
    ["t", "c", "s", "e", "p", "o"].contains(&kind)
        && (1..=ID_CHARS).contains(&rest.len())
        && rest.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

/// `text` in words and what stands between them; together they are the text. An id in a longer name is a word.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    let in_word = |byte: u8| byte.is_ascii_alphanumeric();
    let bytes = text.as_bytes();
    while start < bytes.len() {
        let mut end = start + 1;
        let begins = in_word(bytes[start]);
        // `t-` begins an id, where no word stands before it.
        if begins && bytes.get(end) == Some(&b'-') && bytes.get(end + 1).is_some_and(|&byte| in_word(byte)) {
            end += 1;
        }
        while end < bytes.len() && in_word(bytes[end]) == begins {
            end += 1;
        }
        words.push(&text[start..end]);
        start = end;
    }
    words
}

/// `line` without the measures that differ from run to run and from machine to machine.
fn steady(line: &str) -> String {
    // The hook names the program, whose place has another length on each machine.
    if let Some((head, tail)) = line.split_once("hooks/pre-push (") {
        let rest = tail.trim_start_matches(|letter: char| letter.is_ascii_digit());
        return format!("{head}hooks/pre-push (2326{rest}");
    }
    // Seconds stand in a column, padded to its width.
    let is_seconds = |word: &&str| {
        let (whole, part) = word.split_once('.').unwrap_or_default();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits(whole) && digits(part)
    };
    let Some(seconds) = line.split(' ').find(is_seconds) else { return line.to_owned() };
    let at = line.find(&format!(" {seconds} ")).map_or(0, |at| at + 1);
    let rest = line[at + seconds.len()..].trim_start_matches(' ');
    let width = line.len() - at - rest.len();
    format!("{}{:<width$}{rest}", &line[..at], "0.541")
}

#[test]
fn what_changes_from_run_to_run_is_replaced_and_keeps_its_width() {
    let mut stand_ins = StandIns::new(&["t-zrxebm1q795p"], Path::new("/tmp/x"));
    let commit = "5c5f8733d363143247dce5e39303bd6294d10336";
    let said = format!("task t-0a1b2c3d4e5f at /tmp/x/repo, kctl/t-0a1b2c3d4e5f-mend, {commit}, {}\n", &commit[..12]);
    let shown = stand_ins.replace(&said);
    assert!(shown.contains("task t-zrxebm1q795p at …/repo, kctl/t-zrxebm1q795p-mend, "), "{shown}");
    assert!(!shown.contains(&commit[..12]) && shown.len() == said.len() - "/tmp/x".len() + "…".len(), "{shown}");
    let digests: Vec<&str> = shown.trim_end().rsplit(", ").take(2).collect();
    assert!(digests[1].starts_with(digests[0]), "short and long are one: {shown}");
    assert_eq!(stand_ins.replace("  test  0.3      x\n"), "  test  0.541    x\n");
    assert_eq!(stand_ins.replace("cargo 1.90.0 took 0.3s\n"), "cargo 1.90.0 took 0.3s\n");
    assert_eq!(stand_ins.real("kctl task show t-zrx"), "kctl task show t-0a1b2c3d4e5f");
    assert_eq!(stand_ins.real("grep -c e-mail 'a-b c'"), "grep -c e-mail 'a-b c'");
}
