//! Who may hold a task. One winner, losers told so; takeover is explicit and raises the fence.

use crate::domain::id::{AgentName, SessionId, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::task::{Task, TaskEvent, TaskStatus};

/// What is known when a claim is asked for.
#[derive(Debug)]
pub struct Facts<'a> {
    pub task: &'a Task,
    pub session: &'a SessionId,
    pub agent: &'a AgentName,
    /// Needed tasks that are not finished.
    pub unmet: &'a [TaskId],
    /// Whether the holder's session, if there is one, is live.
    pub holder_live: bool,
    pub now: Stamp,
    pub until: Stamp,
}

/// What comes of it.
#[derive(Debug, PartialEq)]
pub enum Decision {
    Record(Box<TaskEvent>),
    /// The caller holds it already.
    Holds,
    /// Finished or cancelled.
    Over,
    /// A question or a blocker is open.
    Blocked,
    NeedsUnmet,
    /// A live claim of another session.
    Held,
    /// A claim of another session that ran out: it can be taken over, explicitly.
    Takeable,
}

/// Decides a plain claim.
pub fn claim(facts: &Facts<'_>) -> Decision {
    let task = facts.task;
    if task.status.is_over() {
        return Decision::Over;
    }
    if let Some(held) = &task.claim {
        let mine = held.session.as_ref() == Some(facts.session);
        let handed_to_me = held.session.is_none() && held.agent == *facts.agent && held.until > facts.now;
        return match (mine, handed_to_me) {
            (true, _) if held.until > facts.now => Decision::Holds,
            (true, _) => record(TaskEvent::ClaimRenewed { fence: held.fence, until: facts.until }),
            (false, true) => claimed(facts),
            (false, false) if is_live(facts, held.until, held.session.is_some()) => Decision::Held,
            (false, false) => Decision::Takeable,
        };
    }
    match (&task.block, facts.unmet) {
        (Some(_), _) => Decision::Blocked,
        (None, []) => claimed(facts),
        (None, _) => Decision::NeedsUnmet,
    }
}

/// Decides a takeover. A person may take over a live claim; an agent only one that ran out. A finished task can be taken
/// over too, or what is verified would never be published once its holder is gone.
pub fn take_over(facts: &Facts<'_>, person: bool, reason: &str) -> Decision {
    let task = facts.task;
    let taken_over = |from: Option<SessionId>| {
        record(TaskEvent::TakenOver {
            session: facts.session.clone(),
            agent: facts.agent.clone(),
            fence: task.fence + 1,
            until: facts.until,
            from,
            reason: reason.to_owned(),
        })
    };
    let held = match (&task.claim, task.status) {
        (_, TaskStatus::Cancelled) => return Decision::Over,
        (None, TaskStatus::Finished) => return taken_over(None),
        (None, TaskStatus::Open | TaskStatus::Claimed | TaskStatus::Blocked) => return claim(facts),
        (Some(held), _) => held,
    };
    if held.session.as_ref() == Some(facts.session) && held.until > facts.now {
        return Decision::Holds;
    }
    if is_live(facts, held.until, held.session.is_some()) && !person {
        return Decision::Held;
    }
    taken_over(held.session.clone())
}

fn is_live(facts: &Facts<'_>, until: Stamp, has_session: bool) -> bool {
    until > facts.now && (facts.holder_live || !has_session)
}

fn claimed(facts: &Facts<'_>) -> Decision {
    record(TaskEvent::Claimed {
        session: facts.session.clone(),
        agent: facts.agent.clone(),
        fence: facts.task.fence + 1,
        until: facts.until,
    })
}

