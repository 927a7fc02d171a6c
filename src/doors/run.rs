//! From the process's words to its exit status.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::adapters::artifacts::ArtifactDir;
use crate::adapters::diagnostics;
use crate::adapters::failpoint;
use crate::adapters::files::DiskFiles;
use crate::adapters::git::LocalRepositories;
use crate::adapters::layout::Layout;
use crate::adapters::passages::PassageIndex;
use crate::adapters::paths::DiskPaths;
use crate::adapters::process::{Supervisor, interrupted, shut};
use crate::adapters::progress::TerminalProgress;
use crate::adapters::sqlite::SqliteLedgers;
use crate::adapters::stdout::stdout;
use crate::adapters::trees::LocalTrees;
use crate::adapters::world::{
    FileLocks, SecretFiles, SystemClock, SystemEnv, SystemIds, current_dir, current_program, outlive_file_limits,
};
use crate::domain::answer::Answer;
use crate::domain::caller::{Door, Grade};
use crate::domain::id::OriginId;
use crate::domain::op_info::OpInfo;
use crate::domain::refusal::{Code, Refusal};
use crate::ops::registry::{self, OPS};
use crate::ops::world::World;
use crate::ops::{self, Presented};
use crate::ports::artifacts::Artifacts;
use crate::ports::files::Files;
use crate::ports::passages::Passages;
use crate::ports::world::{Clock as _, Ids as _};
use crate::rules::context::fragments::cut;
use crate::rules::redaction::of_stream;

use super::cli::{self, Action, Console, Globals, Look, Parsed, Printed, Voice};
use super::{git_hook, quickstart, rpc};

/// The columns that help is wrapped to where no terminal says otherwise.
const HELP_COLUMNS: usize = 100;

/// Serves one invocation; `args` are the words after the program's name. Gives the exit status.
pub fn run(args: &[OsString]) -> u8 {
    if let Some(status) = shut::inner::serve(args) {
        return status;
    }
    outlive_file_limits();
    let ops: Vec<OpInfo> = OPS.iter().map(|entry| entry.info).collect();
    let mut console = Console { columns: help_columns(), open: &mut cli::open };
    let voice = cli::voice(args);
    let status = match cli::parse(args, &ops, &mut console) {
        Ok(parsed) => {
            diagnostics::begin();
            act(parsed, voice, &ops)
        }
        Err(refusal) => {
            let look = Look::probe(SystemClock.now(), false, 0);
            print(&cli::refused(&refusal, voice, &ops, &look), refusal.code().exit_status())
        }
    };
    // Told to stop while a check ran: its run was taken down and recorded, and the shell is told what happened.
    interrupted().map_or(status, |signal| 128 + u8::try_from(signal & 0x7f).unwrap_or(0))
}

fn help_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map_or(HELP_COLUMNS, |size| usize::from(size.ws_col).clamp(60, 120))
}

fn act(parsed: Parsed, voice: Voice, ops: &[OpInfo]) -> u8 {
    let Parsed { globals, action } = parsed;
    let look = Look::probe(SystemClock.now(), globals.quiet, globals.verbose);
    match action {
        Action::Version => text(&format!("kctl {}\n", crate::VERSION)),
        Action::Help(help) => text(&if look.colour { help } else { cli::plain(&help) }),
        Action::Completions { shell } => bytes(&cli::completions(shell, ops)),
        Action::Man { dir: None } => bytes(&cli::man_page(ops)),
        Action::Man { dir: Some(dir) } => man_pages(&dir, ops, voice, &look),
        Action::Op { name, params } => {
            let outcome = within(&globals, Door::Cli, |world, who| called(world, who, name, sent(params, &globals)));
            operation(name, outcome, voice, ops, &look)
        }
        Action::Rpc { op: None, params: _ } => serve(&globals),
        Action::Rpc { op: Some(op), params } => serve_op(&op, params.as_deref(), &globals),
        Action::GitHook { name, args } => {
            match within(&globals, Door::GitHook, |world, who| git_hook::serve(world, who, &name, &args)) {
                Ok(()) => 0,
                Err(refusal) => print(&cli::refused(&refusal, Voice::Human, ops, &look), refusal.code().exit_status()),
            }
        }
        Action::Quickstart { dir } => quick_start(dir.as_deref(), &globals, voice, ops, &look),
    }
}

