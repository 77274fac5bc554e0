/* Plays tests/transcripts/mcp/NAME.txt against a session. Every message that is sent must be
 * expected, in order, and is checked against the official schema of its revision.
 *
 *     > JSON       the client sends it; $name is replaced by what was kept under that name
 *     < JSON       the server sent this; "message":"*" stands for any error message,
 *                  "requestState":"$name" keeps what came under that name
 *     = TEXT       the server sent exactly these bytes
 *     @ MS         so much time passes
 *     ! WORDS      one of the commands in the table at the end
 *     #            a comment
 *
 * The tools are those of session_rig.h. */
#include "unit/dialect/mcp/session_rig.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "dialect/mcp/revision.h"
#include "support/files.h"
#include "support/mcp_schema.h"
#include "json/json.h"

#define MAX_ASKED     512
#define MAX_KEPT      16
#define FOLDER        TW_SOURCE_DIR "/tests/transcripts/mcp"
#define VERSION_KEY   "/params/_meta/io.modelcontextprotocol~1protocolVersion"
#define SUBSCRIPTION  "/params/_meta/io.modelcontextprotocol~1subscriptionId"
#define MAX_LINE_TEXT 65536

/* A request of the client: which definition its answer must meet. */
typedef struct Asked {
    char id[80];
    char method[64];
    McpRevision revision;
    bool is_open;
} Asked;

typedef struct Player {
    Rig rig;
    const char *file;
    size_t line;
    bool is_open;
    Asked asked[MAX_ASKED];
    size_t n_asked;
    McpRevision session;  /* what `initialize` agreed on */
    McpRevision revision; /* of the last request */
    char kept_names[MAX_KEPT][16];
    char *kept[MAX_KEPT];
    size_t n_kept;
} Player;

static void fail_at(const Player *player, const char *what, const char *text)
{
    print_error("%s:%zu: %s: %s\n", player->file, player->line, what, text);
    fail();
}

static JsonValue parse(Player *player, Arena *arena, const char *text)
{
    JsonDoc doc;

    if (json_parse(&doc, arena, text, strlen(text), NULL, NULL) != 0) {
        fail_at(player, "not JSON", text);
    }
    return json_root(&doc);
}

static bool find_text(JsonValue root, const char *pointer, char *ret, size_t n)
{
    JsonValue v;
    Span text;

    if (json_pointer(root, span_from_str(pointer), &v) != 0) {
        return false;
    }
    text = json_span(v);
    if (json_kind(v) == JSON_STRING) {
        (void)json_string_plain(v, &text);
    }
    (void)snprintf(ret, n, "%.*s", (int)text.n, text.p);
    return true;
}

static Asked *find_asked(Player *player, JsonValue message)
{
    JsonValue id;

    if (!json_get(message, SPAN("id"), &id)) {
        return NULL;
    }
    for (size_t i = player->n_asked; i-- > 0;) {
        if (span_equals(json_span(id), span_from_str(player->asked[i].id))) {
            return &player->asked[i];
        }
    }
    return NULL;
}

static void note_request(Player *player, JsonValue message)
{
    Asked *asked = &player->asked[player->n_asked];
    JsonValue id;
    char version[32];

    assert_true(player->n_asked < MAX_ASKED);
    /* The second one of the same id will be refused; the first has its answer still to come. */
    if (find_asked(player, message) != NULL && find_asked(player, message)->is_open) {
        return;
    }
    if (json_kind(message) != JSON_OBJECT || !json_get(message, SPAN("id"), &id) ||
        json_kind(id) == JSON_OBJECT || !find_text(message, "/method", asked->method, 64)) {
        return;
    }
    (void)snprintf(asked->id, sizeof(asked->id), "%.*s", (int)json_span(id).n, json_span(id).p);
    asked->revision = find_text(message, VERSION_KEY, version, sizeof(version)) ? MCP_2026_07_28
                                                                                : player->session;
    player->revision = asked->revision;
    asked->is_open = true;
    player->n_asked++;
}

static void note_requests(Player *player, const char *text)
{
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, (size_t)1 << 26);
    if (json_parse(&doc, &arena, text, strlen(text), NULL, NULL) == 0) {
        JsonValue root = json_root(&doc);

        if (json_kind(root) == JSON_ARRAY) {
            for (JsonIter it = json_iter(root); json_iter_next(&it);) {
                note_request(player, it.value);
            }
        } else {
            note_request(player, root);
        }
    }
    arena_deinit(&arena);
}

