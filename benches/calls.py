#!/usr/bin/env python3
"""Times whole calls of the release build beside their floors, and prints a table of medians and ratios.

    benches/calls.py [--runs N] [--sizes 10,1000,10000] [--files 10000] [--only PART,...]

Parts: start, tasks, context, validate, workspace. Runs of a call and of its floor alternate, so that a busy machine is
busy for both. It reports; it never fails on a clock. Needs `cargo build --release --locked --examples` first.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.environ.get("CARGO_TARGET_DIR", os.path.join(TOP, "target"))
KCTL = os.path.join(OUT, "release", "kctl")
EMPTY = os.path.join(OUT, "release", "examples", "floor_empty")
SQLITE = os.path.join(OUT, "release", "examples", "floor_sqlite")


def environment(home):
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")
           for part, value in (("NAME", "ada"), ("EMAIL", "ada@example.invalid"))}
    return {**kept, **who, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state"), "GIT_CONFIG_NOSYSTEM": "1"}


class Place:
    """A repository with a bare remote, adopted by kctl."""

    def __init__(self, top, name, files=0):
        self.dir = os.path.join(top, name, "repo")
        self.env = environment(os.path.join(top, name, "home"))
        os.makedirs(self.dir)
        remote = os.path.join(top, name, "remote.git")
        self.run("git", "init", "-q", "--bare", "-b", "main", remote)
        self.run("git", "init", "-q", "-b", "main")
        self.run("git", "remote", "add", "origin", remote)
        for number in range(files):
            path = os.path.join(self.dir, f"src/part{number % 100}/file{number}.rs")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(f"/// Takes part {number} of the work.\npub fn part_{number}(value: u64) -> u64 {{\n    value + {number}\n}}\n")
        self.write("check.sh", "exit 0\n")
        self.write(".decapod/kctl.toml", 'version = 1\n[checks.tests]\nrun = "sh check.sh"\n')
        self.run("git", "add", "-A")
        self.run("git", "commit", "-q", "-m", "first")
        self.run("git", "push", "-q", "-u", "origin", "main")
        self.run("git", "remote", "set-head", "origin", "-a")
        self.kctl("init", "--no-agents")
        self.session = self.kctl("session", "acquire", "--agent", "ada")["session"]
        self.env["KCTL_SESSION"] = self.session

    def write(self, path, text):
        full = os.path.join(self.dir, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as file:
            file.write(text)

    def run(self, *args, **more):
        done = subprocess.run(args, cwd=more.pop("cwd", self.dir), env=self.env, capture_output=True, **more)
        if done.returncode:
            sys.exit(f"{args}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
        return done.stdout

    def kctl(self, *args):
        return json.loads(self.run(KCTL, *args, "--json"))["data"]

    def create(self, count):
        ids = []
        while len(ids) < count:
            batch = [{"jsonrpc": "2.0", "id": n, "method": "task.create", "params": {"title": f"task {n}"}}
                     for n in range(min(100, count - len(ids)))]
            answers = json.loads(self.run(KCTL, "rpc", input=json.dumps(batch).encode()))
            ids += [answer["result"]["data"]["id"] for answer in answers]
        return ids


def once(args, cwd, env):
    begun = time.perf_counter()
    done = subprocess.run(args, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    spent = (time.perf_counter() - begun) * 1000
    if done.returncode:
        sys.exit(f"{args}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
    return spent


def pair(rows, name, call, floor_name, floor, place, runs, budget):
    """`call` and `floor` give the words of the next run."""
    ours, theirs = [], []
    for warm in (True,) + (False,) * runs:
        ours.append(once(call(), place.dir, place.env))
        theirs.append(once(floor(), place.dir, place.env))
        if warm:
            ours, theirs = [], []
    a, b = statistics.median(ours), statistics.median(theirs)
    rows.append((name, a, min(ours), floor_name, b, a / b, budget))
    print("| %s | %.2f (%.2f) | %s | %.2f | %.2f | %s |" % (name, a, min(ours), floor_name, b, a / b, budget), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=31)
    parser.add_argument("--sizes", default="10,1000,10000")
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--only", default="start,tasks,context,validate,workspace")
    asked = parser.parse_args()
    only, rows = asked.only.split(","), []
    top = tempfile.mkdtemp(prefix="kctl-bench-")
    db = os.path.join(top, "floor.db")
    print("| call | median ms (min) | floor | median ms | ratio | budget |\n|---|---|---|---|---|---|")
    try:
        if "start" in only:
            place = Place(top, "start")
            pair(rows, "`kctl --version`", lambda: [KCTL, "--version"], "empty program", lambda: [EMPTY], place, asked.runs, "≤ 1.5")
        if "tasks" in only:
            for size in [int(size) for size in asked.sizes.split(",")]:
                place = Place(top, f"tasks{size}")
                ids = place.create(size)
                read, write = (lambda: [SQLITE, "read", db]), (lambda: [SQLITE, "write", db])
                once([SQLITE, "write", db], place.dir, place.env)
                pair(rows, f"`task ready` of {size:,}", lambda: [KCTL, "task", "ready"], "SQLite opened", read, place, asked.runs, "≤ 3, < 10 ms")
                pair(rows, f"`task show` of {size:,}", lambda: [KCTL, "task", "show", ids[0]], "SQLite opened", read, place, asked.runs, "≤ 3, < 10 ms")
                pair(rows, f"`task create` at {size:,}", lambda: [KCTL, "task", "create", "one more"], "SQLite synced row", write, place, asked.runs, "≤ 2")
                spare = iter(place.create(asked.runs + 1))
                pair(rows, f"`task claim` at {size:,}", lambda: [KCTL, "task", "claim", next(spare)], "SQLite synced row", write, place, asked.runs, "≤ 2")
        if {"context", "validate", "workspace"} & set(only):
            place = Place(top, "files", asked.files)
            task = place.create(1)[0]
            place.kctl("task", "claim", task)
            status = lambda: ["git", "status", "--porcelain"]
        if "context" in only:
            for _ in range(20):
                if not place.kctl("context", "resolve", task)["coverage"].get("partial"):
                    break
            pair(rows, f"`context resolve`, {asked.files:,} files, warm", lambda: [KCTL, "context", "resolve", task, "--query", "takes part of the work"], "`git status`", status, place, asked.runs, "≤ 50 ms at 100,000 files")
        if "validate" in only:
            place.kctl("validate", "--scope", "branch")
            pair(rows, f"`validate`, all fresh, {asked.files:,} files", lambda: [KCTL, "validate", "--scope", "branch"], "`git status`", status, place, asked.runs, "≤ 2")
            pair(rows, f"`turn end`, {asked.files:,} files", lambda: [KCTL, "turn", "end", task], "`git status`", status, place, asked.runs, "≤ 2")
        if "workspace" in only:
            tasks, count = place.create(8), [0]
            for one in tasks:
                place.kctl("task", "claim", one)
            spare = iter(tasks)

            def add():
                count[0] += 1
                return ["git", "worktree", "add", "-q", "--no-track", "-b", f"plain{count[0]}", os.path.join(top, f"plain{count[0]}"), "origin/main"]
            pair(rows, f"`workspace ensure`, {asked.files:,} files", lambda: [KCTL, "workspace", "ensure", next(spare)], "`git worktree add`", add, place, 7, "–")
    finally:
        shutil.rmtree(top, ignore_errors=True)


main()
