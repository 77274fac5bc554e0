#define _GNU_SOURCE /* memmem */

/* Streams, early answers, and answers of all sizes. */
#include "unit/io/http_web.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define BIG       ((size_t)10 * 1024 * 1024)
#define N_FIELDS  40
#define CHUNKED   "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n"

static void a_stream_leaves_piece_by_piece(void **state)
{
    Web *web = *state;
    WebClient client;
    Bytes *piece = NULL;
    IoHttpExchange *x;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/begin") GET("/"));
    web_wait_text(&client, "Transfer-Encoding: chunked\r\n\r\n");
    x = web->held[0];
    assert_null(io_http_data(x));
    io_http_set_data(x, web);
    assert_ptr_equal(io_http_data(x), web);
    web_put_piece(x, "data: 1\n\n");
    assert_true(io_http_pending(x) > 0);
    web_wait_text(&client, "00000009\r\ndata: 1\n\n\r\n");
    assert_int_equal(io_http_pending(x), 0);
    assert_int_equal(io_http_piece_begin(x, &piece), 0);
    assert_int_equal(bytes_append(piece, "no", 2), 0);
    io_http_piece_abort(x);
    web_put_piece(x, "a");
    web_put_piece(x, "b");
    assert_int_equal(web->n_requests, 1);
    assert_int_equal(io_http_end(x), 0);
    web_wait_text(&client, "00000001\r\na\r\n00000001\r\nb\r\n0\r\n\r\nHTTP/1.1 200 OK");
    web_wait_text(&client, "hello");
    assert_int_equal(web_times(&client, "no"), 0);
    web_hang_up(&client);
}

static void pieces_leave_in_the_turn_whoever_makes_them(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/later"));
    web_wait_count(web, &web->n_held, 1);
    /* From a hook that comes after the server's: the fixture's was made first. */
    web->in_hook = web->held[0];
    web_wait_text(&client, "from a hook");
    web_hang_up(&client);
}

static void a_stream_for_http_1_0_ends_with_its_connection(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "GET /begin HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    web_wait_text(&client, "Connection: close\r\n\r\n");
    web_put_piece(web->held[0], "some");
    web_put_piece(web->held[0], "thing");
    assert_int_equal(io_http_end(web->held[0]), 0);
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "\r\n\r\nsomething"), 1);
    assert_int_equal(client.pump.n_failures, 0);
    web_hang_up(&client);
}

static void head_is_answered_without_a_body(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /begin HTTP/1.1\r\nHost: a\r\n\r\n");
    web_wait_count(web, &web->n_held, 1);
    web_put_piece(web->held[0], "unseen");
    assert_int_equal(io_http_end(web->held[0]), 0);
    web_say(&client, GET("/"));
    web_wait_text(&client, "hello");
    assert_int_equal(web_times(&client, "hello"), 1);
    assert_int_equal(web_times(&client, "unseen"), 0);
    assert_int_equal(web_times(&client, "Content-Length: 5\r\n"), 2);
    web_hang_up(&client);
}

static void a_request_may_be_answered_before_its_body_has_come(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 45\r\n\r\n");
    web_wait_text(&client, "\r\n\r\nno");
    assert_int_equal(web_times(&client, "Connection: close"), 0);
    /* What looks like a request is the body. */
    web_say(&client, GET("/echo") "12345");
    web_say(&client, "678901234" GET("/"));
    web_wait_text(&client, "hello");
    assert_int_equal(web->n_requests, 1);
    web_clear(&client);
    /* A stream likewise. */
    web_say(&client, "POST /begin-early HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    web_wait_text(&client, "chunked\r\n\r\n");
    web_say(&client, "drop" GET("/"));
    web_put_piece(web->held[0], "x");
    web_wait_text(&client, "1\r\nx\r\n");
    assert_int_equal(web->n_requests, 1);
    assert_int_equal(io_http_end(web->held[0]), 0);
    web_wait_text(&client, "hello");
    web_clear(&client);
    /* One that may be long is not waited for. */
    web_say(&client, "POST /early HTTP/1.1\r\n" CHUNKED "1\r\nx\r\n");
    web_wait_end(&client);
    assert_int_equal(web_status(&client), 403);
    assert_int_equal(web_times(&client, "Connection: close\r\n"), 1);
    assert_int_equal(web->n_gone, 0);
    web_hang_up(&client);
}

static void pieces_of_a_dropped_body_do_not_reach_the_next(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "POST /later-head HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nold");
    web_wait_count(web, &web->n_heads, 1);
    web_turn(web);
    /* Answered while the body is under way, and part of it was gathered. */
    assert_int_equal(io_http_respond(web->seen, 200, NULL, 0, SPAN("soon")), 0);
    web_say(&client, "stuff"
                     "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nne");
    web_wait_count(web, &web->n_heads, 2);
    web_say(&client, "west");
    web_wait_text(&client, "\r\n\r\nnewest");
    assert_int_equal(web->n_requests, 1);
    web_hang_up(&client);
}

