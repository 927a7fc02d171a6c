//! One sample or more of every event, for the golden files and for the laws. Every value of every closed set that an
//! event can hold stands in one of them; `golden` proves it.

mod seen;

use std::collections::BTreeMap;

use kctl::domain::caller::Grade;
use kctl::domain::commitment::{Closing, CommitmentEvent};
use kctl::domain::contract::{
    Attestation, Constraint, Contract, Criterion, CriterionId, EvidenceClass, Limits, Proof, Strength, Waiver,
};
use kctl::domain::digest::Digest;
use kctl::domain::event::Event;
use kctl::domain::failure::{Doubt, Item, Tests};
use kctl::domain::finding::{About, FindingEvent};
use kctl::domain::id::{AgentName, CommitmentId, EvidenceId, Oid};
use kctl::domain::isolation::{Isolation, Tier};
use kctl::domain::publication::{Cleared, PublicationEvent};
use kctl::domain::root::{BaseName, RootEvent};
use kctl::domain::run::{Candidate, Failing, HandedIn, Level, Record, RunEvent, Source, Subject, Verdict};
use kctl::domain::session::SessionEvent;
use kctl::domain::stamp::Stamp;
use kctl::domain::task::{ClaimEnd, TaskEvent};
use kctl::domain::workspace::{Dirt, WorkspaceEvent};

use super::support::{NOON, id, session, task};

pub fn all() -> Vec<Event> {
    let mut all = Vec::new();
    all.extend(roots().into_iter().map(Event::from));
    all.extend(sessions().into_iter().map(Event::from));
    all.extend(tasks().into_iter().map(Event::from));
    all.extend(commitments().into_iter().map(Event::from));
    all.extend(workspaces().into_iter().map(Event::from));
    all.extend(runs().into_iter().map(Event::from));
    all.extend(publications().into_iter().map(Event::from));
    all.extend(seen::failures().into_iter().map(Event::from));
    all.extend(findings().into_iter().map(Event::from));
    all.extend(seen::actions().into_iter().map(Event::from));
    all
}

fn digest() -> Digest {
    Digest::of(b"sample")
}

fn oid(digit: &str) -> Oid {
    digit.repeat(40).parse().expect("forty hex digits")
}

fn agent() -> AgentName {
    "ada@example.org/claude:1".parse().expect("a legal name")
}

fn criterion(id: &str) -> CriterionId {
    id.parse().expect("a legal id")
}

fn until() -> Stamp {
    Stamp(NOON + 3_600_123)
}

fn roots() -> Vec<RootEvent> {
    let written = |profile_written| RootEvent::Initialised {
        kctl_version: "0.1.0".into(),
        profile_written,
        agents_file_created: true,
        base: Some(BaseName { remote: Some("origin".into()), branch: "main".into() }),
    };
    let seen = RootEvent::BaseSeen { remote: "origin".into(), branch: "main".into(), commit: oid("a") };
    vec![written(Some(digest())), written(None), RootEvent::Uninstalled {}, seen]
}

fn sessions() -> Vec<SessionEvent> {
    let acquired = |host: Option<String>| SessionEvent::Acquired {
        agent: agent(),
        host: host.clone(),
        host_session: host,
        token_digest: digest(),
        until: until(),
    };
    vec![
        acquired(Some("a-host".into())),
        acquired(None),
        SessionEvent::Renewed { until: until() },
        SessionEvent::Released {},
        SessionEvent::Refused { op: "task.finish".into(), code: "CLAIM_REQUIRED".into(), request: None },
        SessionEvent::Refused { op: "publish".into(), code: "NOT_CLEARED".into(), request: Some(digest()) },
    ]
}

