//! Where the story happens: one directory that holds everything of it, so that nothing of the reader's own is touched.

use std::path::{Path, PathBuf};

use super::teller::Stopped;
use crate::adapters::shell::{Shell, link_program};
use crate::adapters::world::current_program;
use crate::domain::refusal::{Code, Refusal};
use crate::doors::cli::quoted;

/// The directories of the story.
pub struct Place {
    pub root: PathBuf,
}

/// Makes the directory, which must not exist or be empty; without one, a new one among the temporary files.
pub fn make(dir: Option<&Path>) -> Result<Place, Stopped> {
    let root = match dir {
        Some(dir) => chosen(dir)?,
        None => {
            let made = tempfile::Builder::new().prefix("kctl-quickstart-").tempdir();
            made.map_err(|why| failed("a temporary directory", &why))?.keep()
        }
    };
    let root = root.canonicalize().map_err(|why| failed(&root.display().to_string(), &why))?;
    if root.to_str().is_none_or(|text| text.contains([':', '\n', '\''])) {
        let words = format!("`{}` cannot stand in PATH and in a command line: name another directory", root.display());
        return Err(Refusal::invalid("dir", words).into());
    }
    Ok(Place { root })
}

fn chosen(dir: &Path) -> Result<PathBuf, Stopped> {
    fs_err::create_dir_all(dir).map_err(|why| failed(&dir.display().to_string(), &why))?;
    let mut entries = fs_err::read_dir(dir).map_err(|why| failed(&dir.display().to_string(), &why))?;
    if entries.next().is_some() {
        let words = format!("`{}` is not empty: name a directory that is, or that does not exist", dir.display());
        return Err(Refusal::invalid("dir", words).into());
    }
    Ok(dir.to_owned())
}

fn failed(what: &str, why: &std::io::Error) -> Stopped {
    Refusal::new(Code::STORAGE_FAILED, format!("{what} cannot be used: {why}")).with("field", "dir").into()
}

impl Place {
    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// What the reader types to look around later.
    pub fn exports(&self) -> String {
        let word = |name| quoted(&self.at(name).display().to_string());
        format!("  export PATH={}:\"$PATH\"\n  export XDG_STATE_HOME={}\n", word("bin"), word("state"))
    }

    /// The work tree.
    pub fn shop(&self) -> PathBuf {
        self.at("shop")
    }

    /// A shell in the directory, in which `kctl` is this program.
    pub fn shell(&self) -> Result<Shell, Stopped> {
        let make = || {
            fs_err::create_dir(self.at("bin"))?;
            fs_err::create_dir(self.at("home"))?;
            link_program(&current_program(), &self.at("bin/kctl"))
        };
        make().map_err(|why| failed(&self.root.display().to_string(), &why))?;
        let mut shell = Shell::at(&self.at("home"));
        shell.cd(&self.root);
        shell.prepend_path(&self.at("bin"));
        shell.export("XDG_STATE_HOME", self.at("state"));
        Ok(shell)
    }

    /// Writes a file of the work tree.
    pub fn write(&self, path: &str, text: &str) -> Result<(), Stopped> {
        let path = self.shop().join(path);
        let dir = path.parent().expect("a file of the work tree lies in it");
        let write = || {
            fs_err::create_dir_all(dir)?;
            fs_err::write(&path, text)
        };
        write().map_err(|why| failed(&path.display().to_string(), &why))
    }
}
