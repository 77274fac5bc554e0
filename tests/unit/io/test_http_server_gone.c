/* Clients that go, and answers that are given up. */
#include "unit/io/http_web.h"

#include <errno.h>

#include "io/unix_socket.h"
#include "unit/io/scratch.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void who_stops_sending_inside_a_request_or_a_stream_has_gone(void **state)
{
    /* Inside a request; in a stream; where it cannot be asked whether it is there. */
    static const char *const requests[] = {
        GET("/begin"),
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc",
        "GET /later HTTP/1.0\r\n\r\n",
    };
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    for (size_t i = 0; i < TW_ARRAY_SIZE(requests); i++) {
        web_connect(web, &client);
        web_say(&client, requests[i]);
        web_wait_count(web, &web->n_heads, (int)i + 1);
        assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
        web_wait_count(web, &web->n_gone, (int)i + 1);
        web_wait_end(&client);
        web_hang_up(&client);
        web_wait_connections(web, 0);
        assert_int_equal(web->n_close, (int)i + 1);
    }
    assert_int_equal(web->n_heads, (int)TW_ARRAY_SIZE(requests));
}

static void answer_held(Web *web, int i, const char *text)
{
    assert_int_equal(io_http_respond(web->held[i], 200, web_plain, 1, span_from_str(text)), 0);
}

static void who_stops_sending_behind_a_request_waits_for_the_answer(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/later") GET("/later") GET("/"));
    web_wait_count(web, &web->n_held, 1);
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    web_wait_text(&client, "HTTP/1.1 102 Processing\r\n\r\n");
    answer_held(web, 0, "<first>");
    web_wait_count(web, &web->n_held, 2);
    web_wait_text(&client, "<first>");
    answer_held(web, 1, "<second>");
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "HTTP/1.1 102 Processing"), 1);
    assert_int_equal(web_times(&client, "HTTP/1.1 200 OK"), 3);
    assert_int_equal(web_times(&client, "<second>"), 1);
    assert_int_equal(client.pump.n_failures, 0);
    assert_int_equal(web->n_gone, 0);
    web_hang_up(&client);
    web_wait_connections(web, 0);
}

static void on_a_unix_socket_it_is_known_without_asking(void **state)
{
    Web *web = *state;
    WebClient client;
    char address[SCRATCH_PATH_SIZE + 8];
    int fd = -1;

    (void)scratch_setup(NULL);
    (void)snprintf(address, sizeof(address), "unix:%s", scratch_path("http.sock"));
    web_listen(web, address);
    /* Also in HTTP/1.0. */
    assert_int_equal(unix_socket_connect(scratch_path("http.sock"), &fd), 0);
    web_attach(web, &client, fd);
    web_say(&client, "GET /later HTTP/1.0\r\n\r\n");
    web_wait_count(web, &web->n_held, 1);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    web_turn(web);
    answer_held(web, 0, "<first>");
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "HTTP/1.1 "), 1);
    assert_int_equal(web_times(&client, "<first>"), 1);
    web_hang_up(&client);
    assert_int_equal(web->n_gone, 0);
    /* Half closed, and then closed while nothing is sent: seen with the next look. */
    assert_int_equal(unix_socket_connect(scratch_path("http.sock"), &fd), 0);
    send_text(fd, GET("/later"));
    web_wait_count(web, &web->n_held, 2);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    web_turn(web);
    assert_int_equal(web->n_gone, 0);
    assert_int_equal(close(fd), 0);
    web_wait_count(web, &web->n_gone, 1);
    web_wait_connections(web, 0);
    web->server = io_http_server_free(web->server);
    (void)scratch_teardown(NULL);
}

static void who_closes_while_the_answer_is_awaited_has_gone(void **state)
{
    Web *web = *state;
    int fd;

    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    send_text(fd, GET("/later") GET("/later"));
    web_wait_count(web, &web->n_held, 1);
    assert_int_equal(close(fd), 0);
    web_wait_count(web, &web->n_gone, 1);
    web_wait_connections(web, 0);
    assert_int_equal(web->n_requests, 1);
    web_assert_serves(web);
}

/* Nothing is heard of that until something is sent, or answered, whichever comes first. */
static void who_closes_after_it_stopped_sending_has_gone(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/later"));
    web_wait_count(web, &web->n_held, 1);
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    web_wait_text(&client, "102 Processing");
    web_hang_up(&client);
    answer_held(web, 0, "too late");
    web_wait_connections(web, 0);
    assert_int_equal(web->n_gone, 0);
    assert_int_equal(web->n_close, 1);
    web_assert_serves(web);
}

static void who_stops_sending_after_the_answer_still_gets_it(void **state)
{
    Web *web = *state;
    WebClient client;

    web->n_bytes = (size_t)8 * 1024 * 1024;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/bytes"));
    web_wait_count(web, &web->n_requests, 1);
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    web_wait_end(&client);
    assert_true(client.pump.in.n > web->n_bytes);
    assert_int_equal(client.pump.n_failures, 0);
    assert_int_equal(web->n_gone, 0);
    web_hang_up(&client);
    web_wait_connections(web, 0);
}

static void half_a_head_and_then_nothing_is_no_request(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "GET / HTTP/1.1\r\nHost:");
    web_turn(web);
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    web_wait_end(&client);
    assert_int_equal(client.pump.in.n, 0);
    assert_int_equal(web->n_heads, 0);
    web_hang_up(&client);
}

