//! What kctl tells of its own doings, when `KCTL_LOG` asks for it.

use fs_err as fs;
use tracing_subscriber::EnvFilter;

/// What is told: a level (`info`, `debug`, `trace`) or a filter such as `kctl::ops=debug`.
pub const LOG_VAR: &str = "KCTL_LOG";
/// Where to: a file that is appended to, instead of stderr.
pub const LOG_FILE_VAR: &str = "KCTL_LOG_FILE";

/// Begins to tell, if the environment asks for it. A filter or file that cannot be used is said once, on stderr.
pub fn begin() {
    let Ok(wanted) = std::env::var(LOG_VAR) else { return };
    let Ok(filter) = EnvFilter::try_new(&wanted) else {
        return complain(&format!("`{LOG_VAR}={wanted}` is not a filter: write info, debug, trace or kctl::ops=debug"));
    };
    let told = tracing_subscriber::fmt().with_env_filter(filter).with_target(true);
    let Some(path) = std::env::var_os(LOG_FILE_VAR) else {
        return told.with_writer(std::io::stderr).init();
    };
    match fs::OpenOptions::new().create(true).append(true).open(path) {
        Ok(file) => told.with_ansi(false).with_writer(std::sync::Mutex::new(file)).init(),
        Err(why) => complain(&format!("{LOG_FILE_VAR}: {why}")),
    }
}

fn complain(words: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "warning: {words}");
}
