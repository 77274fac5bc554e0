/* The figures in the text format of Prometheus, 0.0.4: for each name what it is (HELP, TYPE), then
 * its values, one a line. */
#include "app/watch.h"

#include <stdio.h>

#include "app/audit.h"
#include "app/http_door.h"
#include "app/version.h"
#include "app/watch_internal.h"
#include "queue/queue.h"
#include "json/writer.h"

/* The first failure stays; what follows it writes nothing. */
typedef struct Metrics {
    Bytes *out;
    int r;
} Metrics;

static void metrics_text(Metrics *m, Span text)
{
    if (m->r == 0) {
        m->r = bytes_append_span(m->out, text);
    }
}

static void metrics_head(Metrics *m, const char *name, const char *type, const char *help)
{
    metrics_text(m, SPAN("# HELP "));
    metrics_text(m, span_from_str(name));
    metrics_text(m, SPAN(" "));
    metrics_text(m, span_from_str(help));
    metrics_text(m, SPAN("\n# TYPE "));
    metrics_text(m, span_from_str(name));
    metrics_text(m, SPAN(" "));
    metrics_text(m, span_from_str(type));
    metrics_text(m, SPAN("\n"));
}

/* A label's value: backslash, quote and newline are escaped; all else is as it is. */
static void metrics_label(Metrics *m, const char *name, const char *value, bool is_first)
{
    metrics_text(m, is_first ? SPAN("{") : SPAN(","));
    metrics_text(m, span_from_str(name));
    metrics_text(m, SPAN("=\""));
    for (const char *p = value; *p != '\0'; p++) {
        if (*p == '\n') {
            metrics_text(m, SPAN("\\n"));
            continue;
        }
        if (*p == '\\' || *p == '"') {
            metrics_text(m, SPAN("\\"));
        }
        metrics_text(m, span_make(p, 1));
    }
    metrics_text(m, SPAN("\""));
}

/* After the labels, if has_labels. */
static void metrics_value(Metrics *m, bool has_labels, double value)
{
    char number[JSON_DOUBLE_SIZE];
    size_t n = json_format_double(value, number);

    metrics_text(m, has_labels ? SPAN("} ") : SPAN(" "));
    metrics_text(m, span_make(number, n));
    metrics_text(m, SPAN("\n"));
}

static void metrics_count(Metrics *m, bool has_labels, uint64_t value)
{
    char number[24];
    int n = snprintf(number, sizeof(number), "%llu", (unsigned long long)value);

    metrics_text(m, has_labels ? SPAN("} ") : SPAN(" "));
    metrics_text(m, span_make(number, (size_t)n));
    metrics_text(m, SPAN("\n"));
}

/* One without labels. */
static void metrics_single(Metrics *m, const char *name, const char *type, const char *help,
                           uint64_t value)
{
    metrics_head(m, name, type, help);
    metrics_text(m, span_from_str(name));
    metrics_count(m, false, value);
}

/* ---- the hub ---- */

static void metrics_about(Metrics *m, const Watch *watch)
{
    metrics_head(m, "toolwire_build_info", "gauge", "What is running; always 1.");
    metrics_text(m, SPAN("toolwire_build_info"));
    metrics_label(m, "version", TOOLWIRE_VERSION, true);
    metrics_count(m, true, 1);
    metrics_head(m, "toolwire_uptime_seconds", "gauge", "Time since the start.");
    metrics_text(m, SPAN("toolwire_uptime_seconds"));
    metrics_value(m, false, (double)watch_uptime_ns(watch) / 1e9);
}

static void metrics_entries(Metrics *m, const WatchProviders *providers, RouterKind kind,
                            const char *name, const char *help)
{
    metrics_head(m, name, "gauge", help);
    for (size_t i = 0; i < providers->n; i++) {
        metrics_text(m, span_from_str(name));
        metrics_label(m, "provider", providers->of[i].name, true);
        metrics_count(m, true, providers->of[i].n_entries[kind]);
    }
}

/* ---- calls ---- */

static void metrics_series(Metrics *m, const char *name, const WatchSeries *series)
{
    metrics_text(m, span_from_str(name));
    metrics_label(m, "provider", series->provider, true);
    metrics_label(m, "dialect", series->dialect, false);
    metrics_label(m, "verb", watch_verb_name(series->verb), false);
}

static void metrics_calls(Metrics *m, const WatchSeries *series, size_t n)
{
    metrics_head(m, "toolwire_calls_total", "counter", "Calls that ended, by how they did.");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < WATCH_N_OUTCOMES; k++) {
            metrics_series(m, "toolwire_calls_total", &series[i]);
            metrics_label(m, "outcome", watch_outcome_name((WatchOutcome)k), false);
            metrics_count(m, true, series[i].n_calls[k]);
        }
    }
    metrics_head(m, "toolwire_calls_in_flight", "gauge", "Calls that are being worked on.");
    for (size_t i = 0; i < n; i++) {
        metrics_series(m, "toolwire_calls_in_flight", &series[i]);
        metrics_count(m, true, series[i].n_running);
    }
    metrics_head(m, "toolwire_bytes_total", "counter",
                 "Bytes of arguments (in) and of results (out).");
    for (size_t i = 0; i < n; i++) {
        metrics_series(m, "toolwire_bytes_total", &series[i]);
        metrics_label(m, "direction", "in", false);
        metrics_count(m, true, series[i].bytes_in);
        metrics_series(m, "toolwire_bytes_total", &series[i]);
        metrics_label(m, "direction", "out", false);
        metrics_count(m, true, series[i].bytes_out);
    }
}

