/* `toolwire queue result`: what a job answered, for programs and pipes. */
#include <stdio.h>

#include "app/command_job.h"
#include "base/error.h"
#include "base/limits.h"
#include "cli/cmd_queue.h"
#include "cli/cmd_queue_place.h"
#include "json/writer.h"

enum {
    OPTION_WAIT = QUEUE_OPTION_OWN,
};

static const CliOption result_options[] = {
    QUEUE_OPTION_ROWS,
    [OPTION_WAIT] = {"wait", "TIME", "wait this long for the job's end (0s)"},
    {NULL, NULL, NULL},
};

#define RESULT_TARGET_BYTES 1024

static int result_write(const QueueOp *op, Arena *arena, Bytes *out)
{
    CommandJob job = command_job(arena, &op->jobs[0]);

    return job.is_over ? command_write_reply(&job, out) : 0;
}

/* The envelope; the status says whether it is one of success. */
static int result_print(const CliArgs *args, const QueueAnswer *answer)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    JsonValue payload;
    JsonValue ok;
    JsonWriter w;
    bool is_ok = false;

    if (answer->json.node == NULL) {
        fprintf(stderr, "toolwire %s: %s\n", args->command->name,
                answer->hub_has_gone
                    ? "the hub has ended before the job did, which the next hub goes on with"
                    : "the job has not ended");
        return CLI_EXIT_FAILED;
    }
    payload = queue_answer_payload(answer->json);
    bytes_init(&text, SIZE_MAX);
    json_writer_init(&w, &text,
                     args->values[QUEUE_OPTION_JSON] != NULL ? JSON_STYLE_COMPACT
                                                             : JSON_STYLE_PRETTY);
    json_write_value(&w, payload);
    if (json_writer_finish(&w) != 0) {
        fprintf(stderr, "toolwire %s: out of memory\n", args->command->name);
        return CLI_EXIT_FAILED;
    }
    (void)fwrite(text.data, 1, text.n, stdout);
    (void)fputc('\n', stdout);
    return json_get(payload, SPAN("ok"), &ok) && json_bool(ok, &is_ok) && is_ok ? CLI_EXIT_DONE
                                                                                : CLI_EXIT_FAILED;
}

/* A hub waits for so long at once; who waits longer asks again. */
static int result_ask(const CliArgs *args, const char *id, int64_t wait_ms)
{
    char target[RESULT_TARGET_BYTES];
    char behind[64];
    int status;

    for (;;) {
        int64_t now_ms = wait_ms < LIMIT_COMMAND_WAIT_MS ? wait_ms : LIMIT_COMMAND_WAIT_MS;
        QueueQuestion question = {.method = "GET", .target = target, .write = result_write};
        QueueAnswer answer;
        bool goes_on;

        (void)snprintf(behind, sizeof(behind), "&waitMs=%lld", (long long)now_ms);
        if (!queue_place_target(target, sizeof(target), "/get_result?jobId=", id, behind)) {
            return cli_usage_error(args, "that is no id of a job");
        }
        queue_op_init(&question.op);
        queue_op_set(&question.op, QUEUE_GET, &(QueueOrder){.id = span_from_str(id)});
        status = queue_place_ask(args, &question, &answer);
        wait_ms -= now_ms;
        /* Of a file nobody waits for anything: no job ends there. */
        goes_on =
            status == CLI_EXIT_DONE && answer.status == 204 && wait_ms > 0 && !answer.hub_has_gone;
        if (status == CLI_EXIT_DONE && !goes_on) {
            status = result_print(args, &answer);
        }
        queue_answer_deinit(&answer);
        queue_op_deinit(&question.op);
        if (!goes_on) {
            return status;
        }
    }
}

static int result_run(const CliArgs *args)
{
    const char *id = NULL;
    int64_t wait_ms = 0;
    int status = queue_place_operand(args, &id);

    if (status != CLI_EXIT_DONE) {
        return status;
    }
    status = cli_args_time(args, OPTION_WAIT, true, &wait_ms);
    return status != 0 ? status : result_ask(args, id, wait_ms);
}

const CliCommand cmd_queue_result = {
    .name = "queue result",
    .operands = "JOB",
    .summary = "what a job answered",
    .details = "The standard envelope. The status is 0 if its ok is true, and 1 if it is not, or\n"
               "the job has not ended, be it that the hub ends first. TIME is 500ms, 30s, 5m.",
    .options = result_options,
    .run = result_run,
};
