//! Man pages: what help says, and what help leaves to them.

use clap::Command;

use super::catalogue;
use super::tree::{MAX_HELP_COLUMNS, full};
use crate::domain::op_info::{OpInfo, words_for};
use crate::ops::custody::{SESSION_VAR, TOKEN_VAR};

/// When these pages last changed in substance: not the day of a build, which would make each build another.
const DATE: &str = "2026-11-30";

/// The page of `kctl` itself.
pub fn man_page(ops: &[OpInfo]) -> Vec<u8> {
    page(&full(ops, MAX_HELP_COLUMNS), "kctl", ops)
}

/// Every man page with its file name: `kctl.1`, `kctl-task.1`, `kctl-task-create.1`, …
pub fn man_pages(ops: &[OpInfo]) -> Vec<(String, Vec<u8>)> {
    let mut root = full(ops, MAX_HELP_COLUMNS);
    root.build();
    let mut pages = Vec::new();
    collect(&root, "kctl", ops, &mut pages);
    pages
}

fn collect(command: &Command, name: &str, ops: &[OpInfo], pages: &mut Vec<(String, Vec<u8>)>) {
    pages.push((format!("{name}.1"), page(&command.clone().name(name.to_owned()), name, ops)));
    for child in command.get_subcommands() {
        collect(child, &format!("{name}-{}", child.get_name()), ops, pages);
    }
}

fn page(command: &Command, name: &str, ops: &[OpInfo]) -> Vec<u8> {
    // What stands below the flags in help has sections of its own here.
    let info = ops.iter().find(|info| pages_of(info).any(|page| page == name));
    let source = format!("kctl {}", crate::VERSION);
    let man = clap_mangen::Man::new(command.clone())
        .title(name.to_uppercase())
        .section("1")
        .date(DATE)
        .source(source)
        .manual("kctl Manual");
    let mut page = Vec::new();
    man.render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .expect("writing to memory cannot fail");
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page).expect("writing to memory cannot fail");
    }
    let mut more = String::new();
    if let Some(info) = info.filter(|info| !info.help.is_empty()) {
        section("NOTES", info.help, &mut more);
    }
    section("EXAMPLES", &examples(name, info), &mut more);
    section("EXIT STATUS", &exit_status(name), &mut more);
    section("ENVIRONMENT", &environment(), &mut more);
    section("FILES", FILES, &mut more);
    section("SEE ALSO", &see_also(command, name), &mut more);
    page.extend_from_slice(more.as_bytes());
    page
}

/// The pages that describe `info`: one for each word for its noun.
fn pages_of(info: &OpInfo) -> impl Iterator<Item = String> {
    let verb = info.verb().map(|verb| format!("-{verb}")).unwrap_or_default();
    words_for(info.noun()).map(move |word| format!("kctl-{word}{verb}").replace('_', "-"))
}

/// A section of lines that stay as they are.
fn section(name: &str, text: &str, page: &mut String) {
    page.push_str(&format!(".SH \"{name}\"\n.nf\n"));
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        // A line that began with a dot would be an instruction.
        page.push_str(if line.starts_with('.') { "\\&" } else { "" });
        page.push_str(&line);
        page.push('\n');
    }
    page.push_str(".fi\n");
}

fn examples(name: &str, info: Option<&OpInfo>) -> String {
    let lines = |examples: &[(&str, &str)]| {
        examples.iter().map(|(command, what)| format!("{command}\n    {what}\n")).collect::<String>()
    };
    match (name, info) {
        ("kctl", _) => lines(&[
            ("kctl quickstart", "shows the main job in a throw-away repository"),
            ("kctl init --dry-run", "shows what would be set up here"),
            ("kctl status", "shows where things stand"),
        ]),
        (_, Some(info)) if !info.examples.is_empty() => lines(info.examples),
        (_, Some(info)) => format!("{}\n", info.command()),
        (_, None) => format!("{} --help\n    shows what it takes\n", name.replacen("kctl-", "kctl ", 1)),
    }
}

fn exit_status(name: &str) -> String {
    match name {
        "kctl" => catalogue::exit_statuses(),
        _ => "0 is an answer. Every refusal has a code, and its status says of which kind it is:\n\
              `kctl help exit` and kctl(1) list them.\n"
            .to_owned(),
    }
}

fn environment() -> String {
    [
        (SESSION_VAR, "the session that calls, where `--session` names none"),
        (TOKEN_VAR, "its token, where `--token` gives none and this machine does not keep it"),
        ("KCTL_LOG", "what is told on stderr of the inside, such as `info` or `debug`"),
        ("KCTL_LOG_FILE", "the file that it is told to instead"),
        ("XDG_STATE_HOME", "where tokens are kept; $HOME/.local/state otherwise"),
        ("COLUMNS", "the width of tables where there is no terminal; 100 otherwise"),
        ("NO_COLOR", "no colours"),
    ]
    .map(|(name, what)| format!("{name}\n    {what}\n"))
    .concat()
}

const FILES: &str = "\
.decapod/kctl.toml
    the profile: checks, publication, limits; `kctl help profile` describes it
AGENTS.md
    holds the block that tells agents which calls to make
$GIT_COMMON_DIR/decapod/ledger.db
    every fact, and the state folded from them
$GIT_COMMON_DIR/decapod/artifacts/
    the output of runs, by digest
<root>.work/
    the worktrees of tasks
$XDG_STATE_HOME/kctl/sessions/
    tokens of sessions, readable for their owner alone";

/// The pages above and below this one, and git's.
fn see_also(command: &Command, name: &str) -> String {
    let above = name.rsplit_once('-').map(|(above, _)| above.to_owned());
    let below = command.get_subcommands().map(|child| format!("{name}-{}", child.get_name()));
    let pages = ["kctl".to_owned()].into_iter().filter(|_| name != "kctl");
    let mut pages: Vec<String> = pages.chain(above).chain(below).collect();
    pages.dedup();
    pages.push("git".to_owned());
    pages.iter().map(|page| format!("{page}(1)")).collect::<Vec<_>>().join(", ") + "\n"
}
