/* Plays tests/transcripts/pipe/addin/NAME.txt against an add-in's side; transcript_testing.h says
 * what lines there are. Its tools, in the place of a router: `whole` answers its arguments as
 * structured content, what begins with `hold` waits for the command finish, raise or fail, anything
 * else is unknown. Its resources: plan://svg is there, those that begin with `hold` wait likewise,
 * for the command contents or timeout. It offers {"name":"planner","tools":[]}. */
#include "dialect/pipe/addin.h"

#include "unit/dialect/pipe/transcript_testing.h"

#include "dialect/pipe/backoff.h"

#define FOLDER   TW_SOURCE_DIR "/tests/transcripts/pipe/addin"
#define MAX_HELD 8

typedef struct Player {
    Wire wire;
    PipeAddin *addin; /* NULL: not connected */
    PipeBackoff backoff;
    size_t max_running;
    Call *held[MAX_HELD];
    bool is_dead;
    bool is_useless;
    bool is_behind; /* much waits for the hub */
} Player;

static void finish_contents(Call *call, const char *json)
{
    Span piece = span_from_str(json);
    CallResult result = {.kind = CALL_RESULT_RESOURCE, .pieces = &piece, .n_pieces = 1};

    call_finish(call, &result);
}

static void dispatch(Player *player, Call *call)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{}")};

    if (call->verb == CALL_READ && span_equals(call->target, SPAN("plan://svg"))) {
        finish_contents(call, "{\"uri\":\"plan://svg\",\"text\":\"<svg/>\"}");
    } else if (span_equals(call->target, SPAN("whole"))) {
        if (call->arguments.node != NULL) {
            result.structured = json_span(call->arguments);
        }
        call_finish(call, &result);
    } else if (span_starts_with(call->target, SPAN("hold"))) {
        size_t i = 0;

        while (player->held[i] != NULL) {
            i++;
            assert_true(i < MAX_HELD);
        }
        player->held[i] = call;
        assert_int_equal(call_keep_arguments(call), 0);
    } else {
        call_fail(call,
                  call->verb == CALL_READ ? CALL_ERROR_UNKNOWN_RESOURCE : CALL_ERROR_UNKNOWN_TOOL,
                  SPAN_NULL);
    }
}

static void pump(Player *player)
{
    Call *call;

    while ((call = pipe_addin_next(player->addin)) != NULL) {
        dispatch(player, call);
    }
}

static void wrote(void *context)
{
    pump(context);
}

static void cancel(void *context, Call *call)
{
    Player *player = context;

    for (size_t i = 0; i < MAX_HELD; i++) {
        if (player->held[i] == call) {
            player->held[i] = NULL;
            return;
        }
    }
    fail_msg("a call is cancelled that does not run");
}

static bool is_behind(void *context)
{
    return ((Player *)context)->is_behind;
}

static int list(void *context, Bytes *out)
{
    (void)context;
    return bytes_append_span(out, SPAN("{\"name\":\"planner\",\"tools\":[]}"));
}

static void connect_to_hub(Player *player)
{
    PipeAddinConfig config = {.sink = &player->wire.sink,
                              .source = &player->wire.source,
                              .seed = {1, 2},
                              .max_running = player->max_running,
                              .list = list,
                              .wrote = wrote,
                              .cancel = cancel,
                              .is_behind = is_behind,
                              .context = player};

    assert_null(player->addin);
    wire_reopen(&player->wire);
    player->is_dead = false;
    player->is_useless = false;
    assert_int_equal(pipe_addin_new(&player->addin, &config, player->wire.now_ms), 0);
}

/* What an owner of the connection does with what arrived. */
static void serve(Player *player)
{
    Span message;

    while (!player->is_useless) {
        int r = len32_reader_next(&player->wire.in, &message);

        if (r == LEN32_E_AGAIN) {
            return;
        }
        if (r == LEN32_E_TOO_LARGE) {
            assert_int_equal(
                pipe_addin_refuse_size(player->addin, len32_reader_declared(&player->wire.in)), 0);
            player->is_useless = true;
            return;
        }
        r = pipe_addin_receive(player->addin, message, player->wire.now_ms);
        assert_in_range(r, 0, PIPE_E_PROTOCOL);
        player->is_useless = r == PIPE_E_PROTOCOL;
        pump(player);
    }
}

