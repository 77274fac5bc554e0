#include "io/fetch.h"

#include "http_web.h"
#include "support/oom_sweep.h"

#include <poll.h>
#include <pthread.h>

typedef struct Getter Getter;
struct Getter {
    Web *web;
    IoFetcher *fetcher;
    IoFetch *fetch;
    Bytes body;
    unsigned head_status;
    int n_heads;
    int n_data;
    int n_done;
    IoFetchOutcome outcome;
    unsigned status;
    char message[300];
    char field[100]; /* Content-Type */
    void (*on_head)(Getter *getter);
    void (*on_data)(Getter *getter);
    void (*on_done)(Getter *getter);
    Getter *other;
};

static void getter_on_head(void *context, IoFetch *fetch, unsigned status)
{
    Getter *getter = context;
    Span value;

    assert_ptr_equal(fetch, getter->fetch);
    getter->n_heads++;
    getter->head_status = status;
    if (io_fetch_field(fetch, SPAN("content-TYPE"), &value)) {
        (void)snprintf(getter->field, sizeof(getter->field), "%.*s", (int)value.n, value.p);
    }
    if (getter->on_head != NULL) {
        getter->on_head(getter);
    }
}

static void getter_on_data(void *context, IoFetch *fetch, Span bytes)
{
    Getter *getter = context;

    assert_ptr_equal(fetch, getter->fetch);
    assert_int_equal(getter->n_heads, 1);
    assert_true(bytes.n > 0);
    getter->n_data++;
    assert_int_equal(bytes_append_span(&getter->body, bytes), 0);
    if (getter->on_data != NULL) {
        getter->on_data(getter);
    }
}

static void getter_on_done(void *context, IoFetch *fetch, const IoFetchEnd *end)
{
    Getter *getter = context;

    assert_ptr_equal(fetch, getter->fetch);
    getter->n_done++;
    getter->outcome = end->outcome;
    getter->status = end->status;
    (void)snprintf(getter->message, sizeof(getter->message), "%s", end->message);
    getter->fetch = NULL;
    if (getter->on_done != NULL) {
        getter->on_done(getter);
    }
}

static const IoFetchOps getter_ops = {getter_on_head, getter_on_data, getter_on_done};

static void getter_init(Getter *getter, Web *web, IoFetcher *fetcher)
{
    *getter = (Getter){.web = web, .fetcher = fetcher};
    bytes_init(&getter->body, SIZE_MAX);
}

static void getter_deinit(Getter *getter)
{
    getter->fetch = io_fetch_free(getter->fetch);
    bytes_deinit(&getter->body);
}

static void getter_url(const Getter *getter, const char *path, char url[200])
{
    (void)snprintf(url, 200, "http://127.0.0.1:%u%s", io_http_server_port(getter->web->server),
                   path);
}

static void getter_start(Getter *getter, IoFetchRequest request, const char *path)
{
    Diag diag = DIAG_NULL;
    char url[200];
    int r;

    getter_url(getter, path, url);
    request.method = request.method != NULL ? request.method : "GET";
    request.url = url;
    request.ops = &getter_ops;
    request.context = getter;
    r = io_fetch_start(&getter->fetch, getter->fetcher, &request, &diag);
    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
}