static void leave_to_send_a_body_is_given_only_if_it_is_asked_and_needed(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                     "Content-Length: 4\r\n\r\n");
    web_wait_text(&client, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(web->n_requests, 0);
    web_say(&client, "bo");
    web_turn(web);
    web_say(&client, "dy");
    web_wait_text(&client, "\r\n\r\nbody");
    assert_int_equal(web_times(&client, "100 Continue"), 1);
    web_clear(&client);
    /* It did not wait. */
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                     "Content-Length: 4\r\n\r\nnext");
    web_wait_text(&client, "\r\n\r\nnext");
    assert_int_equal(web_times(&client, "100 Continue"), 0);
    web_clear(&client);
    /* Nor this one, though not all has come. */
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                     "Content-Length: 4\r\n\r\nla");
    web_wait_count(web, &web->n_heads, 3);
    web_turn(web);
    web_say(&client, "st");
    web_wait_text(&client, "\r\n\r\nlast");
    assert_int_equal(web_times(&client, "100 Continue"), 0);
    web_clear(&client);
    /* It is refused at once. */
    web_say(&client, "POST /tiny HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                     "Content-Length: 5\r\n\r\n");
    web_wait_end(&client);
    assert_int_equal(web_status(&client), 413);
    assert_int_equal(web_times(&client, "100 Continue"), 0);
    assert_int_equal(web->n_gone, 1); /* the owner had met it */
    web_hang_up(&client);
    /* It is answered at once: nobody knows whether the body comes. */
    web_connect(web, &client);
    web_say(&client, "POST /early HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                     "Content-Length: 4\r\n\r\n");
    web_wait_end(&client);
    assert_int_equal(web_status(&client), 403);
    assert_int_equal(web_times(&client, "Connection: close\r\n"), 1);
    web_hang_up(&client);
}

static void a_large_answer_arrives_whole(void **state)
{
    Web *web = *state;
    WebClient client;
    const char *body;

    web->n_bytes = BIG;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/bytes") GET("/"));
    web_wait(web, web_has_bytes, &client, (int)BIG);
    web_wait_text(&client, "hello");
    assert_int_equal(web_times(&client, "Content-Length: 10485760\r\n"), 1);
    assert_true(client.pump.in.n > BIG);
    body = memmem(client.pump.in.data, 1000, "\r\n\r\n", 4);
    assert_non_null(body);
    for (size_t i = 0; i < BIG; i++) {
        if (body[4 + i] != (char)('a' + i % 23)) {
            fail_msg("byte %zu differs", i);
        }
    }
    web_hang_up(&client);
}

static void the_owner_hears_when_the_peer_has_taken_enough(void **state)
{
    Web *web = *state;
    WebClient client;
    char text[1024];
    int fd;

    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    assert_int_equal(send(fd, GET("/begin"), sizeof(GET("/begin")) - 1, 0),
                     (ssize_t)sizeof(GET("/begin")) - 1);
    web_wait_count(web, &web->n_held, 1);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    /* More than the sockets hold, so that some of it stays here. */
    while (io_http_pending(web->held[0]) <= LIMIT_HTTP_MARK_BYTES) {
        while (io_http_pending(web->held[0]) <= LIMIT_HTTP_MARK_BYTES) {
            web_put_piece(web->held[0], text);
        }
        web_turn(web);
    }
    web->n_drained = 0;
    web_attach(web, &client, fd);
    web_wait_count(web, &web->n_drained, 1);
    assert_true(io_http_pending(web->held[0]) < LIMIT_HTTP_MARK_BYTES);
    assert_int_equal(io_http_end(web->held[0]), 0);
    web_wait_text(&client, "0\r\n\r\n");
    web_hang_up(&client);
}

/* More of them in one turn than wait for each other. */
static void answers_that_come_later_are_all_written(void **state)
{
    enum {
        N = 70
    };
    Web *web = *state;
    WebClient clients[N];

    web_listen(web, "127.0.0.1:0");
    for (int i = 0; i < N; i++) {
        web_connect(web, &clients[i]);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            web_say(&clients[i], GET("/later"));
        }
        web_wait_count(web, &web->n_held, N);
        web->n_held = 0;
        for (int i = 0; i < N; i++) {
            assert_int_equal(io_http_respond(web->held[i], 200, NULL, 0, SPAN("late")), 0);
        }
        for (int i = 0; i < N; i++) {
            web_wait_text(&clients[i], "late");
            assert_int_equal(web_times(&clients[i], "HTTP/1.1 200 OK"), 1);
            web_clear(&clients[i]);
        }
    }
    for (int i = 0; i < N; i++) {
        web_hang_up(&clients[i]);
    }
}

static void an_answer_may_have_many_fields(void **state)
{
    Web *web = *state;
    WebClient client;
    Http1Field fields[N_FIELDS];

    for (size_t i = 0; i < N_FIELDS; i++) {
        fields[i] = (Http1Field){SPAN("X-Field"), SPAN("value")};
    }
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    for (size_t n = 22; n < N_FIELDS; n++) {
        web_clear(&client);
        web_say(&client, GET("/later"));
        web_wait_count(web, &web->n_held, 1);
        web->n_held = 0;
        assert_int_equal(io_http_respond(web->held[0], 200, fields, n, SPAN("many")), 0);
        web_wait_text(&client, "many");
        assert_int_equal(web_times(&client, "X-Field: value\r\n"), (int)n);
        assert_int_equal(web_times(&client, "Date: "), 1);
    }
    web_hang_up(&client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stream_leaves_piece_by_piece),
        TEST(pieces_leave_in_the_turn_whoever_makes_them),
        TEST(a_stream_for_http_1_0_ends_with_its_connection),
        TEST(head_is_answered_without_a_body),
        TEST(a_request_may_be_answered_before_its_body_has_come),
        TEST(pieces_of_a_dropped_body_do_not_reach_the_next),
        TEST(leave_to_send_a_body_is_given_only_if_it_is_asked_and_needed),
        TEST(a_large_answer_arrives_whole),
        TEST(the_owner_hears_when_the_peer_has_taken_enough),
        TEST(answers_that_come_later_are_all_written),
        TEST(an_answer_may_have_many_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
