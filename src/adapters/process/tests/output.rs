//! What a run reads and writes: no input, no terminal, a scrubbed environment, bounded and redacted output.

use super::*;
use crate::domain::digest::Digest;
use crate::ports::runner::{DEFAULT_OUTPUT_BYTES, Ended, Streams};

#[test]
fn there_is_no_input_and_no_terminal() {
    let _beside = beside_others();
    let outcome = run(
        "cat; readlink /proc/self/fd/0; (: </dev/tty) 2>/dev/null || echo no terminal; ls -l /proc/self/fd | wc -l",
    );
    assert_eq!(outcome.ended, Ended::Exited { code: 0 }, "{}", outcome.output.text);
    assert!(outcome.output.text.starts_with("/dev/null\nno terminal\n"), "{}", outcome.output.text);
}

#[test]
fn the_environment_is_scrubbed_and_what_it_hid_does_not_come_back() {
    let _beside = beside_others();
    let planted = [
        ("GIT_DIR", "/nowhere"),
        ("MY_TOKEN", "tok-123456789"),
        ("LD_PRELOAD", ""),
        ("BASH_ENV", "/nowhere"),
        ("PLAIN", "yes"),
    ];
    let mut invocation =
        shell("echo \"$GIT_DIR|$MY_TOKEN|$BASH_ENV|$PLAIN|$CI|$TERM|$GIT_TERMINAL_PROMPT|$EXTRA\"; echo tok-123456789");
    invocation.set_env = vec![("EXTRA".into(), "set".into())];
    let outcome = supervisor_with(&planted).run(&invocation, &mut |_| ());
    assert_eq!(outcome.output.text, "|||yes|1|dumb|0|set\n[redacted:known]\n");
    assert_eq!(outcome.output.redactions, 1);
    invocation.pass_env = vec!["MY_TOKEN".into()];
    let outcome = supervisor_with(&planted).run(&invocation, &mut |_| ());
    assert_eq!(outcome.output.text, "|[redacted:known]||yes|1|dumb|0|set\n[redacted:known]\n");
}

#[test]
fn both_streams_are_one_in_order_or_two() {
    let _beside = beside_others();
    let text = "echo 1; echo 2 >&2; echo 3; echo 4 >&2";
    let merged = run(text);
    assert_eq!((merged.output.text.as_str(), merged.stderr), ("1\n2\n3\n4\n", None));
    let apart = supervisor().run(&Invocation { streams: Streams::Apart, ..shell(text) }, &mut |_| ());
    assert_eq!(apart.output.text, "1\n3\n");
    assert_eq!(apart.stderr.expect("it is kept").text, "2\n4\n");
}

#[test]
fn of_much_output_the_head_and_the_tail_are_kept() {
    let _beside = beside_others();
    let mut shown = 0;
    let outcome =
        supervisor().run(&shell("echo first; yes 0123456789 | head -c 50000000; echo; echo last"), &mut |text| {
            shown += text.len() as u64;
        });
    let output = outcome.output;
    assert_eq!(outcome.ended, Ended::Exited { code: 0 });
    assert_eq!((output.bytes_total, shown), (50_000_012, 50_000_012));
    assert!(output.text.starts_with("first\n0123") && output.text.ends_with("\nlast\n"));
    assert!(output.text.len() <= DEFAULT_OUTPUT_BYTES + 100);
    assert!(output.text.contains(&format!("[kctl: {} bytes are not kept here]", output.bytes_omitted)));
    assert_eq!(output.digest, Digest::of(output.text.as_bytes()));
}

#[test]
fn a_flood_on_both_streams_does_not_lock_up() {
    let _beside = beside_others();
    let text = "head -c 3000000 /dev/zero | tr '\\0' a & head -c 3000000 /dev/zero | tr '\\0' b >&2; wait";
    let outcome = supervisor().run(&Invocation { streams: Streams::Apart, ..shell(text) }, &mut |_| ());
    assert_eq!(outcome.output.bytes_total, 3_000_000);
    assert_eq!(outcome.stderr.expect("it is kept").bytes_total, 3_000_000);
}

#[test]
fn binary_output_is_kept_as_text_and_flagged() {
    let _beside = beside_others();
    let outcome = run(r"printf '\xff\xfe\0\x01ok\n\xe2\x82'; printf '\033[31mred\033[0m\n'");
    assert_eq!(outcome.output.text, "\u{fffd}\u{fffd}ok\n\u{fffd}red\n");
    assert!(outcome.output.invalid_utf8);
    let outcome = run("head -c 2000000 /dev/urandom");
    assert!(outcome.output.invalid_utf8 && outcome.output.bytes_total == 2_000_000);
}

#[test]
fn output_is_shown_as_it_comes() {
    let _beside = beside_others();
    let mut pieces = Vec::new();
    let outcome = supervisor()
        .run(&shell("echo one; sleep 0.3; echo two"), &mut |piece| pieces.push((Instant::now(), piece.to_owned())));
    assert_eq!(outcome.output.text, "one\ntwo\n");
    assert!(pieces.len() == 2 && pieces[1].0 - pieces[0].0 > Duration::from_millis(200), "{pieces:?}");
}
