/* How connections and the server itself begin and end, and what they cost. */
#include "unit/io/http_web.h"

#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>

#include "io/unix_socket.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

/* Opened and dropped, in crowds. */
#define N_DROPPED 10000
#define N_CROWD   100

/* Idle streams, and what each may cost. */
#define N_STREAMS    1000
#define STREAM_BYTES ((size_t)4 * 1024)

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* ---- many ---- */

static void ten_thousand_connections_leave_nothing_behind(void **state)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    static const char *const texts[] = {
        "", "GET / HT", GET("/"), GET("/later"), GET("/begin"), "garbage\r\n\r\n"};
    Web *web = *state;
    int fds[N_CROWD];
    long n_live = 0;
    int next_fd = 0;

    web_listen(web, "127.0.0.1:0");
    for (int n = 0; n < N_DROPPED; n += N_CROWD) {
        for (int i = 0; i < N_CROWD; i++) {
            fds[i] = web_dial(web);
            send_text(fds[i], texts[i % (int)TW_ARRAY_SIZE(texts)]);
        }
        web_wait_count(web, &web->n_open, n + N_CROWD);
        for (int i = 0; i < N_CROWD; i++) {
            /* A reset, so that the system does not remember ten thousand ports either. */
            assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
            assert_int_equal(close(fds[i]), 0);
        }
        web_wait_connections(web, 0);
        web_turn(web);
        if (n == 0) {
            n_live = alloc_testing()->n_live;
            next_fd = scratch_next_fd();
        }
    }
    assert_int_equal(web->n_open, N_DROPPED);
    assert_int_equal(web->n_close, N_DROPPED);
    assert_int_equal(web->n_held, 0);
    assert_int_equal(alloc_testing()->n_live, n_live);
    assert_int_equal(scratch_next_fd(), next_fd);
    web_assert_serves(web);
}

static bool has_little(Web *web, const void *what, int n)
{
    const struct mallinfo2 now = mallinfo2();

    (void)web;
    return now.uordblks <= *(const size_t *)what + (size_t)n * STREAM_BYTES;
}

static void idle_streams_cost_little(void **state)
{
    static int fds[N_STREAMS];
    Web *web = *state;
    struct rlimit limit;
    size_t before = mallinfo2().uordblks;
    char event[2048];
    int n = N_STREAMS;

    /* Large enough that its memory shows. */
    memset(event, ':', sizeof(event));
    event[sizeof(event) - 1] = '\0';
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    n = limit.rlim_cur < 2 * N_STREAMS + 100 ? 200 : n;
    web_listen(web, "127.0.0.1:0");
    for (int i = 0; i < n; i++) {
        fds[i] = web_dial(web);
        send_text(fds[i],
                  "GET /begin HTTP/1.1\r\nHost: 127.0.0.1:7410\r\nAccept: text/event-stream\r\n"
                  "User-Agent: a client of some length (it says who it is)\r\n"
                  "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n\r\n");
        web_wait_count(web, &web->n_held, i + 1);
        web_put_piece(web->held[i], event);
    }
    /* Where the allocator does not count, there is nothing to see. */
    if (before > 0) {
        web_wait(web, has_little, &before, n);
    }
    /* They are alive, all of them. */
    for (int i = 0; i < n; i++) {
        char text[4096];

        web_turn(web);
        assert_true(recv(fds[i], text, sizeof(text), MSG_DONTWAIT) > 0);
        web_put_piece(web->held[i], "data: 1\n\n");
        web_turn(web);
        assert_true(recv(fds[i], text, sizeof(text), MSG_DONTWAIT) > 0);
        assert_int_equal(close(fds[i]), 0);
    }
    web_wait_count(web, &web->n_gone, n);
}

static void more_than_the_maximum_wait_for_one_to_go(void **state)
{
    Web *web = *state;
    WebClient clients[3];

    web->limits.max_connections = 2;
    web_listen(web, "127.0.0.1:0");
    for (int i = 0; i < 3; i++) {
        web_connect(web, &clients[i]);
        web_say(&clients[i], GET("/"));
    }
    web_wait_text(&clients[0], "hello");
    web_wait_text(&clients[1], "hello");
    web_turn(web);
    assert_int_equal(web->n_open, 2);
    web_hang_up(&clients[0]);
    web_wait_text(&clients[2], "hello");
    assert_int_equal(web->n_open, 3);
    web_hang_up(&clients[1]);
    web_hang_up(&clients[2]);
}

static struct rlimit nofile;
static int n_logged;

/* The log says that accepting pauses: then descriptors may be had again. */
static void on_log(void *context, const char *line, size_t n)
{
    (void)context;
    (void)line;
    (void)n;
    n_logged++;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &nofile), 0);
}

