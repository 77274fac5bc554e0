/* Which HTTP requests a page of another site could have made; what Accept and Content-Type say. */
#include "dialect/mcp/http_guard.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

/* A request with that Host and those further lines; NULL: no Host. The caller deinits. */
static const Http1Head *read_head(Http1Reader *reader, const char *host, const char *lines)
{
    char text[2048];
    Http1Event event;
    int n;

    if (host == NULL) {
        n = snprintf(text, sizeof(text), "POST /mcp HTTP/1.0\r\n%s\r\n", lines);
    } else {
        n = snprintf(text, sizeof(text), "POST /mcp HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, lines);
    }
    assert_true(n > 0 && (size_t)n < sizeof(text));
    http1_reader_init(reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(1024));
    assert_int_equal(http1_reader_feed(reader, text, (size_t)n), 0);
    if (http1_reader_next(reader, &event) != 0) {
        fail_msg("not HTTP: %s (%s)", text, http1_fault_text(http1_reader_fault(reader)));
    }
    return event.head;
}

static int guard_says(const McpHttpGuard *guard, const char *host, const char *lines)
{
    Http1Reader reader;
    int r = mcp_http_guard(guard, read_head(&reader, host, lines));

    http1_reader_deinit(&reader);
    return r;
}

static const Span hosts[] = {SPAN_INIT("Tools.example.org"),
                             SPAN_INIT("fixed.example.org:8080"),
                             SPAN_INIT("[fd00::7]"),
                             SPAN_INIT("dotted.example.org."),
                             SPAN_INIT(":80"),
                             SPAN_INIT("me@example.org")};
static const Span origins[] = {SPAN_INIT("https://App.example.org"),
                               SPAN_INIT("http://plain.example.org:80"),
                               SPAN_INIT("https://port.example.org:8443"),
                               SPAN_INIT("vscode-webview://abc"), SPAN_INIT("null")};
static const McpHttpGuard bare = {.any_host = false};
static const McpHttpGuard configured = {.hosts = hosts,
                                        .n_hosts = TW_ARRAY_SIZE(hosts),
                                        .origins = origins,
                                        .n_origins = TW_ARRAY_SIZE(origins)};
static const McpHttpGuard wide = {
    .origins = origins, .n_origins = TW_ARRAY_SIZE(origins), .any_host = true};

typedef struct HostCase {
    const char *host;
    int bare;
    int configured;
} HostCase;

static void a_host_is_loopback_or_configured(void **state)
{
    enum {
        NO = MCP_HTTP_E_HOST
    };
    static const HostCase cases[] = {
        {"localhost", 0, 0},
        {"LocalHost", 0, 0},
        {"localhost.", 0, 0},
        {"localhost:3000", 0, 0},
        {"localhost.:3000", 0, 0},
        {"localhost:", 0, 0},
        {"localhost:65535", 0, 0},
        {"127.0.0.1", 0, 0},
        {"127.0.0.1:8080", 0, 0},
        {"127.0.0.1.", 0, 0},
        {"[::1]", 0, 0},
        {"[::1]:443", 0, 0},
        {"localhost..", NO, NO},
        {"localhost:65536", NO, NO},
        {"localhost:000080", NO, NO},
        {"localhost:80:80", NO, NO},
        {"localhost:x", NO, NO},
        {"localhost:-1", NO, NO},
        {"localhost.example.org", NO, NO},
        {"xlocalhost", NO, NO},
        {"localhos", NO, NO},
        {"127.0.0.1.nip.io", NO, NO},
        {"127.0.0.2", NO, NO},
        {"127.1", NO, NO},
        {"2130706433", NO, NO},
        {"0.0.0.0", NO, NO},
        {"::1", NO, NO},
        {"[::1", NO, NO},
        {"[::1]x", NO, NO},
        {"[::1].", NO, NO},
        {"[::1]80", NO, NO},
        {"[::2]", NO, NO},
        {"[::ffff:127.0.0.1]", NO, NO},
        {"[localhost]", NO, NO},
        {"[]", NO, NO},
        {":80", NO, NO},
        {".", NO, NO},
        {"", NO, NO},
        {NULL, NO, NO},
        {"evil.example.com", NO, NO},
        {"evil.example.com:3000", NO, NO},
        {"tools.example.org", NO, 0},
        {"TOOLS.EXAMPLE.ORG:99", NO, 0},
        {"tools.example.org.", NO, 0},
        {"a.tools.example.org", NO, NO},
        {"fixed.example.org:8080", NO, 0},
        {"fixed.example.org:8081", NO, NO},
        {"fixed.example.org", NO, NO},
        {"[FD00::7]:1", NO, 0},
        {"dotted.example.org", NO, 0},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const HostCase *c = &cases[i];
        int r = guard_says(&bare, c->host, "");

        if (r != c->bare) {
            fail_msg("%s: %d", c->host == NULL ? "(none)" : c->host, r);
        }
        r = guard_says(&configured, c->host, "");
        if (r != c->configured) {
            fail_msg("%s, configured: %d", c->host == NULL ? "(none)" : c->host, r);
        }
        assert_int_equal(guard_says(&wide, c->host, ""), 0);
    }
}

static void what_no_request_can_have_is_no_host_and_no_origin(void **state)
{
    static const char *const good_hosts[] = {"hub.example", "hub.example:8080", "HUB",
                                             "10.0.0.7",    "[2001:db8::7]:80", "my_box.local.",
                                             "localhost"};
    static const char *const bad_hosts[] = {"*",
                                            "*.example",
                                            "http://hub.example",
                                            "hub.example/",
                                            "hub.example/mcp",
                                            "",
                                            ":80",
                                            "me@hub.example",
                                            "hub.example:x",
                                            "hub example",
                                            "h\xc3\xbc\x62.example",
                                            "[::1"};
    static const char *const good_origins[] = {"https://page.example",
                                               "http://page.example:8080",
                                               "HTTPS://Page.example",
                                               "vscode-webview://abc",
                                               "https://[2001:db8::7]",
                                               "https://page.example/",
                                               "app://x/"};
    static const char *const bad_origins[] = {"*",
                                              "null",
                                              "",
                                              "page.example",
                                              "https://",
                                              "https:///",
                                              "*/",
                                              "null/",
                                              "https://page.example//",
                                              "https://*.example",
                                              "http://page.example/app",
                                              "https://page.example:x",
                                              "app://x/y",
                                              "://x"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(good_hosts); i++) {
        assert_int_equal(mcp_http_guard_check_host(span_from_str(good_hosts[i]), NULL), 0);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad_hosts); i++) {
        if (mcp_http_guard_check_host(span_from_str(bad_hosts[i]), NULL) != MCP_HTTP_E_HOST) {
            fail_msg("host %s", bad_hosts[i]);
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(good_origins); i++) {
        if (mcp_http_guard_check_origin(span_from_str(good_origins[i]), NULL) != 0) {
            fail_msg("origin %s", good_origins[i]);
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad_origins); i++) {
        if (mcp_http_guard_check_origin(span_from_str(bad_origins[i]), NULL) != MCP_HTTP_E_ORIGIN) {
            fail_msg("origin %s", bad_origins[i]);
        }
    }
}

/* As a browser shows it; what it sends has none. */
static void an_origin_of_the_settings_may_end_with_a_slash(void **state)
{
    static const Span copied[] = {SPAN_INIT("https://page.example/"), SPAN_INIT("app://x/")};
    static const McpHttpGuard guard = {.origins = copied, .n_origins = 2};

    (void)state;
    assert_int_equal(guard_says(&guard, "localhost", "Origin: https://page.example\r\n"), 0);
    assert_int_equal(guard_says(&guard, "localhost", "Origin: https://PAGE.example:443\r\n"), 0);
    assert_int_equal(guard_says(&guard, "localhost", "Origin: app://x\r\n"), 0);
    assert_int_equal(guard_says(&guard, "localhost", "Origin: https://page.example/\r\n"),
                     MCP_HTTP_E_ORIGIN);
    assert_int_equal(guard_says(&guard, "localhost", "Origin: http://page.example\r\n"),
                     MCP_HTTP_E_ORIGIN);
}

static void the_address_that_was_reached_is_a_host(void **state)
{
    static const McpHttpGuard four = {.local = SPAN_INIT("192.0.2.7")};
    static const McpHttpGuard six = {.local = SPAN_INIT("[2001:db8::a]")};

    (void)state;
    assert_int_equal(guard_says(&four, "192.0.2.7", ""), 0);
    assert_int_equal(guard_says(&four, "192.0.2.7:7410", ""), 0);
    assert_int_equal(guard_says(&four, "192.0.2.8", ""), MCP_HTTP_E_HOST);
    assert_int_equal(guard_says(&four, "192.0.2.7.example.org", ""), MCP_HTTP_E_HOST);
    assert_int_equal(guard_says(&six, "[2001:DB8::A]:80", ""), 0);
    assert_int_equal(guard_says(&six, "[2001:db8::b]", ""), MCP_HTTP_E_HOST);
}

/* What the reader of HTTP takes for a host is narrower; the guard does not rely on it. */
static void a_host_with_a_user_is_refused(void **state)
{
    static const char *const authorities[] = {"me@localhost",
                                              "localhost@evil.example.com",
                                              "localhost:80@evil.example.com",
                                              "@localhost",
                                              "me@example.org",
                                              "me@[::1]"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(authorities); i++) {
        Http1Head head = {.authority = span_from_str(authorities[i])};

        assert_int_equal(mcp_http_guard(&configured, &head), MCP_HTTP_E_HOST);
    }
}

static void an_absolute_target_names_the_host(void **state)
{
    static const char text[] = "POST http://evil.example.com/mcp HTTP/1.0\r\n\r\n";
    Http1Reader reader;
    Http1Event event;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(0));
    assert_int_equal(http1_reader_feed(&reader, text, sizeof(text) - 1), 0);
    assert_int_equal(http1_reader_next(&reader, &event), 0);
    assert_int_equal(mcp_http_guard(&bare, event.head), MCP_HTTP_E_HOST);
    http1_reader_deinit(&reader);
}

