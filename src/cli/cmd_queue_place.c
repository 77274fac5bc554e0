#include "cli/cmd_queue_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/command_job.h"
#include "app/config.h"
#include "app/hub_ask.h"
#include "app/up_queue.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "cli/peer_content.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/place.h"

/* An answer: a result, or a page of a list. */
#define ANSWER_BYTES ((size_t)4 * LIMIT_QUEUE_BODY_BYTES)

/* How often a hub is asked, a millisecond apart, that goes while it is asked: one that is killed
 * lets go of its connections before the socket that leads there. */
#define PLACE_LOST_TRIES 1000

/* ---- settings ---- */

static int place_settings(const CliArgs *args, Config *ret)
{
    const char *state = args->values[QUEUE_OPTION_STATE];
    const char *file = args->values[QUEUE_OPTION_QUEUE];
    Diag diag = DIAG_NULL;
    int r = config_load(ret, args->values[QUEUE_OPTION_CONFIG], &diag);

    if (r > 0) {
        fprintf(stderr, "toolwire %s: %s\n", args->command->name, diag.message);
        return CLI_EXIT_USAGE;
    }
    if (r == 0 && state != NULL) {
        r = config_replace(&ret->state, state);
    }
    if (r == 0 && file != NULL) {
        r = config_replace(&ret->queue.file, file);
    }
    if (r != 0) {
        fprintf(stderr, "toolwire %s: %s\n", args->command->name, io_error_text(-r));
        config_deinit(ret);
        return CLI_EXIT_FAILED;
    }
    return CLI_EXIT_DONE;
}

/* ---- the file ---- */

static int file_refuse(int r, const char *file, QueueAnswer *ret)
{
    CommandFault fault = command_fault(r);

    ret->status = fault.status;
    return command_write_refusal(fault.code, command_fault_text(r, file, &ret->arena), SPAN_NULL,
                                 SPAN_NULL, SPAN_NULL, false, &ret->text);
}

/* 0, a negative errno, or above 0: the Diag says why. */
static int file_ask(const char *path, QueueQuestion *question, QueueAnswer *ret, Diag *reterr_diag)
{
    Queue *queue = NULL;
    QueueOp *op = &question->op;
    int r;

    if (!io_place_exists(path)) {
        return diag_set(reterr_diag, QUEUE_E_MISSING, "there is no hub, and no queue at %s", path);
    }
    r = queue_open(&queue, &(QueueConfig){.path = path}, reterr_diag);
    if (r == QUEUE_E_READ_ONLY) {
        return diag_set(
            reterr_diag, r,
            "the queue at %s, or the folder around it, cannot be written, which reading "
            "it needs, too: copy all files that begin so, and name the copy by --queue",
            path);
    }
    if (r != 0) {
        return r;
    }
    r = queue_run(queue, op);
    if (r != 0) {
        r = file_refuse(r, path, ret);
    } else {
        ret->status = 200;
        r = question->write(op, &ret->arena, &ret->text);
    }
    queue = queue_close(queue);
    return r == BYTES_E_FULL ? diag_set(reterr_diag, r, "the answer is too large") : r;
}

static int place_ask_file(const Config *config, QueueQuestion *question, QueueAnswer *ret,
                          Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *path = NULL;
    int r = up_queue_path(&path, config, reterr_diag);

    if (r == 0 && path == NULL) {
        r = diag_set(reterr_diag, QUEUE_E_MISSING, "there is no queue: the settings say off");
    }
    return r != 0 ? r : file_ask(path, question, ret, reterr_diag);
}

/* ---- questions ---- */

static int answer_parse(QueueAnswer *answer)
{
    JsonDoc doc;
    int r;

    answer->json = JSON_VALUE_NULL;
    if (answer->text.n == 0) {
        return 0;
    }
    r = json_parse(&doc, &answer->arena, answer->text.data, answer->text.n, NULL, NULL);
    if (r == 0) {
        answer->json = json_root(&doc);
    }
    return r > 0 ? err_raise(-EPROTO) : err_pass(r);
}

void queue_answer_print_json(const QueueAnswer *answer)
{
    (void)fwrite(answer->text.data, 1, answer->text.n, stdout);
    (void)fputc('\n', stdout);
}

