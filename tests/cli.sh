#!/bin/sh
# The built program from outside: exit statuses, streams, hints. Prints TAP.
bin=$TOP_BUILDDIR/gatehouse
[ -x "$bin" ] || { echo "Bail out! $bin is not built"; exit 99; }
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
GATEHOUSE_HOME=$dir/home; export GATEHOUSE_HOME
unset OPENAI_API_KEY OPENROUTER_API_KEY TELEGRAM_BOT_TOKEN TELEGRAM_ALLOWED_USERS
n=0

# check NAME STATUS STDOUT-PATTERN STDERR-PATTERN ARG...  ("" = must be empty)
check() {
	name=$1 want=$2 out=$3 err=$4; shift 4
	n=$((n + 1))
	"$bin" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	ok=ok
	[ $got -eq "$want" ] || { ok='not ok'; echo "# status $got, not $want" >&2; }
	for s in out err; do
		eval "pattern=\$$s"
		if [ -z "$pattern" ]; then
			[ ! -s "$dir/$s" ] || { ok='not ok'; echo "# $s not empty" >&2; }
		else
			grep -q -e "$pattern" "$dir/$s" ||
				{ ok='not ok'; echo "# $s lacks $pattern" >&2; }
		fi
	done
	[ "$ok" = ok ] || sed 's/^/# /' "$dir/out" "$dir/err" >&2
	echo "$ok $n - $name"
}

check 'version prints one line' 0 '^gatehouse [0-9]' '' version
check 'help goes to stdout' 0 'usage: gatehouse COMMAND' '' --help
check 'help of a group' 0 'config check' '' config --help
check 'help of a command names its options' 0 '--effective' '' config check --help
check 'help before the command' 0 '--effective' '' -h config check
check 'help of nonsense' 2 '' "unknown command 'zzz'" zzz --help
check 'no command' 2 '' 'usage:'
check 'a group alone' 2 '' 'config check' config
check 'unknown command with a hint' 2 '' 'did you mean .gatehouse version.' verson
check 'unknown subcommand with a hint' 2 '' 'gatehouse config check' config chek
check 'unknown option with a hint' 2 '' 'did you mean --json' config check --jsn
check 'option of another command' 2 '' 'unknown option --json' --json version
check 'option without its value' 2 '' 'needs a value' config check --config
check 'flag with a value' 2 '' 'takes no value' config check --json=1
check 'option given twice' 2 '' 'twice' --home a --home b version
check 'too many arguments' 2 '' 'too many' version now
check 'bad log level' 2 '' 'expected error, warn' --log-level loud config path
check 'absent file is defaults' 0 'defaults are used' '' config check
check 'absent named file' 78 '' 'does not exist' config check "$dir/none"
check 'the path' 0 '/home/config.yaml$' '' config path
check 'double dash ends options' 2 '' "too many arguments: '--json'" version -- --json
[ ! -e "$dir/home" ]; s=$?; n=$((n + 1))
[ $s = 0 ] && echo "ok $n - looking creates nothing" || echo "not ok $n - looking creates nothing"

mkdir -m 700 "$dir/home"
printf 'gateway:\n  allow_al_users: true\n' >"$dir/home/config.yaml"
check 'a bad safety key' 78 '' 'config.yaml:2:3: error: .*allow_all_users' config check
check 'the same as JSON' 78 '"ok":[[:space:]]*false' '' config check --json
printf 'telegram:\n\ttoken: x\n  allowed_users: [1001]\n' >"$dir/home/config.yaml"
check 'a tab' 78 '' 'config.yaml:2:1: error: a tab' config check
printf 'telegram: {allowed_users: [1001]}\n' >"$dir/home/config.yaml"
check 'a good file' 0 ': ok$' '' config check
check 'values in force' 0 'allowed_users = \[1001\]  (config.yaml:1)' '' \
	config check --effective
OPENAI_API_KEY=sk-very-secret-value; export OPENAI_API_KEY
check 'secrets stay hidden' 0 '^OPENAI_API_KEY = (set)' '' config check --effective
n=$((n + 1))
grep -q very-secret "$dir/out" && echo "not ok $n - no secret" || echo "ok $n - no secret"
unset OPENAI_API_KEY

# Writing.
check 'set a key' 0 '' '' config set agent.max_turns 7
check 'it counts' 0 'agent.max_turns = 7  (config.yaml:' '' config check --effective
check 'set a list by its other name' 0 '' '' config set telegram.allow_from 5 6
check 'the list counts' 0 'allowed_users = .5, 6.  (config.yaml:1)' '' \
	config check --effective
