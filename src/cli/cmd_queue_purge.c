/* `toolwire queue purge`: forgets jobs that are over, with their results. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd_queue.h"
#include "cli/cmd_queue_place.h"
#include "dialect/command/answer.h"

enum {
    OPTION_ONLY = QUEUE_OPTION_OWN,
    OPTION_OLDER,
    OPTION_ALL,
};

static const CliOption purge_options[] = {
    QUEUE_OPTION_ROWS,
    [OPTION_ONLY] = {"only", "STATE...", "jobs that ended so: succeeded, failed, dead…"},
    [OPTION_OLDER] = {"older", "TIME", "jobs that ended before that long"},
    [OPTION_ALL] = {"all", NULL, "all jobs that have ended"},
    {NULL, NULL, NULL},
};

#define PURGE_TARGET_BYTES 512

static int purge_write(const QueueOp *op, Arena *arena, Bytes *out)
{
    (void)arena;
    return command_write_purged(op->n_changed, out);
}

static int purge_ask(const CliArgs *args, QueuePurge *purge, char *target)
{
    size_t n = (size_t)snprintf(target, PURGE_TARGET_BYTES, "/jobs?olderMs=");

    if (args->values[OPTION_ALL] == NULL && args->values[OPTION_ONLY] == NULL &&
        args->values[OPTION_OLDER] == NULL) {
        return cli_usage_error(args, "which ones? give --only, --older or --all");
    }
    if (cli_args_time(args, OPTION_OLDER, true, &purge->older_ms) != 0) {
        return CLI_EXIT_USAGE;
    }
    for (size_t i = 0; i < args->n_repeats; i++) {
        JobState state;

        if (args->repeats[i].place != OPTION_ONLY) {
            continue;
        }
        if (!job_state_parse(span_from_str(args->repeats[i].value), &state) ||
            !job_is_over(state)) {
            return cli_usage_error(args, "--only: '%s' is no state that a job ends in",
                                   args->repeats[i].value);
        }
        purge->states[state] = true;
    }
    n += (size_t)snprintf(target + n, PURGE_TARGET_BYTES - n, "%" PRId64, purge->older_ms);
    for (size_t i = 0, n_states = 0; i < JOB_N_STATES; i++) {
        if (purge->states[i]) {
            n += (size_t)snprintf(target + n, PURGE_TARGET_BYTES - n, "%s%s",
                                  n_states++ == 0 ? "&state=" : ",", job_state_name((JobState)i));
        }
    }
    return CLI_EXIT_DONE;
}

static int purge_run(const CliArgs *args)
{
    char target[PURGE_TARGET_BYTES];
    QueueQuestion question = {.method = "DELETE", .target = target, .write = purge_write};
    QueueAnswer answer;
    JsonValue purged;
    uint64_t n = 0;
    int status;

    queue_op_init(&question.op);
    queue_op_set(&question.op, QUEUE_PURGE, NULL);
    status = purge_ask(args, &question.op.purge, target);
    if (status == CLI_EXIT_DONE) {
        status = queue_place_ask(args, &question, &answer);
        if (status == CLI_EXIT_DONE && args->values[QUEUE_OPTION_JSON] != NULL) {
            queue_answer_print_json(&answer);
        } else if (status == CLI_EXIT_DONE) {
            if (json_get(answer.json, SPAN("purged"), &purged)) {
                (void)json_uint64(purged, &n);
            }
            printf("%" PRIu64 " job%s forgotten\n", n, n == 1 ? "" : "s");
        }
        queue_answer_deinit(&answer);
    }
    queue_op_deinit(&question.op);
    return status;
}

const CliCommand cmd_queue_purge = {
    .name = "queue purge",
    .summary = "forget jobs that have ended, and their results",
    .details = "Those that wait or run stay. TIME is 500ms, 30s, 5m, 1d. A key that made a job\n"
               "count once is forgotten with it.",
    .options = purge_options,
    .run = purge_run,
};
