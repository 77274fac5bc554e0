/* Plays tests/transcripts/callsock/caller/NAME.txt against a bridge's side; transcript_testing.h
 * says what lines there are. Besides:
 *
 *     = TAG TEXT   the call of that tag ended so:
 *                      tool KINDS is_error content | structured | members | meta
 *                      ERROR message (type TYPE)
 *     @ MS         so much time passes
 *
 * Every end must be expected, in order. */
#include "dialect/callsock/caller.h"

#include "unit/dialect/callsock/transcript_testing.h"

#include "base/arena.h"

#define FOLDER    TW_SOURCE_DIR "/tests/transcripts/callsock/caller"
#define MAX_CALLS 26

typedef struct Player Player;

typedef struct Asked {
    Call call; /* first */
    Player *player;
    Arena arena;
    char name[32];
    char *text;
} Asked;

struct Player {
    Wire wire;
    CallsockCaller *caller;
    Asked asked[MAX_CALLS];
    Bytes ends; /* a line for each */
    size_t n_ends_read;
    int64_t now_ms;
    bool is_connected;
    bool is_useless; /* the owner must close it */
};

static void append(Bytes *out, Span text)
{
    assert_int_equal(bytes_append_span(out, text), 0);
}

static void append_kinds(Bytes *out, uint32_t kinds)
{
    static const char *const names[] = {"text", "image", "audio", "resource", "link", "unknown"};
    const char *comma = "";

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        if ((kinds & 1u << i) != 0) {
            assert_int_equal(bytes_append_format(out, "%s%s", comma, names[i]), 0);
            comma = "+";
        }
    }
    if (kinds == 0) {
        append(out, SPAN("nothing"));
    }
}

static const char *error_name(CallError error)
{
    switch (error) {
    case CALL_ERROR_UNKNOWN_TOOL:
        return "UNKNOWN_TOOL";
    case CALL_ERROR_UNAVAILABLE:
        return "UNAVAILABLE";
    case CALL_ERROR_BAD_RESULT:
        return "BAD_RESULT";
    case CALL_ERROR_TOO_LARGE:
        return "TOO_LARGE";
    case CALL_ERROR_RAISED:
        return "RAISED";
    default:
        return "OTHER";
    }
}

static void finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;
    Bytes *out = &asked->player->ends;

    assert_int_equal(bytes_append_format(out, "%c ", (char)('a' + (asked - asked->player->asked))),
                     0);
    if (result->kind == CALL_RESULT_TOOL) {
        append(out, SPAN("tool "));
        append_kinds(out, result->content_kinds);
        append(out, result->is_error ? SPAN(" true ") : SPAN(" false "));
        for (size_t i = 0; i < result->n_pieces; i++) {
            append(out, result->pieces[i]);
        }
        append(out, SPAN(" | "));
        append(out, result->structured);
        append(out, SPAN(" | "));
        append(out, result->members);
        append(out, SPAN(" | "));
        append(out, result->meta);
    } else {
        assert_int_equal(result->kind, CALL_RESULT_ERROR);
        assert_int_equal(bytes_append_format(out, "%s ", error_name(result->error)), 0);
        append(out, result->message);
        if (result->error_type.n > 0) {
            append(out, SPAN(" (type "));
            append(out, result->error_type);
            append(out, SPAN(")"));
        }
    }
    assert_int_equal(bytes_append_byte(out, '\0'), 0);
    call_reset(call);
}

static const CallDoor door = {.finish = finish};

/* What an owner of the connection does with what arrived. */
static void serve(Player *player)
{
    Span message;

    while (player->is_connected && !player->is_useless) {
        int r = len32_reader_next(&player->wire.in, &message);

        if (r == LEN32_E_AGAIN) {
            return;
        }
        if (r == LEN32_E_TOO_LARGE) {
            callsock_caller_refuse_size(player->caller, len32_reader_declared(&player->wire.in));
            player->is_useless = true;
            return;
        }
        r = callsock_caller_receive(player->caller, message, inq_unread(&player->wire.in.in).n > 0,
                                    player->now_ms);
        assert_in_range(r, 0, CALLSOCK_E_PROTOCOL);
        player->is_useless = r == CALLSOCK_E_PROTOCOL;
    }
}

static Asked *find(Player *player, const char *words)
{
    assert_in_range(words[0], 'a', 'z');
    return &player->asked[words[0] - 'a'];
}

/* Commands. */

