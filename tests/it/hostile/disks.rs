//! Disks that are full or read-only, and directories that belong to somebody else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::rig::{KCTL, Ran, Rig, skipped};

/// A mounted file system; gone when it is dropped.
struct Mount(PathBuf);

impl Mount {
    fn of(args: &[&str], at: &Path) -> Result<Self, String> {
        let done = Command::new("mount").args(args).arg(at).output().map_err(|why| why.to_string())?;
        if done.status.success() {
            return Ok(Self(at.to_owned()));
        }
        Err(format!("mount is not allowed here: {}", String::from_utf8_lossy(&done.stderr).trim()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// `dir` once more over itself, and nothing in it can be written.
fn frozen(dir: &Path) -> Result<Mount, String> {
    let text = dir.to_str().expect("UTF-8 here");
    let mount = Mount::of(&["--bind", text], dir)?;
    let done = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(dir).output();
    match done {
        Ok(done) if done.status.success() => Ok(mount),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        Err(why) => Err(why.to_string()),
    }
}

const READS: [&str; 10] = [
    "status",
    "task.list",
    "task.ready",
    "session.list",
    "workspace.list",
    "evidence.list",
    "commit.list",
    "ledger.log",
    "ledger.verify",
    "doctor",
];

fn writes(task: &str, free: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("task.create", json!({ "title": "x" })),
        ("task.claim", json!({ "task": free })),
        ("task.renew", json!({ "task": task })),
        ("session.acquire", json!({ "agent": "bob" })),
        ("commit.open", json!({ "objective": "x", "criteria": ["check:test"] })),
        ("workspace.ensure", json!({ "task": task })),
        ("validate", json!({ "task": task })),
        ("ledger.rebuild", json!({})),
    ]
}

#[test]
fn in_a_read_only_git_directory_everything_reads_and_every_write_says_so() {
    let rig = Rig::new();
    let (task, free) = (rig.task(json!({ "title": "held" })), rig.task(json!({ "title": "free" })));
    rig.ok("task.claim", json!({ "task": task }));
    let _mount = match frozen(&rig.repo().join(".git")) {
        Ok(mount) => mount,
        Err(why) => return skipped("read-only .git", &why),
    };
    for op in READS {
        rig.ok(op, json!({}));
    }
    for (op, params) in
        [("task.show", json!({ "task": task })), ("context.resolve", json!({ "task": task, "query": "good" }))]
    {
        rig.ok(op, params);
    }
    for (op, params) in writes(&task, &free) {
        let ran = rig.run(op, &params);
        assert_eq!(ran.code().as_deref(), Some("LEDGER_NOT_WRITABLE"), "{op}: {ran:?}");
        assert_eq!(ran.status, Some(12), "{op}");
    }
    rig.assert_sound("read-only");
}

#[test]
fn a_repository_of_another_user_is_refused_until_it_is_declared_safe_and_then_only_read() {
    let rig = Rig::new();
    if !rustix::process::geteuid().is_root() {
        return skipped("another user's repository", "only root can become somebody else");
    }
    let open = Command::new("chmod").args(["-R", "a+rX"]).arg(rig.top.parent().expect("it has one")).status();
    assert!(open.is_ok_and(|done| done.success()));
    let as_nobody = |op: &str, params: &Value| {
        use std::os::unix::process::CommandExt as _;
        let mut command = rig.program(KCTL);
        command.uid(65_534).gid(65_534).args(["rpc", "--op", op, "--params", &params.to_string()]);
        command.output().ok().map(|output| Ran::of(&output))
    };
    let Some(ran) = as_nobody("status", &json!({})) else {
        return skipped("another user's repository", "another user cannot reach the binary");
    };
    assert_eq!(ran.code().as_deref(), Some("DENIED"), "{ran:?}");
    fs::write(rig.top.join("home/.gitconfig"), "[safe]\n\tdirectory = *\n").expect("written");
    for op in READS {
        let ran = as_nobody(op, &json!({})).expect("it starts");
        assert_eq!(ran.code(), None, "{op}: {ran:?}");
    }
    let ran = as_nobody("task.create", &json!({ "title": "x" })).expect("it starts");
    assert_eq!(ran.code().as_deref(), Some("LEDGER_NOT_WRITABLE"), "{ran:?}");
}

/// Fills the file system of `dir` up to about `left` bytes.
fn fill(dir: &Path, left: u64) -> PathBuf {
    use std::io::Write as _;
    let path = dir.join("filler");
    let mut file = fs::File::create(&path).expect("made");
    let block = [0x5A; 4096];
    while file.write_all(&block).is_ok() {}
    let length = file.metadata().expect("it has some").len();
    file.set_len(length.saturating_sub(left)).expect("cut");
    path
}

#[test]
fn on_a_full_disk_nothing_is_half_written_and_all_goes_on_when_there_is_space() {
    let place = tempfile::tempdir().expect("a directory");
    let _mount = match Mount::of(&["-t", "tmpfs", "-o", "size=16m", "tmpfs"], place.path()) {
        Ok(mount) => mount,
        Err(why) => return skipped("full disk", &why),
    };
    let rig = Rig::set_up(Rig::within(place.path()));
    let mut refused = 0;
    for left in [0, 4096, 8192, 16 << 10, 32 << 10, 64 << 10, 128 << 10] {
        let (task, free) = (rig.task(json!({ "title": "held" })), rig.task(json!({ "title": "free" })));
        rig.ok("task.claim", json!({ "task": task }));
        for (op, params) in writes(&task, &free) {
            let filler = fill(place.path(), left);
            let ran = rig.run(op, &params);
            let when = format!("`{op}` with {left} bytes left");
            assert!(ran.signal.is_none() && !ran.stderr.contains("panicked"), "{when}: {ran:?}");
            let code = ran.code();
            let legal = ["LEDGER_NOT_WRITABLE", "STORAGE_FAILED", "WORKSPACE_FAILED", "GIT_FAILED"];
            assert!(code.as_deref().is_none_or(|code| legal.contains(&code)), "{when}: {ran:?}");
            refused += usize::from(code.is_some());
            // Full as the disk is, what there is can be looked at.
            rig.ok("task.list", json!({}));
            fs::remove_file(filler).expect("removed");
            rig.assert_sound(&when);
        }
        rig.ok("workspace.ensure", json!({ "task": task }));
        rig.ok("validate", json!({ "task": task }));
        rig.assert_tidy(&format!("{left} bytes left"));
    }
    // The journal keeps its room, so a small write goes through even where no block is free.
    assert!(refused >= 7, "the disk was not full: {refused} refusals");
}

#[test]
fn init_on_a_full_disk_is_done_when_there_is_space() {
    let place = tempfile::tempdir().expect("a directory");
    let _mount = match Mount::of(&["-t", "tmpfs", "-o", "size=16m", "tmpfs"], place.path()) {
        Ok(mount) => mount,
        Err(why) => return skipped("init on a full disk", &why),
    };
    for left in [0, 8192, 32 << 10, 64 << 10] {
        let rig = Rig::within(place.path());
        let filler = fill(place.path(), left);
        let ran = rig.run("init", &json!({}));
        assert!(ran.signal.is_none() && ran.code().as_deref() != Some("INTERNAL"), "{ran:?}");
        fs::remove_file(filler).expect("removed");
        rig.ok("init", json!({}));
        assert_eq!(rig.ok("init", json!({}))["changed"], false);
        rig.assert_sound("after init");
    }
}
