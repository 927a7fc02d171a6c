//! Samples of what was seen: attempts that failed, and actions of a host.

use kctl::domain::action::Capability;
use kctl::domain::failure::{Gate, Key};
use kctl::domain::id::{EvidenceId, TicketId};
use kctl::domain::path::TreePath;
use kctl::domain::stagnation::{
    ActionEvent, Ground, Lines, Mode, Observation, Process, Saw, Subject as Object, Touched, TurnKind,
};
use kctl::domain::supervision::{FailureEvent, Observed};

use super::{digest, items};
use crate::ledger::support::id;

pub fn failures() -> Vec<FailureEvent> {
    let key = Key {
        dir: Some("web".into()),
        program: "npm".into(),
        subcommand: Some("test".into()),
        targets: ["src/a.test.js".to_owned()].into(),
        then: vec!["npm run lint".into()],
    };
    let by_host = |gate| FailureEvent::Observed {
        attempt: Box::new(Observed {
            run: None,
            call: Some("toolu_1".into()),
            gate,
            passed: false,
            items: vec![],
            signature: "exit 1".into(),
            stage: None,
            command: Some("npm test".into()),
            changed_paths: vec![],
            inputs: None,
        }),
    };
    let observed = |gate, passed| FailureEvent::Observed {
        attempt: Box::new(Observed {
            run: Some(EvidenceId::new(id(1))),
            call: None,
            gate,
            passed,
            items: if passed { vec![] } else { items() },
            signature: "0".repeat(64),
            stage: (!passed).then_some(1),
            command: (!passed).then(|| "npm test".into()),
            changed_paths: vec!["src/a.js".into()],
            inputs: (!passed).then(|| digest().to_string()),
        }),
    };
    let opened = |lineage, evidence| FailureEvent::TicketOpened {
        ticket: TicketId::new(id(1)),
        gate: Gate::Criterion("AC-1".into()),
        lineage,
        capability: "the credentials".into(),
        evidence,
    };
    vec![
        observed(Gate::Criterion("AC-1".into()), false),
        observed(Gate::Command(key.clone()), false),
        by_host(Gate::Command(key)),
        observed(Gate::Criterion("AC-1".into()), true),
        FailureEvent::Regrounded { lineage: 1 },
        opened(Some(1), Some(EvidenceId::new(id(1)))),
        opened(None, None),
    ]
}

pub fn actions() -> Vec<ActionEvent> {
    let path = || TreePath::new("src/a.rs");
    let content = || Saw::Content(digest());
    let plain = |capability, subject, saw| Observation {
        call: "toolu_1".into(),
        tool: "Read".into(),
        capability,
        subject,
        saw,
        files: vec![],
        exit: None,
        turn: None,
        turn_kind: TurnKind::Agent,
        mode: None,
        process: None,
        run: None,
        ground: Ground { tasks: digest(), evidence: digest(), tree: None },
    };
    let whole = Observation {
        files: vec![Touched { path: path(), content: content() }],
        exit: Some(101),
        turn: Some("turn-1".into()),
        turn_kind: TurnKind::User,
        mode: Some(Mode::Work),
        process: Some(Process { id: "p-1".into(), running: true }),
        run: Some(EvidenceId::new(id(1))),
        ground: Ground { tasks: digest(), evidence: digest(), tree: Some(digest()) },
        ..plain(Capability::Process, Object::Command { command: "cargo test".into(), digest: digest() }, content())
    };
    let read = Object::Read { path: path(), lines: Lines { first: 1, last: 50 } };
    let query = |narrowed| Object::Query { words: "a b".into(), path: path(), narrowed };
    let resumed = plain(Capability::Search, query(Some("glob *.rs".into())), content());
    let modes = [Mode::Ask, Mode::Plan]
        .map(|mode| Observation { mode: Some(mode), ..plain(Capability::FileRead, read.clone(), content()) });
    let others =
        Capability::ALL.map(|capability| plain(capability, Object::Other { arguments: digest() }, Saw::Unsaid));
    let all = [
        whole,
        Observation { turn_kind: TurnKind::Resumed, ..resumed },
        plain(Capability::FileRead, read, Saw::Nothing),
        plain(Capability::FileWrite, Object::Files {}, Saw::Unsaid),
        plain(Capability::DirList, Object::Listing { path: path() }, content()),
        plain(Capability::Search, query(None), Saw::Unsaid),
    ];
    let all = all.into_iter().chain(modes).chain(others);
    all.map(|observation| ActionEvent::Observed { observation: Box::new(observation) }).collect()
}
