use super::{RedactionStream, Redactor};
use crate::domain::secret::Redaction as _;

use proptest::prelude::*;

fn redact(text: &str) -> String {
    Redactor::default().redact(text).0
}

/// In pieces of `size` characters.
fn piecewise(mut stream: RedactionStream, text: &str, size: usize) -> (String, u32) {
    let mut out = String::new();
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(size) {
        stream.push(&piece.iter().collect::<String>(), &mut out);
    }
    stream.finish(&mut out);
    (out, stream.count())
}

/// Made here, so that no file of this repository holds anything that a scanner takes for a secret.
fn random(length: usize) -> String {
    let alphabet: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
    (0..length).map(|at| alphabet[(at * 37 + at * at * 11 + 5) % alphabet.len()]).collect()
}

fn hex(length: usize) -> String {
    (0..length).map(|at| char::from_digit(((at * 7 + at * at * 3 + 2) % 16) as u32, 16).expect("under 16")).collect()
}

#[test]
fn tokens_are_known_by_the_shape_that_their_issuer_gave_them() {
    let upper = random(40).to_uppercase();
    let cases = [
        ("aws-access-key", format!("AKIA{}", &upper[..16])),
        ("github", format!("ghp_{}", random(36))),
        ("github", format!("github_pat_{}_{}", random(22), random(59))),
        ("gitlab", format!("glpat-{}", random(20))),
        ("slack", format!("xoxb-123456789012-123456789012-{}", random(24))),
        ("openai", format!("sk-{}", random(48))),
        ("openai", format!("sk-proj-{}", random(90))),
        ("anthropic", format!("sk-ant-api03-{}", random(90))),
        ("google-api-key", format!("AIza{}", random(35))),
        ("npm", format!("npm_{}", random(36))),
        ("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", random(90))),
        ("jwt", format!("eyJ{}.eyJ{}.{}", random(30), random(60), random(43))),
        ("stripe", format!("sk_live_{}", random(24))),
        ("hugging-face", format!("hf_{}", random(34))),
        ("kctl-session", format!("s-7k2q9d0abcxz.{}", hex(64))),
        ("kctl-session", format!("s-000000000000.{}", hex(64).to_uppercase())),
    ];
    for (family, token) in cases {
        for (before, after) in [("", ""), ("got ", " back"), ("\"", "\""), ("x=", "\n"), ("(", ")."), ("é", "é")] {
            let expected = format!("{before}[redacted:{family}]{after}");
            assert_eq!(redact(&format!("{before}{token}{after}")), expected, "{token}");
        }
    }
}

