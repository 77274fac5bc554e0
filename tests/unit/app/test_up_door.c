/* The hub's HTTP door with its settings: what makes it another one, and what it cannot be made of.
 */
#include "app/up_door.h"

#include "support/cmocka.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/oom_sweep.h"

static const McpIdentity identity = {.name = SPAN_INIT("t"), .version = SPAN_INIT("1")};

typedef struct Fixture {
    Hub *hub;
    char folder[32];
    char token[64];
    size_t n_closed;
    size_t n_asked; /* for the page */
} Fixture;

static void on_closed(void *context, UpDoor *door)
{
    Fixture *f = context;

    (void)door;
    f->n_closed++;
    io_loop_stop(hub_loop(f->hub));
}

static int on_page(void *context, Bytes *out)
{
    Fixture *f = context;

    (void)out;
    f->n_asked++;
    io_loop_stop(hub_loop(f->hub));
    return 0;
}

static const HttpPage page = {
    .path = "/page", .type = "text/plain", .is_open = true, .write = on_page};

static void write_token(const Fixture *f, const char *text)
{
    FILE *file = fopen(f->token, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(f->token, 0600), 0);
}

static void setup(Fixture *f)
{
    *f = (Fixture){.n_closed = 0};
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tw-door-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->token, sizeof(f->token), "%s/token", f->folder);
    write_token(f, "0123456789abcdef\n");
    assert_int_equal(hub_new(&f->hub, NULL), 0);
}

static void teardown(Fixture *f)
{
    (void)hub_free(f->hub);
    assert_int_equal(unlink(f->token), 0);
    assert_int_equal(rmdir(f->folder), 0);
}

static int make(Fixture *f, const Config *config, UpDoor **ret, Diag *diag)
{
    return up_door_new(ret,
                       &(UpDoorConfig){.hub = f->hub,
                                       .identity = &identity,
                                       .config = config,
                                       .seed = {1, 2},
                                       .pages = &page,
                                       .n_pages = 1,
                                       .pages_context = f,
                                       .closed = on_closed,
                                       .context = f},
                       diag);
}

/* Made of a configuration's text; %s in it is the token file. */
static UpDoor *made(Fixture *f, const char *text)
{
    Diag diag = DIAG_NULL;
    UpDoor *door = NULL;
    char filled[512];
    Config config;

    /* The texts are constants of this file. */
    (void)snprintf(filled, sizeof(filled), "%s%s\"}}", text, f->token);
    assert_int_equal(config_parse(&config, span_from_str(filled), "/c", &diag), 0);
    assert_int_equal(make(f, &config, &door, &diag), 0);
    config_deinit(&config);
    return door;
}

#define HTTP(members) "{" members "\"http\":{\"address\":\"127.0.0.1:0\","
#define TOKEN         "\"token_file\":\""

static void every_setting_makes_a_difference(void **state)
{
    static const char *const others[] = {
        HTTP("") "\"path\":\"/rpc\"," TOKEN,
        HTTP("") "\"allowed_hosts\":[\"a\"]," TOKEN,
        HTTP("") "\"allowed_origins\":[\"http://a\"]," TOKEN,
        HTTP("\"limits\":{\"rate_burst\":5},") TOKEN,
        HTTP("\"limits\":{\"rate\":\"off\"},") TOKEN,
        HTTP("\"limits\":{\"drain_ms\":5},") TOKEN,
        HTTP("\"limits\":{\"max_request_bytes\":5000},") TOKEN,
        HTTP("\"limits\":{\"call_timeout_max_ms\":5000},") TOKEN,
    };
    Fixture f;
    UpDoor *door;
    UpDoor *other;

    (void)state;
    setup(&f);
    door = made(&f, HTTP("") TOKEN);
    other = made(&f, HTTP("\"write_root\":\"x\",") TOKEN);
    assert_true(up_door_is_same(door, other));
    other = up_door_free(other);
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        other = made(&f, others[i]);
        assert_false(up_door_is_same(door, other));
        assert_true(up_door_is_at(door, other));
        other = up_door_free(other);
    }
    other = made(&f, "{\"http\":{\"address\":\"[::1]:0\"," TOKEN);
    assert_false(up_door_is_same(door, other));
    assert_false(up_door_is_at(door, other));
    other = up_door_free(other);
    /* What the file holds counts, not its name, nor its length. */
    write_token(&f, "0123456789abcdeF\n");
    other = made(&f, HTTP("") TOKEN);
    assert_false(up_door_is_same(door, other));
    assert_true(up_door_needs_token(other));
    assert_false(up_door_needs_access(other));
    other = up_door_free(other);
    door = up_door_free(door);
    teardown(&f);
}