static IoFetcher *fetcher_open(Web *web)
{
    IoFetcher *fetcher = NULL;
    Diag diag = DIAG_NULL;

    if (io_fetcher_new(&fetcher, web->loop, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
    return fetcher;
}

#define GET ((IoFetchRequest){.method = "GET"})

static void expect_body(const Getter *getter, const char *text)
{
    assert_int_equal(getter->outcome, IO_FETCH_DONE);
    assert_int_equal(getter->body.n, strlen(text));
    assert_memory_equal(getter->body.data, text, getter->body.n);
}

static void an_answer_is_told_once(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getter;

    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    getter_start(&getter, GET, "/");
    assert_int_equal(getter.n_heads + getter.n_data + getter.n_done, 0);
    web_wait_count(web, &getter.n_done, 1);
    expect_body(&getter, "hello");
    assert_int_equal(getter.status, 200);
    assert_int_equal(getter.head_status, 200);
    assert_string_equal(getter.field, "text/plain");
    assert_string_equal(getter.message, "");
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

static void a_body_is_sent_and_any_status_is_an_answer(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    IoFetchField fields[] = {{SPAN("Content-Type"), SPAN("application/json")},
                             {SPAN("X-Empty"), SPAN("")},
                             {SPAN("Authorization"), SPAN("Bearer abc")}};
    IoFetchRequest request = {.method = "POST", .fields = fields, .n_fields = 3};
    size_t n = (size_t)1024 * 1024;
    char *body = malloc(n);
    Getter getter;

    assert_non_null(body);
    memset(body, 'x', n);
    web->limits.max_body_bytes = n;
    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    request.body = span_make(body, n);
    getter_start(&getter, request, "/echo");
    web_wait_count(web, &getter.n_done, 1);
    assert_int_equal(getter.outcome, IO_FETCH_DONE);
    assert_int_equal(getter.body.n, n);
    getter_deinit(&getter);

    getter_init(&getter, web, fetcher);
    request.body = SPAN("small");
    getter_start(&getter, request, "/early");
    web_wait_count(web, &getter.n_done, 1);
    expect_body(&getter, "no");
    assert_int_equal(getter.status, 403);
    getter_deinit(&getter);
    free(body);
    assert_null(io_fetcher_free(fetcher));
}

static void connections_are_used_again(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);

    web_listen(web, "127.0.0.1:0");
    for (int i = 0; i < 10; i++) {
        Getter getter;

        getter_init(&getter, web, fetcher);
        getter_start(&getter, GET, "/");
        web_wait_count(web, &getter.n_done, 1);
        expect_body(&getter, "hello");
        getter_deinit(&getter);
    }
    assert_int_equal(web->n_open, 1);
    assert_int_equal(web->n_requests, 10);
    assert_null(io_fetcher_free(fetcher));
}

/* Nothing is under way: the loop has nothing to run for, though a connection is kept. */
static void idle_connections_do_not_keep_the_loop_running(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getter;

    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    getter_start(&getter, GET, "/");
    web_wait_count(web, &getter.n_done, 1);
    web->server = io_http_server_free(web->server);
    assert_int_equal(io_loop_run(web->loop), 0);
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

static bool has_bytes(Web *web, const void *what, int n)
{
    (void)web;
    return ((const Getter *)what)->body.n >= (size_t)n;
}

static void push(IoHttpExchange *x, const char *text)
{
    Bytes *piece;

    assert_int_equal(io_http_piece_begin(x, &piece), 0);
    assert_int_equal(bytes_append(piece, text, strlen(text)), 0);
    assert_int_equal(io_http_piece_commit(x), 0);
}

static void a_stream_is_told_piece_by_piece(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getter;

    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    getter_start(&getter, GET, "/begin");
    web_wait_count(web, &getter.n_heads, 1);
    for (int i = 0; i < 5; i++) {
        push(web->held[0], "abc");
        web_wait(web, has_bytes, &getter, 3 * (i + 1));
        assert_int_equal(getter.n_data, i + 1);
    }
    assert_int_equal(io_http_end(web->held[0]), 0);
    web_wait_count(web, &getter.n_done, 1);
    expect_body(&getter, "abcabcabcabcabc");
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

static void a_stream_that_breaks_is_cut(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getter;

    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    getter_start(&getter, GET, "/begin");
    web_wait_count(web, &getter.n_heads, 1);
    push(web->held[0], "abc");
    web_wait(web, has_bytes, &getter, 3);
    io_http_abort(web->held[0]);
    web_wait_count(web, &getter.n_done, 1);
    assert_int_equal(getter.outcome, IO_FETCH_CUT);
    assert_int_equal(getter.status, 200);
    assert_true(getter.message[0] != '\0');
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

static void many_run_at_once_and_stay_apart(void **state)
{
    enum {
        N = 40
    };
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getters[N];
    char bodies[N][20];

    web_listen(web, "127.0.0.1:0");
    for (int i = 0; i < N; i++) {
        IoFetchRequest request = {.method = "POST"};

        (void)snprintf(bodies[i], sizeof(bodies[i]), "number %d", i);
        request.body = span_from_str(bodies[i]);
        getter_init(&getters[i], web, fetcher);
        getter_start(&getters[i], request, "/echo");
    }
    for (int i = 0; i < N; i++) {
        web_wait_count(web, &getters[i].n_done, 1);
        expect_body(&getters[i], bodies[i]);
        getter_deinit(&getters[i]);
    }
    assert_null(io_fetcher_free(fetcher));
}

static void free_itself(Getter *getter)
{
    getter->fetch = io_fetch_free(getter->fetch);
}

static void cancelled_anywhere_nothing_follows(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter at_once;
    Getter in_head;
    Getter in_data;
    Getter later;

    web->n_bytes = 100000;
    web_listen(web, "127.0.0.1:0");
    getter_init(&at_once, web, fetcher);
    getter_init(&in_head, web, fetcher);
    getter_init(&in_data, web, fetcher);
    getter_init(&later, web, fetcher);
    in_head.on_head = free_itself;
    in_data.on_data = free_itself;
    getter_start(&at_once, GET, "/bytes");
    free_itself(&at_once);
    getter_start(&in_head, GET, "/bytes");
    getter_start(&in_data, GET, "/bytes");
    getter_start(&later, GET, "/later");
    web_wait_count(web, &in_data.n_data, 1);
    web_wait_count(web, &web->n_held, 1);
    free_itself(&later);
    web_wait_count(web, &web->n_gone, 1); /* the server sees it */
    web_wait_count(web, &in_head.n_heads, 1);
    assert_int_equal(at_once.n_heads, 0);
    assert_int_equal(in_head.n_data, 0);
    assert_int_equal(in_data.n_data, 1);
    assert_int_equal(at_once.n_done + in_head.n_done + in_data.n_done + later.n_done, 0);
    assert_null(io_fetch_free(NULL));
    getter_deinit(&at_once);
    getter_deinit(&in_head);
    getter_deinit(&in_data);
    getter_deinit(&later);
    assert_null(io_fetcher_free(fetcher));
}

static void start_other(Getter *getter)
{
    if (getter->other->n_done == 0 && getter->other->fetch == NULL) {
        getter_start(getter->other, GET, "/");
    }
}

static void free_other(Getter *getter)
{
    getter->other->fetch = io_fetch_free(getter->other->fetch);
}

/* Started in a callback, and freed again in the same. */
static void start_and_free_other(Getter *getter)
{
    start_other(getter);
    free_other(getter);
}

static void callbacks_may_start_and_free_others(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getters[6];

    web_listen(web, "127.0.0.1:0");
    for (size_t i = 0; i < TW_ARRAY_SIZE(getters); i++) {
        getter_init(&getters[i], web, fetcher);
    }
    getters[0].on_data = start_other; /* 1, which starts 2 at its end */
    getters[0].other = &getters[1];
    getters[1].on_done = start_other;
    getters[1].other = &getters[2];
    getters[2].on_data = free_other; /* 3, which waits */
    getters[2].other = &getters[3];
    getters[2].on_done = start_and_free_other;
    getters[4].on_data = start_and_free_other;
    getters[4].other = &getters[5];
    getter_start(&getters[3], GET, "/later");
    web_wait_count(web, &web->n_held, 1);
    getter_start(&getters[0], GET, "/");
    getter_start(&getters[4], GET, "/");
    web_wait_count(web, &getters[2].n_done, 1);
    web_wait_count(web, &getters[4].n_done, 1);
    web_wait_count(web, &web->n_gone, 1);
    assert_int_equal(getters[0].n_done + getters[1].n_done, 2);
    assert_int_equal(getters[3].n_done + getters[5].n_done, 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(getters); i++) {
        getter_deinit(&getters[i]);
    }
    assert_null(io_fetcher_free(fetcher));
}

static void silence_ends_it_and_sound_does_not(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    IoFetchRequest request = {.method = "GET", .stall_ms = 50};
    Getter getter;

    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    getter_start(&getter, request, "/begin");
    web_wait_count(web, &getter.n_heads, 1);
    push(web->held[0], "abc");
    web_wait_count(web, &getter.n_done, 1);
    assert_int_equal(getter.outcome, IO_FETCH_STALLED);
    assert_string_equal(getter.message, "the answer did not come in time");
    assert_int_equal(getter.body.n, 3);
    getter_deinit(&getter);

    request = (IoFetchRequest){.method = "GET", .total_ms = 50};
    getter_init(&getter, web, fetcher);
    getter_start(&getter, request, "/later");
    web_wait_count(web, &getter.n_done, 1);
    assert_int_equal(getter.outcome, IO_FETCH_STALLED);
    assert_int_equal(getter.status, 0);
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

static void a_pause_holds_data_back_and_no_stall_is_seen(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    IoFetchRequest request = {.method = "GET", .stall_ms = 30};
    Getter getter;

    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    getter_start(&getter, request, "/begin");
    web_wait_count(web, &getter.n_heads, 1);
    io_fetch_pause(getter.fetch);
    push(web->held[0], "abc");
    web_wait_ms(web, 100);
    assert_int_equal(getter.n_data + getter.n_done, 0);
    io_fetch_resume(getter.fetch);
    io_fetch_resume(getter.fetch);
    web_wait(web, has_bytes, &getter, 3);
    assert_int_equal(io_http_end(web->held[0]), 0);
    web_wait_count(web, &getter.n_done, 1);
    expect_body(&getter, "abc");
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

static void what_is_too_large_is_refused(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    IoFetchRequest request = {.method = "GET", .max_body_bytes = 1000};
    Getter getter;

    web_listen(web, "127.0.0.1:0");
    for (size_t n = 1000; n < 1002; n++) {
        web->n_bytes = n;
        getter_init(&getter, web, fetcher);
        getter_start(&getter, request, "/bytes");
        web_wait_count(web, &getter.n_done, 1);
        assert_int_equal(getter.outcome, n == 1000 ? IO_FETCH_DONE : IO_FETCH_TOO_LARGE);
        getter_deinit(&getter);
    }
    assert_null(io_fetcher_free(fetcher));
}

static void nobody_there_is_unreached(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    IoFetchRequest request = {.method = "GET", .ops = &getter_ops};
    Getter getter;
    char url[200];

    web_listen(web, "127.0.0.1:0");
    getter_init(&getter, web, fetcher);
    getter_url(&getter, "/", url);
    web->server = io_http_server_free(web->server);
    request.url = url;
    request.context = &getter;
    assert_int_equal(io_fetch_start(&getter.fetch, fetcher, &request, NULL), 0);
    web_wait_count(web, &getter.n_done, 1);
    assert_int_equal(getter.outcome, IO_FETCH_UNREACHED);
    assert_int_equal(getter.status, 0);
    assert_true(getter.message[0] != '\0');
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

/* ---- a peer that says what it likes ---- */

typedef struct Raw {
    int fd;
    unsigned port;
    const char *answer;
    int fds[2];
    int n_requests;
    pthread_t thread;
} Raw;

static void *raw_serve(void *context)
{
    Raw *raw = context;
    int fd = accept(raw->fd, NULL, NULL);
    char request[4096];
    size_t n = 0;
    ssize_t got = 1;

    while (fd >= 0 && got > 0 && n < sizeof(request)) {
        got = read(fd, request + n, sizeof(request) - n);
        n += got > 0 ? (size_t)got : 0;
        if (n >= 4 && memcmp(request + n - 4, "\r\n\r\n", 4) == 0) {
            break;
        }
    }
    for (size_t at = 0; fd >= 0 && raw->answer[at] != '\0'; at++) {
        if (send(fd, raw->answer + at, 1, MSG_NOSIGNAL) != 1) { /* odd pieces */
            break;
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return NULL;
}

static void raw_open_with(Raw *raw, const char *answer, void *(*serve)(void *context))
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(address);

    *raw = (Raw){.answer = answer};
    raw->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(raw->fd >= 0);
    assert_int_equal(bind(raw->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(raw->fd, 2), 0);
    assert_int_equal(getsockname(raw->fd, (struct sockaddr *)&address, &n), 0);
    raw->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&raw->thread, NULL, serve, raw), 0);
}

static void raw_open(Raw *raw, const char *answer)
{
    raw_open_with(raw, answer, raw_serve);
}

static void raw_close(Raw *raw)
{
    assert_int_equal(pthread_join(raw->thread, NULL), 0);
    assert_int_equal(close(raw->fd), 0);
}

static void raw_get(Web *web, Getter *getter, const char *answer)
{
    IoFetchRequest request = {.method = "GET", .ops = &getter_ops};
    char url[100];
    Raw raw;

    raw_open(&raw, answer);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", raw.port);
    request.url = url;
    request.context = getter;
    assert_int_equal(io_fetch_start(&getter->fetch, getter->fetcher, &request, NULL), 0);
    web_wait_count(web, &getter->n_done, 1);
    raw_close(&raw);
}

static void heads_of_all_kinds_are_read(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getter;

    getter_init(&getter, web, fetcher);
    raw_get(web, &getter,
            "HTTP/1.1 103 Early Hints\r\nContent-Type: early\r\n\r\nHTTP/1.1 200\r\n"
            "content-type:  a/b \r\nContent-Type: c/d\r\n"
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Type: trailer\r\n\r\n");
    assert_string_equal(getter.field, "c/d");
    assert_int_equal(getter.n_heads, 1);
    expect_body(&getter, "abc");
    getter_deinit(&getter);

    getter_init(&getter, web, fetcher);
    raw_get(web, &getter, "HTTP/1.0 500 Oh\r\n\r\nall until the end");
    assert_int_equal(getter.status, 500);
    expect_body(&getter, "all until the end");
    getter_deinit(&getter);
    assert_null(io_fetcher_free(fetcher));
}

static void answers_that_are_none_are_failures(void **state)
{
    static const char *const answers[] = {
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "SSH-2.0-OpenSSH\r\n"};
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);

    for (size_t i = 0; i < TW_ARRAY_SIZE(answers); i++) {
        Getter getter;

        getter_init(&getter, web, fetcher);
        raw_get(web, &getter, answers[i]);
        assert_int_not_equal(getter.outcome, IO_FETCH_DONE);
        assert_true(getter.message[0] != '\0');
        assert_int_equal(getter.n_done, 1);
        getter_deinit(&getter);
    }
    assert_null(io_fetcher_free(fetcher));
}

/* Answers each connection's first request, and ends the connection at its next without a word. */
static void *once_serve(void *context)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    Raw *raw = context;
    char request[4096];

    for (int i = 0; i < 2; i++) {
        raw->fds[i] = accept(raw->fd, NULL, NULL);
    }
    for (int i = 0; i < 2; i++) {
        raw->n_requests += read(raw->fds[i], request, sizeof(request)) > 0;
        (void)send(raw->fds[i], answer, sizeof(answer) - 1, MSG_NOSIGNAL);
    }
    for (int open = 2; open > 0;) {
        struct pollfd polls[2] = {{raw->fds[0], POLLIN, 0}, {raw->fds[1], POLLIN, 0}};

        (void)poll(polls, 2, -1);
        for (int i = 0; i < 2; i++) {
            if (polls[i].revents != 0) {
                raw->n_requests += read(raw->fds[i], request, sizeof(request)) > 0;
                (void)close(raw->fds[i]);
                raw->fds[i] = -1;
                open--;
            }
        }
    }
    return NULL;
}

/* libcurl would send it again on every connection that was used before. */
static void what_was_sent_is_not_sent_again(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    IoFetchRequest request = {.method = "POST", .body = SPAN("pay"), .ops = &getter_ops};
    char url[100];
    Getter getters[3];
    Raw raw;

    raw_open_with(&raw, "", once_serve);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", raw.port);
    request.url = url;
    for (int i = 0; i < 3; i++) {
        getter_init(&getters[i], web, fetcher);
        request.context = &getters[i];
        if (i == 2) {
            web_wait_count(web, &getters[0].n_done, 1);
            web_wait_count(web, &getters[1].n_done, 1);
        }
        assert_int_equal(io_fetch_start(&getters[i].fetch, fetcher, &request, NULL), 0);
    }
    web_wait_count(web, &getters[2].n_done, 1);
    expect_body(&getters[0], "ok");
    expect_body(&getters[1], "ok");
    assert_int_equal(getters[2].outcome, IO_FETCH_CUT);
    assert_int_equal(getters[2].status, 0);
    assert_string_equal(getters[2].message, "the connection ended before the answer did");
    for (int i = 0; i < 3; i++) {
        getter_deinit(&getters[i]);
    }
    assert_null(io_fetcher_free(fetcher));
    raw_close(&raw);
    assert_int_equal(raw.n_requests, 3);
}

static void requests_that_cannot_be_sent_are_refused_in_words(void **state)
{
    static const IoFetchField bad[] = {{SPAN_INIT("X"), SPAN_INIT("a\r\nY: b")},
                                       {SPAN_INIT("X\n"), SPAN_INIT("a")},
                                       {SPAN_INIT(""), SPAN_INIT("a")},
                                       {SPAN_INIT("X"), SPAN_INIT("a\0b")}};
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    IoFetchRequest request = {
        .method = "GET", .url = "ftp://u:secret@127.0.0.1/", .ops = &getter_ops};
    Diag diag = DIAG_NULL;
    IoFetch *fetch = NULL;

    assert_int_equal(io_fetch_start(&fetch, fetcher, &request, &diag), IO_FETCH_E_REQUEST);
    assert_non_null(strstr(diag.message, "http://"));
    assert_null(strstr(diag.message, "secret"));
    request.url = "http://127.0.0.1/";
    request.n_fields = 1;
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad); i++) {
        request.fields = &bad[i];
        assert_int_equal(io_fetch_start(&fetch, fetcher, &request, &diag), IO_FETCH_E_REQUEST);
    }
    assert_null(fetch);
    assert_null(io_fetcher_free(fetcher));
}

static void this_machine_is_told_from_others(void **state)
{
    static const char *const here[] = {"http://127.0.0.1:80/", "http://localhost",
                                       "https://LOCALHOST:1/x", "http://[::1]:9/",
                                       "http://u:p@127.1.2.3/"};
    static const char *const there[] = {"http://127.example.com/",
                                        "http://example.com/@localhost",
                                        "http://localhost.example/",
                                        "http://128.0.0.1/",
                                        "http://[::2]/",
                                        "localhost"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(here); i++) {
        assert_true(io_fetch_is_loopback(here[i]));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(there); i++) {
        assert_false(io_fetch_is_loopback(there[i]));
    }
}

/* What is under way ends with its fetcher, without a word. */
static void freeing_the_fetcher_ends_all(void **state)
{
    Web *web = *state;
    IoFetcher *fetcher = fetcher_open(web);
    Getter getters[3];

    web_listen(web, "127.0.0.1:0");
    for (size_t i = 0; i < TW_ARRAY_SIZE(getters); i++) {
        getter_init(&getters[i], web, fetcher);
        getter_start(&getters[i], GET, i == 0 ? "/begin" : "/later");
    }
    web_wait_count(web, &web->n_held, 3);
    assert_null(io_fetcher_free(fetcher));
    web_wait_count(web, &web->n_gone, 3);
    for (size_t i = 0; i < TW_ARRAY_SIZE(getters); i++) {
        assert_int_equal(getters[i].n_done, 0);
        getters[i].fetch = NULL;
        getter_deinit(&getters[i]);
    }
    assert_null(io_fetcher_free(NULL));
}

static int start_scenario(void *context)
{
    Web *web = context;
    IoFetchField field = {SPAN("A"), SPAN("b")};
    IoFetchRequest request = {.method = "GET",
                              .url = "http://127.0.0.1:9/",
                              .fields = &field,
                              .n_fields = 1,
                              .stall_ms = 1000,
                              .ops = &getter_ops};
    IoFetcher *fetcher = NULL;
    IoFetch *fetch = NULL;
    int r = io_fetcher_new(&fetcher, web->loop, NULL);

    if (r == 0) {
        r = io_fetch_start(&fetch, fetcher, &request, NULL);
    }
    fetch = io_fetch_free(fetch);
    fetcher = io_fetcher_free(fetcher);
    web_turn(web);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    test_oom_sweep(start_scenario, *state);
}

#define WEB_TEST(f) cmocka_unit_test_setup_teardown(f, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WEB_TEST(an_answer_is_told_once),
        WEB_TEST(a_body_is_sent_and_any_status_is_an_answer),
        WEB_TEST(connections_are_used_again),
        WEB_TEST(idle_connections_do_not_keep_the_loop_running),
        WEB_TEST(a_stream_is_told_piece_by_piece),
        WEB_TEST(a_stream_that_breaks_is_cut),
        WEB_TEST(many_run_at_once_and_stay_apart),
        WEB_TEST(cancelled_anywhere_nothing_follows),
        WEB_TEST(callbacks_may_start_and_free_others),
        WEB_TEST(silence_ends_it_and_sound_does_not),
        WEB_TEST(a_pause_holds_data_back_and_no_stall_is_seen),
        WEB_TEST(what_is_too_large_is_refused),
        WEB_TEST(nobody_there_is_unreached),
        WEB_TEST(heads_of_all_kinds_are_read),
        WEB_TEST(answers_that_are_none_are_failures),
        WEB_TEST(what_was_sent_is_not_sent_again),
        WEB_TEST(requests_that_cannot_be_sent_are_refused_in_words),
        cmocka_unit_test(this_machine_is_told_from_others),
        WEB_TEST(freeing_the_fetcher_ends_all),
        WEB_TEST(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
