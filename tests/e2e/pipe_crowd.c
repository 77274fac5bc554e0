#include "e2e/pipe_crowd.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "json/json.h"

#define MAX_WAITING  1024
#define BUFFER_BYTES ((size_t)64 * 1024 * 1024)
#define HEADER_BYTES ((size_t)4)
#define HEAD                                                                                       \
    "{\"id\":\"550e8400-e29b-41d4-a716-446655440001\",\"timestamp\":\"2025-01-15T10:30:00.045Z\"," \
    "\"type\":"

/* A call that is not answered yet. */
typedef struct CrowdCall {
    char id[64];
    char *arguments;
} CrowdCall;

typedef struct CrowdAddin {
    int fd;
    size_t number;
    uint64_t random;
    Bytes in;
    Bytes out;
    Arena arena;
    CrowdCall calls[MAX_WAITING];
    size_t n_calls;
} CrowdAddin;

/* In the child nothing can be asserted: it ends, and the test notices that nobody answers. */
static void need(bool is_so)
{
    if (!is_so) {
        _exit(1);
    }
}

static size_t addin_random(CrowdAddin *addin, size_t n)
{
    addin->random = addin->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(addin->random >> 33) % n;
}

/* Makes a frame of what was appended behind start. */
static size_t frame_begin(CrowdAddin *addin)
{
    size_t start = addin->out.n;

    need(bytes_append(&addin->out, "\0\0\0\0", HEADER_BYTES) == 0);
    return start;
}

static void frame_end(CrowdAddin *addin, size_t start)
{
    size_t n = addin->out.n - start - HEADER_BYTES;

    for (size_t i = 0; i < HEADER_BYTES; i++) {
        addin->out.data[start + i] = (char)(n >> (8 * i));
    }
}

static void answer_list(CrowdAddin *addin, const char *id)
{
    size_t start = frame_begin(addin);

    need(bytes_append_format(&addin->out,
                             HEAD "\"tool_result\",\"payload\":{\"call_id\":\"%s\",\"success\":true"
                                  ",\"data\":{\"name\":\"crowd-%zu\",\"tools\":[{\"name\":"
                                  "\"echo_%zu\",\"description\":\"\",\"input_schema\":{\"type\":"
                                  "\"object\"}}]},\"error\":null,\"duration_ms\":0}}",
                             id, addin->number, addin->number) == 0);
    frame_end(addin, start);
}

static void answer_ping(CrowdAddin *addin)
{
    size_t start = frame_begin(addin);

    need(bytes_append_span(&addin->out, SPAN(HEAD "\"pong\",\"payload\":{}}")) == 0);
    frame_end(addin, start);
}

static void answer_refusing(CrowdAddin *addin, const CrowdCall *call)
{
    size_t start = frame_begin(addin);

    need(bytes_append_format(&addin->out,
                             HEAD "\"error\",\"payload\":{\"code\":\"" CROWD_CODE
                                  "\",\"message\":\"not now\",\"call_id\":\"%s\"}}",
                             call->id) == 0);
    frame_end(addin, start);
}

static void answer_call(CrowdAddin *addin, const CrowdCall *call)
{
    size_t start = frame_begin(addin);

    need(bytes_append_format(
             &addin->out,
             HEAD "\"tool_result\",\"payload\":{\"call_id\":\"%s\",\"success\":true,\"data\":",
             call->id) == 0);
    need(bytes_append_span(&addin->out, span_from_str(call->arguments)) == 0);
    need(bytes_append_span(&addin->out, SPAN(",\"error\":null,\"duration_ms\":1}}")) == 0);
    frame_end(addin, start);
}

static void take_call(CrowdAddin *addin, JsonValue root, const char *id)
{
    CrowdCall *call = &addin->calls[addin->n_calls++];
    JsonValue name;
    JsonValue arguments;

    need(addin->n_calls < MAX_WAITING);
    need(json_pointer(root, SPAN("/payload/tool_name"), &name) == 0);
    if (json_string_equals(name, SPAN("toolwire.list_tools"))) {
        addin->n_calls--;
        answer_list(addin, id);
        return;
    }
    need(json_pointer(root, SPAN("/payload/args"), &arguments) == 0);
    (void)snprintf(call->id, sizeof(call->id), "%s", id);
    call->arguments = strndup(json_span(arguments).p, json_span(arguments).n);
    need(call->arguments != NULL);
}

