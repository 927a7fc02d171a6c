//! Which processes belong to a run, as far as the system can be asked.

use std::io::Read as _;

use super::environment::MARKER;

/// The most that is read of one process's environment or command line.
const MAX_PROC_BYTES: u64 = 256 * 1024;

/// A process, told from a later one with the same id by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    pub started: u64,
    /// It has ended and waits to be reaped.
    pub is_dead: bool,
}

/// What a run is known by.
#[derive(Clone, Debug)]
pub struct Run {
    pub id: String,
    /// The command itself, which leads the session. It is not reaped while this is in use, so its id is not taken.
    pub main: i32,
    /// `main` is `bwrap`, and the command is in a process namespace of its own.
    pub is_boxed: bool,
}

/// A process namespace that `bwrap` made: its first process, and kctl's program in it.
#[derive(Clone, Copy, Debug)]
pub struct Box {
    pub first: i32,
    pub helper: i32,
}

/// The box that `main` made, once there is a process in it. The helper is its second process: it starts before anything
/// else there, and nothing can take its number while it lives.
pub fn box_of(main: i32) -> Option<Box> {
    let first = *children(main)?.first()?;
    let is_second = |pid: &i32| {
        let status = read(&format!("/proc/{pid}/status")).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        let inner = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        inner.and_then(|ids| ids.split_ascii_whitespace().last()) == Some("2")
    };
    Some(Box { first, helper: children(first)?.into_iter().find(is_second).unwrap_or(0) })
}

/// Whether nothing is in the box but what keeps it. `None` where that cannot be told quickly.
pub fn is_box_empty(run: &Run) -> Option<bool> {
    let Some(found) = box_of(run.main) else { return look(run.main).is_none_or(|main| main.is_dead).then_some(true) };
    Some(children(found.first)? == [found.helper] && children(found.helper)?.is_empty())
}

/// The processes in the box of `main`, without those that keep it. Whoever loses its parent there is given to the box's
/// first process, so that nothing gets out.
pub fn in_box(main: i32, all: &[Process]) -> Vec<Process> {
    let Some(found) = box_of(main) else { return Vec::new() };
    let mut own: Vec<Process> = all.iter().filter(|process| process.pid == found.first).copied().collect();
    add_descendants(&mut own, all, 0);
    own.retain(|process| process.pid != found.first && process.pid != found.helper);
    own
}

fn children(pid: i32) -> Option<Vec<i32>> {
    let listed = fs_err::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    Some(listed.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect())
}

/// Whether anything but the command itself can be left, told without looking at every process of the system: kctl's
/// children are listed, and the command is the only one. `None` where that list cannot be had or does not suffice.
pub fn is_main_the_only_child(run: &Run) -> Option<bool> {
    let mut others = 0;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let path = task.ok()?.path().join("children");
        // A thread may end between the two calls; its children are then listed with another.
        let children = fs_err::read_to_string(path).ok()?;
        others += children.split_ascii_whitespace().filter(|pid| pid.parse() != Ok(run.main)).count();
    }
    Some(others == 0)
}

/// Whether processes can be looked at here at all.
pub fn can_be_seen() -> bool {
    i32::try_from(std::process::id()).is_ok_and(|me| look(me).is_some())
}

/// Every process that can be seen. Empty where there is no `/proc`.
pub fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(look).collect()
}

/// The process that has this id now.
pub fn look(pid: i32) -> Option<Process> {
    let stat = read(&format!("/proc/{pid}/stat"))?;
    let stat = String::from_utf8_lossy(&stat);
    // The name is in parentheses and may itself hold spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse().ok());
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
        is_dead: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// What a process was called with, its words parted by spaces. Empty for one that has ended.
pub fn command_line(pid: i32) -> String {
    let bytes = read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> =
        bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
    words.join(" ")
}

/// Of `all`, those that belong to `run`, without its command itself: in its session, marked as its, or descended from
/// one that is. If `takes_orphans`, so are those that are kctl's children in a session that is not kctl's and that no
/// mark ascribes to anyone: they dropped their environment, left the session and lost their parent.
pub fn of(run: &Run, all: &[Process], takes_orphans: bool) -> Vec<Process> {
    if run.is_boxed {
        return in_box(run.main, all);
    }
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    let my_session = all.iter().find(|process| process.pid == me).map_or(0, |process| process.session);
    let first = all.iter().find(|process| process.pid == run.main).map_or(0, |main| main.started);
    // As the first process of a container, kctl inherits what it has nothing to do with.
    let takes_orphans = takes_orphans && me != 1;
    let is_own = |process: &Process| {
        if process.session == run.main {
            return true;
        }
        // What was there before the run is nobody's; this also keeps most of the system from being read.
        if process.started < first || process.session == my_session {
            return false;
        }
        match marked(process.pid) {
            Some(marks) => marks.split(':').any(|mark| mark == run.id),
            None => takes_orphans && process.parent == me,
        }
    };
    let others = |process: &&Process| process.pid != me && process.pid != run.main;
    let mut own: Vec<Process> = all.iter().filter(others).filter(|process| is_own(process)).copied().collect();
    add_descendants(&mut own, all, me);
    own
}

fn add_descendants(own: &mut Vec<Process>, all: &[Process], me: i32) {
    let mut at = 0;
    while at < own.len() {
        let parent = own[at].pid;
        let children = all.iter().filter(|process| process.parent == parent && process.pid != me);
        let new: Vec<Process> = children.filter(|child| !own.contains(child)).copied().collect();
        own.extend(new);
        at += 1;
    }
}

/// The runs that a process says it belongs to. `None` if it says nothing, or cannot be asked.
fn marked(pid: i32) -> Option<String> {
    let environment = read(&format!("/proc/{pid}/environ"))?;
    let value = |entry: &[u8]| entry.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    environment.split(|byte| *byte == 0).find_map(value).and_then(|value| String::from_utf8(value).ok())
}

fn read(path: &str) -> Option<Vec<u8>> {
    // One call reads nearly every such file: it is asked for hundreds of times where something is left over.
    const USUAL_BYTES: usize = 4096;
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    fs_err::File::open(path).ok()?.take(MAX_PROC_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