static int connect_to(const char *place)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons((uint16_t)strtoul(strrchr(place, ':') + 1, NULL, 10));
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void ask(int fd)
{
    static const char request[] = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";

    assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
}

/* Somebody who has connected and asks for the page; returns the connection. */
static int knock(const char *place)
{
    int fd = connect_to(place);

    ask(fd);
    return fd;
}

static void run_until(Fixture *f, size_t n_closed, size_t n_asked)
{
    while (f->n_closed < n_closed || f->n_asked < n_asked) {
        assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
    }
}

static void a_successor_takes_the_place(void **state)
{
    Diag diag = DIAG_NULL;
    Fixture f;
    UpDoor *first;
    UpDoor *second;
    char place[64];
    int peers[4];

    (void)state;
    setup(&f);
    first = made(&f, HTTP("") TOKEN);
    second = made(&f, HTTP("") "\"path\":\"/rpc\"," TOKEN);
    assert_null(up_door_http(first));
    assert_int_equal(up_door_open(first, NULL, &diag), 0);
    (void)snprintf(place, sizeof(place), "%s", http_door_address(up_door_http(first)));
    assert_string_not_equal(place, "127.0.0.1:0");
    peers[0] = connect_to(place);
    peers[1] = knock(place);
    run_until(&f, 0, 1);
    /* Accepted, but not read; neither, since the loop does not run; and when there are two. */
    ask(peers[0]);
    peers[2] = knock(place);
    assert_int_equal(up_door_open(second, first, &diag), 0);
    up_door_shutdown(first);
    peers[3] = knock(place);
    assert_string_equal(http_door_address(up_door_http(second)), place);
    assert_string_equal(http_door_path(up_door_http(second)), "/rpc");
    assert_int_equal(f.n_closed, 0);
    run_until(&f, 0, 4);
    /* Its last answer was for the first of them, who would be waited for. */
    for (size_t i = 0; i < TW_ARRAY_SIZE(peers); i++) {
        assert_int_equal(close(peers[i]), 0);
    }
    run_until(&f, 1, 4);
    assert_int_equal(http_door_figures(up_door_http(second)).n_requests, 2);
    first = up_door_free(first);
    second = up_door_free(second);
    assert_null(up_door_free(second));
    teardown(&f);
}

/* Who was given a free port may write down which. */
static void the_port_that_it_has_got_is_its_own(void **state)
{
    Diag diag = DIAG_NULL;
    UpDoor *first;
    UpDoor *second;
    char text[128];
    Fixture f;

    (void)state;
    setup(&f);
    first = made(&f, HTTP("") TOKEN);
    assert_int_equal(up_door_open(first, NULL, &diag), 0);
    (void)snprintf(text, sizeof(text), "{\"http\":{\"address\":\"%s\"," TOKEN,
                   http_door_address(up_door_http(first)));
    second = made(&f, text);
    assert_true(up_door_is_at(second, first));
    assert_true(up_door_is_same(second, first));
    second = up_door_free(second);
    (void)snprintf(text, sizeof(text),
                   "{\"http\":{\"address\":\"localhost:%u\",\"path\":\"/rpc\"," TOKEN,
                   http_door_port(up_door_http(first)));
    second = made(&f, text);
    assert_true(up_door_is_at(second, first));
    assert_false(up_door_is_same(second, first));
    assert_int_equal(up_door_open(second, first, &diag), 0);
    up_door_shutdown(first);
    first = up_door_free(first);
    second = up_door_free(second);
    teardown(&f);
}

/* The file of a socket is the successor's, and goes with it. */
static void a_successor_takes_the_socket(void **state)
{
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    UpDoor *first = NULL;
    UpDoor *second = NULL;
    char address[96];
    Fixture f;

    (void)state;
    setup(&f);
    (void)snprintf(address, sizeof(address), "unix:%s/s", f.folder);
    assert_int_equal(config_replace(&config.http.address, address), 0);
    assert_int_equal(make(&f, &config, &first, &diag), 0);
    assert_int_equal(make(&f, &config, &second, &diag), 0);
    assert_int_equal(up_door_open(first, NULL, &diag), 0);
    assert_int_equal(up_door_open(second, first, &diag), 0);
    up_door_shutdown(first);
    first = up_door_free(first);
    assert_int_equal(access(address + 5, F_OK), 0);
    second = up_door_free(second);
    assert_int_not_equal(access(address + 5, F_OK), 0);
    config_deinit(&config);
    teardown(&f);
}

