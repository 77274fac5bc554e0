#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "oauth/url.h"
#include "support/guard.h"

static void addresses_are_taken_apart_or_refused(void **state)
{
    static const struct {
        const char *text;
        const char *origin; /* NULL: refused */
        const char *host, *port, *path, *query;
    } cases[] = {
        {"https://a.example/mcp", "https://a.example", "a.example", "", "/mcp", ""},
        {"HTTPS://A.example:8443", "HTTPS://A.example:8443", "A.example", "8443", "", ""},
        {"http://[::1]:80/x?y=z?", "http://[::1]:80", "[::1]", "80", "/x", "y=z?"},
        {"http://a?q", "http://a", "a", "", "", "q"},
        {"ftp://a/", NULL, NULL, NULL, NULL, NULL},
        {"javascript:alert(1)", NULL, NULL, NULL, NULL, NULL},
        {"file:///etc/passwd", NULL, NULL, NULL, NULL, NULL},
        {"https://", NULL, NULL, NULL, NULL, NULL},
        {"https:///x", NULL, NULL, NULL, NULL, NULL},
        {"https://user@a/", NULL, NULL, NULL, NULL, NULL},
        {"https://a/#x", NULL, NULL, NULL, NULL, NULL},
        {"https://a b/", NULL, NULL, NULL, NULL, NULL},
        {"https://a:port/", NULL, NULL, NULL, NULL, NULL},
        {"https://a:123456/", NULL, NULL, NULL, NULL, NULL},
        {"https://[::1/", NULL, NULL, NULL, NULL, NULL},
        {"https://a\n/", NULL, NULL, NULL, NULL, NULL},
        {"", NULL, NULL, NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        GuardBuffer guarded = guard_copy(cases[i].text, strlen(cases[i].text));
        OauthUrl url;
        int r = oauth_url_parse(&url, span_make(guarded.p, guarded.n));

        assert_int_equal(r, cases[i].origin == NULL ? OAUTH_URL_E_SYNTAX : 0);
        if (r == 0) {
            assert_true(span_equals(url.origin, span_from_str(cases[i].origin)));
            assert_true(span_equals(url.host, span_from_str(cases[i].host)));
            assert_true(span_equals(url.port, span_from_str(cases[i].port)));
            assert_true(span_equals(url.path, span_from_str(cases[i].path)));
            assert_true(span_equals(url.query, span_from_str(cases[i].query)));
        }
        guard_free(&guarded);
    }
}

static bool safe(const char *text)
{
    OauthUrl url;

    assert_int_equal(oauth_url_parse(&url, span_from_str(text)), 0);
    return oauth_url_is_safe(&url);
}

static void secrets_go_over_https_or_stay_on_the_machine(void **state)
{
    (void)state;
    assert_true(safe("https://a.example"));
    assert_true(safe("http://localhost:1"));
    assert_true(safe("http://127.0.0.1/x"));
    assert_true(safe("http://[::1]:3"));
    assert_false(safe("http://a.example"));
    assert_false(safe("http://127.evil.example"));
    assert_false(safe("http://localhost.evil.example"));
}

static bool covers(const char *resource, const char *server)
{
    OauthUrl a;
    OauthUrl b;

    assert_int_equal(oauth_url_parse(&a, span_from_str(resource)), 0);
    assert_int_equal(oauth_url_parse(&b, span_from_str(server)), 0);
    return oauth_url_covers(&a, &b);
}

static void resource_serves_its_own_paths(void **state)
{
    (void)state;
    assert_true(covers("https://a.example", "https://a.example/mcp"));
    assert_true(covers("https://a.example/", "https://A.EXAMPLE:443/mcp"));
    assert_true(covers("https://a.example/mcp", "https://a.example/mcp/"));
    assert_true(covers("https://a.example/mcp", "https://a.example/mcp/v1"));
    assert_false(covers("https://a.example/mc", "https://a.example/mcp"));
    assert_false(covers("https://a.example/mcp/v1", "https://a.example/mcp"));
    assert_false(covers("https://b.example/mcp", "https://a.example/mcp"));
    assert_false(covers("http://a.example/mcp", "https://a.example/mcp"));
    assert_false(covers("https://a.example:8443", "https://a.example"));
    assert_false(covers("https://a.example/mcp?t=1", "https://a.example/mcp?t=2"));
}

static void form_values_come_back_as_they_were(void **state)
{
    Bytes out;
    Bytes value;

    (void)state;
    bytes_init(&out, 4096);
    bytes_init(&value, 4096);
    assert_int_equal(oauth_form_add(&out, "a", SPAN("x y&z=1+2%")), 0);
    assert_int_equal(oauth_form_add(&out, "none", SPAN_NULL), 0);
    assert_int_equal(oauth_form_add(&out, "b", SPAN("\xc3\xa9~-._")), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("a=x%20y%26z%3D1%2B2%25&b=%C3%A9~-._")));
    assert_int_equal(oauth_form_get(bytes_span(&out), "a", &value), 1);
    assert_true(span_equals(bytes_span(&value), SPAN("x y&z=1+2%")));
    bytes_clear(&value);
    assert_int_equal(oauth_form_get(SPAN("q=a+b%2"), "q", &value), -EINVAL);
    assert_int_equal(oauth_form_get(SPAN("q=1&q=2"), "q", &value), -EINVAL);
    assert_int_equal(oauth_form_get(SPAN("qq=1&x"), "q", &value), 0);
    assert_int_equal(oauth_form_get(SPAN("q=a+b"), "q", &value), 1);
    assert_true(span_equals(bytes_span(&value), SPAN("a b")));
    bytes_deinit(&out);
    bytes_deinit(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_taken_apart_or_refused),
        cmocka_unit_test(secrets_go_over_https_or_stay_on_the_machine),
        cmocka_unit_test(resource_serves_its_own_paths),
        cmocka_unit_test(form_values_come_back_as_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