/// `kctl quickstart`: what stops it is told as a refusal is.
fn quick_start(dir: Option<&Path>, globals: &Globals, voice: Voice, ops: &[OpInfo], look: &Look) -> u8 {
    let from = globals.dir.clone().unwrap_or_default();
    match quickstart::run(dir.map(|dir| from.join(dir)).as_deref(), look) {
        Ok(()) | Err(quickstart::Stopped::ReaderGone) => 0,
        Err(quickstart::Stopped::Refused(no)) => print(&cli::refused(&no, voice, ops, look), no.code().exit_status()),
        Err(quickstart::Stopped::NotWritten(why)) => {
            let words = format!("error: the story could not be written to standard output: {why}\n");
            print(&Printed { stdout: String::new(), stderr: words }, cli::EXIT_NOT_WRITTEN)
        }
    }
}

/// The parameters as they would stand in a request: the global flags are members of the envelope.
fn sent(mut params: Map<String, Value>, globals: &Globals) -> Map<String, Value> {
    let envelope = [
        ("session", globals.session.clone()),
        ("token", globals.token.clone()),
        ("idempotency_key", globals.idempotency_key.clone()),
    ];
    for (name, value) in envelope {
        if let Some(value) = value {
            params.insert(name.to_owned(), Value::String(value));
        }
    }
    if globals.dry_run {
        params.insert("dry_run".to_owned(), Value::Bool(true));
    }
    params
}

fn operation(name: &str, outcome: Result<Answer, Refusal>, voice: Voice, ops: &[OpInfo], look: &Look) -> u8 {
    let info = registry::find(name).map(|entry| &entry.info);
    match outcome {
        Ok(answer) => {
            let printed = match voice {
                Voice::Human => cli::answer(&answer, info, ops, look),
                Voice::Json | Voice::Rpc => Printed { stdout: cli::answer_json(&answer), stderr: String::new() },
            };
            print(&printed, status_of(&answer, info))
        }
        Err(refusal) => print(&cli::refused(&refusal, voice, ops, look), refusal.code().exit_status()),
    }
}

/// 0, unless the operation says that what was asked about does not hold.
fn status_of(answer: &Answer, info: Option<&OpInfo>) -> u8 {
    let holds = info.and_then(|info| info.holds).and_then(|member| answer.data[member].as_bool());
    if holds == Some(false) { Code::CHECKS_FAILED.exit_status() } else { 0 }
}

/// `kctl rpc`: one request or batch on stdin. The status says that an answer was given, not what it says.
fn serve(globals: &Globals) -> u8 {
    let request = match rpc::read_request(std::io::stdin()) {
        Ok(request) => request,
        Err(refusal) => return bytes(&rpc::refused(&refusal)),
    };
    let mut call = |op: &str, params: Map<String, Value>| {
        within(globals, Door::Rpc, |world, who| called(world, who, op, envelope(params, globals)))
    };
    match rpc::serve(&request, &mut call) {
        Some(answer) => bytes(&answer),
        None => 0,
    }
}

/// `kctl rpc --op NAME`: the response object, and the exit status of the refusal if it is one.
fn serve_op(op: &str, params: Option<&str>, globals: &Globals) -> u8 {
    let mut console = Console { columns: 0, open: &mut cli::open };
    let params = match params.map(|params| cli::read_value(params, "--params", &mut console)).transpose() {
        Ok(params) => params,
        Err(refusal) => return print_status(&rpc::refused(&refusal), refusal.code().exit_status()),
    };
    let mut call = |op: &str, params: Map<String, Value>| {
        within(globals, Door::Rpc, |world, who| called(world, who, op, envelope(params, globals)))
    };
    let (answer, outcome) = rpc::serve_op(op, params.as_deref(), &mut call);
    let status = match &outcome {
        Ok(answer) => status_of(answer, registry::find(op).map(|entry| &entry.info)),
        Err(refusal) => refusal.code().exit_status(),
    };
    print_status(&answer, status)
}

/// Members of the envelope that stand in the request win over flags of the command line.
fn envelope(params: Map<String, Value>, globals: &Globals) -> Map<String, Value> {
    let mut all = sent(Map::new(), globals);
    all.extend(params);
    all
}

