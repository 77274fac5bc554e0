#include "app/watch.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http_door.h"
#include "base/limits.h"
#include "router/quota.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S  (1000 * MS)

/* A router with tools of two providers, a watch, and a clock that the test moves. */
typedef struct Fixture {
    Router *router;
    Watch *watch;
    uint64_t now_ns;
    uint64_t work_ns; /* what `quick` takes */
    CallResult answer;
    Call *held;
} Fixture;

static uint64_t now(void *context)
{
    const Fixture *f = context;

    return f->now_ns;
}

static void quick_start(void *context, Call *call)
{
    Fixture *f = context;

    f->now_ns += f->work_ns;
    call_finish(call, &f->answer);
}

static void held_start(void *context, Call *call)
{
    Fixture *f = context;

    f->held = call;
    call->took_arguments = true;
}

static void held_cancel(void *context, Call *call)
{
    Fixture *f = context;

    (void)call;
    f->held = NULL;
}

static const CallProvider quick = {.name = "quick", .start = quick_start};
static const CallProvider held = {.name = "held", .start = held_start, .cancel = held_cancel};
static const CallProvider nameless = {.start = quick_start};

static void on_finish(Call *call, const CallResult *result)
{
    (void)call;
    (void)result;
}

static const CallDoor door = {.finish = on_finish};
static const CallAsker stdio_asker = {.dialect = "mcp", .who = "stdio"};
static const CallAsker odd_asker = {.dialect = "a\\b\"c\nd", .who = "x"};

static int add(Fixture *f, const char *name, const CallProvider *provider)
{
    char json[128];

    (void)snprintf(json, sizeof(json), "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}",
                   name);
    return router_add(
        f->router,
        &(RouterSpec){
            .kind = ROUTER_TOOL, .json = span_from_str(json), .provider = provider, .context = f},
        NULL);
}

static int make(Fixture *f)
{
    int r;

    memset(f, 0, sizeof(*f));
    f->now_ns = 5 * S;
    f->answer = (CallResult){.kind = CALL_RESULT_TOOL};
    r = router_new(&f->router, NULL, (HashSeed){.k0 = 1, .k1 = 2});
    if (r == 0) {
        r = watch_new(&f->watch);
    }
    if (r == 0) {
        watch_set_clock(f->watch, now, f);
        router_set_watch(f->router, watch_hooks(f->watch));
        r = add(f, "q", &quick);
    }
    if (r == 0) {
        r = add(f, "h", &held);
    }
    return r != 0 ? r : add(f, "n", &nameless);
}

static void unmake(Fixture *f)
{
    f->router = router_free(f->router);
    f->watch = watch_free(f->watch);
}

static void ask(Fixture *f, Call *call, const CallAsker *asker, CallVerb verb, const char *target)
{
    call->door = &door;
    call->asker = asker;
    call->verb = verb;
    call->target = span_from_str(target);
    router_dispatch(f->router, NULL, call);
}

/* One call from beginning to end. */
static void run(Fixture *f, const CallAsker *asker, CallVerb verb, const char *target)
{
    Call call;

    call_init(&call);
    ask(f, &call, asker, verb, target);
    call_deinit(&call);
}

static const WatchSeries *find(const Fixture *f, const char *provider, const char *dialect,
                               WatchVerb verb)
{
    size_t n;
    const WatchSeries *series = watch_series(f->watch, &n);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(series[i].provider, provider) == 0 && strcmp(series[i].dialect, dialect) == 0 &&
            series[i].verb == verb) {
            return &series[i];
        }
    }
    return NULL;
}

/* ---- counting ---- */

static void each_way_to_end_is_counted_as_what_it_is(void **state)
{
    static const struct {
        CallResult answer;
        WatchOutcome outcome;
    } cases[] = {
        {{.kind = CALL_RESULT_TOOL}, WATCH_OK},
        {{.kind = CALL_RESULT_TOOL, .is_error = true}, WATCH_TOOL_ERROR},
        {{.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_TIMEOUT}, WATCH_ERROR},
        {{.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN}, WATCH_ERROR},
        {{.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_CANCELLED}, WATCH_CANCELLED},
        {{.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INVALID_ARGUMENTS}, WATCH_REFUSED},
        {{.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_BUSY}, WATCH_REFUSED},
        {{.kind = CALL_RESULT_ASK}, WATCH_ASKED},
    };
    uint64_t expected[WATCH_N_OUTCOMES] = {0};
    const WatchSeries *series;
    Fixture f;

    (void)state;
    assert_int_equal(make(&f), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f.answer = cases[i].answer;
        run(&f, &stdio_asker, CALL_TOOL, "q");
        expected[cases[i].outcome]++;
        series = find(&f, "quick", "mcp", WATCH_TOOL);
        assert_non_null(series);
        assert_memory_equal(series->n_calls, expected, sizeof(expected));
    }
    unmake(&f);
}

