/* Scripts that call tools: by the socket where the backend has one, and by files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/backend.h"
#include "tests/conformance/tools.h"

static const bool by_files = true;	/* the state of a case: its address */

static bool
has_python(void)
{
	static int known = -1;
	struct ran r;

	if (known < 0) {
		cf_run(&r, "command -v python3 >/dev/null");
		known = r.code == 0;
		cf_done(&r);
	}
	return known;
}

static void
start(void **state)
{
	if (!has_python()) {
		fprintf(stderr, "SKIP: there is no python3 in this sandbox\n");
		skip();
	}
	/* Scripts have a socket there; the files have no place to be. */
	if (*state == &by_files && strcmp(cf.props.level, "landlock") == 0) {
		fprintf(stderr, "SKIP: level landlock has no mailbox\n");
		skip();
	}
	tw_start();
	tw.env.code.files = *state == &by_files;
	tw.env.code.timeout_ms = 15000;
}

static void
run(const char *code)
{
	tw_call("execute_code", tw_args("code", code, NULL));
}

static void
expect(const char *status, const char *output)
{
	if (strcmp(tw_str("status"), status) != 0 ||
	    (output && strcmp(tw_str("output"), output) != 0))
		fprintf(stderr, "# %s: %s\n# %s\n", tw_str("status"),
		    tw_str("output"), tw_str("error"));
	assert_string_equal(tw_str("status"), status);
	if (output)
		assert_string_equal(tw_str("output"), output);
}

/* A time limit that a script surely reaches its first words in, on a machine
 * that is as slow as this one just was. */
static msec_t
patience(void)
{
	msec_t at = loop_now(cf.real.loop);

	run("pass");
	expect("success", "");
	return 1000 + 4 * (loop_now(cf.real.loop) - at);
}

static void
a_script_calls_tools(void **state)
{
	start(state);
	run("from hermes_tools import *\n"
	    "import hermes_tools as h\n"
	    "w = h.write_file('c1/a.txt', 'one\\ntwo\\n')\n"
	    "print(w['bytes_written'])\n"
	    "print(h.terminal('cat c1/a.txt; exit 3'))\n"
	    "print(h.read_file('c1/a.txt')['content'], end='')\n"
	    "print(h.patch(path='c1/a.txt', old_string='two', new_string='2')['success'])\n"
	    "print(h.read_file('c1/a.txt', offset=2)['content'], end='')\n"
	    "print(h.terminal('true', workdir='/no/such')['exit_code'])\n"
	    "print(h.json_parse('x {\"a\": [1]} y'), h.shell_quote(\"it's\"))\n");
	expect("success", NULL);
	assert_non_null(strstr(tw_str("output"), "8\n{'output': 'one\\ntwo\\n', "
	    "'exit_code': 3"));
	assert_non_null(strstr(tw_str("output"), "1|one\n2|two\nTrue\n2|2\n126\n"
	    "{'a': [1]} 'it'\"'\"'s'\n"));
	assert_int_equal(json_get_int(tw.result, "tool_calls_made", -1), 6);
	assert_true(json_get_num(tw.result, "duration_seconds", -1) >= 0);
	assert_int_equal(tw.phase, TOOL_RUNNING);
	if (tw.prompts)
		fprintf(stderr, "# asked: %s\n", tw.prompt);
	if ((cf.props.isolation & SANDBOX_ISOLATED) == SANDBOX_ISOLATED)
		assert_int_equal(tw.prompts, 0);
	tw_stop();
}

static void
what_goes_wrong_is_told(void **state)
{
	start(state);
	run("print('before')\nimport sys\nsys.stderr.write('careful\\n')\n"
	    "def f(x):\n    return 1 / x\nf(0)\n");
	expect("error", NULL);
	assert_non_null(strstr(tw_str("output"), "before\n--- stderr ---\n"
	    "careful\n"));
	assert_non_null(strstr(tw_str("output"), "File \"script.py\", line 5"));
	assert_non_null(strstr(tw_str("output"), "return 1 / x"));
	assert_string_equal(tw_str("error"),
	    "exit code 1: ZeroDivisionError: division by zero");
	run("import sys; sys.exit(7)");
	expect("error", "");
	assert_string_equal(tw_str("error"), "exit code 7");
	run("print(input())");
	assert_non_null(strstr(tw_str("error"), "EOFError"));
	run("   ");
	assert_true(tw.bad_input);
	tw_stop();
}

