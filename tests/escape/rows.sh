#!/bin/sh
# Every row of the list of known attacks is a probe of the escape suite, or named
# in elsewhere.tsv with the test that shows it, and that is there. Prints TAP.
cd "${TOP_SRCDIR:-.}" || exit 99
list=tests/data/sandbox-probes.tsv
n=0 missing=
for id in $(sed -n 's/^\(P[0-9]*\).*/\1/p' $list); do
	n=$((n + 1))
	grep -qE "^$id[a-z]?	" tests/escape/probes*.tsv && continue
	line=$(grep "^$id	" tests/escape/elsewhere.tsv) || { missing="$missing $id"; continue; }
	file=$(printf '%s' "$line" | cut -f2)
	words=$(printf '%s' "$line" | cut -f3-)
	grep -qF "$words" "$file" || missing="$missing $id($file)"
done
echo 1..1
[ $n -ge 99 ] && [ -z "$missing" ]
status=$?
[ $status = 0 ] || echo "# not shown anywhere:$missing"
[ $status = 0 ] && echo "ok 1 - all $n known attacks are tried" ||
	echo 'not ok 1 - all known attacks are tried'
