#include "app/pages.h"

#include <stdio.h>
#include <string.h>

#include "app/version.h"
#include "base/compiler.h"
#include "json/writer.h"

/* ---- for programs ---- */

static int pages_write_health(void *context, Bytes *out)
{
    const Pages *pages = context;
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("status"));
    json_write_string(&w, SPAN("ok"));
    json_write_key(&w, SPAN("version"));
    json_write_string(&w, SPAN(TOOLWIRE_VERSION));
    json_write_key(&w, SPAN("uptime_s"));
    json_write_uint(&w, watch_uptime_ns(pages->watch) / 1000000000u);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* Figures of HTTP; NULL if it is not served. */
static const HttpDoorFigures *pages_figures(const Pages *pages, HttpDoorFigures *storage)
{
    if (pages->door == NULL) {
        return NULL;
    }
    *storage = http_door_figures(pages->door);
    if (pages->add_figures != NULL) {
        pages->add_figures(pages->context, storage);
    }
    return storage;
}

/* Figures of the queue; NULL if there is none. */
static const QueueFigures *pages_jobs(const Pages *pages, QueueFigures *storage)
{
    return pages->add_jobs != NULL && pages->add_jobs(pages->context, storage) ? storage : NULL;
}

static const Upstreams *pages_upstreams(const Pages *pages)
{
    return pages->upstreams == NULL ? NULL : *pages->upstreams;
}

/* A label's value. */
static int pages_append_label(Bytes *out, const char *text)
{
    int r = 0;

    for (const char *p = text; r == 0 && *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            r = bytes_append_byte(out, '\\');
        }
        r = r != 0 ? r : bytes_append_byte(out, *p);
    }
    return r;
}

typedef enum ServerFigure {
    SERVER_UP,
    SERVER_OPEN,
    SERVER_STARTS,
    SERVER_FAILURES,
    SERVER_N_FIGURES
} ServerFigure;

static uint64_t pages_server_figure(const UpstreamStatus *status, ServerFigure figure)
{
    switch (figure) {
    case SERVER_UP:
        return status->state == UPSTREAM_READY || status->state == UPSTREAM_IDLE;
    case SERVER_OPEN:
        return status->n_open;
    case SERVER_STARTS:
        return status->n_starts;
    default:
        return status->n_failures;
    }
}

static int pages_write_servers(const Upstreams *upstreams, Bytes *out)
{
    static const char *const names[SERVER_N_FIGURES][3] = {
        [SERVER_UP] = {"toolwire_server_up", "gauge", "1 if the MCP server behind it is not down."},
        [SERVER_OPEN] = {"toolwire_server_calls_open", "gauge", "Calls that it has."},
        [SERVER_STARTS] = {"toolwire_server_starts_total", "counter", "How often it was started."},
        [SERVER_FAILURES] = {"toolwire_server_failures_total", "counter",
                             "How often its session failed."}};
    int r = 0;

    for (ServerFigure figure = 0; r == 0 && figure < SERVER_N_FIGURES; figure++) {
        r = bytes_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", names[figure][0],
                                names[figure][2], names[figure][0], names[figure][1]);
        for (size_t i = 0; r == 0 && i < upstreams_count(upstreams); i++) {
            UpstreamStatus status = upstreams_status(upstreams, i);

            r = bytes_append_format(out, "%s{server=\"", names[figure][0]);
            r = r != 0 ? r : pages_append_label(out, status.name);
            r = r != 0
                    ? r
                    : bytes_append_format(out, "\"} %llu\n",
                                          (unsigned long long)pages_server_figure(&status, figure));
        }
    }
    return r;
}

static int pages_write_metrics(void *context, Bytes *out)
{
    Pages *pages = context;
    HttpDoorFigures storage;
    QueueFigures jobs;
    int r;

    /* What is only made when it is needed is there all the same. */
    router_fill(pages->router);
    r = watch_write_metrics(pages->watch, pages->router, pages_figures(pages, &storage),
                            pages_jobs(pages, &jobs), out);
    if (r == 0 && upstreams_count(pages_upstreams(pages)) > 0) {
        r = pages_write_servers(pages_upstreams(pages), out);
    }
    return r;
}

