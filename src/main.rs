//! The `kctl` program: hands the process's words over and exits with what comes back.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    ExitCode::from(kctl::doors::run(&args))
}
