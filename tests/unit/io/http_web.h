/* An HTTP server and its clients in one loop, for tests. What is answered depends on the path:
 *
 *     /echo    the body            /later   nothing, until the test answers web->held
 *     /early   403, in `head`      /begin   a stream is begun, and left to the test
 *     /tiny    a body of 4 bytes   /bytes   web->n_bytes of a pattern
 *     /bad     fields that cannot be sent       /quit    frees the server
 *     /slow    "hello", after the loop has run for a while
 *     others   "hello"
 */
#pragma once

#include "io/http_server.h"

#include "support/cmocka.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/turns.h"
#include "unit/io/pump.h"

/* No test comes near this; one that does hangs. */
#define WEB_GUARD_MS 20000

#define WEB_HELD 2048

typedef struct Web Web;

typedef struct WebClient {
    Pump pump;
    Web *web;
    int fd;
} WebClient;

struct Web {
    IoLoop *loop;
    IoTimer *guard;
    IoTimer *wake;
    IoTask turn;
    IoBeforeWait *hook;
    int n_turns;
    int64_t until_ms;
    long n_live; /* blocks of memory before the test */
    IoHttpServer *server;
    IoHttpLimits limits;
    const LogSink *log;
    bool without_head;
    int open_result;
    int n_open;
    int n_close;
    int n_heads;
    int n_requests;
    int n_gone;
    int n_drained;
    int n_refused;
    int n_refused_new; /* of them, those that never got to the owner */
    unsigned refused_status;
    int n_stopped;
    int answer_result;  /* of the last answer */
    size_t n_bytes;     /* of /bytes */
    size_t n_last_body; /* of the last request */
    char last_body[64];
    char last_peer[64];
    bool is_local;
    bool is_leaving; /* the server is freed by the timer */
    IoHttpExchange *held[WEB_HELD];
    int n_held;
    IoHttpExchange *seen;    /* the last one, in its head */
    IoHttpExchange *gone;    /* the last one */
    IoHttpExchange *in_hook; /* to be answered from a hook that comes after the server's */
    /* What is waited for. */
    bool (*ready)(Web *web, const void *what, int n);
    const void *what;
    int n;
};

static const Http1Field web_plain[] = {{SPAN_INIT("Content-Type"), SPAN_INIT("text/plain")}};

/* ---- the owner ---- */

static int web_on_open(void *context, const IoHttpPeer *peer, void **ret_user)
{
    Web *web = context;

    if (web->open_result != 0) {
        return web->open_result;
    }
    web->n_open++;
    (void)snprintf(web->last_peer, sizeof(web->last_peer), "%s", peer->address);
    web->is_local = peer->is_loopback;
    *ret_user = &web->n_open;
    return 0;
}

static void web_on_close(void *context, void *user)
{
    Web *web = context;

    assert_ptr_equal(user, &web->n_open);
    web->n_close++;
}

static bool web_is(const IoHttpExchange *x, const char *path)
{
    return span_equals(io_http_head(x)->path, span_from_str(path));
}

static void web_on_head(void *context, IoHttpExchange *x)
{
    Web *web = context;

    web->n_heads++;
    web->seen = x;
    assert_ptr_equal(io_http_user(x), &web->n_open);
    if (web_is(x, "/early")) {
        web->answer_result = io_http_respond(x, 403, web_plain, 1, SPAN("no"));
    } else if (web_is(x, "/tiny")) {
        io_http_limit_body(x, 4);
    } else if (web_is(x, "/begin-early")) {
        web->answer_result = io_http_begin(x, 200, web_plain, 1);
        web->held[web->n_held++] = x;
    }
}

static void web_send_bytes(Web *web, IoHttpExchange *x)
{
    Bytes body;

    bytes_init(&body, SIZE_MAX);
    assert_int_equal(bytes_reserve(&body, web->n_bytes), 0);
    for (size_t i = 0; i < web->n_bytes; i++) {
        body.data[i] = (char)('a' + i % 23);
    }
    body.n = web->n_bytes;
    web->answer_result = io_http_respond_taken(x, 200, web_plain, 1, &body);
    bytes_deinit(&body);
}

static void web_on_request(void *context, IoHttpExchange *x, Span body)
{
    Web *web = context;

    web->n_requests++;
    web->n_last_body = body.n;
    (void)snprintf(web->last_body, sizeof(web->last_body), "%.*s",
                   (int)(body.n < sizeof(web->last_body) ? body.n : sizeof(web->last_body) - 1),
                   body.n == 0 ? "" : body.p);
    if (web_is(x, "/echo") || web_is(x, "/tiny")) {
        web->answer_result = io_http_respond(x, 200, web_plain, 1, body);
    } else if (web_is(x, "/later")) {
        web->held[web->n_held++] = x;
    } else if (web_is(x, "/begin")) {
        web->answer_result = io_http_begin(x, 200, web_plain, 1);
        web->held[web->n_held++] = x;
    } else if (web_is(x, "/bytes")) {
        web_send_bytes(web, x);
    } else if (web_is(x, "/bad")) {
        const Http1Field field = {SPAN("X"), SPAN("a\r\nSet-Cookie: b")};

        web->answer_result = io_http_respond(x, 200, &field, 1, SPAN("no"));
    } else if (web_is(x, "/quit")) {
        web->server = io_http_server_free(web->server);
        assert_int_equal(web->n_last_body, body.n);
        assert_true(body.n == 0 || body.p[body.n - 1] == 'Z');
    } else {
        if (web_is(x, "/slow")) {
            turns_burn();
        }
        web->is_leaving = web_is(x, "/leave");
        web->answer_result = io_http_respond(x, 200, web_plain, 1, SPAN("hello"));
        if (web->is_leaving) {
            io_timer_start_at(web->wake, io_loop_now_ms(web->loop));
        }
    }
}

