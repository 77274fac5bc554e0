#include "unit/app/http_door_rig.h"

#include "base/limits.h"

#define ECHO CALL("1", "echo", "{\"message\":\"m\"}")

static int write_open_page(void *context, Bytes *out)
{
    (void)context;
    return bytes_append_span(out, SPAN("well\n"));
}

static int write_page(void *context, Bytes *out)
{
    return bytes_append_format(out, "of %s\n", (const char *)context);
}

static int write_unwell(void *context, Bytes *out)
{
    (void)context;
    (void)bytes_append_span(out, SPAN("not yet\n"));
    return 503;
}

static int write_failing(void *context, Bytes *out)
{
    (void)context;
    (void)bytes_append_span(out, SPAN("half"));
    return -EIO;
}

static const HttpPage pages[] = {
    {.path = "/healthz", .type = "text/plain", .is_open = true, .write = write_open_page},
    {.path = "/", .type = "text/html; charset=utf-8", .write = write_page},
    {.path = "/unwell", .type = "text/plain", .is_open = true, .write = write_unwell},
    {.path = "/failing", .type = "text/plain", .is_open = true, .write = write_failing},
};

static char whose[] = "ours";

static void open_with(Fixture *f, HttpDoorConfig config)
{
    (void)alarm(WATCHDOG_S);
    config.pages = pages;
    config.n_pages = TW_ARRAY_SIZE(pages);
    config.pages_context = whose;
    assert_int_equal(fixture_open(f, config, NULL), 0);
}

/* One request on a connection of its own; the status, and what the answer must and must not have.
 */