static void
time_is_limited_and_what_was_printed_stays(void **state)
{
	const char *mark = cf_mark();
	CLEANUP_FREE char *code = mem_printf("import subprocess\n"
	    "print('half', flush=True)\n"
	    "subprocess.Popen(['setsid', 'sleep', '%s'])\n"
	    "from hermes_tools import terminal\nterminal('sleep %s')\n", mark, mark);

	start(state);
	tw.env.code.timeout_ms = patience();
	CLEANUP_FREE char *said = mem_printf("timed out after %llds",
	    (long long)tw.env.code.timeout_ms / 1000);

	run(code);
	expect("timeout", NULL);
	assert_int_equal(strncmp(tw_str("output"), "half\n", 5), 0);
	assert_non_null(strstr(tw_str("output"), said));
	assert_true(cf_none_left(mark));
	tw_stop();
}

static void
a_cancel_ends_script_calls_and_children(void **state)
{
	const char *mark = cf_mark();
	CLEANUP_FREE char *code = mem_printf("import subprocess\n"
	    "subprocess.Popen(['setsid', 'sleep', '%s'])\n"
	    "from hermes_tools import terminal\nterminal('sleep %s; true')\n", mark,
	    mark);

	start(state);
	struct op *op = tw_begin("execute_code", tw_args("code", code, NULL));
	for (int i = 0; i < 400 && real_count(mark) < 2; i++)
		real_turn(&cf.real, 25);
	assert_true(real_count(mark) >= 2);
	op_cancel(&op);
	assert_true(cf_none_left(mark));
	assert_false(tw.done);
	assert_string_equal(tw_shell("echo alive"), "alive\n");
	tw_stop();
}

static void
output_is_bounded_clean_and_masked(void **state)
{
	start(state);
	run("import sys\n"
	    "print('\\x1b[31mred\\x1b[0m first')\n"
	    "for i in range(20000): print('line', i)\n"
	    "for i in range(5000): sys.stderr.write('oops %d\\n' % i)\n"
	    "print('t=ghp_' + '0123456789abcdefghijklmnopqrstuvwxyzAB')\n"
	    "sys.exit(3)\n");
	expect("error", NULL);
	const char *out = tw_str("output");
	size_t len = strlen(out);

	assert_int_equal(strncmp(out, "red first\nline 0\n", 17), 0);
	assert_non_null(strstr(out, "bytes omitted"));
	assert_non_null(strstr(out, "line 19999\n"));
	assert_null(strstr(out, "ghp_0123"));
	assert_non_null(strstr(out, "oops 0\n"));
	assert_null(strstr(out, "oops 4999"));
	assert_non_null(strstr(strstr(out, "--- stderr ---"), "bytes omitted"));
	assert_true(len > 55000 && len < 61000);
	/* what was left out can be read */
	CLEANUP_FREE char *id = mem_str(tw_str("full_output_id"));

	tw_call("process", json_set_int(json_set_int(tw_args("action", "log",
	    "session_id", id, NULL), "offset", 10002), "limit", 2));
	assert_string_equal(tw_str("output"), "line 10000\nline 10001\n");
	tw_call("process", json_set_int(tw_args("action", "log",
	    "session_id", id, NULL), "limit", 1));
	assert_null(strstr(tw_str("output"), "ghp_0123"));
	tw_stop();
}

