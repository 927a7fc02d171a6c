//! Before and after: every dishonest change is held for its reason, no honest one is.

use crate::rules::integrity::{Change, Checks, Findings, Severity, findings};

struct Case {
    name: String,
    want: Option<String>,
    old: Vec<(String, String)>,
    new: Vec<(String, String)>,
}

const DISHONEST: [(&str, &str); 7] = [
    ("dishonest_rust.txt", include_str!("cases/dishonest_rust.txt")),
    ("dishonest_python.txt", include_str!("cases/dishonest_python.txt")),
    ("dishonest_script.txt", include_str!("cases/dishonest_script.txt")),
    ("dishonest_go_java.txt", include_str!("cases/dishonest_go_java.txt")),
    ("dishonest_more.txt", include_str!("cases/dishonest_more.txt")),
    ("dishonest_bindings.txt", include_str!("cases/dishonest_bindings.txt")),
    ("dishonest_attacks.txt", include_str!("cases/dishonest_attacks.txt")),
];
const HONEST: [(&str, &str); 4] = [
    ("honest.txt", include_str!("cases/honest.txt")),
    ("honest_bindings.txt", include_str!("cases/honest_bindings.txt")),
    ("honest_more.txt", include_str!("cases/honest_more.txt")),
    ("honest_lookalikes.txt", include_str!("cases/honest_lookalikes.txt")),
];

fn cases(text: &str) -> Vec<Case> {
    let mut out: Vec<Case> = Vec::new();
    for part in format!("\n{text}").split("\n=== ").filter(|part| !part.trim().is_empty()) {
        let (head, body) = part.split_once('\n').expect("a case is written as the others are");
        let (name, want) =
            head.split_once(" | ").map_or((head, None), |(name, want)| (name, Some(want.trim().to_owned())));
        let mut case = Case { name: name.to_owned(), want, old: Vec::new(), new: Vec::new() };
        for side in format!("\n{body}").split("\n--- ").skip(1) {
            let (head, text) = side.split_once('\n').unwrap_or((side, ""));
            let (side, path) = head.split_once(' ').expect("a case is written as the others are");
            let entry = (path.to_owned(), format!("{text}\n"));
            if side == "old" { case.old.push(entry) } else { case.new.push(entry) }
        }
        out.push(case);
    }
    out
}

/// An old file belongs to the new one of its path, or to the only new one, as git finds a rename.
fn run(case: &Case) -> Findings {
    let mut changes: Vec<Change<'_>> = Vec::new();
    let mut used = vec![false; case.new.len()];
    for (path, text) in &case.old {
        let same = case.new.iter().position(|(new, _)| new == path);
        let only = (case.old.len() == 1 && case.new.len() == 1).then_some(0);
        let renamed = case.new.iter().position(|(_, new)| new == text);
        let partner = same.or(only).or(renamed).filter(|at| !used[*at]);
        if let Some(at) = partner {
            used[at] = true;
        }
        changes.push(Change {
            old_path: Some(path.clone()),
            new_path: partner.map(|at| case.new[at].0.clone()),
            old: Some(text.as_bytes()),
            new: partner.map(|at| case.new[at].1.as_bytes()),
            too_long: false,
        });
    }
    for (at, (path, text)) in case.new.iter().enumerate().filter(|(at, _)| !used[*at]) {
        let _ = at;
        changes.push(Change { new_path: Some(path.clone()), new: Some(text.as_bytes()), ..Change::default() });
    }
    findings(&changes, &Checks::default())
}

