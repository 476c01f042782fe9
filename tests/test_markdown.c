/* Markdown as models write it, as Telegram's HTML and as plain text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "platforms/text/render.h"
#include "platforms/text/telegram_html.h"
#include "tests/html_check.h"

struct golden { const char *md; const char *html; };

static void
check(const struct golden *g, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP_BUF struct buf out;

		buf_init(&out, 1u << 20);
		telegram_html(&out, g[i].md, strlen(g[i].md));
		if (strcmp(out.data, g[i].html))
			fail_msg("%s\n  gave %s\n  want %s", g[i].md, out.data,
				g[i].html);
		assert_null(html_check(out.data, NULL));
	}
}

static void
emphasis_is_formatted_and_the_rest_is_text(void **state)
{
	static const struct golden g[] = {
		{ "plain", "plain" },
		{ "**b** *i* __b__ _i_ ~~s~~", "<b>b</b> <i>i</i> <b>b</b> <i>i</i> <s>s</s>" },
		{ "***both***", "<i><b>both</b></i>" },
		{ "**a *b* c**", "<b>a <i>b</i> c</b>" },
		{ "2 * 3 * 4", "2 * 3 * 4" },
		{ "snake_case my_file_name.py", "snake_case my_file_name.py" },
		{ "see https://h.example/a_b_page _real italics_",
			"see https://h.example/a_b_page <i>real italics</i>" },
		{ "https://h.example/_x_ y", "https://h.example/_x_ y" },
		{ "**https://h.example/a**", "<b>https://h.example/a</b>" },
		{ "**open and never closed", "**open and never closed" },
		{ "a ** b", "a ** b" },
		{ "~single~ ~~~three~~~", "~single~ ~~~three~~~" },
		{ "\\*not\\* \\_it\\_", "*not* _it_" },
		{ "C:\\dir\\file", "C:\\dir\\file" },
		{ "**a\nb**", "<b>a\nb</b>" },
		{ "**a\n\nb**", "**a\n\nb**" },
		{ "\u4e2d**\u6587\u3002**\u540e", "\u4e2d<b>\u6587\u3002</b>\u540e" },
		{ "# **x** y", "<b>x y</b>" },
		{ "**a **b** c**", "<b>a b c</b>" },
	};

	(void)state;
	check(g, ARRAY_LEN(g));
}

static void
html_of_the_model_is_text(void **state)
{
	static const struct golden g[] = {
		{ "From: Bob <bob@example.com>\nSubject: a < b && c > d\n**Summary** x",
			"From: Bob &lt;bob@example.com&gt;\nSubject: a &lt; b &amp;&amp; c &gt; d\n<b>Summary</b> x" },
		{ "<b>x</b> &amp; \"q\"", "&lt;b&gt;x&lt;/b&gt; &amp;amp; &quot;q&quot;" },
		{ "`<b>`", "<code>&lt;b&gt;</code>" },
	};

	(void)state;
	check(g, ARRAY_LEN(g));
}

static void
code_is_never_markup(void **state)
{
	static const struct golden g[] = {
		{ "`a*b*c` and ``x`y``", "<code>a*b*c</code> and <code>x`y</code>" },
		{ "`never closed", "`never closed" },
		{ "**a `b` c**", "<b>a <code>b</code> c</b>" },
		{ "*a `b* c`", "*a <code>b* c</code>" },
		{ "```c\nint *x;\n```", "<pre><code class=\"language-c\">int *x;</code></pre>" },
		{ "```\na\n\nb\n```\nafter", "<pre>a\n\nb</pre>\nafter" },
		{ "```c++\nx", "<pre><code class=\"language-c++\">x</code></pre>" },
		{ "```\"><b>\nx\n```", "<pre>x</pre>" },
		/* C178: the closer is at least as long as the opener */
		{ "````text\nhere is a fence:\n```sh\nls\n```\ndone\n````\nprose",
			"<pre><code class=\"language-text\">here is a fence:\n```sh\nls\n```\ndone</code></pre>\nprose" },
		/* C180 */
		{ "~~~markdown\nitem *these stars*\n~~~",
			"<pre><code class=\"language-markdown\">item *these stars*</code></pre>" },
		{ "- x\n  ```py\n  a\n    b\n  ```", "\u2022 x\n<pre><code class=\"language-py\">a\n  b</code></pre>" },
	};

	(void)state;
	check(g, ARRAY_LEN(g));
}

