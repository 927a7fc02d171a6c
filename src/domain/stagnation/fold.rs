//! One observation into the state. The same fold serves a live call and a replay: it knows nothing but what was recorded.

use super::lines::Spans;
use super::observation::{ActionEvent, Observation, Saw, Subject, Touched, TurnKind};
use super::state::{
    Acted, Advice, Judged, Known, MAX_FILES, MAX_KNOWN, MAX_REDUNDANT_IN_ROW, MAX_REDUNDANT_TURNS, MAX_RUNNING,
    MAX_TEXT_CHARS, MAX_UNMOVED, Progress, Stagnation,
};
use crate::domain::event::Meta;
use crate::domain::fold::{Entity, Index, Kind};
use crate::domain::id::SessionId;
use crate::domain::stamp::Stamp;

/// What the observation is beside those of its epoch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Novelty {
    Fresh,
    /// Seen once before, which is fine; or there is something running that may change it.
    Repeat,
    Redundant,
}

impl Stagnation {
    /// Whether the tree has to be looked at before `observation` can be judged. What is new needs no look.
    pub fn asks_for_tree(&self, observation: &Observation) -> bool {
        if self.progress(observation).is_some() {
            return false;
        }
        (self.count + 1 - self.since).is_multiple_of(MAX_UNMOVED) || self.matching(observation).is_some()
    }

    /// Observations since something was last seen to change, however new each of them was.
    pub fn unmoved(&self) -> u64 {
        self.count.saturating_sub(self.since)
    }

    fn observe(&mut self, observation: &Observation, meta: &Meta) {
        self.count = self.count.saturating_add(1);
        self.begin_turn(observation);
        let progress = self.progress(observation);
        if progress.is_some() || self.epoch == 0 {
            self.begin_epoch(observation);
        }
        self.remember_ground(observation);
        let polling = self.is_polling(observation);
        let at = self.matching(observation);
        let novelty = match at {
            Some(at) => self.again(at, observation, polling),
            None => Novelty::Fresh,
        };
        match (at, novelty) {
            (Some(at), Novelty::Fresh) => self.known[at] = known(observation, self.count, meta),
            (None, Novelty::Fresh) => self.learn(observation, meta),
            (_, Novelty::Repeat | Novelty::Redundant) => {}
        }
        self.count_turn(novelty, polling);
        let of_it = self.known.iter().find(|known| known.key == observation.key());
        let unmoved = self.unmoved();
        let judged = Judged {
            advice: self.advice(novelty, polling),
            epoch: self.epoch,
            progress,
            times: of_it.map_or(1, |known| known.times),
            redundant: novelty == Novelty::Redundant,
            polling,
            redundant_turns: self.turns_now(),
            unmoved,
            known: of_it
                .filter(|known| known.number != self.count && novelty != Novelty::Fresh)
                .map(|it| it.call.clone()),
        };
        self.regrounded |= judged.advice == Advice::Reground;
        self.last = Some(judged);
        self.note_act(observation);
        self.note_process(observation);
        self.updated_at = meta.at;
    }

    /// The real change that `observation` tells of, if there is one.
    fn progress(&self, observation: &Observation) -> Option<Progress> {
        let ground = &observation.ground;
        let other_turn = observation.turn.is_none() || observation.turn != self.begun_by;
        let moved = |then: &Option<_>, now| then.as_ref().is_some_and(|then| then != now);
        match observation.turn_kind {
            TurnKind::User if other_turn && self.epoch > 0 => return Some(Progress::UserTurn),
            TurnKind::Resumed if other_turn && self.epoch > 0 => return Some(Progress::Resumed),
            TurnKind::User | TurnKind::Resumed | TurnKind::Agent => {}
        }
        if observation.mode.is_some() && self.mode.is_some() && observation.mode != self.mode {
            return Some(Progress::Mode);
        }
        if moved(&self.tasks, &ground.tasks) {
            return Some(Progress::TaskState);
        }
        if moved(&self.evidence, &ground.evidence) {
            return Some(Progress::Evidence);
        }
        if observation.capability.changes_files() && observation.files.iter().any(|file| self.is_other(file)) {
            return Some(Progress::Written);
        }
        ground.tree.as_ref().is_some_and(|tree| moved(&self.tree, tree)).then_some(Progress::TreeChanged)
    }

