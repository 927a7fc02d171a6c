//! One output in, one report out: the readers that know its form, then what any program leaves behind.

mod cargo_json;
mod cc;
mod crash;
mod diagnostics;
mod dotnet;
mod eslint;
mod fallback;
mod format;
mod found;
mod go;
mod go_json;
mod jest;
mod jest_json;
mod json_lint;
mod junit;
mod jvm;
mod libtest;
mod markers;
mod minitest;
mod misc;
mod mocha;
mod modules;
mod nextest;
mod node_spec;
mod prove;
mod pytest;
mod read;
mod rustc;
mod shellcheck;
mod tap;
mod unittest;
mod vitest;

pub use read::{parse, parse_in};
