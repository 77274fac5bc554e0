/* agent/model_dialect.h: what differs between the services of models: how a request is written, and
 * what an event of their streams means. Private to agent/model*. */
#pragma once

#include "agent/model.h"
#include "base/bytes.h"
#include "json/json.h"

typedef struct ModelStream ModelStream;

/* What a body needs beside the request. */
typedef struct ModelBody {
    Span model;          /* its name at the service */
    bool is_first_party; /* the dialect's own service, which has moved on from what the others know
                          */
} ModelBody;

typedef struct ModelDialect {
    const char *name;
    const char *path; /* behind the base address */

    /* Appends the body. 0, -ENOMEM, BYTES_E_FULL. */
    int (*write)(Bytes *out, const ModelRequest *request, const ModelBody *body);

    /* One event that is JSON: gives the stream what it says (model_stream_*). 0, or -ENOMEM. */
    int (*take)(ModelStream *stream, JsonValue event);

    /* Is this event, which need not be JSON, the mark of the end? NULL: there is none. */
    bool (*is_end_mark)(Span data);
} ModelDialect;

/* OpenAI's chat completions, as OpenAI, llama.cpp, Ollama, vLLM and others serve them. */
extern const ModelDialect model_openai;

/* Anthropic's messages. */
extern const ModelDialect model_anthropic;
