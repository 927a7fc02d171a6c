//! Skips, focuses and expected failures of tests, beside those that the base had.

use std::collections::BTreeMap;

use super::compare::View;
use super::findings::plain;
use super::model::{Finding, Kind, Marker, Severity, Test};
use super::pair::Pairs;

/// Skips and focuses that tests of the base did not have, one finding for each place where one stands.
pub(super) fn markers(view: &View<'_>, pairs: &Pairs, out: &mut Vec<Finding>) {
    let mut held: BTreeMap<(Kind, String, Marker), Vec<&Test>> = BTreeMap::new();
    let mut add = |kind, path: &str, marker: &Marker, test| {
        let marker = Marker { inherited: false, ..marker.clone() };
        held.entry((kind, path.to_owned(), marker)).or_default().push(test);
    };
    for (old, new) in &pairs.matched {
        let (old, item) = (view.old[*old].test, view.new[*new]);
        let path = &view.new_paths[item.file];
        if let Some(marker) = &item.test.skipped {
            let worse = old.skipped.as_ref().is_none_or(|known| known.conditional && !marker.conditional);
            if worse {
                add(Kind::SkipAdded, path, marker, item.test);
            }
        }
        if let (Some(marker), None) = (&item.test.expected_failure, &old.expected_failure)
            && marker.inherited
        {
            add(Kind::XfailAdded, path, marker, item.test);
        }
        if let (Some(marker), None) = (&item.test.focused, &old.focused) {
            add(Kind::OnlyAdded, path, marker, item.test);
        }
    }
    for new in &pairs.gained {
        let item = view.new[*new];
        if let Some(marker) = &item.test.focused {
            add(Kind::OnlyAdded, &view.new_paths[item.file], marker, item.test);
        }
    }
    for ((kind, path, marker), tests) in held {
        let message = match kind {
            Kind::OnlyAdded => "only the focused tests run; all others are left out",
            Kind::XfailAdded => "tests are now expected to fail",
            _ => "tests that ran are skipped now",
        };
        let test = if let [only] = tests.as_slice() { Some(only.id.clone()) } else { None };
        let after =
            if tests.len() > 1 { format!("{} ({} tests)", marker.text, tests.len()) } else { marker.text.clone() };
        out.push(Finding {
            test,
            after: Some(after),
            ..plain(Severity::Hold, kind, &path, Some(marker.line), message)
        });
    }
}
