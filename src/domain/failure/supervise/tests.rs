use super::{
    Attempt, Covered, Gate, Lineages, MAX_COMMANDS, MAX_ITEMS, MAX_LINEAGES, MAX_PATHS, Progress, Step, Verdict,
};
use crate::domain::failure::{Item, Kind};
use crate::rules::failure::{lineage, signature};
use std::collections::BTreeSet;

fn gate(command: &str) -> Gate {
    Gate::Command(lineage(command))
}

fn tests(names: &[&str]) -> Vec<Item> {
    names.iter().map(|name| item(Kind::Test, name, "")).collect()
}

fn item(kind: Kind, id: &str, cause: &str) -> Item {
    Item { kind, id: id.to_owned(), cause: cause.to_owned(), file: None, line: None, message: String::new() }
}

fn fail(state: &mut Lineages, command: &str, items: &[Item]) -> Step {
    observe(state, &gate(command), items, false, &Covered::Gate, None)
}

fn pass(state: &mut Lineages, command: &str) -> Step {
    observe(state, &gate(command), &[], true, &Covered::Gate, None)
}

fn observe(
    state: &mut Lineages,
    gate: &Gate,
    items: &[Item],
    passed: bool,
    covered: &Covered,
    stage: Option<u32>,
) -> Step {
    let signature = signature(items);
    state.observe(&Attempt {
        gate,
        passed,
        items,
        signature: &signature,
        covered,
        stage,
        command: None,
        changed_paths: &[],
        inputs: None,
    })
}

#[test]
fn three_unchanged_attempts_reground_and_eight_ask_a_person() {
    let mut state = Lineages::default();
    let verdicts: Vec<(u32, Verdict)> =
        (0..9).map(|_| fail(&mut state, "cargo test", &tests(&["a"]))).map(|step| (step.count, step.verdict)).collect();
    let expected = [
        Verdict::GoOn,
        Verdict::GoOn,
        Verdict::Reground,
        Verdict::Reground,
        Verdict::Reground,
        Verdict::Reground,
        Verdict::Reground,
        Verdict::Ticket,
        Verdict::Ticket,
    ];
    assert_eq!(verdicts, (1..).zip(expected).collect::<Vec<_>>());
}

#[test]
fn another_spelling_and_another_command_with_the_same_failure_keep_counting() {
    let mut state = Lineages::default();
    fail(&mut state, "cargo test", &tests(&["a", "b"]));
    fail(&mut state, "timeout 60 cargo test -q 2>&1 | tail", &tests(&["a", "b"]));
    // It only ran one of the two: the other has not gone.
    let step = fail(&mut state, "cargo test --lib a", &tests(&["a"]));
    assert_eq!((step.count, step.progress, step.verdict), (3, Progress::Same, Verdict::Reground));
    assert_eq!(state.packet(1).unwrap().failing.len(), 2);
    assert_eq!(state.open_ids(), [1]);
}

#[test]
fn a_strictly_smaller_set_is_progress_and_going_back_and_forth_is_not() {
    let mut state = Lineages::default();
    let sets: [&[&str]; 6] = [&["a", "b", "c"], &["a", "b"], &["a", "b", "c"], &["a", "b"], &["b", "d"], &["b"]];
    let seen: Vec<(Progress, u32)> = sets
        .iter()
        .map(|set| fail(&mut state, "pytest", &tests(set)))
        .map(|step| (step.progress, step.count))
        .collect();
    assert_eq!(
        seen,
        [
            (Progress::Opened, 1),
            (Progress::Shrunk, 1),
            (Progress::Churn, 2),
            (Progress::Churn, 3),
            (Progress::Churn, 4),
            (Progress::Shrunk, 1)
        ]
    );
}

#[test]
fn the_same_test_failing_in_another_way_is_churn() {
    let mut state = Lineages::default();
    fail(&mut state, "pytest", &[item(Kind::Test, "a", "KeyError")]);
    let step = fail(&mut state, "pytest", &[item(Kind::Test, "a", "TypeError")]);
    assert_eq!((step.progress, step.count), (Progress::Churn, 2));
    assert!(state.packet(1).unwrap().never_moved.is_empty());
}

#[test]
fn a_fault_further_on_is_progress_once() {
    let mut state = Lineages::default();
    let gate = Gate::Criterion("AC-1".to_owned());
    let build = [item(Kind::Compiler, "E0308 src/a.rs", "x")];
    let runs: Vec<(&[Item], u32)> = vec![(&build, 0), (&[], 1), (&build, 0), (&[], 1)];
    let failing = tests(&["a", "b"]);
    let seen: Vec<Progress> = runs
        .into_iter()
        .map(|(items, stage)| if items.is_empty() { (failing.as_slice(), stage) } else { (items, stage) })
        .map(|(items, stage)| observe(&mut state, &gate, items, false, &Covered::Gate, Some(stage)).progress)
        .collect();
    assert_eq!(seen, [Progress::Opened, Progress::Later, Progress::Churn, Progress::Churn]);
}

#[test]
fn compiling_again_is_further_on_than_not_compiling() {
    let mut state = Lineages::default();
    fail(&mut state, "cargo test", &[item(Kind::Compiler, "E0308 src/a.rs", "x")]);
    assert_eq!(fail(&mut state, "cargo test", &tests(&["a", "b", "c"])).progress, Progress::Later);
}