fn contract() -> Contract {
    let proofs = [
        Proof::Check { check: "tests".into() },
        Proof::FileExists { path: "README.md".into() },
        Proof::FileAbsent { path: "core".into() },
        Proof::FileContains { path: "a.rs".into(), text: Some("fn main".into()), pattern: None },
        Proof::FileContains { path: "a.rs".into(), text: None, pattern: Some("fn \\w+".into()) },
        Proof::SearchNone { pattern: "todo!".into(), paths: vec!["src/**".into()] },
        Proof::DiffScope { paths: vec!["src/**".into()], max_files: None },
        Proof::Attested { question: Some("does it look right?".into()) },
        Proof::Attested { question: None },
    ];
    let criteria = proofs.into_iter().enumerate().map(|(n, proof)| Criterion {
        id: criterion(&format!("AC-{n}")),
        statement: "it holds, “quoted” and\nbroken".into(),
        required: n % 2 == 0,
        proof,
    });
    Contract {
        goal: "the work is done".into(),
        criteria: criteria.collect(),
        scope: vec!["src/**".into()],
        constraints: vec![Constraint { text: "no new crate".into(), enforced_by: Some("deny".into()) }],
        forbidden: vec![Constraint { text: "no force-push".into(), enforced_by: None }],
        limits: Limits::default(),
    }
}

/// A contract as it was amended: with the kinds and limits that came later.
fn amended() -> Contract {
    let proofs = [
        Proof::JsonValid { path: "a.json".into(), comments: false },
        Proof::JsonValid { path: "tsconfig.json".into(), comments: true },
        Proof::TomlValid { path: "a.toml".into() },
        Proof::YamlValid { path: "a.yaml".into() },
        Proof::Parses { path: "a.yml".into() },
        Proof::Citation { sources: vec!["docs/a.md".into(), "https://example.org/a".into()] },
        Proof::Receipt { signer: Some("ci".into()) },
        Proof::Receipt { signer: None },
        Proof::Judgement { question: Some("does it read well?".into()) },
        Proof::Judgement { question: None },
    ];
    let criteria = proofs.into_iter().enumerate().map(|(n, proof)| Criterion {
        id: criterion(&format!("AC-{n}")),
        statement: "it holds".into(),
        required: true,
        proof,
    });
    Contract { criteria: criteria.collect(), limits: Limits { max_files: Some(3) }, ..Contract::default() }
}

fn waiver() -> Waiver {
    Waiver {
        criterion: criterion("AC-1"),
        definition: digest(),
        reason: "the server is down".into(),
        until: until(),
        grade: Grade::Tty,
        at: Stamp(NOON),
    }
}

fn handed_in() -> Vec<HandedIn> {
    let source = Source { source: "docs/a.md".into(), digest: digest(), bytes: 12, retrieved_at: Stamp(NOON) };
    vec![
        HandedIn::Citation { sources: vec![source] },
        HandedIn::Receipt { signer: "ci".into(), statement: digest() },
        HandedIn::Judgement { confidence: 80, reason: "reads well".into() },
    ]
}

fn attestations() -> Vec<Attestation> {
    let grades = [Grade::Asserted, Grade::Prompted, Grade::Tty, Grade::Signed];
    let attestation = |grade| Attestation {
        criterion: criterion("AC-7"),
        contract_digest: digest(),
        note: "looked at it".into(),
        grade,
        at: Stamp(NOON),
        given_on: None,
    };
    grades.into_iter().map(attestation).collect()
}

