/* An MCP server over stdin and stdout that does what a file says; for tests of what starts one.
 *
 *     mcp_child SCRIPT SEEN
 *
 * SEEN is a file to which it appends "start" and every line that it reads. The script, line by
 * line:
 *
 *     era modern              it speaks 2026-07-28; else 2025-11-25
 *     caps {…}                what it says that it has
 *     on METHOD [WORD]        what follows is done for such a message; WORD: the name, the cursor
 *                             or the URI in its params. `on answer`: for an answer to a question.
 *                             Where one stands several times, each is for one message, and the
 *                             last for all that follow
 *     lists NAME…             `on tools/list`: tools of these names
 *     ok {…}                  the result; no CODE WORDS: the error; text WORDS: a tool's result
 *     say {…}                 a line
 *     note METHOD             a notification; elicit ID WORDS: a question
 *     keep                    its id is $KEPT in later lines
 *     err WORDS               a line on stderr
 *     exit CODE, stall        its end; nothing more is read
 *
 * In what it says, ' stands for ", $ID for the id of the message, $PARAMS for its params, $BODY for
 * the whole of it, and $TOOL(NAME) for the description of a tool.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "json/json.h"

#define MAX_RULES  128
#define MAX_LINES  1024
#define ID_SIZE    64
#define ARENA_SIZE ((size_t)64 * 1024 * 1024)

typedef struct Rule {
    const char *key;
    size_t from; /* lines */
    size_t to;
    bool is_used;
} Rule;

static char *lines[MAX_LINES];
static size_t n_lines;
static Rule rules[MAX_RULES];
static size_t n_rules;
static const char *caps = "{'tools':{}}";
static bool is_modern;
static char kept[ID_SIZE] = "null";
static FILE *seen;

static _Noreturn void give_up(const char *why)
{
    (void)fprintf(stderr, "mcp_child: %s\n", why);
    exit(99);
}

static const char *after(const char *line, const char *word)
{
    size_t n = strlen(word);

    return strncmp(line, word, n) == 0 ? line + n : NULL;
}

static void read_script(const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    if (f == NULL) {
        give_up(path);
    }
    while ((n = getline(&line, &size, f)) > 0) {
        const char *rest;

        line[strcspn(line, "\n")] = '\0';
        if (n_lines == MAX_LINES || n_rules == MAX_RULES) {
            give_up("the script is too long");
        }
        lines[n_lines] = strdup(line);
        if (n_rules > 0 && (after(line, "on ") != NULL || after(line, "lists ") != NULL)) {
            rules[n_rules - 1].to = n_lines;
        }
        if ((rest = after(lines[n_lines], "on ")) != NULL) {
            rules[n_rules++] = (Rule){.key = rest, .from = n_lines + 1};
        } else if (after(lines[n_lines], "lists ") != NULL) {
            rules[n_rules++] = (Rule){.key = "tools/list", .from = n_lines};
        } else if ((rest = after(lines[n_lines], "caps ")) != NULL) {
            caps = rest;
        } else if (strcmp(line, "era modern") == 0) {
            is_modern = true;
        }
        n_lines++;
        if (n_rules > 0) {
            rules[n_rules - 1].to = n_lines;
        }
    }
    free(line);
    (void)fclose(f);
}

/* ---- what it does ---- */

typedef struct Message {
    Span id;
    Span params;
    Span body;
} Message;

static void print_tool(Span name)
{
    printf("{\"name\":\"%.*s\",\"inputSchema\":{\"type\":\"object\"}}", (int)name.n, name.p);
}

static void print_filled(const char *text, const Message *message)
{
    while (*text != '\0') {
        const char *rest;
        Span value = {text, 1};

        if ((rest = after(text, "$ID")) != NULL) {
            value = message->id;
        } else if ((rest = after(text, "$PARAMS")) != NULL) {
            value = message->params;
        } else if ((rest = after(text, "$BODY")) != NULL) {
            value = message->body;
        } else if ((rest = after(text, "$KEPT")) != NULL) {
            value = span_from_str(kept);
        } else if ((rest = after(text, "$TOOL(")) != NULL) {
            size_t n = strcspn(rest, ")");

            print_tool(span_make(rest, n));
            value = SPAN_NULL;
            rest += n + 1;
        } else if (*text == '\'') {
            value = SPAN("\"");
            rest = text + 1;
        } else {
            rest = text + 1;
        }
        if (value.n > 0) {
            (void)fwrite(value.p, 1, value.n, stdout);
        }
        text = rest;
    }
}

static void say(const char *head, const char *text, const char *tail, const Message *message)
{
    print_filled(head, message);
    print_filled(text, message);
    print_filled(tail, message);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static const char *result_head(void)
{
    return is_modern ? "{'jsonrpc':'2.0','id':$ID,'result':{'resultType':'complete',"
                     : "{'jsonrpc':'2.0','id':$ID,'result':{'_meta':{},";
}

/* "one two": a list of tools. */
static void say_tools(const char *names, const Message *message)
{
    char text[4096] = "";
    size_t n = 0;

    while (*names != '\0') {
        size_t n_name = strcspn(names, " ");

        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s$TOOL(%.*s)", n > 0 ? "," : "",
                              (int)n_name, names);
        names += n_name + (names[n_name] == ' ');
    }
    print_filled(result_head(), message);
    say("'tools':[", text, "]}}", message);
}

/* "'q1' Name?" */
static void say_question(const char *rest, const Message *message)
{
    char head[256];
    size_t n = strcspn(rest, " ");

    (void)snprintf(head, sizeof(head),
                   "{'jsonrpc':'2.0','id':%.*s,'method':'elicitation/create','params':{'message':'",
                   (int)n, rest);
    say(head, rest + n + 1, "','requestedSchema':{'type':'object','properties':{}}}}", message);
}

