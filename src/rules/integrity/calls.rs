//! Calls that change what a test is worth without being assertions: exits, skips, promises whose failure is dropped.

use super::chain::Chain;
use super::model::Language;
use super::syntax::Source;

pub(super) fn swallowed_promise(source: &Source, chain: &Chain<'_>) -> bool {
    let Some(last) = chain.segments.len().checked_sub(1) else { return false };
    if chain.name(last) != "catch" || !chain.is_call(last) {
        return false;
    }
    let Some(args) = chain.segments.get(last).and_then(|segment| segment.args.clone()) else { return false };
    args.len() > 1
        && !args
            .clone()
            .any(|at| matches!(source.word(at), "throw" | "expect" | "fail" | "done" | "reject" | "assert" | "next"))
}

/// A call that ends the process as if all were well.
pub(super) fn ends_with_success(source: &Source, chain: &Chain<'_>) -> bool {
    let Some(last) = chain.segments.len().checked_sub(1).filter(|last| chain.is_call(*last)) else { return false };
    let args = chain.args(last);
    let success = match args.as_slice() {
        [] => true,
        [only] => only.len() == 1 && matches!(source.word(only.start), "0" | "None" | "False" | "EX_OK" | "SUCCESS"),
        _ => false,
    };
    let path = chain.path();
    success
        && matches!(
            path.as_str(),
            "process.exit"
                | "Deno.exit"
                | "os._exit"
                | "sys.exit"
                | "pytest.exit"
                | "exit"
                | "quit"
                | "std.process.exit"
                | "process.reallyExit"
                | "os.Exit"
                | "System.exit"
                | "syscall.Exit"
        )
        && !(args.is_empty() && matches!(path.as_str(), "pytest.exit"))
        || path == "Runtime.getRuntime.halt" && success
}

/// `Some(false)`: the test is skipped; `Some(true)`: it is expected to fail.
pub(super) fn skip_call(source: &Source, chain: &Chain<'_>) -> Option<bool> {
    let last = chain.segments.len().checked_sub(1)?;
    if !chain.is_call(last) {
        return None;
    }
    let name = chain.name(last);
    let first = chain.name(0);
    let found = match source.language {
        Language::Python => match name {
            "skip" | "importorskip" => first == "pytest",
            "skipTest" => true,
            "SkipTest" => true,
            "xfail" if first == "pytest" && chain.segments.len() == 2 => return Some(true),
            _ => false,
        },
        Language::Go => matches!(name, "Skip" | "Skipf" | "SkipNow") && chain.segments.len() == 2,
        Language::Java => {
            matches!(name, "assumeTrue" | "assumeFalse" | "assumeThat" | "assumingThat" | "abort")
                || (name == "SkipException")
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            matches!(name, "skip" | "pending" | "todo")
                && matches!(first, "this" | "t" | "ctx" | "context" | "pending")
                && chain.segments.len() <= 2
        }
        Language::Rust => false,
    };
    found.then_some(false)
}
