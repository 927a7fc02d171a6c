//! Which criteria a call is about: those of the task or commitment it names, or of the task whose worktree it was made in.

use std::ops::Deref;

use super::holder::Holder;
use crate::domain::id::{CommitmentRef, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::Task;
use crate::ops::call::{Call, Held};
use crate::ops::custody;
use crate::ops::verification::subject::{Subject, task_here};

/// The holder of what a task is held to: where the task has no criteria of its own, that is its commitment.
pub struct Named {
    pub holder: Holder,
    /// The task that was named, if the criteria are its commitment's.
    through: Option<Box<Held<Task>>>,
}

impl Named {
    /// # Errors
    /// `INVALID_VALUE` for both, and for neither outside a task's worktree; `NOT_FOUND`.
    pub fn of(call: &Call<'_>, task: Option<&TaskRef>, commitment: Option<&CommitmentRef>) -> Result<Self, Refusal> {
        let holder = Self::asked(call, task, commitment)?;
        let of_commitment = match &holder {
            Holder::Task(held) if held.value.contract.criteria.is_empty() => held.value.commitment.clone(),
            Holder::Task(_) | Holder::Commitment(_) => None,
        };
        let commitment = match of_commitment {
            Some(id) => call.load(&id)?,
            None => None,
        };
        Ok(match (holder, commitment) {
            (Holder::Task(task), Some(held)) => {
                Self { holder: Holder::Commitment(Box::new(held)), through: Some(task) }
            }
            (holder, _) => Self { holder, through: None },
        })
    }

    /// The holder that was asked for, whatever it is held to.
    ///
    /// # Errors
    /// As `of`.
    pub fn asked(
        call: &Call<'_>,
        task: Option<&TaskRef>,
        commitment: Option<&CommitmentRef>,
    ) -> Result<Holder, Refusal> {
        if task.is_none() && commitment.is_none() {
            let here = match task_here(call) {
                Err(why) if why.code() == Code::NO_WORK_TREE => None,
                here => here?,
            };
            if let Some(held) = here.map(|task| call.load::<Task>(&task.id)).transpose()?.flatten() {
                return Ok(Holder::Task(Box::new(held)));
            }
        }
        Holder::of(call, task, commitment)
    }

    /// Judged where the named task's work is.
    ///
    /// # Errors
    /// As looking up a task's or a commitment's work tree.
    pub fn subject(&self, call: &Call<'_>) -> Result<Subject, Refusal> {
        match &self.through {
            Some(task) => Subject::of_task(call, &task.value),
            None => self.holder.subject(call),
        }
    }

    /// # Errors
    /// As `Holder::refuse_unless_open`, of the named task as well.
    pub fn refuse_unless_open(&self, call: &Call<'_>) -> Result<(), Refusal> {
        if let Some(task) = &self.through {
            custody::refuse_strangers(call, &task.value)?;
        }
        self.holder.refuse_unless_open(call)
    }
}

impl Deref for Named {
    type Target = Holder;

    fn deref(&self) -> &Holder {
        &self.holder
    }
}
