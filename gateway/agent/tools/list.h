/* Every tool that is built in: one line each, the only list. */
TOOL(terminal)
TOOL(process)
