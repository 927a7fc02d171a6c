//! Where paths lead on this machine's disks.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use fs_err as fs;

use crate::ports::paths::{MAX_LINKS, Paths, Reached, There};

/// Links in here lead elsewhere for each process, so what kctl finds says nothing of what the host will find.
const OF_A_PROCESS: [&str; 2] = ["/proc", "/dev/fd"];

/// The disks.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskPaths;

impl Paths for DiskPaths {
    fn reach(&self, path: &Path) -> Result<Reached, String> {
        let mut real = PathBuf::from("/");
        let mut left: VecDeque<OsString> = parts(path).collect();
        let mut links = 0;
        while let Some(part) = left.pop_front() {
            if part == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&part);
            if !look(&next)?.is_some_and(|found| found.is_symlink()) {
                real = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(format!("more than {MAX_LINKS} symbolic links follow each other"));
            }
            if OF_A_PROCESS.iter().any(|dir| next.starts_with(dir)) {
                return Err(format!("`{}` leads elsewhere for each process", next.display()));
            }
            let target = fs::read_link(&next).map_err(|why| why.to_string())?;
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                left.push_front(part);
            }
        }
        let there = look(&real)?.map_or(There::Nothing, |found| kind(&found));
        Ok(Reached { real, there })
    }
}

/// The names in `path` and its `..`, in order.
fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

fn look(path: &Path) -> Result<Option<Metadata>, String> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(why) => Err(why.to_string()),
    }
}

fn kind(found: &Metadata) -> There {
    if found.is_file() {
        There::File
    } else if found.is_dir() {
        There::Dir
    } else {
        There::Other
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_leads_where_the_kernel_would_go_and_on_where_nothing_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("it is there");
        fs::create_dir_all(top.join("a/b")).expect("made");
        fs::write(top.join("a/file"), "x").expect("written");
        for (target, link) in [("a/b", "in"), ("../gone/deep", "a/dangling"), ("/etc", "etc"), ("loop", "loop")] {
            symlink(target, top.join(link)).expect("linked");
        }
        let cases = [
            ("a/file", "a/file", There::File),
            ("a/./b/", "a/b", There::Dir),
            ("in/../file", "a/file", There::File),
            ("in/new/x", "a/b/new/x", There::Nothing),
            ("a/dangling/x", "gone/deep/x", There::Nothing),
            ("a/file/x", "a/file/x", There::Nothing),
            ("nowhere/../a/file", "a/file", There::File),
        ];
        for (path, real, there) in cases {
            let reached = DiskPaths.reach(&top.join(path)).expect("it leads somewhere");
            assert_eq!((reached.real, reached.there), (top.join(real), there), "{path}");
        }
        let passwd = DiskPaths.reach(&top.join("etc/passwd")).expect("it leads somewhere");
        assert_eq!(passwd.real, Path::new("/etc/passwd"));
        assert!(DiskPaths.reach(&top.join("loop/x")).is_err_and(|why| why.contains("links")));
        assert!(DiskPaths.reach(Path::new("/proc/self/cwd/x")).is_err_and(|why| why.contains("process")));
    }
}