/// The one way on from here, told of where `KCTL_LOG` asks for it. Parameters are not: they may hold a secret (I12).
fn called(world: &World<'_>, who: &Presented, op: &str, params: Map<String, Value>) -> Result<Answer, Refusal> {
    tracing::debug!(op, door = ?who.door, cwd = %world.cwd.display(), "calls");
    let done = ops::call(world, who, op, params);
    match &done {
        Ok(answer) => tracing::info!(op, events = answer.receipt.events.len(), "answered"),
        Err(refusal) => tracing::info!(op, code = refusal.code().name(), "refused"),
    }
    done
}

/// Hands the world in, and says who stands at the door.
pub(super) fn within<R>(
    globals: &Globals,
    door: Door,
    call: impl FnOnce(&World<'_>, &Presented) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    let here = current_dir().map_err(|why| Refusal::new(Code::NO_REPOSITORY, why))?;
    let cwd = globals.dir.as_ref().map_or_else(|| here.clone(), |dir| here.join(dir));
    let progress = TerminalProgress::new(globals.quiet || globals.json || door != Door::Cli);
    let runner = Supervisor::new(of_stream);
    let ledgers = SqliteLedgers::new(|| OriginId::new(SystemIds.uuid()));
    let world = World {
        cwd,
        program: current_program(),
        clock: &SystemClock,
        ids: &SystemIds,
        env: &SystemEnv,
        secrets: &SecretFiles,
        progress: &progress,
        locks: &FileLocks,
        ledgers: &ledgers,
        repositories: &LocalRepositories,
        trees: &LocalTrees,
        paths: &DiskPaths,
        runner: &runner,
        files: &|tree, common| Box::new(DiskFiles::new(tree.map(Path::to_owned), common.to_owned())) as Box<dyn Files>,
        artifacts: &|common| Box::new(ArtifactDir::new(Layout::of(common).artifacts())) as Box<dyn Artifacts>,
        passages: &|common| Box::new(PassageIndex::new(common, cut)) as Box<dyn Passages>,
    };
    let presented = Presented { door, grade: grade(door), host: None };
    let faultless = || {
        failpoint::reach("door.called");
        call(&world, &presented)
    };
    // What the panic said is on stderr and stays out of the answer: it can hold anything (I12).
    catch_unwind(AssertUnwindSafe(faultless)).unwrap_or_else(|_| {
        let message = "kctl failed inside the call; what it said is on stderr";
        Err(Refusal::new(Code::INTERNAL, message).with("fault", "panic"))
    })
}

/// A person is believed to be there when a terminal is: the command line's own, read and written.
fn grade(door: Door) -> Grade {
    let attended = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    match door {
        Door::Cli if attended => Grade::Tty,
        Door::Cli | Door::Rpc | Door::Mcp | Door::Hook | Door::GitHook => Grade::Asserted,
    }
}

fn man_pages(dir: &PathBuf, ops: &[OpInfo], voice: Voice, look: &Look) -> u8 {
    let write = || -> std::io::Result<usize> {
        fs_err::create_dir_all(dir)?;
        let pages = cli::man_pages(ops);
        pages.iter().try_for_each(|(name, page)| fs_err::write(dir.join(name), page))?;
        Ok(pages.len())
    };
    match write() {
        Ok(count) => print(&Printed { stdout: String::new(), stderr: format!("{count} pages written\n") }, 0),
        Err(why) => {
            let refusal = Refusal::new(Code::STORAGE_FAILED, why.to_string()).with("field", "dir");
            print(&cli::refused(&refusal, voice, ops, look), refusal.code().exit_status())
        }
    }
}

fn text(text: &str) -> u8 {
    bytes(text.as_bytes())
}

fn bytes(answer: &[u8]) -> u8 {
    print_status(answer, 0)
}

fn print(printed: &Printed, status: u8) -> u8 {
    emit(printed.stdout.as_bytes(), printed.stderr.as_bytes(), status)
}

fn print_status(answer: &[u8], status: u8) -> u8 {
    emit(answer, b"", status)
}

fn emit(answer: &[u8], beside: &[u8], status: u8) -> u8 {
    failpoint::reach("answer.emitting");
    let mut stdout = stdout();
    let status = cli::emit(&mut stdout, &mut std::io::stderr(), answer, beside, status);
    // What is still buffered was flushed above; a second try at exit must not say anything.
    let _ = stdout.flush();
    status
}
