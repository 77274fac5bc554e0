/* agent/model.h: language models behind one door: what is asked of one, and what it says, as it
 * says it.
 *
 *     ModelConfig config = {.loop = loop, .name = "openai:qwen3"};
 *     r = model_open(&model, &config, &diag);
 *     r = model_start(model, &request, &(ModelSink){event, turn}, &run);
 *       → event(turn, TEXT)… TOOL… END                          from the loop
 *
 * A run begins with model_start and ends with exactly one END or FAILED, which never comes before
 * model_start has returned; or with model_cancel, after which nothing comes. Any number may run at
 * once. A model keeps nothing between runs: the whole conversation is in each request.
 *
 * Which models there are: docs/agent-models.md. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "base/span.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what is asked ---- */

typedef enum AgentBlockKind {
    AGENT_BLOCK_TEXT,       /* text */
    AGENT_BLOCK_IMAGE,      /* text: base64; mime */
    AGENT_BLOCK_TOOL_USE,   /* of the model: id, name, input (one JSON object) */
    AGENT_BLOCK_TOOL_RESULT /* for the model: id of the use, text: what it reads, is_error */
} AgentBlockKind;

typedef struct AgentBlock {
    AgentBlockKind kind;
    Span text;
    Span mime;
    Span id;
    Span name;
    Span input;
    bool is_error;
} AgentBlock;

typedef struct AgentMessage {
    bool is_assistant; /* else the user's, to which results of tools belong, too */
    const AgentBlock *blocks;
    size_t n_blocks;
} AgentMessage;

typedef struct AgentToolSpec {
    Span name; /* ours, of any characters: the model is told another one if it must be */
    Span description;
    Span schema; /* of its input: one JSON object; empty: any object */
} AgentToolSpec;

typedef struct ModelRequest {
    Span system; /* may be empty */
    const AgentMessage *messages;
    size_t n_messages;
    const AgentToolSpec *tools;
    size_t n_tools;
    unsigned max_tokens; /* of the answer; 0: LIMIT_MODEL_TOKENS */
} ModelRequest;

/* ---- what it says ---- */

typedef enum ModelEventKind {
    MODEL_TEXT,   /* text: a piece of the answer as it came; UTF-8, never empty */
    MODEL_TOOL,   /* a whole call of a tool: id, name, input; is_bad_json if input is no object */
    MODEL_RETRY,  /* for logs: the attempt failed (text says how) and is repeated in retry_ms. Only
                     before anything else of the run */
    MODEL_END,    /* stop, and the counts if the model told them */
    MODEL_FAILED, /* text: why, in words for people */
} ModelEventKind;

typedef enum ModelStop {
    MODEL_STOP_END,    /* it has said what it wanted to */
    MODEL_STOP_TOOLS,  /* it waits for the results of its calls: there was a TOOL at least */
    MODEL_STOP_LENGTH, /* cut at max_tokens, or by the size of its context */
    MODEL_STOP_REFUSED /* it, or a filter around it, would not answer */
} ModelStop;

/* Spans are borrowed until `event` returns. */
typedef struct ModelEvent {
    ModelEventKind kind;
    Span text;
    Span id;    /* as the model gave it, else made up; never empty */
    Span name;  /* ours, if it is one that the request offered; else whatever the model wrote */
    Span input; /* JSON object without white space around it; as it came if is_bad_json */
    bool is_bad_json;
    ModelStop stop;
    int64_t retry_ms;
    uint64_t n_input_tokens; /* 0: not told */
    uint64_t n_output_tokens;
} ModelEvent;

/* May start further runs, and cancel any run that is not over, this one too. */
typedef struct ModelSink {
    void (*event)(void *context, const ModelEvent *event);
    void *context;
} ModelSink;

/* ---- models ---- */

enum {
    MODEL_E_UNKNOWN =
        1,             /* open: there is no such model, or its settings are wrong; the Diag says */
    MODEL_E_FILE,      /* open: the script cannot be read */
    MODEL_E_TOO_LARGE, /* start: the request is larger than LIMIT_MODEL_REQUEST_BYTES */
};

typedef struct Model Model;
typedef struct ModelRun ModelRun;

/* Times, counts and sizes: 0 means the default, LIMIT_MODEL_… */
typedef struct ModelConfig {
    IoLoop *loop;
    /* "script", "script:FILE", "openai:NAME", "anthropic:NAME"; "openai", "anthropic": the name of
     * the environment or the server's first. NULL: chosen, as docs/agent-models.md says. */
    const char *name;
    const char *base_url; /* of "openai" or "anthropic", before the environment's; may be NULL */
    /* NULL-terminated, NAME=value: keys, addresses and names are looked up here. NULL: this
     * process's own. */
    const char *const *environment;
    int64_t stall_ms;    /* without a byte of the answer */
    int64_t connect_ms;  /* to reach the server */
    int64_t probe_ms;    /* for a server on this machine to show itself, while a model is chosen */
    unsigned n_attempts; /* of a run */
    int64_t backoff_ms;  /* before the second attempt; doubled with each */
    size_t max_answer_bytes;
    const LogSink *log; /* may be NULL; no key and no text of a conversation is ever logged */
    /* Once, from the loop, as soon as model_name is the last word; may be NULL. */
    void (*chosen)(void *context, Model *model);
    void *context;
} ModelConfig;

/* Asks nobody yet, or asks while the loop runs: runs that are started in the meantime wait. 0, a
 * negative errno, MODEL_E_UNKNOWN, MODEL_E_FILE. Borrows config and what it points to until return,
 * but loop, log and the functions until free. Gives *ret. */
int model_open(Model **ret, const ModelConfig *config, Diag *reterr_diag);

/* Runs that are not over end without a word. Not from inside `event` or `chosen`. May be NULL.
 * Returns NULL. */
Model *model_free(Model *model);

/* For people: "script", "openai:qwen3 at http://127.0.0.1:11434/v1"; "(choosing)" while that goes
 * on. Borrowed until free, or until it is chosen. */
const char *model_name(const Model *model);

/* No language model, but the built-in script. False while choosing. */
bool model_is_script(const Model *model);

/* Copies what it needs of request and sink. 0, -ENOMEM, MODEL_E_TOO_LARGE. *ret is the model's: it
 * is valid until END or FAILED has been told, or until it is cancelled. */
int model_start(Model *model, const ModelRequest *request, const ModelSink *sink, ModelRun **ret);

/* Nothing follows. Not for a run that is over. May be NULL. Returns NULL. */
ModelRun *model_cancel(ModelRun *run);