/* Clean and masked however it ends, also in its last words. */
static void
every_end_is_clean_and_masked(void **state)
{
	static const struct { const char *status, *end; } rows[] = {
		{ "success", "" }, { "error", "sys.exit(3)\n" },
		{ "error", "raise ValueError('\\x1b[1m' + t)\n" },
		{ "timeout", "import time; time.sleep(60)\n" },
	};

	start(state);
	msec_t limit = patience();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		tw.env.code.timeout_ms = strcmp(rows[i].status, "timeout") == 0 ?
		    limit : 15000;
		CLEANUP_FREE char *code = mem_printf("import sys\n"
		    "t = 'ghp_' + '0123456789abcdefghijklmnopqrstuvwxyzAB'\n"
		    "print('\\x1b[31mout\\x1b[0m', t, flush=True)\n"
		    "print('\\x1b[31merr\\x1b[0m', t, file=sys.stderr, flush=True)\n"
		    "%s", rows[i].end);

		run(code);
		expect(rows[i].status, NULL);
		CLEANUP_FREE char *all = json_text(tw.result);

		assert_int_equal(strncmp(tw_str("output"), "out [redacted]\n", 15),
		    0);
		assert_null(strstr(all, "ghp_0123"));
		assert_null(strstr(all, "\\u001b"));
		assert_null(strstr(all, "[31m"));
	}
	tw_stop();
}

static void
calls_are_limited(void **state)
{
	start(state);
	tw.env.code.max_calls = 3;
	run("from hermes_tools import read_file\n"
	    "r = [read_file('/etc/hostname') for i in range(5)]\n"
	    "print(r[4]['error'])\n");
	expect("success", NULL);
	assert_non_null(strstr(tw_str("output"), "max_tool_calls"));
	assert_int_equal(json_get_int(tw.result, "tool_calls_made", -1), 3);
	tw_stop();
}

/* What the module hides from those who don't look for it. */
#define CELL \
	"def cell(f, name):\n" \
	"    return dict(zip(f.__code__.co_freevars,\n" \
	"        [c.cell_contents for c in f.__closure__]))[name]\n" \
	"call = cell(hermes_tools.terminal, 'call')\n"

/* Its own process knows the token; nothing else shows it. */
static void
the_token_is_nowhere_to_be_read(void **state)
{
	start(state);
	run("import hermes_tools, glob, os\n"
	    CELL
	    "token = cell(call, 'token').hex()\n"
	    "hermes_tools.terminal('true')\n"
	    "found = []\n"
	    "for p in (glob.glob('/proc/[0-9]*/cmdline') +\n"
	    "        glob.glob('/proc/[0-9]*/environ') +\n"
	    "        glob.glob('/tmp/gatehouse*/*')):\n"
	    "    try:\n"
	    "        if os.path.isfile(p) and token.encode() in open(p, 'rb').read():\n"
	    "            found.append(p)\n"
	    "    except OSError:\n"
	    "        pass\n"
	    "print(len(token), found, [v for v in os.environ.values() if token in v])\n"
	    "import subprocess\n"
	    "print(subprocess.run(['python3', '-c', 'import hermes_tools'],\n"
	    "    capture_output=True).returncode)\n"
	    "print(len(os.listdir('/proc/self/fd')) < 8)\n"
	    "import sys\n"
	    "print([p for p in sys.path if 'gatehouse' in p])\n");
	expect("success", "64 [] []\n1\nTrue\n[]\n");
	tw_stop();
}

/* All that an engine tells of its containers and of what ran in them. */
#define ENGINE_TEXT \
	"s=${GATEHOUSE_TEST_ENGINE#unix://}; " \
	"g() { curl -s -m 20 --unix-socket \"$s\" \"http://d/v1.41$1\"; }; " \
	"g \"/events?since=0&stream=false&until=$(date +%s)\"; " \
	"for i in $(g '/containers/json?all=1' | grep -o '\"Id\":\"[0-9a-f]*' | " \
	"cut -d'\"' -f4); do j=$(g /containers/$i/json); echo \"$j\"; " \
	"for e in $(echo \"$j\" | grep -o '\"ExecIDs\":\\[[^]]*' | " \
	"grep -o '[0-9a-f]\\{64\\}'); do g /exec/$e/json; done; done"

