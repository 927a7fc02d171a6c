//! `task.decompose`: a task becomes the parent of smaller ones, all in one append.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::contract::Contract;
use crate::domain::effect::{Custody, Effect};
use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskEvent};
use crate::ops::call::Call;
use crate::ops::criteria::{self, CriterionInput};
use crate::ops::op::Op;
use crate::rules::contract;

use super::create;

/// The most parts one call makes.
const MAX_PARTS: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    task: TaskRef,
    /// The parts, in order: `{title, criteria?, paths?, needs?}`; `needs` are positions of earlier or later parts,
    /// from 0
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    title: String,
    #[serde(default)]
    criteria: Vec<CriterionInput>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    needs: Vec<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    parent: TaskId,
    children: Vec<TaskId>,
}

pub struct Decompose;

impl Op for Decompose {
    const NAME: &'static str = "task.decompose";
    const ABOUT: &'static str = "Split a task into parts that it then needs, in one append";
    const EFFECT: Effect = Effect::Write;
    const CUSTODY: Custody = Custody::None;
    const ASKS_BASE: bool = true;
    const POSITIONAL: &'static [&'static str] = &["task"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[(
        r#"kctl task decompose t-7k2 --parts '{"title":"lexer"}' --parts '{"title":"parser","needs":[0]}'"#,
        "the second part waits for the first",
    )];
    const HELP: &'static str = criteria::HELP;
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let parent = call.task(&input.task)?;
        if parent.value.status.is_over() {
            let words = format!("task `{}` is {}", parent.value.id, parent.value.status.name());
            return Err(Refusal::new(Code::CONFLICT, words).with("task", &parent.value.id));
        }
        if input.parts.is_empty() || input.parts.len() > MAX_PARTS {
            return Err(Refusal::invalid("parts", format!("there are 1 to {MAX_PARTS} parts")));
        }
        refuse_cycle(&input.parts)?;
        let ids: Vec<TaskId> = input.parts.iter().map(|_| TaskId::new(call.world.ids.uuid())).collect();
        for (index, part) in input.parts.into_iter().enumerate() {
            let created = part_created(call, &parent.value, index, part, &ids)?;
            call.record::<Task>(&ids[index], 0, created)?;
        }
        let id = parent.value.id;
        let split = call.record::<Task>(&id, parent.ver, TaskEvent::Decomposed { children: ids.clone() })?;
        let needs = parent.value.needs.into_iter().chain(ids.iter().cloned()).collect();
        let updated = TaskEvent::Updated { title: None, priority: None, needs: Some(needs), paths: None, labels: None };
        call.record::<Task>(&id, split.ver, updated)?;
        Ok(Out { parent: id, children: ids })
    }
}

fn part_created(
    call: &Call<'_>,
    parent: &Task,
    index: usize,
    part: Part,
    ids: &[TaskId],
) -> Result<TaskEvent, Refusal> {
    let field = |name: &str| format!("parts[{index}].{name}");
    contract::line(&field("title"), &part.title)?;
    let terms = Contract { criteria: criteria::named(part.criteria)?, ..Contract::default() };
    contract::accept(&terms).map_err(|refusal| refusal.with("part", index))?;
    call.knows_checks(&terms)?;
    Ok(TaskEvent::Created {
        title: part.title,
        contract: terms,
        priority: parent.priority,
        needs: part.needs.iter().map(|need| ids[*need].clone()).collect(),
        paths: create::paths(part.paths)?,
        labels: parent.labels.clone(),
        parent: Some(parent.id.clone()),
        commitment: parent.commitment.clone(),
    })
}

/// Refuses parts that need themselves, directly or around a corner, or parts that are not there.
fn refuse_cycle(parts: &[Part]) -> Result<(), Refusal> {
    for (index, part) in parts.iter().enumerate() {
        if let Some(need) = part.needs.iter().find(|need| **need >= parts.len()) {
            return Err(Refusal::invalid(&format!("parts[{index}].needs"), format!("there is no part {need}")));
        }
    }
    let mut done = vec![false; parts.len()];
    // Each round finishes at least one part, or what is left is a cycle.
    while let Some(open) = done.iter().position(|done| !done) {
        let free = (0..parts.len()).find(|part| !done[*part] && parts[*part].needs.iter().all(|need| done[*need]));
        match free {
            Some(part) => done[part] = true,
            None => {
                let words = format!("part {open} would need itself");
                return Err(Refusal::new(Code::CYCLE, words).with("field", format!("parts[{open}].needs")));
            }
        }
    }
    Ok(())
}
