//! Symbolic links that lead to what a snapshot does not speak for.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::domain::path::TreePath;
use crate::ports::trees::{MODE_SYMLINK, Snapshot};

/// Each link is judged by its own words: what it names inside of the tree is an entry, or has entries below it, and is
/// judged as that. A link in the way is an entry as well.
pub(crate) fn out(work_tree: &Path, snapshot: &Snapshot) -> Vec<TreePath> {
    let links = snapshot.entries.iter().filter(|entry| entry.mode == MODE_SYMLINK).map(|entry| &entry.path);
    links.filter(|link| leads_out(work_tree, snapshot, link)).cloned().collect()
}

fn leads_out(work_tree: &Path, snapshot: &Snapshot, link: &TreePath) -> bool {
    let at = work_tree.join(OsStr::from_bytes(link.as_bytes()));
    let Ok(target) = rustix::fs::readlink(&at, Vec::new()) else { return false };
    // What is not there has no content to be checked with.
    let there = || at.exists();
    match within(link.as_bytes(), target.to_bytes()) {
        None => there(),
        Some(inside) => !snapshot.speaks_for(&inside) && there(),
    }
}

/// The path that `target`, written at `link`, names inside of the tree; none if it leaves it. The top itself is inside.
fn within(link: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    if target.starts_with(b"/") {
        return None;
    }
    let mut parts: Vec<&[u8]> = link.split(|byte| *byte == b'/').collect();
    parts.pop();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::trees::{Entry, MODE_FILE};

    #[test]
    fn a_link_is_followed_by_its_words_until_it_leaves_the_tree() {
        let cases = [
            ("a", "b", Some("b")),
            ("d/a", "b", Some("d/b")),
            ("d/e/a", "../../b/./c/", Some("b/c")),
            ("d/a", "..", Some("")),
            ("a", "..", None),
            ("d/a", "../../b", None),
            ("a", "/b", None),
            ("a", "d/../../x", None),
        ];
        for (link, target, inside) in cases {
            let found = within(link.as_bytes(), target.as_bytes());
            assert_eq!(found, inside.map(|path| path.as_bytes().to_vec()), "{link} -> {target}");
        }
    }

    #[test]
    fn only_links_to_what_is_there_and_not_in_the_snapshot_are_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().join("tree");
        fs_err::create_dir_all(top.join("src/deep")).expect("made");
        fs_err::write(top.join("src/deep/in"), "x").expect("written");
        fs_err::write(top.join("ignored"), "x").expect("written");
        fs_err::write(dir.path().join("outside"), "x").expect("written");
        let links = [
            ("absolute", dir.path().join("outside").to_str().expect("UTF-8").to_owned(), true),
            ("dangling", "../nowhere".to_owned(), false),
            ("directory", "src".to_owned(), false),
            ("file", "src/deep/in".to_owned(), false),
            ("hidden", "ignored".to_owned(), true),
            ("through", "directory/deep/in".to_owned(), false),
            ("up", "../outside".to_owned(), true),
        ];
        let mut entries: Vec<Entry> = Vec::new();
        for (name, target, _) in &links {
            std::os::unix::fs::symlink(target, top.join(name)).expect("linked");
            entries.push(Entry { path: TreePath::new(*name), mode: MODE_SYMLINK, digest: [0; 32] });
        }
        entries.push(Entry { path: TreePath::new("src/deep/in"), mode: MODE_FILE, digest: [0; 32] });
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let found: Vec<String> =
            out(&top, &Snapshot { entries, clean: true }).iter().map(ToString::to_string).collect();
        let expected: Vec<&str> = links.iter().filter(|(_, _, out)| *out).map(|(name, ..)| *name).collect();
        assert_eq!(found, expected);
    }
}
