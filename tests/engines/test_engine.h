/* Cases of test_engine that have a file of their own. */
#ifndef GATEHOUSE_TEST_ENGINE_H
#define GATEHOUSE_TEST_ENGINE_H

void while_the_engine_is_deaf_the_sandbox_is_closed(void **state);

#endif