check 'set an unknown key' 2 '' 'did you mean agent.max_turns' config set agent.max_turn 7
check 'set a bad value' 78 '' '1 to 1000' config set agent.max_turns many
check 'a secret is no argument' 2 '' 'standard input' config set OPENAI_API_KEY sk-1
n=$((n + 1))
echo 'sk-a$b#c' | "$bin" config set OPENAI_API_KEY - 2>"$dir/err"
[ $? = 0 ] && [ "$(cat "$dir/home/.env")" = "OPENAI_API_KEY='sk-a\$b#c'" ] &&
	[ "$(stat -c %a "$dir/home/.env")" = 600 ] &&
	echo "ok $n - a secret goes into .env" || echo "not ok $n - a secret goes into .env"
check 'the secret counts' 0 'OPENAI_API_KEY = (set)  (.env:1)' '' config check --effective
HERMES_MAX_ITERATIONS=3; export HERMES_MAX_ITERATIONS
check 'a variable that wins is named' 0 '' 'HERMES_MAX_ITERATIONS still wins' \
	config set agent.max_turns 8
unset HERMES_MAX_ITERATIONS
printf 'telegram: {allowed_users: [1001]}\n' >"$dir/home/config.yaml"

check 'status without an owner' 0 '^not running' '' status
check 'status as JSON' 0 '"running":[[:space:]]*false' '' status --json
check 'status names the backends' 0 'sessions run commands in: native' '' status
check 'status names the network' 0 'network of native: none' '' status

# Whether the sandbox works here or not: its finding is there, with a reason.
n=$((n + 1))
"$bin" doctor >"$dir/out" 2>"$dir/err"
status=$?
if grep -q '^failed' "$dir/out"; then want=1; else want=0; fi
if [ $status = $want ] && grep -q 'sandbox of sessions: native' "$dir/out" &&
	grep -q '^ok *configuration' "$dir/out" &&
	grep -q 'sandbox of sessions: \(tools: terminal, .*write_file\|not offered to the model until that is mended: terminal, .*write_file\)$' \
		"$dir/out"; then
	echo "ok $n - doctor"
else
	sed 's/^/# /' "$dir/out" "$dir/err" >&2
	echo "not ok $n - doctor"
fi
printf 'gateway: {terminal_backend: local}\n' >"$dir/home/config.yaml"
n=$((n + 1))
"$bin" doctor >"$dir/out" 2>"$dir/err"
grep -q 'local isolates nothing\|local.user' "$dir/out" &&
	! ls -d "$dir"/home/doctor-* >/dev/null 2>&1 &&
	echo "ok $n - doctor about local" || echo "not ok $n - doctor about local"
printf 'gateway: {terminal_backend: nativ}\n' >"$dir/home/config.yaml"
check 'doctor names a bad configuration' 1 '^failed *configuration: .*native' '' doctor
check 'doctor as JSON' 1 '"result":[[:space:]]*"failed"' '' doctor --json
printf 'telegram: {allowed_users: [1001]}\n' >"$dir/home/config.yaml"

# A reader that closes early: quiet, and no failure.
n=$((n + 1))
i=0 bad=0
while [ $i -lt 20 ]; do
	{ "$bin" config check --effective 2>"$dir/err"; echo $? >"$dir/status"; } | true
	[ ! -s "$dir/err" ] && [ "$(cat "$dir/status")" = 0 ] || bad=1
	i=$((i + 1))
done
[ $bad = 0 ] && echo "ok $n - a reader that closes early" ||
	echo "not ok $n - a reader that closes early"

# Lost output is a failure.
n=$((n + 1))
"$bin" --help >/dev/full 2>"$dir/err"
if [ $? = 1 ] && grep -q 'output' "$dir/err"; then
	echo "ok $n - output that can't be written"
else
	echo "not ok $n - output that can't be written"
fi

# Started without standard descriptors nothing is written into other files.
n=$((n + 1))
"$bin" config check <&- >&- 2>&-
[ $? = 0 ] && [ "$(cat "$dir/home/config.yaml")" = 'telegram: {allowed_users: [1001]}' ] &&
	echo "ok $n - closed descriptors" || echo "not ok $n - closed descriptors"

echo "1..$n"
