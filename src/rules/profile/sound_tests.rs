use super::super::read;

fn keys(body: &str) -> Vec<String> {
    match read(format!("version = 1\n{body}").as_bytes()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(|fault| fault.key().unwrap_or("-").to_owned()).collect(),
    }
}

fn said(body: &str) -> String {
    read(format!("version = 1\n{body}").as_bytes()).expect_err("it must be refused").to_string()
}

#[test]
fn a_value_that_cannot_be_accepted_names_its_key() {
    let check = "[checks.a]\nrun='make check'\n";
    let cases = [
        (format!("{check}inputs=[]"), "checks.a.inputs"),
        (format!("{check}inputs=['../x/**']"), "checks.a.inputs"),
        (format!("{check}inputs=['/etc/**']"), "checks.a.inputs"),
        (format!("{check}inputs=['!docs/**']"), "checks.a.inputs"),
        (format!("{check}inputs=['src/[']"), "checks.a.inputs"),
        (format!("{check}inputs=['']"), "checks.a.inputs"),
        (format!("{check}timeout='2d'"), "checks.a.timeout"),
        (format!("{check}env=['GIT_DIR']"), "checks.a.env"),
        (format!("{check}env=['A=1']"), "checks.a.env"),
        (format!("{check}needs=['b']"), "checks.a.needs"),
        ("[checks.a]\nrun=''".into(), "checks.a.run"),
        ("[checks.a]\nrun=[]".into(), "checks.a.run"),
        ("[checks.a]\nrun=['']".into(), "checks.a.run"),
        ("[checks.a]\nrun=\"make \\u0000\"".into(), "checks.a.run"),
        ("[workspace]\ndir='~/work'".into(), "workspace.dir"),
        ("[workspace]\ndir='.git/work'".into(), "workspace.dir"),
        ("[workspace]\ncopy=['../.env']".into(), "workspace.copy"),
        ("[workspace]\ncopy=['/etc/passwd']".into(), "workspace.copy"),
        ("[workspace]\ncopy=['.git/config']".into(), "workspace.copy"),
        ("[workspace]\nsetup=['']".into(), "workspace.setup"),
        ("[publish]\nremote='--upload-pack=x'".into(), "publish.remote"),
        ("[publish]\nbase='a..b'".into(), "publish.base"),
        ("[publish]\nprotected=['[']".into(), "publish.protected"),
        ("[tasks]\nlease='31d'".into(), "tasks.lease"),
        (format!("{check}report='/tmp/junit.xml'"), "checks.a.report"),
        (format!("{check}report='../junit.xml'"), "checks.a.report"),
        (format!("{check}kind='test'\nmin_tests=0"), "checks.a.min_tests"),
        (format!("{check}kind='lint'\nmin_tests=1"), "checks.a.min_tests"),
        (format!("{check}network=true\nisolation='none'"), "checks.a.network"),
        (format!("{check}parser='nose'"), "checks.a.parser"),
        (format!("{check}isolation='full'"), "checks.a.isolation"),
        ("[limits]\nparallel=0".into(), "limits.parallel"),
        ("[limits]\nparallel=65".into(), "limits.parallel"),
        ("[sandbox]\nwritable=['/']".into(), "sandbox.writable"),
        ("[sandbox]\nwritable=['~']".into(), "sandbox.writable"),
        ("[sandbox]\nwritable=['~other/x']".into(), "sandbox.writable"),
        ("[sandbox]\nwritable=['.git/hooks']".into(), "sandbox.writable"),
    ];
    for (body, key) in cases {
        assert_eq!(keys(&body), [key], "{body}");
    }
}

#[test]
fn a_directory_for_worktrees_may_lie_outside() {
    for dir in ["../project.work", "/var/tmp/work", "trees"] {
        assert_eq!(keys(&format!("[workspace]\ndir='{dir}'")), [""; 0], "{dir}");
    }
}

#[test]
fn a_circle_of_needs_is_spelled_out() {
    let body = "[checks.a]\nrun='make a'\nneeds=['b']\n[checks.b]\nrun='make b'\nneeds=['c']\n\
                [checks.c]\nrun='make c'\nneeds=['b']\n[checks.d]\nrun='make d'\n";
    assert!(said(body).contains("`checks.b.needs` goes round in a circle: b → c → b"), "{}", said(body));
    assert!(said("[checks.a]\nrun='make a'\nneeds=['a']\n").contains("a → a"));
}

#[test]
fn a_command_that_cannot_fail_is_refused_by_name() {
    let text = said("[checks.a]\nrun='make check || true'\n");
    assert_eq!(
        text,
        "line 3: `checks.a.run` cannot fail: its last part, `|| true`, hides the exit status; write a command whose \
         exit status answers"
    );
}

#[test]
fn all_faults_are_listed_in_the_order_of_the_text() {
    let body = "[tasks]\nlease='31d'\n[checks.a]\nrun='true'\ntimeout='25h'\n";
    assert_eq!(keys(body), ["tasks.lease", "checks.a.run", "checks.a.timeout"]);
}
