//! The bounded block in `AGENTS.md`: put in, brought up to date or taken out without touching another byte.

use crate::domain::digest::Digest;

/// The file, from the top of the work tree.
pub const AGENTS_PATH: &str = "AGENTS.md";

/// How much of `AGENTS.md` is read; a longer file is left alone.
pub const MAX_AGENTS_BYTES: usize = 1024 * 1024;

const BEGIN: &str = "<!-- kctl:begin";
const END: &str = "<!-- kctl:end -->";
/// In the begin marker of a file that `kctl init` made; it goes again with the block.
const MADE: &str = "made";

/// What an agent is told. Every line is one that the next line can rely on.
const TEXT: &str = "\
## Working here under kctl

This repository is governed by `kctl`. Make these calls in this order; each answer names the next legal one in `next`.

1. `kctl session acquire --agent NAME`: custody. Set `KCTL_SESSION` to the session it gives; later calls need it.
2. `kctl task claim ID`: the lease on one task. `kctl task next --claim` picks one; a refusal names the holder.
3. `kctl workspace ensure ID`: the worktree and branch for it. Change into the path it gives; edit nothing elsewhere.
4. `kctl context resolve ID`: the rules, criteria and knowledge that apply.
5. Work. Commit on the workspace's branch.
6. `kctl validate ID --scope branch`: runs the declared checks that have no fresh evidence. Your word is not evidence.
7. `kctl task finish ID`: refused until every required criterion holds; the refusal lists what is missing.
8. `kctl publish ID`: pushes the validated commit and reads it back. Do not push by other means.
9. `kctl commit close ID --verdict fulfilled`: closes the commitment, where the task belongs to one.

- A refusal carries a stable `code` and `next`; do what `next` says instead of repeating the call.
- Checks stand in `.decapod/kctl.toml`; the accepted base's copy judges. Only a person puts a change of it on the base.
- Blocked, or unsure what is asked? `kctl task block ID --reason TEXT --question TEXT` asks a person and loses nothing.
- `kctl status` shows where things stand; `kctl help NOUN VERB` explains one call.";

/// Why the block is left as it is. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockFault {
    #[error("{AGENTS_PATH} has {bytes} bytes; at most {MAX_AGENTS_BYTES} are handled")]
    TooLarge { bytes: usize },
    #[error("{AGENTS_PATH} is not UTF-8 text")]
    NotText,
    #[error(
        "{AGENTS_PATH} line {line}: `{BEGIN} …` has no `{END}` after it; write the missing line or take this one out"
    )]
    NoEnd { line: usize },
    #[error("{AGENTS_PATH} line {line}: `{END}` has no `{BEGIN} …` before it; take this line out")]
    NoBegin { line: usize },
    #[error("{AGENTS_PATH} lines {first} and {second}: there are two kctl blocks; keep one of them")]
    Twice { first: usize, second: usize },
    #[error(
        "{AGENTS_PATH} line {line}: the kctl block was edited by hand; move the edits out of it, or let init replace them"
    )]
    Edited { line: usize },
}

/// What becomes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    Unchanged,
    Write(Vec<u8>),
    RemoveFile,
}

/// Puts the block into `file`, or brings it up to date. A hand-edited block is replaced only with `replace_edits`.
pub fn install(file: Option<&[u8]>, replace_edits: bool) -> Result<Edit, BlockFault> {
    let Some(bytes) = file else {
        return Ok(Edit::Write(format!("{}\n", block("\n", true)).into_bytes()));
    };
    let text = text_of(bytes)?;
    let eol = line_end(text);
    let Some(found) = find(text)? else {
        let separator = match (text.is_empty(), text.ends_with('\n')) {
            (true, _) => "",
            (false, true) => eol,
            (false, false) => &eol.repeat(2),
        };
        // A file without a final line end keeps none: that is how `remove` knows to take both separators back.
        let end = if text.is_empty() || text.ends_with('\n') { eol } else { "" };
        return Ok(Edit::Write(format!("{text}{separator}{}{end}", block(eol, false)).into_bytes()));
    };
    let fresh = block(eol, found.made);
    if found.body == fresh {
        return Ok(Edit::Unchanged);
    }
    if found.edited && !replace_edits {
        return Err(BlockFault::Edited { line: found.line });
    }
    let (before, after) = (&text[..found.start], &text[found.start + found.body.len()..]);
    Ok(Edit::Write(format!("{before}{fresh}{after}").into_bytes()))
}

