#!/bin/sh
# `gatehouse gate check`: exit statuses, the keys of its JSON, the escapes of
# --stdin, backends, lengths. Prints TAP.
bin=$TOP_BUILDDIR/gatehouse
[ -x "$bin" ] || { echo "Bail out! $bin is not built"; exit 99; }
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

say() {	# STATUS NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
# exits STATUS NAME ARG...
exits() {
	want=$1 name=$2; shift 2
	"$bin" gate check "$@" > "$dir/out" 2> "$dir/err" < /dev/null
	got=$?
	[ $got -eq "$want" ] || echo "# status $got, not $want: $*"
	[ $got -eq "$want" ]; say $? "$name"
}
# prints NAME INPUT JSON: one line in, one object out
prints() {
	printf '%s\n' "$2" | "$bin" gate check --stdin --json --backend local > "$dir/out"
	got=$(cat "$dir/out")
	[ "$got" = "$3" ] || printf '# got  %s\n# want %s\n' "$got" "$3"
	[ "$got" = "$3" ]; say $? "$1"
}

exits 0 'allowed: 0' -- ls -la
exits 10 'asked: 10' -- rm -r build
exits 20 'never: 20' -- rm -rf /
exits 0 'words of the command are not options' -- echo --stdin
exits 0 'isolated backends skip what asks' --backend docker -- rm -r build
exits 20 'not what is never' --backend docker -- 'rm -rf /'
exits 10 'local does not' --backend local -- rm -r build
exits 2 'nothing to judge'
exits 2 'a misspelt backend' --backend nativ -- ls
exits 10 'a credential is read' -- cat /root/.ssh/id_rsa
! grep -q always "$dir/out"; say $? 'what may not be given for always is not offered'
exits 10 'a deletion' -- rm -r build
grep -q '"always" would allow: rm -r build' "$dir/out"; say $? 'what may be is'

prints 'an allowed command' 'ls -l' \
	'{"verdict":"allow","rules":[],"commands":["ls -l"]}'
prints 'a rule has a key and a reason, no more' 'git stash drop' \
	'{"verdict":"ask","rules":[{"key":"git stash dropped","why":"stashed changes are deleted"}],"commands":["git stash drop"]}'
prints 'newline, tab, carriage return, backslash, byte' 'echo a\nls\tb' \
	'{"verdict":"allow","rules":[],"commands":["echo a","ls b"]}'
prints 'a backslash is a backslash' 'echo \\n' \
	'{"verdict":"allow","rules":[],"commands":["echo n"]}'
prints 'two hexadecimal digits are a byte' 'echo \x41\x7e' \
	'{"verdict":"allow","rules":[],"commands":["echo '"'A~'"'"]}'
prints 'an empty line is an empty command' '' \
	'{"verdict":"allow","rules":[],"commands":[]}'

printf 'ls\nrm -r x\nreboot\n' | "$bin" gate check --stdin > "$dir/out"
[ "$(cut -d'"' -f4 "$dir/out" | tr '\n' ' ')" = 'allow ask never ' ]
say $? 'one object a line, in order, JSON with --stdin alone'

head -c 131072 /dev/zero | tr '\0' x > "$dir/long"	# with "echo " too long
{ printf 'echo '; cat "$dir/long"; echo; } | "$bin" gate check --stdin > "$dir/out"
grep -q '"verdict":"never".*"command too long"' "$dir/out"
say $? 'longer than 128 KiB is never'
{ printf 'echo '; head -c 131067 "$dir/long"; echo; } | "$bin" gate check --stdin > "$dir/out"
grep -q '"verdict":"allow"' "$dir/out"
say $? '128 KiB are read'
{ head -c 80 /dev/zero | tr '\0' '('; echo; } | "$bin" gate check --stdin > "$dir/out"
grep -q '"verdict":"ask"' "$dir/out"
say $? 'deeper than 64 asks'
echo "1..$n"
