#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Only ends a test that would hang; nothing is measured by it. */
#define PIPE_HANG_MS 60000

#define PIPE_MESSAGE_MAX  ((size_t)16777216)
#define PIPE_ARENA_BYTES  ((size_t)1 << 29)
#define PIPE_SMALL_BUFFER ((size_t)4096)

/* ---- the hub ---- */

void hub_init(PipeHubProcess *hub, const char *program)
{
    (void)signal(SIGPIPE, SIG_IGN);
    *hub = (PipeHubProcess){.program = program};
    (void)snprintf(hub->folder, sizeof(hub->folder), "/tmp/tw-pipe-XXXXXX");
    assert_non_null(mkdtemp(hub->folder));
    (void)snprintf(hub->socket, sizeof(hub->socket), "%s/CoreFxPipe_" PIPE_NAME, hub->folder);
    (void)snprintf(hub->tools, sizeof(hub->tools), "%s/tools.json", hub->folder);
    (void)snprintf(hub->config, sizeof(hub->config), "%s/config.json", hub->folder);
    assert_int_equal(setenv("TMPDIR", hub->folder, 1), 0);
}

void hub_deinit(PipeHubProcess *hub)
{
    (void)unlink(hub->tools);
    (void)unlink(hub->config);
    assert_int_equal(rmdir(hub->folder), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

void hub_write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

void hub_serve(PipeHubProcess *hub, const char *const *arguments)
{
    const char *all[PIPE_MAX_ARGUMENTS + 5] = {"serve", "--no-toolkit", "--pipe", PIPE_NAME};

    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++) {
        assert_true(i < PIPE_MAX_ARGUMENTS);
        all[i + 4] = arguments[i];
    }
    peer_open(&hub->client, hub->program, all);
    assert_int_equal(access(hub->socket, F_OK), 0);
}

void hub_serve_config(PipeHubProcess *hub, const char *config)
{
    const char *const arguments[] = {"serve", "--no-toolkit", "--config", hub->config, NULL};

    hub_write_file(hub->config, config);
    peer_open(&hub->client, hub->program, arguments);
    assert_int_equal(access(hub->socket, F_OK), 0);
}

void hub_end(PipeHubProcess *hub)
{
    assert_int_equal(hub->n_tools_changed, 0);
    assert_int_equal(hub->n_resources_changed, 0);
    assert_int_equal(peer_finish(&hub->client), 0);
    assert_int_equal(access(hub->socket, F_OK), -1);
}

void hub_reap_killed(PipeHubProcess *hub)
{
    assert_int_equal(peer_finish(&hub->client), -SIGKILL);
    hub->n_tools_changed = 0;
    hub->n_resources_changed = 0;
}

/* ---- its client ---- */

void hub_send(PipeHubProcess *hub, const char *line)
{
    peer_send(&hub->client, line);
}

/* Counts a notification of a changed list; false: the line is something else. */
static bool hub_count_change(PipeHubProcess *hub, const char *line)
{
    if (strstr(line, "\"method\":\"notifications/tools/list_changed\"") != NULL) {
        hub->n_tools_changed++;
        return true;
    }
    if (strstr(line, "\"method\":\"notifications/resources/list_changed\"") != NULL) {
        hub->n_resources_changed++;
        return true;
    }
    return false;
}

char *hub_answer(PipeHubProcess *hub)
{
    for (;;) {
        char *line = peer_line(&hub->client);

        if (line == NULL || !hub_count_change(hub, line)) {
            assert_non_null(line);
            return line;
        }
        free(line);
    }
}

static void hub_await_change(PipeHubProcess *hub, int *n)
{
    while (*n == 0) {
        char *line = peer_line(&hub->client);

        assert_non_null(line);
        if (!hub_count_change(hub, line)) {
            fail_msg("wanted: a list has changed\n   got: %.2000s", line);
        }
        free(line);
    }
    (*n)--;
}

void hub_await_tools_changed(PipeHubProcess *hub)
{
    hub_await_change(hub, &hub->n_tools_changed);
}

void hub_await_resources_changed(PipeHubProcess *hub)
{
    hub_await_change(hub, &hub->n_resources_changed);
}

/* The answer to a request, parsed. */
typedef struct HubAnswer {
    char *line;
    Arena arena;
    JsonDoc doc;
} HubAnswer;

static void answer_take(HubAnswer *answer, PipeHubProcess *hub, int id)
{
    JsonValue value;
    int64_t got;

    answer->line = hub_answer(hub);
    arena_init(&answer->arena, PIPE_ARENA_BYTES);
    assert_int_equal(
        json_parse(&answer->doc, &answer->arena, answer->line, strlen(answer->line), NULL, NULL),
        0);
    if (!json_get(json_root(&answer->doc), SPAN("id"), &value) || json_int64(value, &got) != 0 ||
        got != id) {
        fail_msg("wanted: the answer to %d\n   got: %.2000s", id, answer->line);
    }
}

static void answer_deinit(HubAnswer *answer)
{
    arena_deinit(&answer->arena);
    free(answer->line);
}

static JsonValue answer_at(const HubAnswer *answer, const char *pointer)
{
    JsonValue value;

    if (json_pointer(json_root(&answer->doc), span_from_str(pointer), &value) != 0) {
        fail_msg("nothing at %s: %.2000s", pointer, answer->line);
    }
    return value;
}

static Span answer_text_at(HubAnswer *answer, const char *pointer)
{
    JsonValue value = answer_at(answer, pointer);
    Span text;

    assert_int_equal(json_kind(value), JSON_STRING);
    assert_int_equal(json_string(value, &answer->arena, &text), 0);
    return text;
}

static bool answer_is_error(const HubAnswer *answer)
{
    JsonValue value;

    return json_pointer(json_root(&answer->doc), SPAN("/result/isError"), &value) == 0 &&
           json_kind(value) == JSON_TRUE;
}

/* Is this the JSON that is wanted? */
static bool json_is(Arena *arena, JsonValue got, const char *wanted)
{
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, arena, wanted, strlen(wanted), NULL, NULL), 0);
    return json_equals(got, json_root(&doc));
}

