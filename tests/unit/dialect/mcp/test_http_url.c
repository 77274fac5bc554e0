/* Where references of a server lead, and what is shown of an address. */
#include "dialect/mcp/http_url.h"

#include "support/cmocka.h"

#include <string.h>

static void references_stay_with_their_server(void **state)
{
    static const struct {
        const char *base;
        const char *reference;
        const char *expected; /* NULL: another server; "": no address */
    } cases[] = {
        {"http://h/sse", "/messages?s=1", "http://h/messages?s=1"},
        {"http://h/a/sse", "messages", "http://h/a/messages"},
        {"http://h", "messages", "http://h/messages"},
        {"http://h/a/sse?x", "?y", "http://h/a/sse?y"},
        {"http://h:80/a", "http://H/b", "http://h:80/b"},
        {"https://h/a", "https://h:443#x", "https://h/"},
        {"https://h/a", "https://h", "https://h/"},
        {"http://u:p@h/a", "http://h/b#f", "http://u:p@h/b"},
        {"http://h/a", "https://h/b", NULL},
        {"http://h/a", "http://h:81/b", NULL},
        {"http://h/a", "http://h.evil/b", NULL},
        {"http://h/a", "ftp://h/b", NULL},
        {"http://h/a", "javascript:x", NULL},
        {"http://h/a", "//h/b", ""},
        {"http://h/a", "", ""},
        {"http://h/a", "/a b", ""},
        {"http://h/a", "/a\x01", ""},
    };
    Bytes out;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *expected = cases[i].expected;
        int r;

        bytes_init(&out, 1000);
        r = http_url_resolve(&out, span_from_str(cases[i].base), span_from_str(cases[i].reference));
        if (expected == NULL) {
            assert_int_equal(r, HTTP_URL_E_ORIGIN);
        } else if (expected[0] == '\0') {
            assert_int_equal(r, HTTP_URL_E_SYNTAX);
        } else {
            assert_int_equal(r, 0);
            assert_int_equal(out.n, strlen(expected));
            assert_memory_equal(out.data, expected, out.n);
        }
        bytes_deinit(&out);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const bad[] = {
        "",          "h",           "/a",          "ftp://h/",      "http:/h",    "http://",
        "http:///a", "http://h h/", "http://h\n/", "http://a@b@c/", "httpx://h/",
    };
    HttpUrl parts;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (http_url_parse(span_from_str(bad[i]), &parts)) {
            fail_msg("taken: '%s'", bad[i]);
        }
    }
    assert_true(http_url_parse(SPAN("HTTPS://u:p@[::1]:8/a?b#c"), &parts));
    assert_true(span_equals(parts.authority, SPAN("[::1]:8")));
    assert_true(span_equals(parts.query, SPAN("?b")));
}

static void secrets_are_not_shown(void **state)
{
    char shown[100];

    (void)state;
    http_url_show(SPAN("https://user:secret@h:8/mcp?key=secret#x"), shown, sizeof(shown));
    assert_string_equal(shown, "https://h:8/mcp");
    http_url_show(SPAN("secret"), shown, sizeof(shown));
    assert_string_equal(shown, "(no address)");
}

static void an_origin_has_one_spelling(void **state)
{
    HttpUrl parts;
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_true(http_url_parse(SPAN("HTTPS://u@Host.Example:443/A"), &parts));
    assert_int_equal(http_url_origin(&out, &parts), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("https://host.example")));
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_stay_with_their_server),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(an_origin_has_one_spelling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
