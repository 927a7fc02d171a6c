//! Where Python's own `unittest` has to start to find the tests that there are. Started elsewhere it finds none, and
//! says that all is well.

use std::collections::{BTreeMap, BTreeSet};

use super::TreeFacts;

/// How many files of tests are read: so many below one place to start, and so many in all.
const MAX_READ_EACH: usize = 5;
const MAX_READ: usize = 40;

/// Directories whose tests are not the project's own.
const FOREIGN: &[&str] = &["node_modules", "vendor", "third_party", "testdata", "fixtures", "site-packages", "venv"];

/// The files of tests that are read to see whose they are.
pub fn wanted(paths: &BTreeSet<String>) -> Vec<String> {
    let starts = starts(paths, "");
    starts.into_values().flat_map(|files| files.into_iter().take(MAX_READ_EACH)).take(MAX_READ).collect()
}

/// The places to start in the project in `dir`, as paths from there (empty: `dir` itself), each with a file that shows it.
/// None where a file asks for pytest: unittest could not run that.
pub fn places(facts: &TreeFacts, dir: &str) -> Vec<(String, String)> {
    let starts = starts(&facts.paths, dir);
    let says = |path: &String, module: &str| facts.content(path).is_some_and(|text| imports(text, module));
    if starts.values().flatten().any(|path| says(path, "pytest")) {
        return Vec::new();
    }
    let shown = |(start, files): (String, Vec<String>)| {
        files.into_iter().find(|path| says(path, "unittest")).map(|path| (start, path))
    };
    starts.into_iter().filter_map(shown).collect()
}

/// The files of tests below `dir` by the place that unittest finds them from: the nearest directory above that is no
/// package, for it goes into packages only.
fn starts(paths: &BTreeSet<String>, dir: &str) -> BTreeMap<String, Vec<String>> {
    let below = if dir.is_empty() { String::new() } else { format!("{dir}/") };
    let mut starts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in paths.range(below.clone()..).take_while(|path| path.starts_with(&below)) {
        let inside = &path[below.len()..];
        let (mut start, name) = inside.rsplit_once('/').unwrap_or(("", inside));
        let is_test = name.starts_with("test") && name.strip_suffix(".py").is_some_and(is_module);
        if !is_test || start.split('/').any(|part| part.starts_with('.') || FOREIGN.contains(&part)) {
            continue;
        }
        while !start.is_empty() && paths.contains(&format!("{below}{start}/__init__.py")) {
            start = start.rsplit_once('/').map_or("", |(above, _)| above);
        }
        starts.entry(start.to_owned()).or_default().push(path.clone());
    }
    starts
}

/// Whether unittest takes a file of this name, without its ending, for a module.
fn is_module(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn imports(text: &str, module: &str) -> bool {
    text.lines().filter_map(|line| line.trim_start().split_once(' ')).any(|(word, rest)| {
        let rest = rest.trim_start();
        let named =
            rest.strip_prefix(module).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        named && matches!(word, "import" | "from")
    })
}