static void a_reset_is_noticed_while_the_answer_is_awaited(void **state)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    Web *web = *state;
    int fd;

    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    send_text(fd, GET("/later"));
    web_wait_count(web, &web->n_held, 1);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    assert_int_equal(close(fd), 0);
    web_wait_count(web, &web->n_gone, 1);
    web_wait_connections(web, 0);
    web_assert_serves(web);
}

static void who_goes_with_much_unread_behind_its_request_is_missed(void **state)
{
    Web *web = *state;
    Bytes all;
    int fd;

    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    bytes_init(&all, SIZE_MAX);
    assert_int_equal(bytes_append_span(&all, SPAN(GET("/later"))), 0);
    while (all.n < (size_t)140 * 1024) {
        assert_int_equal(bytes_append_span(&all, SPAN(GET("/"))), 0);
    }
    /* Nothing more is read of it, so that its end is behind what waits. */
    assert_int_equal(send(fd, all.data, all.n, 0), (ssize_t)all.n);
    bytes_deinit(&all);
    web_wait_count(web, &web->n_held, 1);
    web_turn(web);
    assert_int_equal(close(fd), 0);
    web_wait_count(web, &web->n_gone, 1);
    assert_int_equal(web->n_requests, 1);
}

static void an_aborted_answer_does_not_look_complete(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/begin"));
    web_wait_text(&client, "chunked");
    web_put_piece(web->held[0], "half");
    web_wait_text(&client, "half");
    io_http_abort(web->held[0]);
    assert_int_equal(web->n_close, 0); /* from the loop */
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "0\r\n\r\n"), 0);
    assert_int_equal(web->n_gone, 0);
    assert_int_equal(web->n_close, 1);
    web_hang_up(&client);
    /* Where the end of the connection is that of the answer, it must be another end. */
    web->n_held = 0;
    web_connect(web, &client);
    web_say(&client, "GET /begin HTTP/1.0\r\n\r\n");
    web_wait_text(&client, "close");
    io_http_abort(web->held[0]);
    web_wait_end(&client);
    assert_int_equal(client.pump.n_ends, 0);
    assert_int_equal(client.pump.failure, -ECONNRESET);
    web_hang_up(&client);
}

static void the_owner_may_turn_a_connection_away(void **state)
{
    Web *web = *state;
    WebClient client;

    web->open_result = -EACCES;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_wait_end(&client);
    web_hang_up(&client);
    web->open_result = 0;
    web_assert_serves(web);
}

static bool has_trims(Web *web, const void *what, int n)
{
    (void)web;
    (void)what;
    return alloc_testing()->n_trims >= n;
}

static void what_those_who_have_gone_had_goes_back_once(void **state)
{
    Web *web = *state;
    WebClient clients[3];
    int n = (int)alloc_testing()->n_trims;

    web_listen(web, "127.0.0.1:0");
    for (size_t i = 0; i < 3; i++) {
        web_connect(web, &clients[i]);
        web_say(&clients[i], GET("/"));
        web_wait_text(&clients[i], "hello");
    }
    /* Small things are kept for the next request. */
    web_wait_ms(web, 2100);
    assert_int_equal(alloc_testing()->n_trims, n);
    for (size_t i = 0; i < 3; i++) {
        web_hang_up(&clients[i]);
    }
    web_wait(web, has_trims, NULL, n + 1);
    web_wait_ms(web, 2100);
    assert_int_equal(alloc_testing()->n_trims, n + 1);
    /* As it does if the owner says so. */
    io_http_server_freed(web->server);
    web_wait(web, has_trims, NULL, n + 2);
}

static void what_a_large_answer_was_made_of_goes_back_and_then_itself(void **state)
{
    Web *web = *state;
    WebClient client;
    int n = (int)alloc_testing()->n_trims;
    int fd;

    web->n_bytes = (size_t)18 * 1024 * 1024;
    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    assert_int_equal(send(fd, GET("/bytes"), sizeof(GET("/bytes")) - 1, 0),
                     (ssize_t)sizeof(GET("/bytes")) - 1);
    web_wait(web, has_trims, NULL, n + 1);
    assert_int_equal(web->n_close, 0);
    web_attach(web, &client, fd);
    web_wait(web, has_trims, NULL, n + 2);
    assert_true(client.pump.in.n > web->n_bytes);
    assert_int_equal(web->n_close, 0);
    web_hang_up(&client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_stops_sending_inside_a_request_or_a_stream_has_gone),
        TEST(who_stops_sending_behind_a_request_waits_for_the_answer),
        TEST(on_a_unix_socket_it_is_known_without_asking),
        TEST(who_closes_while_the_answer_is_awaited_has_gone),
        TEST(who_closes_after_it_stopped_sending_has_gone),
        TEST(who_stops_sending_after_the_answer_still_gets_it),
        TEST(half_a_head_and_then_nothing_is_no_request),
        TEST(a_reset_is_noticed_while_the_answer_is_awaited),
        TEST(who_goes_with_much_unread_behind_its_request_is_missed),
        TEST(an_aborted_answer_does_not_look_complete),
        TEST(the_owner_may_turn_a_connection_away),
        TEST(what_those_who_have_gone_had_goes_back_once),
        TEST(what_a_large_answer_was_made_of_goes_back_and_then_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
