/* State shared by the two halves of the scanner: words and commands. */
#ifndef GATEHOUSE_GATE_SHELL_SCAN_H
#define GATEHOUSE_GATE_SHELL_SCAN_H

#include "gateway/gate/shell.h"

struct sh_heredoc {
	struct sh_heredoc *next;
	struct sh_redir *redir;
	const char *delim;
	size_t delim_len;
	bool strip_tabs;
};

struct sh_scan {
	const char *s;
	size_t pos, len;
	unsigned depth;
	struct arena *arena;
	const char *error;
	struct sh_heredoc *heredocs;	/* wait for the next newline */
	size_t commands, steps;
};

enum sh_word_mode {
	SH_WORD_PLAIN,		/* ends at a metacharacter */
	SH_WORD_PATTERN,	/* right side in [[ ]]: () | < > are text */
};

void scan_fail(struct sh_scan *p, const char *why);
bool scan_enter(struct sh_scan *p);
void scan_leave(struct sh_scan *p);
char scan_peek(const struct sh_scan *p, size_t ahead);	/* NUL at the end */
void scan_blanks(struct sh_scan *p);	/* blanks, continuations, comments */
bool scan_is_meta(char c);

/* NULL where no word starts. */
struct sh_word *scan_word(struct sh_scan *p, enum sh_word_mode mode);
/* Text with expansions but no quotes of its own, e.g. an array's index. */
struct sh_word *scan_until(struct sh_scan *p, const char *stop);
struct sh_word *scan_arith(struct sh_scan *p);	/* up to and with "))" */
struct sh_word *scan_body(struct sh_scan *p, const char *body, size_t len,
	bool quoted);
/* A redirection at pos with its descriptor; NULL if there is none. */
struct sh_redir *scan_redir(struct sh_scan *p);
void scan_heredocs(struct sh_scan *p);	/* bodies, after a newline */

/* After $' up to and with the closing quote. */
const char *scan_ansi_quote(struct sh_scan *p, size_t *ret_len);

/* ---- commands ---- */
struct sh_node *scan_node(struct sh_scan *p, enum sh_node_type type);
bool scan_at_reserved(const struct sh_scan *p, const char *word);
bool scan_accept(struct sh_scan *p, const char *word);
void scan_expect(struct sh_scan *p, const char *word);
void scan_newlines(struct sh_scan *p);
struct sh_node *scan_command(struct sh_scan *p);
struct sh_node *scan_compound(struct sh_scan *p);	/* NULL: none starts here */
/* Length of "name ()" at pos, 0 if there is none. */
size_t scan_function_head(const struct sh_scan *p, size_t *ret_name);
struct sh_node *scan_function(struct sh_scan *p, size_t name_start,
	size_t name_end);

/* The commands up to an unquoted stop: ')' or NUL for the end of the text. */
struct sh_node *scan_list(struct sh_scan *p, char stop);

#endif
