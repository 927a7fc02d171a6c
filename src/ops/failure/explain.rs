//! `failure.explain`: what an output says failed. Records nothing, and needs no repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::effect::{Custody, Effect};
use crate::domain::failure::{Item, Parser, Report, Tests};
use crate::domain::id::EvidenceRef;
use crate::domain::refusal::Refusal;
use crate::ops::call::Call;
use crate::ops::evidence::log::stored;
use crate::ops::op::{Needs, Op};
use crate::rules::failure;
use crate::rules::redaction::Redactor;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct In {
    /// The output, both streams as they were written; on the command line the file that holds it, `-`, or the evidence's id
    #[serde(default)]
    #[schemars(extend("contentMediaType" = "text/plain"))]
    output: Option<String>,
    /// Instead of an output: the evidence whose stored output it is
    #[serde(default)]
    evidence: Option<EvidenceRef>,
    /// The tool that wrote it, such as `pytest` or `cargo test`; found out by the output unless given
    #[serde(default)]
    tool: Option<String>,
    /// The command that was run
    #[serde(default)]
    command: Option<String>,
    /// Its exit status
    #[serde(default)]
    exit: Option<i32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Out {
    items: Vec<Item>,
    /// Digest of the failing set: the same for the same failure under other noise.
    signature: String,
    /// What read it: the tools, or `lines` where none was known.
    parser: String,
    /// How many lines were left out as noise.
    dropped: usize,
    tests: Option<Tests>,
    /// Items beyond the bound, which neither the list nor the signature holds.
    omitted: usize,
}

pub struct Explain;

impl Op for Explain {
    const NAME: &'static str = "failure.explain";
    const ABOUT: &'static str = "Say what failed by an output: items, counts and a signature; records nothing";
    const EFFECT: Effect = Effect::Read;
    const CUSTODY: Custody = Custody::None;
    const NEEDS: Needs = Needs::Whatever;
    const POSITIONAL: &'static [&'static str] = &["output"];
    const COLUMNS: &'static [&'static str] = &["kind", "id", "file", "line", "message"];
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("kctl failure explain build.log --exit 101", "what failed in a kept output"),
        ("kctl failure explain e-3fz", "what failed in a run of kctl's own"),
        ("kctl failure explain - --tool pytest", "of an output that is piped in"),
    ];
    type In = In;
    type Out = Out;

    fn run(call: &mut Call<'_>, input: In) -> Result<Out, Refusal> {
        let (output, exit) = said(call, &input)?;
        let (output, _) = Redactor::default().redact(&output);
        let hint = input.tool.as_deref().and_then(hint);
        let said = input.tool.as_deref().or(input.command.as_deref());
        let program = said.map(|words| failure::lineage(words).program);
        let Report { parser, items, counts, dropped, items_omitted, cached: _, said_failed: _ } =
            failure::parse(hint, program.as_deref(), &output, exit, None);
        let signature = failure::signature(&items);
        Ok(Out { items, signature, parser, dropped, tests: counts, omitted: items_omitted })
    }
}

/// What is explained, and the exit status that it came with.
fn said(call: &Call<'_>, input: &In) -> Result<(String, Option<i32>), Refusal> {
    let words = "exactly one of `output`, the text, and `evidence`, the id of a run, is given";
    match (&input.output, &input.evidence) {
        (Some(output), None) => Ok((output.clone(), input.exit)),
        (None, Some(evidence)) => {
            let record = call.evidence(evidence)?.value.record;
            let exit = input.exit.or(record.as_ref().and_then(|record| record.exit));
            let digest = record.and_then(|record| record.output);
            Ok((digest.map(|digest| stored(call, &digest)).transpose()?.unwrap_or_default(), exit))
        }
        (None, None) => Err(Refusal::invalid("output", words)),
        (Some(_), Some(_)) => Err(Refusal::invalid("evidence", words)),
    }
}

/// The reader that is meant by a tool's name: `cargo test` as well as `cargo-test`.
fn hint(tool: &str) -> Option<Parser> {
    let words = tool.trim().to_lowercase().replace([' ', '_'], "-");
    Parser::named(&words).or(match words.as_str() {
        "cargo" | "cargo-clippy" | "cargo-build" | "cargo-check" | "rustc" => Some(Parser::Rustc),
        "go" => Some(Parser::GoTest),
        "mvn" | "maven" | "mvn-test" => Some(Parser::Surefire),
        "gradlew" | "gradle-test" => Some(Parser::Gradle),
        _ => None,
    })
}
