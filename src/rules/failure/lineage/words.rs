//! The words that the reading of a command knows. Each table is one text of words.

/// Flags of wrappers that take the next word.
pub const WRAPPER_VALUES: &str = "\
    -k -s -n -u -p -c -i -o --with --signal --kill-after --extra --group --package --python";

/// Flags that change how a result looks or how fast it comes, not what is checked.
pub const SHOWN: &str = "\
    -v -vv -vvv -q -qq --quiet --verbose --no-color --nocapture --no-capture --show-output --no-header \
    --no-summary --showlocals -l --full-trace -x --exitfirst --bail --fail-fast --no-fail-fast --ff \
    --failed-first --nf --lf --last-failed --runInBand -i --ci --silent --no-coverage --coverage --pretty \
    --stacktrace --info --debug -B --batch-mode -e -ntp --no-transfer-progress -json --json --locked \
    --offline --frozen --watchAll=false --watch=false --no-watch --run -count=1 -failfast --exact-output \
    --no-progress --no-cache --colors --expand --detectOpenHandles --forceExit -rA -ra -rf -rN -rfE -rs \
    --include-ignored-output --output-on-failure -V --no-cov --nologo --no-pager -shuffle=on -shuffle=off \
    --no-daemon --scan --continue -k --keep-going";

/// The same with a value, glued by `=` or as the next word.
pub const SHOWN_VALUES: &str = "\
    --color --colour --tb --reporter --reporters --message-format --progress --durations --maxfail -j --jobs \
    --test-threads --workers --maxWorkers --max-workers --format --console --timeout -timeout -parallel \
    --verbosity --capture --show-capture --log-level --loglevel --junitxml --junit-xml --cov-report --cov \
    -count --output-format --error-format --status-level --final-status-level --failure-output \
    --success-output --success-output --retries --randomly-seed --seed --log-cli-level --output --logger \
    --testTimeout --target-dir --profile -shuffle --test-reporter --parallel";

/// Programs whose first plain word names what they do.
pub const WITH_SUBCOMMAND: &str = "\
    cargo go npm yarn pnpm bun dotnet git nx turbo deno docker kubectl helm terraform bazel rails mix swift \
    flutter dart zig poetry uv pip biome ruff golangci-lint vitest playwright just task composer hatch \
    pre-commit";

/// Programs that run the program behind them.
pub const WRAPPERS: &str = "\
    timeout gtimeout time nice ionice env nohup stdbuf sudo command exec xvfb-run caffeinate unbuffer \
    chronic setsid npx bunx pnpx retry faketime cross-env dotenv then do if !";

/// Those with one word of their own before it.
pub const WRAPPERS_WITH_ARGUMENT: &str = "\
    timeout gtimeout faketime";

/// Programs that run another behind this second word: `poetry run`.
pub const RUNNERS: &str = "\
    pnpm:exec pnpm:dlx yarn:exec yarn:dlx npm:exec npm:x poetry:run uv:run pipenv:run hatch:run rye:run \
    pdm:run bundle:exec bun:x mise:exec mise:x direnv:exec tox:exec";

/// Selectors that take the next word.
pub const NAMING: &str = "\
    --test --bin --example --bench --package --features --manifest-path -run --filter --testNamePattern \
    --grep --tests --project -f -E -R --exclude --config -c --workspace-root";

/// Says whether `table` holds `word`.
pub fn among(table: &str, word: &str) -> bool {
    table.split_whitespace().any(|one| one == word)
}
