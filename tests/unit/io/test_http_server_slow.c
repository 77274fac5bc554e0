/* Clients that are slow, or do not read. */
#include "unit/io/http_web.h"

#include <errno.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST      "POST /echo HTTP/1.1\r\nHost: a\r\n"

/* ---- slow ---- */

typedef struct Drip {
    WebClient client;
    IoTimer *timer;
    const char *text;
} Drip;

/* A letter after the other, as long as anybody listens. */
static void drip_on_timer(void *context)
{
    Drip *drip = context;

    if (!web_has_ended(NULL, &drip->client, 0)) {
        pump_put(&drip->client.pump, drip->text, 1);
        drip->text += drip->text[1] != '\0';
        io_timer_start_at(drip->timer, io_loop_now_ms(drip->client.web->loop) + 2);
    }
}

static void a_head_that_drips_is_cut_off_though_it_never_rests(void **state)
{
    Web *web = *state;
    Drip drip = {.text = "GET / HTTP/1.1\r\nHost: a\r\nX: aaaaaaaaaaaaa"};

    web->limits.head_ms = 60;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &drip.client);
    assert_int_equal(io_timer_new(&drip.timer, web->loop, true, drip_on_timer, &drip), 0);
    drip_on_timer(&drip);
    web_wait_end(&drip.client);
    assert_int_equal(web_status(&drip.client), 408);
    assert_int_equal(web_times(&drip.client, "head"), 1);
    assert_int_equal(web->n_heads, 0);
    (void)io_timer_free(drip.timer);
    web_hang_up(&drip.client);
}

static void a_second_head_has_as_much_time_as_the_first(void **state)
{
    Web *web = *state;
    WebClient client;

    web->limits.head_ms = 60;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    /* The second begins with the first, and is not blamed for what that took. */
    web_say(&client, GET("/later") "GET / HTTP/1.1\r\n");
    web_wait_count(web, &web->n_held, 1);
    web_wait_ms(web, 150);
    assert_int_equal(client.pump.in.n, 0);
    assert_int_equal(io_http_respond(web->held[0], 200, NULL, 0, SPAN("late")), 0);
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "HTTP/1.1 200 OK"), 1);
    assert_int_equal(web_times(&client, "HTTP/1.1 408 Request Timeout"), 1);
    web_hang_up(&client);
}

static void each_head_is_timed_by_itself(void **state)
{
    Web *web = *state;
    WebClient client;

    web->limits.head_ms = 1000;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    /* There is always half a head, and never the same for long. */
    web_say(&client, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 4; i++) {
        web_wait_ms(web, 300);
        web_say(&client, "Host: a\r\n\r\nGET / HTTP/1.1\r\n");
        web_wait_texts(&client, "hello", i + 1);
    }
    assert_int_equal(web_times(&client, "HTTP/1.1 200 OK"), 4);
    assert_int_equal(web->n_close, 0);
    web_hang_up(&client);
}

static void a_body_that_does_not_come_is_cut_off(void **state)
{
    Web *web = *state;
    WebClient client;

    web->limits.body_ms = 30;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, POST "Content-Length: 10\r\n\r\n123");
    web_wait_end(&client);
    assert_int_equal(web_status(&client), 408);
    assert_int_equal(web_times(&client, "body"), 1);
    assert_int_equal(web->n_requests, 0);
    assert_int_equal(web->n_gone, 1);
    web_hang_up(&client);
    /* One that nobody wanted: its answer was sent already. */
    web_connect(web, &client);
    web_say(&client, "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
    web_wait_end(&client);
    assert_int_equal(web_status(&client), 403);
    assert_int_equal(web_times(&client, "HTTP/1.1"), 1);
    assert_int_equal(web->n_gone, 1);
    web_hang_up(&client);
    /* And one whose answer is a stream. */
    web_connect(web, &client);
    web_say(&client, "POST /begin-early HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
    web_wait_end(&client);
    assert_int_equal(web->n_gone, 2);
    assert_int_equal(web_times(&client, "0\r\n\r\n"), 0);
    web_hang_up(&client);
}

static void a_body_that_drips_is_cut_off_though_it_never_rests(void **state)
{
    Web *web = *state;
    Drip drip = {.text = "x"};

    web->limits.slow_ms = 60;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &drip.client);
    web_say(&drip.client, POST "Content-Length: 1000\r\n\r\n");
    assert_int_equal(io_timer_new(&drip.timer, web->loop, true, drip_on_timer, &drip), 0);
    drip_on_timer(&drip);
    web_wait_end(&drip.client);
    assert_int_equal(web_status(&drip.client), 408);
    assert_int_equal(web_times(&drip.client, "body"), 1);
    assert_int_equal(web->n_requests, 0);
    assert_int_equal(web->n_gone, 1);
    (void)io_timer_free(drip.timer);
    web_hang_up(&drip.client);
}

