#include "gateway/version.h"

#include <stdio.h>

#include <config.h>
#include "gateway/cli.h"

const char *
version_text(void)
{
	return PACKAGE_VERSION;
}

int
version_main(struct cli_ctx *ctx)
{
	(void)ctx;
	printf("gatehouse %s\n", version_text());
	return CLI_OK;
}