static void
engine_tells_nothing_of(const char *token)
{
	size_t room = 8 << 20, len;
	CLEANUP_FREE char *text = NULL;

	if (strcmp(cf.backend, "docker") != 0 && strcmp(cf.backend, "podman") != 0)
		return;
	FILE *f = popen(ENGINE_TEXT, "r");

	assert_non_null(f);
	text = mem_alloc(room);
	len = fread(text, 1, room - 1, f);
	text[len] = '\0';
	assert_int_equal(pclose(f), 0);
	assert_non_null(strstr(text, "\"ExecIDs\":["));
	assert_non_null(strstr(text, "ProcessConfig"));
	assert_null(strstr(text, token));
}

/* The machine's processes, the engine's words, our log, our files. */
static void
nobody_else_learns_the_token(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/debug.log", cf.dir);
	CLEANUP_FREE char *token = NULL, *grep = NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	start(state);
	tw_shell("rm -f tok tok-seen");
	assert_true(fd >= 0);
	log_open(fd, LOG_TRACE);
	struct op *op = tw_begin("execute_code", tw_args("code",
	    "import hermes_tools, os, time\n" CELL
	    "t = cell(call, 'token').hex()\n"
	    "open('tok.new', 'w').write(t[:32] + '\\n' + t[32:])\n"
	    "hermes_tools.write_file('tok.text', 'x')\n"
	    "os.rename('tok.new', 'tok')\n"
	    "while not os.path.exists('tok-seen'): time.sleep(0.02)\n"
	    "print(hermes_tools.terminal('echo end')['output'])\n", NULL));

	assert_non_null(op);
	token = mem_str(tw_shell("until [ -s tok ]; do sleep 0.05; done; "
	    "tr -d '\\n' < tok"));
	assert_int_equal(strlen(token), 64);
	assert_int_equal(real_count(token), 0);
	engine_tells_nothing_of(token);
	tw_shell("touch tok-seen");
	tw_wait();
	log_open(2, LOG_INFO);
	close(fd);
	expect("success", "end\n\n");
	assert_non_null(strstr(json_get_str(tw.result, "status", ""), "success"));
	grep = mem_printf("grep -rqF rpc '%s' && ! grep -rqF %s '%s'", path, token,
	    cf.dir);
	assert_int_equal(system(grep), 0);
	tw_stop();
}

/* Frames without the token, both ways, into every mailbox that can be seen. */
#define FORGE \
	"z=$(printf '%064d' 0); n=0; for d in /tmp/gatehouse_exec_*; do " \
	"[ -p \"$d/req\" ] || continue; n=$((n + 1)); " \
	"echo \"$z {\\\"seq\\\":2,\\\"tool\\\":\\\"terminal\\\",\\\"args\\\":" \
	"{\\\"command\\\":\\\"touch forged\\\"}}\" 1<>\"$d/req\"; " \
	"echo \"$z {\\\"seq\\\":2,\\\"result\\\":{\\\"output\\\":\\\"forged\\\"}}\" " \
	"1<>\"$d/res\"; done; echo $n"

static void
calls_and_answers_of_others_are_nothing(void **state)
{
	struct sandbox_cmd forge = { .command = FORGE };
	struct ran r;

	start(state);
	tw_shell("rm -f up go forged");
	struct op *op = tw_begin("execute_code", tw_args("code",
	    "import os, time\nfrom hermes_tools import terminal\n"
	    "terminal('touch up')\n"
	    "while not os.path.exists('go'): time.sleep(0.02)\n"
	    "print(terminal('echo mine')['output'], end='')\n", NULL));

	assert_non_null(op);
	tw_shell("until [ -e up ]; do sleep 0.05; done");
	/* another session's commands, then others of this sandbox */
	cf_begin(&r, &key_b, &forge);
	cf_wait(&r);
	if ((cf.props.isolation & SANDBOX_ISOLATED) == SANDBOX_ISOLATED)
		assert_string_equal(r.output, "0\n");
	cf_done(&r);
	bool seen = strcmp(tw_shell(FORGE), "0\n") != 0;

	if (*state == &by_files)
		assert_true(seen);
	tw_shell("touch go");
	tw_wait();
	expect("success", "mine\n");
	assert_int_equal(json_get_int(tw.result, "tool_calls_made", -1), 2);
	assert_string_equal(tw_shell("ls forged 2>/dev/null || echo none"),
	    "none\n");
	tw_stop();
}

