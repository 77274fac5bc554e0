/* Plays tests/transcripts/agent/shell/NAME.txt against the shell's side; transcript_testing.h says
 * what lines there are. Besides:
 *
 *     = ready VERSION CAPABILITIES | response ID TYPE … | end ID TYPE … | timeout ID TEXT
 *       | lost ID TEXT | unasked TYPE ID TEXT | noise TEXT | too long
 *     ! say ID TEXT                     a user_message
 *     ! KIND ID [REST]                  a request of that kind; REST is the conversation, the
 *                                       request to interrupt, or the tool and yes or no
 *     ! forget ID | lose | deadline MS  (which may be "none")
 */
#include "dialect/agent/shell.h"

#include "unit/dialect/agent/transcript_testing.h"

#define FOLDER TW_SOURCE_DIR "/tests/transcripts/agent/shell"

typedef struct Player {
    Wire wire;
    AgentShell shell;
    Arena arena;
    Bytes out;
} Player;

static void append(Bytes *out, const char *before, Span text)
{
    assert_int_equal(bytes_append_format(out, "%s", before), 0);
    assert_int_equal(bytes_append_span(out, text), 0);
}

/* One that may be empty. */
static void append_any(Bytes *out, Span text)
{
    append(out, " ", text.n > 0 ? text : SPAN("-"));
}

static void describe_tool(Bytes *out, const AgentResponse *response)
{
    const AgentTool *tool = &response->tool;

    append(out, " ", tool->id);
    append(out, " ", tool->name);
    if (response->type == AGENT_TYPE_TOOL_USE) {
        append(out, tool->approval_required ? " asks " : " ", tool->input);
    } else if (response->type == AGENT_TYPE_TOOL_RESULT) {
        append(out, response->is_tool_error ? " failed " : " ",
               response->is_tool_error ? tool->error : tool->result);
    } else {
        assert_int_equal(bytes_append_format(out, " %lld ms", (long long)tool->elapsed_ms), 0);
        append(out, tool->message.n > 0 ? " " : "", tool->message);
    }
}

static void describe_response(Bytes *out, const AgentResponse *response)
{
    append(out, " ", span_from_str(agent_type_name(response->type)));
    switch (response->type) {
    case AGENT_TYPE_TOKEN:
        append_any(out, response->token);
        break;
    case AGENT_TYPE_ERROR:
        append(out, " ", response->error);
        break;
    case AGENT_TYPE_STATUS:
        append(out, " ", response->state);
        assert_int_equal(bytes_append_format(out, " %llu %lld",
                                             (unsigned long long)response->conversation_length,
                                             (long long)response->uptime_ms),
                         0);
        break;
    case AGENT_TYPE_TOOL_USE:
    case AGENT_TYPE_TOOL_RESULT:
    case AGENT_TYPE_TOOL_PROGRESS:
        describe_tool(out, response);
        break;
    default:
        append(out, response->data.n > 0 ? " " : "", response->data);
        break;
    }
}

static void describe(Player *player, const AgentShellEvent *event)
{
    static const char *const names[] = {
        [AGENT_SHELL_READY] = "ready", [AGENT_SHELL_RESPONSE] = "response",
        [AGENT_SHELL_END] = "end",     [AGENT_SHELL_TIMEOUT] = "timeout",
        [AGENT_SHELL_LOST] = "lost",   [AGENT_SHELL_UNASKED] = "unasked",
        [AGENT_SHELL_NOISE] = "noise",
    };
    Bytes *out = &player->out;

    append(out, names[event->kind], SPAN_NULL);
    switch (event->kind) {
    case AGENT_SHELL_READY:
        append_any(out, event->response.version);
        append_any(out, event->response.capabilities);
        break;
    case AGENT_SHELL_RESPONSE:
    case AGENT_SHELL_END:
    case AGENT_SHELL_UNASKED:
        append_any(out, event->id);
        describe_response(out, &event->response);
        break;
    default:
        append(out, event->id.n > 0 ? " " : "", event->id);
        append(out, " ", event->text);
        break;
    }
    wire_hear(&player->wire, "=", bytes_span(out));
    bytes_clear(out);
}

static void take(void *context, Span line)
{
    Player *player = context;
    AgentShellEvent event;

    arena_reset(&player->arena, 0);
    assert_int_equal(
        agent_shell_receive(&player->shell, &event, &player->arena, line, player->wire.now_ms), 0);
    describe(player, &event);
}

static void too_long(void *context)
{
    Player *player = context;

    wire_hear(&player->wire, "=", SPAN("too long"));
}

static bool open_request(Player *player, Span verb, const char *words)
{
    AgentRequest request = {.kind = AGENT_N_KINDS, .id = wire_word(&words)};
    int r;

    if (span_equals(verb, SPAN("say"))) {
        request.kind = AGENT_KIND_USER_MESSAGE;
        request.message = span_from_str(words);
    }
    for (size_t i = 1; i < AGENT_N_KINDS; i++) {
        if (span_equals(verb, span_from_str(agent_kind_name((AgentKind)i)))) {
            request.kind = (AgentKind)i;
        }
    }
    if (request.kind == AGENT_N_KINDS) {
        return false;
    }
    if (request.kind == AGENT_KIND_TOOL_APPROVAL) {
        request.tool_id = wire_word(&words);
        request.approved = strcmp(words, "yes") == 0;
    } else if (request.kind == AGENT_KIND_INTERRUPT) {
        request.request_id = span_from_str(words);
    } else if (request.kind != AGENT_KIND_USER_MESSAGE) {
        request.conversation_id = span_from_str(words);
    }
    r = agent_shell_open(&player->shell, &request, NULL, player->wire.now_ms, &player->out);
    if (r == 0) {
        wire_hear(&player->wire, "<", bytes_span(&player->out));
        bytes_clear(&player->out);
    } else {
        wire_hear(&player->wire, "=",
                  r == AGENT_SHELL_E_EXISTS ? SPAN("id is open") : SPAN("failed"));
    }
    return true;
}

static void check_deadline(Player *player, const char *words)
{
    int64_t at_ms = agent_shell_next_deadline(&player->shell);

    if (strcmp(words, "none") == 0) {
        assert_int_equal(at_ms, INT64_MAX);
    } else {
        assert_int_equal(at_ms, strtoll(words, NULL, 10));
    }
}

static bool command(void *context, const char *words)
{
    Player *player = context;
    Span verb = wire_word(&words);
    AgentShellEvent event;

    if (span_equals(verb, SPAN("time"))) {
        while (agent_shell_expire(&player->shell, &event, player->wire.now_ms)) {
            describe(player, &event);
        }
    } else if (span_equals(verb, SPAN("lose"))) {
        while (agent_shell_lose(&player->shell, &event)) {
            describe(player, &event);
        }
    } else if (span_equals(verb, SPAN("forget"))) {
        agent_shell_forget(&player->shell, span_from_str(words));
    } else if (span_equals(verb, SPAN("deadline"))) {
        check_deadline(player, words);
    } else {
        return open_request(player, verb, words);
    }
    return true;
}

static void play(const char *file, bool by_bytes)
{
    Player player = {
        .wire = {.file = file, .by_bytes = by_bytes, .take = take, .too_long = too_long}};

    player.wire.context = &player;
    agent_shell_init(&player.shell, (HashSeed){3, 4}, 0);
    arena_init(&player.arena, SIZE_MAX);
    bytes_init(&player.out, LIMIT_AGENT_LINE_BYTES);
    wire_play(&player.wire, FOLDER, command);
    agent_shell_deinit(&player.shell);
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
