/* The hub over HTTP with clients that misbehave, and one that does not: that one is answered
 * before, while and after, whatever the others do, and when they are gone the hub has the
 * descriptors that it had before, and the memory.
 *
 *   test_http_bad TOOLWIRE [LIVE_BYTES]
 *
 * LIVE_BYTES is the library of support/live_bytes.c. Slow clients are waited for: all of them at
 * the same time, with the limits that the hub has by default.
 */
#include "support/cmocka.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "e2e/http_process.h"
#include "e2e/process_state.h"

/* What may be left: buffers that are kept for the next message. */
#define LIVE_SLACK_BYTES ((long)512 * 1024)
/* And what the allocator does not give back at once. */
#define RESIDENT_SLACK_KIB ((size_t)2 * 1024)

#define TICK_MS     50 /* a slow client's pace; nothing depends on it */
#define N_SLOW      20
#define N_STALLED   4
#define N_DROPPED   10000
#define CALL_EVERY  100 /* of those that are dropped */
#define LARGE_BYTES ((size_t)900 * 1000)
#define N_URIS      900

static const char *program;
static const char *live_bytes; /* NULL: not counted */

typedef struct State {
    HttpProcess hub;
    int innocent; /* its connection, which it keeps */
    unsigned n_calls;
    size_t n_descriptors;
    size_t resident_kib;
    long live;
} State;

/* ---- the innocent ---- */

/* What it asks for is new each time, and so is what it gets. */
static void call_on(State *s, int fd)
{
    char params[96];
    char wanted[64];
    char *request;
    char *answer;

    s->n_calls++;
    (void)snprintf(params, sizeof(params),
                   "\"name\":\"echo\",\"arguments\":{\"message\":\"call %u\"},", s->n_calls);
    (void)snprintf(wanted, sizeof(wanted), "\"text\":\"call %u\"", s->n_calls);
    request = http_modern(&s->hub, "tools/call", "echo", params);
    assert_true(http_send_text(fd, request));
    answer = http_read_answer(fd);
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    assert_non_null(strstr(answer, wanted));
    free(answer);
    free(request);
}

/* On the connection that it has, and on a new one. */
static void innocent_calls(State *s)
{
    int fd = http_connect(&s->hub, false);

    call_on(s, s->innocent);
    call_on(s, fd);
    (void)close(fd);
}

/* The innocent calls, and a moment passes; *left_ms only ends a test that would hang. */
static void tick(State *s, int *left_ms)
{
    call_on(s, s->innocent);
    (void)poll(NULL, 0, TICK_MS);
    *left_ms -= TICK_MS;
    assert_true(*left_ms > 0);
}

static bool memory_is_back(const State *s)
{
    return s->hub.live_bytes == NULL ||
           (atomic_load(s->hub.live_bytes) <= s->live + LIVE_SLACK_BYTES &&
            process_resident_kib(s->hub.pid) <= s->resident_kib + RESIDENT_SLACK_KIB);
}

/* Descriptors exactly, memory within the slack: the hub has what time it needs for either. */
static void wait_for_peace(State *s)
{
    int left_ms = HTTP_HANG_MS;

    while (left_ms > TICK_MS &&
           (process_descriptors(s->hub.pid) != s->n_descriptors || !memory_is_back(s))) {
        tick(s, &left_ms);
    }
    if (s->hub.live_bytes != NULL) {
        printf("live bytes %ld, before %ld; resident %zu KiB, before %zu\n",
               atomic_load(s->hub.live_bytes), s->live, process_resident_kib(s->hub.pid),
               s->resident_kib);
    }
    assert_int_equal(process_descriptors(s->hub.pid), s->n_descriptors);
    assert_true(memory_is_back(s));
    innocent_calls(s);
}

static int start(void **state)
{
    static State s;

    http_process_start(&s.hub, program, live_bytes);
    s.innocent = http_connect(&s.hub, false);
    call_on(&s, s.innocent);
    /* Before its second connection: that one's end may not have been seen yet. */
    s.n_descriptors = process_descriptors(s.hub.pid);
    innocent_calls(&s);
    if (s.hub.live_bytes != NULL) {
        s.live = atomic_load(s.hub.live_bytes);
        s.resident_kib = process_resident_kib(s.hub.pid);
    }
    *state = &s;
    return 0;
}

static int end(void **state)
{
    State *s = *state;

    (void)close(s->innocent);
    http_process_clean(&s->hub);
    return 0;
}

/* ---- those that are told at once ---- */