static void an_origin_is_loopback_or_configured(void **state)
{
    enum {
        NO = MCP_HTTP_E_ORIGIN
    };
    static const struct {
        const char *origin;
        int bare;
        int configured;
    } cases[] = {
        {"http://localhost", 0, 0},
        {"http://localhost:5173", 0, 0},
        {"https://localhost:5173", 0, 0},
        {"HTTP://LOCALHOST", 0, 0},
        {"http://localhost.", 0, 0},
        {"http://127.0.0.1:80", 0, 0},
        {"https://[::1]:1", 0, 0},
        {"null", NO, NO},
        {"NULL", NO, NO},
        {"", NO, NO},
        {"http://", NO, NO},
        {"https://", NO, NO},
        {"localhost", NO, NO},
        {"//localhost", NO, NO},
        {"http:localhost", NO, NO},
        {"http://localhost/", NO, NO},
        {"http://localhost:80/path", NO, NO},
        {"http://localhost?x", NO, NO},
        {"http://localhost#x", NO, NO},
        {"http://me@localhost", NO, NO},
        {"http://localhost@evil.example.com", NO, NO},
        {"http://localhost:99999", NO, NO},
        {"http://localhost http://localhost", NO, NO},
        {"http://localhost, http://localhost", NO, NO},
        {"http://localhost.evil.example.com", NO, NO},
        {"http://evil.example.com", NO, NO},
        {"http://evil.example.com:3000", NO, NO},
        {"file://", NO, NO},
        {"ftp://localhost", NO, NO},
        {"chrome-extension://abcdef", NO, NO},
        {"https://app.example.org", NO, 0},
        {"https://APP.example.org:443", NO, 0},
        {"https://app.example.org.", NO, 0},
        {"https://app.example.org:80", NO, NO},
        {"http://app.example.org", NO, NO},
        {"http://app.example.org:443", NO, NO},
        {"https://app.example.org.evil.example.com", NO, NO},
        {"https://x.app.example.org", NO, NO},
        {"http://plain.example.org", NO, 0},
        {"http://plain.example.org:80", NO, 0},
        {"http://plain.example.org:8080", NO, NO},
        {"https://port.example.org:8443", NO, 0},
        {"https://port.example.org", NO, NO},
        {"vscode-webview://abc", NO, 0},
        {"VSCODE-webview://abc", NO, 0},
        {"vscode-webview://abcd", NO, NO},
        {"https://tools.example.org", NO, NO},
    };
    char line[128];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        int r;

        (void)snprintf(line, sizeof(line), "oRIGIN: %s\r\n", cases[i].origin);
        r = guard_says(&bare, "localhost", line);
        if (r != cases[i].bare) {
            fail_msg("%s: %d", cases[i].origin, r);
        }
        r = guard_says(&configured, "localhost", line);
        if (r != cases[i].configured) {
            fail_msg("%s, configured: %d", cases[i].origin, r);
        }
        /* Any host may be ours; not any page may use us. */
        assert_int_equal(guard_says(&wide, "any.example.net", line), cases[i].configured);
    }
}

