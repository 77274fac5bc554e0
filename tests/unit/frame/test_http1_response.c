/* Responses, as a client reads them. */
#include "http1_log.h"

typedef struct Case {
    const char *name;
    Span input;
    Span expected;
    bool answers_head;
} Case;

static const Case cases[] = {
    {"length", TEXT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
     TEXT("RES200(OK) 1.1 n=2\nB({})END OPEN"), false},
    {"chunks", TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
     TEXT("RES200(OK) 1.1 chunked\nB({})END OPEN"), false},
    {"until close", TEXT("HTTP/1.1 200 OK\r\n\r\nall of\r\n\r\nthis"),
     TEXT("RES200(OK) 1.1 until-close close\nB(all of\r\n\r\nthis)END CLOSED"), false},
    {"until close, nothing", TEXT("HTTP/1.0 200 OK\r\n\r\n"),
     TEXT("RES200(OK) 1.0 until-close close\nEND CLOSED"), false},
    {"no reason", TEXT("HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n"),
     TEXT("RES404() 1.1 n=0\nEND OPEN"), false},
    {"an empty reason, a long one",
     TEXT("HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 Not \xC3\xA9 good\r\nContent-"
          "Length: 0\r\n\r\n"),
     TEXT("RES404() 1.1 n=0\nEND RES500(Not \xC3\xA9 good) 1.1 n=0\nEND OPEN"), false},
    {"no body by its status",
     TEXT("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
     TEXT("RES204(No Content) 1.1\nEND RES304(Not Modified) 1.1\nEND RES200(OK) 1.1 n=1\nB(x)END "
          "OPEN"),
     false},
    {"in between",
     TEXT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
     TEXT(
         "RES100(Continue) 1.1\nEND RES103(Early Hints) 1.1\nEND RES200(OK) 1.1 n=1\nB(x)END OPEN"),
     false},
    {"of HEAD, behind one in between",
     TEXT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
     TEXT("RES100(Continue) 1.1\nEND RES200(OK) 1.1\nEND RES200(OK) 1.1 n=1\nB(x)END OPEN"), true},
    {"of HEAD, chunked",
     TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 204 X\r\n\r\n"),
     TEXT("RES200(OK) 1.1\nEND RES204(X) 1.1\nEND OPEN"), true},
    {"close", TEXT("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nxHTTP"),
     TEXT("RES200(OK) 1.1 n=1 close\nB(x)END CLOSED"), false},
    {"cut", TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxy"),
     TEXT("RES200(OK) 1.1 n=3\nB(xy)CUT"), false},
    {"until close, too large", TEXT("HTTP/1.1 200 OK\r\n\r\n0123456789abcdefX"),
     TEXT("RES200(OK) 1.1 until-close close\nB(0123456789abcdef)REFUSED 413 the body is too large"),
     false},
    {"switched",
     TEXT("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
     TEXT("REFUSED 400 the server switched to a protocol that nobody asked for"), false},
    {"length and encoding",
     TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
     TEXT("REFUSED 400 both Content-Length and Transfer-Encoding"), false},
    {"another encoding", TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc"),
     TEXT("REFUSED 501 a transfer encoding other than chunked"), false},
    {"two lengths", TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
     TEXT("REFUSED 400 more than one Content-Length"), false},
    {"two digits", TEXT("HTTP/1.1 20 OK\r\n\r\n"), TEXT("REFUSED 400 this is not HTTP/1"), false},
    {"four digits", TEXT("HTTP/1.1 2000 OK\r\n\r\n"), TEXT("REFUSED 400 this is not HTTP/1"),
     false},
    {"below 100", TEXT("HTTP/1.1 099 OK\r\n\r\n"), TEXT("REFUSED 400 this is not HTTP/1"), false},
    {"another version", TEXT("HTTP/2.0 200 OK\r\n\r\n"),
     TEXT("REFUSED 505 a version other than HTTP/1.0 and HTTP/1.1"), false},
    {"an empty line in front", TEXT("\r\nHTTP/1.1 200 OK\r\n\r\n"),
     TEXT("REFUSED 400 this is not HTTP/1"), false},
    {"a control character in the reason", TEXT("HTTP/1.1 200 O\x01\r\n\r\n"),
     TEXT("REFUSED 400 a control character"), false},
    {"folded", TEXT("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"),
     TEXT("REFUSED 400 a header field goes on in the next line"), false},
    {"a request", TEXT("GET / HTTP/1.1\r\n\r\n"), TEXT("REFUSED 400 this is not HTTP/1"), false},
    {"a long line",
     TEXT("HTTP/1.1 200 OKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOK"
          "OKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOKOK\r\n\r\n"),
     TEXT("REFUSED 431 the head or the trailers are too large"), false},
};

static void cases_are_the_same_whole_bytewise_and_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Http1Setup setup = {HTTP1_RESPONSES, {100, 0, 10, 16}, cases[i].answers_head};

        http1_log_check(setup, cases[i].input, cases[i].expected, cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_the_same_whole_bytewise_and_at_every_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