static void submit(Player *player, Asked *asked, const char *name, size_t n_name, char *text)
{
    Arena arena;
    JsonDoc doc;

    assert_null(asked->call.door);
    asked->player = player;
    asked->call.door = &door;
    asked->call.verb = CALL_TOOL;
    (void)snprintf(asked->name, sizeof(asked->name), "%.*s", (int)n_name, name);
    arena_init(&arena, SIZE_MAX);
    if (text != NULL) {
        assert_int_equal(json_parse(&doc, &arena, text, strlen(text), NULL, NULL), 0);
        asked->call.arguments = json_root(&doc);
    }
    callsock_caller_submit(player->caller, &asked->call, span_from_str(asked->name),
                           player->now_ms);
    /* As the router does, if the call still runs; what was lent is gone then. */
    if (asked->call.door != NULL) {
        assert_int_equal(call_keep_arguments(&asked->call), 0);
    }
    arena_deinit(&arena);
    free(text);
}

static void cmd_call(Player *player, const char *words)
{
    const char *name = words + 2;
    size_t n = strcspn(name, " ");

    submit(player, find(player, words), name, n, name[n] == ' ' ? strdup(name + n + 1) : NULL);
}

/* A request of exactly so many bytes. */
static void cmd_request(Player *player, const char *words)
{
    static const char around[] =
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"x\",\"arguments\":}}";
    size_t n = strtoul(words + 2, NULL, 10) - (sizeof(around) - 1);
    char *text = calloc(1, n + 1);

    memset(text, 'x', n);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + n - 2, "\"}", 2);
    submit(player, find(player, words), "x", 1, text);
}

static void cmd_cancel(Player *player, const char *words)
{
    Call *call = &find(player, words)->call;

    callsock_caller_cancel(player->caller, call, player->now_ms);
    call_reset(call);
}

static void cmd_connected(Player *player, const char *words)
{
    (void)words;
    assert_true(callsock_caller_wants_connection(player->caller));
    wire_reopen(&player->wire);
    player->is_connected = true;
    player->is_useless = false;
    callsock_caller_connected(player->caller, player->now_ms);
}

static void cmd_unreachable(Player *player, const char *words)
{
    assert_true(callsock_caller_wants_connection(player->caller));
    callsock_caller_unreachable(player->caller, span_from_str(words));
}

static void cmd_refused(Player *player, const char *words)
{
    assert_true(callsock_caller_wants_connection(player->caller));
    callsock_caller_refused(player->caller, span_from_str(words));
}

static void lose(Player *player, const char *words, bool is_unsent)
{
    assert_true(player->is_connected);
    player->is_connected = false;
    player->is_useless = false;
    callsock_caller_lost(player->caller, span_from_str(words), is_unsent);
}

static void cmd_lost(Player *player, const char *words)
{
    lose(player, words, false);
}

static void cmd_unsent(Player *player, const char *words)
{
    lose(player, words, true);
}

static void cmd_first(Player *player, const char *words)
{
    wire_feed_message(&player->wire, words, strlen(words));
}

static void cmd_raw(Player *player, const char *words)
{
    wire_feed_hex(&player->wire, words);
    serve(player);
}

static void cmd_header(Player *player, const char *words)
{
    wire_feed_header(&player->wire, strtoul(words, NULL, 10));
    serve(player);
}

static void cmd_answer(Player *player, const char *words)
{
    static const char head[] =
        "{\"result\":{\"content\":[],\"structuredContent\":{},\"_meta\":{\"x\":\"";
    size_t n = strtoul(words, NULL, 10);
    char *text = calloc(1, n);

    memset(text, 'x', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - 4, "\"}}}", 4);
    wire_feed_message(&player->wire, text, n);
    free(text);
    serve(player);
    /* Too long to be written out in the transcript. */
    assert_true(player->ends.n > n);
    bytes_clear(&player->ends);
    player->n_ends_read = 0;
}

static void cmd_size(Player *player, const char *words)
{
    wire_expect_size(&player->wire, strtoul(words, NULL, 10));
}

static void cmd_wants(Player *player, const char *words)
{
    assert_int_equal(callsock_caller_wants_connection(player->caller),
                     strcmp(words, "connection") == 0);
    assert_int_equal(callsock_caller_wants_reset(player->caller, player->now_ms),
                     strcmp(words, "reset") == 0);
    assert_int_equal(player->is_useless, strcmp(words, "close") == 0);
}

