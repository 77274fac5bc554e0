/* What is refused, and with which words: requests that two parsers read differently, and other
 * nonsense. Each must be refused alike however it is cut into pieces. */
#include "http1_log.h"

#include <stdlib.h>

#define GET            "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST           "POST / HTTP/1.1\r\nHost: a\r\n"
#define LOGGED         "REQ(POST)(/)-()@(a) 1.1"
#define CHUNKED        POST "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_LOGGED LOGGED " chunked\n"

/* What each fault reads like in the log. */
#define LINE_END      "REFUSED 400 a line does not end in CRLF, or has a CR in it"
#define CONTROL       "REFUSED 400 a control character"
#define FOLDED        "REFUSED 400 a header field goes on in the next line"
#define NAME          "REFUSED 400 a header field's name is not a token before a colon"
#define SYNTAX        "REFUSED 400 this is not HTTP/1"
#define TARGET        "REFUSED 400 the request target is neither a path nor an http address"
#define HOST          "REFUSED 400 the Host field is no host, or not that of the target"
#define NO_HOST       "REFUSED 400 there is no Host field"
#define TWO_HOSTS     "REFUSED 400 more than one Host field"
#define LENGTH        "REFUSED 400 Content-Length is not a number"
#define TWO_LENGTHS   "REFUSED 400 more than one Content-Length"
#define BOTH          "REFUSED 400 both Content-Length and Transfer-Encoding"
#define TWO_ENCODINGS "REFUSED 400 more than one Transfer-Encoding"
#define ENCODING_1_0  "REFUSED 400 HTTP/1.0 has no Transfer-Encoding"
#define ENCODING      "REFUSED 501 a transfer encoding other than chunked"
#define METHOD        "REFUSED 501 the method is not implemented"
#define VERSION       "REFUSED 505 a version other than HTTP/1.0 and HTTP/1.1"
#define EXPECTATION   "REFUSED 417 an expectation other than 100-continue"
#define CHUNK         "REFUSED 400 a chunk of the body is malformed"
#define EXTENSION     "REFUSED 400 chunk extensions are too long"
#define BODY          "REFUSED 413 the body is too large"

typedef struct Case {
    const char *name;
    Span input;
    Span expected;
} Case;

