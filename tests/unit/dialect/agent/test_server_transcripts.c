/* Plays tests/transcripts/agent/agent/NAME.txt against the agent's side; transcript_testing.h says
 * what lines there are. Besides:
 *
 *     = request KIND ID [NAME=TEXT]…   a request was accepted
 *     = log TEXT                       what the log is told
 *     ! ready | token ID TEXT | tool_use ID TOOL NAME JSON | ask (the same, with approval)
 *       | result ID TOOL NAME JSON | failed ID TOOL NAME TEXT | progress ID TOOL NAME MS
 *       | done ID [JSON] | error ID TEXT | status ID STATE LENGTH UPTIME
 *                                      the agent says so; done, error and status end the request
 */
#include "dialect/agent/server.h"

#include "unit/dialect/agent/transcript_testing.h"

#define FOLDER TW_SOURCE_DIR "/tests/transcripts/agent/agent"

typedef struct Player {
    Wire wire;
    AgentServer server;
    Arena arena;
    Bytes out;
} Player;

static void append_member(Bytes *out, const char *name, Span text)
{
    if (text.n > 0) {
        assert_int_equal(bytes_append_format(out, " %s=", name), 0);
        assert_int_equal(bytes_append_span(out, text), 0);
    }
}

/* What was sent, and then no more of it. */
static void say(Player *player)
{
    if (player->out.n > 0) {
        wire_hear(&player->wire, "<", bytes_span(&player->out));
        bytes_clear(&player->out);
    }
}

static void describe(Player *player, const AgentRequest *request)
{
    Bytes *out = &player->out;

    assert_int_equal(bytes_append_format(out, "%s %.*s", agent_kind_name(request->kind),
                                         (int)request->id.n, request->id.p),
                     0);
    append_member(out, "message", request->message);
    for (size_t i = 0; i < request->n_attachments; i++) {
        append_member(out, "path", request->attachments[i].path);
        append_member(out, "data", request->attachments[i].data);
        append_member(out, "mime", request->attachments[i].mime);
        append_member(out, "name", request->attachments[i].name);
    }
    append_member(out, "conversation", request->conversation_id);
    append_member(out, "user", request->user_id);
    append_member(out, "title", request->title);
    append_member(out, "request", request->request_id);
    append_member(out, "tool", request->tool_id);
    if (request->kind == AGENT_KIND_TOOL_APPROVAL) {
        append_member(out, "approved", request->approved ? SPAN("yes") : SPAN("no"));
    }
    wire_hear(&player->wire, "= request", bytes_span(out));
    bytes_clear(out);
}

static void take(void *context, Span line)
{
    Player *player = context;
    AgentRequest request;
    Diag diag = DIAG_NULL;
    int r;

    arena_reset(&player->arena, 0);
    r = agent_server_receive(&player->server, &request, &player->arena, line, player->wire.now_ms,
                             &player->out, &diag);
    if (r == 0) {
        describe(player, &request);
        return;
    }
    assert_int_equal(r, AGENT_SERVER_E_REFUSED);
    wire_hear(&player->wire, "= log", span_from_str(diag.message));
    say(player);
}

static void too_long(void *context)
{
    Player *player = context;

    wire_hear(&player->wire, "= log", SPAN("too long"));
}

static int say_tool(Player *player, Span verb, Span id, const char *words)
{
    AgentTool tool = {.id = wire_word(&words), .name = wire_word(&words)};
    int64_t now_ms = player->wire.now_ms;

    if (span_equals(verb, SPAN("tool_use")) || span_equals(verb, SPAN("ask"))) {
        tool.input = span_from_str(words);
        tool.approval_required = span_equals(verb, SPAN("ask"));
        return agent_write_tool_use(&player->out, id, &tool, now_ms);
    }
    if (span_equals(verb, SPAN("progress"))) {
        tool.elapsed_ms = strtoll(words, NULL, 10);
        return agent_write_tool_progress(&player->out, id, &tool, now_ms);
    }
    if (span_equals(verb, SPAN("failed"))) {
        tool.error = span_from_str(words);
    } else if (span_equals(verb, SPAN("result"))) {
        tool.result = span_from_str(words);
    } else {
        return -1;
    }
    return agent_write_tool_result(&player->out, id, &tool, now_ms);
}

static int say_status(Player *player, Span id, const char *words)
{
    AgentStatus status = {.state = AGENT_STATE_IDLE};
    Span state = wire_word(&words);

    for (size_t i = 0; i < AGENT_N_STATES; i++) {
        if (span_equals(state, span_from_str(agent_state_name((AgentState)i)))) {
            status.state = (AgentState)i;
        }
    }
    status.conversation_length = strtoull(words, NULL, 10);
    (void)wire_word(&words);
    status.uptime_ms = strtoll(words, NULL, 10);
    return agent_write_status(&player->out, id, &status, player->wire.now_ms);
}

static bool command(void *context, const char *words)
{
    static const Span capabilities[] = {SPAN_INIT("streaming"), SPAN_INIT("tools"),
                                        SPAN_INIT("attachments")};
    Player *player = context;
    int64_t now_ms = player->wire.now_ms;
    Span verb = wire_word(&words);
    Span id = wire_word(&words);
    bool is_end = true;
    int r;

    if (span_equals(verb, SPAN("time"))) {
        return true;
    }
    if (span_equals(verb, SPAN("ready"))) {
        r = agent_write_ready(&player->out, SPAN(AGENT_PROTOCOL_VERSION), capabilities, 3, now_ms);
    } else if (span_equals(verb, SPAN("done"))) {
        r = agent_write_done(&player->out, id, span_from_str(words), now_ms);
    } else if (span_equals(verb, SPAN("error"))) {
        r = agent_write_error(&player->out, id, span_from_str(words), now_ms);
    } else if (span_equals(verb, SPAN("status"))) {
        r = say_status(player, id, words);
    } else {
        is_end = false;
        r = span_equals(verb, SPAN("token"))
                ? agent_write_token(&player->out, id, span_from_str(words), now_ms)
                : say_tool(player, verb, id, words);
    }
    if (is_end) {
        agent_server_end(&player->server, id);
    }
    say(player);
    return r == 0;
}

static void play(const char *file, bool by_bytes)
{
    Player player = {
        .wire = {.file = file, .by_bytes = by_bytes, .take = take, .too_long = too_long}};

    player.wire.context = &player;
    player.wire.now_ms = 1234567890000;
    agent_server_init(&player.server, (HashSeed){3, 4}, LIMIT_AGENT_REQUESTS);
    arena_init(&player.arena, SIZE_MAX);
    bytes_init(&player.out, LIMIT_AGENT_LINE_BYTES);
    wire_play(&player.wire, FOLDER, command);
    agent_server_deinit(&player.server);
    arena_deinit(&player.arena);
    bytes_deinit(&player.out);
}

static void transcript(void **state)
{
    play(*state, false);
    play(*state, true);
}

int main(void)
{
    return wire_main(FOLDER, transcript);
}