/* The held call whose tool the words begin with; *ret_rest is what follows. */
static Call *take_held(Player *player, const char *words, const char **ret_rest)
{
    size_t n = strcspn(words, " ");

    *ret_rest = words[n] == ' ' ? words + n + 1 : words + n;
    for (size_t i = 0; i < MAX_HELD; i++) {
        Call *call = player->held[i];

        if (call != NULL && span_equals(call->target, span_make(words, n))) {
            player->held[i] = NULL;
            return call;
        }
    }
    wire_fail(&player->wire, "no such call is held", words);
    return NULL;
}

/* Commands. */

static void cmd_finish(Player *player, const char *words)
{
    const char *json;
    Call *call = take_held(player, words, &json);
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = span_from_str(json)};

    call_finish(call, &result);
}

static void cmd_contents(Player *player, const char *words)
{
    const char *json;
    Call *call = take_held(player, words, &json);

    finish_contents(call, json);
}

static void cmd_raise(Player *player, const char *words)
{
    const char *rest;
    Call *call = take_held(player, words, &rest);
    size_t n = strcspn(rest, " ");
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_RAISED,
                         .error_type = span_make(rest, n),
                         .message = span_from_str(rest[n] == ' ' ? rest + n + 1 : rest + n)};

    call_finish(call, &result);
}

static void cmd_invalid(Player *player, const char *words)
{
    const char *what;
    Call *call = take_held(player, words, &what);
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_INVALID_ARGUMENTS,
                         .message = span_from_str(what)};

    call_finish(call, &result);
}

static void cmd_timeout(Player *player, const char *words)
{
    const char *rest;
    Call *call = take_held(player, words, &rest);

    call_fail(call, CALL_ERROR_TIMEOUT, span_from_str(rest));
}

static void cmd_report(Player *player, const char *words)
{
    const char *rest;
    Call *call = take_held(player, words, &rest);
    char *end;
    CallProgress progress = {.progress = strtod(rest, &end)};

    progress.total = strtod(end, &end);
    progress.message = span_from_str(*end == ' ' ? end + 1 : end);
    for (size_t i = 0; i < MAX_HELD; i++) { /* it goes on */
        if (player->held[i] == NULL) {
            player->held[i] = call;
            break;
        }
    }
    call_report(call, &progress);
}

static void cmd_changed(Player *player, const char *words)
{
    (void)words;
    assert_true(pipe_addin_hub_understands(player->addin, PIPE_TOOLS_CHANGED));
    assert_true(pipe_addin_tell_changed(player->addin));
}

static void cmd_behind(Player *player, const char *words)
{
    player->is_behind = strcmp(words, "yes") == 0;
}

static void cmd_large(Player *player, const char *words)
{
    const char *rest;
    Call *call = take_held(player, words, &rest);
    size_t n = strtoul(rest, NULL, 10);
    char *text = calloc(1, n);
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = span_make(text, n)};

    memset(text, '7', n);
    call_finish(call, &result);
    free(text);
}

static void cmd_disconnected(Player *player, const char *words)
{
    Call *call;

    (void)words;
    while ((call = pipe_addin_first(player->addin)) != NULL) {
        pipe_addin_drop(player->addin, call);
    }
    memset(player->held, 0, sizeof(player->held));
    player->addin = pipe_addin_free(player->addin);
}

static void cmd_retry(Player *player, const char *words)
{
    assert_null(player->addin);
    assert_int_equal(pipe_backoff_next(&player->backoff), strtol(words, NULL, 10));
}

static void cmd_connected(Player *player, const char *words)
{
    (void)words;
    pipe_backoff_reset(&player->backoff);
    connect_to_hub(player);
}

