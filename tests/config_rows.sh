#!/bin/sh
# Every row of the table of keys is read somewhere: its
# field of struct config is named in a file that isn't the configuration's own
# machinery. Prints TAP.
cd "${1:-${TOP_SRCDIR:-.}}" || exit 99
unread=0
for field in $(sed -n 's/.*\<AT(\([a-z_.]*\)).*/\1/p' gateway/config_table.c gateway/*.inc | sort -u); do
	[ "$field" != field ] || continue
	pattern=$(echo "$field" | sed 's/\./\\./g')
	found=$(grep -lE "(->|\.)$pattern\>" gateway/*.c gateway/*/*.c |
		grep -v '^gateway/config_table\.c$' | head -1)
	[ -n "$found" ] || { echo "# $field is read nowhere" >&2; unread=1; }
done
echo 1..1
[ $unread = 0 ] && echo 'ok 1 - every row of the table of keys is read' ||
	echo 'not ok 1 - every row of the table of keys is read'