typedef struct Bad {
    const char *what;
    const char *head; /* behind the request line and Host, if it begins with a field */
    const char *body;
    const char *outcome; /* how the answer begins; "": no answer */
    bool ends;           /* the connection, with it */
} Bad;

#define JSON "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define POST "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"

static void send_bad(State *s, const Bad *bad)
{
    int fd = http_connect(&s->hub, false);
    char *answer;

    (void)http_send_text(fd, bad->head);
    (void)http_send_text(fd, bad->body);
    innocent_calls(s);
    answer = bad->ends ? http_read_end(fd) : http_read_answer(fd);
    if (strncmp(answer, bad->outcome, strlen(bad->outcome)) != 0) {
        fail_msg("%s: %.300s", bad->what, answer);
    }
    /* One that was refused without an end of the connection is served like others. */
    if (!bad->ends) {
        call_on(s, fd);
    }
    free(answer);
    (void)close(fd);
}

static void wrong_content_types_are_refused(void **state)
{
    static const Bad bads[] = {
        {"a form",
         POST "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\n", "a=b",
         "HTTP/1.1 415 ", false},
        {"text", POST "Content-Type: text/plain\r\nContent-Length: 40\r\n\r\n", PING,
         "HTTP/1.1 415 ", false},
        {"none", POST "Content-Length: 40\r\n\r\n", PING, "HTTP/1.1 415 ", false},
        {"an answer that cannot be given",
         POST "Content-Type: application/json\r\nAccept: image/png\r\nContent-Length: 40\r\n\r\n",
         PING, "HTTP/1.1 406 ", false},
        {"no JSON", POST JSON "Content-Length: 4\r\n\r\n", "{{{{", "HTTP/1.1 400 ", false},
    };

    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
        send_bad(*state, &bads[i]);
    }
    wait_for_peace(*state);
}

static void chunked_nonsense_is_refused_and_ends_the_connection(void **state)
{
#define CHUNKED POST JSON "Transfer-Encoding: chunked\r\n\r\n"
    static const Bad bads[] = {
        {"no number", CHUNKED, "zz\r\n" PING "\r\n0\r\n\r\n", "HTTP/1.1 400 ", true},
        {"a negative number", CHUNKED, "-1\r\n" PING "\r\n0\r\n\r\n", "HTTP/1.1 400 ", true},
        {"a number of 80 bits", CHUNKED, "fffffffffffffffffff0\r\n", "HTTP/1.1 400 ", true},
        {"more than a chunk says", CHUNKED, "2\r\n" PING "\r\n0\r\n\r\n", "HTTP/1.1 400 ", true},
        {"a chunk beyond the limit", CHUNKED, "7fffffff\r\n", "HTTP/1.1 413 ", true},
        {"another coding", POST JSON "Transfer-Encoding: gzip, chunked\r\n\r\n", "0\r\n\r\n",
         "HTTP/1.1 501 ", true},
        {"chunks and a length",
         POST JSON "Transfer-Encoding: chunked\r\nContent-Length: 40\r\n\r\n", PING,
         "HTTP/1.1 400 ", true},
    };

    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
        send_bad(*state, &bads[i]);
    }
    wait_for_peace(*state);
}

static void upgrades_do_not_happen(void **state)
{
#define UPGRADE(to) "Connection: Upgrade\r\nUpgrade: " to "\r\n"
    static const Bad bads[] = {
        {"a web socket",
         "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" UPGRADE(
             "websocket") "Sec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
         "", "HTTP/1.1 4", false},
        {"HTTP/2 in clear",
         POST JSON UPGRADE("h2c") "HTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: 2\r\n\r\n",
         "{}", "HTTP/1.1 4", false},
        {"HTTP/2 at once", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", "HTTP/1.1 ", true},
        {"a tunnel", "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n", "", "HTTP/1.1 ",
         true},
        {"TLS", "\x16\x03\x01\x02", "\x01\x01\x01\x01\r\n\r\n", "HTTP/1.1 400 ", true},
    };

    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
        send_bad(*state, &bads[i]);
    }
    wait_for_peace(*state);
}

/* ---- header bombs ---- */

