use std::os::unix::fs::symlink;

use super::*;
use crate::domain::digest::Digest;
use crate::domain::plan::{Plan, Step};
use crate::ports::files::carry_out;

struct World {
    dir: tempfile::TempDir,
    files: DiskFiles,
}

fn world() -> World {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["tree", "common", "outside"] {
        fs::create_dir(dir.path().join(name)).expect("a directory");
    }
    let files = DiskFiles::new(Some(dir.path().join("tree")), dir.path().join("common"));
    World { dir, files }
}

impl World {
    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn put(&self, path: &str, text: &str, mode: u32) {
        fs::write(self.path(path), text).expect("written");
        fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(mode)).expect("set");
    }

    fn mode(&self, path: &str) -> u32 {
        fs::metadata(self.path(path)).expect("there").mode() & 0o7777
    }
}

#[test]
fn a_write_keeps_the_mode_and_leaves_nothing_else_behind() {
    let world = world();
    world.put("tree/a", "old", 0o640);
    world.files.write(&Place::tree("a"), b"new", Mode::Keep).expect("written");
    assert_eq!((fs::read(world.path("tree/a")).expect("there"), world.mode("tree/a")), (b"new".to_vec(), 0o640));
    world.files.write(&Place::tree("x/y/z"), b"#!", Mode::Executable).expect("written");
    assert_eq!(world.mode("tree/x/y/z") & 0o700, 0o700);
    world.files.write(&Place::tree("b"), b"", Mode::Exactly(0o604)).expect("written");
    assert_eq!(world.mode("tree/b"), 0o604);
    assert_eq!(world.files.list(&Place::tree("x/y"), 9), Ok(vec!["z".into()]));
}

#[test]
fn no_place_leads_out() {
    let world = world();
    world.put("outside/secret", "s", 0o600);
    symlink(world.path("outside"), world.path("tree/dir")).expect("linked");
    symlink(world.path("outside/secret"), world.path("tree/file")).expect("linked");
    symlink(world.path("outside/new"), world.path("tree/dangling")).expect("linked");
    for path in
        ["../outside/secret", "/etc/passwd", "", "a/../../outside/x", "dir/secret", "file", "dangling", "dir/new/x"]
    {
        let at = Place::tree(path);
        assert!(!matches!(world.files.read(&at, 9), Ok(Some(_))), "{path}");
        let written = world.files.write(&at, b"x", Mode::Keep);
        assert!(matches!(written, Err(FileFault::OutOfTree { .. })), "{path}: {written:?}");
    }
    assert_eq!(fs::read(world.path("outside/secret")).expect("there"), b"s");
    assert!(!world.path("outside/new").exists());
}

#[test]
fn a_link_inside_the_tree_is_written_through() {
    let world = world();
    world.put("tree/CLAUDE.md", "old", 0o644);
    symlink("CLAUDE.md", world.path("tree/AGENTS.md")).expect("linked");
    world.files.write(&Place::tree("AGENTS.md"), b"new", Mode::Keep).expect("written");
    assert!(fs::symlink_metadata(world.path("tree/AGENTS.md")).expect("there").is_symlink());
    assert_eq!(fs::read(world.path("tree/CLAUDE.md")).expect("there"), b"new");
    world.files.remove(&Place::tree("AGENTS.md")).expect("removed");
    assert!(world.path("tree/CLAUDE.md").exists());
}

#[test]
fn what_is_no_file_is_refused_and_never_waited_for() {
    let world = world();
    fs::create_dir(world.path("tree/dir")).expect("made");
    let pipe = world.path("tree/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("made");
    for name in ["dir", "pipe"] {
        let at = Place::tree(name);
        assert_eq!(world.files.read(&at, 9), Err(FileFault::NotAFile { at: at.clone() }));
        assert_eq!(world.files.write(&at, b"", Mode::Keep), Err(FileFault::NotAFile { at }));
    }
    assert!(matches!(world.files.remove(&Place::tree("dir")), Err(FileFault::NotAFile { .. })));
    assert_eq!(world.files.look(&Place::tree("pipe")).expect("looked").map(|entry| entry.kind), Some(EntryKind::Other));
}

#[test]
fn reads_and_lists_are_bounded() {
    let world = world();
    world.put("tree/a", "12345", 0o644);
    world.put("tree/b", "", 0o644);
    assert_eq!(world.files.read(&Place::tree("a"), 5), Ok(Some(b"12345".to_vec())));
    assert!(matches!(world.files.read(&Place::tree("a"), 4), Err(FileFault::TooLarge { max_bytes: 4, .. })));
    assert!(matches!(world.files.list(&Place::common("../tree"), 9), Err(FileFault::OutOfTree { .. })));
    fs::create_dir(world.path("tree/d")).expect("made");
    world.put("tree/d/1", "", 0o644);
    world.put("tree/d/2", "", 0o644);
    assert!(matches!(world.files.list(&Place::tree("d"), 1), Err(FileFault::TooMany { .. })));
    assert_eq!(world.files.list(&Place::tree("none"), 1), Ok(Vec::new()));
    assert_eq!(world.files.read(&Place::tree("none/at/all"), 1), Ok(None));
}

#[test]
fn a_bare_repository_has_no_tree() {
    let world = world();
    let bare = DiskFiles::new(None, world.path("common"));
    assert!(matches!(bare.read(&Place::tree("a"), 1), Err(FileFault::NoTree { .. })));
    assert_eq!(bare.read(&Place::common("a"), 1), Ok(None));
}

#[test]
fn a_plan_touches_nothing_that_has_changed_since() {
    let world = world();
    world.put("tree/a", "theirs", 0o644);
    world.put("tree/b", "b", 0o644);
    let digest = |text: &str| Digest::of(text.as_bytes());
    let steps = [
        Step::Write { at: Place::tree("a"), bytes: b"ours".to_vec(), mode: Mode::Keep, replaces: None },
        Step::Write { at: Place::tree("a"), bytes: b"ours".to_vec(), mode: Mode::Keep, replaces: Some(digest("old")) },
        Step::Remove { at: Place::tree("a"), holds: digest("old") },
        Step::Move { from: Place::tree("b"), to: Place::tree("a"), holds: digest("b"), replaces: None },
        Step::Move { from: Place::tree("a"), to: Place::tree("c"), holds: digest("old"), replaces: None },
    ];
    for step in steps {
        let mut plan = Plan::default();
        plan.push(step.clone(), "");
        let done = carry_out::<FileFault>(&plan, &world.files, &mut |_| Ok(()));
        assert_eq!(done, Err(FileFault::Changed { at: Place::tree("a") }), "{step}");
    }
    assert_eq!(fs::read(world.path("tree/a")).expect("there"), b"theirs");
}