static void asks(Fixture *f, const char *method, const char *path, const char *fields,
                 const char *body, unsigned status, const char *with, const char *without)
{
    const char *length;
    char line[32];
    size_t n;
    Client c;

    (void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", status);
    client_open(&c, f);
    client_asks(&c, method, path, fields, body);
    client_awaits(&c, "\r\n\r\n");
    if (strncmp(c.got, line, strlen(line)) != 0) {
        fail_msg("%s %s: not %u: %s", method, path, status, c.got);
    }
    length = strstr(c.got, "Content-Length: ");
    n = c.n_seen +
        (length == NULL || strcmp(method, "HEAD") == 0 ? 0 : strtoul(length + 16, NULL, 10));
    while (c.n < n) {
        run_turn(f);
        client_reads(&c);
    }
    if (with != NULL && strstr(c.got, with) == NULL) {
        fail_msg("%s %s: no \"%s\" in: %s", method, path, with, c.got);
    }
    if (without != NULL && strstr(c.got, without) != NULL) {
        fail_msg("%s %s: \"%s\" in: %s", method, path, without, c.got);
    }
    client_close(&c);
}

static void host_and_origin_are_checked_each_alone(void **state)
{
    Fixture f;

    (void)state;
    open_with(&f, (HttpDoorConfig){.path = NULL});
    asks(&f, "POST", "/mcp", MODERN_TOOL("echo"), ECHO, 200, "\"text\":\"m\"", "Access-Control");
    asks(&f, "POST", "/mcp", "Host: evil.example\r\n" MODERN_TOOL("echo"), ECHO, 403,
         "\"error\":{\"code\":-32600", "\"text\"");
    asks(&f, "POST", "/mcp",
         "Host: localhost\r\nOrigin: http://evil.example\r\n" MODERN_TOOL("echo"), ECHO, 403,
         "\"error\":{\"code\":-32600", "Access-Control");
    asks(&f, "POST", "/mcp", "Origin: null\r\n" MODERN_TOOL("echo"), ECHO, 403, "error", NULL);
    asks(&f, "GET", "/healthz", "Host: evil.example\r\n", "", 403, NULL, "well");
    asks(&f, "GET", "/healthz", "Origin: http://evil.example\r\n", "", 403, NULL, "well");
    asks(&f, "OPTIONS", "/mcp", "Origin: http://evil.example\r\n", "", 403, NULL, "Access-Control");
    asks(&f, "POST", "/mcp", "Origin: http://localhost:3000\r\n" MODERN_TOOL("echo"), ECHO, 200,
         "Access-Control-Allow-Origin: http://localhost:3000\r\n", NULL);
    assert_int_equal(http_door_figures(f.door).n_refused, 6);
    assert_int_equal(http_door_figures(f.door).bytes_in, 2 * strlen(ECHO));
    fixture_deinit(&f);
}

static void more_hosts_and_origins_can_be_let_in(void **state)
{
    const char *const hosts[] = {"box.example", NULL};
    const char *const origins[] = {"https://page.example", NULL};
    Fixture f;

    (void)state;
    open_with(&f, (HttpDoorConfig){.hosts = hosts, .origins = origins});
    asks(&f, "GET", "/healthz", "Host: box.example:99\r\n", "", 200, "well", NULL);
    asks(&f, "GET", "/healthz", "Origin: https://page.example\r\n", "", 200,
         "Access-Control-Allow-Origin: https://page.example\r\n", NULL);
    asks(&f, "GET", "/healthz", "Origin: https://box.example\r\n", "", 403, NULL, "well");
    asks(&f, "GET", "/healthz", "Host: page.example\r\n", "", 403, NULL, "well");
    fixture_deinit(&f);
}

static void its_own_address_is_a_host_and_an_origin(void **state)
{
    char fields[128];
    Fixture f;

    (void)state;
    /* A loopback address that is not known as one by its name. */
    open_with(&f, (HttpDoorConfig){.address = "127.0.0.2:0"});
    (void)snprintf(fields, sizeof(fields), "Host: %s\r\nOrigin: http://%s\r\n",
                   http_door_address(f.door), http_door_address(f.door));
    asks(&f, "GET", "/healthz", fields, "", 200, "well", NULL);
    asks(&f, "GET", "/healthz", "Host: 127.0.0.3\r\n", "", 403, NULL, "well");
    asks(&f, "GET", "/healthz", "Origin: http://127.0.0.3\r\n", "", 403, NULL, "well");
    fixture_deinit(&f);
}

static void a_browser_is_told_what_it_may_send(void **state)
{
    Fixture f;

    (void)state;
    open_with(&f, (HttpDoorConfig){.path = NULL});
    asks(&f, "OPTIONS", "/mcp", "", "", 204, "Allow: POST, GET, DELETE, OPTIONS\r\n",
         "Access-Control");
    asks(&f, "OPTIONS", "*", "", "", 204, "Allow: POST, GET, DELETE, OPTIONS\r\n", NULL);
    asks(&f, "OPTIONS", "/mcp",
         "Origin: http://localhost\r\nAccess-Control-Request-Method: POST\r\n"
         "Access-Control-Request-Headers: content-type,mcp-param-region\r\n",
         "", 204, "Access-Control-Allow-Headers: content-type,mcp-param-region\r\n", NULL);
    asks(&f, "OPTIONS", "/mcp", "Origin: http://localhost\r\n", "", 204,
         "Access-Control-Allow-Methods: POST, GET, DELETE, OPTIONS\r\n", NULL);
    asks(&f, "OPTIONS", "/mcp", "Origin: http://localhost\r\n", "", 204, "Mcp-Session-Id", NULL);
    asks(&f, "OPTIONS", "/sse", "", "", 204, "Allow: GET, OPTIONS\r\n", NULL);
    asks(&f, "OPTIONS", "/messages", "", "", 204, "Allow: POST, OPTIONS\r\n", NULL);
    asks(&f, "OPTIONS", "/nowhere", "", "", 404, NULL, NULL);
    fixture_deinit(&f);
}

static void pages_are_read_and_nothing_else(void **state)
{
    Fixture f;

    (void)state;
    open_with(&f, (HttpDoorConfig){.path = NULL});
    asks(&f, "GET", "/healthz", "", "", 200, "well\n", NULL);
    asks(&f, "GET", "/", "", "", 200, "of ours\n", NULL);
    asks(&f, "GET", "/", "", "", 200, "text/html; charset=utf-8", NULL);
    asks(&f, "GET", "/?x", "", "", 200, "of ours\n", NULL);
    asks(&f, "HEAD", "/", "", "", 200, "Content-Length: 8\r\n", "of ours");
    asks(&f, "POST", "/", ACCEPT, "{}", 405, "Allow: GET, HEAD, OPTIONS\r\n", "of ours");
    assert_int_equal(http_door_figures(f.door).n_refused, 1);
    asks(&f, "GET", "/unwell", "", "", 503, "not yet\n", NULL);
    asks(&f, "GET", "/failing", "", "", 500, NULL, "half");
    /* That is our own failure, and no refusal. */
    assert_int_equal(http_door_figures(f.door).n_refused, 1);
    asks(&f, "GET", "/healthz/", "", "", 404, "text/plain", "well");
    asks(&f, "GET", "/MCP", "", "", 404, NULL, NULL);
    asks(&f, "GET", "/mcp/", "", "", 404, NULL, NULL);
    asks(&f, "PUT", "/mcp", ACCEPT, "{}", 405, "Allow: POST, GET, DELETE, OPTIONS\r\n", NULL);
    asks(&f, "POST", "/sse", ACCEPT, "{}", 405, "Allow: GET, OPTIONS\r\n", NULL);
    asks(&f, "GET", "/messages", "", "", 405, "Allow: POST, OPTIONS\r\n", NULL);
    asks(&f, "GET", "/.well-known/oauth-protected-resource", "", "", 404, NULL, NULL);
    fixture_deinit(&f);
}

static void the_path_of_mcp_can_be_another(void **state)
{
    Fixture f;

    (void)state;
    open_with(&f, (HttpDoorConfig){.path = "/tools/mcp"});
    assert_string_equal(http_door_path(f.door), "/tools/mcp");
    asks(&f, "POST", "/tools/mcp", MODERN_TOOL("echo"), ECHO, 200, "\"text\":\"m\"", NULL);
    asks(&f, "POST", "/mcp", MODERN_TOOL("echo"), ECHO, 404, NULL, NULL);
    fixture_deinit(&f);
}

static void bodies_are_taken_as_they_are(void **state)
{
    Fixture f;

    (void)state;
    open_with(&f, (HttpDoorConfig){.path = NULL});
    asks(&f, "POST", "/mcp", "Content-Encoding: Identity\r\n" MODERN_TOOL("echo"), ECHO, 200,
         "\"text\":\"m\"", NULL);
    asks(&f, "POST", "/mcp", "Content-Encoding: gzip\r\n" MODERN_TOOL("echo"), ECHO, 415,
         "Accept-Encoding: identity\r\n", "\"text\"");
    asks(&f, "POST", "/mcp", "Content-Encoding: gzip\r\n" MODERN_TOOL("echo"), ECHO, 415,
         "\"message\":\"Content-Encoding: ", NULL);
    asks(&f, "POST", "/mcp", "Content-Encoding: identity, br\r\n" MODERN_TOOL("echo"), ECHO, 415,
         NULL, "\"text\"");
    asks(&f, "POST", "/mcp",
         "Content-Encoding: identity\r\nContent-Encoding: br\r\n" MODERN_TOOL("echo"), ECHO, 415,
         NULL, "\"text\"");
    asks(&f, "POST", "/messages", "Content-Encoding: gzip\r\n" ACCEPT, ECHO, 415, NULL, NULL);
    /* Nothing is read of what a page is asked with. */
    asks(&f, "GET", "/healthz", "Content-Encoding: gzip\r\n", "", 200, "well", NULL);
    fixture_deinit(&f);
}

/* ---- another protocol beside it ---- */

typedef struct Side {
    unsigned status; /* of the last refusal */
    size_t n_body;   /* of the last request */
} Side;

static bool side_leads(void *context, Span path, Span *ret_allow)
{
    (void)context;
    *ret_allow = SPAN("POST");
    return span_equals(path, SPAN("/side"));
}

static void side_request(void *context, IoHttpExchange *x, Span body, Span owner, const char *who)
{
    Side *side = context;

    (void)owner;
    (void)who;
    side->n_body = body.n;
    (void)http_door_respond(x, 200, NULL, 0, SPAN("taken"));
}

static void side_gone(void *context, IoHttpExchange *x)
{
    (void)context;
    (void)x;
}

static void side_refuse(void *context, IoHttpExchange *x, unsigned status, const Http1Field *extra,
                        Span message)
{
    Side *side = context;

    side->status = status;
    (void)http_door_respond(x, status, extra, extra != NULL, message);
}

static void side_shutdown(void *context, const HttpDoor *door, int64_t end_ms)
{
    (void)context;
    (void)door;
    (void)end_ms;
}

/* The limit of MCP's messages is none of its. */
static void a_side_has_a_limit_of_its_own(void **state)
{
    static char body[5000];
    Side seen = {.status = 0};
    const HttpSide side = {side_leads, side_request, side_gone, side_refuse, side_shutdown, &seen};
    char head[128];
    Fixture f;
    Client c;

    (void)state;
    memset(body, 'b', sizeof(body) - 1);
    open_with(&f, (HttpDoorConfig){.side = &side, .max_request_bytes = 4000});
    asks(&f, "POST", "/mcp", ACCEPT, body, 413, NULL, NULL);
    asks(&f, "POST", "/side", ACCEPT, body, 200, "taken", NULL);
    assert_int_equal(seen.n_body, sizeof(body) - 1);
    (void)snprintf(head, sizeof(head),
                   "POST /side HTTP/1.1\r\nHost: localhost\r\nContent-Length: %llu\r\n\r\n",
                   (unsigned long long)LIMIT_COMMAND_BYTES + 1);
    client_open(&c, &f);
    client_sends(&c, head);
    client_awaits(&c, "HTTP/1.1 413 ");
    client_close(&c);
    assert_int_equal(seen.status, 413);
    asks(&f, "POST", "/side", "Content-Encoding: gzip\r\n", "{}", 415,
         "Accept-Encoding: identity\r\n", NULL);
    assert_int_equal(seen.status, 415);
    fixture_deinit(&f);
}

/* ---- credentials ---- */

static void auth_init(HttpAuth **ret, HttpAuthConfig config)
{
    Diag diag = DIAG_NULL;

    if (http_auth_new(ret, &config, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
}

static void a_token_is_needed_but_for_open_pages(void **state)
{
    HttpAuth *auth = NULL;
    Fixture f;

    (void)state;
    auth_init(&auth, (HttpAuthConfig){.token = SPAN("secret-token-of-the-test")});
    open_with(&f, (HttpDoorConfig){.auth = auth});
    asks(&f, "POST", "/mcp", MODERN_TOOL("echo"), ECHO, 401, "WWW-Authenticate: Bearer",
         "\"text\"");
    asks(&f, "POST", "/mcp", MODERN_TOOL("echo"), ECHO, 401, "\"error\":{\"code\":-32600", NULL);
    asks(&f, "POST", "/mcp",
         "Authorization: Bearer secret-token-of-the-tesT\r\n" MODERN_TOOL("echo"), ECHO, 401,
         "WWW-Authenticate: Bearer", "\"text\"");
    asks(&f, "POST", "/mcp",
         "Authorization: Bearer secret-token-of-the-test\r\n" MODERN_TOOL("echo"), ECHO, 200,
         "\"text\":\"m\"", NULL);
    asks(&f, "GET", "/healthz", "", "", 200, "well", NULL);
    asks(&f, "GET", "/", "", "", 401, NULL, "of ours");
    asks(&f, "GET", "/", "Authorization: Bearer secret-token-of-the-test\r\n", "", 200, "of ours",
         NULL);
    asks(&f, "GET", "/sse", "", "", 401, NULL, NULL);
    asks(&f, "GET", "/nowhere", "", "", 401, NULL, NULL);
    asks(&f, "OPTIONS", "/mcp", "Origin: http://localhost\r\n", "", 204, NULL, NULL);
    /* Nor do they make up for a wrong Host. */
    asks(&f, "GET", "/", "Host: evil.example\r\nAuthorization: Bearer secret-token-of-the-test\r\n",
         "", 403, NULL, NULL);
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

static void the_same_credentials_share_their_places(void **state)
{
    static const char token[] = "Authorization: Bearer secret-token-of-the-test\r\n";
    RouterLimits limits = {.max_in_flight = 1};
    HttpAuth *auth = NULL;
    char fields[512];
    Fixture f;
    Client c;

    (void)state;
    auth_init(&auth, (HttpAuthConfig){.token = SPAN("secret-token-of-the-test")});
    open_with(&f, (HttpDoorConfig){.auth = auth, .limits = &limits});
    client_open(&c, &f);
    (void)snprintf(fields, sizeof(fields), "%s" MODERN_TOOL("hold"), token);
    client_asks(&c, "POST", "/mcp", fields, CALL("1", "hold", "{}"));
    await_held(&f, 1);
    (void)snprintf(fields, sizeof(fields), "%s" MODERN_TOOL("echo"), token);
    asks(&f, "POST", "/mcp", fields, ECHO, 200, "-32003", "\"text\":\"m\"");
    hold_let_go(&f);
    client_awaits(&c, "let go");
    asks(&f, "POST", "/mcp", fields, ECHO, 200, "\"text\":\"m\"", NULL);
    client_close(&c);
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

static void listening_wider_needs_credentials(void **state)
{
    HttpAuth *auth = NULL;
    Diag diag = DIAG_NULL;
    Fixture f;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.address = "0.0.0.0:0"}, &diag),
                     IO_HTTP_E_PLACE);
    assert_non_null(strstr(diag.message, "--token-file"));
    fixture_deinit(&f);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.address = "nonsense"}, &diag),
                     IO_HTTP_E_PLACE);
    fixture_deinit(&f);
    auth_init(&auth, (HttpAuthConfig){.token = SPAN("secret-token-of-the-test")});
    open_with(&f, (HttpDoorConfig){.address = "0.0.0.0:0", .auth = auth});
    asks(&f, "GET", "/healthz", "", "", 200, "well", NULL);
    asks(&f, "GET", "/healthz", "Origin: http://evil.example\r\n", "", 403, NULL, "well");
    asks(&f, "GET", "/", "", "", 401, NULL, "of ours");
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

