/*
 * gatehouse-helper: the only program of ours that holds privileges.  One role
 * by argument; refuses anything else, so starting it by hand is harmless.  The
 * far roles run in containers and on other machines.
 */
#include <string.h>
#include <unistd.h>

#include "sandbox/native-init/far.h"
#include "sandbox/native-init/helper.h"

int
main(int argc, char **argv)
{
	static const char usage[] =
		"gatehouse-helper is started by gatehouse, not by hand\n";

	if (argc == 3 && strcmp(argv[1], "launcher") == 0)
		return strcmp(argv[2], WIRE_VERSION) == 0 ? launcher_main() :
			WIRE_VERSION_EXIT;
	/* These have no more rights than whoever starts them. */
	if (argc == 3 && strcmp(argv[1], "far") == 0)
		return far_main();
	if (argc >= 3 && strcmp(argv[1], "far-kill") == 0)
		return far_kill_main(argc - 2, argv + 2);
	if (argc == 3 && strcmp(argv[1], "far-rest") == 0)
		return far_rest_main(argv[2]);
	if (argc >= 4 && strcmp(argv[1], "far-tend") == 0)
		return tend_far_main(argv[2], argc - 3, argv + 3);
	if (write(2, usage, sizeof(usage) - 1) < 0)
		return 3;
	return 2;
}
