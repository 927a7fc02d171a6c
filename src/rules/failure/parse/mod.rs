//! One output in, one report out: the readers that know its form, then what any program leaves behind.

mod cargo_json;
mod cc;
mod crash;
mod diagnostics;
mod dotnet;
mod eslint;
mod fallback;
mod found;
mod go;
mod go_json;
mod jest;
mod jest_json;
mod junit;
mod jvm;
mod libtest;
mod markers;
mod misc;
mod mocha;
mod modules;
mod nextest;
mod node_spec;
mod pytest;
mod read;
mod rustc;
mod tap;
mod unittest;
mod vitest;

pub use read::{parse, parse_in};
