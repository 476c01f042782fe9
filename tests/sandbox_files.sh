#!/bin/sh
# gatehouse sandbox put and get from outside. Prints TAP.
bin=$TOP_BUILDDIR/gatehouse
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
chmod 711 "$dir"
GATEHOUSE_HOME=$dir/home; export GATEHOUSE_HOME
unset OPENAI_API_KEY OPENROUTER_API_KEY TELEGRAM_BOT_TOKEN TERMINAL_ENV
n=0

if ! "$bin" sandbox exec -- true 2>"$dir/why"; then
	echo "1..0 # SKIP $(tr '\n#' '  ' <"$dir/why")"
	exit 0
fi
echo "1..15"

# check NAME STATUS STDERR-PATTERN ARG...
check() {
	name=$1 want=$2 err=$3; shift 3
	"$bin" sandbox "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	n=$((n + 1))
	if { if [ -n "$err" ]; then grep -q -e "$err" "$dir/err"
	else [ ! -s "$dir/err" ]; fi; } && [ $got = "$want" ]; then
		echo "ok $n - $name"
	else
		echo "# status $got"
		sed 's/^/# /' "$dir/out" "$dir/err"
		echo "not ok $n - $name"
	fi
}

mkdir -p "$dir/t/sub" "$dir/here"
echo "it's text" >"$dir/t/sub/a b"
ln -s 'sub/a b' "$dir/t/link"
chmod 755 "$dir/t/sub/a b"
# More than one piece of 8 MiB, and not a multiple of one.
dd if=/dev/urandom of="$dir/t/big" bs=1000 count=17001 2>/dev/null

check 'a tree goes in, in pieces' 0 '' put "$dir/t" 'new dir'
check 'it is as it was' 0 '' exec -- \
	'cd "new dir/t" && grep -q text link && test -x "sub/a b" && ! ls -A .. | grep gatehouse'
check 'it comes out' 0 '' get '/workspace/new dir/t' "$dir/here"
n=$((n + 1))
if diff -r "$dir/t" "$dir/here/t" >&2; then echo "ok $n - and is the same"
else echo "not ok $n - and is the same"; fi
check 'what is there is not written over' 1 'exists already' get 'new dir/t' "$dir/here"
check 'what is missing there' 1 'tar in the sandbox' get nothing "$dir/here"
check 'what is missing here' 1 'No such file' put "$dir/nothing"
ln -s /etc "$dir/t/out"
check 'a link that leads out is not sent' 1 'leads out' put "$dir/t"
check 'one is made there' 0 '' exec -- 'mkdir bad && ln -s /etc bad/l'
check 'it does not come' 1 'leads out' get bad/ "$dir/here"
check 'no name' 2 'names no' get / "$dir/here"

# The workspace of a conversation, by the key that `sessions list` prints.
printf 'run echo theirs > chat.txt\n' | "$bin" chat >"$dir/out" 2>&1
check "a chat's files" 0 '' get --session agent:main:console:dm:main chat.txt "$dir/here"
n=$((n + 1))
if [ "$(cat "$dir/here/chat.txt")" = theirs ]; then echo "ok $n - and they are the same"
else sed 's/^/# /' "$dir/out"; echo "not ok $n - and they are the same"; fi
check 'a name that no conversation has' 0 "is no session's key" exec --session typo -- true
printf 'gateway: {sandbox_scope: shared}\n' >"$dir/home/config.yaml"
check 'what all share' 1 'tar in the sandbox' get --session agent:main:console:dm:main \
	chat.txt "$dir"