/// Takes the block out of `file` again. The file goes with it if init made it and nothing else is in it.
pub fn remove(file: Option<&[u8]>) -> Result<Edit, BlockFault> {
    let Some(bytes) = file else { return Ok(Edit::Unchanged) };
    let text = text_of(bytes)?;
    let Some(found) = find(text)? else { return Ok(Edit::Unchanged) };
    let (mut before, mut after) = (&text[..found.start], &text[found.start + found.body.len()..]);
    let ends_bare = after.is_empty();
    let eol = if found.body.contains("\r\n") { "\r\n" } else { "\n" };
    after = after.strip_prefix(eol).unwrap_or(after);
    // One empty line stands before the block because init put it there; the line end before it too where the file
    // had none at its end.
    if let Some(rest) = before.strip_suffix(eol).filter(|rest| rest.ends_with('\n') || rest.is_empty()) {
        before = rest;
        if ends_bare {
            before = before.strip_suffix(eol).unwrap_or(before);
        }
    }
    if before.is_empty() && after.is_empty() && found.made {
        return Ok(Edit::RemoveFile);
    }
    Ok(Edit::Write(format!("{before}{after}").into_bytes()))
}

struct Found<'t> {
    start: usize,
    /// From the begin marker to the end marker, without the line end after it.
    body: &'t str,
    line: usize,
    made: bool,
    edited: bool,
}

fn find(text: &str) -> Result<Option<Found<'_>>, BlockFault> {
    let (mut begin, mut found) = (None, None::<Found<'_>>);
    let mut offset = 0;
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        let (line, number) = (whole.trim_end_matches(['\r', '\n']), index + 1);
        let trimmed = line.trim();
        if trimmed.starts_with(BEGIN) && trimmed.ends_with("-->") {
            if let Some((_, first)) = begin.or(found.as_ref().map(|found| (found.start, found.line))) {
                return Err(BlockFault::Twice { first, second: number });
            }
            begin = Some((offset, number));
        } else if trimmed == END {
            let (start, line_number) = begin.take().ok_or(BlockFault::NoBegin { line: number })?;
            let body = &text[start..offset + line.len()];
            let (made, edited) = marks(body);
            found = Some(Found { start, body, line: line_number, made, edited });
        }
        offset += whole.len();
    }
    match begin {
        Some((_, line)) => Err(BlockFault::NoEnd { line }),
        None => Ok(found),
    }
}

/// What the begin marker says: whether init made the file, and whether the text below is still what it was.
fn marks(body: &str) -> (bool, bool) {
    let first = body.lines().next().unwrap_or_default();
    let made = first.split_whitespace().any(|word| word == MADE);
    let inner: Vec<&str> = body.lines().skip(1).filter(|line| line.trim() != END).collect();
    let untouched = first.split_whitespace().any(|word| word == fingerprint(&inner.join("\n")));
    (made, !untouched)
}

fn block(eol: &str, made: bool) -> String {
    let made = if made { format!(" {MADE}") } else { String::new() };
    let begin =
        format!("{BEGIN} {}{made} — written by `kctl init`, taken out by `kctl uninstall` -->", fingerprint(TEXT));
    format!("{begin}\n{TEXT}\n{END}").replace('\n', eol)
}

/// Short, because it only tells an edited text from an untouched one.
fn fingerprint(text: &str) -> String {
    Digest::of(text.as_bytes()).hex()[..16].to_owned()
}

fn text_of(bytes: &[u8]) -> Result<&str, BlockFault> {
    if bytes.len() > MAX_AGENTS_BYTES {
        return Err(BlockFault::TooLarge { bytes: bytes.len() });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| BlockFault::NotText)?;
    if text.contains('\0') { Err(BlockFault::NotText) } else { Ok(text) }
}

