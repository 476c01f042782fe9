/* Names that code given as an option may use, between blanks, by language. */
#ifndef GATEHOUSE_GATE_INLINE_WORDS_H
#define GATEHOUSE_GATE_INLINE_WORDS_H

extern const char inline_py_modules[];
extern const char inline_py_denied[];
extern const char inline_py_risky[];
extern const char inline_py_os[];
extern const char inline_py_sys[];
extern const char inline_node_allowed[];
extern const char inline_perl_allowed[];
extern const char inline_ruby_allowed[];
extern const char inline_php_allowed[];
extern const char inline_lua_allowed[];

#endif
