//! Maven's surefire, gradle's tests, javac.

use super::found::{Draft, Found};
use super::jest::cause;
use crate::domain::failure::{Kind, Tests};
use crate::rules::failure::mask::{pattern, volatile};
use crate::rules::failure::path;
use crate::rules::failure::text::Text;

pattern!(OLD, r"^(?:\[ERROR\] )?\s*([^\s(]+)\(([\w.$]+)\)\s+Time elapsed: .*<<< (?:FAILURE|ERROR)!");
pattern!(
    NEW,
    r"^(?:\[ERROR\] )?\s*([\w.$]+)\.([^\s.]+(?:\(.*?\))?(?:\[.*\])?) -- Time elapsed: .*<<< (?:FAILURE|ERROR)!"
);
pattern!(SHORT, r"^\[ERROR\]   ([\w.$]+?)(?::\d+|->\S+)* (?:»\s*)?(.*)$");
pattern!(TOTAL, r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$");
pattern!(FRAME, r"^\s+at (?:[\w.]+/)?([\w.$]+)\(([\w$]+\.(?:java|kt|scala|groovy)):(\d+)\)");
pattern!(GRADLE, r"^(\S.*) > (.+?) (FAILED|SKIPPED|PASSED)$");
pattern!(GRADLE_TOTAL, r"^(\d+) tests? completed, (\d+) failed(?:, (\d+) skipped)?");
pattern!(
    JAVAC,
    r"^((?:[A-Za-z]:)?[^:]+?\.(?:java|kt|scala)):(?:\[(\d+),\d+\]|(\d+):(?:\d+:)?) (?:(error|warning): )?(.+)$"
);
pattern!(KOTLIN, r"^([ew]): (?:file://)?(.+\.kts?):(\d+):\d+:? (.+)$");
pattern!(SYMBOL, r"^(?:\[ERROR\])?\s+(symbol|location|required|found|reason): +(.+)$");

/// How many lines one stack may take.
const MAX_STACK_LINES: usize = 300;

pub fn read_surefire(text: &Text<'_>, found: &mut Found) {
    if !text.has("Tests run:") {
        return;
    }
    let before = found.len();
    let mut total = None;
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(sum) = line.contains("Tests run:").then(|| TOTAL.captures(line)).flatten() {
            let n = |i: usize| -> u64 { sum[i].parse().unwrap_or(0) };
            let failed = n(2).saturating_add(n(3));
            total = Some(Tests::of(n(1).saturating_sub(failed).saturating_sub(n(4)), failed, n(4)));
        } else if line.contains("<<<")
            && let Some(id) = surefire_id(line)
        {
            let end = stack_end(text, at + 1);
            let told = text.line(at + 1);
            found.push(
                Draft::test(id).cause(java_cause(told)).at(own_frame(&text.lines[at + 1..end]).0, None).message(told),
            );
            text.claim(at, end);
        }
    }
    if found.len() == before {
        short_list(text, found);
    }
    if let Some(total) = total {
        found.count(total);
    }
}

fn surefire_id(line: &str) -> Option<String> {
    if let Some(old) = OLD.captures(line) {
        return Some(format!("{}.{}", &old[2], old[1].trim_end_matches("()")));
    }
    NEW.captures(line).map(|new| format!("{}.{}", &new[1], new[2].trim_end_matches("()")))
}

/// The closing list names classes without packages: it counts only where nothing else names the tests.
fn short_list(text: &Text<'_>, found: &mut Found) {
    for (_, line) in text.open().filter(|(_, line)| line.starts_with("[ERROR]   ")).collect::<Vec<_>>() {
        if let Some(short) = SHORT.captures(line).filter(|short| short[1].contains('.')) {
            found.push(Draft::test(&short[1]).cause(cause(&short[2])));
        }
    }
}

fn stack_end(text: &Text<'_>, from: usize) -> usize {
    let to = text.lines.len().min(from + MAX_STACK_LINES);
    (from..to)
        .find(|at| text.line(*at).is_empty() || text.line(*at).starts_with("[INFO]") || text.line(*at).contains("<<<"))
        .unwrap_or(to)
}

/// Names a Java exception: its class without the package, and its message without compared values.
fn java_cause(told: &str) -> String {
    let (class, message) = told.trim().split_once(": ").unwrap_or((told.trim(), ""));
    let class = class.rsplit('.').next().unwrap_or(class);
    cause(format!("{class}: {message}").trim_end_matches([':', ' ']))
}

fn own_frame(lines: &[&str]) -> (String, String) {
    let library = [
        "java.",
        "javax.",
        "jdk.",
        "sun.",
        "org.junit.",
        "org.testng.",
        "org.hamcrest.",
        "org.assertj.",
        "org.opentest4j.",
        "junit.",
        "org.mockito.",
        "kotlin.",
        "scala.",
        "org.gradle.",
        "org.apache.maven.",
    ];
    let frame = lines
        .iter()
        .filter_map(|line| FRAME.captures(line))
        .find(|frame| !library.iter().any(|start| frame[1].starts_with(start)));
    frame.map(|frame| (frame[2].to_owned(), frame[1].to_owned())).unwrap_or_default()
}

