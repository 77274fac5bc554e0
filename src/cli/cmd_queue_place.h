/* cli/cmd_queue_place.h: where the sub-commands of `toolwire queue` find the queue: at the hub of
 * the state folder, or where none runs in its file. Both answer with the same JSON, that of the
 * command door (dialect/command/answer.h). Thread: main.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "cli/cli.h"
#include "queue/queue.h"
#include "json/json.h"

/* The options that each of them has, in front of its own. */
enum {
    QUEUE_OPTION_CONFIG,
    QUEUE_OPTION_STATE,
    QUEUE_OPTION_QUEUE,
    QUEUE_OPTION_JSON,
    QUEUE_OPTION_OWN,
};

#define QUEUE_OPTION_ROWS                                                                          \
    [QUEUE_OPTION_CONFIG] = {"config", "FILE",                                                     \
                             "settings; else ./toolwire.json, else the user's, else none"},        \
    [QUEUE_OPTION_STATE] = {"state", "DIR", "the state folder; else the user's"},                  \
    [QUEUE_OPTION_QUEUE] = {"queue", "FILE", "the file of the queue, if it is not in there"},      \
    [QUEUE_OPTION_JSON] = {"json", NULL, "print the answer as JSON, on one line"}

/* What is asked, as a request to a hub and as an operation on the file. */
typedef struct QueueQuestion {
    const char *method; /* of HTTP */
    const char *target; /* path and query */
    QueueOp op;         /* queue_op_init, queue_op_set */
    /* Writes the answer from what the operation gave. */
    int (*write)(const QueueOp *op, Arena *arena, Bytes *out);
} QueueQuestion;

typedef struct QueueAnswer {
    unsigned status; /* of HTTP */
    Bytes text;
    Arena arena;
    JsonValue json;    /* node NULL: there is no body */
    bool hub_has_gone; /* while it was asked, or it said that it ends */
} QueueAnswer;

/* CLI_EXIT_DONE: there is an answer, and it is no refusal. Else it was explained, with --json also
 * printed. The answer is deinitialised by the caller in any case. */
int queue_place_ask(const CliArgs *args, QueueQuestion *question, QueueAnswer *ret);
void queue_answer_deinit(QueueAnswer *answer);

/* The one operand, an id. CLI_EXIT_DONE, CLI_EXIT_USAGE. */
int queue_place_operand(const CliArgs *args, const char **ret_id);

/* The path of that job, with the rest behind it, its odd characters as %XX. False: it does not fit.
 */
bool queue_place_target(char *out, size_t size, const char *before, const char *id,
                        const char *behind);

/* The answer, as one line of JSON. */
void queue_answer_print_json(const QueueAnswer *answer);

/* The envelope of a JSON-RPC reply, or of a job's row: what stands at result.result. */
JsonValue queue_answer_payload(JsonValue answer);
