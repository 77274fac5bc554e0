/* Holds what a client of ours sent against the official schemas of MCP.
 *
 *     watch_log FILE…
 *
 * Each file is one session: lines of the client begin with '>', those of the server, which need not
 * be valid, with '<'. Prints how many messages were checked; fails at the first that is not valid,
 * and if there was none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/files.h"
#include "support/mcp_schema.h"
#include "support/mcp_watch.h"

static size_t watch_file(const char *path)
{
    size_t n = 0;
    char *text = files_read(path, &n);
    const char *end = text + n;
    size_t n_checked;
    McpWatch watch;

    mcp_watch_init(&watch, MCP_WATCH_CLIENT);
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n_line;

        assert_non_null(newline);
        n_line = (size_t)(newline - line); /* without the mark, with the newline */
        assert_true(line[0] == '>' || line[0] == '<');
        if (line[0] == '>') {
            mcp_watch_client_sends(&watch, line + 1, n_line);
        } else {
            mcp_watch_server_sends(&watch, line + 1, n_line);
        }
        line = newline + 1;
    }
    n_checked = watch.n_checked;
    mcp_watch_deinit(&watch);
    free(text);
    return n_checked;
}

int main(int argc, char **argv)
{
    size_t n_checked = 0;

    if (!mcp_schema_is_there()) {
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        n_checked += watch_file(argv[i]);
    }
    printf("%zu messages of %d sessions are valid\n", n_checked, argc - 1);
    return n_checked > 0 ? 0 : 1;
}