#[test]
fn an_unrelated_success_resets_nothing_and_a_covering_one_clears() {
    let mut state = Lineages::default();
    fail(&mut state, "pytest tests/a.py", &tests(&["a"]));
    fail(&mut state, "npm test", &tests(&["w"]));
    assert!(pass(&mut state, "cargo build").cleared.is_empty());
    assert!(pass(&mut state, "pytest tests/b.py").cleared.is_empty());
    assert_eq!(fail(&mut state, "pytest tests/a.py", &tests(&["a"])).count, 2);
    let step = pass(&mut state, "pytest");
    assert_eq!((step.progress, step.cleared), (Progress::Cleared, vec![1]));
    assert_eq!(state.open_ids(), [2]);
    assert_eq!(fail(&mut state, "pytest tests/a.py", &tests(&["a"])).count, 1);
}

#[test]
fn a_pass_of_a_part_does_not_clear_the_whole() {
    let mut state = Lineages::default();
    fail(&mut state, "cargo test", &tests(&["a", "b"]));
    assert!(pass(&mut state, "cargo test --lib a").cleared.is_empty());
    let only =
        |names: &[&str]| Covered::Items(names.iter().map(|name| format!("test:{name}")).collect::<BTreeSet<_>>());
    assert!(observe(&mut state, &gate("x"), &[], true, &only(&["a"]), None).cleared.is_empty());
    assert_eq!(observe(&mut state, &gate("x"), &[], true, &only(&["a", "b"]), None).cleared, [1]);
    fail(&mut state, "cargo test", &tests(&["a"]));
    assert_eq!(observe(&mut state, &gate("x"), &[], true, &Covered::All, None).cleared, [2]);
}

#[test]
fn lineages_that_turn_out_to_overlap_become_one_with_the_higher_count() {
    let mut state = Lineages::default();
    for _ in 0..3 {
        fail(&mut state, "pytest tests/a.py", &tests(&["a"]));
    }
    fail(&mut state, "pytest tests/b.py", &tests(&["b"]));
    let step = fail(&mut state, "make check", &tests(&["a", "b"]));
    assert_eq!((step.lineage, step.count, step.absolute, step.verdict), (Some(1), 4, 4, Verdict::Reground));
    let packet = state.packet(1).unwrap();
    assert_eq!(packet.failing.iter().map(|one| one.count).collect::<Vec<_>>(), [4, 2]);
    assert_eq!(packet.gates.len(), 3);
}

#[test]
fn the_packet_holds_what_was_tried_and_what_contradicts() {
    let mut state = Lineages::default();
    let gate = gate("pytest");
    let items = tests(&["a"]);
    let mut run = |passed: bool, command: &str, path: &str| {
        let items: &[Item] = if passed { &[] } else { &items };
        let paths = [path.to_owned()];
        state.observe(&Attempt {
            gate: &gate,
            passed,
            items,
            signature: "s",
            covered: &Covered::Gate,
            stage: None,
            command: Some(command),
            changed_paths: &paths,
            inputs: Some("i1"),
        })
    };
    assert!(!run(true, "pytest", "x.py").contradicts);
    assert!(run(false, "pytest -q", "src/a.py").contradicts);
    assert!(run(false, "pytest -x", "src/b.py").contradicts);
    let packet = state.packet(1).unwrap();
    assert_eq!(packet.commands, ["pytest -q", "pytest -x"]);
    assert_eq!(packet.changed_paths, ["src/a.py", "src/b.py"]);
    assert_eq!(packet.never_moved, ["test:a"]);
    assert_eq!(packet.first_failing, ["test:a"]);
    assert_eq!((packet.contradictions.len(), packet.contradictions[0].inputs.as_str()), (1, "i1"));
    assert_eq!(state.packet(9), None);
}

#[test]
fn nothing_grows_without_bound() {
    let mut state = Lineages::default();
    let many: Vec<String> = (0..MAX_ITEMS * 2).map(|n| format!("t{n:05}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let paths: Vec<String> = (0..MAX_PATHS * 2).map(|n| format!("p{n}")).collect();
    for n in 0..MAX_LINEAGES * 3 {
        let (gate, items) = (gate(&format!("tool{n}")), tests(&[&format!("only{n}")]));
        let items = if n == MAX_LINEAGES * 3 - 1 { tests(&many) } else { items };
        for turn in 0..2 {
            let command = format!("tool{n} {turn}");
            state.observe(&Attempt {
                gate: &gate,
                passed: false,
                items: &items,
                signature: "s",
                covered: &Covered::Gate,
                stage: None,
                command: Some(&command),
                changed_paths: &paths,
                inputs: Some(&command),
            });
        }
    }
    assert_eq!(state.open_ids().len(), MAX_LINEAGES);
    let packet = state.packet(*state.open_ids().last().unwrap()).unwrap();
    assert_eq!((packet.failing.len(), packet.omitted), (MAX_ITEMS, u64::try_from(MAX_ITEMS).unwrap()));
    assert!(packet.commands.len() <= MAX_COMMANDS && packet.changed_paths.len() <= MAX_PATHS);
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<Lineages>(&text).unwrap(), state);
}

#[test]
fn a_failure_without_items_is_followed_by_its_signature() {
    let mut state = Lineages::default();
    let attempt = |gate| Attempt {
        gate,
        passed: false,
        items: &[],
        signature: "s1",
        covered: &Covered::Gate,
        stage: None,
        command: None,
        changed_paths: &[],
        inputs: None,
    };
    let gate = gate("x");
    state.observe(&attempt(&gate));
    assert_eq!(state.observe(&attempt(&gate)).progress, Progress::Same);
}
