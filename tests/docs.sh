#!/bin/sh
# The committed documents are what the table of keys says, and the example is a
# valid configuration, commented out and not. Prints TAP.
bin=$TOP_BUILDDIR/gatehouse
[ -x "$bin" ] || { echo "Bail out! $bin is not built"; exit 99; }
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
GATEHOUSE_HOME=$dir; export GATEHOUSE_HOME
unset OPENAI_API_KEY OPENROUTER_API_KEY TELEGRAM_BOT_TOKEN TELEGRAM_ALLOWED_USERS
n=0

result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

same() {
	"$bin" config dump-docs "$1" >"$dir/new"
	cmp -s "$dir/new" "$TOP_SRCDIR/$2"
	status=$?
	[ $status = 0 ] || {
		echo "# run: make update-docs" >&2
		diff "$TOP_SRCDIR/$2" "$dir/new" | head -20 >&2
	}
	result $status "$2 is current"
}

same yaml docs/gatehouse.yaml.example
same env docs/environment.md
same backends docs/backends.md
same man1 docs/gatehouse.1
same man5 docs/gatehouse.yaml.5
same bash contrib/gatehouse.bash

# Completion of the first word, a second word and an option.
for case in '1 gatehouse ver' '2 gatehouse config che' '3 gatehouse config check --eff'; do
	bash -c '. "$1"; set -- $2; COMP_CWORD=$1; shift; COMP_WORDS=("$@"); _gatehouse
		[ "${#COMPREPLY[@]}" = 1 ]' x "$TOP_SRCDIR/contrib/gatehouse.bash" "$case"
	result $? "completion of '${case#* }'"
done

"$bin" config check "$TOP_SRCDIR/docs/gatehouse.yaml.example" >"$dir/out" 2>&1 &&
	grep -q ': ok$' "$dir/out"
result $? 'the example as it is'

sed 's/^\( *\)# \([a-z_]*:\)/\1\2/' "$TOP_SRCDIR/docs/gatehouse.yaml.example" \
	>"$dir/all.yaml"
grep -q '^  backend: ""' "$dir/all.yaml" &&
	TELEGRAM_BOT_TOKEN=1:aaaaaaaa TELEGRAM_ALLOWED_USERS=1 \
	"$bin" config check "$dir/all.yaml" >"$dir/out" 2>&1 &&
	grep -q ': ok$' "$dir/out"
status=$?
[ $status = 0 ] || cat "$dir/out" >&2
result $status 'the example with every key'

if command -v man >/dev/null 2>&1; then
	status=0
	for page in gatehouse.1 gatehouse.yaml.5; do
		LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings=w -E UTF-8 -l -Tutf8 \
			"$TOP_SRCDIR/docs/$page" >/dev/null 2>"$dir/out" || status=1
		[ ! -s "$dir/out" ] || { sed 's/^/# /' "$dir/out" >&2; status=1; }
	done
	result $status 'the manual pages format without a warning'
else
	n=$((n + 1))
	echo "ok $n - the manual pages format without a warning # SKIP no man"
fi
echo "1..$n"