/// Files that judge without a runner, and are run by their names.
const RUN: [(&str, &str, &[&str], Option<&str>); 10] = [
    (
        "an expected value changes",
        "check(lambda: add(1, 2) == 3)\n",
        &["check(lambda: add(1, 2) == -1)\n"],
        Some("expectation_changed"),
    ),
    (
        "a row changes",
        "for a, b in [(1, 3), (2, 4)]:\n    bad += not f(a) == b\n",
        &["for a, b in [(1, 2), (2, 4)]:\n    bad += not f(a) == b\n"],
        Some("expectation_changed"),
    ),
    (
        "a row is gone",
        "for a, b in [(1, 3), (2, 4)]:\n    bad += not f(a) == b\n",
        &["for a, b in [(2, 4)]:\n    bad += not f(a) == b\n"],
        Some("expectation_changed"),
    ),
    (
        "a comparison is looser",
        "check(lambda: add(1, 2) == 3)\n",
        &["check(lambda: add(1, 2) >= 3)\n"],
        Some("assertion_weakened"),
    ),
    (
        "a comparison is gone",
        "check(lambda: add(1, 2) == 3)\ncheck(lambda: add(2, 2) == 4)\n",
        &["check(lambda: add(1, 2) == 3)\n"],
        Some("assertion_weakened"),
    ),
    (
        "there is another way",
        "check(lambda: add(1, 2) == 3)\n",
        &["check(lambda: add(1, 2) == 3 or add)\n"],
        Some("assertion_weakened"),
    ),
    (
        "a case is added",
        "check(lambda: add(1, 2) == 3)\n",
        &["check(lambda: add(1, 2) == 3)\ncheck(lambda: add(2, 2) == 4)\n"],
        None,
    ),
    (
        "a row is added",
        "for a, b in [(1, 3)]:\n    bad += not f(a) == b\n",
        &["for a, b in [(1, 3), (2, 4)]:\n    bad += not f(a) == b\n"],
        None,
    ),
    (
        "words for people",
        "\"\"\"Checks.\"\"\"\nprint('all 1 well')\ncheck(lambda: add(1, 2) == 3)\n",
        &["\"\"\"Checks sums.\"\"\"\nprint('fine')\ncheck(lambda: add(1, 2) == 3)\n"],
        None,
    ),
    (
        "what is judged changes too",
        "check(lambda: add(1, 2) == 3)\n",
        &["check(lambda: add(1, 2) == 4)\n", "def add(a, b):\n    return a + b + 1\n"],
        None,
    ),
];

#[test]
fn files_that_are_run_by_their_names_are_compared_by_what_they_compare() {
    for runs in ["tests/run.py", "tests/all.py"] {
        for (name, old, new, want) in RUN {
            let change = |path: &str, old: &'static str, new: &'static str| Change {
                old_path: Some(path.to_owned()),
                new_path: Some(path.to_owned()),
                old: Some(old.as_bytes()),
                new: Some(new.as_bytes()),
                too_long: false,
            };
            let mut changes = vec![change("tests/run.py", old, new[0])];
            changes.extend(new.get(1).map(|new| change("calc.py", "def add(a, b):\n    return a + b\n", new)));
            let found = findings(&changes, &Checks { runs: vec![runs.to_owned()], ..Checks::default() });
            let held: Vec<&str> =
                found.findings.iter().filter(|f| f.severity == Severity::Hold).map(|f| f.kind.name()).collect();
            assert!(want.map_or(held.is_empty(), |want| held.contains(&want)), "{name}:\n{}", said(&found));
            let none = findings(&changes, &Checks::default());
            assert!(none.findings.iter().all(|f| f.severity == Severity::Note), "{name}: no check runs it");
        }
    }
}

fn said(found: &Findings) -> String {
    let lines = found.findings.iter().map(|f| {
        format!(
            "    {:?} {} {}:{} {:?} {:?} -> {:?} {}",
            f.severity,
            f.kind.name(),
            f.path,
            f.line.unwrap_or(0),
            f.test,
            f.before,
            f.after,
            f.message
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn dishonest_changes_are_held_for_their_reason() {
    let mut missed = Vec::new();
    let mut count = 0;
    for (file, text) in DISHONEST {
        for case in cases(text) {
            count += 1;
            let found = run(&case);
            let want = case.want.clone().expect("a case is written as the others are");
            let held = found.findings.iter().any(|f| f.severity == Severity::Hold && f.kind.name() == want);
            if !held {
                missed.push(format!("{file}: {} wants {want}\n{}", case.name, said(&found)));
            }
        }
    }
    assert!(count >= 60);
    assert!(missed.is_empty(), "{} of {count} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn honest_changes_are_not_held() {
    let mut wrong = Vec::new();
    let all: Vec<Case> = HONEST.into_iter().flat_map(|(_, text)| cases(text)).collect();
    assert!(all.len() >= 40);
    for case in &all {
        let found = run(case);
        if found.findings.iter().any(|f| f.severity == Severity::Hold) {
            wrong.push(format!("{}\n{}", case.name, said(&found)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} held:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// A change that is dishonest in one direction undoes a dishonest one in the other: most reversals are honest.
#[test]
fn a_file_compared_with_itself_says_nothing() {
    for (_, text) in DISHONEST.into_iter().chain(HONEST) {
        for case in cases(text) {
            for (path, text) in case.old.iter().chain(&case.new) {
                let commented = format!("{text}\n\n");
                let change = Change {
                    old_path: Some(path.clone()),
                    new_path: Some(path.clone()),
                    old: Some(text.as_bytes()),
                    new: Some(commented.as_bytes()),
                    too_long: false,
                };
                let found = findings(&[change], &Checks::default());
                assert!(found.findings.is_empty(), "{}:\n{}", case.name, said(&found));
            }
        }
    }
}
