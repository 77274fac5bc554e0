/* Plays tests/transcripts/pipe/hub/NAME.txt against a hub's side; transcript_testing.h says what
 * lines there are. Besides:
 *
 *     = TAG TEXT   the call of that tag ended so: ok or failed, content | structured | meta; one
 * that reads: contents, its elements | meta; or error (kind) and its message = list TEXT  the
 * add-in said what it offers = told TEXT  the add-in said an error about no call = TAG progress N
 * of N: TEXT  it reported that
 *
 * Every end must be expected, in order. */
#include "dialect/pipe/hub.h"

#include "unit/dialect/pipe/transcript_testing.h"

#include "base/arena.h"

#define FOLDER    TW_SOURCE_DIR "/tests/transcripts/pipe/hub"
#define MAX_CALLS 26

typedef struct Player Player;

typedef struct Asked {
    Call call; /* first */
    Player *player;
} Asked;

struct Player {
    Wire wire;
    PipeHub *hub;
    Asked asked[MAX_CALLS];
    Bytes ends; /* a line for each */
    size_t n_ends_read;
    bool is_dead;
    bool is_useless; /* the owner must close it */
    bool is_lost;
};

static void append(Player *player, Span text)
{
    assert_int_equal(bytes_append_span(&player->ends, text), 0);
}

static void append_pieces(Player *player, const CallResult *result)
{
    for (size_t i = 0; i < result->n_pieces; i++) {
        append(player, result->pieces[i]);
    }
}

static void append_read(Player *player, const CallResult *result)
{
    if (result->kind == CALL_RESULT_RESOURCE) {
        append(player, SPAN("contents "));
        append_pieces(player, result);
        append(player, SPAN(" | "));
        append(player, result->meta);
    } else {
        assert_int_equal(result->kind, CALL_RESULT_ERROR);
        assert_int_equal(
            bytes_append_format(&player->ends, "error (%s) ", call_error_text(result->error)), 0);
        append(player, result->message);
    }
}

static void finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;
    Player *player = asked->player;

    assert_int_equal(
        bytes_append_format(&player->ends, "%c ", (char)('a' + (asked - player->asked))), 0);
    if (call->verb == CALL_READ) {
        assert_int_not_equal(result->kind, CALL_RESULT_TOOL);
        append_read(player, result);
    } else {
        assert_int_equal(result->kind, CALL_RESULT_TOOL);
        append(player, result->is_error ? SPAN("failed ") : SPAN("ok "));
        append_pieces(player, result);
        append(player, SPAN(" | "));
        append(player, result->structured);
        append(player, SPAN(" | "));
        append(player, result->meta);
    }
    append(player, span_make("", 1));
    call_reset(call);
}

static void progress(Call *call, const CallProgress *progress)
{
    Asked *asked = (Asked *)call;

    assert_int_equal(bytes_append_format(&asked->player->ends, "%c progress %.*s of %.*s: %.*s",
                                         (char)('a' + (asked - asked->player->asked)),
                                         (int)progress->spelt.n, progress->spelt.p,
                                         (int)progress->spelt_total.n,
                                         progress->spelt_total.n > 0 ? progress->spelt_total.p : "",
                                         (int)progress->message.n,
                                         progress->message.n > 0 ? progress->message.p : ""),
                     0);
    append(asked->player, span_make("", 1));
}

static const CallDoor door = {.finish = finish, .progress = progress};

static void listed(void *context, JsonValue data)
{
    Player *player = context;

    append(player, SPAN("list "));
    append(player, data.node != NULL ? json_span(data) : SPAN("none"));
    append(player, span_make("", 1));
}

static void told(void *context, Span code, Span message)
{
    Player *player = context;

    append(player, SPAN("told "));
    append(player, code);
    append(player, SPAN(": "));
    append(player, message);
    append(player, span_make("", 1));
}

/* What an owner of the connection does with what arrived. */
static void serve(Player *player)
{
    Span message;

    while (!player->is_useless && !player->is_lost) {
        int r = len32_reader_next(&player->wire.in, &message);

        if (r == LEN32_E_AGAIN) {
            return;
        }
        if (r == LEN32_E_TOO_LARGE) {
            assert_int_equal(
                pipe_hub_refuse_size(player->hub, len32_reader_declared(&player->wire.in)), 0);
            player->is_useless = true;
            return;
        }
        r = pipe_hub_receive(player->hub, message, player->wire.now_ms);
        assert_in_range(r, 0, PIPE_E_PROTOCOL);
        player->is_useless = r == PIPE_E_PROTOCOL;
    }
}

static Asked *find(Player *player, const char *words)
{
    assert_in_range(words[0], 'a', 'z');
    return &player->asked[words[0] - 'a'];
}

static void submit(Player *player, Asked *asked, Span name, const char *text)
{
    Arena arena;
    JsonDoc doc;

    assert_null(asked->call.door);
    asked->player = player;
    asked->call.door = &door;
    asked->call.wants_progress = true;
    arena_init(&arena, SIZE_MAX);
    if (text != NULL) {
        assert_int_equal(json_parse(&doc, &arena, text, strlen(text), NULL, NULL), 0);
        asked->call.arguments = json_root(&doc);
    }
    pipe_hub_submit(player->hub, &asked->call, name, player->wire.now_ms);
    /* As the router does, if the call still runs; what was lent is gone then. */
    if (asked->call.door != NULL) {
        assert_int_equal(call_keep_arguments(&asked->call), 0);
    }
    arena_deinit(&arena);
}

