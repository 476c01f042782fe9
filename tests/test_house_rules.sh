#!/bin/sh
# Feeds house-rules a small clean tree, then that tree with one fault at a time,
# and wants exactly the one rule to fail.
set -u
rules=$(cd "${TOP_SRCDIR:-.}" && pwd)/build-aux/house-rules
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
tree=$tmp/tree
n=0

result() {	# result OK NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		sed 's/^/# /' "$tmp/out"
		echo "not ok $n - $2"
	fi
}

clean_tree() {
	rm -rf "$tree"
	mkdir -p "$tree/base" "$tree/store" "$tree/sandbox" "$tree/platforms" \
	    "$tree/gateway/gate" "$tree/tests"
	cat > "$tree/base/a.h" <<'EOF'
#ifndef A_H
#define A_H
int a_one(int x);
void a_used_by_macro(void);
#define A_MACRO() a_used_by_macro()
#endif
EOF
	cat > "$tree/base/a.c" <<'EOF'
#include "base/a.h"

/* system("x"), strcpy(a, b) and sqlite3_open in a comment */
static const char *const words = "system(1) sqlite3_open curl_easy /* ";
static const char quote = '"';

int
a_one(int x)
{
	return x + words[0] + quote;	// fork() in a comment
}

void
a_used_by_macro(void)
{
}
EOF
	cat > "$tree/gateway/main.c" <<'EOF'
#include "base/a.h"

int
main(void)
{
	A_MACRO();
	return a_one(1);
}
EOF
	echo 'int gateway_unused_file;' > "$tree/gateway/gateway.c"
	echo 'x_SOURCES = base/a.c gateway/main.c gateway/gateway.c base/b.c \' \
	    > "$tree/Makefile.am"
	echo '	store/b.c sandbox/b.c platforms/b.c gateway/b.c base/a.h \' >> \
	    "$tree/Makefile.am"
	echo '	base/b.h tests/b.c' >> "$tree/Makefile.am"
}

run() {
	"$rules" "$tree" > "$tmp/out" 2>&1
}

# expect RULE PATH TEXT: a file added to the clean tree breaks RULE and no other.
expect() {
	clean_tree
	printf '%b' "$3" > "$tree/$2"
	run
	[ "$(grep -c '^not ok' "$tmp/out")" = 1 ] &&
	    grep -q "^not ok.* - $1" "$tmp/out"
	result $? "$2: $1${4:+ ($4)}"
}

# allow PATH TEXT: a file that no rule objects to.
allow() {
	clean_tree
	printf '%b' "$2" > "$tree/$1"
	run
	! grep -q '^not ok' "$tmp/out" && grep -q '^1\.\.13' "$tmp/out"
	result $? "$1: nothing to object to${3:+ ($3)}"
}

calls() {	# calls EXPR: a file with one static function that does EXPR
	printf 'static int\\nf(void)\\n{\\n\\treturn %s;\\n}\\nint (*store_p)(void) = f;\\n' "$1"
}

clean_tree
run
! grep -q '^not ok' "$tmp/out" && [ "$(grep -c '^ok' "$tmp/out")" = 13 ]
result $? 'a clean tree passes all rules'

for call in 'strcpy(a, b)' 'sprintf(a, b)' 'system (a)' 'fork()' 'time(0)' \
    'snprintf(a, 1, "x")' 'localtime(t)' 'usleep(1)' 'getenv("X")' 'rand()'; do
	expect 'no banned call' store/b.c "$(calls "$call")" "$call"
done
allow base/b.c "$(calls 'snprintf(a, 1, \"x\")')" 'snprintf'
allow store/b.c "$(calls 'x.time(0) + p->system(1) + my_fork(2)')" 'members'
expect 'each library' store/b.c "$(calls 'cJSON_Parse(a)')" cJSON
expect 'each library' gateway/b.c "$(calls 'sqlite3_step(a)')" sqlite3
expect 'each library' base/b.c "$(calls 'event_base_new()')" libevent
expect 'each library' gateway/b.c '#include <curl/curl.h>\n' curl
allow store/b.c "$(calls 'sqlite3_step(a)')" sqlite3
for pair in base:store store:sandbox store:gateway platforms:store \
    platforms:sandbox sandbox:platforms sandbox:gateway; do
	expect 'includes go down' "${pair%:*}/b.c" "#include \"${pair#*:}/x.h\"\n" \
	    "${pair#*:}"