void hub_expect_result(PipeHubProcess *hub, int id, const char *structured, const char *text)
{
    HubAnswer answer;
    Span got;

    answer_take(&answer, hub, id);
    if (answer_is_error(&answer) ||
        !json_is(&answer.arena, answer_at(&answer, "/result/structuredContent"), structured)) {
        fail_msg("wanted: %.2000s\n   got: %.2000s", structured, answer.line);
    }
    got = answer_text_at(&answer, "/result/content/0/text");
    if (text != NULL) {
        assert_int_equal(got.n, strlen(text));
        assert_memory_equal(got.p, text, got.n);
    } else {
        JsonDoc doc;

        assert_int_equal(json_parse(&doc, &answer.arena, got.p, got.n, NULL, NULL), 0);
        assert_true(json_is(&answer.arena, json_root(&doc), structured));
    }
    answer_deinit(&answer);
}

static bool span_has(Span text, const char *words)
{
    size_t n = strlen(words);

    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, words, n) == 0) {
            return true;
        }
    }
    return false;
}

void hub_expect_failure(PipeHubProcess *hub, int id, const char *code, const char *words)
{
    HubAnswer answer;
    Span got_code;
    Span text;

    answer_take(&answer, hub, id);
    if (!answer_is_error(&answer)) {
        fail_msg("wanted: %s\n   got: %.2000s", code, answer.line);
    }
    got_code = answer_text_at(&answer, "/result/structuredContent/error/code");
    text = answer_text_at(&answer, "/result/content/0/text");
    if (!span_equals(got_code, span_from_str(code)) ||
        !span_has(answer_text_at(&answer, "/result/structuredContent/error/message"), words) ||
        strncmp(text.p, code, strlen(code)) != 0 || !span_has(text, words)) {
        fail_msg("wanted: %s: %s\n   got: %.2000s", code, words, answer.line);
    }
    answer_deinit(&answer);
}

void hub_expect_tools(PipeHubProcess *hub, const char *names)
{
    char got[PIPE_SMALL_BUFFER] = "";
    HubAnswer answer;
    JsonValue tools;
    size_t n = 0;

    hub_send(hub, LIST("900"));
    answer_take(&answer, hub, 900);
    tools = answer_at(&answer, "/result/tools");
    for (JsonIter it = json_iter(tools); json_iter_next(&it);) {
        JsonValue value;
        Span name;

        assert_true(json_get(it.value, SPAN("name"), &value));
        assert_int_equal(json_string(value, &answer.arena, &name), 0);
        n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s ", (int)name.n, name.p);
        assert_true(n < sizeof(got));
    }
    assert_string_equal(got, names);
    answer_deinit(&answer);
}

/* ---- an add-in ---- */