/* Neither memory nor the loop is theirs; the script learns that it is over. */
static void
a_flood_of_frames_ends_the_listening(void **state)
{
	start(state);
	run("import hermes_tools, os, signal\n" CELL
	    "fd = cell(call, 'link')['out']\n"
	    "try:\n"
	    "    for i in range(3000): os.write(fd, b'x' * 1000 + b'\\n')\n"
	    "except OSError as e:\n"
	    "    print('cut')\n"
	    "print('end')\n");
	bool socket = *state != &by_files &&
	    sandbox_can_rpc(cf.sb, key_a.owner);

	expect("success", socket ? "cut\nend\n" : "end\n");
	assert_non_null(strstr(tw_str("_warning"), "not heard any more"));
	assert_string_equal(tw_shell("echo alive"), "alive\n");
	tw_stop();
}

static void
forged_and_replayed_frames_get_nothing(void **state)
{
	start(state);
	run("import hermes_tools, os, hmac, json\n"
	    CELL
	    "link, token = cell(call, 'link'), cell(call, 'token')\n"
	    "fd = link['out']\n"
	    "body = json.dumps({'seq': 1, 'tool': 'terminal',\n"
	    "    'args': {'command': 'touch forged'}}).encode()\n"
	    "def mac(key): return hmac.new(key, b'q' + body, 'sha256').hexdigest()\n"
	    "os.write(fd, mac(b'x' * 32).encode() + b' ' + body + b'\\n')\n"
	    "os.write(fd, b'{\"tool\":\"terminal\",\"args\":{},\"token\":\"x\"}\\n')\n"
	    "os.write(fd, b'\\n' * 5)\n"
	    "print(hermes_tools.terminal('echo one')['output'], end='')\n"
	    "os.write(fd, mac(token).encode() + b' ' + body + b'\\n')    # seq again\n"
	    "print(hermes_tools.terminal('ls forged; echo two')['output'])\n"
	    "print(hermes_tools.__dict__.get('execute_code'), call('process',\n"
	    "    {'action': 'list'})['error'], call('terminal', {})['error'])\n");
	expect("success", NULL);
	assert_int_equal(strncmp(tw_str("output"), "one\nls: ", 8), 0);
	assert_non_null(strstr(tw_str("output"), "two\n"));
	assert_non_null(strstr(tw_str("output"), "None a script cannot call "
	    "'process' terminal: 'command' is missing"));
	tw_stop();
}

static void
a_forked_child_has_no_tools(void **state)
{
	start(state);
	run("import hermes_tools, os, time\n"
	    "if os.fork() == 0:\n"
	    "    try:\n"
	    "        hermes_tools.terminal('true')\n"
	    "    except RuntimeError as e:\n"
	    "        print(e, flush=True)\n"
	    "    os._exit(0)\n"
	    "os.wait()\n"
	    "for i in range(30):\n"
	    "    if os.fork() == 0:\n"
	    "        time.sleep(1000)\n"
	    "print('parent')\n");
	expect("success", "hermes_tools: only in the process of the script\n"
	    "parent\n");
	assert_non_null(strstr(tw_str("note"), "left behind"));
	tw_stop();
}

