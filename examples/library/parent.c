/* A parent: a program that has tools and keeps their state in memory for as long as it runs. An MCP
 * client starts `toolwire bridge`, any number of times; all of them reach this one process. The
 * same in Python, without the library: examples/parent.py.
 *
 *     parent [SOCKET]
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <toolwire/toolwire.h>

#define MAX_ITEMS 100
#define MAX_TEXT  200

typedef struct State {
    int64_t count;
    char todo[MAX_ITEMS][MAX_TEXT];
    size_t n_todo;
} State;

/* Handlers all run on the thread that serves, so that the state needs no lock. */
static void count(TwCall *call, void *user)
{
    State *state = user;

    state->count += tw_call_int(call, "by", 1);
    tw_call_textf(call, "%lld", (long long)state->count);
}

static void todo_add(TwCall *call, void *user)
{
    State *state = user;
    const char *text = tw_call_string(call, "text", "");

    if (state->n_todo == MAX_ITEMS || strlen(text) >= MAX_TEXT) {
        tw_call_failed(call, "The list is full, or the text too long.");
        return;
    }
    memcpy(state->todo[state->n_todo++], text, strlen(text) + 1);
    tw_call_textf(call, "%zu to do", state->n_todo);
}

static void todo_done(TwCall *call, void *user)
{
    State *state = user;
    int64_t item = tw_call_int(call, "item", 0);

    if (item < 1 || (size_t)item > state->n_todo) {
        tw_call_failed(call, "There is no such item.");
        return;
    }
    tw_call_textf(call, "done: %s", state->todo[item - 1]);
    memmove(state->todo[item - 1], state->todo[item],
            (state->n_todo - (size_t)item) * sizeof(state->todo[0]));
    state->n_todo--;
}

static int add_tools(TwServer *server, State *state)
{
    const TwTool tools[] = {
        {.name = "count",
         .description = "Adds to a counter, and says where it is.",
         .input_schema = "{\"type\":\"object\",\"properties\":{\"by\":{\"type\":\"integer\"}}}",
         .handler = count,
         .user = state},
        {.name = "todo_add",
         .description = "Puts an item on the to-do list.",
         .input_schema = "{\"type\":\"object\",\"required\":[\"text\"],"
                         "\"properties\":{\"text\":{\"type\":\"string\"}}}",
         .handler = todo_add,
         .user = state},
        {.name = "todo_done",
         .description = "Takes an item off the list; the first one is 1.",
         .input_schema = "{\"type\":\"object\",\"required\":[\"item\"],"
                         "\"properties\":{\"item\":{\"type\":\"integer\"}}}",
         .handler = todo_done,
         .user = state},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++) {
        r = tw_server_add_tool(server, &tools[i]);
    }
    return r;
}

/* The command, and what an MCP client wants to read about it. */
static void print_bridge(const TwHost *host)
{
    const char *arguments[] = {"bridge", tw_host_socket_path(host), tw_host_schema_path(host)};
    TwJson *json = tw_json_new();

    tw_json_object(json);
    tw_json_key(json, "mcpServers");
    tw_json_object(json);
    tw_json_key(json, "parent");
    tw_json_object(json);
    tw_json_key(json, "command");
    tw_json_string(json, "toolwire");
    tw_json_key(json, "args");
    tw_json_array(json);
    for (int i = 0; i < 3; i++) {
        tw_json_string(json, arguments[i]);
    }
    for (int i = 0; i < 4; i++) {
        tw_json_end(json);
    }
    printf("toolwire bridge %s %s\n%s\n", arguments[1], arguments[2], tw_json_text(json));
    fflush(stdout);
    tw_json_free(json);
}

static _Atomic(TwHost *) running;

static void on_signal(int signum)
{
    (void)signum;
    tw_host_stop(running);
}

/* From the first file that it makes to the last that it removes, the host ends as it should. */
static int run(TwServer *server, const char *socket_path)
{
    static const int signums[] = {SIGINT, SIGTERM, SIGHUP};
    const size_t n_signums = sizeof(signums) / sizeof(signums[0]);
    struct sigaction action = {.sa_handler = on_signal};
    TwHost *host = NULL;
    sigset_t ends;
    int r;

    sigemptyset(&ends);
    for (size_t i = 0; i < n_signums; i++) {
        sigaddset(&ends, signums[i]);
    }
    sigprocmask(SIG_BLOCK, &ends, NULL);
    r = tw_host_open(server, &(TwHostOptions){.socket_path = socket_path}, &host);
    if (r == 0) {
        running = host;
        for (size_t i = 0; i < n_signums; i++) {
            sigaction(signums[i], &action, NULL);
        }
        print_bridge(host);
        sigprocmask(SIG_UNBLOCK, &ends, NULL);
        r = tw_host_run(host);
        running = NULL;
    }
    tw_host_close(host);
    return r;
}

int main(int argc, char **argv)
{
    static State state;
    TwServer *server = tw_server_new("parent", "1.0");
    int r = add_tools(server, &state);

    if (r == 0) {
        r = run(server, argc > 1 ? argv[1] : NULL);
    }
    if (r != 0) {
        fprintf(stderr, "parent: %s\n", tw_server_message(server));
    }
    tw_server_free(server);
    return r == 0 ? 0 : 1;
}