/* Where it ends. */
static void do_end(const char *line)
{
    const char *rest = after(line, "exit ");

    if (rest != NULL) {
        exit((int)strtol(rest, NULL, 10));
    }
    while (strcmp(line, "stall") == 0) {
        (void)pause();
    }
}

static void do_line(const char *line, const Message *message)
{
    const char *rest;

    if ((rest = after(line, "ok {")) != NULL) {
        say(result_head(), rest, "}", message);
    } else if ((rest = after(line, "lists ")) != NULL) {
        say_tools(rest, message);
    } else if ((rest = after(line, "text ")) != NULL) {
        print_filled(result_head(), message);
        say("'content':[{'type':'text','text':'", rest, "'}]}}", message);
    } else if ((rest = after(line, "note ")) != NULL) {
        say("{'jsonrpc':'2.0','method':'notifications/", rest, "'}", message);
    } else if ((rest = after(line, "elicit ")) != NULL) {
        say_question(rest, message);
    } else if ((rest = after(line, "no ")) != NULL) {
        char head[128];

        (void)snprintf(head, sizeof(head),
                       "{'jsonrpc':'2.0','id':$ID,'error':{'code':%ld,'message':'",
                       strtol(rest, NULL, 10));
        say(head, rest + strcspn(rest, " ") + 1, "'}}", message);
    } else if ((rest = after(line, "say ")) != NULL) {
        say("", rest, "", message);
    } else if (strcmp(line, "keep") == 0) {
        (void)snprintf(kept, sizeof(kept), "%.*s", (int)message->id.n, message->id.p);
    } else if ((rest = after(line, "err ")) != NULL) {
        (void)fprintf(stderr, "%s\n", rest);
    } else {
        do_end(line);
    }
}

/* The first of that name that was not used, or the last. */
static bool do_rule(const char *key, const Message *message)
{
    Rule *found = NULL;

    for (size_t i = 0; i < n_rules; i++) {
        if (strcmp(rules[i].key, key) == 0) {
            found = &rules[i];
            if (!found->is_used) {
                break;
            }
        }
    }
    if (found == NULL) {
        return false;
    }
    found->is_used = true;
    for (size_t i = found->from; i < found->to; i++) {
        do_line(lines[i], message);
    }
    return true;
}

static void do_default(Span method, const Message *message)
{
    char text[4096];

    if (message->id.n == 0) {
        return;
    }
    if (!is_modern && span_equals(method, SPAN("initialize"))) {
        (void)snprintf(text, sizeof(text),
                       "ok {\"protocolVersion\":\"2025-11-25\",\"capabilities\":%s,"
                       "\"serverInfo\":{\"name\":\"c\",\"version\":\"1\"}}",
                       caps);
    } else if (is_modern && span_equals(method, SPAN("server/discover"))) {
        (void)snprintf(text, sizeof(text),
                       "ok {\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":%s,"
                       "\"ttlMs\":600000,\"cacheScope\":\"public\"}",
                       caps);
    } else if (span_equals(method, SPAN("ping")) ||
               span_equals(method, SPAN("resources/subscribe")) ||
               span_equals(method, SPAN("resources/unsubscribe")) ||
               span_equals(method, SPAN("logging/setLevel"))) {
        (void)snprintf(text, sizeof(text), "ok {\"done\":true}");
    } else {
        (void)snprintf(text, sizeof(text), "no -32601 Method not found");
    }
    do_line(text, message);
}

static void take(JsonValue root, Span body, Arena *arena)
{
    static const char *const words[] = {"name", "cursor", "uri"};
    Message message = {.body = body, .params = SPAN("null")};
    JsonValue params = JSON_VALUE_NULL;
    JsonValue member;
    char key[512];
    Span method;
    Span word;

    if (json_get(root, SPAN("id"), &member)) {
        message.id = json_span(member);
    }
    if (!json_get(root, SPAN("method"), &member)) {
        (void)do_rule("answer", &message);
        return;
    }
    if (json_string(member, arena, &method) != 0) {
        return;
    }
    if (json_get(root, SPAN("params"), &params)) {
        message.params = json_span(params);
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && params.node != NULL; i++) {
        if (json_get(params, span_from_str(words[i]), &member) &&
            json_kind(member) == JSON_STRING && json_string(member, arena, &word) == 0) {
            (void)snprintf(key, sizeof(key), "%.*s %.*s", (int)method.n, method.p, (int)word.n,
                           word.p);
            if (do_rule(key, &message)) {
                return;
            }
        }
    }
    (void)snprintf(key, sizeof(key), "%.*s", (int)method.n, method.p);
    if (!do_rule(key, &message)) {
        do_default(method, &message);
    }
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    Arena arena;

    if (argc != 3) {
        give_up("usage: mcp_child SCRIPT SEEN");
    }
    read_script(argv[1]);
    seen = fopen(argv[2], "a");
    if (seen == NULL) {
        give_up(argv[2]);
    }
    (void)fputs("start\n", seen);
    (void)fflush(seen);
    arena_init(&arena, ARENA_SIZE);
    while ((n = getline(&line, &size, stdin)) > 0) {
        JsonDoc doc;

        (void)fwrite(line, 1, (size_t)n, seen);
        (void)fflush(seen);
        arena_reset(&arena, 0);
        if (json_parse(&doc, &arena, line, (size_t)n, NULL, NULL) == 0) {
            take(json_root(&doc), span_make(line, (size_t)n - 1), &arena);
        }
    }
    arena_deinit(&arena);
    free(line);
    for (size_t i = 0; i < n_lines; i++) {
        free(lines[i]);
    }
    (void)fclose(seen);
    return 0;
}
