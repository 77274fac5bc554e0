/* Jobs over HTTP, beside the bare responder: it gets the request that puts a job into the queue,
 * and answers with the bytes of such an answer, without a queue. One request is one request: a
 * whole job that an application fetches takes three of them. */
#include "http_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http_rows.h"
#include "report.h"
#include "rows.h"

#define MAX_SAMPLES ((size_t)1 << 20)
#define WARM_UP_NS  50000000u

/* As large as an ordinary call. Nobody has the tool but an application that fetches. */
#define BODY                                                                                       \
    "{\"method\":\"revit.set_parameter\",\"params\":{\"element\":\"wall-4711\",\"parameter\":"     \
    "\"Comments\",\"value\":\"checked by the agent, level 2, axis C\"}}"

static double samples[MAX_SAMPLES];

/* ---- requests ---- */

static char *jobs_post(const HttpSide *side, const char *path, const char *body, size_t *ret_n)
{
    char *request = NULL;
    int n = asprintf(&request,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     path, side->port, strlen(body), body);

    if (n < 0) {
        peer_die("a request", "no memory");
    }
    *ret_n = (size_t)n;
    return request;
}

static char *jobs_fetch(const HttpSide *side, size_t *ret_n)
{
    char *request = NULL;
    int n = asprintf(&request,
                     "GET /pending_request?waitMs=1000&worker=bench HTTP/1.1\r\n"
                     "Host: 127.0.0.1:%u\r\n\r\n",
                     side->port);

    if (n < 0) {
        peer_die("a request", "no memory");
    }
    *ret_n = (size_t)n;
    return request;
}

/* The result of the job that was fetched. */
static char *jobs_finish(const HttpSide *side, const char *fetched, size_t *ret_n)
{
    static const char name[] = "\"id\":\"";
    const char *id = strstr(fetched, name);
    char body[512];

    if (id == NULL) {
        peer_die(side->program.name, "a job without an id");
    }
    id += sizeof(name) - 1;
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":{\"ok\":true,\"msg\":"
                   "\"Comments of wall-4711 are set; 1 element has changed\"}}",
                   (int)strcspn(id, "\""), id);
    return jobs_post(side, "/post_result", body, ret_n);
}

static char *jobs_request(const HttpSide *side, const char *session, size_t stage,
                          const char *answer, size_t *ret_n)
{
    (void)session;
    switch (stage) {
    case 0:
        return jobs_post(side, "/enqueue", BODY, ret_n);
    case 1:
        return jobs_fetch(side, ret_n);
    default:
        return jobs_finish(side, answer, ret_n);
    }
}

const HttpLoadKind http_load_enqueue = {
    .n_stages = 1, .wanted = {"\"state\":\"ENQUEUED\""}, .request = jobs_request};

static const HttpLoadKind load_job = {
    .n_stages = 3,
    .wanted = {"\"state\":\"ENQUEUED\"", "revit.set_parameter", "\"state\":\"SUCCEEDED\""},
    .request = jobs_request};

void http_jobs_start(HttpSide *side, const char *toolwire)
{
    size_t n;
    char *request;
    int fd;

    http_side_start(side, toolwire, PEER_ERA_MODERN, NULL);
    fd = http_side_connect(side, 0);
    /* An application that fetches: from now on what it may have is put into the queue. */
    request = jobs_fetch(side, &n);
    http_side_send(fd, request, n);
    free(request);
    (void)close(fd);
    fd = http_side_connect(side, 0);
    request = jobs_request(side, "", 0, NULL, &n);
    http_side_ask(side, fd, request, n, "\"state\":\"ENQUEUED\"");
    free(request);
    (void)close(fd);
}

/* ---- rows ---- */

typedef struct Entry {
    HttpSide side;
    HttpLoad *load;
    double rate[ROW_MAX_ROUNDS];
    double p50_us[ROW_MAX_ROUNDS];
    double p99_us[ROW_MAX_ROUNDS];
    double cpu_us[ROW_MAX_ROUNDS];
    double ratio[ROW_MAX_ROUNDS]; /* of rates, to the floor */
} Entry;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void entry_round(Entry *e, size_t round, uint64_t for_ns)
{
    uint64_t cpu_ns = peer_cpu_ns(&e->side.peer);
    size_t n;
    HttpLoadResult result = http_load_run(e->load, for_ns, samples, MAX_SAMPLES, &n);

    cpu_ns = peer_cpu_ns(&e->side.peer) - cpu_ns;
    if (n == 0 || result.n_refused > 0) {
        peer_die(e->side.program.name, "it refused a request");
    }
    qsort(samples, n, sizeof(samples[0]), compare);
    e->rate[round] = (double)result.n_calls * 1e9 / (double)result.ns;
    e->p50_us[round] = samples[n / 2];
    e->p99_us[round] = samples[n - 1 - n / 100];
    e->cpu_us[round] = (double)cpu_ns / 1e3 / (double)result.n_calls;
}

static void report_entry(Entry *e, size_t n_rounds, double goal, Report *report)
{
    report_line(
        report, e->side.program.name, "",
        (ReportFigure[]){
            {.name = "requests_per_s", .value = row_median(e->rate, n_rounds)},
            {.name = "p50_us", .value = row_median(e->p50_us, n_rounds)},
            {.name = "p99_us", .value = row_median(e->p99_us, n_rounds)},
            {.name = "cpu_us", .value = row_median(e->cpu_us, n_rounds), .decimals = 2},
            {.name = "rate_x_floor",
             .value = row_median(e->ratio, n_rounds),
             .decimals = 2,
             .goal = e->side.is_floor || goal == 0 ? REPORT_GOAL_NONE : REPORT_GOAL_AT_LEAST,
             .limit = goal}},
        5);
}

static void run_jobs(const Row *row, const RowSetup *setup, const HttpLoadKind *kind,
                     Report *report)
{
    static Entry entries[HTTP_N_SIDES];

    memset(entries, 0, sizeof(entries));
    peer_place(row->is_free ? PEER_PLACE_ANYWHERE : PEER_PLACE_LAST_CORE);
    http_jobs_start(&entries[HTTP_OURS].side, http_toolwire(setup));
    http_side_start_floor(&entries[HTTP_FLOOR].side, &entries[HTTP_OURS].side);
    peer_place(row->is_free ? PEER_PLACE_ANYWHERE : PEER_PLACE_FIRST_CORE);
    for (size_t i = 0; i < HTTP_N_SIDES; i++) {
        entries[i].load = http_load_new(&entries[i].side, kind, row->size);
        entry_round(&entries[i], 0, WARM_UP_NS);
    }
    for (size_t round = 0; round < setup->n_rounds; round++) {
        peer_watchdog();
        for (size_t i = 0; i < HTTP_N_SIDES; i++) {
            entry_round(&entries[i], round, setup->round_ns);
            entries[i].ratio[round] = entries[i].rate[round] / entries[HTTP_FLOOR].rate[round];
        }
    }
    for (size_t i = 0; i < HTTP_N_SIDES; i++) {
        report_entry(&entries[i], setup->n_rounds, row->ratio_goal, report);
        http_load_free(entries[i].load);
        http_side_stop(&entries[i].side);
    }
}

void http_row_enqueue(const Row *row, const RowSetup *setup, Report *report)
{
    run_jobs(row, setup, &http_load_enqueue, report);
}

void http_row_job(const Row *row, const RowSetup *setup, Report *report)
{
    run_jobs(row, setup, &load_job, report);
}
