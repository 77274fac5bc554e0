#define _GNU_SOURCE /* memmem */

#include "unit/io/http_web.h"

#include "io/unix_socket.h"
#include "unit/io/scratch.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define MANY      50
#define AT_ONCE   70 /* more than wait for each other */
#define CHUNKED   "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n"

static void requests_of_one_connection_are_answered_in_turn(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/"));
    web_wait_text(&client, "\r\n\r\nhello");
    assert_int_equal(web_status(&client), 200);
    assert_int_equal(web_times(&client, "\r\nContent-Length: 5\r\n"), 1);
    assert_int_equal(web_times(&client, "\r\nContent-Type: text/plain\r\n"), 1);
    assert_int_equal(web_times(&client, "Connection"), 0);
    web_clear(&client);
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    web_wait_text(&client, "\r\n\r\nabc");
    assert_int_equal(web->n_open, 1);
    assert_int_equal(web->n_heads, 2);
    assert_true(web->is_local);
    assert_memory_equal(web->last_peer, "127.0.0.1:", 10);
    web_hang_up(&client);
    web_wait_connections(web, 0);
    assert_int_equal(web->n_close, 1);
    assert_int_equal(web->n_gone, 0);
}

static void an_answer_says_when_it_was_made(void **state)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    Web *web = *state;
    WebClient client;
    const char *date;
    char day[4] = "";
    char month[4] = "";
    int n[5];
    int year;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/"));
    web_wait_text(&client, "hello");
    date = memmem(client.pump.in.data, client.pump.in.n, "\r\nDate: ", 8);
    assert_non_null(date);
    assert_int_equal(sscanf(date + 8, "%3s, %2d %3s %4d %2d:%2d:%2d GMT", day, &n[0], month, &year,
                            &n[1], &n[2], &n[3]),
                     7);
    assert_memory_equal(date + 8 + 25, " GMT\r\n", 6);
    assert_non_null(strstr(days, day));
    assert_non_null(strstr(months, month));
    assert_true(year >= 2024 && n[0] >= 1 && n[0] <= 31 && n[1] < 24 && n[2] < 60 && n[3] <= 60);
    web_hang_up(&client);
}

static void many_small_requests_are_answered_by_one_write(void **state)
{
    Web *web = *state;
    WebClient client;
    Bytes all;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    bytes_init(&all, SIZE_MAX);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(bytes_append_format(&all,
                                             "POST /echo HTTP/1.1\r\nHost: a\r\n"
                                             "Content-Length: 4\r\n\r\n<%02d>",
                                             i),
                         0);
    }
    assert_int_equal(send(client.fd, all.data, all.n, 0), (ssize_t)all.n);
    web_wait_texts(&client, "HTTP/1.1 200 OK", MANY);
    assert_int_equal(client.pump.n_inputs, 1);
    for (int i = 0; i < MANY; i++) {
        char text[16];

        (void)snprintf(text, sizeof(text), "<%02d>", i);
        assert_int_equal(web_times(&client, text), 1);
    }
    /* In their order. */
    assert_memory_equal(client.pump.in.data + client.pump.in.n - 4, "<49>", 4);
    bytes_deinit(&all);
    web_hang_up(&client);
}

static void many_connections_that_ask_in_one_turn_are_all_answered(void **state)
{
    Web *web = *state;
    WebClient clients[AT_ONCE];
    char text[128];

    web_listen(web, "127.0.0.1:0");
    for (int i = 0; i < AT_ONCE; i++) {
        web_connect(web, &clients[i]);
    }
    web_wait_connections(web, AT_ONCE);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            (void)snprintf(text, sizeof(text),
                           "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n<%d%02d>",
                           round, i);
            web_say(&clients[i], text);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            (void)snprintf(text, sizeof(text), "<%d%02d>", round, i);
            web_wait_text(&clients[i], text);
        }
    }
    for (int i = 0; i < AT_ONCE; i++) {
        assert_int_equal(web_times(&clients[i], "HTTP/1.1 200 OK"), 3);
        web_hang_up(&clients[i]);
    }
    web_wait_connections(web, 0);
}

/* Some answers may lie in the server when it is freed; nothing else does afterwards. */
static void a_server_may_be_freed_in_a_turn_with_answers(void **state)
{
    Web *web = *state;
    WebClient clients[3];

    web_listen(web, "127.0.0.1:0");
    for (int i = 0; i < 3; i++) {
        web_connect(web, &clients[i]);
    }
    web_wait_connections(web, 3);
    web_say(&clients[0], GET("/"));
    web_say(&clients[1], GET("/quit"));
    web_say(&clients[2], GET("/"));
    for (int i = 0; i < 3; i++) {
        web_wait_end(&clients[i]);
        web_hang_up(&clients[i]);
    }
    assert_null(web->server);
}