/* 204: there is no picture. */
static int pages_write_icon(void *context, Bytes *out)
{
    (void)context;
    (void)out;
    return 204;
}

/* ---- for people ---- */

/* The first failure stays; what follows it writes nothing. */
typedef struct Html {
    Bytes *out;
    int r;
} Html;

static void html_raw(Html *html, Span text)
{
    if (html->r == 0) {
        html->r = bytes_append_span(html->out, text);
    }
}

/* Text, as content or as an attribute's value in double quotes. */
static void html_text(Html *html, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        switch (*p) {
        case '&':
            html_raw(html, SPAN("&amp;"));
            break;
        case '<':
            html_raw(html, SPAN("&lt;"));
            break;
        case '>':
            html_raw(html, SPAN("&gt;"));
            break;
        case '"':
            html_raw(html, SPAN("&quot;"));
            break;
        default:
            html_raw(html, span_make(p, 1));
            break;
        }
    }
}

static void html_count(Html *html, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    html_raw(html, span_from_str(text));
}

/* A cell of numbers. */
static void html_cell_count(Html *html, uint64_t value)
{
    html_raw(html, SPAN("<td>"));
    html_count(html, value);
}

/* Seconds in the unit that people would take. */
static void html_cell_time(Html *html, double seconds, bool is_known)
{
    char text[48] = "\xe2\x80\x93"; /* an en dash */

    if (is_known && seconds < 1e-3) {
        (void)snprintf(text, sizeof(text), "%.0f \xc2\xb5s", seconds * 1e6);
    } else if (is_known && seconds < 1.0) {
        (void)snprintf(text, sizeof(text), "%.1f ms", seconds * 1e3);
    } else if (is_known) {
        (void)snprintf(text, sizeof(text), "%.1f s", seconds);
    }
    html_raw(html, SPAN("<td>"));
    html_text(html, text);
}

/* A table's head; names end in NULL. The first column is text, the others are numbers. */
static void html_table(Html *html, const char *title, const char *const *names)
{
    html_raw(html, SPAN("<h2>"));
    html_text(html, title);
    html_raw(html, SPAN("</h2>\n<div><table>\n<tr>"));
    for (size_t i = 0; names[i] != NULL; i++) {
        html_raw(html, SPAN("<th>"));
        html_text(html, names[i]);
    }
    html_raw(html, SPAN("\n"));
}

static void html_table_end(Html *html)
{
    html_raw(html, SPAN("</table></div>\n"));
}

static void html_row(Html *html, const char *name)
{
    html_raw(html, SPAN("<tr><td>"));
    html_text(html, name);
}

#define PAGES_STYLE                                                                                \
    ":root{color-scheme:light dark}"                                                               \
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}"          \
    "h1{font-size:1.4rem;margin:0}h2{font-size:1rem;margin:1.5rem 0 .25rem}"                       \
    "div{overflow-x:auto}table{border-collapse:collapse;min-width:100%}"                           \
    "th,td{text-align:right;padding:.2rem .6rem;border-bottom:1px solid #8884;white-space:nowrap}" \
    "th:first-child,td:first-child{text-align:left;padding-left:0}"                                \
    "dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem 1rem;margin:.5rem 0}"                \
    "dd{margin:0;overflow-wrap:anywhere}th{font-weight:600}"

#define PAGES_HEAD                                                                                 \
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"                          \
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "        \
    "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"                                    \
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"                    \
    "<meta name=\"referrer\" content=\"no-referrer\">\n"                                           \
    "<title>toolwire</title>\n<style>" PAGES_STYLE "</style></head>\n<body>\n"

static void status_uptime(Html *html, uint64_t uptime_ns)
{
    unsigned long long s = uptime_ns / 1000000000u;
    char text[64];

    (void)snprintf(text, sizeof(text), "%llu d %02llu:%02llu:%02llu", s / 86400, s / 3600 % 24,
                   s / 60 % 60, s % 60);
    html_raw(html, SPAN("<dt>Up<dd>"));
    html_text(html, text);
}

static void status_about(Html *html, const Pages *pages)
{
    html_raw(html, SPAN("<h1>toolwire " TOOLWIRE_VERSION "</h1>\n<dl>"));
    status_uptime(html, watch_uptime_ns(pages->watch));
    for (size_t i = 0; i < pages->n_places; i++) {
        html_raw(html, SPAN("<dt>"));
        html_text(html, pages->places[i].what);
        html_raw(html, SPAN("<dd>"));
        html_text(html, pages->places[i].where);
    }
    html_raw(html, SPAN("</dl>\n"));
}

static void status_providers(Html *html, const Router *router)
{
    static const char *const names[] = {"Provider",  "Tools",   "Resources",
                                        "Templates", "Prompts", NULL};
    WatchProviders providers;

    watch_count_providers(router, &providers);
    html_table(html, "What there is", names);
    for (size_t i = 0; i < providers.n; i++) {
        html_row(html, providers.of[i].name);
        for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
            html_cell_count(html, providers.of[i].n_entries[kind]);
        }
        html_raw(html, SPAN("\n"));
    }
    html_table_end(html);
}