/* The script asks once; what it asks of a tool is judged for itself. */
static void
each_call_passes_the_gate(void **state)
{
	start(state);
	if (cf.props.isolation & SANDBOX_NO_HOST_FILES) {
		tw_stop();
		return;
	}
	tw.says_no = true;
	tw.yes_first = 1;
	run("from hermes_tools import terminal\n"
	    "print(terminal('rm -rf ~/x')['status'])\n");
	expect("success", "blocked\n");
	assert_int_equal(tw.prompts, 2);
	assert_non_null(strstr(tw.prompt, "rm -rf ~/x"));
	run("import os; os.remove('/tmp/no-such-file')");
	expect("error", "");
	assert_int_equal(tw.prompts, 3);
	assert_non_null(strstr(tw.prompt, "Allow this script"));
	assert_non_null(strstr(tw.prompt, "a Python script:\nimport os"));
	tw_stop();
}

static void
node_calls_tools_too(void **state)
{
	start(state);
	bool there = strncmp(tw_shell("command -v node || echo none"), "none",
	    4) != 0;

	tw_call("execute_code", tw_args("language", "node", "code",
	    "const h = require('hermes_tools');\n"
	    "console.log(h.terminal('echo hi').output.trim());\n"
	    "h.write_file('c9.txt', 'x\\n');\n"
	    "console.log(h.read_file('c9.txt').content);\n", NULL));
	if (!there) {
		expect("error", NULL);
		assert_non_null(strstr(tw_str("error"), "node is not in this "
		    "sandbox"));
		tw_stop();
		return;
	}
	expect("success", "hi\n1|x\n\n");
	tw_stop();
}

static void
a_shell_script_runs_the_same_way(void **state)
{
	start(state);
	tw_call("execute_code", tw_args("language", "sh", "code",
	    "cd /tmp; export GONE=1; echo out; echo err >&2; exit 4", NULL));
	expect("error", "out\n--- stderr ---\nerr\n");
	assert_string_equal(tw_str("error"), "exit code 4: err");
	assert_string_equal(tw_shell("echo \"[$GONE]\""), "[]\n");
	tw_stop();
}

/* The mailbox is gone with its script; others may have theirs beside it. */
static void
no_file_is_left(void **state)
{
	start(state);
	run("import hermes_tools, os\n" CELL
	    "hermes_tools.terminal('true')\n"
	    "print(os.path.dirname(os.readlink('/proc/self/fd/%d' %\n"
	    "    cell(call, 'link')['out'])), end='')\n");
	expect("success", NULL);
	assert_int_equal(strncmp(tw_str("output"), "/tmp/gatehouse_exec_", 20), 0);
	CLEANUP_FREE char *look = mem_printf("[ -e '%s' ] || echo gone",
	    tw_str("output"));

	assert_string_equal(tw_shell(look), "gone\n");
	tw_stop();
}

/* By files also where there is a socket; only by files where there is none. */
#define BOTH(name) \
	if (socket) \
		cf_case("code socket " #name, name, NULL); \
	cf_case("code files " #name, name, (void *)(uintptr_t)&by_files)

void
code_add_cases(const char *backend)
{
	const struct backend *b = backend_find(backend);
	bool socket = b && b->flags & BACKEND_RPC;

	BOTH(a_script_calls_tools);
	BOTH(what_goes_wrong_is_told);
	BOTH(calls_are_limited);
	BOTH(the_token_is_nowhere_to_be_read);
	BOTH(nobody_else_learns_the_token);
	BOTH(calls_and_answers_of_others_are_nothing);
	BOTH(a_flood_of_frames_ends_the_listening);
	BOTH(forged_and_replayed_frames_get_nothing);
	BOTH(a_forked_child_has_no_tools);
	BOTH(node_calls_tools_too);
	cf_case("code no_file_is_left", no_file_is_left,
	    (void *)(uintptr_t)&by_files);
	BOTH(time_is_limited_and_what_was_printed_stays);
	BOTH(a_cancel_ends_script_calls_and_children);
	cf_case("code output_is_bounded_clean_and_masked",
	    output_is_bounded_clean_and_masked, NULL);
	cf_case("code every_end_is_clean_and_masked",
	    every_end_is_clean_and_masked, NULL);
	cf_case("code each_call_passes_the_gate", each_call_passes_the_gate, NULL);
	cf_case("code a_shell_script_runs_the_same_way",
	    a_shell_script_runs_the_same_way, NULL);
}