    /// Whether a written file is another than it was last known to be.
    fn is_other(&self, file: &Touched) -> bool {
        let known = self.files.iter().find(|known| known.path == file.path);
        file.content == Saw::Unsaid || known.is_none_or(|known| known.content != file.content)
    }

    fn begin_epoch(&mut self, observation: &Observation) {
        self.epoch = self.epoch.saturating_add(1);
        self.since = self.count;
        self.known = Vec::new();
        self.redundant_turns = 0;
        self.turn_is_redundant = false;
        self.in_row = 0;
        self.regrounded = false;
        (self.tree, self.settled) = (None, None);
        (self.acted, self.acted_else) = (None, None);
        if observation.turn_kind != TurnKind::Agent {
            self.begun_by.clone_from(&observation.turn);
        }
    }

    fn remember_ground(&mut self, observation: &Observation) {
        let ground = &observation.ground;
        self.tasks = Some(ground.tasks.clone());
        self.evidence = Some(ground.evidence.clone());
        self.mode = observation.mode.or(self.mode);
        if let Some(tree) = &ground.tree {
            self.settled.get_or_insert(self.count);
            self.tree = Some(tree.clone());
        }
        for file in &observation.files {
            self.files.retain(|known| known.path != file.path);
            push_bounded(&mut self.files, file.clone(), MAX_FILES);
        }
    }

    /// The place of what is known of the same, if `observation` shows nothing beyond it.
    fn matching(&self, observation: &Observation) -> Option<usize> {
        if !observation.is_comparable() {
            return None;
        }
        let (key, lines) = (observation.key(), observation.lines());
        self.known.iter().position(|known| known.key == key && known.seen.cover(lines))
    }

    /// Counts a repeat of what is known at `at`.
    fn again(&mut self, at: usize, observation: &Observation, polling: bool) -> Novelty {
        let (seen_at, lines) = (self.known[at].number, observation.lines());
        if self.may_have_changed(seen_at, observation) {
            return Novelty::Fresh;
        }
        let known = &mut self.known[at];
        known.times = known.times.saturating_add(1);
        known.seen.add(lines);
        // Without a look at the tree nobody can say that nothing changed.
        if polling || observation.ground.tree.is_none() {
            return Novelty::Repeat;
        }
        if known.again.cover(lines) {
            return Novelty::Redundant;
        }
        known.again.add(lines);
        Novelty::Repeat
    }

    /// Whether something else may have changed the tree between the observation `seen_at` and the first look at it.
    fn may_have_changed(&self, seen_at: u64, observation: &Observation) -> bool {
        let key = observation.key();
        let acted = match &self.acted {
            Some(acted) if acted.key != key => Some(acted.at),
            Some(_) | None => self.acted_else,
        };
        acted.is_some_and(|at| at > seen_at)
    }

    fn learn(&mut self, observation: &Observation, meta: &Meta) {
        if !observation.is_comparable() {
            return;
        }
        let key = observation.key();
        match self.known.iter_mut().find(|known| known.key == key) {
            Some(known) => known.seen.add(observation.lines()),
            None => push_bounded(&mut self.known, known(observation, self.count, meta), MAX_KNOWN),
        }
    }

    fn begin_turn(&mut self, observation: &Observation) {
        if observation.turn.is_some() && observation.turn == self.turn {
            return;
        }
        self.redundant_turns = self.turns_now();
        self.turn.clone_from(&observation.turn);
        (self.turn_is_fresh, self.turn_is_redundant) = (false, false);
    }

    /// Redundant turns in a row, with the one that is under way.
    fn turns_now(&self) -> u32 {
        match (self.turn_is_fresh, self.turn_is_redundant) {
            (true, _) => 0,
            (false, true) => self.redundant_turns.saturating_add(1),
            (false, false) => self.redundant_turns,
        }
    }

    fn count_turn(&mut self, novelty: Novelty, polling: bool) {
        match novelty {
            Novelty::Fresh if !polling => {
                self.turn_is_fresh = true;
                self.in_row = 0;
            }
            Novelty::Redundant => {
                self.turn_is_redundant = true;
                self.in_row = self.in_row.saturating_add(1);
            }
            Novelty::Fresh | Novelty::Repeat => {}
        }
    }