static void want_of_descriptors_is_waited_out(void **state)
{
    Web *web = *state;
    LogSink log = {.level = LOGSINK_LEVEL_DEBUG, .write_fn = on_log};
    struct rlimit none;
    WebClient client;

    web->log = &log;
    n_logged = 0;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/"));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &nofile), 0);
    none = nofile;
    none.rlim_cur = (rlim_t)scratch_next_fd();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    web_wait_text(&client, "hello");
    assert_int_equal(n_logged, 1);
    web_hang_up(&client);
}

/* ---- the end of the server ---- */

static void stopping_closes_the_idle_and_waits_for_the_others(void **state)
{
    Web *web = *state;
    WebClient idle;
    WebClient busy;
    WebClient half;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd;

    web_listen(web, "127.0.0.1:0");
    address.sin_port = htons((uint16_t)io_http_server_port(web->server));
    web_connect(web, &idle);
    web_say(&idle, GET("/"));
    web_wait_text(&idle, "hello");
    web_connect(web, &busy);
    web_say(&busy, GET("/later"));
    web_wait_count(web, &web->n_held, 1);
    web_connect(web, &half);
    web_say(&half, "GET / HTTP/1.1\r\n");
    web_wait_connections(web, 3);
    web_turn(web);
    io_http_server_stop(web->server, web_on_stopped);
    io_http_server_stop(web->server, web_on_stopped);
    assert_int_equal(io_http_server_n_connections(web->server), 3);
    web_wait_end(&idle);
    assert_int_equal(io_http_server_n_connections(web->server), 2);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
    assert_int_equal(close(fd), 0);
    web_say(&half, "Host: a\r\n\r\n");
    web_wait_end(&half);
    assert_int_equal(web_times(&half, "Connection: close\r\n"), 1);
    assert_int_equal(web_times(&half, "hello"), 1);
    web_hang_up(&half);
    assert_int_equal(web->n_stopped, 0);
    assert_int_equal(io_http_respond(web->held[0], 200, NULL, 0, SPAN("at last")), 0);
    web_wait_end(&busy);
    assert_int_equal(web_times(&busy, "Connection: close\r\n"), 1);
    assert_int_equal(web_times(&busy, "at last"), 1);
    web_hang_up(&busy);
    web_wait_count(web, &web->n_stopped, 1);
    assert_int_equal(web->n_gone, 0);
    web_hang_up(&idle);
    web_turn(web);
    assert_int_equal(web->n_stopped, 1);
}

/* What has been sent before the stop, and not been read yet, is no idle connection's. */
static void a_request_that_meets_the_stop_is_answered(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/"));
    web_wait_text(&client, "hello");
    web_turn(web);
    /* The loop does not run meanwhile. */
    send_text(client.fd, GET("/"));
    io_http_server_stop(web->server, web_on_stopped);
    web_wait_end(&client);
    assert_int_equal(client.pump.n_failures, 0);
    assert_int_equal(web_times(&client, "hello"), 2);
    assert_int_equal(web_times(&client, "Connection: close\r\n"), 1);
    web_hang_up(&client);
    web_wait_count(web, &web->n_stopped, 1);
}

static void without_connections_it_has_stopped_soon_and_not_at_once(void **state)
{
    Web *web = *state;

    web_listen(web, "127.0.0.1:0");
    io_http_server_stop(web->server, web_on_stopped);
    assert_int_equal(web->n_stopped, 0);
    web_wait_count(web, &web->n_stopped, 1);
    web->server = io_http_server_free(web->server);
    assert_null(io_http_server_free(NULL));
}

static void freeing_ends_everything_at_once(void **state)
{
    Web *web = *state;
    WebClient busy;
    WebClient idle;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &busy);
    web_say(&busy, GET("/begin"));
    web_wait_text(&busy, "chunked");
    web_connect(web, &idle);
    web_wait_connections(web, 2);
    web->server = io_http_server_free(web->server);
    assert_int_equal(web->n_gone, 1);
    assert_int_equal(web->n_close, 2);
    web_wait_end(&busy);
    web_wait_end(&idle);
    web_hang_up(&busy);
    web_hang_up(&idle);
}

/* Timers that are due come before the hooks in which answers are written. */
static void an_answer_leaves_before_the_server_is_freed(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/leave"));
    web_wait_text(&client, "hello");
    web_wait_end(&client);
    assert_null(web->server);
    web_hang_up(&client);
}

static void it_may_be_freed_while_it_hands_over_a_request(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "POST /quit HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    web_wait_count(web, &web->n_heads, 1);
    web_turn(web);
    web_say(&client, "cZ" GET("/"));
    web_wait_end(&client);
    assert_null(web->server);
    assert_int_equal(web->n_requests, 1);
    assert_int_equal(web->n_gone, 1);
    web_hang_up(&client);
}

/* ---- places ---- */

static int try_to_listen(Web *web, const char *address, Diag *diag)
{
    const IoHttpConfig config = {
        .loop = web->loop, .address = address, .ops = &web_ops, .context = web};
    IoHttpServer *server = NULL;
    int r = io_http_server_new(&server, &config, diag);

    assert_true(r != 0 || server != NULL);
    (void)io_http_server_free(server);
    return r;
}

