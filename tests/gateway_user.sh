#!/bin/sh
# gateway.user: root starts gatehouse, which then is nobody; the launcher stays
# root and does what needs rights (rules 5.4). Prints TAP.
bin=$TOP_BUILDDIR/gatehouse
if [ "$(id -u)" != 0 ] || ! id nobody >/dev/null 2>&1; then
	echo "1..0 # SKIP only root can become nobody"
	exit 0
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
chmod 711 "$dir"
uid=$(id -u nobody)
if ! setpriv --reuid "$uid" --clear-groups test -x "$dir"; then
	echo "1..0 # SKIP nobody can't reach $dir"
	exit 0
fi
GATEHOUSE_HOME=$dir/home; export GATEHOUSE_HOME
unset OPENAI_API_KEY OPENROUTER_API_KEY TELEGRAM_BOT_TOKEN TERMINAL_ENV
n=0

result() {	# result STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		sed 's/^/# /' "$dir/out" "$dir/err"
		echo "not ok $n - $2"
	fi
}

# as_root NAME STATUS STDOUT STDERR-PATTERN CONFIG ARG...
as_root() {
	name=$1 want=$2 out=$3 err=$4 config=$5; shift 5
	printf '%s\n' "$config" >"$dir/config.yaml"
	"$bin" --config "$dir/config.yaml" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ -n "$err" ]; then grep -q -e "$err" "$dir/err"; else [ ! -s "$dir/err" ]; fi &&
		[ $got = "$want" ] && [ "$(cat "$dir/out")" = "$out" ]
	result $? "$name"
}

user='gateway: {user: nobody}'
local='terminal: {backend: local}'
as_root 'a user that does not exist' 78 '' 'no user "no-such-user"' \
	'gateway: {user: no-such-user}' sandbox exec -- true
as_root 'root is no user for it' 78 '' 'is root' 'gateway: {user: root}' \
	sandbox exec -- true
[ ! -e "$GATEHOUSE_HOME" ]
result $? 'and nothing was made for them'

if "$bin" sandbox exec -- true >"$dir/out" 2>"$dir/err"; then native=yes; fi
rm -rf "$GATEHOUSE_HOME"
if [ "${native-}" = yes ]; then
	as_root 'a command runs in the sandbox' 0 '1000 /workspace' '' "$user" \
		sandbox exec -- 'echo $(id -u) $PWD; touch kept'
	[ "$(stat -c %u "$GATEHOUSE_HOME")" = "$uid" ] &&
		[ "$(stat -c %u "$GATEHOUSE_HOME"/sandboxes/s*/workspace)" = 64500 ]
	result $? 'the state is its own, the workspace the commands own'
	as_root 'files last' 0 kept '' "$user" sandbox exec -- ls
	printf '%s\n' "$user" >"$dir/config.yaml"
	for signal in TERM KILL; do
		mark=31536001.$$.$signal
		: >"$dir/out"
		"$bin" --config "$dir/config.yaml" sandbox exec -- \
			"echo up; setsid bash -c 'exec -a $mark sleep 300' & exec -a $mark sleep 300" \
			>"$dir/out" 2>"$dir/err" </dev/null &
		pid=$!
		i=0
		while [ ! -s "$dir/out" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done
		[ "$(awk '/^Uid/ { print $2, $3, $4, $5 }' /proc/$pid/status)" = \
			"$uid $uid $uid $uid" ] &&
			[ "$(awk '/^CapPrm/ { print $2 }' /proc/$pid/status)" = 0000000000000000 ]
		result $? "the gateway has no rights left (ended by $signal)"
		kill -$signal $pid
		wait $pid
		i=0
		while grep -lsa "$mark" /proc/[0-9]*/cmdline >/dev/null && [ $i -lt 600 ]; do
			sleep 0.05; i=$((i + 1))
		done
		[ $i -lt 600 ]
		result $? "SIG$signal of the gateway ends the tree"
	done
	"$bin" --config "$dir/config.yaml" doctor >"$dir/out" 2>"$dir/err"
	grep -q 'native, level full works' "$dir/out" &&
		grep -q 'the gateway has given that up' "$dir/out" &&
		! grep -q 'NOT TRUE' "$dir/out" &&
		[ -z "$(ls "$GATEHOUSE_HOME" | grep '^doctor-')" ]
	result $? 'doctor tries it as a start would'
	# Beside a command of ours nobody is foreign; a process of somebody else is.
	: >"$dir/up"
	"$bin" --config "$dir/config.yaml" sandbox exec -- 'echo up; exec sleep 300' \
		>"$dir/up" 2>/dev/null </dev/null &
	pid=$!
	i=0
	while [ ! -s "$dir/up" ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done
	"$bin" --config "$dir/config.yaml" doctor >"$dir/out" 2>"$dir/err"
	grep -q 'native.uid: 64500, which no other process has' "$dir/out"
	result $? 'the uid of commands is theirs alone'
	kill -TERM $pid
	wait $pid
	if command -v setpriv >/dev/null; then
		setpriv --reuid 64500 --regid 64500 --clear-groups sleep 300 &
		pid=$!
		i=0
		until [ "$(cat /proc/$pid/comm)" = sleep ] || [ $i -ge 600 ]; do
			sleep 0.05; i=$((i + 1))
		done
		"$bin" --config "$dir/config.yaml" doctor >"$dir/out" 2>"$dir/err"
		grep -q "native.uid: 1 processes.*: $pid (sleep); " "$dir/out"
		result $? 'somebody else with that uid is named'
		kill -TERM $pid
		wait $pid
	fi
	as_root 'a conversation works' 0 '```
1000
```
exit code 0' '' "$user" chat -m 'run id -u'
	as_root 'old workspaces can be removed' 0 'deleted 2 workspaces, kept 0' 'was removed' \
		"$user" sandbox prune --yes --older-than 0
else
	mkdir "$GATEHOUSE_HOME"
	chown nobody "$GATEHOUSE_HOME"
fi
as_root 'local commands have its rights, not the launcher'"'"'s' 0 "$uid" '' \
	"$user
$local" sandbox exec -- id -u
as_root 'or those of local.user' 0 "$(id -u daemon)" '' "$user
$local
local: {user: daemon}" sandbox exec -- id -u
as_root 'without it the state of another stops the start' 78 '' \
	"belongs to uid $uid.*chown -R 0 " '' sandbox exec -- true
echo "1..$n"