static void what_the_router_does_itself_is_its_own(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(make(&f), 0);
    run(&f, &stdio_asker, CALL_TOOL, "nothing");
    run(&f, &stdio_asker, CALL_LIST_TOOLS, "");
    run(&f, &stdio_asker, CALL_LIST_PROMPTS, "");
    run(&f, NULL, CALL_LIST_PROMPTS, "");
    run(&f, &stdio_asker, CALL_READ, "x://y");
    assert_int_equal(find(&f, "router", "mcp", WATCH_TOOL)->n_calls[WATCH_REFUSED], 1);
    assert_int_equal(find(&f, "router", "mcp", WATCH_LIST)->n_calls[WATCH_OK], 2);
    assert_int_equal(find(&f, "router", "none", WATCH_LIST)->n_calls[WATCH_OK], 1);
    assert_int_equal(find(&f, "router", "mcp", WATCH_READ)->n_calls[WATCH_REFUSED], 1);
    assert_true(find(&f, "router", "mcp", WATCH_LIST)->bytes_out > 0);
    unmake(&f);
}

static void a_call_that_is_taken_back_is_cancelled_after_its_time(void **state)
{
    const WatchSeries *series;
    Fixture f;
    Call call;

    (void)state;
    assert_int_equal(make(&f), 0);
    call_init(&call);
    ask(&f, &call, &stdio_asker, CALL_TOOL, "h");
    f.now_ns += 3 * MS;
    router_cancel(f.router, &call);
    call_deinit(&call);
    series = find(&f, "held", "mcp", WATCH_TOOL);
    assert_int_equal(series->n_calls[WATCH_CANCELLED], 1);
    assert_int_equal(series->sum_ns, 3 * MS);
    unmake(&f);
}

static void bytes_are_those_of_arguments_and_results(void **state)
{
    static const char text[] = "{\"a\": [1,2]}";
    Span pieces[] = {SPAN_INIT("12345"), SPAN_INIT("67")};
    const WatchSeries *series;
    JsonDoc doc;
    Arena arena;
    Fixture f;
    Call call;

    (void)state;
    assert_int_equal(make(&f), 0);
    arena_init(&arena, 1 << 16);
    assert_int_equal(json_parse(&doc, &arena, text, strlen(text), NULL, NULL), 0);
    call_init(&call);
    call.arguments = json_root(&doc);
    /* It takes its arguments: they are no more when it ends. */
    ask(&f, &call, &stdio_asker, CALL_TOOL, "h");
    assert_null(call.arguments.node);
    call_finish(f.held, &(CallResult){.kind = CALL_RESULT_TOOL,
                                      .pieces = pieces,
                                      .n_pieces = 2,
                                      .structured = SPAN("{}"),
                                      .meta = SPAN("[]")});
    call_deinit(&call);
    arena_deinit(&arena);
    series = find(&f, "held", "mcp", WATCH_TOOL);
    assert_int_equal(series->bytes_in, strlen(text));
    assert_int_equal(series->bytes_out, 5 + 2 + 2 + 2);
    unmake(&f);
}

static void a_time_belongs_to_the_bucket_whose_bound_it_does_not_pass(void **state)
{
    static const struct {
        uint64_t ns;
        size_t bucket;
    } cases[] = {
        {0, 0},         {100 * US, 0}, {100 * US + 1, 1}, {MS, 3},          {MS + 1, 4},
        {2500 * US, 4}, {5 * MS, 5},   {30 * S, 16},      {30 * S + 1, 17}, {3600 * S, 17},
    };
    uint64_t expected[WATCH_N_BUCKETS] = {0};
    Fixture f;

    (void)state;
    assert_int_equal(make(&f), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f.work_ns = cases[i].ns;
        run(&f, &stdio_asker, CALL_TOOL, "q");
        expected[cases[i].bucket]++;
        assert_memory_equal(find(&f, "quick", "mcp", WATCH_TOOL)->buckets, expected,
                            sizeof(expected));
    }
    unmake(&f);
}