/* Heeds no answer, and goes on until it cannot. */
static void drip_on_timer_deaf(void *context)
{
    Drip *drip = context;

    if (drip->client.pump.n_failures == 0) {
        pump_put(&drip->client.pump, drip->text, 1);
        io_timer_start_at(drip->timer, io_loop_now_ms(drip->client.web->loop) + 2);
    }
}

static void who_drips_behind_a_refusal_is_cut_off(void **state)
{
    Web *web = *state;
    Drip drip = {.text = "x"};

    web->limits.slow_ms = 60;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &drip.client);
    web_say(&drip.client, "FROB / HTTP/1.1\r\n\r\n");
    assert_int_equal(io_timer_new(&drip.timer, web->loop, true, drip_on_timer_deaf, &drip), 0);
    drip_on_timer_deaf(&drip);
    web_wait_count(web, &web->n_close, 1);
    assert_int_equal(web_status(&drip.client), 501);
    (void)io_timer_free(drip.timer);
    web_hang_up(&drip.client);
}

static void a_body_that_keeps_up_with_the_rate_has_its_time(void **state)
{
    Web *web = *state;
    Drip drip = {.text = "x"};

    /* A second for each byte of it, so that what is sent takes longer than one and is in time. */
    web->limits.slow_ms = 1000;
    web->limits.slow_bytes_per_s = 1;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &drip.client);
    web_say(&drip.client, POST "Content-Length: 600\r\n\r\n");
    assert_int_equal(io_timer_new(&drip.timer, web->loop, true, drip_on_timer, &drip), 0);
    drip_on_timer(&drip);
    web_wait_count(web, &web->n_requests, 1);
    assert_int_equal(web->n_last_body, 600);
    (void)io_timer_free(drip.timer);
    web_hang_up(&drip.client);
}

static void a_connection_without_requests_is_closed_in_silence(void **state)
{
    Web *web = *state;
    WebClient client;

    web->limits.idle_ms = 30;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_wait_end(&client);
    assert_int_equal(client.pump.in.n, 0);
    web_hang_up(&client);
    web_connect(web, &client);
    web_say(&client, GET("/"));
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "HTTP/1.1"), 1);
    assert_int_equal(web_times(&client, "hello"), 1);
    web_hang_up(&client);
}

static void neither_work_nor_an_open_stream_counts_as_idle(void **state)
{
    Web *web = *state;
    WebClient client;

    web->limits = (IoHttpLimits){.idle_ms = 10, .head_ms = 10, .body_ms = 10, .stall_ms = 10};
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/begin"));
    web_wait_text(&client, "chunked");
    web_wait_ms(web, 100);
    assert_int_equal(web->n_close, 0);
    web_put_piece(web->held[0], "still there");
    web_wait_text(&client, "still there");
    web_hang_up(&client);
    web_wait_count(web, &web->n_gone, 1);
}

static void who_takes_its_answer_slowly_is_not_idle(void **state)
{
    Web *web = *state;
    WebClient client;
    int fd;

    web->limits.idle_ms = 20;
    web->n_bytes = (size_t)16 * 1024 * 1024;
    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    assert_int_equal(send(fd, GET("/bytes"), sizeof(GET("/bytes")) - 1, 0),
                     (ssize_t)sizeof(GET("/bytes")) - 1);
    web_wait_count(web, &web->n_requests, 1);
    web_wait_ms(web, 100);
    assert_int_equal(web->n_close, 0);
    web_attach(web, &client, fd);
    web_wait_end(&client);
    assert_true(client.pump.in.n > web->n_bytes);
    web_hang_up(&client);
}

/* ---- clients that do not read ---- */

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void a_client_that_never_reads_is_given_up(void **state)
{
    Web *web = *state;
    int fd;

    web->limits.stall_ms = 50;
    web->n_bytes = (size_t)16 * 1024 * 1024;
    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    send_text(fd, GET("/bytes"));
    web_wait_count(web, &web->n_close, 1);
    assert_int_equal(web->answer_result, 0);
    assert_int_equal(web->n_gone, 0); /* its answer was complete */
    assert_int_equal(close(fd), 0);
    web_assert_serves(web);
}