fn tasks() -> Vec<TaskEvent> {
    let mut all = vec![
        TaskEvent::Created {
            title: "a task".into(),
            contract: contract(),
            priority: 0,
            needs: vec![task(2)],
            paths: vec!["src/**".into()],
            labels: vec!["red".into()],
            parent: Some(task(3)),
            commitment: Some(CommitmentId::new(id(1))),
        },
        TaskEvent::Created {
            title: String::new(),
            contract: Contract::default(),
            priority: 255,
            needs: vec![],
            paths: vec![],
            labels: vec![],
            parent: None,
            commitment: None,
        },
        TaskEvent::Updated {
            title: Some("another".into()),
            priority: Some(4),
            needs: Some(vec![]),
            paths: Some(vec!["docs/**".into()]),
            labels: Some(vec!["blue".into()]),
        },
        TaskEvent::Updated { title: None, priority: None, needs: None, paths: None, labels: None },
        TaskEvent::Decomposed { children: vec![task(4), task(5)] },
        TaskEvent::Claimed { session: session(1), agent: agent(), fence: 1, until: until() },
        TaskEvent::ClaimRenewed { fence: 1, until: until() },
        TaskEvent::HandedOff {
            agent: agent(),
            session: Some(session(2)),
            fence: 2,
            until: until(),
            note: Some("go on".into()),
        },
        TaskEvent::HandedOff { agent: agent(), session: None, fence: 3, until: until(), note: None },
        TaskEvent::TakenOver {
            session: session(3),
            agent: agent(),
            fence: u64::MAX,
            until: until(),
            from: Some(session(2)),
            reason: "it ran out".into(),
        },
        TaskEvent::Blocked { reason: "unclear".into(), question: Some("which one?".into()) },
        TaskEvent::Unblocked { note: "the first".into() },
        TaskEvent::CompletionClaimed { fence: 1, summary: "done".into() },
        TaskEvent::FinalizationRejected {
            fence: 1,
            unmet: vec![criterion("AC-1")],
            basis: digest(),
            bases: Vec::new(),
            turn: None,
        },
        TaskEvent::FinalizationRejected {
            fence: 1,
            unmet: vec![criterion("AC-1")],
            basis: digest(),
            bases: vec![digest()],
            turn: Some("turn-7".into()),
        },
        TaskEvent::FinalizationExhausted { fence: 1, unmet: vec![criterion("AC-1")], attempts: 4 },
        TaskEvent::Finished { fence: 1, evidence: vec![EvidenceId::new(id(1))], contract_digest: digest() },
        TaskEvent::Cancelled { reason: "not needed".into() },
        TaskEvent::ContractAmended { contract: amended(), reason: "it was split".into() },
        TaskEvent::CriterionWaived { waiver: waiver() },
    ];
    let ends = [ClaimEnd::Yielded, ClaimEnd::Released, ClaimEnd::SessionReleased];
    all.extend(ends.map(|how| TaskEvent::ClaimEnded { fence: 1, how, note: Some("left".into()) }));
    all.extend(attestations().into_iter().map(|attestation| TaskEvent::Attested { attestation }));
    all
}

fn commitments() -> Vec<CommitmentEvent> {
    let classes = [EvidenceClass::None, EvidenceClass::Cited, EvidenceClass::Verified, EvidenceClass::Audited];
    let opened = |class| CommitmentEvent::Opened {
        objective: "keep it green".into(),
        contract: contract(),
        class,
        until: until(),
    };
    let verdicts = [
        (Closing::Fulfilled, Strength::Attested),
        (Closing::Partial, Strength::Observed),
        (Closing::Failed, Strength::Cited),
        (Closing::Abandoned, Strength::Asserted),
        (Closing::Superseded, Strength::Asserted),
        (Closing::Expired, Strength::Asserted),
        (Closing::Unknown, Strength::Asserted),
    ];
    let closed = |(verdict, strength)| CommitmentEvent::Closed {
        verdict,
        strength,
        evidence: vec![EvidenceId::new(id(1))],
        contract_digest: digest(),
        note: Some("that is that".into()),
    };
    let mut all: Vec<_> = classes.into_iter().map(opened).collect();
    all.push(CommitmentEvent::Opened {
        objective: "of later kinds".into(),
        contract: amended(),
        class: EvidenceClass::None,
        until: until(),
    });
    all.push(CommitmentEvent::Evaluated {
        met: vec![criterion("AC-1")],
        unmet: vec![criterion("AC-2")],
        evidence: vec![EvidenceId::new(id(1))],
    });
    all.push(CommitmentEvent::ContractAmended { contract: amended(), reason: "it was split".into() });
    all.push(CommitmentEvent::CriterionWaived { waiver: waiver() });
    all.extend(attestations().into_iter().map(|attestation| CommitmentEvent::Attested { attestation }));
    all.extend(verdicts.into_iter().map(closed));
    all
}

