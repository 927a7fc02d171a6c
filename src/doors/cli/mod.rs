//! The command line: words in, a call or a text out; an answer in, text for a person or JSON for a program out.
//!
//! Operations arrive as data (`OpInfo`). A command is built from an operation's JSON Schema only when that operation is
//! called, because building all of them takes longer than most calls run.

mod builtin;
mod catalogue;
mod fault;
mod globals;
mod layout;
mod leaf;
mod line;
mod man;
mod output;
mod param;
mod parse;
mod render;
mod source;
mod table;
mod text;
mod tree;
mod value;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod help_tests;
#[cfg(test)]
mod reading_tests;
#[cfg(test)]
mod render_tests;
#[cfg(test)]
mod tests;

pub use builtin::Action;
pub use fault::unknown_op;
pub use globals::Globals;
pub use line::{command_line, quoted};
pub use man::{man_page, man_pages};
pub use output::{EXIT_NOT_WRITTEN, Written, emit, exit_status, plain, write_all};
pub use parse::{Parsed, Voice, parse, voice};
pub use render::{Look, Printed, answer, answer_json, refusal, refusal_json, refused};
pub use source::{Console, MAX_VALUE_BYTES, Open, Source, open};
pub use text::neutral;
pub use tree::completions;
pub use value::text as read_value;
