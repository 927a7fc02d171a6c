//! What is known about a lineage, as data for whoever tries next.

use super::state::{Gate, Lineage, Lineages};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packet {
    pub lineage: u64,
    /// The gates that the lineage was seen at.
    pub gates: Vec<String>,
    pub count: u32,
    pub absolute: u32,
    pub signature: String,
    pub failing: Vec<Counted>,
    /// What failed when the lineage was opened.
    pub first_failing: Vec<String>,
    pub omitted: u64,
    pub commands: Vec<String>,
    pub changed_paths: Vec<String>,
    /// Items that failed from the first attempt on, always in the same way.
    pub never_moved: Vec<String>,
    pub contradictions: Vec<Contradiction>,
}

/// One failing item, and in how many attempts it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    pub item: String,
    pub cause: String,
    pub count: u32,
}

/// The same inputs passed and failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    pub gate: String,
    pub inputs: String,
}

impl Lineages {
    /// The packet of an open lineage.
    pub fn packet(&self, lineage: u64) -> Option<Packet> {
        let lineage = self.open.iter().find(|one| one.id == lineage)?;
        let failing = lineage.now.iter();
        let failing =
            failing.map(|(item, one)| Counted { item: item.clone(), cause: one.cause.clone(), count: one.count });
        Some(Packet {
            lineage: lineage.id,
            gates: lineage.gates.iter().map(Gate::to_string).collect(),
            count: lineage.count,
            absolute: lineage.absolute,
            signature: lineage.signature.clone(),
            failing: failing.collect(),
            first_failing: lineage.first.iter().cloned().collect(),
            omitted: lineage.omitted,
            commands: lineage.commands.clone(),
            changed_paths: lineage.paths.clone(),
            never_moved: never_moved(lineage),
            contradictions: self.contradictions(lineage),
        })
    }

    /// The open lineages, oldest first.
    pub fn open_ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.open.iter().map(|lineage| lineage.id).collect();
        ids.sort_unstable();
        ids
    }

    fn contradictions(&self, lineage: &Lineage) -> Vec<Contradiction> {
        let of_lineage = self.runs.iter().filter(|run| lineage.gates.contains(&run.gate));
        let both = of_lineage.filter(|run| {
            run.passed
                && self.runs.iter().any(|other| other.gate == run.gate && other.inputs == run.inputs && !other.passed)
        });
        both.map(|run| Contradiction { gate: run.gate.to_string(), inputs: run.inputs.clone() }).collect()
    }
}

fn never_moved(lineage: &Lineage) -> Vec<String> {
    let still = lineage.now.iter().filter(|(item, one)| !one.moved && lineage.first.contains(*item));
    still.map(|(item, _)| item.clone()).collect()
}