fn workspaces() -> Vec<WorkspaceEvent> {
    let path = serde_json::from_value("src/na me.rs".into()).expect("a legal path");
    vec![
        WorkspaceEvent::Planned {
            path: "../repo.work/t-1".into(),
            branch: "kctl/t-1-a-task".into(),
            base: oid("a"),
            base_ref: "refs/remotes/origin/main".into(),
        },
        WorkspaceEvent::Opened { head: oid("b"), baseline: vec![Dirt { path, content: "0".repeat(64) }] },
        WorkspaceEvent::Abandoned { reason: "no room".into() },
        WorkspaceEvent::Removed { branch_deleted: true, kept: Vec::new() },
    ]
}

fn runs() -> Vec<RunEvent> {
    let subject = |whole: bool| Subject {
        key: "check:tests".into(),
        definition: digest(),
        task: whole.then(|| task(1)),
        commitment: whole.then(|| CommitmentId::new(id(1))),
        criteria: vec![criterion("AC-1")],
    };
    let verdicts = [
        (Verdict::Pass, Level::L1, Strength::Observed),
        (Verdict::Fail, Level::L1, Strength::Observed),
        (Verdict::Error, Level::L0, Strength::Asserted),
        (Verdict::Unavailable, Level::L0, Strength::Cited),
        (Verdict::Skipped, Level::L0, Strength::Attested),
    ];
    let mut all: Vec<_> =
        [true, false].map(|whole| RunEvent::Started { subject: subject(whole), deadline: until() }).into();
    all.extend(verdicts.map(|(verdict, level, strength)| RunEvent::Ended { record: record(verdict, level, strength) }));
    all.extend(handed_in().into_iter().map(|said| {
        let mut record = record(Verdict::Pass, said.level(), said.earns());
        record.handed_in = Some(said);
        RunEvent::Ended { record }
    }));
    let mut failed = record(Verdict::Fail, Level::L1, Strength::Asserted);
    failed.tests = Some(Tests { run: 3, passed: 2, failed: 1, skipped: 1 });
    failed.failing = Some(Failing { items: items(), omitted: 2, signature: "0".repeat(64), parser: "pytest".into() });
    failed.doubts = doubts();
    all.push(RunEvent::Ended { record: failed });
    all.push(RunEvent::Accepted { reason: "two tests moved".into() });
    all.extend([Tier::Bwrap, Tier::Landlock, Tier::None].map(|tier| {
        let mut shut_in = record(Verdict::Pass, Level::L1, Strength::Observed);
        shut_in.isolation = Some(Isolation { tier, network: tier == Tier::None, why: "it works here".into() });
        RunEvent::Ended { record: shut_in }
    }));
    all
}

fn record(verdict: Verdict, level: Level, strength: Strength) -> Box<Record> {
    let whole = verdict == Verdict::Pass;
    Box::new(Record {
        verdict,
        reasons: vec!["a reason".into()],
        level,
        strength,
        argv: vec!["cargo".into(), "test".into()],
        cwd: String::new(),
        work_tree: "../repo.work/t-1".into(),
        env_digest: whole.then(digest),
        tools: BTreeMap::from([("cargo".to_owned(), "1.90.0".to_owned())]),
        input_before: digest(),
        input_after: digest(),
        candidate: Candidate {
            head: whole.then(|| oid("c")),
            tree: whole.then(|| oid("d")),
            base: whole.then(|| oid("e")),
            clean: whole,
        },
        contract_digest: whole.then(digest),
        started: Stamp(NOON),
        ended: Stamp(NOON + 1),
        exit: whole.then_some(0),
        signal: (!whole).then_some(9),
        pipe_statuses: vec![0, 141],
        output: whole.then(digest),
        output_bytes: 12,
        output_omitted: 3,
        redactions: 1,
        tail: "ok\n".into(),
        session: whole.then(|| session(1)),
        fence: whole.then_some(1),
        kctl_version: "0.1.0".into(),
        handed_in: None,
        isolation: None,
        tests: None,
        failing: None,
        doubts: vec![],
    })
}