/// A Java stack outside of any test.
pub fn crash(text: &Text<'_>, found: &mut Found) {
    for (at, line) in text.open().filter(|(_, line)| line.starts_with("Exception in thread ")).collect::<Vec<_>>() {
        let end = stack_end(text, at + 1);
        let (file, function) = own_frame(&text.lines[at..end]);
        let told = line.splitn(3, '"').nth(2).unwrap_or(line).trim();
        found.push(
            Draft::new(Kind::Panic, format!("{file}:{function}")).cause(java_cause(told)).at(file, None).message(told),
        );
    }
}

pub fn read_gradle(text: &Text<'_>, found: &mut Found) {
    if !text.has(" > ")
        || !(text.has("Gradle") || text.has("gradle") || text.has("BUILD FAILED") || text.has("tests completed"))
    {
        return;
    }
    let mut module = "";
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(sum) = line.contains("completed").then(|| GRADLE_TOTAL.captures(line)).flatten() {
            let n = |i: usize| -> u64 { sum.get(i).and_then(|n| n.as_str().parse().ok()).unwrap_or(0) };
            found.count(Tests::of(n(1).saturating_sub(n(2)).saturating_sub(n(3)), n(2), n(3)));
        } else if let Some(task) = line.strip_prefix("> Task ") {
            // `:core:test` is a task of the module `:core`; that of the whole build has no name.
            let path = task.split(' ').next().unwrap_or_default();
            module = path.rsplit_once(':').map_or("", |(module, _)| module);
        } else if let Some(test) = line.ends_with("FAILED").then(|| GRADLE.captures(line)).flatten() {
            let end = stack_end(text, at + 1);
            let told = text.line(at + 1).trim();
            let place = told.split(" at ").nth(1).map(|place| place.split(':').next().unwrap_or(place).to_owned());
            let class = java_cause(told.split(" at ").next().unwrap_or(told));
            let id = format!("{}.{}", test[1].replace(" > ", "."), test[2].trim_end_matches("()"));
            let id = if module.is_empty() { id } else { format!("{module} {id}") };
            found.push(Draft::test(id).cause(class).at(place.unwrap_or_default(), None).message(told));
            text.claim(at, end);
        }
    }
}

pub fn read_javac(text: &Text<'_>, found: &mut Found) {
    let ours = |line: &str| {
        line.contains(".java:") || line.contains(".kt:") || line.contains(".scala:") || line.contains(".kts:")
    };
    for (at, line) in text.open().filter(|(_, line)| ours(line)).collect::<Vec<_>>() {
        if let Some(kotlin) = KOTLIN.captures(line) {
            push(found, &kotlin[1] == "w", &kotlin[2], kotlin[3].parse().ok(), &kotlin[4]);
        } else if let Some(java) =
            JAVAC.captures(after_task(line.trim_start_matches("[ERROR] ").trim_start_matches("[WARNING] ")))
        {
            let bracketed = java.get(2).is_some();
            if !bracketed && java.get(4).is_none() || line.starts_with("\tat ") {
                continue;
            }
            let number = java.get(2).or(java.get(3)).and_then(|n| n.as_str().parse().ok());
            let is_warning =
                java.get(4).is_some_and(|word| word.as_str() == "warning") || line.starts_with("[WARNING]");
            let symbol = symbol(text, at + 1);
            push(found, is_warning, &java[1], number, format!("{} {symbol}", &java[5]).trim());
            text.claim(at, at + 1);
        }
    }
}

/// Gradle may print `:compileJava` without an end before the file.
fn after_task(line: &str) -> &str {
    match line.strip_prefix(':').and_then(|rest| rest.find('/').map(|at| &rest[at..])) {
        Some(file) => file,
        None => line,
    }
}

/// What `cannot find symbol` looked for stands in the lines below.
fn symbol(text: &Text<'_>, from: usize) -> String {
    let lines = (from..text.lines.len().min(from + 6)).map(|at| text.line(at)).take_while(|line| !JAVAC.is_match(line));
    let told = lines.filter_map(|line| SYMBOL.captures(line)).filter(|told| &told[1] != "location");
    told.map(|told| format!("{}: {}", &told[1], &told[2])).collect::<Vec<_>>().join(" ")
}

fn push(found: &mut Found, is_warning: bool, file: &str, line: Option<u32>, message: &str) {
    let file = path::stable(file);
    let draft =
        Draft::new(Kind::Compiler, format!("javac {file}")).cause(volatile(message)).at(file, line).message(message);
    if is_warning { found.warnings.push(draft) } else { found.push(draft) }
}
