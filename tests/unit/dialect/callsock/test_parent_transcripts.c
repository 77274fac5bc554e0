/* Plays tests/transcripts/callsock/parent/NAME.txt against a parent's side; transcript_testing.h
 * says what lines there are. Its tools, in the place of a router:
 *
 *     whole      answers its arguments as structuredContent, and their number as text
 *     rich       answers with every part that a result can have
 *     structured answers structuredContent and no content
 *     empty      answers nothing at all
 *     failed     answers with isError
 *     hold       waits for the command finish, raise or result
 *     refuse     ends in the error that arguments.error says
 */
#include "dialect/callsock/parent.h"

#include "unit/dialect/callsock/transcript_testing.h"

#define FOLDER TW_SOURCE_DIR "/tests/transcripts/callsock/parent"

typedef struct Player {
    Wire wire;
    CallsockParent *parent;
    bool is_closed;
    Call *held;
} Player;

static void finish_text(Call *call, Span text, CallResult result)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), text, SPAN("\"}")};

    result.kind = CALL_RESULT_TOOL;
    result.pieces = pieces;
    result.n_pieces = 3;
    call_finish(call, &result);
}

static void tool_whole(Player *player, Call *call)
{
    char text[32];
    CallResult result = {.structured = SPAN("{}")};
    size_t n = 0;

    (void)player;
    if (call->arguments.node != NULL) {
        n = json_count(call->arguments);
        result.structured = json_span(call->arguments);
    }
    (void)snprintf(text, sizeof(text), "%zu", n);
    finish_text(call, span_from_str(text), result);
}

static void tool_rich(Player *player, Call *call)
{
    CallResult result = {.structured = SPAN("{\"n\":9007199254740993}"),
                         .members = SPAN("\"x\":1.0,\"y\":[null]"),
                         .meta = SPAN("{\"k\":\"\\u00e9\"}"),
                         .is_error = true};

    (void)player;
    finish_text(call, SPAN("rich"), result);
}

static void tool_structured(Player *player, Call *call)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"n\":1.0}")};

    (void)player;
    call_finish(call, &result);
}

static void tool_empty(Player *player, Call *call)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};

    (void)player;
    call_finish(call, &result);
}

static void tool_failed(Player *player, Call *call)
{
    (void)player;
    finish_text(call, SPAN("it broke"), (CallResult){.is_error = true});
}

static void tool_hold(Player *player, Call *call)
{
    assert_null(player->held);
    player->held = call;
    assert_int_equal(call_keep_arguments(call), 0);
}

static void tool_refuse(Player *player, Call *call)
{
    static const struct {
        const char *name;
        CallError error;
        const char *data;
        const char *words;
    } rows[] = {
        {"timeout", CALL_ERROR_TIMEOUT, "", "words"},
        {"cancelled", CALL_ERROR_CANCELLED, "", "words"},
        {"unavailable", CALL_ERROR_UNAVAILABLE, "", "words"},
        {"too large", CALL_ERROR_TOO_LARGE, "", "words"},
        {"rate", CALL_ERROR_RATE, "", "words"},
        {"own", CALL_ERROR_OWN, "{\"any\":1}", "words"},
        {"arguments", CALL_ERROR_INVALID_ARGUMENTS,
         "[{\"path\":\"/a\",\"message\":\"expected number\"},"
         "{\"path\":\"/b\",\"message\":\"required\"}]",
         "arguments/a: expected number; arguments/b: required"},
    };
    JsonValue name;

    assert_true(json_get(call->arguments, SPAN("error"), &name));
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        if (json_string_equals(name, span_from_str(rows[i].name))) {
            CallResult result = {.kind = CALL_RESULT_ERROR,
                                 .error = rows[i].error,
                                 .message = span_from_str(rows[i].words),
                                 .data = span_from_str(rows[i].data)};

            call_finish(call, &result);
            return;
        }
    }
    wire_fail(&player->wire, "no such error", "");
}

static const struct {
    const char *name;
    void (*run)(Player *player, Call *call);
} tools[] = {
    {"whole", tool_whole},   {"rich", tool_rich},     {"structured", tool_structured},
    {"empty", tool_empty},   {"failed", tool_failed}, {"hold", tool_hold},
    {"refuse", tool_refuse},
};

/* As the router does it. */
static void dispatch(Player *player, Call *call)
{
    char words[128];

    for (size_t i = 0; i < TW_ARRAY_SIZE(tools); i++) {
        if (span_equals(call->target, span_from_str(tools[i].name))) {
            tools[i].run(player, call);
            return;
        }
    }
    (void)snprintf(words, sizeof(words), "unknown tool: %.*s", (int)call->target.n, call->target.p);
    call_fail(call, CALL_ERROR_UNKNOWN_TOOL, span_from_str(words));
}

