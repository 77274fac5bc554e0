/* `toolwire queue show`: one job in full. */
#include <stdio.h>

#include "app/command_job.h"
#include "base/error.h"
#include "cli/cmd_queue.h"
#include "cli/cmd_queue_place.h"
#include "cli/table.h"
#include "json/writer.h"

static const CliOption show_options[] = {QUEUE_OPTION_ROWS, {NULL, NULL, NULL}};

#define SHOW_TARGET_BYTES 1024

static int show_write(const QueueOp *op, Arena *arena, Bytes *out)
{
    CommandJob job = command_job(arena, &op->jobs[0]);

    return command_write_job(&job, true, out);
}

/* What a row says, in the order in which people ask. */
static void show_print_row(JsonValue row, Arena *arena)
{
    static const char *const names[] = {
        "jobId",    "method",          "state",      "enqueuedAt",  "startedAt",   "finishedAt",
        "attempts", "max_attempts",    "priority",   "timeout_sec", "worker",      "pool",
        "rpc_id",   "idempotency_key", "error_code", "error_msg",   "params_json",
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        JsonValue value;
        Span text;

        if (!json_get(row, span_from_str(names[i]), &value) || json_kind(value) == JSON_NULL) {
            continue;
        }
        text = json_span(value);
        if (json_kind(value) == JSON_STRING) {
            (void)json_string(value, arena, &text);
        }
        printf("%-16s  ", names[i]);
        table_print_safe(stdout, text, false);
        (void)fputc('\n', stdout);
    }
}

static int show_print(QueueAnswer *answer)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    JsonValue result;
    JsonWriter w;

    show_print_row(answer->json, &answer->arena);
    if (!json_get(answer->json, SPAN("result"), &result) || json_kind(result) == JSON_NULL) {
        return CLI_EXIT_DONE;
    }
    bytes_init(&text, SIZE_MAX);
    json_writer_init(&w, &text, JSON_STYLE_PRETTY);
    json_write_value(&w, queue_answer_payload(answer->json));
    if (json_writer_finish(&w) != 0) {
        fprintf(stderr, "toolwire queue show: out of memory\n");
        return CLI_EXIT_FAILED;
    }
    printf("result\n");
    (void)fwrite(text.data, 1, text.n, stdout);
    (void)fputc('\n', stdout);
    return CLI_EXIT_DONE;
}

static int show_run(const CliArgs *args)
{
    char target[SHOW_TARGET_BYTES];
    QueueQuestion question = {.method = "GET", .target = target, .write = show_write};
    QueueAnswer answer;
    const char *id = NULL;
    int status = queue_place_operand(args, &id);

    if (status != CLI_EXIT_DONE) {
        return status;
    }
    if (!queue_place_target(target, sizeof(target), "/job/", id, "")) {
        return cli_usage_error(args, "that is no id of a job");
    }
    queue_op_init(&question.op);
    queue_op_set(&question.op, QUEUE_GET, &(QueueOrder){.id = span_from_str(id)});
    status = queue_place_ask(args, &question, &answer);
    if (status == CLI_EXIT_DONE && args->values[QUEUE_OPTION_JSON] != NULL) {
        queue_answer_print_json(&answer);
    } else if (status == CLI_EXIT_DONE) {
        status = show_print(&answer);
    }
    queue_answer_deinit(&answer);
    queue_op_deinit(&question.op);
    return status;
}

const CliCommand cmd_queue_show = {
    .name = "queue show",
    .operands = "JOB",
    .summary = "one job: what was asked, how it stands, and its result",
    .options = show_options,
    .run = show_run,
};
