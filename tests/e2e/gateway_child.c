/* An MCP server over stdin and stdout that misbehaves on request; test_gateway_chaos.c starts many
 * of them behind a hub.
 *
 *     gateway_child TAG NAME [modern] [stubborn] [helper] [clinging]
 *
 * TAG and NAME are for whoever looks for it in /proc. A modern one speaks 2026-07-28, others
 * 2025-11-25. A stubborn one ignores SIGTERM and the end of its input. A helper is a process of its
 * group that outlives it until the input ends; a clinging one does not care about that either. What
 * else it does wrong is in the table of tools below.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "json/json.h"

#include <poll.h>

#define STALL_MS         1500
#define NOISE_BYTES      ((size_t)1024 * 1024)
#define GARBAGE_LINES    2000
#define ENDLESS_BYTES    ((size_t)11 * 1024 * 1024) /* more than the hub takes as one message */
#define ARENA_KEEP_BYTES ((size_t)64 * 1024)
#define ARENA_BYTES      ((size_t)64 * 1024 * 1024)

static bool arg_modern;
static bool arg_stubborn;
static bool has_extra;     /* the list has changed */
static char listen_id[64]; /* of the modern client's subscription; "": none */

/* ---- what it says ---- */

static void say_result(Span id, const char *members)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{%s%s}}\n", (int)id.n, id.p,
           arg_modern ? "\"resultType\":\"complete\"," : "", members);
}

static void say_error(Span id, int code, const char *message)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d,\"message\":\"%s\"}}\n",
           (int)id.n, id.p, code, message);
}

/* The message comes back as it came, byte for byte. */
static void say_echo(Span id, Span message)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{%s\"content\":[{\"type\":\"text\","
           "\"text\":%.*s}]}}\n",
           (int)id.n, id.p, arg_modern ? "\"resultType\":\"complete\"," : "", (int)message.n,
           message.p);
}

/* ---- the tools ---- */

static void do_echo(Span id, Span message)
{
    say_echo(id, message);
}

static _Noreturn void do_die(Span id, Span message)
{
    (void)id;
    (void)message;
    (void)fputs("it dies\n", stderr);
    (void)raise(SIGKILL);
    abort();
}

/* In the middle of an answer. */
static _Noreturn void do_leave(Span id, Span message)
{
    (void)message;
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"resu", (int)id.n, id.p);
    (void)fflush(stdout);
    _exit(3);
}

static void do_mute(Span id, Span message)
{
    (void)id;
    (void)message;
}

/* Nobody is served meanwhile, and the answer comes late. */
static void do_stall(Span id, Span message)
{
    struct timespec pause = {.tv_sec = STALL_MS / 1000, .tv_nsec = STALL_MS % 1000 * 1000000L};

    (void)nanosleep(&pause, NULL);
    say_echo(id, message);
}

static void do_garbage(Span id, Span message)
{
    static const char binary[] = "\0\x01\xff\xfe{\x80]\0";

    for (int i = 0; i < GARBAGE_LINES; i++) {
        switch (i % 5) {
        case 0:
            printf("Listening on port %d\n", i);
            break;
        case 1:
            (void)fwrite(binary, 1, sizeof(binary), stdout);
            (void)putchar('\n');
            break;
        case 2:
            printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n", 1000000000 + i);
            break;
        case 3:
            printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":\n", (int)id.n, id.p);
            break;
        default:
            printf("[{},null,%d,{\"method\":1}]\n", i);
            break;
        }
    }
    say_echo(id, message);
}

static void do_endless(Span id, Span message)
{
    static char piece[64 * 1024];

    memset(piece, 'x', sizeof(piece));
    for (size_t n = 0; n < ENDLESS_BYTES; n += sizeof(piece)) {
        (void)fwrite(piece, 1, sizeof(piece), stdout);
    }
    (void)putchar('\n');
    say_echo(id, message);
}

static void do_noise(Span id, Span message)
{
    static const char line[] =
        "a warning that nobody reads, about something that does not matter\n";

    for (size_t n = 0; n < NOISE_BYTES; n += sizeof(line) - 1) {
        (void)fputs(line, stderr);
    }
    say_echo(id, message);
}

static void do_change(Span id, Span message)
{
    has_extra = !has_extra;
    if (!arg_modern) {
        printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
    } else if (listen_id[0] != '\0') {
        printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{"
               "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}}}\n",
               listen_id);
    }
    say_echo(id, message);
}

static void do_twice(Span id, Span message)
{
    say_echo(id, message);
    say_error(id, -32000, "on second thoughts");
    say_echo(id, message);
}

