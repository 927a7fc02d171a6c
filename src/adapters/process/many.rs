//! Several runs at once.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::supervisor::Supervisor;
use crate::ports::runner::{Job, Outcome, Runner as _};

type Told = (usize, Result<Outcome, Box<dyn Any + Send>>);
type OnOutput<'o> = &'o (dyn Fn(usize, &str) + Sync);

/// Runs as `Runner::run_many` promises. Each run has a thread of its own, which lives until the run is over: the kernel
/// ends a command with the thread that started it.
pub fn run(
    supervisor: &Supervisor,
    first: Vec<Job>,
    parallel: usize,
    on_output: OnOutput<'_>,
    on_end: &mut dyn FnMut(usize, Outcome) -> Vec<Job>,
) {
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let (mut waiting, mut on) = (VecDeque::from(first), 0);
        loop {
            while on < parallel.max(1)
                && let Some(job) = waiting.pop_front()
            {
                let job = Arc::new(job);
                let theirs = (Arc::clone(&job), tell.clone());
                let started = std::thread::Builder::new()
                    .spawn_scoped(scope, move || one(supervisor, &theirs.0, on_output, &theirs.1));
                if started.is_err() {
                    // The system is out of threads. This one will do.
                    one(supervisor, &job, on_output, &tell);
                }
                on += 1;
            }
            if on == 0 {
                return;
            }
            let (key, ended): Told = told.recv().expect("we hold a sender ourselves");
            on -= 1;
            match ended {
                Ok(outcome) => waiting.extend(on_end(key, outcome)),
                Err(panic) => resume_unwind(panic),
            }
        }
    });
}

fn one(supervisor: &Supervisor, job: &Job, on_output: OnOutput<'_>, tell: &Sender<Told>) {
    let run = || supervisor.run(&job.invocation, &mut |text| on_output(job.key, text));
    // A panic must be told too, or it would be waited for.
    let _ = tell.send((job.key, catch_unwind(AssertUnwindSafe(run))));
}