fn items() -> Vec<Item> {
    use kctl::domain::failure::Kind;
    let kinds = [
        Kind::Test,
        Kind::Compiler,
        Kind::Lint,
        Kind::Panic,
        Kind::MissingModule,
        Kind::Signal,
        Kind::Exit,
        Kind::Line,
    ];
    let item = |(n, kind): (usize, Kind)| Item {
        kind,
        id: format!("tests::name_{n}"),
        cause: if n == 0 { String::new() } else { "assertion".into() },
        file: (n > 0).then(|| "src/a.rs".into()),
        line: (n > 0).then_some(12),
        message: "left and right differ".into(),
    };
    kinds.into_iter().enumerate().map(item).collect()
}

fn doubts() -> Vec<Doubt> {
    vec![
        Doubt::ZeroTests { skipped: 1, accepted: Some(3) },
        Doubt::ZeroTests { skipped: 0, accepted: None },
        Doubt::BelowMinimum { run: 1, minimum: 2 },
        Doubt::FewerTests { run: 1, accepted: 3 },
        Doubt::NoCounts { accepted: 3 },
        Doubt::MoreSkipped { skipped: 2, accepted: 1 },
        Doubt::FailedWithExitZero { failed: 1 },
        Doubt::SaidFailed { items: 1 },
        Doubt::Cached,
    ]
}

fn publications() -> Vec<PublicationEvent> {
    let cleared = |expected| Cleared {
        task: task(1),
        remote: "origin".into(),
        url: "https://example.org/repo.git".into(),
        reference: "refs/heads/kctl/t-1".into(),
        commit: oid("a"),
        tree: oid("b"),
        base: oid("c"),
        base_ref: "refs/remotes/origin/main".into(),
        expected,
        profile_digest: digest(),
        evidence: vec![EvidenceId::new(id(1))],
        input: None,
        fence: 1,
    };
    vec![
        PublicationEvent::Started { clearance: Box::new(cleared(Some(oid("d")))) },
        PublicationEvent::Started { clearance: Box::new(cleared(None)) },
        PublicationEvent::Done { observed: oid("a"), base_observed: Some(oid("c")) },
        PublicationEvent::Done { observed: oid("a"), base_observed: None },
        PublicationEvent::Failed {
            code: "REMOTE_MOVED".into(),
            words: "the remote moved".into(),
            stands: "nothing was pushed".into(),
        },
    ]
}

fn findings() -> Vec<FindingEvent> {
    let about = |whole: bool| {
        Box::new(About {
            kind: "assertion_removed".into(),
            path: "tests/test_a.py".into(),
            line: whole.then_some(3),
            test: whole.then(|| "test_a".into()),
            before: whole.then(|| "2 assertions".into()),
            after: whole.then(|| "1 assertion".into()),
            message: "the test asserts less".into(),
            digest: digest(),
            task: whole.then(|| task(1)),
        })
    };
    let grades = [Grade::Asserted, Grade::Prompted, Grade::Tty, Grade::Signed];
    let accepted = |grade| FindingEvent::Accepted { about: about(true), reason: "it moved".into(), grade };
    let rejected = FindingEvent::Rejected { about: about(false), reason: "it is needed".into(), grade: Grade::Tty };
    grades.into_iter().map(accepted).chain([rejected]).collect()
}