typedef struct Tool {
    const char *name;
    void (*run)(Span id, Span message);
} Tool;

static const Tool tools[] = {
    {"echo", do_echo},       {"die", do_die},         {"leave", do_leave}, {"mute", do_mute},
    {"stall", do_stall},     {"garbage", do_garbage}, {"noise", do_noise}, {"change", do_change},
    {"endless", do_endless}, {"twice", do_twice},
};

/* ---- requests ---- */

static void call(Span id, JsonValue params)
{
    JsonValue name;
    JsonValue arguments;
    JsonValue message;

    if (!json_get(params, SPAN("name"), &name) ||
        !json_get(params, SPAN("arguments"), &arguments) ||
        !json_get(arguments, SPAN("message"), &message)) {
        say_error(id, -32602, "name or message is missing");
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(tools); i++) {
        if (json_string_equals(name, span_from_str(tools[i].name))) {
            tools[i].run(id, json_span(message));
            return;
        }
    }
    say_error(id, -32602, "no such tool");
}

static void list(Span id)
{
    printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{%s\"tools\":[", (int)id.n, id.p,
           arg_modern ? "\"resultType\":\"complete\",\"ttlMs\":600000,\"cacheScope\":\"public\","
                      : "");
    for (size_t i = 0; i < TW_ARRAY_SIZE(tools); i++) {
        printf("%s{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}", i == 0 ? "" : ",",
               tools[i].name);
    }
    printf("%s]}}\n",
           has_extra ? ",{\"name\":\"extra\",\"inputSchema\":{\"type\":\"object\"}}" : "");
}

static void listen_to(Span id)
{
    (void)snprintf(listen_id, sizeof(listen_id), "%.*s", (int)id.n, id.p);
    printf(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"
        "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s},"
        "\"notifications\":{\"toolsListChanged\":true}}}\n",
        listen_id);
}

static void take(JsonValue root)
{
    JsonValue method;
    JsonValue params = {.node = NULL};
    JsonValue id;

    if (!json_get(root, SPAN("method"), &method) || !json_get(root, SPAN("id"), &id)) {
        return;
    }
    (void)json_get(root, SPAN("params"), &params);
    if (json_string_equals(method, SPAN("tools/call"))) {
        call(json_span(id), params);
    } else if (json_string_equals(method, SPAN("tools/list"))) {
        list(json_span(id));
    } else if (arg_modern && json_string_equals(method, SPAN("server/discover"))) {
        say_result(json_span(id), "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{"
                                  "\"tools\":{\"listChanged\":true}},\"ttlMs\":600000,"
                                  "\"cacheScope\":\"public\"");
    } else if (!arg_modern && json_string_equals(method, SPAN("initialize"))) {
        say_result(json_span(id), "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
                                  "\"tools\":{\"listChanged\":true}},\"serverInfo\":{"
                                  "\"name\":\"gateway_child\",\"version\":\"1\"}");
    } else if (json_string_equals(method, SPAN("ping"))) {
        say_result(json_span(id), "");
    } else if (arg_modern && json_string_equals(method, SPAN("subscriptions/listen"))) {
        listen_to(json_span(id));
    } else {
        say_error(json_span(id), -32601, "Method not found");
    }
}

/* ---- its helper, its end ---- */

static _Noreturn void help(bool is_clinging)
{
    struct pollfd input = {.fd = STDIN_FILENO};

    (void)signal(SIGTERM, SIG_IGN);
    while (is_clinging || poll(&input, 1, -1) < 0 || (input.revents & POLLHUP) == 0) {
        if (is_clinging) {
            (void)pause();
        }
    }
    _exit(0);
}

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], word) == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    Arena arena;

    arg_modern = has_word(argc, argv, "modern");
    arg_stubborn = has_word(argc, argv, "stubborn");
    if (arg_stubborn) {
        (void)signal(SIGTERM, SIG_IGN);
    }
    if ((has_word(argc, argv, "helper") || has_word(argc, argv, "clinging")) && fork() == 0) {
        help(has_word(argc, argv, "clinging"));
    }
    arena_init(&arena, ARENA_BYTES);
    while ((n = getline(&line, &size, stdin)) > 0) {
        JsonDoc doc;

        arena_reset(&arena, ARENA_KEEP_BYTES);
        if (json_parse(&doc, &arena, line, (size_t)n, NULL, NULL) == 0) {
            take(json_root(&doc));
            (void)fflush(stdout);
        }
    }
    arena_deinit(&arena);
    free(line);
    while (arg_stubborn) {
        (void)pause();
    }
    return 0;
}
