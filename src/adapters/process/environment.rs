//! The environment of a run: the caller's, less what could bend the run, ask a person or leak.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::variables::{ALWAYS, BENDING, BENDING_SHAPES, PREFIXES};
use crate::domain::digest::{Digest, Fields};
use crate::domain::secret::names_a_secret;
use crate::ports::runner::{Invocation, NotStarted};

/// Says to which runs a process belongs, outermost first: a run may run kctl.
pub const MARKER: &str = "KCTL_RUN_ID";
/// The scrub leaves no `KCTL_…`; this one is read before.
const MAX_MARKER_BYTES: usize = 512;
/// A shorter value is a word that would be taken out everywhere.
const MIN_SECRET_BYTES: usize = 8;

/// What a run gets, and what must not come back out of it.
pub struct Scrubbed {
    pub vars: BTreeMap<OsString, OsString>,
    /// The values of all variables that are named like secrets, passed or not.
    pub secrets: Vec<String>,
    pub digest: Digest,
}

/// Makes the environment of `invocation` from the caller's.
pub fn scrub(caller: &[(OsString, OsString)], invocation: &Invocation) -> Result<Scrubbed, NotStarted> {
    let mut vars = BTreeMap::new();
    let mut secrets = Vec::new();
    for (name, value) in caller {
        let readable = name.to_str();
        if readable.is_none_or(names_a_secret) {
            secrets.extend(secret_of(value));
        }
        let is_asked_for = readable.is_some_and(|name| invocation.pass_env.iter().any(|passed| passed == name));
        if is_asked_for || readable.is_some_and(|name| !is_scrubbed(name)) {
            vars.insert(name.clone(), value.clone());
        }
    }
    let asked_for =
        |name: &str| invocation.pass_env.iter().any(|passed| passed == name) && vars.contains_key(OsStr::new(name));
    let fixed: Vec<_> = ALWAYS.iter().filter(|(name, _)| !asked_for(name)).collect();
    vars.extend(fixed.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    vars.insert("PWD".into(), invocation.cwd.clone().into_os_string());
    for (name, value) in &invocation.set_env {
        check_pair(name, value)?;
        if names_a_secret(name) {
            secrets.extend(secret_of(OsStr::new(value)));
        }
        vars.insert(name.into(), value.into());
    }
    let digest = digest(&vars);
    Ok(Scrubbed { vars, secrets, digest })
}

/// The marker of a run with this id within whatever run the caller is in.
pub fn marker(caller: &[(OsString, OsString)], id: &str) -> String {
    let outer = caller.iter().find(|(name, _)| name == MARKER).and_then(|(_, value)| value.to_str());
    match outer.filter(|outer| outer.len() <= MAX_MARKER_BYTES) {
        Some(outer) => format!("{outer}:{id}"),
        None => id.to_owned(),
    }
}

fn is_scrubbed(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || BENDING.contains(&name)
        || BENDING_SHAPES.iter().any(|(start, end)| name.starts_with(start) && name.ends_with(end))
        || names_a_secret(name)
}

/// The value, if it is worth looking for: long enough, and not a place that anyone may see.
fn secret_of(value: &OsStr) -> Option<String> {
    let text = value.to_str()?;
    let is_place = Path::new(text).is_absolute() && Path::new(text).exists();
    (text.len() >= MIN_SECRET_BYTES && !is_place).then(|| text.to_owned())
}

fn check_pair(name: &str, value: &str) -> Result<(), NotStarted> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(NotStarted::Malformed { why: format!("`{}` cannot be set as a variable", name.escape_debug()) });
    }
    Ok(())
}

fn digest(vars: &BTreeMap<OsString, OsString>) -> Digest {
    let mut fields = Fields::new();
    // The directory is recorded beside the digest, and differs between workspaces that are otherwise alike.
    for (name, value) in vars.iter().filter(|(name, _)| *name != "PWD") {
        let is_secret = name.to_str().is_none_or(names_a_secret);
        fields.push(name.as_encoded_bytes());
        // A digest of a short secret among known neighbours would give it away.
        fields.push(if is_secret { b"" } else { value.as_encoded_bytes() });
    }
    fields.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::stamp::Length;
    use crate::ports::runner::Program;

    fn invocation() -> Invocation {
        Invocation::new(Program::Shell("true".into()), "/", Length::seconds(1))
    }

    fn caller(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn what_a_toolchain_needs_stays_and_what_bends_it_goes() {
        let kept = [
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
            "JAVA_HOME",
            "GOPATH",
            "TMPDIR",
        ];
        let gone = [
            "GIT_DIR",
            "KCTL_SESSION",
            "LD_PRELOAD",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "NODE_OPTIONS",
            "RUSTC_WRAPPER",
            "PYTEST_ADDOPTS",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "MAKEFLAGS",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
        ];
        let pairs: Vec<_> = kept.iter().chain(&gone).map(|name| (*name, "value")).collect();
        let scrubbed = scrub(&caller(&pairs), &invocation()).expect("nothing is set");
        for name in kept {
            assert!(scrubbed.vars.contains_key(OsStr::new(name)), "{name}");
        }
        for name in gone {
            assert!(!scrubbed.vars.contains_key(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_secret_is_looked_for_in_the_output_whether_it_was_passed_or_not() {
        let pairs = [
            ("A_TOKEN", "aaaaaaaa1"),
            ("B_TOKEN", "bbbbbbbb1"),
            ("C_TOKEN", "short"),
            ("AUTH_DIR", "/"),
            ("PATH", "/bin:/usr"),
        ];
        let mut invocation = invocation();
        invocation.pass_env = vec!["B_TOKEN".into()];
        invocation.set_env = vec![("D_PASSWORD".into(), "dddddddd1".into())];
        let scrubbed = scrub(&caller(&pairs), &invocation).expect("it is well formed");
        assert_eq!(scrubbed.secrets, ["aaaaaaaa1", "bbbbbbbb1", "dddddddd1"]);
        assert!(
            scrubbed.vars.contains_key(OsStr::new("B_TOKEN")) && !scrubbed.vars.contains_key(OsStr::new("A_TOKEN"))
        );
    }

    #[test]
    fn the_digest_knows_values_but_not_those_of_secrets() {
        let digest = |name: &str, value: &str| {
            let mut invocation = invocation();
            invocation.set_env = vec![(name.into(), value.into())];
            scrub(&[], &invocation).expect("it is well formed").digest
        };
        assert_ne!(digest("MODE", "a"), digest("MODE", "b"));
        assert_eq!(digest("TOKEN", "a"), digest("TOKEN", "b"));
        assert_ne!(digest("TOKEN", "a"), digest("SECRET", "a"));
    }

    #[test]
    fn a_malformed_variable_is_named() {
        let mut invocation = invocation();
        invocation.set_env = vec![("A=B".into(), "c".into())];
        let Err(refused) = scrub(&[], &invocation) else { panic!("a name with `=` is no name") };
        assert_eq!(refused.to_string(), "the command cannot be started: `A=B` cannot be set as a variable");
    }
}
