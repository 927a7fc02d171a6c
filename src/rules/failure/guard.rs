//! Reasons to doubt a pass, from its counts and from what its output says.

use crate::domain::failure::{Doubt, Report, Tests};

/// Compares a run that ended with 0 with the last accepted one. `minimum` is the check's own `min_tests`.
///
/// A tool that never prints counts is no reason to doubt; one that stopped is.
pub fn compare(now: &Report, accepted: Option<&Tests>, minimum: Option<u64>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(counts) = &now.counts {
        doubts.extend(less(counts, accepted, minimum));
        if counts.failed > 0 {
            doubts.push(Doubt::FailedWithExitZero { failed: counts.failed });
        }
    }
    if let Some(before) = accepted.filter(|before| now.counts.is_none() && before.run > 0) {
        doubts.push(Doubt::NoCounts { accepted: before.run });
    }
    let failed = now.counts.is_some_and(|counts| counts.failed > 0);
    if now.said_failed && !failed {
        let items = now.items.len().saturating_add(now.items_omitted);
        doubts.push(Doubt::SaidFailed { items: u64::try_from(items).unwrap_or(u64::MAX) });
    }
    if now.cached {
        doubts.push(Doubt::Cached);
    }
    doubts
}

fn less(counts: &Tests, accepted: Option<&Tests>, minimum: Option<u64>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if counts.run == 0 {
        doubts.push(Doubt::ZeroTests { skipped: counts.skipped, accepted: accepted.map(|tests| tests.run) });
    } else if let Some(before) = accepted.filter(|before| counts.run < before.run) {
        doubts.push(Doubt::FewerTests { run: counts.run, accepted: before.run });
    }
    if let Some(minimum) = minimum.filter(|minimum| counts.run > 0 && counts.run < *minimum) {
        doubts.push(Doubt::BelowMinimum { run: counts.run, minimum });
    }
    if let Some(before) = accepted.filter(|before| counts.skipped > before.skipped) {
        doubts.push(Doubt::MoreSkipped { skipped: counts.skipped, accepted: before.skipped });
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(run: u64, failed: u64, skipped: u64) -> Report {
        Report { counts: Some(Tests { run, passed: run - failed, failed, skipped }), ..Report::default() }
    }

    #[test]
    fn every_reason_names_both_numbers() {
        let before = Tests { run: 10, passed: 10, failed: 0, skipped: 1 };
        let all = [
            (report(9, 0, 1), None, vec![Doubt::FewerTests { run: 9, accepted: 10 }]),
            (
                report(9, 0, 2),
                None,
                vec![Doubt::FewerTests { run: 9, accepted: 10 }, Doubt::MoreSkipped { skipped: 2, accepted: 1 }],
            ),
            (report(0, 0, 1), Some(1), vec![Doubt::ZeroTests { skipped: 1, accepted: Some(10) }]),
            (report(12, 0, 0), Some(20), vec![Doubt::BelowMinimum { run: 12, minimum: 20 }]),
            (report(12, 2, 0), None, vec![Doubt::FailedWithExitZero { failed: 2 }]),
            (report(12, 0, 0), None, vec![]),
            (Report::default(), Some(1), vec![Doubt::NoCounts { accepted: 10 }]),
            (
                Report { cached: true, said_failed: true, ..Report::default() },
                None,
                vec![Doubt::NoCounts { accepted: 10 }, Doubt::SaidFailed { items: 0 }, Doubt::Cached],
            ),
        ];
        for (now, minimum, doubts) in all {
            assert_eq!(compare(&now, Some(&before), minimum), doubts);
        }
    }

    #[test]
    fn a_first_run_without_tests_is_doubted_too() {
        assert!(compare(&Report::default(), None, Some(1)).is_empty());
        assert_eq!(compare(&report(0, 0, 3), None, None), [Doubt::ZeroTests { skipped: 3, accepted: None }]);
    }
}