JsonValue queue_answer_payload(JsonValue answer)
{
    JsonValue routed;
    JsonValue payload;

    return json_get(answer, SPAN("result"), &routed) && json_get(routed, SPAN("result"), &payload)
               ? payload
               : answer;
}

static int answer_refusal(const CliArgs *args, QueueAnswer *answer)
{
    Span message = answer->json.node == NULL
                       ? SPAN("the hub refuses")
                       : peer_content_text(answer->json, SPAN("msg"), &answer->arena);

    if (args->values[QUEUE_OPTION_JSON] != NULL && answer->text.n > 0) {
        queue_answer_print_json(answer);
        (void)fflush(stdout);
    }
    fprintf(stderr, "toolwire %s: ", args->command->name);
    table_print_safe(stderr, message, false);
    (void)fputc('\n', stderr);
    return CLI_EXIT_FAILED;
}

/* A hub that goes while it is asked has written down what it did: whoever only looks may look
 * again, at its successor or in the file. */
static int place_ask_hub(const Config *config, const QueueQuestion *question, QueueAnswer *ret,
                         Diag *reterr_diag)
{
    Span method = span_from_str(question->method);
    Span target = span_from_str(question->target);
    HubAnswer answer = {.status = 0};
    int n_tries = span_equals(method, SPAN("GET")) ? PLACE_LOST_TRIES : 1;
    int r = hub_ask(config->state, method, target, &ret->text, &answer, reterr_diag);

    while (r == HUB_ASK_E_LOST && --n_tries > 0) {
        ret->hub_has_gone = true;
        io_place_nap();
        bytes_clear(&ret->text);
        r = hub_ask(config->state, method, target, &ret->text, &answer, reterr_diag);
    }
    ret->status = answer.status;
    ret->hub_has_gone = ret->hub_has_gone || (r == 0 && answer.is_last);
    return r;
}

int queue_place_ask(const CliArgs *args, QueueQuestion *question, QueueAnswer *ret)
{
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    int r = place_settings(args, &config);

    *ret = (QueueAnswer){.status = 0};
    bytes_init(&ret->text, ANSWER_BYTES);
    arena_init(&ret->arena, SIZE_MAX);
    if (r != CLI_EXIT_DONE) {
        return r;
    }
    r = args->values[QUEUE_OPTION_QUEUE] != NULL ? HUB_ASK_E_NO_HUB
                                                 : place_ask_hub(&config, question, ret, &diag);
    if (r == HUB_ASK_E_NO_HUB) {
        r = place_ask_file(&config, question, ret, &diag);
    }
    config_deinit(&config);
    if (r == 0) {
        r = answer_parse(ret);
    }
    if (r != 0) {
        fprintf(stderr, "toolwire %s: %s\n", args->command->name,
                diag.message[0] != '\0' ? diag.message : io_error_text(-r));
        return CLI_EXIT_FAILED;
    }
    return ret->status >= 400 ? answer_refusal(args, ret) : CLI_EXIT_DONE;
}

void queue_answer_deinit(QueueAnswer *answer)
{
    bytes_deinit(&answer->text);
    arena_deinit(&answer->arena);
}

int queue_place_operand(const CliArgs *args, const char **ret_id)
{
    if (args->n_operands != 1) {
        return args->n_operands == 0
                   ? cli_usage_error(args, "which job? 'toolwire queue ls' lists them")
                   : cli_usage_error(args, "one job at a time, but got '%s', too",
                                     args->operands[1]);
    }
    *ret_id = args->operands[0];
    return CLI_EXIT_DONE;
}

bool queue_place_target(char *out, size_t size, const char *before, const char *id,
                        const char *behind)
{
    size_t n = (size_t)snprintf(out, size, "%s", before);

    for (; *id != '\0' && n < size; id++) {
        bool is_plain = (*id >= '0' && *id <= '9') || (*id >= 'a' && *id <= 'z') ||
                        (*id >= 'A' && *id <= 'Z') || *id == '-';

        n += (size_t)(is_plain ? snprintf(out + n, size - n, "%c", *id)
                               : snprintf(out + n, size - n, "%%%02X", (unsigned char)*id));
    }
    if (n < size) {
        n += (size_t)snprintf(out + n, size - n, "%s", behind);
    }
    return n < size;
}