static void cmd_running(Player *player, const char *words)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%zu waiting %zu", pipe_addin_running(player->addin),
                   pipe_addin_waiting(player->addin));
    assert_string_equal(text, words);
}

static void cmd_limit(Player *player, const char *words)
{
    player->max_running = strtoul(words, NULL, 10);
    player->addin = pipe_addin_free(player->addin);
    connect_to_hub(player);
}

static void cmd_state(Player *player, const char *words)
{
    const char *state = player->is_dead ? "dead" : player->is_useless ? "close" : "alive";

    if (strcmp(state, words) != 0) {
        wire_fail(&player->wire, "the connection is", state);
    }
}

static const struct {
    const char *name;
    void (*run)(Player *player, const char *words);
} commands[] = {
    {"finish", cmd_finish},             /* TOOL JSON: the held call answers that */
    {"contents", cmd_contents},         /* URI JSON: the held resource has these contents */
    {"raise", cmd_raise},               /* TOOL TYPE WORDS: it ends in an exception */
    {"invalid", cmd_invalid},           /* TOOL WORDS: this is wrong with its arguments */
    {"timeout", cmd_timeout},           /* TOOL WORDS: its deadline has passed */
    {"report", cmd_report},             /* TOOL N TOTAL WORDS: it has come so far */
    {"changed", cmd_changed},           /* what is offered has changed */
    {"behind", cmd_behind},             /* yes, no: much waits for the hub */
    {"large", cmd_large},               /* TOOL N: it answers with data of so many bytes */
    {"disconnected", cmd_disconnected}, /* the hub has gone */
    {"retry", cmd_retry},               /* MS: so long until the next attempt */
    {"connected", cmd_connected},       /* the attempt succeeds */
    {"running", cmd_running},           /* N waiting N */
    {"limit", cmd_limit},               /* N: so many may run at once; a new connection */
    {"state", cmd_state},               /* alive, close (the owner must) or dead */
};

static void play_command(Player *player, const char *text)
{
    size_t n = strcspn(text, " ");

    if (wire_command(&player->wire, text)) {
        serve(player);
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(commands); i++) {
        if (strlen(commands[i].name) == n && strncmp(commands[i].name, text, n) == 0) {
            commands[i].run(player, text[n] == ' ' ? text + n + 1 : text + n);
            return;
        }
    }
    wire_fail(&player->wire, "no such command", text);
}

/* The owner's timer comes exactly when it is due. */
static void pass_time(Player *player, int64_t ms)
{
    int64_t until = player->wire.now_ms + ms;

    while (player->addin != NULL && !player->is_dead &&
           pipe_addin_deadline(player->addin) <= until) {
        player->wire.now_ms = pipe_addin_deadline(player->addin);
        player->is_dead = !pipe_addin_advance(player->addin, player->wire.now_ms);
    }
    player->wire.now_ms = until;
}

static void play_line(void *context, const char *line)
{
    Player *player = context;
    const char *text = line[1] == ' ' ? line + 2 : line + 1;

    if (line[0] == '<') {
        wire_expect(&player->wire, text);
        return;
    }
    wire_expect_silence(&player->wire);
    if (line[0] == '>') {
        wire_feed_message(&player->wire, text, strlen(text));
        serve(player);
    } else if (line[0] == '@') {
        pass_time(player, strtol(text, NULL, 10));
    } else if (line[0] == '!') {
        play_command(player, text);
    } else {
        wire_fail(&player->wire, "no such line", line);
    }
}

static void play(void **state)
{
    Player player = {.max_running = 0};

    wire_init(&player.wire, *state);
    pipe_backoff_init(&player.backoff, 0, 0);
    connect_to_hub(&player);
    wire_play(&player.wire, FOLDER, play_line, &player);
    wire_expect_silence(&player.wire);
    if (player.addin != NULL) {
        assert_int_equal(pipe_addin_running(player.addin), 0);
        assert_int_equal(pipe_addin_error(player.addin), 0);
    }
    player.addin = pipe_addin_free(player.addin);
    wire_deinit(&player.wire);
}

int main(void)
{
    return wire_main(FOLDER, play);
}
