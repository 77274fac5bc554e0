#include "app/pages.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "app/http_door_internal.h"
#include "http_door_rig.h"
#include "support/oom_sweep.h"

/* Pages of a router that has tools of two providers and one whose name a page must escape. */
typedef struct Scene {
    Router *router;
    Watch *watch;
    Pages pages;
    int fill_r;
} Scene;

static void quick_start(void *context, Call *call)
{
    (void)context;
    call_finish(call, &(CallResult){.kind = CALL_RESULT_TOOL});
}

static const CallProvider quick = {.name = "quick", .start = quick_start};
static const CallProvider odd = {.name = "<odd>&\"", .start = quick_start};

static void on_finish(Call *call, const CallResult *result)
{
    (void)call;
    (void)result;
}

static const CallDoor page_door = {.finish = on_finish};
static const CallAsker page_asker = {.dialect = "<mcp>", .who = "stdio"};

static const PagesPlace page_places[] = {{"MCP over HTTP", "http://127.0.0.1:1/mcp"},
                                         {"<script>", "\"&'"}};

static void fill(void *context)
{
    Scene *s = context;

    s->fill_r = router_add(
        s->router,
        &(RouterSpec){.kind = ROUTER_PROMPT, .json = SPAN("{\"name\":\"p\"}"), .provider = &quick},
        NULL);
}

static int add_page_tool(Scene *s, const char *json, const CallProvider *provider)
{
    return router_add(
        s->router,
        &(RouterSpec){
            .kind = ROUTER_TOOL, .json = span_from_str(json), .provider = provider, .context = s},
        NULL);
}

static int scene_make(Scene *s)
{
    int r;

    *s = (Scene){.fill_r = 0};
    r = router_new(&s->router, NULL, (HashSeed){.k0 = 1, .k1 = 2});
    if (r == 0) {
        r = watch_new(&s->watch);
    }
    if (r == 0) {
        router_set_watch(s->router, watch_hooks(s->watch));
        router_set_filler(s->router, fill, s);
        r = add_page_tool(s, "{\"name\":\"q\",\"inputSchema\":{\"type\":\"object\"}}", &quick);
    }
    if (r == 0) {
        r = add_page_tool(s, "{\"name\":\"r\",\"inputSchema\":{\"type\":\"object\"}}", &quick);
    }
    if (r == 0) {
        r = add_page_tool(s, "{\"name\":\"o\",\"inputSchema\":{\"type\":\"object\"}}", &odd);
    }
    s->pages = (Pages){.watch = s->watch,
                       .router = s->router,
                       .places = page_places,
                       .n_places = sizeof(page_places) / sizeof(page_places[0])};
    return r;
}

static void scene_unmake(Scene *s)
{
    s->router = router_free(s->router);
    s->watch = watch_free(s->watch);
}

static void scene_call(Scene *s, const char *tool)
{
    Call call;

    call_init(&call);
    call.door = &page_door;
    call.asker = &page_asker;
    call.target = span_from_str(tool);
    router_dispatch(s->router, NULL, &call);
    call_deinit(&call);
}

static const HttpPage *page(const char *path)
{
    size_t n;
    const HttpPage *all = pages_all(&n);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].path, path) == 0) {
            return &all[i];
        }
    }
    fail_msg("no page %s", path);
    return NULL;
}

/* The body, NUL-terminated; bytes_deinit. */
static Bytes body_of(Scene *s, const char *path, int status)
{
    Bytes out;

    bytes_init(&out, 1 << 20);
    assert_int_equal(page(path)->write(&s->pages, &out), status);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    return out;
}

static void health_is_open_and_short(void **state)
{
    Scene s;
    Bytes out;

    (void)state;
    assert_int_equal(scene_make(&s), 0);
    out = body_of(&s, "/healthz", 0);
    assert_string_equal(out.data,
                        "{\"status\":\"ok\",\"version\":\"" TOOLWIRE_VERSION "\",\"uptime_s\":0}");
    assert_string_equal(page("/healthz")->type, "application/json");
    assert_true(page("/healthz")->is_open);
    assert_false(page("/metrics")->is_open);
    assert_false(page("/")->is_open);
    bytes_deinit(&out);
    scene_unmake(&s);
}

