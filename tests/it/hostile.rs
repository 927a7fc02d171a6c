//! What a hostile world may hand to kctl: requests, names, links, disks, clocks, configurations and damage.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

mod damage;
mod disks;
mod names;
mod programs;
mod requests;
mod times;

use serde_json::json;

use super::rig::Rig;

/// The main job from a task to its publication.
fn whole_job(rig: &Rig) {
    let task = rig.task(json!({ "title": "a 'quoted' \"title\" $(id)", "criteria": ["check:test"] }));
    rig.ok("task.claim", json!({ "task": task }));
    rig.worked_on(&task);
    rig.ok("validate", json!({ "task": task, "scope": "branch" }));
    rig.ok("task.finish", json!({ "task": task }));
    let published = rig.ok("publish", json!({ "task": task }));
    assert_eq!(published["remote_verified"], true, "{published}");
    rig.ok("workspace.remove", json!({ "task": task }));
    rig.assert_sound("after the job");
    rig.assert_tidy("after the job");
}
