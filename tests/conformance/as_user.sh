#!/bin/sh
# As root: the conformance suites once more as an ordinary user. Arguments:
# none; each backend's TAP is folded into one line.
set -u
dir=$(cd "${TOP_BUILDDIR:-.}" && pwd)/tests/conformance
uid=64123

if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP runs as an ordinary user anyway"
	exit 0
fi
if ! command -v setpriv >/dev/null ||
    ! setpriv --reuid $uid --regid $uid --clear-groups \
	test -x "$dir/conformance_local" -a -x "$GATEHOUSE_HELPER"; then
	echo "1..0 # SKIP an ordinary user cannot reach the build directory"
	exit 0
fi
echo "1..2"
n=0
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT
for backend in local native; do
	n=$((n + 1))
	if setpriv --reuid $uid --regid $uid --clear-groups \
	    "$dir/conformance_$backend" >"$out" 2>&1; then
		echo "ok $n - $backend as an ordinary user"
	else
		grep -v '^ok' "$out" | sed 's/^/# /'
		echo "not ok $n - $backend as an ordinary user"
	fi
done
