//! What tasks need of each other.

use std::collections::{HashSet, VecDeque};

use crate::domain::id::{TaskId, TaskRef};
use crate::domain::refusal::{Code, Refusal};
use crate::domain::task::{Task, TaskStatus};
use crate::ops::call::Call;

/// The most tasks one task may need.
pub const MAX_NEEDS: usize = 100;
/// How many tasks a search for a cycle looks at before it gives up and refuses.
const MAX_SEARCHED: usize = 10_000;

/// Needed tasks that are not finished. One that this ledger does not know is not finished.
pub fn unmet(call: &Call<'_>, task: &Task) -> Result<Vec<TaskId>, Refusal> {
    let mut unmet = Vec::new();
    for id in &task.needs {
        let finished = call.load::<Task>(id)?.is_some_and(|held| held.value.status == TaskStatus::Finished);
        if !finished {
            unmet.push(id.clone());
        }
    }
    Ok(unmet)
}

/// Resolves the tasks named in `field`.
pub fn resolve(call: &Call<'_>, field: &str, references: &[TaskRef]) -> Result<Vec<TaskId>, Refusal> {
    if references.len() > MAX_NEEDS {
        return Err(Refusal::invalid(field, format!("`{field}` names at most {MAX_NEEDS} tasks")));
    }
    let mut ids = Vec::new();
    for reference in references {
        let id = call.task(reference).map_err(|refusal| refusal.with("field", field))?.value.id;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Refuses `needs` of `task` if following them leads back to it.
pub fn refuse_cycle(call: &Call<'_>, task: &TaskId, needs: &[TaskId]) -> Result<(), Refusal> {
    let mut seen: HashSet<TaskId> = HashSet::new();
    let mut open: VecDeque<TaskId> = needs.iter().cloned().collect();
    while let Some(id) = open.pop_front() {
        if id == *task {
            return Err(Refusal::new(Code::CYCLE, format!("task `{task}` would need itself")).with("field", "needs"));
        }
        if seen.len() >= MAX_SEARCHED {
            let words = format!("more than {MAX_SEARCHED} tasks are needed one after another");
            return Err(Refusal::invalid("needs", words));
        }
        if seen.insert(id.clone())
            && let Some(held) = call.load::<Task>(&id)?
        {
            open.extend(held.value.needs);
        }
    }
    Ok(())
}
