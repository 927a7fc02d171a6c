//! Go: tests, and `go vet` or the configured linter.

use super::{Found, TreeFacts, joined, shell};
use crate::domain::profile::{Check, CheckKind};

const LINTER_CONFIGS: &[&str] = &[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"];

pub fn look(facts: &TreeFacts, found: &mut Found) {
    for dir in facts.projects("go.mod") {
        let manifest = format!("`{}`", joined(&dir, "go.mod"));
        let test = Check { kind: CheckKind::Test, ..shell("go test ./...") };
        found.add("go", &dir, "test", test, manifest.clone());
        let (run, because) = match facts.first_of(&dir, LINTER_CONFIGS) {
            Some(config) => ("golangci-lint run", format!("`{}`", joined(&dir, config))),
            None => ("go vet ./...", manifest),
        };
        found.add("go", &dir, "lint", Check { kind: CheckKind::Lint, ..shell(run) }, because);
    }
}