static void check_schema(Player *player, JsonValue message)
{
    Asked *asked = NULL;
    McpRevision revision = player->revision;
    char text[64];

    if (json_kind(message) == JSON_ARRAY) {
        for (JsonIter it = json_iter(message); json_iter_next(&it);) {
            check_schema(player, it.value);
        }
        return;
    }
    if (!find_text(message, "/method", text, sizeof(text))) {
        asked = find_asked(player, message);
    } else if (find_text(message, SUBSCRIPTION, text, sizeof(text))) {
        revision = MCP_2026_07_28;
    } else if (find_text(message, "/id", text, sizeof(text))) {
        revision = player->session;
    }
    if (asked != NULL) {
        revision = asked->revision;
        asked->is_open = find_text(message, "/error/message", text, sizeof(text)) &&
                         strstr(text, "open already") != NULL;
    }
    if (asked != NULL && strcmp(asked->method, "initialize") == 0 &&
        find_text(message, "/result/protocolVersion", text, sizeof(text))) {
        assert_true(mcp_revision_parse(span_from_str(text), &revision));
        player->session = revision;
        player->revision = revision;
    }
    mcp_schema_assert_message(revision, asked == NULL ? NULL : asked->method, json_span(message));
}

/* Into a buffer of MAX_LINE_TEXT: text with every $name that is known replaced. */
static void substitute(const Player *player, const char *text, char *out)
{
    size_t n = 0;

    while (*text != '\0') {
        bool is_found = false;

        for (size_t i = 0; i < player->n_kept && *text == '$' && !is_found; i++) {
            size_t n_name = strlen(player->kept_names[i]);

            if (strncmp(text + 1, player->kept_names[i], n_name) == 0) {
                n += (size_t)snprintf(out + n, MAX_LINE_TEXT - n, "%s", player->kept[i]);
                text += 1 + n_name;
                is_found = true;
            }
        }
        if (!is_found) {
            out[n++] = *text++;
        }
        assert_true(n < MAX_LINE_TEXT);
    }
    out[n] = '\0';
}

static void keep(Player *player, const char *name, const char *value)
{
    assert_true(player->n_kept < MAX_KEPT);
    (void)snprintf(player->kept_names[player->n_kept], 16, "%s", name);
    player->kept[player->n_kept] = strdup(value);
    player->n_kept++;
}

static void open_session(Player *player)
{
    if (!player->is_open) {
        assert_int_equal(rig_open(&player->rig), 0);
        player->is_open = true;
    }
}

static void play_in(Player *player, const char *text)
{
    char *line = malloc(MAX_LINE_TEXT);

    open_session(player);
    substitute(player, text, line);
    note_requests(player, line);
    assert_int_equal(rig_receive_text(&player->rig, line), 0);
    free(line);
}

/* "message":"*" and "requestState":"$new" are filled in from what was sent. */
static void fill_in(Player *player, const char *expected, JsonValue actual, char *out)
{
    const char *state = strstr(expected, "\"requestState\":\"$");
    const char *star = strstr(expected, "\"message\":\"*\"");
    char value[MAX_LINE_TEXT / 2] = "";
    char name[16];

    if (state != NULL) {
        state += strlen("\"requestState\":\"$");
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(state, "\""), state);
        if (!find_text(actual, "/result/requestState", value, sizeof(value))) {
            fail_at(player, "no requestState", expected);
        }
        keep(player, name, value);
    }
    if (star != NULL && find_text(actual, "/error/message", value, sizeof(value))) {
        (void)snprintf(out, MAX_LINE_TEXT, "%.*s\"message\":\"%s\"%s", (int)(star - expected),
                       expected, value, star + strlen("\"message\":\"*\""));
    } else {
        substitute(player, expected, out);
    }
}

static void play_out(Player *player, const char *expected, bool is_exact)
{
    const char *actual = rig_take(&player->rig);
    char *filled = malloc(MAX_LINE_TEXT);
    Arena arena;
    JsonValue message;

    arena_init(&arena, (size_t)1 << 26);
    if (actual == NULL) {
        fail_at(player, "nothing was sent, expected", expected);
        abort();
    }
    message = parse(player, &arena, actual);
    check_schema(player, message);
    if (is_exact) {
        if (strcmp(actual, expected) != 0) {
            print_error("expected %s\n", expected);
            fail_at(player, "was sent", actual);
        }
    } else {
        fill_in(player, expected, message, filled);
        if (!json_equals(parse(player, &arena, filled), message)) {
            print_error("expected %s\n", filled);
            fail_at(player, "was sent", actual);
        }
    }
    free(filled);
    arena_deinit(&arena);
}

