//! Names that somebody may have meant by a word that is none.

/// How many near names are given.
const MAX_NEAR: usize = 5;

/// How alike two names must be, from 0 to 1, to be near.
const NEAR: f64 = 0.6;

/// Longer words are not compared: nobody mistypes them, and comparing takes the product of the lengths.
pub const MAX_COMPARED_CHARS: usize = 100;

/// The names among `known` that are near `word`, nearest first.
pub fn near<'n>(word: &str, known: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    if word.chars().count() > MAX_COMPARED_CHARS {
        return Vec::new();
    }
    let word = word.to_lowercase().replace('-', "_");
    let mut scored: Vec<(f64, &str)> = known.map(|name| (likeness(&word, name), name)).collect();
    scored.retain(|(score, _)| *score >= NEAR);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, name)| name).take(MAX_NEAR).collect()
}

fn likeness(word: &str, name: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(word, name);
    // `create` is near `task.create`, and `task create` typed as one word is too.
    let parts = name.split('.').map(|part| strsim::normalized_damerau_levenshtein(word, part) * 0.9);
    parts.fold(whole, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["init", "status", "task.create", "task.claim", "commit.list", "evidence.list"];

    fn of(word: &str) -> Vec<&'static str> {
        near(word, NAMES.into_iter())
    }

    #[test]
    fn a_slip_of_the_keyboard_finds_what_was_meant() {
        assert_eq!(of("statsu"), ["status"]);
        assert_eq!(of("task.clam")[0], "task.claim");
        assert_eq!(of("task-create")[0], "task.create");
        assert_eq!(of("Create"), ["task.create"]);
    }

    #[test]
    fn a_word_that_is_like_nothing_is_near_nothing_however_short_it_is() {
        for word in ["nope", "x", "", "go", "frobnicate", &"task".repeat(30)] {
            assert!(of(word).is_empty(), "{word}: {:?}", of(word));
        }
    }
}
