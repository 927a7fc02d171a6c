//! What counts as seeing the same again, and what begins anew.

use proptest::prelude::*;

use super::*;
use crate::domain::action::Capability;
use crate::domain::caller::{Caller, Door};
use crate::domain::digest::Digest;
use crate::domain::event::{Event, Meta};
use crate::domain::fold::{Aggregate, Entity as _, Kind, Stream};
use crate::domain::id::{EvidenceId, SessionId};
use crate::domain::path::TreePath;
use crate::domain::stamp::Stamp;

fn meta(at: i64) -> Meta {
    Meta { at: Stamp(at), caller: Caller::unknown(Door::Rpc) }
}

fn digest(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

fn session() -> SessionId {
    SessionId::new(uuid::Uuid::from_u128(7))
}

/// A host whose calls are folded as they come; the tree is only looked at where the state asks for it.
struct Host {
    state: Stagnation,
    calls: u32,
    tree: &'static str,
    looks: u32,
}

impl Host {
    fn new() -> Self {
        Self { state: Stagnation::blank(session()), calls: 0, tree: "tree", looks: 0 }
    }

    fn sees(&mut self, mut observation: Observation) -> Judged {
        self.calls += 1;
        observation.call = format!("call-{}", self.calls);
        if self.state.asks_for_tree(&observation) {
            self.looks += 1;
            observation.ground.tree = Some(digest(self.tree));
        }
        let event = ActionEvent::Observed { observation: Box::new(observation) };
        self.state = std::mem::replace(&mut self.state, Stagnation::blank(session())).apply(&event, &meta(1));
        self.state.last.clone().expect("it was judged")
    }

    fn advice(&mut self, observation: Observation) -> Advice {
        self.sees(observation).advice
    }
}

fn observation(capability: Capability, subject: Subject, saw: Saw) -> Observation {
    Observation {
        call: String::new(),
        tool: "tool".to_owned(),
        capability,
        subject,
        saw,
        files: Vec::new(),
        exit: None,
        turn: None,
        turn_kind: TurnKind::Agent,
        mode: None,
        process: None,
        run: None,
        ground: Ground { tasks: digest("tasks"), evidence: digest("evidence"), tree: None },
    }
}

fn read(path: &str, first: u64, last: u64) -> Observation {
    let subject = Subject::Read { path: TreePath::new(path), lines: Lines { first, last } };
    observation(Capability::FileRead, subject, Saw::Content(digest(path)))
}

fn ran(command: &str, result: &str) -> Observation {
    let subject = Subject::Command { command: command.to_owned(), digest: digest(command) };
    observation(Capability::Process, subject, Saw::Content(digest(result)))
}

fn wrote(path: &str, content: &str) -> Observation {
    let mut wrote = observation(Capability::FileWrite, Subject::Files {}, Saw::Unsaid);
    wrote.files = vec![Touched { path: TreePath::new(path), content: Saw::Content(digest(content)) }];
    wrote
}

#[test]
fn one_repeat_is_fine_two_redundant_turns_are_regrounded_once_and_then_the_answer_is_pointed_at() {
    let mut host = Host::new();
    let advice: Vec<Advice> = (0..6).map(|_| host.advice(read("a", 1, 9))).collect();
    use Advice::{GoOn, Known, Noted, Reground};
    assert_eq!(advice, [GoOn, Noted, Noted, Reground, Known, Known]);
    let last = host.state.last.clone().expect("judged");
    assert_eq!((last.known.as_deref(), last.times, last.redundant_turns), (Some("call-1"), 6, 4));
    assert_eq!(host.advice(read("b", 1, 9)), GoOn, "what is new goes on");
    assert_eq!(host.looks, 5, "what is new costs no look at the tree");
}

#[test]
fn a_turn_with_something_new_in_it_is_not_redundant() {
    let mut host = Host::new();
    let mut of_turn =
        |turn: &str, observation: Observation| host.advice(Observation { turn: Some(turn.to_owned()), ..observation });
    for n in 0..8 {
        let turn = format!("turn-{n}");
        assert_ne!(of_turn(&turn, read("a", 1, 9)), Advice::Reground);
        assert_eq!(of_turn(&turn, read(&format!("other-{n}"), 1, 9)), Advice::GoOn);
    }
    of_turn("x", read("a", 1, 9));
    assert_eq!(of_turn("y", read("a", 1, 9)), Advice::Reground);
}

#[test]
fn a_spiral_inside_of_one_turn_is_seen_as_well() {
    let mut host = Host::new();
    let advice: Vec<Advice> =
        (0..6).map(|_| host.advice(Observation { turn: Some("one".into()), ..read("a", 1, 9) })).collect();
    assert_eq!(advice[4..], [Advice::Noted, Advice::Reground]);
}

/// `loop-06`: one file read again and again at other offsets.
#[test]
fn reads_that_show_no_new_lines_are_the_same_and_paging_on_is_not() {
    let mut host = Host::new();
    assert!(host.sees(read("f", 1, 50)).known.is_none());
    assert_eq!(host.sees(read("f", 10, 60)).known.as_deref(), Some("call-1"), "41 of 51 lines were seen");
    assert!(host.sees(read("f", 5, 55)).redundant);
    let mut paging = Host::new();
    for page in 0..40 {
        assert_eq!(paging.advice(read("f", 1 + 50 * page, 50 + 50 * page)), Advice::GoOn);
    }
    for page in 0..40 {
        assert_eq!(
            paging.advice(read("f", 1 + 50 * page, 50 + 50 * page)),
            Advice::Noted,
            "the first repeat of a page"
        );
    }
    let mut apart = Host::new();
    apart.advice(read("f", 1, 100));
    assert_eq!(apart.advice(read("f", 22, 122)), Advice::GoOn, "78 of 101 lines are too few");
    let mut other = read("f", 1, 100);
    other.saw = Saw::Content(digest("edited"));
    assert_eq!(apart.advice(other), Advice::GoOn, "other content is another observation");
}

#[test]
fn every_real_change_begins_anew() {
    let stuck = || {
        let mut host = Host::new();
        (0..5).for_each(|_| drop(host.sees(read("a", 1, 9))));
        assert_eq!(host.advice(read("a", 1, 9)), Advice::Known);
        host
    };
    let user = |turn: &str| Observation { turn: Some(turn.into()), turn_kind: TurnKind::User, ..read("a", 1, 9) };
    let with = |change: &dyn Fn(&mut Observation)| {
        let mut changed = read("a", 1, 9);
        change(&mut changed);
        changed
    };
    let changes = [
        (user("u"), Progress::UserTurn),
        (Observation { turn_kind: TurnKind::Resumed, ..read("a", 1, 9) }, Progress::Resumed),
        (with(&|o| o.ground.tasks = digest("blocked")), Progress::TaskState),
        (with(&|o| o.ground.evidence = digest("ran")), Progress::Evidence),
        (wrote("b", "new"), Progress::Written),
    ];
    for (change, progress) in changes {
        let mut host = stuck();
        let judged = host.sees(change);
        assert_eq!((judged.progress, judged.advice, judged.epoch), (Some(progress), Advice::GoOn, 2));
        assert_ne!(host.advice(read("a", 1, 9)), Advice::Known);
    }
    let mut host = stuck();
    host.tree = "edited outside";
    assert_eq!(host.sees(read("a", 1, 9)).progress, Some(Progress::TreeChanged));
    let mut host = Host::new();
    let in_mode = |mode| Observation { mode: Some(mode), ..read("a", 1, 9) };
    assert_eq!(host.sees(in_mode(Mode::Plan)).progress, None);
    assert_eq!(host.sees(read("a", 1, 9)).progress, None, "not to say it is no change");
    assert_eq!(host.sees(in_mode(Mode::Ask)).progress, Some(Progress::Mode));
    assert_eq!(host.sees(in_mode(Mode::Work)).progress, Some(Progress::Mode));
}

#[test]
fn a_write_that_changes_nothing_and_the_rest_of_a_persons_turn_are_no_progress() {
    let mut host = Host::new();
    assert_eq!(host.sees(wrote("a", "x")).epoch, 1);
    assert_eq!(host.sees(wrote("a", "x")).progress, None);
    assert_eq!(host.sees(wrote("a", "y")).progress, Some(Progress::Written));
    let of_user = || Observation { turn: Some("u".into()), turn_kind: TurnKind::User, ..read("a", 1, 9) };
    assert_eq!(host.sees(of_user()).progress, Some(Progress::UserTurn));
    let again: Vec<Option<Progress>> = (0..4).map(|_| host.sees(of_user()).progress).collect();
    assert_eq!(again, [None; 4]);
}

/// `loop-03`: polling.
#[test]
fn what_is_running_may_be_looked_at_for_ever() {
    let polls = |running| Observation {
        process: Some(Process { id: "p".into(), running }),
        ..ran("tail build.log", "still building")
    };
    let mut host = Host::new();
    for _ in 0..50 {
        assert_eq!(host.advice(polls(true)), Advice::GoOn);
    }
    host.advice(polls(false));
    let after: Vec<Advice> = (0..4).map(|_| host.advice(ran("tail build.log", "still building"))).collect();
    assert!(after.contains(&Advice::Reground), "it ended: {after:?}");
    let mut host = Host::new();
    let run = Some(EvidenceId::new(uuid::Uuid::from_u128(1)));
    for _ in 0..50 {
        assert!(!host.sees(Observation { run: run.clone(), ..read("a", 1, 9) }).redundant);
    }
}

#[test]
fn another_result_and_a_result_that_nobody_says_are_not_the_same() {
    let mut host = Host::new();
    for n in 0..20 {
        assert_eq!(host.advice(ran("tail build.log", &format!("line {n}"))), Advice::GoOn);
        let unsaid = Observation { saw: Saw::Unsaid, ..ran("make", "") };
        assert_eq!(host.advice(unsaid), Advice::GoOn);
    }
}

/// A command between two looks may have changed anything, and nobody looked before it.
#[test]
fn what_was_seen_before_an_unseen_change_gets_the_benefit_of_the_doubt() {
    let mut host = Host::new();
    host.sees(read("a", 1, 9));
    host.sees(ran("cargo fmt", ""));
    let judged = host.sees(read("a", 1, 9));
    assert_eq!((judged.advice, judged.times), (Advice::GoOn, 1));
    assert_eq!(host.advice(read("a", 1, 9)), Advice::Noted);
    let mut alone = Host::new();
    let advice: Vec<Advice> = (0..4).map(|_| alone.advice(ran("cargo test", "2 failed"))).collect();
    assert_eq!(advice[3], Advice::Reground, "a command is no excuse for itself");
}

/// `loop-04`: much is read, and nothing comes of it.
#[test]
fn many_new_things_without_a_change_are_said_and_a_change_in_between_is_not() {
    let mut host = Host::new();
    let advice: Vec<Advice> = (0..=200).map(|n| host.advice(read(&format!("f{n}"), 1, 9))).collect();
    assert_eq!(advice.iter().filter(|advice| **advice == Advice::Unmoved).count(), 1);
    assert_eq!((advice[200], host.looks), (Advice::Unmoved, 2));
    let mut host = Host::new();
    for n in 0..=200 {
        host.tree = if n == 150 { "edited" } else { host.tree };
        assert_eq!(host.advice(read(&format!("f{n}"), 1, 9)), Advice::GoOn);
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut host = Host::new();
    for n in 0..300_u64 {
        host.sees(read(&format!("f{n}"), 1, 9));
        host.sees(read("paged", 1 + 10 * n, 2 + 10 * n));
        host.sees(Observation {
            process: Some(Process { id: n.to_string(), running: true }),
            ..ran("x", &n.to_string())
        });
    }
    assert_eq!(host.state.known.len(), MAX_KNOWN);
    assert!(serde_json::to_vec(&host.state).expect("it serialises").len() < 128 * 1024);
}

fn any_observation() -> impl Strategy<Value = Observation> {
    let capabilities = prop_oneof![Just(Capability::FileRead), Just(Capability::Process), Just(Capability::FileWrite)];
    let turns = proptest::option::of(prop_oneof![Just("t1".to_owned()), Just("t2".to_owned())]);
    let kinds = prop_oneof![8 => Just(TurnKind::Agent), 1 => Just(TurnKind::User), 1 => Just(TurnKind::Resumed)];
    let saw = prop_oneof![Just(Saw::Unsaid), Just(Saw::Nothing), Just(Saw::Content(digest("x")))];
    let lines = (any::<u64>(), any::<u64>()).prop_map(|(first, last)| Lines { first, last });
    let lines = prop_oneof![Just(Lines { first: 1, last: 9 }), lines];
    let trees = proptest::option::of(prop_oneof![9 => Just(digest("a")), 1 => Just(digest("b"))]);
    (capabilities, turns, kinds, saw, lines, trees, any::<bool>(), any::<bool>()).prop_map(
        |(capability, turn, turn_kind, saw, lines, tree, process, ran)| {
            let path = TreePath::new("f");
            let subject = match capability {
                Capability::FileRead => Subject::Read { path: path.clone(), lines },
                Capability::FileWrite => Subject::Files {},
                _ => Subject::Command { command: "c".into(), digest: digest("c") },
            };
            let mut made = observation(capability, subject, saw.clone());
            made.files = vec![Touched { path, content: saw }];
            made.ground.tree = tree;
            made.ground.evidence = digest(if ran { "e" } else { "f" });
            made.process = process.then(|| Process { id: "p".into(), running: ran });
            Observation { turn, turn_kind, ..made }
        },
    )
}

proptest! {
    /// One fold for live and resumed calls: stored and read again between any two calls, or folded in one go, the same
    /// observations mean the same.
    #[test]
    fn a_state_that_is_stored_between_calls_judges_as_one_that_is_not(all in proptest::collection::vec(any_observation(), 0..40)) {
        let stream = Stream::new(Kind::Action, session().to_string());
        let mut live = Aggregate::blank(&stream).expect("a session's");
        let mut stored: Option<Vec<u8>> = None;
        for (at, observation) in all.into_iter().enumerate() {
            let event = Event::from(ActionEvent::Observed { observation: Box::new(observation) });
            let spelled = event.spell();
            let read = Event::read(&spelled.type_name, spelled.version, &spelled.body).expect("it reads back");
            let meta = meta(i64::try_from(at).expect("few"));
            let folded = crate::domain::fold::fold(&stream, stored.as_deref(), &read, &meta).expect("it folds");
            live = live.apply(&event, &meta);
            prop_assert_eq!(&live.folded().body, &folded.body);
            stored = Some(folded.body);
        }
    }

    /// Only what was seen before can be called known, and only once in an epoch is everything laid out.
    #[test]
    fn nobody_is_told_that_they_know_what_they_never_saw(all in proptest::collection::vec(any_observation(), 0..40)) {
        let mut state = Stagnation::blank(session());
        let (mut keys, mut regrounds) = (Vec::new(), Vec::new());
        for observation in all {
            let key = observation.key();
            state = state.apply(&ActionEvent::Observed { observation: Box::new(observation) }, &meta(1));
            let judged = state.last.clone().expect("judged");
            if judged.known.is_some() || judged.redundant {
                prop_assert!(keys.contains(&(judged.epoch, key.clone())));
            }
            if judged.advice == Advice::Reground {
                prop_assert!(!regrounds.contains(&judged.epoch));
                regrounds.push(judged.epoch);
            }
            keys.push((judged.epoch, key));
        }
    }
}