static void expect_silence(Player *player)
{
    const char *message = rig_take(&player->rig);

    if (message != NULL) {
        fail_at(player, "was sent, and not expected", message);
    }
}

/* Commands. */

static void cmd_offer(Player *player, const char *words)
{
    player->rig.offer = (McpOffer){.tools = strstr(words, "tools") != NULL,
                                   .resources = strstr(words, "resources") != NULL,
                                   .prompts = strstr(words, "prompts") != NULL,
                                   .completions = strstr(words, "completions") != NULL,
                                   .logging = strstr(words, "logging") != NULL,
                                   .lists_change = strstr(words, "static") == NULL,
                                   .tasks = strstr(words, "tasks") != NULL,
                                   .lazy_tools = strstr(words, "lazy") != NULL,
                                   .lists_tasks = strstr(words, "tasklist") != NULL};
}

static void cmd_max_open(Player *player, const char *words)
{
    player->rig.config.max_open = (uint32_t)strtoul(words, NULL, 10);
}

static void cmd_max_request(Player *player, const char *words)
{
    player->rig.config.max_request_bytes = strtoul(words, NULL, 10);
}

static void cmd_max_response(Player *player, const char *words)
{
    player->rig.config.max_response_bytes = strtoul(words, NULL, 10);
}

static void cmd_raw(Player *player, const char *words)
{
    char bytes[256];
    size_t n = 0;
    unsigned value;
    int used;

    open_session(player);
    while (sscanf(words, " %2x%n", &value, &used) == 1) {
        bytes[n++] = (char)value;
        words += used;
    }
    assert_int_equal(rig_receive(&player->rig, span_make(bytes, n)), 0);
}

static void cmd_deep(Player *player, const char *words)
{
    size_t n = strtoul(words, NULL, 10);
    char *text = malloc(n + 1);

    open_session(player);
    memset(text, '[', n);
    assert_int_equal(rig_receive(&player->rig, span_make(text, n)), 0);
    free(text);
}

/* A request that is exactly so many bytes long. */
static void cmd_long(Player *player, const char *words)
{
    static const char head[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"long\",\"method\":\"ping\",\"params\":{\"x\":\"";
    size_t n = strtoul(words, NULL, 10);
    char *text = malloc(n + 1);

    open_session(player);
    memset(text, 'x', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - 3, "\"}}", 4);
    note_requests(player, text);
    assert_int_equal(rig_receive(&player->rig, span_make(text, n)), 0);
    free(text);
}

static void cmd_too_long(Player *player, const char *words)
{
    JsonLook look;

    open_session(player);
    json_look_init(&look);
    json_look_feed(&look, span_from_str(words));
    assert_int_equal(mcp_server_receive_too_long(player->rig.server, &look, player->rig.now_ms), 0);
}

static void cmd_finish(Player *player, const char *words)
{
    if (rig_held(&player->rig, words) == NULL) {
        fail_at(player, "no such call is held", words);
    }
    rig_finish(&player->rig, words);
}

static void cmd_progress(Player *player, const char *words)
{
    char tag[16];
    CallProgress progress = {.total = CALL_NO_TOTAL};

    assert_int_equal(sscanf(words, "%15s %lf", tag, &progress.progress), 2);
    assert_non_null(rig_held(&player->rig, tag));
    call_report(rig_held(&player->rig, tag), &progress);
}

static void cmd_dropped(Player *player, const char *words)
{
    assert_null(rig_held(&player->rig, words));
    assert_string_equal(player->rig.last_cancelled, words);
}

static void cmd_calls(Player *player, const char *words)
{
    assert_int_equal(mcp_server_n_calls(player->rig.server), strtoul(words, NULL, 10));
}

static void cmd_state(Player *player, const char *words)
{
    static const char *const names[] = {"Uninitialized", "Initializing", "Ready", "Shutting",
                                        "Closed"};

    open_session(player);
    assert_string_equal(names[mcp_server_state(player->rig.server)], words);
}

static void cmd_changed(Player *player, const char *words)
{
    static const char *const names[] = {"tools", "resources", "prompts"};

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        if (strcmp(words, names[i]) == 0) {
            mcp_server_list_changed(player->rig.server, (McpListKind)i);
            return;
        }
    }
    fail_at(player, "no such list", words);
}

static void cmd_updated(Player *player, const char *words)
{
    mcp_server_resource_updated(player->rig.server, span_from_str(words));
}