static void cmd_pending(Player *player, const char *words)
{
    assert_int_equal(callsock_caller_pending(player->caller), strtoul(words, NULL, 10));
}

static void cmd_deadline(Player *player, const char *words)
{
    int64_t expected = strcmp(words, "none") == 0 ? INT64_MAX : strtol(words, NULL, 10);

    assert_int_equal(callsock_caller_deadline(player->caller), expected);
}

static void cmd_free(Player *player, const char *words)
{
    (void)words;
    player->caller = callsock_caller_free(player->caller);
}

static const struct {
    const char *name;
    void (*run)(Player *player, const char *words);
} commands[] = {
    {"call", cmd_call},               /* TAG NAME [ARGUMENTS] */
    {"request", cmd_request},         /* TAG N: a call whose request has so many bytes */
    {"cancel", cmd_cancel},           /* TAG */
    {"connected", cmd_connected},     /* as was wanted */
    {"unreachable", cmd_unreachable}, /* WHY */
    {"refused", cmd_refused},         /* WHY */
    {"lost", cmd_lost},               /* [WHY] */
    {"unsent", cmd_unsent},           /* [WHY]: lost before anything of the request left */
    {"first", cmd_first},             /* MESSAGE: arrives together with what comes next */
    {"raw", cmd_raw},                 /* HEX…: these bytes arrive */
    {"header", cmd_header},           /* N: a length arrives, and nothing behind it */
    {"answer", cmd_answer},           /* N: a good answer of so many bytes arrives */
    {"size", cmd_size},               /* N: a message of so many bytes was sent */
    {"wants", cmd_wants},             /* connection, reset, close or nothing */
    {"pending", cmd_pending},         /* N */
    {"deadline", cmd_deadline},       /* MS or none */
    {"free", cmd_free},
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
    wire_fail(&player->wire, "no such command", text);
}

static void play_end(Player *player, const char *expected)
{
    const char *end;

    if (player->n_ends_read == player->ends.n) {
        wire_fail(&player->wire, "no call has ended, expected", expected);
        return;
    }
    end = player->ends.data + player->n_ends_read;
    player->n_ends_read += strlen(end) + 1;
    if (strcmp(end, expected) != 0) {
        print_error("expected %s\n", expected);
        wire_fail(&player->wire, "ended", end);
    }
}

static void expect_quiet(Player *player)
{
    wire_expect_silence(&player->wire);
    if (player->n_ends_read != player->ends.n) {
        wire_fail(&player->wire, "ended, and not expected",
                  player->ends.data + player->n_ends_read);
    }
}

static void play_line(void *context, const char *line)
{
    Player *player = context;
    const char *text = line[1] == ' ' ? line + 2 : line + 1;

    if (line[0] == '<') {
        wire_expect(&player->wire, text);
    } else if (line[0] == '=') {
        play_end(player, text);
    } else if (line[0] == '!' && strncmp(text, "size ", 5) == 0) {
        play_command(player, text);
    } else {
        expect_quiet(player);
        if (line[0] == '>') {
            wire_feed_message(&player->wire, text, strlen(text));
            serve(player);
        } else if (line[0] == '@') {
            player->now_ms += strtol(text, NULL, 10);
        } else if (line[0] == '!') {
            play_command(player, text);
        } else {
            wire_fail(&player->wire, "no such line", line);
        }
    }
}

static void play(void **state)
{
    Player *player = calloc(1, sizeof(*player));
    CallsockCallerConfig config = {.place = "/run/p.sock"};

    wire_init(&player->wire, *state);
    bytes_init(&player->ends, (size_t)1 << 26);
    for (size_t i = 0; i < MAX_CALLS; i++) {
        call_init(&player->asked[i].call);
    }
    config.sink = &player->wire.sink;
    assert_int_equal(callsock_caller_new(&player->caller, &config), 0);
    wire_play(&player->wire, FOLDER, play_line, player);
    expect_quiet(player);
    if (player->caller != NULL) {
        assert_int_equal(callsock_caller_pending(player->caller), 0);
    }
    player->caller = callsock_caller_free(player->caller);
    for (size_t i = 0; i < MAX_CALLS; i++) {
        call_deinit(&player->asked[i].call);
    }
    wire_deinit(&player->wire);
    bytes_deinit(&player->ends);
    free(player);
}

int main(void)
{
    return wire_main(FOLDER, play);
}
