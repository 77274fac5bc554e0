/* `toolwire queue retry` and `toolwire queue cancel`. */
#include <stdio.h>

#include "app/command_job.h"
#include "cli/cmd_queue.h"
#include "cli/cmd_queue_place.h"
#include "cli/peer_content.h"

static const CliOption change_options[] = {QUEUE_OPTION_ROWS, {NULL, NULL, NULL}};

#define CHANGE_TARGET_BYTES 1024

static int change_write(const QueueOp *op, Arena *arena, Bytes *out)
{
    CommandJob job = command_job(arena, &op->jobs[0]);

    return command_write_done(&job, 0, out);
}

static int change_run(const CliArgs *args, QueueVerb verb, const char *path)
{
    char target[CHANGE_TARGET_BYTES];
    QueueQuestion question = {.method = "POST", .target = target, .write = change_write};
    QueueAnswer answer;
    const char *id = NULL;
    int status = queue_place_operand(args, &id);

    if (status != CLI_EXIT_DONE) {
        return status;
    }
    if (!queue_place_target(target, sizeof(target), "/job/", id, path)) {
        return cli_usage_error(args, "that is no id of a job");
    }
    queue_op_init(&question.op);
    queue_op_set(&question.op, verb, &(QueueOrder){.id = span_from_str(id)});
    status = queue_place_ask(args, &question, &answer);
    if (status == CLI_EXIT_DONE && args->values[QUEUE_OPTION_JSON] != NULL) {
        queue_answer_print_json(&answer);
    } else if (status == CLI_EXIT_DONE) {
        Span state = peer_content_text(answer.json, SPAN("state"), &answer.arena);

        printf("%s is %.*s\n", id, (int)state.n, state.p);
    }
    queue_answer_deinit(&answer);
    queue_op_deinit(&question.op);
    return status;
}

static int retry_run(const CliArgs *args)
{
    return change_run(args, QUEUE_RETRY, "/retry");
}

static int cancel_run(const CliArgs *args)
{
    return change_run(args, QUEUE_CANCEL, "/cancel");
}

const CliCommand cmd_queue_retry = {
    .name = "queue retry",
    .operands = "JOB",
    .summary = "run a job that has failed once more",
    .details = "One that was interrupted may have run: look first whether it has.",
    .options = change_options,
    .run = retry_run,
};

const CliCommand cmd_queue_cancel = {
    .name = "queue cancel",
    .operands = "JOB",
    .summary = "end a job that waits or runs",
    .options = change_options,
    .run = cancel_run,
};