static void status_servers(Html *html, const Upstreams *upstreams)
{
    static const char *const names[] = {"MCP server", "Tools",   "Resources", "Templates",
                                        "Prompts",    "Renamed", "Left out",  "Open",
                                        "Starts",     NULL};

    html_table(html, "MCP servers", names);
    for (size_t i = 0; i < upstreams_count(upstreams); i++) {
        UpstreamStatus status = upstreams_status(upstreams, i);

        html_row(html, status.name);
        html_raw(html, SPAN(" ("));
        html_text(html, status.state_name);
        html_raw(html, SPAN(")"));
        for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
            html_cell_count(html, status.n_entries[kind]);
        }
        html_cell_count(html, status.n_renamed);
        html_cell_count(html, status.n_left_out);
        html_cell_count(html, status.n_open);
        html_cell_count(html, status.n_starts);
        html_raw(html, SPAN("\n"));
    }
    html_table_end(html);
    for (size_t i = 0; i < upstreams_count(upstreams); i++) {
        UpstreamStatus status = upstreams_status(upstreams, i);

        if (status.why[0] != '\0') {
            html_raw(html, SPAN("<p>"));
            html_text(html, status.name);
            html_raw(html, SPAN(": "));
            html_text(html, status.why);
            html_raw(html, SPAN("</p>\n"));
        }
    }
}

/* Adds what was counted in b to a. */
static void series_add(WatchSeries *a, const WatchSeries *b)
{
    for (size_t i = 0; i < WATCH_N_OUTCOMES; i++) {
        a->n_calls[i] += b->n_calls[i];
    }
    for (size_t i = 0; i < WATCH_N_BUCKETS; i++) {
        a->buckets[i] += b->buckets[i];
    }
    a->n_running += b->n_running;
}

static uint64_t series_n_calls(const WatchSeries *series)
{
    uint64_t n = 0;

    for (size_t i = 0; i < WATCH_N_OUTCOMES; i++) {
        n += series->n_calls[i];
    }
    return n;
}

static void status_row(Html *html, const char *name, const WatchSeries *sum)
{
    uint64_t n = series_n_calls(sum);

    html_row(html, name);
    html_cell_count(html, n);
    html_cell_count(html, sum->n_running);
    html_cell_count(html, sum->n_calls[WATCH_TOOL_ERROR] + sum->n_calls[WATCH_ERROR]);
    html_cell_count(html, sum->n_calls[WATCH_REFUSED]);
    html_cell_count(html, sum->n_calls[WATCH_CANCELLED]);
    html_cell_time(html, watch_quantile(sum->buckets, 0.5), n > 0);
    html_cell_time(html, watch_quantile(sum->buckets, 0.95), n > 0);
    html_raw(html, SPAN("\n"));
}

static const char *series_provider(const WatchSeries *series)
{
    return series->provider;
}

static const char *series_dialect(const WatchSeries *series)
{
    return series->dialect;
}