static void metrics_count_what_is_only_made_when_needed(void **state)
{
    Scene s;
    Bytes out;

    (void)state;
    assert_int_equal(scene_make(&s), 0);
    out = body_of(&s, "/metrics", 0);
    assert_non_null(strstr(out.data, "toolwire_prompts{provider=\"quick\"} 1\n"));
    assert_non_null(strstr(out.data, "toolwire_tools{provider=\"quick\"} 2\n"));
    assert_non_null(strstr(page("/metrics")->type, "version=0.0.4"));
    bytes_deinit(&out);
    scene_unmake(&s);
}

static void the_status_page_shows_everything_and_lets_nothing_in(void **state)
{
    Scene s;
    const char *row;
    Bytes out;

    (void)state;
    assert_int_equal(scene_make(&s), 0);
    scene_call(&s, "q");
    scene_call(&s, "q");
    scene_call(&s, "o");
    scene_call(&s, "nothing");
    out = body_of(&s, "/", 0);
    assert_non_null(strstr(out.data, "<h1>toolwire " TOOLWIRE_VERSION "</h1>"));
    assert_non_null(strstr(out.data, "default-src 'none'"));
    assert_non_null(strstr(out.data, "color-scheme:light dark"));
    assert_non_null(strstr(out.data, "width=device-width"));
    assert_non_null(strstr(out.data, "href=\"/metrics\""));
    assert_non_null(strstr(out.data, "http://127.0.0.1:1/mcp"));
    /* Tools, resources, templates, prompts. */
    assert_non_null(strstr(out.data, "<tr><td>quick<td>2<td>0<td>0<td>1\n"));
    /* Calls, running, errors, refused, cancelled. */
    assert_non_null(strstr(out.data, "<tr><td>quick<td>2<td>0<td>0<td>0<td>0<td>"));
    assert_non_null(strstr(out.data, "<tr><td>router<td>1<td>0<td>0<td>1<td>0<td>"));
    row = strstr(out.data, "<tr><td>&lt;mcp&gt;<td>4<td>0<td>0<td>1<td>0<td>");
    assert_non_null(row);
    assert_null(strstr(row + 1, "<tr><td>&lt;mcp&gt;"));
    assert_non_null(strstr(out.data, "&lt;odd&gt;&amp;&quot;"));
    assert_non_null(strstr(out.data, "<dt>&lt;script&gt;<dd>&quot;&amp;'"));
    assert_null(strstr(out.data, "<script"));
    assert_null(strstr(out.data, "<odd"));
    assert_null(strstr(out.data, "<mcp"));
    assert_null(strstr(out.data, "<h2>HTTP"));
    bytes_deinit(&out);
    scene_unmake(&s);
}

static void the_icon_is_nothing(void **state)
{
    Scene s;
    Bytes out;

    (void)state;
    assert_int_equal(scene_make(&s), 0);
    out = body_of(&s, "/favicon.ico", 204);
    assert_int_equal(out.n, 1);
    bytes_deinit(&out);
    scene_unmake(&s);
}

static void a_page_that_does_not_fit_is_a_failure(void **state)
{
    static const char *const paths[] = {"/healthz", "/metrics", "/"};
    Scene s;

    (void)state;
    assert_int_equal(scene_make(&s), 0);
    for (size_t i = 0; i < 3; i++) {
        Bytes out;

        bytes_init(&out, 20);
        assert_int_equal(page(paths[i])->write(&s.pages, &out), BYTES_E_FULL);
        bytes_deinit(&out);
    }
    scene_unmake(&s);
}

static int scenario(void *context)
{
    size_t n;
    const HttpPage *all = pages_all(&n);
    Scene s;
    int r = scene_make(&s);

    (void)context;
    for (size_t i = 0; i < n && r == 0; i++) {
        Bytes out;

        bytes_init(&out, 1 << 20);
        r = all[i].write(&s.pages, &out);
        r = r == 204 ? s.fill_r : r;
        bytes_deinit(&out);
    }
    scene_unmake(&s);
    return r;
}

static void every_lack_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

/* ---- through the door ---- */

typedef struct Served {
    Fixture f;
    Pages pages;
} Served;