static void web_on_gone(void *context, IoHttpExchange *x)
{
    Web *web = context;

    web->n_gone++;
    web->gone = x;
    for (int i = 0; i < web->n_held; i++) {
        if (web->held[i] == x) {
            web->held[i] = web->held[--web->n_held];
        }
    }
}

static void web_on_drained(void *context, IoHttpExchange *x)
{
    Web *web = context;

    (void)x;
    web->n_drained++;
}

static void web_on_refused(void *context, void *user, unsigned status, size_t n_bytes, bool is_new)
{
    Web *web = context;

    assert_ptr_equal(user, &web->n_open);
    assert_true(n_bytes > 0);
    web->n_refused++;
    web->n_refused_new += is_new;
    web->refused_status = status;
}

TW_UNUSED static void web_on_stopped(void *context)
{
    Web *web = context;

    web->n_stopped++;
}

static const IoHttpOps web_ops = {
    .open = web_on_open,
    .close = web_on_close,
    .head = web_on_head,
    .request = web_on_request,
    .gone = web_on_gone,
    .drained = web_on_drained,
    .refused = web_on_refused,
};

static const IoHttpOps web_bare_ops = {.request = web_on_request, .gone = web_on_gone};

/* ---- life ---- */

TW_UNUSED static void web_on_guard(void *context)
{
    (void)context;
    fail_msg("nothing happens any more");
}

TW_UNUSED static void web_on_turn(IoTask *task)
{
    Web *web = (Web *)((char *)task - offsetof(Web, turn));

    if (--web->n_turns == 0) {
        io_loop_stop(web->loop);
        return;
    }
    io_loop_post(web->loop, task);
}

TW_UNUSED static void web_on_time(void *context)
{
    Web *web = context; /* the hook sees to what is waited for */

    if (web->is_leaving) {
        web->server = io_http_server_free(web->server);
    }
}

TW_UNUSED static void web_on_hook(void *context)
{
    Web *web = context;

    if (web->in_hook != NULL) {
        assert_int_equal(io_http_respond(web->in_hook, 200, NULL, 0, SPAN("from a hook")), 0);
        web->in_hook = NULL;
    }
    if (web->ready != NULL && web->ready(web, web->what, web->n)) {
        io_loop_stop(web->loop);
    }
}

TW_UNUSED static int web_setup(void **state)
{
    Web *web = calloc(1, sizeof(*web));

    assert_non_null(web);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    web->n_live = alloc_testing()->n_live;
    assert_int_equal(io_loop_new(&web->loop), 0);
    assert_int_equal(io_timer_new(&web->guard, web->loop, true, web_on_guard, NULL), 0);
    assert_int_equal(io_timer_new(&web->wake, web->loop, true, web_on_time, web), 0);
    io_timer_start_at(web->guard, io_loop_now_ms(web->loop) + WEB_GUARD_MS);
    assert_int_equal(io_before_wait_new(&web->hook, web->loop, web_on_hook, web), 0);
    *state = web;
    return 0;
}

TW_UNUSED static int web_teardown(void **state)
{
    Web *web = *state;

    web->server = io_http_server_free(web->server);
    (void)io_timer_free(web->guard);
    (void)io_timer_free(web->wake);
    (void)io_before_wait_free(web->hook);
    (void)io_loop_free(web->loop);
    assert_int_equal(web->n_open, web->n_close);
    assert_int_equal(alloc_testing()->n_live, web->n_live);
    free(web);
    return 0;
}

TW_UNUSED static void web_listen(Web *web, const char *address)
{
    const IoHttpConfig config = {.loop = web->loop,
                                 .address = address,
                                 .ops = web->without_head ? &web_bare_ops : &web_ops,
                                 .context = web,
                                 .limits = web->limits,
                                 .log = web->log};
    Diag diag = DIAG_NULL;
    int r = io_http_server_new(&web->server, &config, &diag);

    if (r != 0) {
        fail_msg("%s: %d %s", address, r, diag.message);
    }
}

TW_UNUSED static int web_dial(const Web *web)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)io_http_server_port(web->server)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

TW_UNUSED static void web_attach(Web *web, WebClient *client, int fd)
{
    pump_init(&client->pump, web->loop);
    client->web = web;
    client->fd = fd;
    pump_open(&client->pump, fd, fd);
}

TW_UNUSED static void web_connect(Web *web, WebClient *client)
{
    web_attach(web, client, web_dial(web));
}