/* All series, one row for each name that `name` tells: where it first comes. */
static void status_calls(Html *html, const Watch *watch, const char *title, const char *column,
                         const char *(*name)(const WatchSeries *series))
{
    const char *names[] = {column,      "Calls", "Running", "Errors", "Refused",
                           "Cancelled", "p50",   "p95",     NULL};
    size_t n;
    const WatchSeries *series = watch_series(watch, &n);

    html_table(html, title, names);
    for (size_t i = 0; i < n; i++) {
        WatchSeries sum = {.n_running = 0};
        bool is_first = true;

        for (size_t k = 0; k < n; k++) {
            if (strcmp(name(&series[k]), name(&series[i])) == 0) {
                is_first = is_first && k >= i;
                series_add(&sum, &series[k]);
            }
        }
        if (is_first) {
            status_row(html, name(&series[i]), &sum);
        }
    }
    html_table_end(html);
}

static void status_http(Html *html, const HttpDoorFigures *http)
{
    static const char *const names[] = {"HTTP",     "Requests", "Refused", "Connections",
                                        "Sessions", "Streams",  NULL};

    html_table(html, "HTTP", names);
    html_row(html, "");
    html_cell_count(html, http->n_requests);
    html_cell_count(html, http->n_refused);
    html_cell_count(html, http->n_connections);
    html_cell_count(html, http->n_sessions);
    html_cell_count(html, http->n_streams);
    html_raw(html, SPAN("\n"));
    html_table_end(html);
}

/* Jobs that are over are told apart by their end. */
static void status_jobs(Html *html, const QueueFigures *jobs)
{
    const char *names[JOB_N_STATES + 3] = {"Queue"};

    for (size_t i = 0; i < JOB_N_STATES; i++) {
        names[i + 1] = job_state_name((JobState)i);
    }
    names[JOB_N_STATES + 1] = "Commits";
    html_table(html, "Jobs", names);
    html_row(html, "");
    for (size_t i = 0; i < JOB_N_STATES; i++) {
        html_cell_count(html, jobs->counts.n[i]);
    }
    html_cell_count(html, jobs->n_commits);
    html_raw(html, SPAN("\n"));
    html_table_end(html);
}

static int pages_write_status(void *context, Bytes *out)
{
    Pages *pages = context;
    Html html = {.out = out};
    HttpDoorFigures storage;
    const HttpDoorFigures *http = pages_figures(pages, &storage);
    QueueFigures figures;
    const QueueFigures *jobs = pages_jobs(pages, &figures);

    router_fill(pages->router);
    watch_count_running(pages->watch, pages->router);
    html_raw(&html, SPAN(PAGES_HEAD));
    status_about(&html, pages);
    status_providers(&html, pages->router);
    if (upstreams_count(pages_upstreams(pages)) > 0) {
        status_servers(&html, pages_upstreams(pages));
    }
    status_calls(&html, pages->watch, "Calls by provider", "Provider", series_provider);
    status_calls(&html, pages->watch, "Calls by dialect", "Dialect", series_dialect);
    if (jobs != NULL) {
        status_jobs(&html, jobs);
    }
    if (http != NULL) {
        status_http(&html, http);
    }
    html_raw(&html, SPAN("<p><a href=\"/metrics\">Metrics</a> \xc2\xb7 "
                         "<a href=\"/healthz\">Health</a></p>\n</body></html>\n"));
    return html.r;
}

const HttpPage *pages_all(size_t *ret_n)
{
    static const HttpPage pages[] = {
        {.path = "/healthz",
         .type = "application/json",
         .is_open = true,
         .write = pages_write_health},
        {.path = "/metrics",
         .type = "text/plain; version=0.0.4; charset=utf-8",
         .write = pages_write_metrics},
        {.path = "/", .type = "text/html; charset=utf-8", .write = pages_write_status},
        {.path = "/favicon.ico",
         .type = "image/x-icon",
         .is_open = true,
         .write = pages_write_icon},
    };

    *ret_n = TW_ARRAY_SIZE(pages);
    return pages;
}