typedef struct Sip {
    Web *web;
    IoTimer *timer;
    int fd;
    int n; /* sips that had something in them */
} Sip;

/* Takes a little now and then. */
static void sip_on_timer(void *context)
{
    static char mouthful[64 * 1024];
    Sip *sip = context;
    ssize_t n = recv(sip->fd, mouthful, sizeof(mouthful), MSG_DONTWAIT);

    sip->n += n > 0;
    io_timer_start_at(sip->timer, io_loop_now_ms(sip->web->loop) + 5);
}

static void sip_start(Sip *sip, Web *web)
{
    *sip = (Sip){.web = web, .fd = web_dial(web)};
    assert_int_equal(io_timer_new(&sip->timer, web->loop, true, sip_on_timer, sip), 0);
    sip_on_timer(sip);
}

static void sip_end(Sip *sip)
{
    (void)io_timer_free(sip->timer);
    assert_int_equal(close(sip->fd), 0);
}

static void a_client_that_sips_its_answer_is_given_up(void **state)
{
    Web *web = *state;
    Sip sip;

    /* It takes some 13 MB a second, and all within two; that is slow here. */
    web->limits.slow_ms = 100;
    web->limits.slow_bytes_per_s = (size_t)1024 * 1024 * 1024;
    web->n_bytes = (size_t)18 * 1024 * 1024;
    web_listen(web, "127.0.0.1:0");
    sip_start(&sip, web);
    send_text(sip.fd, GET("/bytes"));
    web_wait_count(web, &web->n_close, 1);
    assert_int_equal(web->answer_result, 0);
    assert_true(sip.n > 0);
    assert_true((size_t)sip.n * 64 * 1024 < web->n_bytes);
    sip_end(&sip);
    web_assert_serves(web);
}

static void a_stream_may_be_sipped_until_it_has_ended(void **state)
{
    Web *web = *state;
    Bytes *piece = NULL;
    Sip sip;

    web->limits.slow_ms = 50;
    web->limits.slow_bytes_per_s = (size_t)1024 * 1024 * 1024;
    web_listen(web, "127.0.0.1:0");
    sip_start(&sip, web);
    send_text(sip.fd, GET("/begin"));
    web_wait_count(web, &web->n_held, 1);
    assert_int_equal(io_http_piece_begin(web->held[0], &piece), 0);
    assert_int_equal(bytes_reserve(piece, (size_t)18 * 1024 * 1024), 0);
    memset(piece->data + piece->n, 'x', (size_t)18 * 1024 * 1024);
    piece->n += (size_t)18 * 1024 * 1024;
    assert_int_equal(io_http_piece_commit(web->held[0]), 0);
    web_wait_ms(web, 250);
    assert_int_equal(web->n_close, 0);
    assert_true(io_http_pending(web->held[0]) > 0);
    assert_int_equal(io_http_end(web->held[0]), 0);
    web_wait_count(web, &web->n_close, 1);
    assert_true((size_t)sip.n * 64 * 1024 < (size_t)18 * 1024 * 1024);
    sip_end(&sip);
}

static void a_stream_that_nobody_reads_is_full_and_given_up(void **state)
{
    Web *web = *state;
    Bytes *piece = NULL;
    char block[4096];
    int r = 0;
    int fd;

    web->limits.stall_ms = 50;
    web->limits.max_pending_bytes = (size_t)64 * 1024;
    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    send_text(fd, GET("/begin"));
    web_wait_count(web, &web->n_held, 1);
    memset(block, 'x', sizeof(block));
    while (r == 0) {
        assert_int_equal(io_http_piece_begin(web->held[0], &piece), 0);
        r = bytes_append(piece, block, sizeof(block));
        if (r == 0) {
            assert_int_equal(io_http_piece_commit(web->held[0]), 0);
            web_turn(web);
        }
    }
    assert_int_equal(r, BYTES_E_FULL);
    io_http_piece_abort(web->held[0]);
    assert_true(io_http_pending(web->held[0]) <= web->limits.max_pending_bytes);
    web_wait_count(web, &web->n_gone, 1);
    assert_int_equal(web->n_close, 1);
    assert_int_equal(close(fd), 0);
}