static void a_request_behind_one_in_work_waits_for_its_answer(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client,
            GET("/later") "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nsec");
    web_wait_count(web, &web->n_held, 1);
    web_say(&client, "ond" GET("/later?b"));
    web_turn(web);
    assert_int_equal(web->n_requests, 1);
    assert_true(span_equals(io_http_head(web->held[0])->target, SPAN("/later")));
    assert_int_equal(io_http_respond(web->held[0], 200, NULL, 0, SPAN("first")), 0);
    web_wait_text(&client, "second");
    assert_true(memmem(client.pump.in.data, client.pump.in.n, "first", 5) <
                memmem(client.pump.in.data, client.pump.in.n, "second", 6));
    web_wait_count(web, &web->n_requests, 3);
    assert_true(span_equals(io_http_head(web->held[1])->target, SPAN("/later?b")));
    assert_int_equal(io_http_respond(web->held[1], 202, NULL, 0, SPAN("third")), 0);
    web_wait_text(&client, "third");
    web_hang_up(&client);
}

static void a_body_is_put_together_from_its_pieces(void **state)
{
    Web *web = *state;
    WebClient client;
    int n = 1;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123");
    web_wait_count(web, &web->n_heads, n++);
    web_say(&client, "456");
    web_turn(web);
    web_say(&client, "789");
    web_wait_text(&client, "\r\n\r\n0123456789");
    web_clear(&client);
    /* Chunks, of which some come together. */
    web_say(&client, "POST /echo HTTP/1.1\r\n" CHUNKED "3\r\nabc\r\n2;x=y\r\nde\r\n");
    web_wait_count(web, &web->n_heads, n++);
    web_turn(web);
    web_say(&client, "1\r\nf\r");
    web_turn(web);
    web_say(&client, "\n00\r\nTrailer: x\r\n\r\n");
    web_wait_text(&client, "\r\n\r\nabcdef");
    web_clear(&client);
    /* None at all; one chunk that needs no copy. */
    web_say(&client, "POST /echo HTTP/1.1\r\n" CHUNKED "0\r\n\r\n");
    web_wait_text(&client, "Content-Length: 0\r\n");
    web_clear(&client);
    web_say(&client, "POST /echo HTTP/1.1\r\n" CHUNKED "5\r\nwhole\r\n0\r\n\r\n");
    web_wait_text(&client, "\r\n\r\nwhole");
    web_hang_up(&client);
}

static void a_large_body_comes_whole(void **state)
{
    Web *web = *state;
    WebClient client;
    Bytes body;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    bytes_init(&body, SIZE_MAX);
    assert_int_equal(bytes_append_format(&body,
                                         "POST /echo HTTP/1.1\r\nHost: a\r\n"
                                         "Content-Length: %zu\r\n\r\n",
                                         LIMIT_HTTP_BODY_BYTES),
                     0);
    for (size_t i = 0; i < LIMIT_HTTP_BODY_BYTES; i++) {
        assert_int_equal(bytes_append_byte(&body, (char)('a' + i % 26)), 0);
    }
    web_say_span(&client, bytes_span(&body));
    web_wait(web, web_has_bytes, &client, (int)LIMIT_HTTP_BODY_BYTES + 100);
    assert_int_equal(web_status(&client), 200);
    assert_memory_equal(client.pump.in.data + client.pump.in.n - LIMIT_HTTP_BODY_BYTES,
                        body.data + body.n - LIMIT_HTTP_BODY_BYTES, LIMIT_HTTP_BODY_BYTES);
    bytes_deinit(&body);
    web_hang_up(&client);
}

static void a_connection_ends_when_its_client_says_so(void **state)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
    };
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    for (size_t i = 0; i < TW_ARRAY_SIZE(requests); i++) {
        web_connect(web, &client);
        web_say(&client, requests[i]);
        web_wait_end(&client);
        assert_int_equal(web_times(&client, "Connection: close\r\n"), 1);
        assert_int_equal(web_times(&client, "hello"), 1);
        web_wait_connections(web, 0); /* though the client has not closed */
        web_hang_up(&client);
    }
    web_connect(web, &client);
    web_say(&client, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    web_wait_text(&client, "Connection: keep-alive\r\n");
    web_say(&client, GET("/"));
    web_wait_texts(&client, "hello", 2);
    web_hang_up(&client);
}

static void what_follows_the_last_request_is_not_read(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" GET("/"));
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "hello"), 1);
    assert_int_equal(web->n_requests, 1);
    assert_int_equal(client.pump.n_failures, 0);
    web_hang_up(&client);
    web_wait_connections(web, 0);
}

static void an_upgrade_is_read_as_any_request(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client,
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
            "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    web_wait_texts(&client, "hello", 2);
    assert_int_equal(web_times(&client, "HTTP/1.1 200 OK"), 2);
    web_hang_up(&client);
}

static void an_owner_may_do_without_the_optional_functions(void **state)
{
    Web *web = *state;
    WebClient client;

    web->without_head = true;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
    web_wait(web, web_has_connections, NULL, 1);
    web_say(&client, "abc");
    web_wait_text(&client, "\r\n\r\nabc");
    /* It has not met a request whose body does not come. */
    web_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
    web_turn(web);
    web_hang_up(&client);
    web_wait_connections(web, 0);
    assert_int_equal(web->n_gone, 0);
}

