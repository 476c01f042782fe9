#!/bin/sh
# The conformance suite of backend native where no namespace can be made, at level
# landlock: as root (commands get a uid of their own) and as an ordinary user
# (Landlock keeps them from us). Each run's TAP is folded into one line.
set -u
build=$(cd "${TOP_BUILDDIR:-.}" && pwd)
suite=$build/tests/conformance/conformance_native
uid=64124
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT
n=0
# Refused a system call, a library of the system keeps a message for itself. The
# other runs of this suite look for leaks.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

run() {	# run NAME COMMAND...
	name=$1; shift
	n=$((n + 1))
	CONFORMANCE_MINIMUM=landlock "$@" "$build/tests/no_userns" "$suite" \
		>"$out" 2>&1
	status=$?
	if [ $status = 0 ]; then
		echo "ok $n - level landlock as $name"
	elif grep -q 'Landlock does not keep' "$out"; then
		echo "ok $n - level landlock as $name # SKIP $(grep -o \
			"this kernel's Landlock.*" "$out" | head -1 | tr '#' ' ')"
	else
		grep -v '^ok' "$out" | sed 's/^/# /'
		echo "not ok $n - level landlock as $name"
	fi
}

if [ "$(id -u)" != 0 ]; then
	echo "1..1"
	run "an ordinary user" env
	exit 0
fi
echo "1..2"
run root env
if command -v setpriv >/dev/null &&
    setpriv --reuid $uid --regid $uid --clear-groups \
	test -x "$suite" -a -x "$GATEHOUSE_HELPER"; then
	run "an ordinary user" setpriv --reuid $uid --regid $uid --clear-groups
else
	echo "ok 2 - level landlock as an ordinary user # SKIP it cannot reach the build directory"
fi
