/* A client: starts a server, shows its tools, calls one.
 *
 *     client TOOL ARGUMENTS COMMAND [ARGUMENT…]
 *     client greet '{"name":"Ada"}' ./hello_server
 */
#include <stdio.h>
#include <toolwire/toolwire.h>

static int show_tools(TwClient *client)
{
    TwResult *tools = NULL;
    int r = tw_client_list_tools(client, &tools);

    for (size_t i = 0; r == 0 && i < tw_result_count(tools, "/tools"); i++) {
        char name[64];
        char description[64];

        snprintf(name, sizeof(name), "/tools/%zu/name", i);
        snprintf(description, sizeof(description), "/tools/%zu/description", i);
        printf("%s: %s\n", tw_result_string(tools, name, "?"),
               tw_result_string(tools, description, ""));
    }
    tw_result_free(tools);
    return r;
}

static int call_tool(TwClient *client, const char *tool, const char *arguments)
{
    TwResult *result = NULL;
    int r = tw_client_call(client, tool, arguments, &result);

    if (r == 0) {
        printf("%s%s\n", tw_result_is_error(result) ? "failed: " : "", tw_result_text(result));
    }
    tw_result_free(result);
    return r;
}

int main(int argc, char **argv)
{
    TwClient *client;
    int r;

    if (argc < 4) {
        fprintf(stderr, "usage: client TOOL ARGUMENTS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    client = tw_client_new(NULL);
    r = tw_client_start(client, (const char *const *)&argv[3]);
    if (r == 0) {
        r = show_tools(client);
    }
    if (r == 0) {
        r = call_tool(client, argv[1], argv[2]);
    }
    if (r != 0) {
        fprintf(stderr, "client: %s: %s\n", tw_error_text(r), tw_client_message(client));
    }
    tw_client_free(client);
    return r == 0 ? 0 : 1;
}
