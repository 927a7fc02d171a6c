//! The scripts that git runs. POSIX sh, built-ins, `cat` and `grep`; any path.

use std::path::Path;

use super::{FORMER_NAME, HookTool};

const MARK: &str = "# kctl:hook ";
/// The mark stands in one of the first lines.
const MARK_LINES: usize = 4;

/// Whether kctl wrote this script.
pub fn is_ours(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').take(MARK_LINES).any(|line| line.starts_with(MARK.as_bytes()))
}

/// The pre-push hook: the gate, then the former hook beside it, then that of `former` where hooks are redirected.
pub fn gate(kctl: &Path, former: Option<&Path>) -> Vec<u8> {
    let mut script = Script::new("pre-push");
    script.push(
        "\
# Asks kctl whether what is about to be pushed may be, then runs the hook that was here before with the same
# arguments and the same input. A no from kctl stops the push. A kctl that is missing or cannot be started does not:
# a missing program must not lock a person out of a repository. It is said aloud, the push counts as unverified,
# `kctl doctor` reports it, and what judges on the remote's side decides.

unset kctl_bin kctl_former kctl_here kctl_input kctl_status kctl_next kctl_mark
",
    );
    script.assign("kctl_bin", kctl);
    if let Some(former) = former {
        script.assign("kctl_former", former);
    }
    script.push(GATE);
    script.push(DEPTH);
    let beside = format!("\"$kctl_here/{FORMER_NAME}\"");
    let list = if former.is_some() { format!("{beside} \"$kctl_former/pre-push\"") } else { beside };
    let marks: Vec<String> = HookTool::ALL.iter().map(|tool| pattern(tool.mark())).collect();
    script.push(&FORMER.replace("@LIST@", &list).replace("@MARKS@", &marks.join(" ")));
    script.0
}

/// A pattern for `mark` that does not hold it: tools know their own hooks by these words, and must not take ours for one.
fn pattern(mark: &str) -> String {
    let (rest, last) = mark.split_at(mark.len() - 1);
    format!("'{rest}[{last}]'")
}

/// The hook `name` of a redirected repository: hands over to the hook of that name in `former`.
pub fn dispatcher(name: &str, former: &Path) -> Vec<u8> {
    let mut script = Script::new(name);
    script
        .push("# Hands over to the hook of this name in the directory that was in force before.\n\nunset kctl_next\n");
    script.assign("kctl_next", &former.join(name));
    script.push("[ -f \"$kctl_next\" ] && [ -x \"$kctl_next\" ] || exit 0\n");
    script.push(DEPTH);
    script.push("exec \"$kctl_next\" \"$@\"\n");
    script.0
}

const GATE: &str = r#"
case $0 in
*/*) kctl_here=${0%/*} ;;
*) kctl_here=. ;;
esac

# Both readers need the whole input; the dot keeps its last line end.
kctl_input=$(cat && printf .)
kctl_input=${kctl_input%.}

kctl_give() {
    printf '%s' "$kctl_input" 2>/dev/null | "$@"
}

if ! { [ -f "$kctl_bin" ] && [ -x "$kctl_bin" ]; }; then
    kctl_bin=$(command -v kctl)
fi
kctl_status=127
if [ -n "$kctl_bin" ]; then
    kctl_give "$kctl_bin" git-hook pre-push "$@"
    kctl_status=$?
fi
case $kctl_status in
0) ;;
126 | 127)
    echo 'kctl: THE PRE-PUSH GATE DID NOT RUN: kctl was not found or could not be started.' >&2
    echo 'kctl: this push was not judged and counts as unverified. Run `kctl init` to mend it.' >&2
    ;;
*) exit "$kctl_status" ;;
esac
"#;

/// Bounds hooks that call each other in a circle. The gate has run before this, so no value of it skips the gate.
const DEPTH: &str = r#"
case ${KCTL_HOOK_DEPTH:-0} in
[0-7]) ;;
*)
    echo 'kctl: hooks call each other in a circle; the former hook is not run again' >&2
    exit 0
    ;;
esac
KCTL_HOOK_DEPTH=$((${KCTL_HOOK_DEPTH:-0} + 1))
export KCTL_HOOK_DEPTH

"#;

const FORMER: &str = r#"for kctl_next in @LIST@; do
    [ -f "$kctl_next" ] && [ -x "$kctl_next" ] || continue
    # Under another name, this script was put aside by a tool that runs it before itself. That tool's own former hook
    # must not be run from here: it would find itself running already.
    if [ "${0##*/}" != pre-push ]; then
        for kctl_mark in @MARKS@; do
            if grep -q "$kctl_mark" "$kctl_here/pre-push" 2>/dev/null && grep -q "$kctl_mark" "$kctl_next"; then
                continue 2
            fi
        done
    fi
    kctl_give "$kctl_next" "$@" || exit $?
done
exit 0
"#;

struct Script(Vec<u8>);

impl Script {
    fn new(name: &str) -> Self {
        let mut script = Script(Vec::new());
        script.push("#!/bin/sh\n");
        script.push(&format!("{MARK}v1 {name}\n"));
        script.push("# Made by `kctl init`, taken back by `kctl uninstall`. It is written anew: edit the former hook instead.\n#\n");
        script
    }

    fn push(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Assigns a path as it is, whatever its bytes.
    fn assign(&mut self, name: &str, path: &Path) {
        self.push(&format!("{name}='"));
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'\'' => self.push(r"'\''"),
                byte => self.0.push(*byte),
            }
        }
        self.push("'\n");
    }
}