static void serve(Served *served)
{
    size_t n;
    const HttpPage *all = pages_all(&n);

    (void)alarm(WATCHDOG_S);
    io_ignore_sigpipe();
    assert_int_equal(
        fixture_open(&served->f,
                     (HttpDoorConfig){.pages = all, .n_pages = n, .pages_context = &served->pages},
                     NULL),
        0);
    served->pages = (Pages){.router = hub_router(served->f.hub), .door = served->f.door};
    assert_int_equal(watch_new(&served->pages.watch), 0);
    router_set_watch(hub_router(served->f.hub), watch_hooks(served->pages.watch));
}

static void serve_end(Served *served)
{
    fixture_deinit(&served->f);
    served->pages.watch = watch_free(served->pages.watch);
}

static void browsers_and_scrapers_are_served(void **state)
{
    Served served;
    Client c;

    (void)state;
    serve(&served);
    client_open(&c, &served.f);
    client_calls_echo(&c);
    client_asks(&c, "GET", "/healthz", "", "");
    client_awaits(&c, "HTTP/1.1 200 ");
    client_awaits(&c, "{\"status\":\"ok\",");
    client_asks(&c, "GET", "/metrics", "", "");
    client_awaits(&c, "toolwire_calls_total{provider=\"diagnostics\",dialect=\"mcp-http\","
                      "verb=\"tool\",outcome=\"ok\"} 1\n");
    client_awaits(&c, "toolwire_http_requests_total 3\n");
    client_awaits(&c, "toolwire_http_connections 1\n");
    client_asks(&c, "GET", "/", "", "");
    client_awaits(&c, "<h2>HTTP</h2>");
    client_awaits(&c, "</html>");
    client_asks(&c, "GET", "/favicon.ico", "", "");
    client_awaits(&c, "HTTP/1.1 204 ");
    /* Nothing of it is taken for a body. */
    client_calls_echo(&c);
    client_close(&c);
    serve_end(&served);
}

static void a_call_over_http_says_from_where_it_comes(void **state)
{
    Served served;
    char fields[1024];
    Client c;

    (void)state;
    serve(&served);
    client_open(&c, &served.f);
    client_opens_session(&c, "", fields);
    client_asks(&c, "POST", "/mcp", fields, OLD_CALL("2", "hold", "{}"));
    await_held(&served.f, 1);
    assert_string_equal(served.f.held->asker->dialect, "mcp-http");
    assert_int_equal(strncmp(served.f.held->asker->who, "127.0.0.1:", 10), 0);
    assert_null(strchr(served.f.held->asker->who, ' '));
    /* Also when it has gone. */
    client_close(&c);
    await_connections(&served.f, 0);
    assert_int_equal(strncmp(served.f.held->asker->who, "127.0.0.1:", 10), 0);
    hold_let_go(&served.f);
    serve_end(&served);
}

/* What MCP tells the door, without a connection. */
static void a_call_over_a_credential_says_whose_it_is(void **state)
{
    HttpAsker who = {.grant = {.subject = "alice"}};
    HttpLink link = {.address = "192.0.2.1:9"};
    HttpDoor door = {.asking = &link};
    Fixture f;
    Call call;

    (void)state;
    assert_int_equal(fixture_prepare(&f, NULL), 0);
    door.router = hub_router(f.hub);
    router_quota_init(&who.quota, NULL, 0);
    call_init(&call);
    call.door = &page_door;
    call.target = SPAN("hold");
    http_door_owner.call(&door, &who, 0, &call);
    assert_string_equal(f.held->asker->dialect, "mcp-http");
    assert_string_equal(f.held->asker->who, "192.0.2.1:9 alice");
    hold_let_go(&f);
    /* It comes again with an answer, when nobody asks just now: it is still the same one's. */
    door.asking = NULL;
    http_door_owner.call(&door, &who, 0, &call);
    assert_string_equal(f.held->asker->who, "192.0.2.1:9 alice");
    hold_let_go(&f);
    call_deinit(&call);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_is_open_and_short),
        cmocka_unit_test(metrics_count_what_is_only_made_when_needed),
        cmocka_unit_test(the_status_page_shows_everything_and_lets_nothing_in),
        cmocka_unit_test(the_icon_is_nothing),
        cmocka_unit_test(a_page_that_does_not_fit_is_a_failure),
        cmocka_unit_test(every_lack_of_memory_is_told),
        cmocka_unit_test(browsers_and_scrapers_are_served),
        cmocka_unit_test(a_call_over_http_says_from_where_it_comes),
        cmocka_unit_test(a_call_over_a_credential_says_whose_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