    fn advice(&self, novelty: Novelty, polling: bool) -> Advice {
        let stuck = self.turns_now() >= MAX_REDUNDANT_TURNS || self.in_row >= MAX_REDUNDANT_IN_ROW;
        let unmoved = self.unmoved();
        match novelty {
            _ if polling => Advice::GoOn,
            Novelty::Repeat | Novelty::Redundant if self.regrounded => Advice::Known,
            Novelty::Redundant if stuck => Advice::Reground,
            Novelty::Redundant | Novelty::Repeat => Advice::Noted,
            Novelty::Fresh if self.is_unmoved(unmoved) => Advice::Unmoved,
            Novelty::Fresh => Advice::GoOn,
        }
    }

    /// Whether the tree is known to have been as it is for that long.
    fn is_unmoved(&self, unmoved: u64) -> bool {
        let settled = self.settled.is_some_and(|settled| self.count - settled >= MAX_UNMOVED);
        unmoved > 0 && unmoved.is_multiple_of(MAX_UNMOVED) && settled
    }

    fn is_polling(&self, observation: &Observation) -> bool {
        let known = |id: &String| self.running.contains(id);
        observation.run.is_some() || observation.process.as_ref().is_some_and(|process| known(&process.id))
    }

    /// Keeps what may have changed the tree while nobody has looked at it yet in this epoch.
    fn note_act(&mut self, observation: &Observation) {
        if !observation.may_act() || self.settled.is_some() {
            return;
        }
        let key = observation.key();
        if let Some(acted) = self.acted.take().filter(|acted| acted.key != key) {
            self.acted_else = Some(acted.at);
        }
        self.acted = Some(Acted { key, at: self.count });
    }

    fn note_process(&mut self, observation: &Observation) {
        let Some(process) = &observation.process else { return };
        self.running.retain(|id| *id != process.id);
        if process.running {
            push_bounded(&mut self.running, process.id.clone(), MAX_RUNNING);
        }
    }
}

fn known(observation: &Observation, number: u64, meta: &Meta) -> Known {
    let mut seen = Spans::default();
    seen.add(observation.lines());
    let result = match &observation.saw {
        Saw::Content(digest) => Some(digest.clone()),
        Saw::Nothing | Saw::Unsaid => None,
    };
    Known {
        key: observation.key(),
        call: observation.call.clone(),
        tool: observation.tool.clone(),
        about: about(&observation.subject).chars().take(MAX_TEXT_CHARS).collect(),
        result,
        exit: observation.exit,
        turn: observation.turn.clone(),
        at: meta.at,
        number,
        times: 1,
        seen,
        again: Spans::default(),
    }
}

fn about(subject: &Subject) -> String {
    match subject {
        Subject::Read { path, lines: _ } => path.to_string(),
        Subject::Files {} => "files".to_owned(),
        Subject::Listing { path } => path.to_string(),
        Subject::Query { words, path, narrowed: None } => format!("{words} in {path}"),
        Subject::Query { words, path, narrowed: Some(narrowed) } => format!("{words} in {path} ({narrowed})"),
        Subject::Command { command, digest: _ } => command.clone(),
        Subject::Other { arguments } => format!("arguments {arguments}"),
    }
}

/// Adds at the end; beyond the bound the oldest goes.
fn push_bounded<T>(all: &mut Vec<T>, one: T, max: usize) {
    if all.len() >= max {
        all.remove(0);
    }
    all.push(one);
}

impl Entity for Stagnation {
    type Event = ActionEvent;
    type Id = SessionId;
    const KIND: Kind = Kind::Action;

    fn blank(session: SessionId) -> Self {
        Self {
            session,
            count: 0,
            epoch: 0,
            since: 0,
            known: Vec::new(),
            redundant_turns: 0,
            regrounded: false,
            last: None,
            updated_at: Stamp(0),
            turn: None,
            begun_by: None,
            turn_is_fresh: false,
            turn_is_redundant: false,
            in_row: 0,
            mode: None,
            tasks: None,
            evidence: None,
            tree: None,
            settled: None,
            acted: None,
            acted_else: None,
            files: Vec::new(),
            running: Vec::new(),
        }
    }

    fn apply(mut self, event: &ActionEvent, meta: &Meta) -> Self {
        let ActionEvent::Observed { observation } = event;
        self.observe(observation, meta);
        self
    }

    fn index(&self) -> Index {
        Index {
            status: if self.regrounded { "regrounded" } else { "open" },
            parent: Some(self.session.to_string()),
            rank: self.updated_at.ms().saturating_neg(),
            ..Index::default()
        }
    }
}