static void each_of_the_two_must_be_right(void **state)
{
    (void)state;
    assert_int_equal(guard_says(&bare, "evil.example.com", "Origin: http://localhost\r\n"),
                     MCP_HTTP_E_HOST);
    assert_int_equal(guard_says(&bare, "localhost", "Origin: http://evil.example.com\r\n"),
                     MCP_HTTP_E_ORIGIN);
    assert_int_equal(guard_says(&bare, "evil.example.com", "Origin: http://evil.example.com\r\n"),
                     MCP_HTTP_E_HOST);
    assert_int_equal(guard_says(&bare, "localhost:1", "Origin: http://127.0.0.1:2\r\n"), 0);
}

static void one_origin_is_enough(void **state)
{
    (void)state;
    assert_int_equal(
        guard_says(&bare, "localhost", "Origin: http://localhost\r\nOrigin: http://localhost\r\n"),
        MCP_HTTP_E_ORIGIN);
    assert_int_equal(guard_says(&bare, "localhost",
                                "Origin: http://localhost\r\norigin: http://evil.example.com\r\n"),
                     MCP_HTTP_E_ORIGIN);
}

static void accept_admits_what_it_lists(void **state)
{
    static const struct {
        const char *lines;
        bool stream;
        bool json;
    } cases[] = {
        {"", true, true},
        {"Accept:\r\n", true, true},
        {"Accept: ,, ,\r\n", true, true},
        {"Accept: */*\r\n", true, true},
        {"Accept: *\r\n", true, true},
        {"Accept: *; q=.2\r\n", true, true},
        {"Accept: application/json, text/event-stream\r\n", true, true},
        {"Accept: application/json,text/event-stream\r\n", true, true},
        {"Accept: text/event-stream, application/json\r\n", true, true},
        {"Accept: application/json, text/event-stream\r\nAccept: text/event-stream;q=0\r\n", true,
         true},
        {"Accept: application/json, text/event-strean\r\n", false, true},
        {"ACCEPT: Application/JSON , TEXT/Event-Stream\r\n", true, true},
        {"Accept: application/json\r\nAccept: text/event-stream\r\n", true, true},
        {"Accept: application/json\r\n", false, true},
        {"Accept: text/event-stream\r\n", true, false},
        {"Accept: text/*\r\n", true, false},
        {"Accept: application/*\r\n", false, true},
        {"Accept: text/html\r\n", false, false},
        {"Accept: text\r\n", false, false},
        {"Accept: text/\r\n", false, false},
        {"Accept: text/x\r\n", false, false},
        {"Accept: text/event\r\n", false, false},
        {"Accept: text/event-streams\r\n", false, false},
        {"Accept: */json\r\n", false, false},
        {"Accept: text/html, */*;q=0.1\r\n", true, true},
        {"Accept: text/event-stream;q=0\r\n", false, false},
        {"Accept: text/event-stream;q=0.000\r\n", false, false},
        {"Accept: text/event-stream; Q=0.0, application/json\r\n", false, true},
        {"Accept: text/event-stream;q=0.001\r\n", true, false},
        {"Accept: text/event-stream;q=1\r\n", true, false},
        {"Accept: text/event-stream;q=\r\n", true, false},
        {"Accept: text/event-stream;q=x\r\n", true, false},
        {"Accept: text/event-stream;q=0, */*\r\n", false, true},
        {"Accept: */*, text/event-stream;q=0\r\n", false, true},
        {"Accept: text/*;q=0, text/event-stream\r\n", true, false},
        {"Accept: text/event-stream, text/*;q=0\r\n", true, false},
        {"Accept: */*;q=0\r\n", false, false},
        {"Accept: */*;q=0, application/*\r\n", false, true},
        {"Accept: text/event-stream;v=1;q=0, text/event-stream;v=2\r\n", true, false},
        {"Accept: text/event-stream;v=2, text/event-stream;v=1;q=0\r\n", true, false},
        {"Accept: text/event-stream;charset=utf-8\r\n", true, false},
        {"Accept: text/html;x=\"a, application/json\"\r\n", false, false},
        {"Accept: text/html;x=\"a\\\", application/json\", text/event-stream\r\n", true, false},
        {"Accept: text/event-stream;x=\"a;q=0\"\r\n", true, false},
        {"Accept: text/html;x=\"application/json\r\n", false, false},
        {"Accept-Encoding: text/html\r\n", true, true},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Http1Reader reader;
        const Http1Head *head = read_head(&reader, "a", cases[i].lines);
        McpHttpTakes takes = mcp_http_takes(head);

        if (mcp_http_accepts(head, SPAN("text/event-stream")) != cases[i].stream ||
            mcp_http_accepts(head, SPAN("application/json")) != cases[i].json ||
            takes.events != cases[i].stream || takes.json != cases[i].json) {
            fail_msg("%s", cases[i].lines);
        }
        http1_reader_deinit(&reader);
    }
}

