//! Python: pytest or unittest, and the linters and type checkers that are configured.

use super::{Found, TreeFacts, joined, quoted, shell, unittest};
use crate::domain::profile::{Check, CheckKind};

pub fn look(facts: &TreeFacts, found: &mut Found) {
    let mut dirs = facts.projects("pyproject.toml");
    let top = ["setup.cfg", "tox.ini", "pytest.ini", "setup.py", "requirements.txt", "conftest.py"];
    let bare = || dirs.is_empty() && !unittest::places(facts, "").is_empty();
    if !dirs.iter().any(String::is_empty) && (facts.first_of("", &top).is_some() || bare()) {
        dirs.insert(0, String::new());
    }
    for dir in dirs {
        let manifest = joined(&dir, "pyproject.toml");
        if facts.has(&manifest) && facts.toml(&manifest).is_none() {
            found.notices.push(format!("`{manifest}` could not be read as TOML"));
        }
        let project = Project { facts, dir: &dir, tool: tools(facts, &manifest) };
        project.tests(found);
        project.linters(found);
    }
}

fn tools(facts: &TreeFacts, manifest: &str) -> toml::Table {
    let tool = facts.toml(manifest).and_then(|mut table| table.remove("tool"));
    match tool {
        Some(toml::Value::Table(tool)) => tool,
        _ => toml::Table::new(),
    }
}

struct Project<'a> {
    facts: &'a TreeFacts,
    dir: &'a str,
    /// `[tool]` of `pyproject.toml`.
    tool: toml::Table,
}

impl Project<'_> {
    fn has(&self, file: &str) -> bool {
        self.facts.has(&joined(self.dir, file))
    }

    fn content(&self, file: &str) -> &str {
        self.facts.content(&joined(self.dir, file)).unwrap_or_default()
    }

    /// What puts the project's own environment in force.
    fn runner(&self) -> &'static str {
        match self.facts.first_of(self.dir, &["uv.lock", "poetry.lock", "pdm.lock"]) {
            Some("uv.lock") => "uv run --locked ",
            Some("poetry.lock") => "poetry run ",
            Some("pdm.lock") => "pdm run ",
            _ => "",
        }
    }

    fn tests(&self, found: &mut Found) {
        let Some(because) = self.pytest() else {
            if self.content("tox.ini").contains("[testenv") {
                let check = Check { kind: CheckKind::Test, ..shell("tox") };
                found.add("python", self.dir, "test", check, "`[testenv]` in `tox.ini`".into());
                return;
            }
            return self.unittests(found);
        };
        let run = match self.runner() {
            "" => "python3 -m pytest".to_owned(),
            runner => format!("{runner}pytest"),
        };
        found.add("python", self.dir, "test", Check { kind: CheckKind::Test, ..shell(run) }, because);
    }

    /// Python's own runner, where its tests are found and nothing else is said to run them.
    fn unittests(&self, found: &mut Found) {
        // Django's tests need its settings, and its own command to have them.
        if self.has("manage.py") {
            return;
        }
        let python = match self.runner() {
            "" => "python3".to_owned(),
            runner => format!("{runner}python"),
        };
        let places = unittest::places(self.facts, self.dir);
        let Some((_, shown)) = places.first() else { return };
        let because = format!("`{shown}` imports unittest");
        let run = |(start, _): &(String, String)| match start.as_str() {
            "" => format!("{python} -m unittest"),
            start => format!("{python} -m unittest discover -s {}", quoted(start)),
        };
        let run = places.iter().map(run).collect::<Vec<_>>().join(" && ");
        found.add("python", self.dir, "test", Check { kind: CheckKind::Test, ..shell(run) }, because);
    }

    /// What says that the tests are pytest's.
    fn pytest(&self) -> Option<String> {
        let says = |file: &str, section: &str| self.content(file).contains(section);
        let named = [
            (self.tool.contains_key("pytest"), "`[tool.pytest]` in `pyproject.toml`"),
            (self.has("pytest.ini"), "`pytest.ini`"),
            (says("setup.cfg", "[tool:pytest]"), "`[tool:pytest]` in `setup.cfg`"),
            (says("tox.ini", "[pytest]"), "`[pytest]` in `tox.ini`"),
            (self.has("conftest.py") || self.has("tests/conftest.py"), "`conftest.py`"),
            (says("pyproject.toml", "pytest"), "pytest among the dependencies in `pyproject.toml`"),
            (says("requirements-dev.txt", "pytest"), "pytest in `requirements-dev.txt`"),
            (says("requirements.txt", "pytest"), "pytest in `requirements.txt`"),
        ];
        named.into_iter().find(|(holds, _)| *holds).map(|(_, because)| because.to_owned())
    }

    fn linters(&self, found: &mut Found) {
        let runner = self.runner();
        let ruff = self.facts.first_of(self.dir, &["ruff.toml", ".ruff.toml"]);
        if let Some(because) = self.configured("ruff", ruff) {
            let check = Check { kind: CheckKind::Lint, ..shell(format!("{runner}ruff check .")) };
            found.add("python", self.dir, "lint", check, because);
        }
        let mypy = self.facts.first_of(self.dir, &["mypy.ini", ".mypy.ini"]);
        let pyright = self.facts.first_of(self.dir, &["pyrightconfig.json"]);
        let section = self.content("setup.cfg").contains("[mypy]").then(|| "`[mypy]` in `setup.cfg`".to_owned());
        if let Some(because) = self.configured("mypy", mypy).or(section) {
            let check = Check { kind: CheckKind::Typecheck, ..shell(format!("{runner}mypy .")) };
            found.add("python", self.dir, "typecheck", check, because);
        } else if let Some(because) = self.configured("pyright", pyright) {
            let check = Check { kind: CheckKind::Typecheck, ..shell(format!("{runner}pyright")) };
            found.add("python", self.dir, "typecheck", check, because);
        }
    }

    fn configured(&self, tool: &str, file: Option<&str>) -> Option<String> {
        match file {
            Some(file) => Some(format!("`{}`", joined(self.dir, file))),
            None => self.tool.contains_key(tool).then(|| format!("`[tool.{tool}]` in `pyproject.toml`")),
        }
    }
}