static const Case cases[] = {
    /* Ends of lines. */
    {"CR behind an empty value", TEXT(POST "Dummy:\rContent-Length: 2\r\n\r\nxx"), TEXT(LINE_END)},
    {"CR in a value", TEXT(GET "A: b\rC: d\r\n\r\n"), TEXT(LINE_END)},
    {"CR CR LF", TEXT(GET "A: b\r\r\n\r\n"), TEXT(LINE_END)},
    {"bare LF behind a field", TEXT(GET "A: b\n\r\n"), TEXT(LINE_END)},
    {"bare LF behind the request line", TEXT("GET / HTTP/1.1\nHost: a\r\n\r\n"), TEXT(LINE_END)},
    {"bare LF as the last line", TEXT(GET "\n"), TEXT(LINE_END)},
    {"CR in the target", TEXT("GET /\r HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(LINE_END)},
    {"two empty lines in front", TEXT("\r\n\r\n" GET "\r\n"), TEXT(SYNTAX)},
    {"a bare LF in front", TEXT("\n" GET "\r\n"), TEXT(LINE_END)},
    {"NUL in a value", TEXT(GET "A: b\0c\r\n\r\n"), TEXT(CONTROL)},
    {"NUL in a name", TEXT(GET "A\0b: c\r\n\r\n"), TEXT(NAME)},
    {"NUL in the target", TEXT("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(CONTROL)},
    {"DEL in a value", TEXT(GET "A: \x7F\r\n\r\n"), TEXT(CONTROL)},
    {"vertical tab in a value", TEXT(GET "Transfer-Encoding: \vchunked\r\n\r\n"), TEXT(CONTROL)},
    /* Lines. */
    {"folded", TEXT(GET "A: b\r\n c\r\n\r\n"), TEXT(FOLDED)},
    {"folded by a tab", TEXT(POST "Transfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n"),
     TEXT(FOLDED)},
    {"a blank before the first field", TEXT("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), TEXT(FOLDED)},
    {"a blank before the colon", TEXT(POST "Content-Length : 2\r\n\r\nxx"), TEXT(NAME)},
    {"a tab before the colon", TEXT(POST "Transfer-Encoding\t: chunked\r\n\r\n"), TEXT(NAME)},
    {"no colon", TEXT(GET "Nonsense\r\n\r\n"), TEXT(NAME)},
    {"no name", TEXT(GET ": b\r\n\r\n"), TEXT(NAME)},
    {"a name beyond ASCII", TEXT(GET "Content-Length\xA0: 2\r\n\r\n"), TEXT(NAME)},
    {"a quote in a name", TEXT(GET "\"Content-Length\": 2\r\n\r\n"), TEXT(NAME)},
    /* Lengths. */
    {"two lengths", TEXT(POST "Content-Length: 2\r\nContent-Length: 3\r\n\r\nxxx"),
     TEXT(TWO_LENGTHS)},
    {"two equal lengths", TEXT(POST "Content-Length: 2\r\ncontent-length: 2\r\n\r\nxx"),
     TEXT(TWO_LENGTHS)},
    {"a list of lengths", TEXT(POST "Content-Length: 2, 2\r\n\r\nxx"), TEXT(LENGTH)},
    {"a signed length", TEXT(POST "Content-Length: +2\r\n\r\nxx"), TEXT(LENGTH)},
    {"a negative length", TEXT(POST "Content-Length: -2\r\n\r\nxx"), TEXT(LENGTH)},
    {"a hexadecimal length", TEXT(POST "Content-Length: 0x2\r\n\r\nxx"), TEXT(LENGTH)},
    {"no length", TEXT(POST "Content-Length:\r\n\r\n"), TEXT(LENGTH)},
    {"a length in two parts", TEXT(POST "Content-Length: 1 2\r\n\r\nxx"), TEXT(LENGTH)},
    {"a length above 64 bits", TEXT(POST "Content-Length: 18446744073709551618\r\n\r\nxx"),
     TEXT(LENGTH)},
    {"length, then encoding",
     TEXT(POST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), TEXT(BOTH)},
    {"encoding, then length",
     TEXT(POST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"), TEXT(BOTH)},
    {"length and another encoding",
     TEXT(POST "Content-Length: 4\r\nTransfer-Encoding: identity\r\n\r\nabcd"), TEXT(BOTH)},
    {"two encodings",
     TEXT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
     TEXT(TWO_ENCODINGS)},
    {"chunked is not the last", TEXT(POST "Transfer-Encoding: chunked, identity\r\n\r\n"),
     TEXT(ENCODING)},
    {"chunked twice", TEXT(POST "Transfer-Encoding: chunked, chunked\r\n\r\n"), TEXT(ENCODING)},
    {"gzip and chunked", TEXT(POST "Transfer-Encoding: gzip, chunked\r\n\r\n"), TEXT(ENCODING)},
    {"a word like chunked", TEXT(POST "Transfer-Encoding: xchunked\r\n\r\n"), TEXT(ENCODING)},
    {"chunked in quotes", TEXT(POST "Transfer-Encoding: \"chunked\"\r\n\r\n"), TEXT(ENCODING)},
    {"no encoding at all", TEXT(POST "Transfer-Encoding:\r\n\r\n"), TEXT(ENCODING)},
    {"chunked in 1.0", TEXT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     TEXT(ENCODING_1_0)},
    /* Chunks. */
    {"no digits", TEXT(CHUNKED "\r\nabc"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"not hexadecimal", TEXT(CHUNKED "g\r\n"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"0x", TEXT(CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"a signed size", TEXT(CHUNKED "+3\r\nabc\r\n0\r\n\r\n"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"a blank behind the size", TEXT(CHUNKED "3 \r\nabc\r\n0\r\n\r\n"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"a blank before the size", TEXT(CHUNKED " 3\r\nabc\r\n0\r\n\r\n"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"more than 64 bits", TEXT(CHUNKED "10000000000000003\r\nabc"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"bare LF behind the size", TEXT(CHUNKED "3\nabc\r\n0\r\n\r\n"), TEXT(CHUNKED_LOGGED LINE_END)},
    {"bare LF in an extension", TEXT(CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n"),
     TEXT(CHUNKED_LOGGED LINE_END)},
    {"CR in an extension", TEXT(CHUNKED "3;a\rb\r\nabc\r\n0\r\n\r\n"),
     TEXT(CHUNKED_LOGGED LINE_END)},
    {"NUL in an extension", TEXT(CHUNKED "3;a\0b\r\nabc\r\n0\r\n\r\n"), TEXT(CHUNKED_LOGGED CHUNK)},
    {"more data than said", TEXT(CHUNKED "3\r\nabcd\r\n0\r\n\r\n"),
     TEXT(CHUNKED_LOGGED "B(abc)" CHUNK)},
    {"bare LF behind the data", TEXT(CHUNKED "3\r\nabc\n0\r\n\r\n"),
     TEXT(CHUNKED_LOGGED "B(abc)" LINE_END)},
    {"a trailer with a bare CR", TEXT(CHUNKED "0\r\nA:\rB: c\r\n\r\n"),
     TEXT(CHUNKED_LOGGED LINE_END)},
    {"a trailer without a colon", TEXT(CHUNKED "0\r\nGET / HTTP/1.1\r\n\r\n"),
     TEXT(CHUNKED_LOGGED NAME)},
    {"a folded trailer", TEXT(CHUNKED "0\r\nA: b\r\n c\r\n\r\n"), TEXT(CHUNKED_LOGGED FOLDED)},
    {"bare LF as the last line of trailers", TEXT(CHUNKED "0\r\n\n"),
     TEXT(CHUNKED_LOGGED LINE_END)},
    /* Hosts and targets. */
    {"no host", TEXT("GET / HTTP/1.1\r\n\r\n"), TEXT(NO_HOST)},
    {"two hosts", TEXT(GET "Host: b\r\n\r\n"), TEXT(TWO_HOSTS)},
    {"two equal hosts in 1.0", TEXT("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
     TEXT(TWO_HOSTS)},
    {"a list of hosts", TEXT("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), TEXT(HOST)},
    {"a path in the host", TEXT("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), TEXT(HOST)},
    {"a user in the host", TEXT("GET / HTTP/1.1\r\nHost: localhost@evil\r\n\r\n"), TEXT(HOST)},
    {"another host in the target", TEXT("GET http://localhost/ HTTP/1.1\r\nHost: evil\r\n\r\n"),
     TEXT(HOST)},
    {"no host before the target's", TEXT("GET http://localhost/ HTTP/1.1\r\n\r\n"), TEXT(NO_HOST)},
    {"a user in the target", TEXT("GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    {"an address without a host", TEXT("GET http:///x HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    {"another scheme", TEXT("GET file:///etc HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    {"a relative path", TEXT("GET x HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    {"the server as such, but GET", TEXT("GET * HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    {"a fragment", TEXT("GET /a#b HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    {"a target beyond ASCII", TEXT("GET /\xC3\xA9 HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    {"a tab in the target", TEXT("GET /\t HTTP/1.1\r\nHost: b\r\n\r\n"), TEXT(TARGET)},
    /* Request lines. */
    {"two blanks", TEXT("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(TARGET)},
    {"two blanks before the version", TEXT("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(SYNTAX)},
    {"a blank behind the version", TEXT("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), TEXT(SYNTAX)},
    {"HTTP/0.9", TEXT("GET /\r\n\r\n"), TEXT(SYNTAX)},
    {"HTTP/2", TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), TEXT(VERSION)},
    {"HTTP/1.2", TEXT("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), TEXT(VERSION)},
    {"another protocol", TEXT("GET / ICY/1.1\r\nHost: a\r\n\r\n"), TEXT(SYNTAX)},
    {"small letters", TEXT("GET / http/1.1\r\nHost: a\r\n\r\n"), TEXT(SYNTAX)},
    {"a method nobody knows", TEXT("BREW / HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(METHOD)},
    {"a method in small letters", TEXT("get / HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(METHOD)},
    {"another protocol's method", TEXT("DESCRIBE / HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(METHOD)},
    {"a tunnel", TEXT("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"), TEXT(METHOD)},
    {"not a token", TEXT("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"), TEXT(SYNTAX)},
    {"TLS", TEXT("\x16\x03\x01\x02\r\n\r\n"), TEXT(CONTROL)},
    {"an expectation", TEXT(POST "Expect: magic\r\nContent-Length: 1\r\n\r\nx"), TEXT(EXPECTATION)},
    {"two expectations",
     TEXT(POST "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx"),
     TEXT(EXPECTATION)},
    /* Bodies. */
    {"a declared body that is too large", TEXT(POST "Content-Length: 65\r\n\r\nxx"),
     TEXT(LOGGED " n=65\n" BODY)},
    {"a chunk that is too large", TEXT(CHUNKED "41\r\nabc"), TEXT(CHUNKED_LOGGED BODY)},
    {"chunks that are too large together", TEXT(CHUNKED "2\r\nab\r\nFFFFFFFFFFFFFFFF\r\n"),
     TEXT(CHUNKED_LOGGED "B(ab)" BODY)},
};

static const Http1Setup setup = {HTTP1_REQUESTS, {1500, 100, 10, 64}, false};

static void refusals_are_the_same_whole_bytewise_and_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        http1_log_check(setup, cases[i].input, cases[i].expected, cases[i].name);
    }
}

/* Something valid, then n times `part`, then `end`. */
static void check_long(const char *start, const char *part, size_t n, const char *end,
                       const char *expected)
{
    Events input = {NULL, 0, 0};

    events_add(&input, start);
    for (size_t i = 0; i < n; i++) {
        events_add(&input, part);
    }
    events_add(&input, end);
    http1_log_check(setup, span_make(input.text, input.n), span_from_str(expected), part);
    events_deinit(&input);
}

static void what_repeats_is_bounded(void **state)
{
    (void)state;
    /* One line, then many: 1024 bytes of extensions pass in one message. */
    check_long(CHUNKED "1;", "x", 1023, "\r\na\r\n0\r\n\r\n", CHUNKED_LOGGED "B(a)END OPEN");
    check_long(CHUNKED "1;", "x", 1024, "\r\na\r\n0\r\n\r\n", CHUNKED_LOGGED EXTENSION);
    check_long(CHUNKED "1;", "x", 1200, "", CHUNKED_LOGGED EXTENSION);
    check_long(CHUNKED, "1;0123456789012345678901234567890123456789\r\na\r\n", 25, "",
               CHUNKED_LOGGED "B(aaaaaaaaaaaaaaaaaaaaaaaa)" EXTENSION);
    check_long(CHUNKED, "0", 17, "\r\n\r\n", CHUNKED_LOGGED CHUNK);
    check_long(CHUNKED "0\r\n", "A: b\r\n", 10, "\r\n", CHUNKED_LOGGED "END OPEN");
    check_long(CHUNKED "0\r\n", "A: b\r\n", 11, "\r\n",
               CHUNKED_LOGGED "REFUSED 431 too many header fields");
    check_long(CHUNKED "0\r\nA: ", "x", 1600, "\r\n\r\n",
               CHUNKED_LOGGED "REFUSED 431 the head or the trailers are too large");
    check_long(CHUNKED "0\r\n",
               "A: 0123456789012345678901234567890123456789012345678901234567890123456789"
               "0123456789012345678901234567890123456789012345678901234567890123456789"
               "0123456789012345678901234567890123456789012345678901234567890123456789\r\n",
               8, "\r\n", CHUNKED_LOGGED "REFUSED 431 the head or the trailers are too large");
    check_long(GET, "A: b\r\n", 9, "\r\n", "REQ(GET)(/)-()@(a) 1.1\nEND OPEN");
    check_long(GET, "A: b\r\n", 10, "\r\n", "REFUSED 431 too many header fields");
    check_long("G", "E", 200, "T / HTTP/1.1\r\n\r\n", "REFUSED 414 the request target is too long");
}

/* What one message has used up is there again for the next one of its connection. */
static void what_repeats_is_bounded_for_each_message_alone(void **state)
{
#define X100                                                                                       \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"                                           \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X600 X100 X100 X100 X100 X100 X100
#define SIX  "A: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\n"
    (void)state;
    check_long(CHUNKED "0\r\nA: " X600 "\r\n\r\n" CHUNKED "1;", X600, 1, "\r\na\r\n0\r\n\r\n",
               CHUNKED_LOGGED "END " CHUNKED_LOGGED "B(a)END OPEN");
    check_long("", CHUNKED "0\r\n" SIX "\r\n", 2, "",
               CHUNKED_LOGGED "END " CHUNKED_LOGGED "END OPEN");
}

/* The fault of a request with one field of that value; NONE if its head passes. */
static Http1Fault fault_of_value(const char *value, size_t n)
{
    Http1Reader reader;
    Http1Event event;
    Http1Fault fault = HTTP1_FAULT_NONE;
    int r;

    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(64));
    assert_int_equal(http1_reader_feed(&reader, GET "A:", strlen(GET "A:")), 0);
    assert_int_equal(http1_reader_feed(&reader, value, n), 0);
    assert_int_equal(http1_reader_feed(&reader, "\r\n\r\n", 4), 0);
    r = http1_reader_next(&reader, &event);
    if (r != 0) {
        assert_int_equal(r, HTTP1_E_REFUSED);
        fault = http1_reader_fault(&reader);
    }
    http1_reader_deinit(&reader);
    return fault;
}

static void a_control_character_is_found_wherever_it_stands(void **state)
{
    static const char around[] = {'x', ' ', '~', '\t', '\x80', '\xFF'};
    static const struct {
        char c;
        Http1Fault fault;
    } odd[] = {
        {'\x00', HTTP1_FAULT_CONTROL}, {'\x01', HTTP1_FAULT_CONTROL}, {'\x08', HTTP1_FAULT_CONTROL},
        {'\t', HTTP1_FAULT_NONE},      {'\x1F', HTTP1_FAULT_CONTROL}, {' ', HTTP1_FAULT_NONE},
        {'\x7E', HTTP1_FAULT_NONE},    {'\x7F', HTTP1_FAULT_CONTROL}, {'\x80', HTTP1_FAULT_NONE},
        {'\xFF', HTTP1_FAULT_NONE},    {'\r', HTTP1_FAULT_LINE_END},
    };
    char value[20];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(odd) * TW_ARRAY_SIZE(around); i++) {
        for (size_t n = 1; n <= sizeof(value); n++) {
            for (size_t at = 0; at < n; at++) {
                memset(value, around[i / TW_ARRAY_SIZE(odd)], n);
                value[at] = odd[i % TW_ARRAY_SIZE(odd)].c;
                assert_int_equal(fault_of_value(value, n), odd[i % TW_ARRAY_SIZE(odd)].fault);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_control_character_is_found_wherever_it_stands),
        cmocka_unit_test(refusals_are_the_same_whole_bytewise_and_at_every_split),
        cmocka_unit_test(what_repeats_is_bounded),
        cmocka_unit_test(what_repeats_is_bounded_for_each_message_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
