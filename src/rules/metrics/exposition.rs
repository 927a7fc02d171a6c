//! The text exposition format of Prometheus, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Metric, Metrics, percentile};

/// The longest value of a label, in characters.
const MAX_VALUE_CHARS: usize = 128;

/// Writes what was counted. Every counter has a sample for what was seen, and no sample stands twice.
pub fn exposition(metrics: &Metrics) -> String {
    let mut out = String::new();
    for metric in Metric::ALL {
        let name = format!("kctl_{}_total", metric.name());
        head(&mut out, &name, metric.about(), "counter");
        for (labels, count) in samples(metrics, metric) {
            let _ = writeln!(out, "{name}{{{labels}}} {count}");
        }
    }
    let skipped = [("unknown", metrics.unknown.values().sum::<u64>()), ("unreadable", metrics.unreadable)];
    head(&mut out, "kctl_events_skipped_total", "Events that were not understood.", "counter");
    for (why, count) in skipped {
        let _ = writeln!(out, "kctl_events_skipped_total{{why=\"{why}\"}} {count}");
    }
    durations(&mut out, metrics);
    out
}

fn head(out: &mut String, name: &str, about: &str, kind: &str) {
    let _ = writeln!(out, "# HELP {name} {about}\n# TYPE {name} {kind}");
}

/// Label sets with their counts. Values that come out alike are counted together.
fn samples(metrics: &Metrics, metric: Metric) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for (series, count) in metrics.series.iter().filter(|(series, _)| series.metric == metric) {
        let names = ["host", "agent"].iter().chain(metric.labels());
        let values = [&series.host, &series.agent].into_iter().chain(&series.values);
        let labels: Vec<String> = names.zip(values).map(|(name, value)| label(name, value)).collect();
        *samples.entry(labels.join(",")).or_default() += count;
    }
    samples
}

fn durations(out: &mut String, metrics: &Metrics) {
    let name = "kctl_check_duration_seconds";
    head(out, name, "How long the runs of a check took.", "summary");
    for (check, sorted) in metrics.sorted_durations() {
        let check = label("check", check);
        for (quantile, percent) in [("0.5", 50), ("0.9", 90)] {
            let seconds = percentile(&sorted, percent).unwrap_or_default() as f64 / 1000.0;
            let _ = writeln!(out, "{name}{{{check},quantile=\"{quantile}\"}} {seconds}");
        }
        let sum = sorted.iter().sum::<i64>() as f64 / 1000.0;
        let _ = writeln!(out, "{name}_sum{{{check}}} {sum}\n{name}_count{{{check}}} {}", sorted.len());
    }
}

/// `name="value"`. What could move a cursor or turn a text is a `_`: the text is also read at terminals.
fn label(name: &str, value: &str) -> String {
    let mut out = format!("{name}=\"");
    for c in value.chars().take(MAX_VALUE_CHARS) {
        match c {
            '\\' => out.push_str(r"\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str(r"\n"),
            c if c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ' => out.push(c),
            _ => out.push('_'),
        }
    }
    out.push('"');
    out
}
