/* Every tool that is built in: one line each, the only list. */
TOOL(terminal)
TOOL(execute_code)
TOOL(patch)
TOOL(process)
TOOL(read_file)
TOOL(search_files)
TOOL(write_file)
