//! What a run may write to, and what it must not see.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::adapters::world::SecretFiles;
use crate::domain::isolation::Sandbox;

type Vars = BTreeMap<OsString, OsString>;

/// What tools keep below a home between runs. Without these nothing builds offline.
const CACHES: [&str; 21] = [
    ".cache",
    ".npm",
    ".yarn",
    ".local/share/pnpm",
    ".bun/install/cache",
    ".deno",
    "go/pkg",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/native",
    ".gradle/notifications",
    ".gradle/wrapper",
    ".gradle/workers",
    ".ivy2/cache",
    ".nuget/packages",
    ".pub-cache",
    ".composer/cache",
    ".bundle/cache",
    ".ccache",
    "Library/Caches",
];
/// The same below `CARGO_HOME`: its programs and settings stay as they are.
const CARGO_CACHES: [&str; 4] = ["registry", "git", ".package-cache", ".package-cache-mutate"];
/// Variables that place a cache or a build's results elsewhere.
const CACHE_VARS: [&str; 10] = [
    "XDG_CACHE_HOME",
    "CARGO_TARGET_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "npm_config_cache",
    "NPM_CONFIG_CACHE",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "SCCACHE_DIR",
    "CCACHE_DIR",
];
/// Credentials below a home.
const CREDENTIALS: [&str; 21] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/gcloud",
    ".config/op",
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".pypirc",
    ".gem/credentials",
    ".password-store",
    ".local/share/keyrings",
    ".terraform.d/credentials.tfrc.json",
];
/// Variables that place credentials elsewhere.
const CREDENTIAL_VARS: [&str; 4] = ["GNUPGHOME", "AWS_SHARED_CREDENTIALS_FILE", "KUBECONFIG", "DOCKER_CONFIG"];
/// Ways to other processes of the machine that a read-only file system leaves open.
const SOCKETS: [&str; 6] = [
    "/run/user",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd/containerd.sock",
    "/run/systemd/private",
];

/// What a run may write to, and what it must not see; all of it is there, and without links.
pub struct Places {
    pub work_tree: PathBuf,
    pub writable: Vec<PathBuf>,
    /// Seen and not written to, although it lies in what is written to.
    pub fixed: Vec<PathBuf>,
    /// Seen although it lies in a place that is private to the run.
    pub needed: Vec<PathBuf>,
    pub masked: Vec<PathBuf>,
}

impl Places {
    pub fn of(sandbox: &Sandbox, vars: &Vars) -> Self {
        let home = path(vars, "HOME");
        let cargo = path(vars, "CARGO_HOME").or_else(|| Some(home.as_ref()?.join(".cargo")));
        let below = |parent: &Option<PathBuf>, names: &[&str]| -> Vec<PathBuf> {
            parent.iter().flat_map(|parent| names.iter().map(|name| parent.join(name))).collect()
        };
        let listed = |names: &[&str]| names.iter().filter_map(|name| path(vars, name)).collect::<Vec<_>>();
        let asked = sandbox.writable.iter().map(|text| match text.strip_prefix("~/") {
            Some(rest) => home.clone().unwrap_or_default().join(rest),
            None => sandbox.work_tree.join(text),
        });
        let mut writable = below(&home, &CACHES);
        writable.extend(below(&cargo, &CARGO_CACHES));
        writable.extend(listed(&CACHE_VARS));
        writable.extend(asked);
        let mut masked = below(&home, &CREDENTIALS);
        masked.extend(below(&cargo, &["credentials", "credentials.toml"]));
        masked.extend(listed(&CREDENTIAL_VARS));
        masked.extend(SOCKETS.map(PathBuf::from));
        masked.extend(SecretFiles::dir().ok());
        masked.extend(std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from));
        let mut needed: Vec<PathBuf> = vars
            .get(OsStr::new("PATH"))
            .map_or_else(Vec::new, |path| std::env::split_paths(path).filter(|dir| dir.is_absolute()).collect());
        needed.extend(home);
        needed.extend(cargo);
        needed.extend(path(vars, "RUSTUP_HOME"));
        Self {
            work_tree: sandbox.work_tree.canonicalize().unwrap_or_else(|_| sandbox.work_tree.clone()),
            writable: there(&writable),
            fixed: there(&[sandbox.common_dir.clone(), sandbox.work_tree.join(".git")]),
            needed: there(&needed),
            masked: there(&masked),
        }
    }
}

/// Makes the caches without which tools refuse to work, as they would themselves. Nothing can be made below a home that is
/// read-only.
pub fn make_caches(sandbox: &Sandbox, vars: &Vars) {
    let home = path(vars, "HOME").filter(|home| home.is_dir());
    let cargo = path(vars, "CARGO_HOME").or_else(|| Some(home.as_ref()?.join(".cargo"))).filter(|dir| dir.is_dir());
    let mut wanted: Vec<PathBuf> = CACHE_VARS.iter().filter_map(|name| path(vars, name)).collect();
    wanted.extend(home.iter().map(|home| home.join(".cache")));
    if sandbox.network {
        wanted.extend(home.iter().map(|home| home.join(".npm")));
        wanted.extend(cargo.iter().flat_map(|cargo| ["registry", "git"].map(|name| cargo.join(name))));
    }
    for dir in wanted {
        // A tool that misses it says so.
        let _ = fs_err::create_dir_all(dir);
    }
}

fn path(vars: &Vars, name: &str) -> Option<PathBuf> {
    vars.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Those that are there, by their true names. Links are followed, since nothing can be laid over one.
fn there(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.retain(|path| path != Path::new("/"));
    found.sort();
    found.dedup();
    found
}