static void an_address_may_be_in_the_way_of_another(void **state)
{
    static const struct {
        const char *format;
        bool is_in_way;
    } cases[] = {
        {"0.0.0.0%s", true}, {"[::]%s", true}, {"127.0.0.2%s", false}, {"0.0.0.0:1", false}};
    Diag diag = DIAG_NULL;
    Fixture f;
    UpDoor *first;

    (void)state;
    setup(&f);
    first = made(&f, HTTP("") TOKEN);
    assert_int_equal(up_door_open(first, NULL, &diag), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const char *port = strrchr(http_door_address(up_door_http(first)), ':');
        const char *rest = strstr(cases[i].format, "%s");
        Config config = CONFIG_NULL;
        UpDoor *other = NULL;
        char address[64];

        (void)snprintf(
            address, sizeof(address), "%.*s%s",
            (int)(rest == NULL ? strlen(cases[i].format) : (size_t)(rest - cases[i].format)),
            cases[i].format, rest == NULL ? "" : port);
        assert_int_equal(config_replace(&config.http.address, address), 0);
        assert_int_equal(make(&f, &config, &other, &diag), 0);
        assert_int_equal(up_door_is_in_way(other, first), cases[i].is_in_way);
        other = up_door_free(other);
        config_deinit(&config);
    }
    first = up_door_free(first);
    teardown(&f);
}

static void what_cannot_be_read_is_named(void **state)
{
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    UpDoor *door = NULL;
    Fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(config_replace(&config.http.address, "127.0.0.1:0"), 0);
    assert_int_equal(config_replace(&config.http.token_file, "/nowhere/token"), 0);
    assert_int_equal(make(&f, &config, &door, &diag), UP_DOOR_E_CONFIG);
    assert_non_null(strstr(diag.message, "/nowhere/token"));
    config_deinit(&config);
    assert_int_equal(config_parse(&config,
                                  SPAN("{\"http\":{\"address\":\"127.0.0.1:0\",\"auth\":{"
                                       "\"resource\":\"https://h/mcp\",\"issuers\":[{\"issuer\":"
                                       "\"i\",\"jwks\":\"/nowhere/keys\"}]}}}"),
                                  "/c", &diag),
                     0);
    assert_int_equal(make(&f, &config, &door, &diag), UP_DOOR_E_CONFIG);
    assert_non_null(strstr(diag.message, "/nowhere/keys"));
    config_deinit(&config);
    assert_null(door);
    teardown(&f);
}

static void a_wide_address_needs_a_token(void **state)
{
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    UpDoor *door = NULL;
    Fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(config_replace(&config.http.address, "0.0.0.0:0"), 0);
    assert_int_equal(make(&f, &config, &door, &diag), 0);
    assert_int_equal(up_door_open(door, NULL, &diag), UP_DOOR_E_PLACE);
    assert_non_null(strstr(diag.message, "--token-file"));
    assert_non_null(strstr(diag.message, "http.token_file"));
    assert_int_equal(up_door_check(door, &diag), UP_DOOR_E_PLACE);
    door = up_door_free(door);
    assert_int_equal(config_replace(&config.http.token_file, f.token), 0);
    assert_int_equal(make(&f, &config, &door, &diag), 0);
    assert_int_equal(up_door_open(door, NULL, &diag), 0);
    door = up_door_free(door);
    config_deinit(&config);
    teardown(&f);
}

typedef struct Sweep {
    Fixture *f;
    const Config *config;
} Sweep;

static int make_once(void *context)
{
    const Sweep *sweep = context;
    UpDoor *door = NULL;
    int r = make(sweep->f, sweep->config, &door, NULL);

    door = up_door_free(door);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    static const char *const hosts[] = {"a", "b", NULL};
    Config config = CONFIG_NULL;
    Fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(config_replace(&config.http.address, "127.0.0.1:0"), 0);
    assert_int_equal(config_replace(&config.http.token_file, f.token), 0);
    assert_int_equal(config_replace_list(&config.http.allowed_hosts, hosts), 0);
    assert_int_equal(config_replace_list(&config.http.scopes, hosts), 0);
    test_oom_sweep(make_once, &(Sweep){&f, &config});
    config_deinit(&config);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_makes_a_difference),
        cmocka_unit_test(a_successor_takes_the_place),
        cmocka_unit_test(the_port_that_it_has_got_is_its_own),
        cmocka_unit_test(a_successor_takes_the_socket),
        cmocka_unit_test(an_address_may_be_in_the_way_of_another),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(a_wide_address_needs_a_token),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