/// The line end that most lines have.
fn line_end(text: &str) -> &'static str {
    let (crlf, all) = (text.matches("\r\n").count(), text.matches('\n').count());
    if crlf * 2 > all { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn installed(file: Option<&[u8]>) -> Vec<u8> {
        match install(file, false) {
            Ok(Edit::Write(bytes)) => bytes,
            other => panic!("it must be written: {other:?}"),
        }
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_file_that_init_made_goes_again() {
        let made = installed(None);
        assert_eq!(remove(Some(&made)), Ok(Edit::RemoveFile));
        let kept = [&made[..], b"\nNotes of ours.\n"].concat();
        assert_eq!(remove(Some(&kept)), Ok(Edit::Write(b"\nNotes of ours.\n".to_vec())));
    }

    #[test]
    fn an_empty_file_that_was_there_stays() {
        let bytes = installed(Some(b""));
        assert_eq!(remove(Some(&bytes)), Ok(Edit::Write(Vec::new())));
    }

    #[test]
    fn twice_is_once() {
        for file in [None, Some(&b""[..]), Some(b"# A\r\nb\r\n"), Some(b"no line end"), Some(b"\n\n\n")] {
            let once = installed(file);
            assert_eq!(install(Some(&once), false), Ok(Edit::Unchanged));
        }
    }

    #[test]
    fn the_block_is_bounded_and_has_the_calls_in_order() {
        let block = block("\n", false);
        assert!((15..=25).contains(&block.lines().count()), "{}", block.lines().count());
        let calls = ["session acquire", "task claim", "workspace ensure", "context resolve", "validate", "task finish"];
        let mut from = 0;
        for call in calls.iter().chain(&["publish ID", "commit close ID"]) {
            from += block[from..].find(&format!("kctl {call}")).unwrap_or_else(|| panic!("{call} is missing or early"));
        }
    }

    #[test]
    fn crlf_files_get_crlf_lines() {
        let bytes = text(installed(Some(b"# A\r\n\r\nb\r\n")));
        assert!(!bytes.replace("\r\n", "").contains('\n'));
    }

    #[test]
    fn an_older_block_is_replaced_where_it_stands() {
        let old = format!("{BEGIN} {} -->\nold words\n{END}", fingerprint("old words"));
        let file = format!("# A\n\n{old}\nafter\n");
        let new = text(match install(Some(file.as_bytes()), false) {
            Ok(Edit::Write(bytes)) => bytes,
            other => panic!("{other:?}"),
        });
        assert_eq!(new, format!("# A\n\n{}\nafter\n", block("\n", false)));
    }

    #[test]
    fn a_block_edited_by_hand_is_not_overwritten_unasked() {
        let edited = text(installed(Some(b"# A\n"))).replace("Work. Commit", "Our own words. Commit");
        assert_eq!(install(Some(edited.as_bytes()), false), Err(BlockFault::Edited { line: 3 }));
        assert!(matches!(install(Some(edited.as_bytes()), true), Ok(Edit::Write(_))));
    }

    #[test]
    fn damaged_markers_are_refused_with_their_lines() {
        let whole = block("\n", false);
        let (no_end, no_begin) = (whole.replace(END, ""), format!("a\n{END}\n"));
        let twice = format!("{whole}\n{whole}\n");
        let nested = format!("{BEGIN} -->\n{whole}\n");
        let lines = whole.lines().count();
        for edit in [|file: &str| install(Some(file.as_bytes()), true), |file: &str| remove(Some(file.as_bytes()))] {
            assert_eq!(edit(&no_end), Err(BlockFault::NoEnd { line: 1 }));
            assert_eq!(edit(&no_begin), Err(BlockFault::NoBegin { line: 2 }));
            assert_eq!(edit(&twice), Err(BlockFault::Twice { first: 1, second: lines + 1 }));
            assert_eq!(edit(&nested), Err(BlockFault::Twice { first: 1, second: 2 }));
        }
        assert_eq!(install(Some(b"\xff\xfea\0"), false), Err(BlockFault::NotText));
        assert_eq!(install(Some(b"a\0"), false), Err(BlockFault::NotText));
        assert!(matches!(install(Some(&vec![b'a'; MAX_AGENTS_BYTES + 1]), false), Err(BlockFault::TooLarge { .. })));
    }

    proptest! {
        #[test]
        fn taking_it_out_restores_every_byte(file in "([a-zé# ]{0,6}(\r\n|\n|\r)?){0,8}") {
            let bytes = installed(Some(file.as_bytes()));
            prop_assert!(bytes.starts_with(file.as_bytes()));
            prop_assert_eq!(remove(Some(&bytes)), Ok(Edit::Write(file.into_bytes())));
        }

        #[test]
        fn what_stands_around_the_block_survives_an_update(before in "([a-z]{0,4}\n){0,4}", after in "([a-z]{0,4}\n){0,4}") {
            let old = format!("{BEGIN} {} -->\nold\n{END}", fingerprint("old"));
            let file = format!("{before}{old}\n{after}");
            let expected = format!("{before}{}\n{after}", block("\n", false));
            prop_assert_eq!(install(Some(file.as_bytes()), false), Ok(Edit::Write(expected.into_bytes())));
        }
    }
}