void addin_connect(AddinPeer *addin, const PipeHubProcess *hub)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    assert_true(strlen(hub->socket) < sizeof(address.sun_path));
    memcpy(address.sun_path, hub->socket, strlen(hub->socket) + 1);
    *addin = (AddinPeer){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(addin->fd >= 0);
    assert_int_equal(connect(addin->fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

void addin_close(AddinPeer *addin)
{
    assert_int_equal(close(addin->fd), 0);
    addin->fd = -1;
}

void addin_open(AddinPeer *addin, const PipeHubProcess *hub, const char *data)
{
    addin_connect(addin, hub);
    addin_offer(addin, data);
}

void addin_write(AddinPeer *addin, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t sent = send(addin->fd, at, n, MSG_NOSIGNAL);

        assert_true(sent > 0);
        at += sent;
        n -= (size_t)sent;
    }
}

void addin_write_frame(AddinPeer *addin, const void *p, size_t n)
{
    unsigned char header[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                               (unsigned char)(n >> 24)};

    addin_write(addin, header, sizeof(header));
    addin_write(addin, p, n);
}

void addin_send(AddinPeer *addin, const char *message)
{
    addin_write_frame(addin, message, strlen(message));
}

/* Reads n bytes, or fewer at the end; returns how many. */
static size_t addin_read(const AddinPeer *addin, void *p, size_t n)
{
    size_t n_got = 0;

    while (n_got < n) {
        struct pollfd ready = {.fd = addin->fd, .events = POLLIN};
        ssize_t r;

        if (poll(&ready, 1, PIPE_HANG_MS) != 1) {
            fail_msg("nothing came for %d s", PIPE_HANG_MS / 1000);
        }
        r = read(addin->fd, (char *)p + n_got, n - n_got);
        if (r == 0 || (r < 0 && errno == ECONNRESET)) {
            break;
        }
        assert_true(r > 0);
        n_got += (size_t)r;
    }
    return n_got;
}

/* "2025-01-15T10:30:00.000Z" */
static bool is_timestamp(Span text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";

    if (text.n != sizeof(form) - 1) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (form[i] == 'd' ? text.p[i] < '0' || text.p[i] > '9' : text.p[i] != form[i]) {
            return false;
        }
    }
    return true;
}

static bool is_uuid_v4(Span text)
{
    static const char form[] = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";

    if (text.n != sizeof(form) - 1) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        const char *allowed = form[i] == 'x'   ? "0123456789abcdef"
                              : form[i] == 'y' ? "89ab"
                              : form[i] == '4' ? "4"
                                               : "-";

        if (strchr(allowed, text.p[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static void message_check(AddinMessage *message)
{
    static const char *const names[] = {"id", "type", "timestamp", "payload"};
    Span texts[4];
    size_t n = 0;

    for (JsonIter it = json_iter(json_root(&message->doc)); json_iter_next(&it); n++) {
        assert_true(n < 4 && json_string_equals(it.key, span_from_str(names[n])));
        if (n < 3) {
            assert_int_equal(json_string(it.value, &message->arena, &texts[n]), 0);
        } else {
            assert_int_equal(json_kind(it.value), JSON_OBJECT);
        }
    }
    if (n != 4 || !is_uuid_v4(texts[0]) || !is_timestamp(texts[2])) {
        fail_msg("not the document's envelope: %.2000s", message->text);
    }
    (void)snprintf(message->id, sizeof(message->id), "%.*s", (int)texts[0].n, texts[0].p);
    (void)snprintf(message->type, sizeof(message->type), "%.*s", (int)texts[1].n, texts[1].p);
}

void addin_next_any(AddinPeer *addin, AddinMessage *ret)
{
    unsigned char header[4];
    size_t n = addin_read(addin, header, sizeof(header));

    *ret = (AddinMessage){.text = NULL};
    arena_init(&ret->arena, PIPE_ARENA_BYTES);
    if (n == 0) {
        return;
    }
    assert_int_equal(n, sizeof(header));
    n = (size_t)header[3] << 24 | (size_t)header[2] << 16 | (size_t)header[1] << 8 | header[0];
    assert_true(n <= PIPE_MESSAGE_MAX);
    ret->text = malloc(n + 1);
    assert_non_null(ret->text);
    assert_int_equal(addin_read(addin, ret->text, n), n);
    ret->text[n] = '\0';
    if (json_parse(&ret->doc, &ret->arena, ret->text, n, NULL, NULL) != 0) {
        fail_msg("not JSON: %.2000s", ret->text);
    }
    message_check(ret);
}

void addin_message_deinit(AddinMessage *message)
{
    arena_deinit(&message->arena);
    free(message->text);
    message->text = NULL;
}

void addin_next(AddinPeer *addin, AddinMessage *ret)
{
    for (;;) {
        addin_next_any(addin, ret);
        if (ret->text == NULL || strcmp(ret->type, "ping") != 0) {
            return;
        }
        addin->n_pings++;
        addin_message_deinit(ret);
        if (!addin->is_deaf) {
            addin_pong(addin);
        }
    }
}

static JsonValue message_at(const AddinMessage *message, const char *pointer)
{
    JsonValue value;

    if (json_pointer(json_root(&message->doc), span_from_str(pointer), &value) != 0) {
        fail_msg("nothing at %s: %.2000s", pointer, message->text);
    }
    return value;
}

/* Takes the next message, which must be of that type. */
static void addin_take(AddinPeer *addin, const char *type, AddinMessage *ret)
{
    addin_next(addin, ret);
    if (ret->text == NULL || strcmp(ret->type, type) != 0) {
        fail_msg("wanted: %s\n   got: %.2000s", type, ret->text == NULL ? "the end" : ret->text);
    }
}

void addin_expect_call(AddinPeer *addin, const char *tool, const char *args, char ret_id[40])
{
    AddinMessage message;

    addin_take(addin, "tool_call", &message);
    if (!json_string_equals(message_at(&message, "/payload/tool_name"), span_from_str(tool)) ||
        (args != NULL && !json_is(&message.arena, message_at(&message, "/payload/args"), args))) {
        fail_msg("wanted: %s %.1000s\n   got: %.2000s", tool, args == NULL ? "" : args,
                 message.text);
    }
    (void)snprintf(ret_id, 40, "%s", message.id);
    addin_message_deinit(&message);
}

void addin_expect_error(AddinPeer *addin, const char *code, const char *words)
{
    AddinMessage message;

    addin_take(addin, "error", &message);
    if (!json_string_equals(message_at(&message, "/payload/code"), span_from_str(code)) ||
        strstr(message.text, words) == NULL) {
        fail_msg("wanted: %s: %s\n   got: %.2000s", code, words, message.text);
    }
    addin_message_deinit(&message);
}

void addin_expect_end(AddinPeer *addin)
{
    AddinMessage message;

    addin->is_deaf = true; /* nobody may be there to hear a pong */
    addin_next(addin, &message);
    if (message.text != NULL) {
        fail_msg("wanted: the end\n   got: %.2000s", message.text);
    }
    addin_message_deinit(&message);
    addin_close(addin);
}

/* Sends an envelope around the payload, which is copied. */
static void addin_send_payload(AddinPeer *addin, const char *type, const char *payload)
{
    size_t size = strlen(payload) + 256;
    char *text = malloc(size);

    assert_non_null(text);
    (void)snprintf(text, size,
                   "{\"id\":\"550e8400-e29b-41d4-a716-446655440001\",\"type\":\"%s\","
                   "\"timestamp\":\"2025-01-15T10:30:00.045Z\",\"payload\":%s}",
                   type, payload);
    addin_send(addin, text);
    free(text);
}

void addin_answer(AddinPeer *addin, const char *call_id, const char *data)
{
    size_t size = strlen(data) + 256;
    char *payload = malloc(size);

    assert_non_null(payload);
    (void)snprintf(payload, size,
                   "{\"call_id\":\"%s\",\"success\":true,\"data\":%s,\"error\":null,"
                   "\"duration_ms\":45}",
                   call_id, data);
    addin_send_payload(addin, "tool_result", payload);
    free(payload);
}

void addin_fail(AddinPeer *addin, const char *call_id, const char *code, const char *message)
{
    char payload[1024];

    (void)snprintf(payload, sizeof(payload),
                   "{\"call_id\":\"%s\",\"success\":false,\"data\":null,\"error\":{\"code\":\"%s\","
                   "\"message\":\"%s\"},\"duration_ms\":3}",
                   call_id, code, message);
    addin_send_payload(addin, "tool_result", payload);
}

void addin_pong(AddinPeer *addin)
{
    addin_send_payload(addin, "pong", "{}");
}

void addin_offer(AddinPeer *addin, const char *data)
{
    char id[40];

    addin_expect_call(addin, "toolwire.list_tools", PIPE_LIST_ARGS, id);
    addin_answer(addin, id, data);
}

void addin_offer_unknown(AddinPeer *addin)
{
    char id[40];

    addin_expect_call(addin, "toolwire.list_tools", PIPE_LIST_ARGS, id);
    addin_fail(addin, id, "TOOL_NOT_FOUND", "No command registered for tool 'toolwire.list_tools'");
}