static void metrics_histogram(Metrics *m, const WatchSeries *series)
{
    uint64_t n = 0;

    for (size_t i = 0; i < WATCH_N_BUCKETS; i++) {
        n += series->buckets[i];
        metrics_series(m, "toolwire_call_seconds_bucket", series);
        metrics_label(m, "le", i < WATCH_N_BOUNDS ? watch_bounds[i].label : "+Inf", false);
        metrics_count(m, true, n);
    }
    metrics_series(m, "toolwire_call_seconds_sum", series);
    metrics_value(m, true, (double)series->sum_ns / 1e9);
    metrics_series(m, "toolwire_call_seconds_count", series);
    metrics_count(m, true, n);
}

/* ---- HTTP ---- */

static void metrics_http(Metrics *m, const HttpDoorFigures *http)
{
    metrics_single(m, "toolwire_http_requests_total", "counter", "HTTP requests.",
                   http->n_requests);
    metrics_single(m, "toolwire_http_refused_total", "counter",
                   "HTTP requests that got a status of 400 to 499.", http->n_refused);
    metrics_head(m, "toolwire_http_bytes_total", "counter", "Bytes of HTTP bodies.");
    metrics_text(m, SPAN("toolwire_http_bytes_total"));
    metrics_label(m, "direction", "in", true);
    metrics_count(m, true, http->bytes_in);
    metrics_text(m, SPAN("toolwire_http_bytes_total"));
    metrics_label(m, "direction", "out", true);
    metrics_count(m, true, http->bytes_out);
    metrics_single(m, "toolwire_http_connections", "gauge", "HTTP connections now.",
                   http->n_connections);
    metrics_single(m, "toolwire_http_sessions", "gauge", "MCP sessions over HTTP now.",
                   http->n_sessions);
    metrics_single(m, "toolwire_http_streams", "gauge", "Event streams open now.", http->n_streams);
}

/* ---- jobs ---- */

static void metrics_jobs(Metrics *m, const QueueFigures *jobs)
{
    metrics_head(m, "toolwire_queue_jobs", "gauge", "Jobs of the durable queue, by state.");
    for (size_t i = 0; i < JOB_N_STATES; i++) {
        metrics_text(m, SPAN("toolwire_queue_jobs"));
        metrics_label(m, "state", job_state_name((JobState)i), true);
        metrics_count(m, true, jobs->counts.n[i]);
    }
    metrics_single(m, "toolwire_queue_jobs_asking", "gauge",
                   "Jobs that wait for the answer to a question.", jobs->counts.n_asking);
    metrics_single(m, "toolwire_queue_commits_total", "counter", "Commits to the queue's disk.",
                   jobs->n_commits);
    metrics_single(m, "toolwire_queue_operations_total", "counter", "What the queue was asked for.",
                   jobs->n_ops);
    metrics_single(m, "toolwire_queue_writes_total", "counter", "Of that, what changed something.",
                   jobs->n_writes);
}

int watch_write_metrics(Watch *watch, const Router *router, const HttpDoorFigures *http,
                        const QueueFigures *jobs, Bytes *out)
{
    Metrics m = {.out = out};
    const WatchSeries *series;
    WatchProviders providers;
    size_t n;

    watch_count_running(watch, router);
    watch_count_providers(router, &providers);
    series = watch_series(watch, &n);
    metrics_about(&m, watch);
    metrics_entries(&m, &providers, ROUTER_TOOL, "toolwire_tools", "Tools, by provider.");
    metrics_entries(&m, &providers, ROUTER_RESOURCE, "toolwire_resources",
                    "Resources, by provider.");
    metrics_entries(&m, &providers, ROUTER_TEMPLATE, "toolwire_resource_templates",
                    "Resource templates, by provider.");
    metrics_entries(&m, &providers, ROUTER_PROMPT, "toolwire_prompts", "Prompts, by provider.");
    metrics_calls(&m, series, n);
    metrics_head(&m, "toolwire_call_seconds", "histogram", "How long calls took.");
    for (size_t i = 0; i < n; i++) {
        metrics_histogram(&m, &series[i]);
    }
    if (http != NULL) {
        metrics_http(&m, http);
    }
    if (jobs != NULL) {
        metrics_jobs(&m, jobs);
    }
    if (watch_audit(watch) != NULL) {
        metrics_single(&m, "toolwire_audit_dropped_total", "counter",
                       "Lines of the record of calls that were lost.",
                       watch_n_audit_dropped(watch));
    }
    return m.r;
}