done
expect 'includes go down' gateway/b.c '#include "x.h"\n' 'not from the top'
allow gateway/b.c '#include "store/x.h"\n#include "platforms/x.h"\n#include <x.h>\n'
expect 'no typedef' base/b.c 'typedef struct b {\n\tint x;\n} b_t;\n'
allow base/b.c 'typedef int b_cb(void *arg);\n'
cleanup='static int\nf(int x)\n{\n\tCLEANUP_BUF struct buf a, b;\n'
cleanup_end='\treturn 0;\n}\nint (*base_p)(int) = f;\n'
expect 'no return between' base/b.c \
    "$cleanup\tbuf_init(&a, 1);\n\tif (x)\n\t\treturn 1;\n\tbuf_init(&b, 1);\n$cleanup_end"
allow base/b.c \
    "$cleanup\tbuf_init(&a, 1);\n\tbuf_init(&b, 1);\n\tif (x)\n\t\treturn 1;\n$cleanup_end"
expect 'no marks' base/b.c "/* TO""DO later */\n"
expect 'no marks' tests/b.c "/* FIX""ME */\n"
allow base/b.c '/* mkstemp XXXXXX, TODOS */\n'
expect 'every source file is in' gateway/c.c 'int c;\n'
expect 'every source file is in' gateway/c.h 'struct c;\n'
expect 'every source file is in' tests/c.c 'int c;\n'
expect 'every header compiles' base/b.h 'struct b { uint32_t x; };\n'
allow base/b.h '#include <stdint.h>\nstruct b { uint32_t x; };\n'
expect 'only the gate' gateway/b.c 'void *gateway_p = &permit_issue;\n'
expect 'no file over 500 lines' base/b.c \
    "$(awk 'BEGIN { for (i = 0; i < 501; i++) printf "\\n" }')"
allow tests/b.c "$(awk 'BEGIN { for (i = 0; i < 700; i++) printf "\\n" }')"
allow base/b.c "$(awk 'BEGIN { for (i = 0; i < 500; i++) printf "\\n" }')"

long_function() {
	awk -v n="$1" 'BEGIN {
		printf "static int\\nf(int x)\\n{\\n"
		for (i = 0; i < n - 4; i++) printf "\\tx++;\\n"
		printf "\\treturn x;\\n}\\nint (*base_p)(int) = f;\\n"
	}'
}
if ctags --version 2> /dev/null | grep -q 'Universal Ctags'; then
	expect 'no function over 60' base/b.c "$(long_function 61)"
	allow base/b.c "$(long_function 60)"
	expect 'every function' base/b.c 'int\nb_unused(void)\n{\n\treturn 0;\n}\n'
	expect 'every function' store/b.c \
	    'int\nb_self(int x)\n{\n\treturn x ? b_self(x - 1) : 0;\n}\n' 'itself'
	allow base/b.c 'static int\nb_static(void)\n{\n\treturn 0;\n}\n'
else
	for what in length callers; do
		n=$((n + 1))
		echo "ok $n - $what # SKIP universal-ctags is not installed"
	done
fi

if git --version > /dev/null 2>&1; then
	clean_tree
	(cd "$tree" && git init -q . && head -c 200001 /dev/zero > blob &&
	    git add -f blob)
	run
	grep -q '^not ok.* - no file over 200000 bytes' "$tmp/out"
	result $? 'a large file in git is found'
	rm "$tree/blob"
	(cd "$tree" && git add -A)
	run
	! grep -q '^not ok' "$tmp/out" && ! grep -q 'bytes.*SKIP' "$tmp/out"
	result $? 'a git tree without large files passes'
else
	n=$((n + 1))
	echo "ok $n - git # SKIP git is not installed"
fi

"$rules" "$tmp/none" > "$tmp/out" 2>&1
[ $? = 99 ]
result $? 'no tree is an error, not a pass'
mkdir "$tmp/empty"
"$rules" "$tmp/empty" > "$tmp/out" 2>&1
[ $? = 99 ]
result $? 'an empty tree is an error, not a pass'
echo "1..$n"
