/* Clients that are wrong: a stated outcome each, and others unharmed. */
#include "unit/io/http_web.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

/* What would be answered if it were taken for a request of its own. */
#define SMUGGLED "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

#define POST    "POST /echo HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

/* Bytes that a text is filled up with. */
#define FILL_BYTES ((size_t)40 * 1024)

typedef struct Case {
    const char *name;
    Span bytes;
    int status;
    const char *fill; /* not NULL: repeated behind the bytes until they are many */
} Case;

#define CASE(name, text, status)                                                                   \
    {                                                                                              \
        name, SPAN_INIT(text), status, NULL                                                        \
    }
#define FILLED(name, text, fill, status)                                                           \
    {                                                                                              \
        name, SPAN_INIT(text), status, fill                                                        \
    }

static const Case smuggling[] = {
    CASE("CL and TE",
         POST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("TE and CL",
         POST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("two CL", POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab" SMUGGLED, 400),
    CASE("two CL, equal", POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na" SMUGGLED, 400),
    CASE("CL +", POST "Content-Length: +1\r\n\r\na" SMUGGLED, 400),
    CASE("CL -", POST "Content-Length: -1\r\n\r\na" SMUGGLED, 400),
    CASE("CL hex", POST "Content-Length: 0x1\r\n\r\na" SMUGGLED, 400),
    CASE("CL list", POST "Content-Length: 1, 1\r\n\r\na" SMUGGLED, 400),
    CASE("CL space", POST "Content-Length: 1 0\r\n\r\na" SMUGGLED, 400),
    CASE("CL empty", POST "Content-Length: \r\n\r\n" SMUGGLED, 400),
    CASE("CL overflow", POST "Content-Length: 18446744073709551617\r\n\r\na" SMUGGLED, 400),
    CASE("CL letters", POST "Content-Length: 1a\r\n\r\na" SMUGGLED, 400),
    CASE("CL of UINT64_MAX", POST "Content-Length: 18446744073709551615\r\n\r\n" SMUGGLED, 413),
    CASE("CL beyond the limit", POST "Content-Length: 1048577\r\n\r\n" SMUGGLED, 413),
    CASE("TE tab", POST "Transfer-Encoding:\tchunked\x0b\r\n\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("TE space before colon", POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" SMUGGLED,
         400),
    CASE("TE chunked, identity",
         POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" SMUGGLED, 501),
    CASE("TE gzip, chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" SMUGGLED,
         501),
    CASE("TE xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" SMUGGLED, 501),
    CASE("TE identity", POST "Transfer-Encoding: identity\r\n\r\n" SMUGGLED, 501),
    CASE("TE twice",
         POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED,
         400),
    CASE("TE folded", POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("TE in 1.0",
         "POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED,
         400),
    CASE("bare LF in the head", "GET / HTTP/1.1\nHost: a\n\n" SMUGGLED, 400),
    CASE("bare LF behind a field", "GET / HTTP/1.1\r\nHost: a\r\nA: b\nC: d\r\n\r\n" SMUGGLED, 400),
    CASE("bare CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\rC: d\r\n\r\n" SMUGGLED, 400),
    CASE("CR CR LF", "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\r\n\r\n" SMUGGLED, 400),
    CASE("obs-fold", "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n" SMUGGLED, 400),
    CASE("a folded first field", "GET / HTTP/1.1\r\n A: b\r\nHost: a\r\n\r\n" SMUGGLED, 400),
    CASE("space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n" SMUGGLED, 400),
    CASE("no name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n" SMUGGLED, 400),
    CASE("no colon", "GET / HTTP/1.1\r\nHost: a\r\nab\r\n\r\n" SMUGGLED, 400),
    CASE("NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n" SMUGGLED, 400),
    CASE("NUL in a name", "GET / HTTP/1.1\r\nHost: a\r\nA\0: b\r\n\r\n" SMUGGLED, 400),
    CASE("no host", "GET / HTTP/1.1\r\n\r\n" SMUGGLED, 400),
    CASE("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" SMUGGLED, 400),
    CASE("a host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" SMUGGLED, 400),
    CASE("a host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n" SMUGGLED, 400),
    CASE("another host than the target's", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n" SMUGGLED,
         400),
    CASE("a chunk of no size", CHUNKED "\r\nabc\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a chunk of size g", CHUNKED "g\r\nabc\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a chunk of size 0x3", CHUNKED "0x3\r\nabc\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a chunk of size -1", CHUNKED "-1\r\nabc\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a chunk size with a space", CHUNKED "3 \r\nabc\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a chunk size that overflows", CHUNKED "10000000000000003\r\nabc\r\n" SMUGGLED, 400),
    CASE("a chunk beyond the limit", CHUNKED "fffffffffffffff0\r\nabc\r\n" SMUGGLED, 413),
    CASE("a chunk that is longer than its size", CHUNKED "3\r\nabcd\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a chunk line that ends in LF", CHUNKED "3\nabc\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a chunk that ends in LF", CHUNKED "3\r\nabc\n0\r\n\r\n" SMUGGLED, 400),
    CASE("LF in an extension", CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n" SMUGGLED, 400),
    CASE("a trailer that is folded", CHUNKED "0\r\nA: b\r\n c\r\n\r\n" SMUGGLED, 400),
    CASE("a trailer that is none", CHUNKED "0\r\nGET / HTTP/1.1\r\n\r\n" SMUGGLED, 400),
    CASE("a trailer that ends in LF", CHUNKED "0\r\nA: b\n\r\n" SMUGGLED, 400),
    FILLED("a bomb of extensions", CHUNKED "3;", "extension", 400),
    FILLED("a bomb of trailers", CHUNKED "0\r\n", "A: b\r\n", 431),
    FILLED("a bomb of fields", "GET / HTTP/1.1\r\nHost: a\r\n", "A: b\r\n", 431),
    FILLED("a long field", "GET / HTTP/1.1\r\nHost: a\r\nA: ", "longer", 431),
    FILLED("a long target", "GET /", "longer", 414),
    FILLED("a long method", "", "LONG", 414),
    FILLED("empty lines", "\r\n", "\r\n", 400),
    CASE("an unknown method", "FROB / HTTP/1.1\r\nHost: a\r\n\r\n" SMUGGLED, 501),
    CASE("a method in small letters", "get / HTTP/1.1\r\nHost: a\r\n\r\n" SMUGGLED, 501),
    CASE("CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n" SMUGGLED, 501),
    CASE("a target that is no path", "GET a HTTP/1.1\r\nHost: a\r\n\r\n" SMUGGLED, 400),
    CASE("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" SMUGGLED, 400),
    CASE("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    CASE("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n" SMUGGLED, 505),
    CASE("HTTP/3.0", "GET / HTTP/3.0\r\nHost: a\r\n\r\n" SMUGGLED, 505),
    CASE("HTTP/0.9", "GET /\r\n" SMUGGLED, 400),
    CASE("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    CASE("garbage", "\xff\xfe\x00garbage\r\n\r\n", 400),
    CASE("an unknown expectation",
         "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\na" SMUGGLED,
         417),
};

static void say_case(WebClient *client, const Case *one)
{
    Bytes all;

    bytes_init(&all, SIZE_MAX);
    assert_int_equal(bytes_append_span(&all, one->bytes), 0);
    while (one->fill != NULL && all.n < FILL_BYTES) {
        assert_int_equal(bytes_append_span(&all, span_from_str(one->fill)), 0);
    }
    web_say_span(client, bytes_span(&all));
    bytes_deinit(&all);
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    assert_true(TW_ARRAY_SIZE(smuggling) >= 30);
    for (size_t i = 0; i < TW_ARRAY_SIZE(smuggling); i++) {
        int n_requests = web->n_requests;

        web_connect(web, &client);
        say_case(&client, &smuggling[i]);
        web_wait_end(&client);
        if (web_status(&client) != smuggling[i].status) {
            fail_msg("%s: %d", smuggling[i].name, web_status(&client));
        }
        /* One answer, in whole, and nothing behind it; and nobody else has seen it. */
        assert_int_equal(web_times(&client, "HTTP/1.1 "), 1);
        assert_int_equal(web_times(&client, "Connection: close\r\n"), 1);
        assert_int_equal(web_times(&client, "text/plain; charset=utf-8"), 1);
        assert_int_equal(client.pump.in.data[client.pump.in.n - 1], '\n');
        assert_int_equal(client.pump.n_failures, 0);
        assert_int_equal(web->n_requests, n_requests);
        /* But the owner is told that there was one. */
        assert_int_equal(web->n_refused, (int)i + 1);
        assert_int_equal(web->refused_status, smuggling[i].status);
        web_hang_up(&client);
        web_assert_serves(web);
    }
    web_wait_connections(web, 0);
    /* Those whose head was sound had been met, and have gone. */
    assert_int_equal(web->n_heads, web->n_requests + web->n_gone);
    assert_int_equal(web->n_refused, web->n_refused_new + web->n_gone);
}

static void requests_before_a_refused_one_are_answered(void **state)
{
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    web_say(&client, GET("/") GET("/") "GET / HTTP/1.1\r\nHost: a\nb: c\r\n\r\n" SMUGGLED);
    web_wait_end(&client);
    assert_int_equal(web_times(&client, "hello"), 2);
    assert_int_equal(web_times(&client, "HTTP/1.1 400 Bad Request"), 1);
    assert_int_equal(web_times(&client, "CRLF"), 1); /* what is wrong, in words */
    web_hang_up(&client);
}

/* ---- clients that send on ---- */

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* The head, and n bytes behind it. */
static void say_much(WebClient *client, const char *head, size_t n)
{
    Bytes all;

    bytes_init(&all, SIZE_MAX);
    assert_int_equal(bytes_append_span(&all, span_from_str(head)), 0);
    assert_int_equal(bytes_reserve(&all, n), 0);
    memset(all.data + all.n, 'x', n);
    all.n += n;
    web_say_span(client, bytes_span(&all));
    bytes_deinit(&all);
}

static bool has_said_all(Web *web, const void *what, int n)
{
    const WebClient *client = what;

    (void)web;
    (void)n;
    return client->pump.out.n == 0 || client->pump.n_failures > 0;
}

/* A client that reads nothing before it has sent all can send all of it, and finds the answer. */
static void the_answer_to_a_refused_body_is_not_lost(void **state)
{
    static const struct {
        const char *head;
        size_t n;
        unsigned status;
    } cases[] = {
        {POST "Content-Length: 3000000\r\n\r\n", 3000000, 413},
        {POST "Content-Length: 25000000\r\n\r\n", 25000000, 413},
        {CHUNKED "17d7840\r\n", 25000000, 413},
        {"POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 25000000\r\n\r\n", 25000000, 403},
        {"POST /early HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n17d7840\r\n",
         25000000, 403},
        {"FROB / HTTP/1.1\r\n\r\n", 25000000, 501},
    };
    Web *web = *state;
    WebClient client;

    web_listen(web, "127.0.0.1:0");
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        web_connect(web, &client);
        say_much(&client, cases[i].head, cases[i].n);
        web_wait(web, has_said_all, &client, 0);
        assert_int_equal(client.pump.n_failures, 0);
        web_wait_end(&client);
        assert_int_equal(web_status(&client), cases[i].status);
        assert_int_equal(client.pump.n_failures, 0);
        web_hang_up(&client);
    }
    web_wait_connections(web, 0);
    /* Two were answered by the owner. */
    assert_int_equal(web->n_refused, 4);
    assert_int_equal(web->n_refused_new, 1);
}

static void who_sends_on_for_ever_is_cut_off(void **state)
{
    Web *web = *state;
    WebClient client;

    web->limits.linger_bytes = (size_t)4 * 1024 * 1024;
    web_listen(web, "127.0.0.1:0");
    web_connect(web, &client);
    say_much(&client, "FROB / HTTP/1.1\r\n\r\n", (size_t)32 * 1024 * 1024);
    web_wait_count(web, &web->n_close, 1);
    assert_true(client.pump.out.n > 0);
    web_hang_up(&client);
}

static void who_neither_sends_nor_closes_is_cut_off(void **state)
{
    Web *web = *state;
    int fd;

    web->limits.body_ms = 30;
    web_listen(web, "127.0.0.1:0");
    fd = web_dial(web);
    send_text(fd, "FROB / HTTP/1.1\r\n\r\n");
    web_wait_count(web, &web->n_close, 1);
    assert_int_equal(close(fd), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_could_be_read_in_two_ways_is_refused),
        TEST(requests_before_a_refused_one_are_answered),
        TEST(the_answer_to_a_refused_body_is_not_lost),
        TEST(who_sends_on_for_ever_is_cut_off),
        TEST(who_neither_sends_nor_closes_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
