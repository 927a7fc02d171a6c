//! Whether `bwrap` works here: it is tried with what every run gets, since a kernel, a container or a policy may each
//! forbid it. That it works is remembered below the git directory for some hours; that it does not is asked anew.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use fs_err as fs;

use super::bwrap::{ALWAYS, NO_NETWORK};
use crate::adapters::layout::Layout;
use crate::domain::digest::{Digest, Fields};
use crate::domain::isolation::Sandbox;

/// How long it is believed that `bwrap` works.
const MAX_AGE: Duration = Duration::from_secs(12 * 60 * 60);
/// How long one trial may take.
const MAX_TRIAL: Duration = Duration::from_secs(5);
/// How much of what `bwrap` says is told.
const MAX_SAID_BYTES: u64 = 300;

/// The `bwrap` that works here, or why none does.
pub fn bwrap(path: Option<&OsString>, sandbox: &Sandbox) -> Result<PathBuf, String> {
    let dirs = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let found = dirs.iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join("bwrap")).find(|file| file.is_file());
    let program = found.and_then(|file| file.canonicalize().ok()).ok_or("bwrap is not installed")?;
    if program.starts_with(&sandbox.work_tree) {
        return Err(format!("{} lies in the work tree", program.display()));
    }
    let remembered = Layout::of(&sandbox.common_dir).cache().join("bwrap");
    let key = key(&program);
    if is_remembered(&remembered, &key) {
        return Ok(program);
    }
    trial(&program)?;
    // It is only tried again where it cannot be remembered.
    if make_cache(sandbox) {
        let _ = fs::write(&remembered, key.as_str());
    }
    Ok(program)
}

/// A file without content. A device in its place could not be opened in a box, and tools take that for a fault.
pub fn empty_file(sandbox: &Sandbox) -> PathBuf {
    let file = Layout::of(&sandbox.common_dir).cache().join("empty");
    let is_empty = || fs::symlink_metadata(&file).is_ok_and(|found| found.is_file() && found.len() == 0);
    if is_empty() || (make_cache(sandbox) && fs::write(&file, "").is_ok() && is_empty()) {
        return file;
    }
    PathBuf::from("/dev/null")
}

/// Makes the directory of caches, where kctl was set up. Asking how checks would be shut in sets nothing up.
fn make_cache(sandbox: &Sandbox) -> bool {
    let cache = Layout::of(&sandbox.common_dir).cache();
    cache.parent().is_some_and(Path::is_dir) && fs::create_dir_all(&cache).is_ok()
}

/// What the answer depends on: the program, the kernel, the user, and the namespaces we are in.
fn key(program: &Path) -> Digest {
    let mut fields = Fields::new();
    fields.push(program.as_os_str().as_encoded_bytes());
    let about = fs::metadata(program).map(|it| (it.mtime(), it.mtime_nsec(), it.size(), it.mode()));
    fields.push(format!("{:?} {}", about.ok(), rustix::process::geteuid().as_raw()).as_bytes());
    fields.push(rustix::system::uname().release().to_bytes());
    for namespace in ["user", "mnt", "pid"] {
        let link = fs::read_link(format!("/proc/self/ns/{namespace}")).unwrap_or_default();
        fields.push(link.as_os_str().as_encoded_bytes());
    }
    fields.finish()
}

fn is_remembered(file: &Path, key: &Digest) -> bool {
    let age = || SystemTime::now().duration_since(fs::metadata(file).ok()?.modified().ok()?).ok();
    age().is_some_and(|age| age < MAX_AGE) && fs::read_to_string(file).is_ok_and(|text| text == key.as_str())
}

fn trial(program: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(ALWAYS).arg(NO_NETWORK).args(["--", "true"]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|why| format!("bwrap cannot be started: {why}"))?;
    let until = Instant::now() + MAX_TRIAL;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("bwrap does not answer".to_owned());
            }
        }
    };
    let mut said = String::new();
    let _ = child.stderr.take().map(|pipe| pipe.take(MAX_SAID_BYTES).read_to_string(&mut said));
    if status.success() { Ok(()) } else { Err(format!("bwrap does not work here ({})", said.trim())) }
}