#[test]
fn secrets_are_known_by_where_they_stand() {
    let token = random(32);
    let cases = [
        (format!("Authorization: Bearer {token}"), "Authorization: Bearer [redacted:assigned]"),
        (format!("> authorization: Basic {token}=="), "> authorization: Basic [redacted:assigned]"),
        (format!("sent Bearer {token}."), "sent Bearer [redacted:bearer]"),
        ("password=hunter22x".to_owned(), "password=[redacted:assigned]"),
        ("\"db_password\": \"Tr0ub4dor&3\",".to_owned(), "\"db_password\": \"[redacted:assigned]\","),
        (r#"{\"password\":\"hunter22x\"}"#.to_owned(), r#"{\"password\":\"[redacted:assigned]\"}"#),
        (format!("export API_KEY='{token}'"), "export API_KEY='[redacted:assigned]'"),
        (format!("client_secret => {token}, next"), "client_secret => [redacted:assigned], next"),
        (format!("aws_secret_access_key = {token}+/abcd"), "aws_secret_access_key = [redacted:assigned]"),
        (format!("tool --token {token} run"), "tool --token [redacted:flag] run"),
        (format!("tool --token={token} run"), "tool --token=[redacted:assigned] run"),
        ("postgres://app:s3cr3t@db:5432/x".to_owned(), "postgres://app:[redacted:url-password]@db:5432/x"),
        (format!("https://{token}@example.com/a.git"), "https://[redacted:url-password]@example.com/a.git"),
        ("http://u:a@b@host/".to_owned(), "http://u:[redacted:url-password]@host/"),
    ];
    for (text, expected) in cases {
        assert_eq!(redact(&text), expected, "{text}");
    }
}

#[test]
fn ordinary_build_output_passes_untouched() {
    let (sha1, sha256) = (hex(40), hex(64));
    let lines = [
        format!("commit {sha1}"),
        format!("index {}..{} 100644", &sha1[..7], &sha1[7..14]),
        format!("sha256:{sha256}  target/debug/kctl"),
        format!("integrity sha512-{}==", random(86)),
        format!("checksum = \"{sha256}\""),
        "id: 0198f2c1-7b1e-7c3a-9d55-0123456789ab".to_owned(),
        format!("fixture: {}", random(400)),
        "   Compiling serde_token v1.0.2 (https://github.com/a/b?rev=1#abcdef12)".to_owned(),
        "error: expected identifier, found token: `}`".to_owned(),
        "token: String,  secret: &'static str, password: Option<String>".to_owned(),
        "let token = parse_token(input2)?;".to_owned(),
        "  password: config.database.password,".to_owned(),
        "PASS: tests/auth/login2.sh".to_owned(),
        "test auth::token::tests::a_token_of_32_chars ... ok".to_owned(),
        "src/password.rs:120:15: warning: unused".to_owned(),
        "src/secret.rs:12 token=$GITHUB_TOKEN password=${DB_PASSWORD} key={{ secrets.KEY1 }}".to_owned(),
        "password=******** secret=<hidden> token=%TOKEN1%".to_owned(),
        "--password-file /run/secrets/db1 --token-url https://a.b/c1".to_owned(),
        "ssh://git@github.com/a/b.git https://user@host.example/x http://localhost:8080/@scope/pkg".to_owned(),
        "sk-fading-circle sk-cube-grid1 task-ghp mask-1234567890".to_owned(),
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx AKIAXXXXXXXXXXXXXXXX".to_owned(),
        "-----BEGIN CERTIFICATE-----".to_owned(),
        "max_tokens=4096 tokens: 1234567890123456".to_owned(),
        "secret_name: projects/x1/secrets/y2".to_owned(),
        "if password == \"abcdefgh1\" { token != other1 }".to_owned(),
        format!("s-7k2q9d0abcxz tasks-7k2q9d0abcxz.{sha256} s-7k2q9d0abcxz.{sha256}0 s-il.{sha256}"),
        format!("s-7k2q9d0abcxz.{}", &sha256[..63]),
    ];
    for line in lines {
        assert_eq!(redact(&line), line);
    }
}

#[test]
fn a_known_value_is_found_anywhere_and_the_longest_wins() {
    let redactor = Redactor::new(&["correcthorse".into(), "correcthorsebattery".into(), "short".into()]);
    let (text, count) = redactor.redact("xcorrecthorsebatteryx correcthorse short");
    assert_eq!((text.as_str(), count), ("x[redacted:known]x [redacted:known] short", 2));
}

#[test]
fn a_known_value_of_several_lines_is_found_line_by_line() {
    let redactor = Redactor::new(&["first line of it\nsecond line of it".into()]);
    assert_eq!(
        redactor.redact("| first line of it\n| second line of it\n").0,
        "| [redacted:known]\n| [redacted:known]\n"
    );
}

fn key() -> String {
    let body: String = (0..20).map(|_| format!("{}\n", random(64))).collect();
    format!("-----BEGIN {kind} KEY-----\n{body}-----END {kind} KEY-----\n", kind = "RSA PRIVATE")
}

#[test]
fn a_private_key_goes_as_a_whole() {
    assert_eq!(redact(&format!("before\n{}after\n", key())), "before\n[redacted:private-key]\nafter\n");
    let indented: String = key().lines().map(|line| format!("12:00:01 INFO    {line}\n")).collect();
    assert_eq!(redact(&format!("{indented}after")), "12:00:01 INFO    [redacted:private-key]\nafter");
    let quoted = format!("{{\"key\":\"{}\",\"b\":1}}", key().replace('\n', "\\n"));
    assert_eq!(redact(&quoted), "{\"key\":\"[redacted:private-key]\\n\",\"b\":1}");
}

#[test]
fn a_lone_header_of_a_key_hides_nothing_that_follows() {
    let text = format!("-----BEGIN {} KEY-----\ntest a ... FAILED\nerror: 1 failed\n", "PRIVATE");
    assert_eq!(redact(&text), "[redacted:private-key]\ntest a ... FAILED\nerror: 1 failed\n");
}

#[test]
fn a_secret_that_is_split_between_pieces_is_found() {
    let text = format!("a\nghp_{} password=hunter22x\n{}b https://u:pw@h/\nend", random(36), key());
    let whole = Redactor::default().redact(&text);
    for size in [1, 2, 3, 7, 64, 1000] {
        assert_eq!(piecewise(Redactor::default().stream(), &text, size), whole, "in pieces of {size}");
    }
}

#[test]
fn a_secret_within_a_line_without_end_is_found_wherever_the_cut_falls() {
    let known = "a known value with spaces";
    let token = format!("ghp_{}", random(36));
    for offset in (60_000..70_000).step_by(499) {
        let filler = "lorem ipsum ".repeat(offset / 12 + 1);
        let line = format!("{} {token} password=hunter22x {known} {}", &filler[..offset], "dolor ".repeat(20_000));
        let (text, count) = piecewise(Redactor::new(&[known.into()]).stream(), &line, 8191);
        assert_eq!(count, 3, "at {offset}");
        assert!(!text.contains("ghp_") && !text.contains("hunter") && !text.contains("known value"), "at {offset}");
        assert!(text.ends_with("dolor "), "at {offset}");
    }
}

#[test]
fn a_secret_longer_than_what_is_held_is_dropped_to_its_end() {
    let text = format!("x password={} y", random(300_000));
    assert_eq!(piecewise(Redactor::default().stream(), &text, 10_000).0, "x password=[redacted:assigned] y");
}

#[test]
fn hostile_input_takes_linear_time() {
    const BYTES: usize = 160 * 1024;
    let units = [
        "ghp_",
        "github_pat_",
        "xoxb-",
        "eyJ-",
        "eyJaaaaaaaaaaaa.",
        "token=",
        "password=a",
        "://",
        "://a:",
        "a:b@",
        "--token ",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "bearer ",
        "authorization: ",
        "=",
        ":",
        "--",
        "sk-ant-",
        "\\\"",
    ];
    for unit in units {
        // Quadratic behaviour would take minutes here, and be seen.
        let text = unit.repeat(BYTES / unit.len());
        let (out, _) = piecewise(Redactor::new(&["aaaaaaaaaaaaaaaa".into()]).stream(), &text, 64 * 1024);
        assert!(out.len() <= 4 * text.len(), "{unit}");
    }
}

proptest! {
    #[test]
    fn any_text_without_secrets_is_the_same_in_any_pieces(text in "[a-f:=\\- \n\u{e9}]{0,400}", size in 1_usize..50) {
        let whole = Redactor::default().redact(&text);
        prop_assert_eq!(piecewise(Redactor::default().stream(), &text, size), whole);
    }

    #[test]
    fn nothing_that_comes_in_can_make_it_panic(text in "\\PC{0,200}", known in proptest::collection::vec("\\PC{0,20}", 0..4)) {
        let (out, _) = Redactor::new(&known).redact(&text);
        for value in known.iter().filter(|value| value.trim().len() >= 8 && !value.starts_with("-----")) {
            prop_assert!(!out.contains(value.as_str()) || "[redacted:]".contains(value.as_str()));
        }
    }
}