static void take_message(CrowdAddin *addin, Span message)
{
    JsonDoc doc;
    JsonValue type;
    JsonValue value;
    Span id = SPAN_NULL;
    char text[64];

    arena_reset(&addin->arena, BUFFER_BYTES);
    need(json_parse(&doc, &addin->arena, message.p, message.n, NULL, NULL) == 0);
    need(json_get(json_root(&doc), SPAN("type"), &type));
    need(json_get(json_root(&doc), SPAN("id"), &value) && json_string_plain(value, &id));
    need(id.n < sizeof(text));
    (void)snprintf(text, sizeof(text), "%.*s", (int)id.n, id.p);
    if (json_string_equals(type, SPAN("tool_call"))) {
        take_call(addin, json_root(&doc), text);
    } else if (json_string_equals(type, SPAN("ping"))) {
        answer_ping(addin);
    }
}

static void take_input(CrowdAddin *addin)
{
    size_t at = 0;

    while (addin->in.n - at >= HEADER_BYTES) {
        const uint8_t *p = (const uint8_t *)addin->in.data + at;
        size_t n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;

        if (addin->in.n - at - HEADER_BYTES < n) {
            break;
        }
        take_message(addin, span_make(addin->in.data + at + HEADER_BYTES, n));
        at += HEADER_BYTES + n;
    }
    bytes_drop_front(&addin->in, at);
}

/* About half of what waits, in any order. */
static void answer_some(CrowdAddin *addin)
{
    for (size_t n = (addin->n_calls + 1) / 2; n > 0; n--) {
        size_t i = addin_random(addin, addin->n_calls);
        CrowdCall call = addin->calls[i];

        addin->calls[i] = addin->calls[--addin->n_calls];
        if (addin_random(addin, CROWD_REFUSED) == 0) {
            answer_refusing(addin, &call);
        } else {
            answer_call(addin, &call);
            if (addin_random(addin, CROWD_TWICE) == 0) {
                answer_call(addin, &call);
            }
        }
        free(call.arguments);
    }
}

/* Writes and reads without waiting for one of them alone: the hub does the same. */
static void exchange(CrowdAddin *addin)
{
    struct pollfd look = {.fd = addin->fd,
                          .events = (short)(POLLIN | (addin->out.n > 0 ? POLLOUT : 0))};
    ssize_t n;

    need(poll(&look, 1, addin->n_calls > 0 ? 1 : -1) >= 0);
    if ((look.revents & POLLOUT) != 0) {
        n = send(addin->fd, addin->out.data, addin->out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        need(n > 0);
        bytes_drop_front(&addin->out, (size_t)n);
    }
    if ((look.revents & (POLLIN | POLLHUP)) != 0) {
        need(bytes_reserve(&addin->in, 65536) == 0);
        n = recv(addin->fd, addin->in.data + addin->in.n, 65536, MSG_DONTWAIT);
        need(n > 0);
        addin->in.n += (size_t)n;
        take_input(addin);
    }
}

static _Noreturn void addin_run(CrowdAddin *addin)
{
    for (;;) {
        exchange(addin);
        answer_some(addin);
    }
}

pid_t crowd_start(const char *path, size_t number, uint64_t seed)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CrowdAddin *addin;
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid != 0) {
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    need(getppid() == parent);
    addin = calloc(1, sizeof(*addin));
    need(addin != NULL && strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    addin->number = number;
    addin->random = seed;
    bytes_init(&addin->in, BUFFER_BYTES);
    bytes_init(&addin->out, BUFFER_BYTES);
    arena_init(&addin->arena, BUFFER_BYTES);
    addin->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(connect(addin->fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    addin_run(addin);
}