TW_UNUSED static void web_hang_up(WebClient *client)
{
    pump_deinit(&client->pump);
}

TW_UNUSED static void web_say_span(WebClient *client, Span text)
{
    pump_put(&client->pump, text.p, text.n);
}

TW_UNUSED static void web_say(WebClient *client, const char *text)
{
    web_say_span(client, span_from_str(text));
}

/* ---- waiting ---- */

TW_UNUSED static void web_wait(Web *web, bool (*ready)(Web *web, const void *what, int n),
                               const void *what, int n)
{
    web->ready = ready;
    web->what = what;
    web->n = n;
    assert_int_equal(io_loop_run(web->loop), 0);
    web->ready = NULL;
    assert_true(ready(web, what, n));
}

TW_UNUSED static bool web_has_count(Web *web, const void *what, int n)
{
    (void)web;
    return *(const int *)what >= n;
}

TW_UNUSED static bool web_has_ended(Web *web, const void *what, int n)
{
    const WebClient *client = what;

    (void)web;
    (void)n;
    return client->pump.n_ends + client->pump.n_failures > 0;
}

TW_UNUSED static bool web_has_bytes(Web *web, const void *what, int n)
{
    const WebClient *client = what;

    (void)web;
    return client->pump.in.n >= (size_t)n;
}

TW_UNUSED static bool web_has_connections(Web *web, const void *what, int n)
{
    (void)what;
    return io_http_server_n_connections(web->server) == (size_t)n;
}

/* Some turns of the loop, in which whatever has been sent arrives. */
TW_UNUSED static void web_turn(Web *web)
{
    web->n_turns = 5;
    web->turn.fn = web_on_turn;
    io_loop_post(web->loop, &web->turn);
    assert_int_equal(io_loop_run(web->loop), 0);
}

TW_UNUSED static bool web_has_time(Web *web, const void *what, int n)
{
    (void)what;
    (void)n;
    return io_loop_now_ms(web->loop) >= web->until_ms;
}

/* For what must not happen meanwhile: what is limited to much less. */
TW_UNUSED static void web_wait_ms(Web *web, int64_t ms)
{
    web->until_ms = io_loop_now_ms(web->loop) + ms;
    io_timer_start_at(web->wake, web->until_ms);
    web_wait(web, web_has_time, NULL, 0);
}

TW_UNUSED static void web_wait_count(Web *web, const int *count, int n)
{
    web_wait(web, web_has_count, count, n);
}

TW_UNUSED static void web_wait_end(WebClient *client)
{
    web_wait(client->web, web_has_ended, client, 0);
}

TW_UNUSED static void web_wait_connections(Web *web, int n)
{
    web_wait(web, web_has_connections, NULL, n);
}

/* How often the text is in what has come. */
TW_UNUSED static int web_times(const WebClient *client, const char *text)
{
    const char *p = client->pump.in.data;
    const char *end = p + client->pump.in.n;
    size_t n = strlen(text);
    int times = 0;

    while (p != NULL && (size_t)(end - p) >= n) {
        times += memcmp(p, text, n) == 0;
        p = memchr(p + 1, text[0], (size_t)(end - p) - 1);
    }
    return times;
}

typedef struct WebText {
    const WebClient *client;
    const char *text;
} WebText;

TW_UNUSED static bool web_has_texts(Web *web, const void *what, int n)
{
    const WebText *text = what;

    (void)web;
    return web_times(text->client, text->text) >= n;
}

/* Until it has come n times. */
TW_UNUSED static void web_wait_texts(WebClient *client, const char *text, int n)
{
    const WebText what = {client, text};

    web_wait(client->web, web_has_texts, &what, n);
}

TW_UNUSED static void web_wait_text(WebClient *client, const char *text)
{
    web_wait_texts(client, text, 1);
}

/* The status of the first answer that has come; 0 if none has. */
TW_UNUSED static int web_status(const WebClient *client)
{
    int status = 0;

    if (client->pump.in.n < 12 || memcmp(client->pump.in.data, "HTTP/1.1 ", 9) != 0) {
        return 0;
    }
    for (size_t i = 9; i < 12; i++) {
        status = status * 10 + (client->pump.in.data[i] - '0');
    }
    return status;
}

/* Forgets what has come. */
TW_UNUSED static void web_clear(WebClient *client)
{
    bytes_clear(&client->pump.in);
}

/* Is the server in order? One more client, one request. */
TW_UNUSED static void web_assert_serves(Web *web)
{
    WebClient client;

    web_connect(web, &client);
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\ninnocent");
    web_wait_text(&client, "\r\n\r\ninnocent");
    assert_int_equal(web_status(&client), 200);
    web_hang_up(&client);
}

/* One piece of a stream. */
TW_UNUSED static void web_put_piece(IoHttpExchange *x, const char *text)
{
    Bytes *piece = NULL;

    assert_int_equal(io_http_piece_begin(x, &piece), 0);
    assert_int_equal(bytes_append_span(piece, span_from_str(text)), 0);
    assert_int_equal(io_http_piece_commit(x), 0);
}