static void cmd_task(Player *player, const char *words)
{
    char id[8];
    char what[16];

    assert_int_equal(sscanf(words, "%7s %15s", id, what), 2);
    if (!rig_task_change(&player->rig, id, what)) {
        fail_at(player, "no such task, or nothing that becomes of one", words);
    }
}

static void cmd_shutdown(Player *player, const char *words)
{
    (void)words;
    mcp_server_shutdown(player->rig.server);
}

static void cmd_close(Player *player, const char *words)
{
    (void)words;
    mcp_server_close(player->rig.server);
}

static const struct {
    const char *name;
    void (*run)(Player *player, const char *words);
} commands[] = {
    {"offer", cmd_offer},               /* names: what there is */
    {"max_open", cmd_max_open},         /* N; these three before anything else */
    {"max_request", cmd_max_request},   /* BYTES */
    {"max_response", cmd_max_response}, /* BYTES */
    {"raw", cmd_raw},                   /* HEX…: receives these bytes */
    {"deep", cmd_deep},                 /* N: receives so many opening brackets */
    {"long", cmd_long},                 /* N: receives a ping of so many bytes */
    {"too_long", cmd_too_long},         /* the transport skipped a message */
    {"finish", cmd_finish},             /* TAG: answers a held call */
    {"progress", cmd_progress},         /* TAG N */
    {"dropped", cmd_dropped},           /* TAG: was the last to be cancelled */
    {"calls", cmd_calls},               /* N: so many are open */
    {"state", cmd_state},               /* NAME */
    {"changed", cmd_changed},           /* tools, resources or prompts */
    {"updated", cmd_updated},           /* URI */
    {"task", cmd_task},                 /* ID WHAT: becomes of it (rig_task_change) */
    {"shutdown", cmd_shutdown},
    {"close", cmd_close},
};

static void play_command(Player *player, const char *text)
{
    size_t n = strcspn(text, " ");

    for (size_t i = 0; i < TW_ARRAY_SIZE(commands); i++) {
        if (strlen(commands[i].name) == n && strncmp(commands[i].name, text, n) == 0) {
            commands[i].run(player, text[n] == ' ' ? text + n + 1 : text + n);
            return;
        }
    }
    fail_at(player, "no such command", text);
}

static void play_line(Player *player, const char *line)
{
    char kind = line[0];
    const char *text = kind != '\0' && line[1] == ' ' ? line + 2 : line + 1;

    if (kind == '\0' || kind == '#') {
        return;
    }
    if (kind == '<' || kind == '=') {
        play_out(player, text, kind == '=');
        return;
    }
    expect_silence(player);
    if (kind == '>') {
        play_in(player, text);
    } else if (kind == '@') {
        player->rig.now_ms += strtol(text, NULL, 10);
        mcp_server_advance(player->rig.server, player->rig.now_ms);
    } else if (kind == '!') {
        play_command(player, text);
    } else {
        fail_at(player, "no such line", line);
    }
}

static void play(void **state)
{
    const char *name = *state;
    Player *player = calloc(1, sizeof(*player));
    char path[512];
    size_t n;
    char *text;
    char *line;

    (void)snprintf(path, sizeof(path), "%s/%s", FOLDER, name);
    player->file = name;
    player->session = MCP_NEWEST_LEGACY;
    player->revision = MCP_NEWEST_LEGACY;
    rig_init(&player->rig);
    text = files_read(path, &n);
    for (line = text; line < text + n; line += strlen(line) + 1) {
        char *end = strchr(line, '\n');

        assert_non_null(end);
        *end = '\0';
        player->line++;
        play_line(player, line);
    }
    expect_silence(player);
    assert_int_equal(mcp_server_error(player->rig.server), 0);
    rig_deinit(&player->rig);
    for (size_t i = 0; i < player->n_kept; i++) {
        free(player->kept[i]);
    }
    free(text);
    free(player);
}

int main(void)
{
    size_t n = 0;
    char **names;
    struct CMUnitTest *tests;
    int r;

    mcp_schema_require();
    names = files_list(FOLDER, ".txt", &n);
    tests = calloc(n, sizeof(*tests));
    for (size_t i = 0; i < n; i++) {
        tests[i] =
            (struct CMUnitTest){.name = names[i], .test_func = play, .initial_state = names[i]};
    }
    r = n == 0 ? 1 : _cmocka_run_group_tests("transcripts", tests, n, NULL, NULL);
    free(tests);
    files_list_free(names);
    return r;
}
