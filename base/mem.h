/*
 * Memory that never fails: running out ends the process (every input has a
 * bound, so it means a bug or a dead machine).  CLEANUP() is for functions
 * that finish at once; objects that live across loop turns have x_free(**).
 */
#ifndef GATEHOUSE_MEM_H
#define GATEHOUSE_MEM_H

#include <stddef.h>
#include <stdnoreturn.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));	/* zeroed */
void *mem_array(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *mem_grow(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
void *mem_dup(const void *p, size_t size) __attribute__((returns_nonnull));
char *mem_str(const char *s);			/* NULL gives NULL */
char *mem_strn(const char *s, size_t n) __attribute__((returns_nonnull));
char *mem_printf(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), returns_nonnull));
void mem_free(void *p);

/* Overwrites before freeing; for strings that hold a secret. */
void mem_free_secret(char **s);

/* Copies src into a fixed array; -1 if it does not fit (dst then holds ""). */
int mem_copy_str(char *dst, size_t dst_size, const char *src)
	__attribute__((warn_unused_result));

/* Writes into a fixed array; -1 on truncation (dst then holds ""). */
int mem_format(char *dst, size_t dst_size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), warn_unused_result));

void mem_cleanup_free(void *pp);
void mem_cleanup_close(int *fd);
#define CLEANUP_FREE __attribute__((cleanup(mem_cleanup_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(mem_cleanup_close)))

/* Gives the pointer away and leaves NULL behind. */
#define STEAL(p) __extension__({ __typeof__(p) steal_ = (p); (p) = NULL; steal_; })

/* For our own mistakes only, never for input; always on. */
#define REQUIRE(cond) \
	((cond) ? (void)0 : mem_require_failed(#cond, __FILE__, __LINE__))
noreturn void mem_require_failed(const char *cond, const char *file, int line);

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
