/* Removes a directory of our own with all in it; follows no link. */
#ifndef GATEHOUSE_RMTREE_H
#define GATEHOUSE_RMTREE_H

/* What resists stays. Blocks: for small trees, or where nothing else waits. */
void rmtree(const char *path);

#endif