/* Fields, each of so many bytes, until the hub has enough; then what it says. */
static void send_bomb(State *s, size_t n_fields, size_t n_bytes)
{
    char *value = malloc(n_bytes + 1);
    char *field = NULL;
    char *answer;
    int fd = http_connect(&s->hub, false);
    bool is_wanted = http_send_text(fd, POST);

    assert_non_null(value);
    memset(value, 'v', n_bytes);
    value[n_bytes] = '\0';
    assert_true(asprintf(&field, "X-Field: %s\r\n", value) > 0);
    for (size_t i = 0; is_wanted && i < n_fields; i++) {
        is_wanted = http_send_text(fd, field);
    }
    innocent_calls(s);
    answer = http_read_end(fd);
    /* It may be lost to the reset, if we were still sending. */
    assert_true(answer[0] == '\0' || strncmp(answer, "HTTP/1.1 431 ", 13) == 0);
    assert_true(answer[0] != '\0' || n_fields * n_bytes > 1000000);
    free(answer);
    free(value);
    free(field);
    (void)close(fd);
}

static void header_bombs_are_refused(void **state)
{
    send_bomb(*state, 1000, 1);
    send_bomb(*state, 1, 100000);
    send_bomb(*state, 100, 1000);
    send_bomb(*state, 100000, 100);
    wait_for_peace(*state);
}

/* ---- half-closed sockets ---- */

/* Whoever ends its half inside a request is not answered. */
static void send_half(State *s, const char *text)
{
    int fd = http_connect(&s->hub, false);
    char *answer;

    assert_true(http_send_text(fd, text));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    innocent_calls(s);
    answer = http_read_end(fd);
    assert_null(strstr(answer, "HTTP/1.1 200"));
    free(answer);
    (void)close(fd);
}

static char *await_half(State *s, const char *text)
{
    int fd = http_connect(&s->hub, false);
    char *answer;

    assert_true(http_send_text(fd, text));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    innocent_calls(s);
    answer = http_read_end(fd);
    (void)close(fd);
    return answer;
}

static void leave_half(State *s, const char *text)
{
    int fd = http_connect(&s->hub, false);

    assert_true(http_send_text(fd, text));
    innocent_calls(s);
    (void)close(fd);
}

static void half_closed_sockets_are_answered_or_closed(void **state)
{
    State *s = *state;
    char *sleep = http_modern(&s->hub, "tools/call", "sleep",
                              "\"name\":\"sleep\",\"arguments\":{\"ms\":25000},");
    int fd = http_connect(&s->hub, false);
    char *nap = http_modern(&s->hub, "tools/call", "sleep",
                            "\"name\":\"sleep\",\"arguments\":{\"ms\":50},");
    char *answer;

    send_half(s, "");
    send_half(s, "POST /mcp HTT");
    send_half(s, POST JSON "Content-Length: 40\r\n\r\n{\"json");
    send_half(s, POST JSON "Transfer-Encoding: chunked\r\n\r\n5\r\n{");
    /* Behind one it waits for the answer, unless it closes: that takes back what it has asked. */
    answer = await_half(s, nap);
    assert_non_null(strstr(answer, "HTTP/1.1 200"));
    free(answer);
    leave_half(s, sleep);
    /* After the answer it is the end of the connection. */
    call_on(s, fd);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    answer = http_read_end(fd);
    assert_string_equal(answer, "");
    free(answer);
    free(sleep);
    free(nap);
    (void)close(fd);
    wait_for_peace(s);
}

/* ---- many ---- */

static void ten_thousand_connections_come_and_go(void **state)
{
    static const char *const pieces[] = {"", "P", POST, POST JSON "Content-Length: 40\r\n\r\n{"};
    State *s = *state;

    for (unsigned i = 0; i < N_DROPPED; i++) {
        int fd = http_connect(&s->hub, false);

        (void)http_send_text(fd, pieces[i % 4]);
        if (i % 8 < 4) {
            http_reset(fd);
        } else {
            (void)close(fd);
        }
        if (i % CALL_EVERY == 0) {
            innocent_calls(s);
        }
    }
    wait_for_peace(s);
}

/* ---- slow ones ---- */

typedef struct Slow {
    int heads[N_SLOW];       /* a byte of the head now and then */
    bool have_ended[N_SLOW]; /* the hub did not want more of it */
    int bodies[N_SLOW];      /* nothing more of the body */
    int streams[N_STALLED];  /* a stream that is not read */
    int answers[N_STALLED];  /* an answer that is not read */
} Slow;

