#include "io/http_address.h"

#include "support/cmocka.h"

#include <string.h>

#include "base/compiler.h"
#include "io/http_server.h"
#include "io/unix_socket.h"

typedef struct Case {
    const char *text;
    bool is_loopback;
    const char *canonical;
} Case;

static void an_address_is_a_number_and_a_port(void **state)
{
    static const Case cases[] = {
        {"127.0.0.1:7410", true, "127.0.0.1:7410"},
        {"127.255.1.2:1", true, "127.255.1.2:1"},
        {"localhost:0", true, "127.0.0.1:0"},
        {"[::1]:65535", true, "[::1]:65535"},
        {"[::ffff:127.0.0.1]:80", true, "[::ffff:127.0.0.1]:80"},
        {"[::ffff:10.0.0.1]:80", false, "[::ffff:10.0.0.1]:80"},
        {"0.0.0.0:80", false, "0.0.0.0:80"},
        {"192.168.1.20:00080", false, "192.168.1.20:80"},
        {"128.0.0.1:80", false, "128.0.0.1:80"},
        {"[::]:80", false, "[::]:80"},
        {"[2001:db8::1]:443", false, "[2001:db8::1]:443"},
        {"[1::1]:443", false, "[1::1]:443"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char text[TCP_ADDRESS_TEXT_SIZE];
        HttpAddress address;
        bool is_loopback = !cases[i].is_loopback;

        assert_int_equal(http_address_parse(&address, span_from_str(cases[i].text), NULL), 0);
        assert_false(address.is_unix);
        assert_int_equal(address.is_loopback, cases[i].is_loopback);
        tcp_address_text(&address.tcp, text);
        assert_string_equal(text, cases[i].canonical);
        assert_int_equal(io_http_address_check(span_from_str(cases[i].text), &is_loopback, NULL),
                         0);
        assert_int_equal(is_loopback, cases[i].is_loopback);
    }
}

static void whatever_else_is_refused_with_a_reason(void **state)
{
    static const char *const cases[][2] = {
        {"", "the port is missing"},
        {"7410", "the port is missing"},
        {"127.0.0.1", "the port is missing"},
        {"localhost", "the port is missing"},
        {":7410", "a host is"},
        {"*:7410", "a host is"},
        {"example.org:80", "a host is"},
        {"127.0.0.1.5:80", "a host is"},
        {"127.1:80", "a host is"},
        {"256.0.0.1:80", "a host is"},
        {"::1:80", "a host is"},
        {"[127.0.0.1]:80", "a host is"},
        {"[localhost]:80", "a host is"},
        {"[fe80::1%lo]:80", "a host is"},
        {"[]:80", "a host is"},
        {"[::1:80", "bracket"},
        {"[::1]", "bracket"},
        {"[:80", "bracket"},
        {"[::1]x:80", "bracket"},
        {"127.0.0.1:", "a port is"},
        {"127.0.0.1:65536", "a port is"},
        {"127.0.0.1:000080", "a port is"},
        {"127.0.0.1:-1", "a port is"},
        {"127.0.0.1:+80", "a port is"},
        {"127.0.0.1: 80", "a port is"},
        {"127.0.0.1:80 ", "a port is"},
        {"127.0.0.1:0x50", "a port is"},
        {"http://127.0.0.1:80", "a host is"},
        {"unix:", "path is missing"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        bool is_loopback = true;
        Diag diag = DIAG_NULL;

        if (io_http_address_check(span_from_str(cases[i][0]), &is_loopback, &diag) !=
            IO_HTTP_E_PLACE) {
            fail_msg("%s is taken", cases[i][0]);
        }
        assert_int_equal(diag.code, IO_HTTP_E_PLACE);
        assert_true(is_loopback); /* untouched */
        if (strstr(diag.message, cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], diag.message);
        }
    }
}

static void a_unix_socket_is_a_path_and_local(void **state)
{
    char longest[5 + UNIX_SOCKET_PATH_MAX + 1];
    HttpAddress address;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(http_address_parse(&address, SPAN("unix:/run/a b.sock"), NULL), 0);
    assert_true(address.is_unix && address.is_loopback);
    assert_true(span_equals(address.path, SPAN("/run/a b.sock")));
    memset(longest, 'x', sizeof(longest));
    memcpy(longest, "unix:", 5);
    assert_int_equal(http_address_parse(&address, span_make(longest, sizeof(longest) - 1), NULL),
                     0);
    assert_int_equal(address.path.n, UNIX_SOCKET_PATH_MAX);
    assert_int_equal(http_address_parse(&address, span_make(longest, sizeof(longest)), &diag),
                     IO_HTTP_E_PLACE);
    assert_non_null(strstr(diag.message, "at most"));
    assert_int_equal(http_address_parse(&address, SPAN("unix:a\0b"), NULL), IO_HTTP_E_PLACE);
    assert_int_equal(http_address_parse(&address, SPAN("127.0.0.1\0:80"), NULL), IO_HTTP_E_PLACE);
}

static void two_texts_may_name_the_same_place(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool is_same;
    } cases[] = {
        {"127.0.0.1:80", "127.0.0.1:80", true},
        {"localhost:80", "127.0.0.1:80", true},
        {"127.0.0.1:080", "127.0.0.1:80", true},
        {"[::1]:80", "[0:0::1]:80", true},
        {"127.0.0.1:80", "127.0.0.1:81", false},
        {"127.0.0.1:80", "127.0.0.2:80", false},
        {"127.0.0.1:80", "0.0.0.0:80", false},
        {"[::1]:80", "[::2]:80", false},
        {"[::]:80", "0.0.0.0:80", false},
        {"127.0.0.1:0", "127.0.0.1:0", false},
        {"unix:/a", "unix:/a", true},
        {"unix:/a", "unix:/b", false},
        {"unix:/a", "127.0.0.1:80", false},
        {"off", "off", false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Span a = span_from_str(cases[i].a);
        Span b = span_from_str(cases[i].b);

        if (io_http_address_is_same(a, b) != cases[i].is_same ||
            io_http_address_is_same(b, a) != cases[i].is_same) {
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_texts_may_name_the_same_place),
        cmocka_unit_test(an_address_is_a_number_and_a_port),
        cmocka_unit_test(whatever_else_is_refused_with_a_reason),
        cmocka_unit_test(a_unix_socket_is_a_path_and_local),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
