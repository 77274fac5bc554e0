/* bench_http: answers of 10 MiB. */
#include "http_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define LARGE_GOAL   1.0 /* MiB above the answer itself */
#define LARGE_ROUNDS ((size_t)5)
#define SLOW_PIECE   ((size_t)64 * 1024)
#define SLOW_PAUSE   1000u /* microseconds after each piece */
#define MIB          1048576.0

static char piece[256 * 1024];

/* Longer messages than by default, and a command whose output is one. */
static const char *const large_flags[] = {"--max-request-bytes",
                                          "12MiB",
                                          "--max-response-bytes",
                                          "12MiB",
                                          "--tools",
                                          TW_BENCH_DIR "/data/large_tool.json"};

static char *large_text(void)
{
    char *text = malloc(HTTP_LARGE_BYTES + 1);

    if (text == NULL) {
        peer_die("large", "no memory");
    }
    memset(text, 'x', HTTP_LARGE_BYTES);
    text[HTTP_LARGE_BYTES] = '\0';
    return text;
}

/* Reads one answer in pieces of so many bytes, calling between after each; returns its length. */
static size_t large_read(const HttpSide *side, int fd, size_t n_piece,
                         void (*between)(void *context), void *context)
{
    size_t n = 0;
    size_t n_whole = 0;

    while (n_whole == 0 || n < n_whole) {
        ssize_t n_read = read(fd, piece, n_piece);

        if (n_read <= 0) {
            peer_die(side->program.name, "a large answer is cut off");
        }
        /* The head is in the first packet. */
        n_whole = n == 0 ? http_answer_length(piece, (size_t)n_read) : n_whole;
        if (n_whole < HTTP_LARGE_BYTES) {
            (void)fprintf(stderr, "%.*s\n", n_read < 2000 ? (int)n_read : 2000, piece);
            peer_die(side->program.name, "an answer that is not large");
        }
        n += (size_t)n_read;
        if (between != NULL) {
            between(context);
        }
    }
    return n;
}

/* Milliseconds from the first byte of the request to the last of the answer. */
static double large_round_trip(const HttpSide *side, int fd, const char *request, size_t n)
{
    uint64_t start_ns = clock_monotonic_ns();

    http_side_send(fd, request, n);
    (void)large_read(side, fd, sizeof(piece), NULL, NULL);
    return (double)(clock_monotonic_ns() - start_ns) / 1e6;
}

void http_row_fast(const Row *row, const RowSetup *setup, Report *report)
{
    char *text = large_text();
    HttpSide sides[HTTP_N_SIDES];
    double ms[HTTP_N_SIDES][ROW_MAX_ROUNDS];
    double ratio[HTTP_N_SIDES][ROW_MAX_ROUNDS];
    char *requests[HTTP_N_SIDES];
    size_t n_requests[HTTP_N_SIDES];
    int fds[HTTP_N_SIDES];

    (void)row;
    http_sides_start(&sides[HTTP_OURS], &sides[HTTP_FLOOR], setup, PEER_ERA_MODERN, text,
                     large_flags);
    for (size_t i = 0; i < HTTP_N_SIDES; i++) {
        fds[i] = http_side_connect(&sides[i], 0);
        requests[i] = http_side_echo(&sides[i], "", text, &n_requests[i]);
        (void)large_round_trip(&sides[i], fds[i], requests[i], n_requests[i]);
    }
    for (size_t round = 0; round < LARGE_ROUNDS; round++) {
        peer_watchdog();
        for (size_t i = 0; i < HTTP_N_SIDES; i++) {
            ms[i][round] = large_round_trip(&sides[i], fds[i], requests[i], n_requests[i]);
            ratio[i][round] = ms[i][round] / ms[HTTP_FLOOR][round];
        }
    }
    for (size_t i = 0; i < HTTP_N_SIDES; i++) {
        report_line(
            report, sides[i].program.name, peer_era_name(PEER_ERA_MODERN),
            (ReportFigure[]){
                {.name = "ms", .value = row_median(ms[i], LARGE_ROUNDS), .decimals = 2},
                {.name = "x_floor", .value = row_median(ratio[i], LARGE_ROUNDS), .decimals = 2}},
            2);
        free(requests[i]);
        (void)close(fds[i]);
        http_side_stop(&sides[i]);
    }
    free(text);
}

typedef struct Slow {
    const HttpSide *side;
    size_t most; /* of its memory */
    size_t n_pieces;
} Slow;

static void slow_between(void *context)
{
    Slow *slow = context;

    if (slow->n_pieces++ % 8 == 0) {
        size_t now = http_side_memory(slow->side);

        slow->most = now > slow->most ? now : slow->most;
    }
    (void)usleep(SLOW_PAUSE);
}

static void slow_read(HttpSide *side, const char *what, const char *request, size_t n_request,
                      bool has_goal, Report *report)
{
    Slow slow = {.side = side};
    int fd = http_side_connect(side, (int)SLOW_PIECE);
    double before = (double)http_side_memory(side);
    double answer;
    double peak;

    http_side_reset_peak(side);
    peak = (double)http_side_peak(side);
    http_side_send(fd, request, n_request);
    answer = (double)large_read(side, fd, SLOW_PIECE, slow_between, &slow);
    peak = (double)http_side_peak(side) - peak;
    (void)close(fd);
    report_line(
        report, side->program.name, what,
        (ReportFigure[]){
            {.name = "answer_mib", .value = answer / MIB, .decimals = 2},
            {.name = "waiting_mib", .value = ((double)slow.most - before) / MIB, .decimals = 2},
            {.name = "above_mib",
             .value = ((double)slow.most - before - answer) / MIB,
             .decimals = 2,
             .goal = has_goal ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
             .limit = LARGE_GOAL},
            {.name = "peak_mib", .value = peak / MIB, .decimals = 2}},
        4);
}

/* The output of a command; and an echo, whose request is as large as its answer. */
void http_row_slow(const Row *row, const RowSetup *setup, Report *report)
{
    char *text = large_text();
    char *request;
    size_t n;

    (void)row;
    for (size_t i = 0; i < 2; i++) {
        HttpSide side;
        int fd;

        peer_watchdog();
        http_side_start(&side, http_toolwire(setup), PEER_ERA_MODERN, large_flags);
        fd = http_side_connect(&side, 0);
        request = http_side_echo(&side, "", "hello", &n);
        http_side_ask(&side, fd, request, n, "hello");
        free(request);
        (void)close(fd);
        request =
            i == 0 ? http_side_call(&side, "", "large", &n) : http_side_echo(&side, "", text, &n);
        slow_read(&side, i == 0 ? "command" : "echo", request, n, i == 0, report);
        free(request);
        http_side_stop(&side);
    }
    free(text);
}