/* What an owner of the connection does with what arrived. */
static void serve(Player *player)
{
    while (!player->is_closed && !callsock_parent_is_busy(player->parent)) {
        Span message;
        Call *call;
        int r = len32_reader_next(&player->wire.in, &message);

        if (r == LEN32_E_AGAIN) {
            return;
        }
        if (r == LEN32_E_TOO_LARGE) {
            uint32_t declared = len32_reader_declared(&player->wire.in);

            assert_int_equal(callsock_parent_refuse_size(player->parent, declared), 0);
            player->is_closed = true;
            return;
        }
        r = callsock_parent_receive(player->parent, message);
        assert_in_range(r, 0, CALLSOCK_E_PROTOCOL);
        player->is_closed = r == CALLSOCK_E_PROTOCOL;
        call = callsock_parent_next(player->parent);
        if (call != NULL) {
            dispatch(player, call);
        }
    }
}

static void idle(void *context)
{
    serve(context);
}

static Call *take_held(Player *player)
{
    Call *call = player->held;

    if (call == NULL) {
        wire_fail(&player->wire, "no call is held", "");
    }
    player->held = NULL;
    return call;
}

/* Commands. */

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

/* A call of `whole` in a message of exactly so many bytes. */
static void cmd_request(Player *player, const char *words)
{
    static const char head[] =
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"hold\",\"arguments\":{\"a\":\"";
    size_t n = strtoul(words, NULL, 10);
    char *text = calloc(1, n);

    memset(text, 'x', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - 4, "\"}}}", 4);
    wire_feed_message(&player->wire, text, n);
    serve(player);
    free(text);
}

static void cmd_finish(Player *player, const char *words)
{
    finish_text(take_held(player), span_from_str(words), (CallResult){.is_error = false});
}

/* A response of exactly so many bytes, if it is sent. */
static void cmd_result(Player *player, const char *words)
{
    static const char around[] =
        "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\"}],\"isError\":false}}";
    size_t n = strtoul(words, NULL, 10) - (sizeof(around) - 1);
    char *text = calloc(1, n);

    memset(text, 'x', n);
    finish_text(take_held(player), span_make(text, n), (CallResult){.is_error = false});
    free(text);
}

static void cmd_raise(Player *player, const char *words)
{
    size_t n = strcspn(words, " ");
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_RAISED,
                         .error_type = span_make(words, n),
                         .message = span_from_str(words[n] == ' ' ? words + n + 1 : words + n)};

    call_finish(take_held(player), &result);
}

static void cmd_gone(Player *player, const char *words)
{
    (void)words;
    assert_ptr_equal(callsock_parent_call(player->parent), take_held(player));
    callsock_parent_drop(player->parent);
    player->is_closed = true;
}

static void cmd_size(Player *player, const char *words)
{
    wire_expect_size(&player->wire, strtoul(words, NULL, 10));
}

static void cmd_closed(Player *player, const char *words)
{
    (void)words;
    assert_true(player->is_closed);
}

/* The stream ends: inside a frame, or between two. */
static void cmd_end(Player *player, const char *words)
{
    Span rest;
    int r = len32_reader_finish(&player->wire.in, &rest);

    assert_int_equal(r, strcmp(words, "inside") == 0 ? LEN32_E_INCOMPLETE : 0);
    player->is_closed = true;
}

static const struct {
    const char *name;
    void (*run)(Player *player, const char *words);
} commands[] = {
    {"raw", cmd_raw},         /* HEX…: these bytes arrive */
    {"header", cmd_header},   /* N: a length arrives, and nothing behind it */
    {"request", cmd_request}, /* N: a call of `hold` in so many bytes arrives */
    {"finish", cmd_finish},   /* TEXT: the held call answers that */
    {"result", cmd_result},   /* N: the held call answers with so many bytes */
    {"raise", cmd_raise},     /* TYPE WORDS: the held call ends in an exception */
    {"size", cmd_size},       /* N: a message of so many bytes was sent */
    {"gone", cmd_gone},       /* the bridge went away while the held call runs */
    {"end", cmd_end},         /* inside, or nothing: the stream ends */
    {"closed", cmd_closed},   /* the connection has been ended */
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

static void play_line(void *context, const char *line)
{
    Player *player = context;

    if (line[0] == '<') {
        wire_expect(&player->wire, line + 2);
        return;
    }
    if (line[0] == '!' && strncmp(line, "! size ", 7) == 0) {
        play_command(player, line + 2);
        return;
    }
    wire_expect_silence(&player->wire);
    if (line[0] == '>') {
        assert_false(player->is_closed);
        wire_feed_message(&player->wire, line + 2, strlen(line + 2));
        serve(player);
    } else if (line[0] == '!') {
        play_command(player, line + 2);
    } else {
        wire_fail(&player->wire, "no such line", line);
    }
}

static void play(void **state)
{
    Player player = {.is_closed = false};
    CallsockParentConfig config = {.idle = idle, .context = &player};

    wire_init(&player.wire, *state);
    config.sink = &player.wire.sink;
    assert_int_equal(callsock_parent_new(&player.parent, &config), 0);
    wire_play(&player.wire, FOLDER, play_line, &player);
    wire_expect_silence(&player.wire);
    assert_null(player.held);
    assert_int_equal(callsock_parent_error(player.parent), 0);
    player.parent = callsock_parent_free(player.parent);
    wire_deinit(&player.wire);
}

int main(void)
{
    return wire_main(FOLDER, play);
}
