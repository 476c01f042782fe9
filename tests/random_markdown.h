/* Random texts that are full of Markdown, valid or not. */
#ifndef GATEHOUSE_TESTS_RANDOM_MARKDOWN_H
#define GATEHOUSE_TESTS_RANDOM_MARKDOWN_H

#include <stdbool.h>
#include <stdint.h>

void random_seed(uint64_t seed);	/* not 0 */
unsigned random_draw(unsigned n);	/* 0 to n - 1 */
char *random_markdown(bool tables);	/* caller frees */

#endif