static void steady_traffic_allocates_nothing(void **state)
{
    static const char request[] =
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nsteady";
    Web *web = *state;
    char answer[512];
    size_t n_calls = 0;
    int fd;

    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    for (int i = 0; i < 10; i++) {
        assert_true(send(fd, request, sizeof(request) - 1, 0) > 0);
        web_wait_count(web, &web->n_requests, i + 1);
        assert_true(recv(fd, answer, sizeof(answer), 0) > 0);
        if (i == 1) {
            n_calls = alloc_testing()->n_calls;
        }
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    /* The same in two pieces. */
    for (int i = 10; i < 20; i++) {
        assert_true(send(fd, request, sizeof(request) - 4, 0) > 0);
        web_wait_count(web, &web->n_heads, i + 1);
        assert_true(send(fd, request + sizeof(request) - 4, 3, 0) > 0);
        web_wait_count(web, &web->n_requests, i + 1);
        assert_string_equal(web->last_body, "steady");
        assert_true(recv(fd, answer, sizeof(answer), 0) > 0);
        if (i == 11) {
            n_calls = alloc_testing()->n_calls;
        }
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    assert_int_equal(close(fd), 0);
}

static void a_unix_socket_is_served_to_its_user(void **state)
{
    Web *web = *state;
    WebClient client;
    char address[SCRATCH_PATH_SIZE + 8];
    char peer[32];
    int fd = -1;

    (void)scratch_setup(NULL);
    (void)snprintf(address, sizeof(address), "unix:%s", scratch_path("http.sock"));
    web_listen(web, address);
    assert_string_equal(io_http_server_address(web->server), address);
    assert_int_equal(io_http_server_port(web->server), 0);
    assert_int_equal(scratch_mode(scratch_path("http.sock")), 0600);
    assert_int_equal(unix_socket_connect(scratch_path("http.sock"), &fd), 0);
    web_attach(web, &client, fd);
    web_say(&client, GET("/"));
    web_wait_text(&client, "hello");
    (void)snprintf(peer, sizeof(peer), "unix:%ld", (long)geteuid());
    assert_string_equal(web->last_peer, peer);
    assert_true(web->is_local);
    web_hang_up(&client);
    web_wait_connections(web, 0);
    web->server = io_http_server_free(web->server);
    assert_int_equal(scratch_count(false), 0);
    (void)scratch_teardown(NULL);
}

static void a_stranger_on_a_unix_socket_is_closed(void **state)
{
    Web *web = *state;
    char address[SCRATCH_PATH_SIZE + 8];
    char letter;
    int status = 1;
    pid_t pid;

    if (geteuid() != 0) {
        skip();
    }
    (void)scratch_setup(NULL);
    (void)snprintf(address, sizeof(address), "unix:%s", scratch_path("http.sock"));
    web_listen(web, address);
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(chmod(scratch_path("http.sock"), 0666), 0);
    pid = fork();
    if (pid == 0) {
        int fd = -1;
        bool done = setuid(SCRATCH_STRANGER) == 0 &&
                    unix_socket_connect(scratch_path("http.sock"), &fd) == 0 &&
                    fcntl(fd, F_SETFL, 0) == 0 && read(fd, &letter, 1) == 0;

        _exit(done ? 0 : 1);
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        web_turn(web);
    }
    assert_int_equal(status, 0);
    assert_int_equal(web->n_open, 0);
    web->server = io_http_server_free(web->server);
    (void)scratch_teardown(NULL);
}

static void ipv6_is_served_where_there_is_any(void **state)
{
    Web *web = *state;
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    WebClient client;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        skip();
    }
    web_listen(web, "[::1]:0");
    address.sin6_port = htons((uint16_t)io_http_server_port(web->server));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    web_attach(web, &client, fd);
    web_say(&client, GET("/"));
    web_wait_text(&client, "hello");
    assert_memory_equal(web->last_peer, "[::1]:", 6);
    assert_true(web->is_local);
    web_hang_up(&client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_of_one_connection_are_answered_in_turn),
        TEST(an_answer_says_when_it_was_made),
        TEST(many_small_requests_are_answered_by_one_write),
        TEST(many_connections_that_ask_in_one_turn_are_all_answered),
        TEST(a_server_may_be_freed_in_a_turn_with_answers),
        TEST(a_request_behind_one_in_work_waits_for_its_answer),
        TEST(a_body_is_put_together_from_its_pieces),
        TEST(a_large_body_comes_whole),
        TEST(a_connection_ends_when_its_client_says_so),
        TEST(what_follows_the_last_request_is_not_read),
        TEST(an_upgrade_is_read_as_any_request),
        TEST(an_owner_may_do_without_the_optional_functions),
        TEST(steady_traffic_allocates_nothing),
        TEST(a_unix_socket_is_served_to_its_user),
        TEST(a_stranger_on_a_unix_socket_is_closed),
        TEST(ipv6_is_served_where_there_is_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
