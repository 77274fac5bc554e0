/* `toolwire queue ls`: a table of jobs, newest first. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/command_job.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cmd_queue.h"
#include "cli/cmd_queue_place.h"
#include "cli/peer_content.h"
#include "cli/table.h"

enum {
    OPTION_ONLY = QUEUE_OPTION_OWN,
    OPTION_LIMIT,
    OPTION_BEFORE,
};

static const CliOption ls_options[] = {
    QUEUE_OPTION_ROWS,
    [OPTION_ONLY] = {"only", "STATE", "jobs in this state: enqueued, running, failed, dead…"},
    [OPTION_LIMIT] = {"limit", "N", "so many (50; 1000 at the most)"},
    [OPTION_BEFORE] = {"before", "JOB", "those that are older than this one"},
    {NULL, NULL, NULL},
};

/* "/jobs?limit=" and two texts, each byte as three. */
#define LS_TARGET_BYTES 2048

static int ls_write(const QueueOp *op, Arena *arena, Bytes *out)
{
    CommandJob *jobs = arena_alloc_array(arena, op->n_jobs + 1, sizeof(*jobs));
    size_t asked = queue_op_order(op)->list.limit;
    size_t limit = asked > 0 ? asked : LIMIT_QUEUE_LIST;

    if (jobs == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < op->n_jobs; i++) {
        jobs[i] = command_job(arena, &op->jobs[i]);
    }
    return command_write_jobs(jobs, op->n_jobs,
                              op->n_jobs >= limit ? jobs[op->n_jobs - 1].id : SPAN_NULL, out);
}

/* What the options say, as the operation and as the request. */
static int ls_ask(const CliArgs *args, QueueOp *op, char *target)
{
    const char *only = args->values[OPTION_ONLY];
    const char *limit = args->values[OPTION_LIMIT];
    const char *before = args->values[OPTION_BEFORE];
    char words[128];
    uint64_t n = LIMIT_QUEUE_LIST;
    QueueOrder order = {.id = SPAN_NULL};
    QueueList *list = &order.list;

    if (limit != NULL &&
        (text_parse_u64(span_from_str(limit), &n) != 0 || n < 1 || n > LIMIT_QUEUE_LIST_MAX)) {
        return cli_usage_error(args, "--limit: expected a number from 1 to %d",
                               LIMIT_QUEUE_LIST_MAX);
    }
    if (only != NULL && !job_state_parse(span_from_str(only), &list->state)) {
        return cli_usage_error(args, "--only: there is no state '%s'", only);
    }
    list->has_state = only != NULL;
    list->limit = (size_t)n;
    list->before = before == NULL ? SPAN_NULL : span_from_str(before);
    queue_op_set(op, QUEUE_LIST, &order);
    (void)snprintf(words, sizeof(words), "/jobs?limit=%u%s%s%s", (unsigned)n,
                   only == NULL ? "" : "&state=", only == NULL ? "" : job_state_name(list->state),
                   before == NULL ? "" : "&before=");
    return queue_place_target(target, LS_TARGET_BYTES, words, before == NULL ? "" : before, "")
               ? CLI_EXIT_DONE
               : cli_usage_error(args, "--before: that is no id of a job");
}

static int ls_print(const CliArgs *args, QueueAnswer *answer)
{
    Arena *arena = &answer->arena;
    JsonValue jobs;
    JsonValue next;
    Table table;

    table_init(&table, arena, 5);
    if (json_get(answer->json, SPAN("jobs"), &jobs)) {
        for (JsonIter it = json_iter(jobs); json_iter_next(&it);) {
            Span cells[] = {peer_content_text(it.value, SPAN("jobId"), arena),
                            peer_content_text(it.value, SPAN("state"), arena),
                            peer_content_text(it.value, SPAN("enqueuedAt"), arena),
                            peer_content_text(it.value, SPAN("method"), arena),
                            peer_content_text(it.value, SPAN("error_code"), arena)};

            if (table_add(&table, cells) != 0) {
                fprintf(stderr, "toolwire queue ls: out of memory\n");
                return CLI_EXIT_FAILED;
            }
        }
    }
    table_print(&table, stdout);
    (void)fflush(stdout); /* before what is said about it */
    if (table.n_rows == 0) {
        fprintf(stderr, "toolwire %s: there are no such jobs\n", args->command->name);
    } else if (json_get(answer->json, SPAN("next"), &next) && json_kind(next) == JSON_STRING) {
        fprintf(stderr, "toolwire %s: there may be more; see --before and --limit\n",
                args->command->name);
    }
    return CLI_EXIT_DONE;
}

static int ls_run(const CliArgs *args)
{
    char target[LS_TARGET_BYTES];
    QueueQuestion question = {.method = "GET", .target = target, .write = ls_write};
    QueueAnswer answer;
    int status;

    queue_op_init(&question.op);
    status = ls_ask(args, &question.op, target);
    if (status == CLI_EXIT_DONE) {
        status = queue_place_ask(args, &question, &answer);
        if (status == CLI_EXIT_DONE && args->values[QUEUE_OPTION_JSON] != NULL) {
            queue_answer_print_json(&answer);
        } else if (status == CLI_EXIT_DONE) {
            status = ls_print(args, &answer);
        }
        queue_answer_deinit(&answer);
    }
    queue_op_deinit(&question.op);
    return status;
}

const CliCommand cmd_queue_ls = {
    .name = "queue ls",
    .summary = "list jobs, newest first",
    .details = "A line for each: its id, its state, when it came, its method, and the code of its\n"
               "end unless that is OK.",
    .options = ls_options,
    .run = ls_run,
};