static void an_answer_beyond_the_limit_ends_the_connection(void **state)
{
    Web *web = *state;
    WebClient client;

    web->limits.max_pending_bytes = 1000;
    web->n_bytes = 1001;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/bytes"));
    web_wait_end(&client);
    assert_int_equal(web->answer_result, -ENOBUFS);
    assert_int_equal(web->n_gone, 1);
    assert_int_equal(client.pump.in.n, 0);
    web_hang_up(&client);
    web_assert_serves(web);
}

static void an_answer_that_cannot_be_sent_ends_the_connection(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/bad") GET("/"));
    web_wait_end(&client);
    assert_int_equal(web->answer_result, -EINVAL);
    assert_int_equal(web->n_gone, 1);
    assert_int_equal(web->n_requests, 1);
    assert_int_equal(client.pump.in.n, 0);
    web_hang_up(&client);
}

static void requests_without_end_wait_in_the_system(void **state)
{
    Web *web = *state;
    WebClient client;
    const char *request = GET("/bytes");
    size_t n_sent = 0;
    int fd;

    web->n_bytes = (size_t)64 * 1024;
    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    /* Until nobody takes any more. */
    for (int n_full = 0; n_full < 20;) {
        ssize_t n = send(fd, request, strlen(request), MSG_DONTWAIT);

        if (n > 0) {
            n_sent += (size_t)n;
            n_full = 0;
        }
        if (n != (ssize_t)strlen(request)) {
            n_full++;
            web_turn(web);
            request = n > 0 ? request + n : request;
        } else {
            request = GET("/bytes");
        }
        assert_true(n_sent < (size_t)64 * 1024 * 1024);
    }
    /* Its answers fill what a socket holds and the mark, and no more. */
    assert_true((size_t)web->n_requests * web->n_bytes < (size_t)32 * 1024 * 1024);
    assert_int_equal(web->n_close, 0);
    web_attach(web, &client, fd);
    web_wait_count(web, &web->n_requests, web->n_requests + 500);
    web_hang_up(&client);
}

/* ---- turns that take too long ---- */

/* Each request takes a while, and hundreds have come at once: the others wait. */
static void web_say_much(Web *web, WebClient *client, const char *first)
{
    web_say(client, first);
    for (int i = 0; i < TURNS_MESSAGES; i++) {
        web_say(client, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    web_turn(web);
}

static void web_assert_blamed(Web *web, WebClient *client, Turns *turns)
{
    web_wait_connections(web, 0);
    assert_true(web->n_requests < TURNS_MESSAGES);
    turns_assert_blamed(turns, "an HTTP client");
    web_hang_up(client);
    web_assert_serves(web);
}

static void a_client_whose_turn_takes_too_long_is_closed(void **state)
{
    static Turns turns;
    Web *web = *state;
    WebClient client;

    turns_watch(&turns, web->loop);
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say_much(web, &client, "");
    web_assert_blamed(web, &client, &turns);
}

/* The requests have waited behind one that was in work. */
static void a_client_is_closed_for_what_waited_too(void **state)
{
    static Turns turns;
    Web *web = *state;
    WebClient client;

    turns_watch(&turns, web->loop);
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say_much(web, &client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(web->n_requests, 1);
    assert_int_equal(io_http_respond(web->held[0], 200, NULL, 0, SPAN("at last")), 0);
    web_assert_blamed(web, &client, &turns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_head_that_drips_is_cut_off_though_it_never_rests),
        TEST(a_second_head_has_as_much_time_as_the_first),
        TEST(each_head_is_timed_by_itself),
        TEST(a_body_that_does_not_come_is_cut_off),
        TEST(a_body_that_drips_is_cut_off_though_it_never_rests),
        TEST(who_drips_behind_a_refusal_is_cut_off),
        TEST(a_body_that_keeps_up_with_the_rate_has_its_time),
        TEST(a_connection_without_requests_is_closed_in_silence),
        TEST(neither_work_nor_an_open_stream_counts_as_idle),
        TEST(who_takes_its_answer_slowly_is_not_idle),
        TEST(a_client_that_never_reads_is_given_up),
        TEST(a_client_that_sips_its_answer_is_given_up),
        TEST(a_stream_may_be_sipped_until_it_has_ended),
        TEST(a_stream_that_nobody_reads_is_full_and_given_up),
        TEST(an_answer_beyond_the_limit_ends_the_connection),
        TEST(an_answer_that_cannot_be_sent_ends_the_connection),
        TEST(requests_without_end_wait_in_the_system),
        TEST(a_client_whose_turn_takes_too_long_is_closed),
        TEST(a_client_is_closed_for_what_waited_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
