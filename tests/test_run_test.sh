#!/bin/sh
# build-aux/run-test passes results, status and stderr on, and mends cmocka's skips.
set -u
run=${TOP_SRCDIR:-.}/build-aux/run-test
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cat > "$tmp/fake" <<'EOF'
#!/bin/sh
echo 1..4
echo "ok 1 - fine"
echo "SKIP: no kernel for it" >&2
echo "not ok 2 # SKIP needs_a_kernel"
echo "not ok 3 - broken"
echo "ok 4 - last"
exit "$1"
EOF
chmod +x "$tmp/fake"
cat > "$tmp/want" <<'EOF'
1..4
ok 1 - fine
ok 2 - needs_a_kernel # SKIP no kernel for it
not ok 3 - broken
ok 4 - last
EOF
check() {
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}
echo 1..4
sh "$run" "$tmp/fake" 3 > "$tmp/got" 2> "$tmp/err"
[ $? = 3 ]
check $? 1 'the status is the status of the program'
diff "$tmp/want" "$tmp/got" >&2
check $? 2 'skips are skips with their reason, failures stay failures'
grep -q '^SKIP: no kernel' "$tmp/err"
check $? 3 'stderr is kept'
sh "$run" sh -c 'kill -SEGV $$' > "$tmp/got" 2> "$tmp/err"
[ $? -gt 128 ]
check $? 4 'a death by signal is a failure'