/* Commands. */

static void cmd_call(Player *player, const char *words)
{
    const char *name = words + 2;
    size_t n = strcspn(name, " ");

    submit(player, find(player, words), span_make(name, n), name[n] == ' ' ? name + n + 1 : NULL);
}

static void cmd_read(Player *player, const char *words)
{
    Asked *asked = find(player, words);

    asked->call.verb = CALL_READ;
    asked->call.target = span_from_str(words + 2);
    submit(player, asked, SPAN_NULL, NULL);
}

static void cmd_large(Player *player, const char *words)
{
    static const char around[] =
        "{\"id\":\"00000000-0000-4000-8000-000000000001\",\"type\":\"tool_call\",\"timestamp\":"
        "\"2025-01-15T10:30:00.000Z\",\"payload\":{\"tool_name\":\"x\",\"args\":}}";
    size_t n = strtoul(words + 2, NULL, 10) - (sizeof(around) - 1);
    char *text = calloc(1, n + 1);

    memset(text, 'x', n);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + n - 2, "\"}", 2);
    submit(player, find(player, words), SPAN("x"), text);
    free(text);
}

static void cmd_cancel(Player *player, const char *words)
{
    Call *call = &find(player, words)->call;

    pipe_hub_cancel(player->hub, call, player->wire.now_ms);
    call_reset(call);
}

/* As the router has it. */
static void cmd_deadline(Player *player, const char *words)
{
    find(player, words)->call.deadline_ms =
        player->wire.now_ms + (int64_t)strtoul(words + 2, NULL, 10);
}

static void cmd_list(Player *player, const char *words)
{
    (void)words;
    assert_int_equal(pipe_hub_list(player->hub, player->wire.now_ms), 0);
}

static void cmd_lost(Player *player, const char *words)
{
    player->is_lost = true;
    pipe_hub_lost(player->hub, span_from_str(words));
}

static void cmd_size(Player *player, const char *words)
{
    Span message;

    assert_true(wire_take(&player->wire, &message));
    assert_int_equal(message.n, strtoul(words, NULL, 10));
}

static void cmd_state(Player *player, const char *words)
{
    const char *state = player->is_dead ? "dead" : player->is_useless ? "close" : "alive";

    if (strcmp(state, words) != 0) {
        wire_fail(&player->wire, "the connection is", state);
    }
}

static void cmd_pending(Player *player, const char *words)
{
    assert_int_equal(pipe_hub_pending(player->hub), strtoul(words, NULL, 10));
}

static void cmd_counts(Player *player, const char *words)
{
    PipeHubCounts counts = pipe_hub_counts(player->hub);
    char text[128];

    (void)snprintf(text, sizeof(text), "late %llu unknown %llu bad %llu errors %llu",
                   (unsigned long long)counts.late, (unsigned long long)counts.unknown,
                   (unsigned long long)counts.bad, (unsigned long long)counts.errors);
    assert_string_equal(text, words);
}

static const struct {
    const char *name;
    void (*run)(Player *player, const char *words);
} commands[] = {
    {"call", cmd_call},         /* TAG NAME [ARGUMENTS] */
    {"read", cmd_read},         /* TAG URI */
    {"large", cmd_large},       /* TAG N: a call whose message has so many bytes */
    {"cancel", cmd_cancel},     /* TAG */
    {"deadline", cmd_deadline}, /* TAG MS: of a call that is out, from now */
    {"list", cmd_list},         /* asks what the add-in offers */
    {"lost", cmd_lost},         /* [WHY] */
    {"size", cmd_size},         /* N: a message of so many bytes was sent */
    {"state", cmd_state},       /* alive, close (the owner must) or dead */
    {"pending", cmd_pending},   /* N */
    {"counts", cmd_counts},     /* late N unknown N bad N errors N */
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

    while (!player->is_lost && !player->is_dead && pipe_hub_deadline(player->hub) <= until) {
        player->wire.now_ms = pipe_hub_deadline(player->hub);
        player->is_dead = !pipe_hub_advance(player->hub, player->wire.now_ms);
    }
    player->wire.now_ms = until;
}

static void play_end(Player *player, const char *expected)
{
    const char *end;

    if (player->n_ends_read == player->ends.n) {
        wire_fail(&player->wire, "nothing has ended, expected", expected);
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
            pass_time(player, strtol(text, NULL, 10));
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
    PipeHubConfig config = {.seed = {1, 2}, .listed = listed, .told = told, .context = player};

    wire_init(&player->wire, *state);
    bytes_init(&player->ends, (size_t)1 << 26);
    for (size_t i = 0; i < MAX_CALLS; i++) {
        call_init(&player->asked[i].call);
    }
    config.sink = &player->wire.sink;
    config.source = &player->wire.source;
    assert_int_equal(pipe_hub_new(&player->hub, &config, 0), 0);
    wire_play(&player->wire, FOLDER, play_line, player);
    expect_quiet(player);
    assert_int_equal(pipe_hub_pending(player->hub), 0);
    assert_int_equal(pipe_hub_error(player->hub), 0);
    player->hub = pipe_hub_free(player->hub);
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