static void
links_keep_their_address(void **state)
{
	static const struct golden g[] = {
		{ "[a](https://x.example/?a=1&b=\"2\")",
			"<a href=\"https://x.example/?a=1&amp;b=&quot;2&quot;\">a</a>" },
		{ "[a *b*](http://x.example/a_(b)_c)",
			"<a href=\"http://x.example/a_(b)_c\">a <i>b</i></a>" },
		{ "**[a](http://x.example)**", "<b><a href=\"http://x.example\">a</a></b>" },
		{ "[a](file.md) [b](javascript:alert)", "a (file.md) b (javascript:alert)" },
		{ "![pic](https://x.example/p.png)", "<a href=\"https://x.example/p.png\">pic</a>" },
		{ "[](https://x.example)", "<a href=\"https://x.example\">https://x.example</a>" },
		{ "[https://a_b.example](https://a_b.example)",
			"<a href=\"https://a_b.example\">https://a_b.example</a>" },
		{ "[a [b](http://x.example) c](http://y.example)",
			"[a <a href=\"http://x.example\">b</a> c](http://y.example)" },
		{ "array[0](1) [x] (y) [z]", "array0 (1) [x] (y) [z]" },
		{ "[t](http://x.example \"title\")", "<a href=\"http://x.example\">t</a>" },
		{ "*a [b*](http://x.example) c*", "<i>a <a href=\"http://x.example\">b*</a> c</i>" },
	};

	(void)state;
	check(g, ARRAY_LEN(g));
}

static void
blocks_become_lines(void **state)
{
	static const struct golden g[] = {
		{ "## Title ##\ntext", "<b>Title</b>\ntext" },
		{ "#hashtag", "#hashtag" },
		{ "- a\n  * b\n1. c\n- [ ] d\n- [x] e",
			"\u2022 a\n  \u2022 b\n1. c\n\u2610 d\n\u2611 e" },
		{ "-a\n*b", "-a\n*b" },
		{ "> a **b**\n> c\n\nd", "<blockquote>a <b>b</b>\nc</blockquote>\n\nd" },
		{ ">> deep\n> flat", "<blockquote>deep\nflat</blockquote>" },
		{ "a\n\n---\nb", "a\n\n\u2014\u2014\u2014\nb" },
		{ "|Name|Age|City|\n|---|:-:|--:|\n|Ann|3|Oslo|\n|*Bo*||Rome|\nend",
			"<b>Ann</b>\n\u2022 Age: 3\n\u2022 City: Oslo\n\n"
			"<b><i>Bo</i></b>\n\u2022 City: Rome\nend" },
		{ "Name | Age\n--- | ---\nAnn | a\\|b", "<b>Ann</b>\n\u2022 Age: a|b" },
		{ "```\n|a|b|\n|-|-|\n|1|2|\n```", "<pre>|a|b|\n|-|-|\n|1|2|</pre>" },
		{ "a | b\nno | table", "a | b\nno | table" },
		{ "|a|b|\n|-|-|", "<b>a</b>\n\u2022 b: b" },
	};

	(void)state;
	check(g, ARRAY_LEN(g));
}

static void
plain_text_has_no_marks_left(void **state)
{
	CLEANUP_BUF struct buf out;
	const char *md = "# T\n**b** `c` [l](u/v) [http://x](http://x)\n"
		"```sh\nls *\n```";

	(void)state;
	buf_init(&out, 4096);
	text_plain(&out, md, strlen(md));
	assert_string_equal(out.data, "T\nb c l (u/v) http://x\nls *");
}

static void
nothing_visible_is_said(void **state)
{
	static const char *const empty[] = { "", " \n\t", "```\n```", "> \n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
		CLEANUP_BUF struct buf out;

		buf_init(&out, 4096);
		assert_false(telegram_html(&out, empty[i], strlen(empty[i])));
	}
}

/* 256 KB of what makes naive parsers quadratic; the alarm is the assertion. */
static void
hostile_repetition_is_linear(void **state)
{
	static const char *const units[] = { "*", "**a ", "*a _b ", "[", "[](", "]",
		"`", "` `` ", "> ", "a|b\n", "|-|-|\n", "~~a", "_a*b", "![a](b",
		"\\", "```\n", "https://", "[a](b) " };

	(void)state;
	alarm(60);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		CLEANUP_BUF struct buf in, out;

		buf_init(&in, 1u << 20);
		buf_init(&out, 8u << 20);
		while (in.len < (256u << 10))
			buf_add_str(&in, units[i]);
		telegram_html(&out, in.data, in.len);
		const char *bad = html_check(out.data, NULL);
		if (bad && !out.over)
			fail_msg("%s...: %s", units[i], bad);
	}
	alarm(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(emphasis_is_formatted_and_the_rest_is_text),
		cmocka_unit_test(html_of_the_model_is_text),
		cmocka_unit_test(code_is_never_markup),
		cmocka_unit_test(links_keep_their_address),
		cmocka_unit_test(blocks_become_lines),
		cmocka_unit_test(plain_text_has_no_marks_left),
		cmocka_unit_test(nothing_visible_is_said),
		cmocka_unit_test(hostile_repetition_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
