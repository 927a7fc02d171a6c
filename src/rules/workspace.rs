//! Where a workspace goes and what its branch is called.

use std::path::{Component, Path, PathBuf};

use crate::domain::id::TaskId;

/// Branches that kctl makes begin with this.
pub const BRANCH_PREFIX: &str = "kctl/";
const MAX_SLUG_CHARS: usize = 40;

/// The branch of a task's workspace: `kctl/<task>-<slug>`, or `kctl/<task>` for a title without a letter or digit.
pub fn branch(task: &TaskId, title: &str) -> String {
    let slug = slug(title);
    if slug.is_empty() { format!("{BRANCH_PREFIX}{task}") } else { format!("{BRANCH_PREFIX}{task}-{slug}") }
}

/// Small ASCII letters and digits with single dashes between, cut at a word.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let longer = slug.len() + usize::from(!slug.is_empty()) + word.len();
        if longer > MAX_SLUG_CHARS {
            if slug.is_empty() {
                slug.push_str(&word[..MAX_SLUG_CHARS].to_ascii_lowercase());
            }
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    slug
}

/// The directory of a task's workspace.
pub fn path(root: &Path, dir: Option<&str>, task: &TaskId) -> PathBuf {
    home(root, dir).join(task.as_str())
}

/// The directory that workspaces lie in: the profile's `dir`, from the top of the root's work tree, or `<root>.work`
/// beside it.
pub fn home(root: &Path, dir: Option<&str>) -> PathBuf {
    match dir {
        Some(dir) => normal(&root.join(dir)),
        None => {
            let mut name = root.file_name().unwrap_or_default().to_owned();
            name.push(".work");
            root.with_file_name(name)
        }
    }
}

/// Removes `.` and resolves `..` by name.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_branch_is_legal_whatever_the_title() {
        let task = TaskId::new(Uuid::from_u128(7));
        for (title, end) in [
            ("Parse negative numbers", "-parse-negative-numbers"),
            ("  ../../etc & rm -rf  ", "-etc-rm-rf"),
            ("größe .lock @{u}", "-gr-e-lock-u"),
            ("日本語", ""),
        ] {
            assert_eq!(branch(&task, title), format!("kctl/{task}{end}"));
        }
        assert!(branch(&task, &"long ".repeat(100)).len() < 64);
        assert!(branch(&task, &"x".repeat(1000)).len() < 64);
    }

    #[test]
    fn a_workspace_lies_outside_the_tree() {
        let task = TaskId::new(Uuid::from_u128(7));
        let root = Path::new("/home/ada/calc");
        assert_eq!(path(root, None, &task), Path::new("/home/ada/calc.work").join(task.as_str()));
        assert_eq!(path(root, Some("../trees"), &task), Path::new("/home/ada/trees").join(task.as_str()));
        assert_eq!(path(root, Some("/srv/trees"), &task), Path::new("/srv/trees").join(task.as_str()));
    }
}
