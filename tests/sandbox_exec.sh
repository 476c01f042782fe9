#!/bin/sh
# gatehouse sandbox exec from outside: codes, streams, signals. Prints TAP.
bin=$TOP_BUILDDIR/gatehouse
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
chmod 711 "$dir"
GATEHOUSE_HOME=$dir/home; export GATEHOUSE_HOME
CANARY_API_KEY=zzz-canary; export CANARY_API_KEY
unset OPENAI_API_KEY OPENROUTER_API_KEY TELEGRAM_BOT_TOKEN TERMINAL_ENV
unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy
n=0

if ! "$bin" sandbox exec -- true 2>"$dir/why"; then
	echo "1..0 # SKIP $(tr '\n#' '  ' <"$dir/why")"
	exit 0
fi
echo "1..24"

result() {	# result STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		sed 's/^/# /' "$dir/out" "$dir/err"
		echo "not ok $n - $2"
	fi
}

# check NAME STATUS STDOUT STDERR-PATTERN ARG...
check() {
	name=$1 want=$2 out=$3 err=$4; shift 4
	"$bin" sandbox exec "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ -n "$err" ]; then
		grep -q -e "$err" "$dir/err"
	else
		[ ! -s "$dir/err" ]
	fi && [ $got = "$want" ] && [ "$(cat "$dir/out")" = "$out" ]
	result $? "$name"
}

check 'words and code of the command' 7 'hi' '' -- 'echo hi; exit 7'
check 'streams apart' 0 'out' '^err$' -- 'echo out; echo err >&2'
check 'several words are an argument list' 0 "a  b it's" '' \
	-- sh -c 'echo "$1"' x "a  b it's"
check 'it is the sandbox' 0 '/workspace' '' -- pwd
check 'no secret of ours is inside' 1 '' '' -- 'env | grep zzz-canary'
check 'a missing program' 127 '' 'not found' -- no_such_program
check 'time is limited' 124 'a' 'after 1 s' --timeout 1 -- 'echo a; sleep 60'
check 'what is left behind is said' 0 'a' 'background' -- 'sleep 60 & echo a'
check 'a misspelt backend' 2 '' 'did you mean native' --backend nativ -- true
check 'a bad time' 2 '' 'timeout' --timeout 1x -- true
check 'a misspelt network' 2 '' 'did you mean filtered' --network filterd -- 'touch ran'
check 'a network for the host' 2 '' 'for backend native' --backend local \
	--network none -- 'touch ran'
HTTPS_PROXY=http://127.0.0.1:1; export HTTPS_PROXY
check 'filtered does not go around the proxy of gatehouse' 125 '' 'network.proxy' \
	--network filtered -- 'touch ran'
unset HTTPS_PROXY
"$bin" sandbox exec -- 'ls' >"$dir/out" 2>"$dir/err"
! grep -q ran "$dir/out"
result $? 'and nothing ran'
check 'the network can be another for one command' 0 'http://127.0.0.1:3128' '' \
	--network filtered -- 'echo $https_proxy'

mark=31536000.$$
"$bin" sandbox exec -- "echo up; setsid sleep $mark & sleep $mark" \
	>"$dir/out" 2>"$dir/err" &
pid=$!
i=0
while [ ! -s "$dir/out" ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
kill -TERM $pid
wait $pid
[ $? = 143 ] && [ -z "$(grep -lsa "3153600[0].$$" /proc/[0-9]*/cmdline)" ]
result $? 'a signal ends the tree'

{ "$bin" sandbox exec -- yes 2>"$dir/err"; echo $? >"$dir/out"; } | head -1 >/dev/null
[ "$(cat "$dir/out")" = 141 ]
result $? 'a reader that goes away ends it'

# ---- quota: what makes the workspace larger is ended, the rest goes on
mkdir -p "$GATEHOUSE_HOME"
printf 'native:\n  workspace_max: 8M\n' >"$GATEHOUSE_HOME/config.yaml"
check 'a workspace has a quota' 137 '' 'its quota is 8 MiB' \
	-- 'head -c 20000000 /dev/zero >big; sleep 300'
check 'files can be removed again' 0 'gone' '' -- 'rm big && echo gone'
"$bin" doctor >"$dir/out" 2>"$dir/err"
grep -q 'limits: cpu .*workspaces of 8 MiB' "$dir/out"
result $? 'doctor says what is in force'
rm "$GATEHOUSE_HOME/config.yaml"

# ---- prune: what nobody uses goes, what is in use stays
ls "$GATEHOUSE_HOME"/sandboxes/s*/workspace/ran >/dev/null 2>&1
[ $? != 0 ] && [ -d "$GATEHOUSE_HOME/sandboxes" ]
result $? 'a workspace is kept'
"$bin" sandbox prune >"$dir/out" 2>"$dir/err" </dev/null
[ $? = 2 ] && grep -q -e --yes "$dir/err"
result $? 'prune asks, and without a terminal it wants --yes'
"$bin" sandbox prune --yes >"$dir/out" 2>"$dir/err" &&
	grep -q '^deleted 0 workspaces, kept 1$' "$dir/out"
result $? 'what was used lately stays'
"$bin" sandbox prune --yes --older-than 0 >"$dir/out" 2>"$dir/err" &&
	grep -q '^deleted 1 workspaces, kept 0$' "$dir/out" &&
	[ -z "$(ls "$GATEHOUSE_HOME/sandboxes")" ]
result $? 'what is old goes'
