/* A server over HTTP: clients of every revision of MCP, any number at once, and one state behind
 * all of them.
 *
 *     http_server [ADDRESS [TOKEN]]      127.0.0.1:0 is a free port; unix:/path
 *
 * It prints the URL for clients, and serves until SIGINT or SIGTERM. Handlers run one at a time, on
 * the thread that serves, so the state needs no lock.
 */
#include <stdio.h>

#include <toolwire/toolwire.h>

static void count(TwCall *call, void *user)
{
    unsigned *n_calls = user;

    tw_call_textf(call, "Call %u, whoever asks.", ++*n_calls);
}

static void print_address(void *user, const char *address)
{
    (void)user;
    printf("%s\n", address);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    unsigned n_calls = 0;
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:0";
    TwHttpOptions options = {.token = argc > 2 ? argv[2] : NULL, .ready = print_address};
    TwServer *server = tw_server_new("counter", "1.0");
    TwTool tool = {.name = "count",
                   .description = "Counts the calls of all clients",
                   .handler = count,
                   .user = &n_calls};
    int r = tw_server_add_tool(server, &tool);

    if (r == 0) {
        r = tw_server_serve_http(server, address, &options);
    }
    if (r != 0) {
        fprintf(stderr, "http_server: %s\n", tw_server_message(server));
    }
    tw_server_free(server);
    return r == 0 ? 0 : 1;
}