static void series_are_bounded_and_the_rest_is_other(void **state)
{
    char dialects[LIMIT_WATCH_SERIES + 20][16];
    const WatchSeries *other;
    Fixture f;
    size_t n;

    (void)state;
    assert_int_equal(make(&f), 0);
    for (size_t i = 0; i < LIMIT_WATCH_SERIES + 20; i++) {
        (void)snprintf(dialects[i], sizeof(dialects[i]), "d%zu", i);
        run(&f, &(CallAsker){.dialect = dialects[i], .who = ""}, CALL_TOOL, "q");
    }
    for (CallVerb verb = 0; verb < CALL_N_VERBS; verb++) {
        run(&f, &(CallAsker){.dialect = "late", .who = ""}, verb, "nothing");
    }
    (void)watch_series(f.watch, &n);
    assert_int_equal(n, LIMIT_WATCH_SERIES + WATCH_N_VERBS);
    other = find(&f, "other", "other", WATCH_TOOL);
    assert_int_equal(other->n_calls[WATCH_OK], 20);
    assert_int_equal(other->n_calls[WATCH_REFUSED], 1);
    assert_int_equal(find(&f, "other", "other", WATCH_LIST)->n_calls[WATCH_OK], 4);
    unmake(&f);
}

static void long_names_are_cut_and_still_found_again(void **state)
{
    static const CallAsker asker = {.dialect = "a-dialect-with-a-name-of-more-than-32-bytes",
                                    .who = ""};
    Fixture f;
    size_t n;

    (void)state;
    assert_int_equal(make(&f), 0);
    run(&f, &asker, CALL_TOOL, "q");
    run(&f, &stdio_asker, CALL_TOOL, "q");
    run(&f, &asker, CALL_TOOL, "q");
    (void)watch_series(f.watch, &n);
    assert_int_equal(n, 2);
    unmake(&f);
}

