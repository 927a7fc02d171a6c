//! `task.update`: what was written down is corrected. The contract is not: that takes an amendment.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::effect::{Custody, Effect};
use crate::domain::id::TaskRef;
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::op::Op;
use crate::rules::contract;

use super::view::Whole;
use super::{create, needs};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// What is to be done, in one line
    #[serde(default)]
    title: Option<String>,
    /// 0 is the most urgent, 4 the least
    #[serde(default)]
    #[schemars(range(min = 0, max = 4))]
    priority: Option<u8>,
    /// Tasks that must be finished first; replaces those that stood
    #[serde(default)]
    needs: Option<Vec<TaskRef>>,
    /// Globs of the paths it expects to touch; replaces those that stood
    #[serde(default)]
    paths: Option<Vec<String>>,
    /// Replaces the labels that stood
    #[serde(default)]
    labels: Option<Vec<String>>,
}

pub struct Update;

impl Op for Update {
    const NAME: &'static str = "task.update";
    const ABOUT: &'static str = "Change a task's title, priority, needs, paths or labels";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const HIDDEN: &'static [&'static str] = &["contract_digest", "claim.since", "fence", "updated_at"];
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("kctl task update t-7k2 --priority 0", "makes it the most urgent")];
    type In = In;
    type Out = Whole;

    fn run(call: &mut Call<'_>, input: In) -> Result<Whole, Refusal> {
        let task = call.task(&input.task)?;
        let id = task.value.id.clone();
        if task.value.status.is_over() {
            let words = format!("task `{id}` is {}", task.value.status.name());
            return Err(Refusal::new(Code::CONFLICT, words).with("task", &id).with("status", task.value.status));
        }
        if let Some(title) = &input.title {
            contract::line("title", title)?;
        }
        let needs = input.needs.map(|list| needs::resolve(call, "needs", &list)).transpose()?;
        if let Some(needs) = &needs {
            needs::refuse_cycle(call, &id, needs)?;
        }
        let updated = TaskEvent::Updated {
            title: input.title,
            priority: input.priority.map(|priority| create::priority(Some(priority))).transpose()?,
            needs,
            paths: input.paths.map(create::paths).transpose()?,
            labels: input.labels.map(create::labels).transpose()?,
        };
        if matches!(
            &updated,
            TaskEvent::Updated { title: None, priority: None, needs: None, paths: None, labels: None }
        ) {
            return Err(Refusal::invalid("task", "nothing to change is given"));
        }
        let task = call.record::<Task>(&id, task.ver, updated)?.value;
        Whole::of(call, task)
    }
}
