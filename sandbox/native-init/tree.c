/*
 * Process trees seen through /proc, for the keepers of commands.  As
 * orphans come to their keeper (a subreaper), repeating tree_kill() until no
 * child is left reaches everything that was ever started below it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

struct node {
	pid_t pid, parent;
	char state;
	signed char below;	/* of the root asked for: 1, 0; -1 not known yet */
};

struct table {
	struct node *nodes;
	size_t n, size;
};

static bool
node_read(const char *name, struct node *node)
{
	char path[64], text[512];
	char *end;

	long pid = strtol(name, &end, 10);
	if (*end || pid <= 0 ||
	    sys_format(path, sizeof(path), "/proc/%s/stat", name) < 0)
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	/* The name is in parentheses and may hold any byte, also ')'. */
	const char *p = strrchr(text, ')');
	if (!p || strlen(p) < 5)
		return false;
	node->pid = (pid_t)pid;
	node->state = p[2];
	node->parent = (pid_t)strtol(p + 4, NULL, 10);
	node->below = -1;
	return true;
}

static int
node_compare(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool
table_room(struct table *t)
{
	if (t->n < t->size)
		return true;
	size_t size = t->size ? t->size * 2 : 256;
	struct node *grown = realloc(t->nodes, size * sizeof(*grown));
	if (!grown)
		return false;
	t->nodes = grown;
	t->size = size;
	return true;
}

static void
table_read(struct table *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	memset(t, 0, sizeof(*t));
	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    table_room(t) && node_read(e->d_name, &t->nodes[t->n]))
			t->n++;
	closedir(dir);
	if (t->n)
		qsort(t->nodes, t->n, sizeof(*t->nodes), node_compare);
}

static struct node *
table_find(struct table *t, pid_t pid)
{
	struct node key = { .pid = pid };

	return bsearch(&key, t->nodes, t->n, sizeof(*t->nodes), node_compare);
}

/* Walks up to a node that is decided, then decides all on the way. */
static bool
table_below(struct table *t, struct node *node, pid_t root)
{
	struct node *n = node;
	signed char below = 0;

	for (size_t i = 0; n && i <= t->n; i++) {
		if (n->below >= 0 || n->parent == root) {
			below = n->parent == root ? 1 : n->below;
			break;
		}
		n = table_find(t, n->parent);
	}
	for (n = node; n && n->below < 0 && n->pid != root;
	     n = table_find(t, n->parent))
		n->below = below;
	return below == 1;
}

static bool
node_of(pid_t pid, struct node *node)
{
	char name[32];

	return sys_format(name, sizeof(name), "%d", (int)pid) == 0 &&
		node_read(name, node);
}

pid_t
tree_parent(pid_t pid)
{
	struct node node;

	return node_of(pid, &node) ? node.parent : 0;
}

bool
tree_is_dead(pid_t pid)
{
	struct node node;

	return !node_of(pid, &node) || node.state == 'Z' || node.state == 'X';
}

unsigned
tree_count(pid_t of)
{
	struct table t;
	unsigned count = 0;

	table_read(&t);
	for (size_t i = 0; i < t.n; i++)
		if (t.nodes[i].state != 'Z' && t.nodes[i].state != 'X' &&
		    table_below(&t, &t.nodes[i], of))
			count++;
	free(t.nodes);
	return count;
}

/*
 * Safe against a reused pid: pids are handed out in rising order and come
 * round only after pid_max others, while scan and kill are microseconds apart.
 */
void
tree_kill(pid_t of)
{
	struct table t;

	table_read(&t);
	for (size_t i = 0; i < t.n; i++)
		if (table_below(&t, &t.nodes[i], of))
			kill(t.nodes[i].pid, SIGKILL);
	free(t.nodes);
}

unsigned
tree_kill_children_except(const pid_t *known, size_t n)
{
	struct table t;
	pid_t self = getpid();
	unsigned found = 0;

	table_read(&t);
	for (size_t i = 0; i < t.n; i++) {
		bool orphan = t.nodes[i].parent == self;
		for (size_t k = 0; orphan && k < n; k++)
			orphan = known[k] != t.nodes[i].pid;
		if (orphan) {
			kill(t.nodes[i].pid, SIGKILL);
			found++;
		}
	}
	free(t.nodes);
	return found;
}