static void counting_a_call_takes_no_memory(void **state)
{
    Fixture f;
    Call call;
    size_t n_calls;

    (void)state;
    assert_int_equal(make(&f), 0);
    call_init(&call);
    ask(&f, &call, &stdio_asker, CALL_TOOL, "q");
    n_calls = alloc_testing()->n_calls;
    for (size_t i = 0; i < 100; i++) {
        call_reset(&call);
        ask(&f, &call, i % 2 == 0 ? &stdio_asker : &odd_asker, CALL_TOOL, "q");
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    call_deinit(&call);
    unmake(&f);
}

/* ---- quantiles ---- */

static void quantiles_lie_evenly_in_their_bucket(void **state)
{
    uint64_t buckets[WATCH_N_BUCKETS] = {0};

    (void)state;
    assert_true(watch_quantile(buckets, 0.5) == 0.0);
    buckets[3] = 10; /* 0.5 to 1 ms */
    assert_float_equal(watch_quantile(buckets, 0.5), 0.00075, 1e-9);
    assert_float_equal(watch_quantile(buckets, 1.0), 0.001, 1e-9);
    buckets[9] = 10; /* 50 to 100 ms */
    assert_float_equal(watch_quantile(buckets, 0.5), 0.001, 1e-9);
    assert_float_equal(watch_quantile(buckets, 0.75), 0.075, 1e-9);
    buckets[WATCH_N_BOUNDS] = 1000;
    assert_float_equal(watch_quantile(buckets, 0.95), 30.0, 1e-9);
}

/* ---- the text ---- */

/* Reads the exposition back, as a scraper does; every line must be one that the format has. */
typedef struct Sample {
    char name[64];
    char labels[256];
    double value;
} Sample;

typedef struct Exposition {
    Sample *samples;
    size_t n;
} Exposition;

static size_t family_length(const char *name)
{
    static const char *const ends[] = {"_bucket", "_sum", "_count"};
    size_t n = strlen(name);

    for (size_t i = 0; i < 3; i++) {
        size_t n_end = strlen(ends[i]);

        if (n > n_end && strcmp(name + n - n_end, ends[i]) == 0 &&
            strncmp(name, "toolwire_call_seconds", 21) == 0) {
            return n - n_end;
        }
    }
    return n;
}

/* Behind the labels; checks their form. */
static const char *skip_labels(const char *p)
{
    assert_int_equal(*p++, '{');
    for (;;) {
        assert_true((*p >= 'a' && *p <= 'z') || *p == '_');
        while ((*p >= 'a' && *p <= 'z') || *p == '_') {
            p++;
        }
        assert_int_equal(*p++, '=');
        assert_int_equal(*p++, '"');
        while (*p != '"') {
            assert_int_not_equal(*p, '\n');
            assert_int_not_equal(*p, '\0');
            if (*p == '\\') {
                p++;
                assert_true(*p == '\\' || *p == '"' || *p == 'n');
            }
            p++;
        }
        p++;
        if (*p == '}') {
            return p + 1;
        }
        assert_int_equal(*p++, ',');
    }
}

static void parse_sample(Exposition *e, const char *line, const char *family)
{
    Sample *sample = &e->samples[e->n++];
    const char *p = line;
    char *end;

    while (*p != '{' && *p != ' ') {
        p++;
    }
    assert_true((size_t)(p - line) < sizeof(sample->name));
    memcpy(sample->name, line, (size_t)(p - line));
    /* All of one family together, behind its TYPE. */
    assert_int_equal(family_length(sample->name), strlen(family));
    assert_int_equal(strncmp(sample->name, family, strlen(family)), 0);
    if (*p == '{') {
        const char *labels = p;

        p = skip_labels(p);
        assert_true((size_t)(p - labels) < sizeof(sample->labels));
        memcpy(sample->labels, labels, (size_t)(p - labels));
    }
    assert_int_equal(*p++, ' ');
    sample->value = strtod(p, &end);
    assert_true(end > p);
    assert_int_equal(*end, '\0');
}

static Exposition parse(char *text)
{
    Exposition e = {.samples = calloc(20000, sizeof(Sample))};
    char family[64] = "";
    char helped[64] = "";
    char *line = text;

    assert_non_null(e.samples);
    while (*line != '\0') {
        char *end = strchr(line, '\n');

        assert_non_null(end);
        *end = '\0';
        assert_true(e.n < 20000);
        if (strncmp(line, "# HELP ", 7) == 0) {
            assert_int_equal(sscanf(line + 7, "%63s", helped), 1);
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            char type[16];

            assert_int_equal(sscanf(line + 7, "%63s %15s", family, type), 2);
            assert_string_equal(family, helped);
            assert_true(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0 ||
                        strcmp(type, "histogram") == 0);
        } else {
            parse_sample(&e, line, family);
        }
        line = end + 1;
    }
    return e;
}

static double value_of(const Exposition *e, const char *name, const char *labels)
{
    for (size_t i = 0; i < e->n; i++) {
        if (strcmp(e->samples[i].name, name) == 0 && strcmp(e->samples[i].labels, labels) == 0) {
            return e->samples[i].value;
        }
    }
    fail_msg("no %s%s", name, labels);
    return 0;
}

static Exposition expose(Fixture *f, const HttpDoorFigures *http)
{
    Exposition e;
    Bytes out;

    bytes_init(&out, 1 << 22);
    assert_int_equal(watch_write_metrics(f->watch, f->router, http, NULL, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    e = parse(out.data);
    bytes_deinit(&out);
    return e;
}

#define QUICK "provider=\"quick\",dialect=\"mcp\",verb=\"tool\""

static void the_text_says_what_was_counted(void **state)
{
    Exposition e;
    Fixture f;
    Call call;
    Call others[2];

    (void)state;
    assert_int_equal(make(&f), 0);
    f.work_ns = 2 * MS;
    run(&f, &stdio_asker, CALL_TOOL, "q");
    f.work_ns = 40 * S;
    f.answer.is_error = true;
    run(&f, &stdio_asker, CALL_TOOL, "q");
    call_init(&call);
    ask(&f, &call, &stdio_asker, CALL_TOOL, "h");
    e = expose(&f, &(HttpDoorFigures){.n_requests = 7,
                                      .n_refused = 2,
                                      .bytes_in = 100,
                                      .bytes_out = 5000000000,
                                      .n_connections = 3,
                                      .n_sessions = 4,
                                      .n_streams = 5});
    assert_true(value_of(&e, "toolwire_build_info", "{version=\"" TOOLWIRE_VERSION "\"}") == 1);
    assert_float_equal(value_of(&e, "toolwire_uptime_seconds", ""), 40.002, 1e-9);
    assert_true(value_of(&e, "toolwire_tools", "{provider=\"quick\"}") == 1);
    assert_true(value_of(&e, "toolwire_tools", "{provider=\"router\"}") == 1);
    assert_true(value_of(&e, "toolwire_prompts", "{provider=\"quick\"}") == 0);
    assert_true(value_of(&e, "toolwire_calls_total", "{" QUICK ",outcome=\"ok\"}") == 1);
    assert_true(value_of(&e, "toolwire_calls_total", "{" QUICK ",outcome=\"tool_error\"}") == 1);
    assert_true(value_of(&e, "toolwire_calls_total", "{" QUICK ",outcome=\"refused\"}") == 0);
    assert_true(value_of(&e, "toolwire_calls_in_flight", "{" QUICK "}") == 0);
    assert_true(value_of(&e, "toolwire_calls_in_flight",
                         "{provider=\"held\",dialect=\"mcp\",verb=\"tool\"}") == 1);
    assert_true(value_of(&e, "toolwire_http_requests_total", "") == 7);
    assert_true(value_of(&e, "toolwire_http_refused_total", "") == 2);
    assert_true(value_of(&e, "toolwire_http_bytes_total", "{direction=\"in\"}") == 100);
    assert_true(value_of(&e, "toolwire_http_bytes_total", "{direction=\"out\"}") == 5e9);
    assert_true(value_of(&e, "toolwire_http_connections", "") == 3);
    assert_true(value_of(&e, "toolwire_http_sessions", "") == 4);
    assert_true(value_of(&e, "toolwire_http_streams", "") == 5);
    free(e.samples);
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        call_init(&others[i]);
        ask(&f, &others[i], &stdio_asker, CALL_TOOL, "h");
    }
    e = expose(&f, NULL);
    assert_true(value_of(&e, "toolwire_calls_in_flight",
                         "{provider=\"held\",dialect=\"mcp\",verb=\"tool\"}") == 3);
    free(e.samples);
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        router_cancel(f.router, &others[i]);
        call_deinit(&others[i]);
    }
    e = expose(&f, NULL);
    assert_true(value_of(&e, "toolwire_calls_in_flight",
                         "{provider=\"held\",dialect=\"mcp\",verb=\"tool\"}") == 1);
    free(e.samples);
    router_cancel(f.router, &call);
    call_deinit(&call);
    e = expose(&f, NULL);
    assert_true(value_of(&e, "toolwire_calls_in_flight",
                         "{provider=\"held\",dialect=\"mcp\",verb=\"tool\"}") == 0);
    for (size_t i = 0; i < e.n; i++) {
        assert_null(strstr(e.samples[i].name, "_http_"));
        assert_null(strstr(e.samples[i].name, "_audit_"));
    }
    free(e.samples);
    unmake(&f);
}

static void the_histogram_is_cumulative_and_agrees_with_its_count(void **state)
{
    const char *bounds[] = {"0.0001", "0.001", "0.0025", "1", "30", "+Inf"};
    const double expected[] = {1, 1, 2, 2, 2, 3};
    double last = 0;
    size_t n_buckets = 0;
    Exposition e;
    Fixture f;

    (void)state;
    assert_int_equal(make(&f), 0);
    f.work_ns = 50 * US;
    run(&f, &stdio_asker, CALL_TOOL, "q");
    f.work_ns = 2 * MS;
    run(&f, &stdio_asker, CALL_TOOL, "q");
    f.work_ns = 31 * S;
    run(&f, &stdio_asker, CALL_TOOL, "q");
    e = expose(&f, NULL);
    for (size_t i = 0; i < 6; i++) {
        char labels[128];

        (void)snprintf(labels, sizeof(labels), "{" QUICK ",le=\"%s\"}", bounds[i]);
        assert_true(value_of(&e, "toolwire_call_seconds_bucket", labels) == expected[i]);
    }
    for (size_t i = 0; i < e.n; i++) {
        if (strcmp(e.samples[i].name, "toolwire_call_seconds_bucket") == 0) {
            assert_true(e.samples[i].value >= last);
            last = e.samples[i].value;
            n_buckets++;
        }
    }
    assert_int_equal(n_buckets, WATCH_N_BUCKETS);
    assert_true(value_of(&e, "toolwire_call_seconds_count", "{" QUICK "}") == 3);
    assert_float_equal(value_of(&e, "toolwire_call_seconds_sum", "{" QUICK "}"), 31.00205, 1e-9);
    free(e.samples);
    unmake(&f);
}

static void the_labels_bound_is_the_one_that_is_counted_by(void **state)
{
    Exposition e;
    Fixture f;
    size_t n = 0;

    (void)state;
    assert_int_equal(make(&f), 0);
    run(&f, &stdio_asker, CALL_TOOL, "q");
    e = expose(&f, NULL);
    /* One call exactly at each bound raises that bucket, and none below it. */
    for (size_t i = 0; i < e.n; i++) {
        const char *le = strstr(e.samples[i].labels, "le=\"");
        const WatchSeries *series = find(&f, "quick", "mcp", WATCH_TOOL);
        uint64_t before;

        if (le == NULL || le[4] == '+') {
            continue;
        }
        before = series->buckets[n];
        f.work_ns = (uint64_t)(strtod(le + 4, NULL) * 1e9 + 0.5);
        run(&f, &stdio_asker, CALL_TOOL, "q");
        assert_int_equal(series->buckets[n], before + 1);
        n++;
    }
    assert_int_equal(n, WATCH_N_BOUNDS);
    free(e.samples);
    unmake(&f);
}

static void label_values_are_escaped(void **state)
{
    Exposition e;
    Fixture f;

    (void)state;
    assert_int_equal(make(&f), 0);
    run(&f, &odd_asker, CALL_TOOL, "q");
    e = expose(&f, NULL);
    assert_true(value_of(&e, "toolwire_calls_total",
                         "{provider=\"quick\",dialect=\"a\\\\b\\\"c\\nd\",verb=\"tool\","
                         "outcome=\"ok\"}") == 1);
    free(e.samples);
    unmake(&f);
}

static void a_text_that_does_not_fit_is_a_failure(void **state)
{
    Fixture f;
    Bytes out;

    (void)state;
    assert_int_equal(make(&f), 0);
    bytes_init(&out, 200);
    assert_int_equal(watch_write_metrics(f.watch, f.router, NULL, NULL, &out), BYTES_E_FULL);
    bytes_deinit(&out);
    unmake(&f);
}

static int scenario(void *context)
{
    Fixture f;
    Bytes out;
    int r = make(&f);

    (void)context;
    bytes_init(&out, 1 << 20);
    if (r == 0) {
        run(&f, &stdio_asker, CALL_LIST_TOOLS, "");
        r = watch_write_metrics(f.watch, f.router, NULL, NULL, &out);
    }
    bytes_deinit(&out);
    unmake(&f);
    return r;
}

static void every_lack_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_end_is_counted_as_what_it_is),
        cmocka_unit_test(what_the_router_does_itself_is_its_own),
        cmocka_unit_test(a_call_that_is_taken_back_is_cancelled_after_its_time),
        cmocka_unit_test(bytes_are_those_of_arguments_and_results),
        cmocka_unit_test(a_time_belongs_to_the_bucket_whose_bound_it_does_not_pass),
        cmocka_unit_test(series_are_bounded_and_the_rest_is_other),
        cmocka_unit_test(long_names_are_cut_and_still_found_again),
        cmocka_unit_test(counting_a_call_takes_no_memory),
        cmocka_unit_test(quantiles_lie_evenly_in_their_bucket),
        cmocka_unit_test(the_text_says_what_was_counted),
        cmocka_unit_test(the_histogram_is_cumulative_and_agrees_with_its_count),
        cmocka_unit_test(the_labels_bound_is_the_one_that_is_counted_by),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(a_text_that_does_not_fit_is_a_failure),
        cmocka_unit_test(every_lack_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