fn record(event: TaskEvent) -> Decision {
    Decision::Record(Box::new(event))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::caller::{Caller, Door};
    use crate::domain::event::Meta;
    use crate::domain::fold::Entity;

    struct Story {
        task: Task,
        unmet: Vec<TaskId>,
        holder_live: bool,
        now: Stamp,
    }

    fn session(n: u128) -> SessionId {
        SessionId::new(Uuid::from_u128(n))
    }

    fn agent(name: &str) -> AgentName {
        name.parse().expect("a legal name")
    }

    impl Story {
        fn new() -> Self {
            let task = Task::blank(TaskId::new(Uuid::from_u128(9)));
            Self { task, unmet: Vec::new(), holder_live: true, now: Stamp(1_000) }
        }

        fn ask(&self, n: u128, name: &str) -> Decision {
            self.with(n, name, claim)
        }

        fn with(&self, n: u128, name: &str, decide: impl Fn(&Facts<'_>) -> Decision) -> Decision {
            decide(&Facts {
                task: &self.task,
                session: &session(n),
                agent: &agent(name),
                unmet: &self.unmet,
                holder_live: self.holder_live,
                now: self.now,
                until: Stamp(self.now.ms() + 5_000),
            })
        }

        fn record(&mut self, decision: Decision) {
            let Decision::Record(event) = decision else { panic!("not recorded: {decision:?}") };
            let meta = Meta { at: self.now, caller: Caller::unknown(Door::Rpc) };
            self.task = self.task.clone().apply(&event, &meta);
        }
    }

    #[test]
    fn the_second_to_ask_is_told_no_and_the_first_is_told_it_holds() {
        let mut story = Story::new();
        story.record(story.ask(1, "ada"));
        assert_eq!(story.ask(1, "ada"), Decision::Holds);
        assert_eq!(story.ask(2, "bob"), Decision::Held);
    }

    #[test]
    fn a_claim_that_ran_out_is_taken_over_explicitly_and_the_fence_rises() {
        let mut story = Story::new();
        story.record(story.ask(1, "ada"));
        story.now = Stamp(10_000);
        assert_eq!(story.ask(2, "bob"), Decision::Takeable);
        story.record(story.with(2, "bob", |facts| take_over(facts, false, "the lease ran out")));
        assert_eq!(story.task.fence, 2);
        assert_eq!(story.ask(1, "ada"), Decision::Held);
    }

    #[test]
    fn a_live_claim_is_taken_over_by_a_person_only() {
        let mut story = Story::new();
        story.record(story.ask(1, "ada"));
        assert_eq!(story.with(2, "bob", |facts| take_over(facts, false, "")), Decision::Held);
        assert!(matches!(story.with(2, "bob", |facts| take_over(facts, true, "")), Decision::Record(_)));
        story.holder_live = false;
        assert!(matches!(story.with(2, "bob", |facts| take_over(facts, false, "")), Decision::Record(_)));
    }

    #[test]
    fn the_holder_whose_lease_ran_out_goes_on_under_its_fence() {
        let mut story = Story::new();
        story.record(story.ask(1, "ada"));
        story.now = Stamp(10_000);
        story.record(story.ask(1, "ada"));
        assert_eq!(story.task.fence, 1);
        assert_eq!(story.ask(1, "ada"), Decision::Holds);
    }

    #[test]
    fn a_task_that_was_handed_over_waits_for_its_agent() {
        let mut story = Story::new();
        story.record(story.ask(1, "ada"));
        let until = Stamp(6_000);
        story.record(record(TaskEvent::HandedOff { agent: agent("bob"), session: None, fence: 2, until, note: None }));
        assert_eq!(story.ask(3, "eve"), Decision::Held);
        story.record(story.ask(2, "bob"));
        assert_eq!(story.task.claim.as_ref().and_then(|claim| claim.session.clone()), Some(session(2)));
    }

    #[test]
    fn what_is_finished_is_taken_over_and_not_claimed_and_stays_finished() {
        let mut story = Story::new();
        story.record(story.ask(1, "ada"));
        let contract_digest = story.task.contract_digest.clone();
        story.record(record(TaskEvent::Finished { fence: 1, evidence: Vec::new(), contract_digest }));
        assert_eq!(story.with(2, "bob", |facts| take_over(facts, false, "")), Decision::Held);
        story.holder_live = false;
        assert_eq!(story.ask(2, "bob"), Decision::Over);
        story.record(story.with(2, "bob", |facts| take_over(facts, false, "to publish it")));
        assert_eq!((story.task.status, story.task.fence), (TaskStatus::Finished, 2));
    }

    #[test]
    fn what_is_unmet_blocked_or_over_is_not_claimed() {
        let mut story = Story::new();
        story.unmet = vec![TaskId::new(Uuid::from_u128(8))];
        assert_eq!(story.ask(1, "ada"), Decision::NeedsUnmet);
        story.unmet.clear();
        story.record(record(TaskEvent::Blocked { reason: "why".into(), question: None }));
        assert_eq!(story.ask(1, "ada"), Decision::Blocked);
        story.record(record(TaskEvent::Cancelled { reason: "no".into() }));
        assert_eq!(story.ask(1, "ada"), Decision::Over);
    }
}