static void a_place_that_cannot_be_had_is_named(void **state)
{
    Web *web = *state;
    char address[SCRATCH_PATH_SIZE + 8];
    Diag diag = DIAG_NULL;
    int next_fd;

    web_listen(web, "localhost:0");
    assert_memory_equal(io_http_server_address(web->server), "127.0.0.1:", 10);
    next_fd = scratch_next_fd();
    assert_int_equal(try_to_listen(web, io_http_server_address(web->server), &diag),
                     IO_HTTP_E_PLACE);
    assert_non_null(strstr(diag.message, io_http_server_address(web->server)));
    assert_non_null(strstr(diag.message, "another process"));
    assert_int_equal(try_to_listen(web, "nowhere:1", &diag), IO_HTTP_E_PLACE);
    assert_int_equal(try_to_listen(web, "192.0.2.1:1", &diag), IO_HTTP_E_PLACE);
    assert_int_equal(try_to_listen(web, "unix:/nonexistent/a.sock", &diag), IO_HTTP_E_PLACE);
    assert_int_equal(diag.code, IO_HTTP_E_PLACE);
    assert_int_equal(scratch_next_fd(), next_fd);
    web->server = io_http_server_free(web->server);
    (void)scratch_setup(NULL);
    (void)snprintf(address, sizeof(address), "unix:%s", scratch_path("http.sock"));
    web_listen(web, address);
    assert_int_equal(try_to_listen(web, address, &diag), IO_HTTP_E_PLACE);
    assert_non_null(strstr(diag.message, "serves"));
    web->server = io_http_server_free(web->server);
    (void)scratch_teardown(NULL);
}

/* ---- no memory ---- */

static int open_once(void *context)
{
    Web *web = context;
    int r = try_to_listen(web, "127.0.0.1:0", NULL);

    web_turn(web); /* what was freed closes */
    return r;
}

static void no_allocation_may_fail_unnoticed_at_the_start(void **state)
{
    test_oom_sweep(open_once, *state);
}

/* One connection with a request whose body comes in two pieces, and a stream. */
static int converse_once(void *context)
{
    Web *web = context;
    char answer[1024];
    int n_requests = web->n_requests;
    int n_heads = web->n_heads;
    ssize_t n = 0;
    int fd = web_dial(web);

    send_text(fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    web_turn(web);
    if (web->n_heads > n_heads) {
        (void)send(fd, "cd", 2, MSG_NOSIGNAL);
        web_turn(web);
    }
    if (web->n_requests > n_requests && web->answer_result == 0) {
        (void)send(fd, GET("/begin"), sizeof(GET("/begin")) - 1, MSG_NOSIGNAL);
        web_turn(web);
    }
    for (int i = 0; i < web->n_held; i++) {
        Bytes *piece = NULL;

        if (io_http_piece_begin(web->held[i], &piece) == 0) {
            if (bytes_append(piece, "piece", 5) == 0) {
                (void)io_http_piece_commit(web->held[i]);
            } else {
                io_http_piece_abort(web->held[i]);
            }
        }
    }
    web_turn(web);
    n = recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
    answer[n > 0 ? n : 0] = '\0';
    assert_int_equal(close(fd), 0);
    web_wait_connections(web, 0);
    web_turn(web);
    return strstr(answer, "abcd") != NULL && strstr(answer, "piece") != NULL ? 0 : -ENOMEM;
}

static void no_allocation_may_fail_unnoticed_in_a_conversation(void **state)
{
    Web *web = *state;
    size_t n = 0;
    long n_live;
    int r = -1;

    web_listen(web, "127.0.0.1:0");
    assert_int_equal(converse_once(web), 0); /* what the connections share is there */
    n_live = alloc_testing()->n_live;
    while (r != 0) {
        size_t n_failed;

        alloc_testing_reset(n++);
        r = converse_once(web);
        n_failed = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_true(alloc_testing()->n_live <= n_live);
        assert_int_equal(r == 0, n_failed == 0);
        web_assert_serves(web);
        web_wait_connections(web, 0);
    }
    assert_true(n > 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ten_thousand_connections_leave_nothing_behind),
        TEST(idle_streams_cost_little),
        TEST(more_than_the_maximum_wait_for_one_to_go),
        TEST(want_of_descriptors_is_waited_out),
        TEST(stopping_closes_the_idle_and_waits_for_the_others),
        TEST(a_request_that_meets_the_stop_is_answered),
        TEST(without_connections_it_has_stopped_soon_and_not_at_once),
        TEST(freeing_ends_everything_at_once),
        TEST(an_answer_leaves_before_the_server_is_freed),
        TEST(it_may_be_freed_while_it_hands_over_a_request),
        TEST(a_place_that_cannot_be_had_is_named),
        TEST(no_allocation_may_fail_unnoticed_at_the_start),
        TEST(no_allocation_may_fail_unnoticed_in_a_conversation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