static void only_json_in_utf8_is_json(void **state)
{
    static const struct {
        const char *lines;
        bool is_json;
    } cases[] = {
        {"", false},
        {"Content-Type:\r\n", false},
        {"Content-Type: application/json\r\n", true},
        {"content-type: Application/Json\r\n", true},
        {"Content-Type: application/json;\r\n", true},
        {"Content-Type: application/json;charset=utf-8\r\n", true},
        {"Content-Type: application/json ; Charset=\"UTF-8\"\r\n", true},
        {"Content-Type: application/json; charset=utf8\r\n", true},
        {"Content-Type: application/json; x=y; charset=utf-8\r\n", true},
        {"Content-Type: application/json; x=\"; charset=latin1\"\r\n", true},
        {"Content-Type: application/json; charset=iso-8859-1\r\n", false},
        {"Content-Type: application/json; charset=utf-16\r\n", false},
        {"Content-Type: application/json; charset=\r\n", false},
        {"Content-Type: application/json; charset=utf-8; charset=utf-7\r\n", false},
        {"Content-Type: application/json\r\nContent-Type: application/json\r\n", false},
        {"Content-Type: application/json, text/plain\r\n", false},
        {"Content-Type: application/json-rpc\r\n", false},
        {"Content-Type: application/jso\r\n", false},
        {"Content-Type: text/json\r\n", false},
        {"Content-Type: text/plain\r\n", false},
        {"Content-Type: text/plain; application/json\r\n", false},
        {"Content-Type: application/x-www-form-urlencoded\r\n", false},
        {"Content-Type: multipart/form-data; boundary=application/json\r\n", false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Http1Reader reader;
        const Http1Head *head = read_head(&reader, "a", cases[i].lines);

        if (mcp_http_is_json(head) != cases[i].is_json) {
            fail_msg("%s", cases[i].lines);
        }
        http1_reader_deinit(&reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_loopback_or_configured),
        cmocka_unit_test(what_no_request_can_have_is_no_host_and_no_origin),
        cmocka_unit_test(an_origin_of_the_settings_may_end_with_a_slash),
        cmocka_unit_test(the_address_that_was_reached_is_a_host),
        cmocka_unit_test(a_host_with_a_user_is_refused),
        cmocka_unit_test(an_absolute_target_names_the_host),
        cmocka_unit_test(an_origin_is_loopback_or_configured),
        cmocka_unit_test(each_of_the_two_must_be_right),
        cmocka_unit_test(one_origin_is_enough),
        cmocka_unit_test(accept_admits_what_it_lists),
        cmocka_unit_test(only_json_in_utf8_is_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
