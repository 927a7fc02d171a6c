//! The story: its order, how it begins, and how it ends.

use super::place::Place;
use super::project::{MAKE, Project, RUST, SHELL};
use super::scenes;
use super::teller::{Stopped, Teller, Told};
use crate::domain::refusal::{Code, Refusal};
use crate::doors::cli::quoted;

/// What later scenes need of earlier ones.
pub struct Cast {
    pub project: &'static Project,
    pub task: String,
    pub commitment: String,
    /// The agent who works, by its session.
    pub ada: String,
    /// The agent who comes second.
    pub grace: String,
}

/// Tells it from beginning to end.
pub fn tell(teller: &mut Teller, place: &Place) -> Result<(), Stopped> {
    let project = choose(teller)?;
    let mut cast =
        Cast { project, task: String::new(), commitment: String::new(), ada: String::new(), grace: String::new() };
    open(teller, place, project)?;
    adopt(teller, place, project)?;
    scenes::sessions(teller, &mut cast)?;
    scenes::commit_open(teller, &mut cast)?;
    scenes::claims(teller, &cast)?;
    scenes::workspace(teller, &cast)?;
    scenes::too_early(teller, &cast)?;
    scenes::mend(teller, &cast)?;
    scenes::stale(teller, &cast)?;
    scenes::pushes(teller, &cast)?;
    scenes::finish(teller, &cast)?;
    scenes::publish(teller, &cast)?;
    scenes::close(teller, &cast)?;
    scenes::look_back(teller, &cast)?;
    end(teller, place, &cast)
}

/// The project that the reader's own tools can test.
fn choose(teller: &Teller) -> Result<&'static Project, Stopped> {
    let works = |line: &str| teller.shell.run(line).is_ok_and(|typed| typed.status == 0);
    if !works("git --version") {
        let words = "`git --version` does not run: install git, and make it reachable through PATH";
        return Err(Refusal::new(Code::COMMAND_NOT_RUN, words).into());
    }
    // A cargo without a tool chain, or without a linker, tests nothing.
    Ok(if works("cargo --version && { command -v cc || command -v gcc || command -v clang; }") {
        &RUST
    } else if works("make --version") {
        &MAKE
    } else {
        &SHELL
    })
}

fn open(teller: &mut Teller, place: &Place, project: &Project) -> Result<(), Stopped> {
    let root = place.root.display();
    teller.say(&format!(
        "This is the main job of kctl, in a throw-away repository: {root}\n\
         Every line behind `$` is really typed into a shell, and what follows it is what really came back. If anything\n\
         behaves otherwise than told, the story stops with an error.\n",
    ))?;
    teller.scene(
        "A project with a failing test",
        &format!("It is {}, with a bare repository for a remote. One of its tests fails.", project.about),
    )?;
    let made = "git init -q --bare -b main remote.git && git init -q -b main shop";
    teller.line(made, &Told::done(&[]))?;
    for (path, text) in project.files {
        place.write(path, text)?;
    }
    teller.cd(&place.shop())?;
    for (key, value) in
        [("user.name", "Quickstart"), ("user.email", "quickstart@example.invalid"), ("commit.gpgSign", "false")]
    {
        teller.quietly(&format!("git config {key} {value}"))?;
    }
    teller.quietly(&format!("git remote add origin '{root}/remote.git'"))?;
    teller.line("git add -A && git commit -q -m 'A shop' && git push -q -u origin main", &Told::done(&[]))?;
    teller.line(&format!("cat {}", project.source), &Told::done(&["percent"])).map(drop)
}

fn adopt(teller: &mut Teller, place: &Place, project: &Project) -> Result<(), Stopped> {
    teller.scene(
        "kctl comes into the repository",
        "`init` proposes checks from what it finds and shows every change first. A second `init` finds nothing to do.",
    )?;
    teller.line("kctl init --dry-run", &Told::done(&["create .decapod/kctl.toml"]))?;
    teller.line("kctl init", &Told::done(&["create .decapod/kctl.toml", "changed: yes"]).first(1))?;
    teller.line("kctl init", &Told::done(&["changed: no"]))?;
    if let Some(check) = project.check {
        teller.aside("Nothing was found to propose a check from, so a person writes one into the profile:")?;
        let text = teller.quietly("cat .decapod/kctl.toml")?.replace("\n[checks]\n", check);
        place.write(".decapod/kctl.toml", &text)?;
    }
    let checks = teller.line("grep -A 2 '^\\[checks' .decapod/kctl.toml", &Told::done(&["[checks.test]"]))?;
    teller.check(checks.contains("run ="), "the profile declares a check to run")?;
    teller.aside(
        "The profile judges only once it is on the base: a change cannot choose its own judge. A person reviews it,\n\
         commits it and pushes it.",
    )?;
    teller.line("git add -A && git commit -q -m 'Adopt kctl' && git push -q", &Told::done(&[])).map(drop)
}

fn end(teller: &mut Teller, place: &Place, cast: &Cast) -> Result<(), Stopped> {
    let (exports, shop, ada) = (place.exports(), quoted(&place.shop().display().to_string()), &cast.ada);
    let proof = teller.data(&format!("kctl evidence list --task {}", cast.task))?;
    let failed = proof["items"].as_array().into_iter().flatten().find(|one| one["verdict"] == "fail");
    let failed = failed.and_then(|one| one["id"].as_str()).unwrap_or_default();
    teller.check(!failed.is_empty(), "the failed run is still in the ledger")?;
    let (task, commitment) = (&cast.task, &cast.commitment);
    let calls = [
        (format!("kctl evidence show {failed} --output"), "the run that failed, and what it said"),
        (format!("kctl task history {task}"), "one task, event by event"),
        (format!("kctl commit show {commitment}"), "what was owed, and how it ended"),
        ("kctl doctor".to_owned(), "what kctl rests on here"),
        ("kctl task create 'Something else'".to_owned(), "and on it goes"),
    ];
    let calls: String = calls.iter().map(|(line, what)| format!("  {line:<42}  # {what}\n")).collect();
    teller.say(&format!(
        "\nThat was the main job. Everything of it stays in {root}; remove the directory when you are done.\n\
         To look around:\n\n\
         {exports}\x20 export KCTL_SESSION={ada}\n  cd {shop}\n\n{calls}",
        root = place.root.display(),
    ))
}