/* GET /healthz on a connection to 127.0.0.2, which is no name of loopback here, only an address. */
static void asks_at_two(Fixture *f, const char *host, const char *status)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
    const char *port = strrchr(http_door_address(f->door), ':') + 1;
    char fields[320];
    Client c;

    client_open(&c, f);
    assert_int_equal(close(c.fd), 0);
    c.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    place.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    assert_int_equal(connect(c.fd, (const struct sockaddr *)&place, sizeof(place)), 0);
    assert_int_equal(fcntl(c.fd, F_SETFL, O_NONBLOCK), 0);
    (void)snprintf(fields, sizeof(fields), "Host: %s\r\n", host);
    client_asks(&c, "GET", "/healthz", fields, "");
    client_awaits(&c, status);
    client_close(&c);
}

static void listening_wider_it_goes_by_its_own_names(void **state)
{
    HttpAuth *auth = NULL;
    char name[256];
    char field[320];
    Fixture f;

    (void)state;
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    auth_init(&auth, (HttpAuthConfig){.token = SPAN("secret-token-of-the-test")});
    open_with(&f, (HttpDoorConfig){.address = "0.0.0.0:0", .auth = auth});
    asks(&f, "GET", "/healthz", "Host: any.name\r\n", "", 403, "allowed_hosts", "well");
    asks(&f, "GET", "/healthz", "Host: localhost:1\r\n", "", 200, "well", NULL);
    asks(&f, "GET", "/healthz", "Host: 127.0.0.2\r\n", "", 403, "allowed_hosts", "well");
    (void)snprintf(field, sizeof(field), "Host: %s:7410\r\n", name);
    asks(&f, "GET", "/healthz", field, "", 200, "well", NULL);
    asks_at_two(&f, "127.0.0.2:7410", "HTTP/1.1 200 ");
    asks_at_two(&f, "127.0.0.2", "HTTP/1.1 200 ");
    asks_at_two(&f, "127.0.0.3", "HTTP/1.1 403 ");
    asks_at_two(&f, "127.0.0.2.evil.example", "HTTP/1.1 403 ");
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

/* On loopback a page of this machine's name is a stranger's: whoever can give that name another
 * address could come in by it. */
static void on_loopback_the_name_of_the_machine_is_no_host(void **state)
{
    char name[256];
    char field[320];
    Fixture f;

    (void)state;
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    open_with(&f, (HttpDoorConfig){.path = NULL});
    if (strcmp(name, "localhost") != 0) {
        (void)snprintf(field, sizeof(field), "Host: %s\r\n", name);
        asks(&f, "GET", "/healthz", field, "", 403, "allowed_hosts", "well");
    }
    fixture_deinit(&f);
}

static void listening_wider_it_goes_by_the_names_it_was_told(void **state)
{
    const char *const hosts[] = {"box.example", NULL};
    HttpAuth *auth = NULL;
    char name[256];
    char field[320];
    Fixture f;

    (void)state;
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    auth_init(&auth, (HttpAuthConfig){.token = SPAN("secret-token-of-the-test")});
    open_with(&f, (HttpDoorConfig){.address = "0.0.0.0:0", .auth = auth, .hosts = hosts});
    asks(&f, "GET", "/healthz", "Host: box.example:99\r\n", "", 200, "well", NULL);
    asks(&f, "GET", "/healthz", "Host: localhost\r\n", "", 200, "well", NULL);
    asks(&f, "GET", "/healthz", "Host: any.name\r\n", "", 403, "allowed_hosts", "well");
    if (strcmp(name, "localhost") != 0) {
        (void)snprintf(field, sizeof(field), "Host: %s\r\n", name);
        asks(&f, "GET", "/healthz", field, "", 403, "allowed_hosts", "well");
    }
    asks_at_two(&f, "127.0.0.2", "HTTP/1.1 403 ");
    asks_at_two(&f, "box.example", "HTTP/1.1 200 ");
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

/* A key set, and tokens of two users that are signed with it and end in the year 2100. */
#define KEYS                                                                                       \
    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k1\",\"alg\":\"ES256\","               \
    "\"use\":\"sig\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\","                       \
    "\"y\":\"m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8\"}]}"
#define TOKEN_HEAD "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImsxIn0."
#define ALICE                                                                                      \
    TOKEN_HEAD                                                                                     \
    "eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaHR0cHM6Ly9odWIuZXhhbXBsZS9t"             \
    "Y3AiLCJzdWIiOiJhbGljZSIsImNsaWVudF9pZCI6ImMiLCJpYXQiOjE3MDAwMDAwMDAsImV4cCI6NDEw"             \
    "MjQ0NDgwMCwianRpIjoiYWxpY2UifQ.cKwDWp3mhYVqrTrWLu3V9qHViCdt2rdIkLJYaPCAjiQ_Ypdp_"             \
    "45n168Uv-6mRivnKDeOAQtLBReUQP_zMB0TNw"
#define BOB                                                                                        \
    TOKEN_HEAD                                                                                     \
    "eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaHR0cHM6Ly9odWIuZXhhbXBsZS9t"             \
    "Y3AiLCJzdWIiOiJib2IiLCJjbGllbnRfaWQiOiJjIiwiaWF0IjoxNzAwMDAwMDAwLCJleHAiOjQxMDI0"             \
    "NDQ4MDAsImp0aSI6ImJvYiJ9.9PC3IMRaZkKmumM-u_lyzlxJUJ5p4-gQy7CvreUWppT8N2HtL90jQ0h"             \
    "CUZOBPAWVPI3eDJPo_oV4GZ6qO4JRYw"

static void issuers_init(HttpAuth **ret)
{
    static const HttpAuthIssuer issuers[] = {
        {SPAN_INIT("https://issuer.example"), SPAN_INIT(KEYS)}};

    auth_init(ret, (HttpAuthConfig){
                       .resource = SPAN("https://hub.example/mcp"),
                       .issuers = issuers,
                       .n_issuers = 1,
                       .metadata_url =
                           SPAN("https://hub.example/.well-known/oauth-protected-resource/mcp")});
}

static void issuers_have_metadata_that_everybody_may_read(void **state)
{
    static const char path[] = "/.well-known/oauth-protected-resource";
    HttpAuth *auth = NULL;
    Fixture f;

    (void)state;
    issuers_init(&auth);
    open_with(&f, (HttpDoorConfig){.auth = auth});
    asks(&f, "GET", path, "", "", 200, "https://issuer.example", NULL);
    asks(&f, "GET", path, "", "", 200, "application/json", NULL);
    asks(&f, "GET", "/.well-known/oauth-protected-resource/mcp", "", "", 200,
         "https://hub.example/mcp", NULL);
    asks(&f, "GET", "/.well-known/oauth-protected-resource/other", "", "", 401, NULL, NULL);
    asks(&f, "POST", "/mcp", MODERN_TOOL("echo"), ECHO, 401,
         "https://hub.example/.well-known/oauth-protected-resource/mcp", NULL);
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

static void a_session_is_of_the_one_who_opened_it(void **state)
{
    char session[1024];
    char fields[1024];
    HttpAuth *auth = NULL;
    Fixture f;
    Client c;

    (void)state;
    issuers_init(&auth);
    open_with(&f, (HttpDoorConfig){.auth = auth});
    client_open(&c, &f);
    client_opens_session(&c, "Authorization: Bearer " ALICE "\r\n", session);
    client_close(&c);
    asks(&f, "POST", "/mcp", session, OLD_CALL("1", "echo", "{\"message\":\"m\"}"), 200, NULL,
         NULL);
    (void)snprintf(fields, sizeof(fields), "Authorization: Bearer " BOB "\r\n%s",
                   strstr(session, "\r\n") + 2);
    asks(&f, "POST", "/mcp", fields, OLD_CALL("1", "echo", "{\"message\":\"m\"}"), 404, NULL,
         "\"text\"");
    asks(&f, "DELETE", "/mcp", fields, "", 404, NULL, NULL);
    asks(&f, "DELETE", "/mcp", session, "", 204, NULL, NULL);
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_origin_are_checked_each_alone),
        cmocka_unit_test(more_hosts_and_origins_can_be_let_in),
        cmocka_unit_test(its_own_address_is_a_host_and_an_origin),
        cmocka_unit_test(a_browser_is_told_what_it_may_send),
        cmocka_unit_test(pages_are_read_and_nothing_else),
        cmocka_unit_test(the_path_of_mcp_can_be_another),
        cmocka_unit_test(bodies_are_taken_as_they_are),
        cmocka_unit_test(a_side_has_a_limit_of_its_own),
        cmocka_unit_test(a_token_is_needed_but_for_open_pages),
        cmocka_unit_test(the_same_credentials_share_their_places),
        cmocka_unit_test(listening_wider_needs_credentials),
        cmocka_unit_test(on_loopback_the_name_of_the_machine_is_no_host),
        cmocka_unit_test(listening_wider_it_goes_by_its_own_names),
        cmocka_unit_test(listening_wider_it_goes_by_the_names_it_was_told),
        cmocka_unit_test(issuers_have_metadata_that_everybody_may_read),
        cmocka_unit_test(a_session_is_of_the_one_who_opened_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