/* What acknowledges it names the addresses again: more than the system buffers. */
static void open_stream(const State *s, int fd)
{
    char *params = malloc(LARGE_BYTES + 1000);
    char *request;
    size_t n;

    assert_non_null(params);
    n = (size_t)snprintf(params, 100, "\"notifications\":{\"resourceSubscriptions\":[");
    for (size_t i = 0; i < N_URIS; i++) {
        n += (size_t)snprintf(params + n, 1000, "%s\"file:///%0900zu\"", i == 0 ? "" : ",", i);
    }
    (void)snprintf(params + n, 10, "]},");
    request = http_modern(&s->hub, "subscriptions/listen", NULL, params);
    assert_true(http_send_text(fd, request));
    free(request);
    free(params);
}

static void open_answer(const State *s, int fd)
{
    char *params = malloc(LARGE_BYTES + 1000);
    char *request;
    size_t n;

    assert_non_null(params);
    n = (size_t)snprintf(params, 100, "\"name\":\"echo\",\"arguments\":{\"message\":\"");
    memset(params + n, 'x', LARGE_BYTES);
    (void)snprintf(params + n + LARGE_BYTES, 10, "\"},");
    request = http_modern(&s->hub, "tools/call", "echo", params);
    assert_true(http_send_text(fd, request));
    free(request);
    free(params);
}

static void open_slow(State *s, Slow *slow)
{
    for (size_t i = 0; i < N_SLOW; i++) {
        slow->have_ended[i] = false;
        slow->heads[i] = http_connect(&s->hub, false);
        slow->bodies[i] = http_connect(&s->hub, false);
        assert_true(http_send_text(slow->heads[i], POST "X-Slow: "));
        assert_true(
            http_send_text(slow->bodies[i], POST JSON "Content-Length: 40\r\n\r\n{\"jsonrpc\""));
    }
    for (size_t i = 0; i < N_STALLED; i++) {
        slow->streams[i] = http_connect(&s->hub, true);
        slow->answers[i] = http_connect(&s->hub, true);
        open_stream(s, slow->streams[i]);
        open_answer(s, slow->answers[i]);
    }
}

/* A byte to each that is still there; returns how many are. */
static size_t drip(Slow *slow)
{
    size_t n = 0;

    for (size_t i = 0; i < N_SLOW; i++) {
        struct pollfd ready = {.fd = slow->heads[i], .events = POLLIN};

        slow->have_ended[i] =
            slow->have_ended[i] || poll(&ready, 1, 0) != 0 || !http_send_text(slow->heads[i], "x");
        n += !slow->have_ended[i];
    }
    return n;
}

static void expect_late(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *answer = http_read_end(fds[i]);

        assert_memory_equal(answer, "HTTP/1.1 408 ", 13);
        free(answer);
        (void)close(fds[i]);
    }
}

static void slow_clients_are_let_go_while_others_are_served(void **state)
{
    State *s = *state;
    int left_ms = HTTP_HANG_MS;
    Slow slow;

    open_slow(s, &slow);
    assert_true(process_descriptors(s->hub.pid) > s->n_descriptors);
    while (drip(&slow) > 0) {
        tick(s, &left_ms);
    }
    expect_late(slow.heads, N_SLOW);
    for (size_t i = 0; i < N_SLOW; i++) {
        struct pollfd ready = {.fd = slow.bodies[i], .events = POLLIN};

        while (poll(&ready, 1, 0) == 0) {
            tick(s, &left_ms);
        }
    }
    expect_late(slow.bodies, N_SLOW);
    innocent_calls(s);
    /* Those that do not read are still here; the hub has none of them any more. */
    wait_for_peace(s);
    for (size_t i = 0; i < N_STALLED; i++) {
        (void)close(slow.streams[i]);
        (void)close(slow.answers[i]);
    }
}

/* ---- the end ---- */

static void sigterm_ends_it_as_if_nothing_had_been(void **state)
{
    State *s = *state;

    innocent_calls(s);
    assert_int_equal(http_process_terminate(&s->hub), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_content_types_are_refused),
        cmocka_unit_test(chunked_nonsense_is_refused_and_ends_the_connection),
        cmocka_unit_test(upgrades_do_not_happen),
        cmocka_unit_test(header_bombs_are_refused),
        cmocka_unit_test(half_closed_sockets_are_answered_or_closed),
        cmocka_unit_test(ten_thousand_connections_come_and_go),
        cmocka_unit_test(slow_clients_are_let_go_while_others_are_served),
        cmocka_unit_test(sigterm_ends_it_as_if_nothing_had_been),
    };

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: test_http_bad TOOLWIRE [LIVE_BYTES]\n");
        return 2;
    }
    program = argv[1];
    live_bytes = argv[2];
    return cmocka_run_group_tests(tests, start, end);
}
