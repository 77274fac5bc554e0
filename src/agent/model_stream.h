/* agent/model_stream.h: a model's answer, from the bytes of its HTTP body to events. Performs no
 * I/O.
 *
 *     init → feed, next until MODEL_STREAM_E_AGAIN, … → end, next until MODEL_STREAM_E_OVER
 *
 * Exactly one END or FAILED comes, and OVER after it; a body that ends too early is a FAILED.
 * Events without meaning to us (pings, thoughts, fields that are new) are passed over. Private to
 * agent/model*. Thread: any, one at a time.
 */
#pragma once

#include "agent/model.h"
#include "agent/model_dialect.h"
#include "agent/model_input.h"
#include "agent/model_names.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "frame/sse.h"

enum {
    MODEL_STREAM_E_AGAIN = 1, /* feed more */
    MODEL_STREAM_E_OVER,      /* END or FAILED has been given */
};

/* What a service says when it fails, cut to this. */
#define MODEL_STREAM_FAILURE_SIZE 480

/* A call of a tool on its way. */
typedef struct ModelStreamTool {
    int64_t index; /* the service's; < 0: it has none */
    Bytes id;
    Bytes name;
    Bytes input;
    bool is_complete;
} ModelStreamTool;

struct ModelStream {
    const ModelDialect *dialect;
    const ModelNames *names;
    uint64_t id_seed;
    bool is_events; /* else one JSON value */
    SseReader sse;
    Bytes body; /* what is no stream of events */
    Arena arena;
    size_t n_bytes; /* of the answer so far */
    size_t max_bytes;

    ModelStreamTool *tools;
    size_t n_tools;
    size_t n_given;
    size_t cap_tools;

    Span text; /* that is to be given next; empty: none */
    ModelStop stop;
    bool has_stop; /* the service has said why it ends */
    bool is_done;  /* nothing more is expected */
    bool has_failed;
    bool is_transient; /* another attempt may succeed */
    bool has_ended;    /* the body */
    bool is_over;
    char failure[MODEL_STREAM_FAILURE_SIZE];
    uint64_t n_input_tokens;
    uint64_t n_output_tokens;
};

#define MODEL_STREAM_NULL ((ModelStream){.dialect = NULL})

/* is_events: the body's type is text/event-stream. names are borrowed until deinit. id_seed is for
 * calls that the service gives no id. Allocates nothing yet. */
void model_stream_init(ModelStream *stream, const ModelDialect *dialect, const ModelNames *names,
                       bool is_events, size_t max_bytes, uint64_t id_seed);
void model_stream_deinit(ModelStream *stream);

/* After AGAIN, up to INQ_AHEAD_BYTES. 0, -ENOMEM. What is too large is a FAILED. */
int model_stream_feed(ModelStream *stream, const void *data, size_t n);

/* The body is complete, or was cut: nobody can tell. */
void model_stream_end(ModelStream *stream);

/* The next event; borrowed until the next call. 0, -ENOMEM (final), MODEL_STREAM_E_AGAIN,
 * MODEL_STREAM_E_OVER. */
int model_stream_next(ModelStream *stream, ModelEvent *ret);

/* ---- for dialects, inside take ---- */

/* Text of the answer, which must live as long as the event; empty is nothing. At most once an
 * event. */
void model_stream_say(ModelStream *stream, Span text);

/* The newest call of that index; index < 0: the newest. NULL: none. */
ModelStreamTool *model_stream_find_tool(ModelStream *stream, int64_t index);

/* A new one. 0, -ENOMEM; *ret NULL: there are too many, and the stream has failed. */
int model_stream_add_tool(ModelStream *stream, int64_t index, ModelStreamTool **ret);

/* Appends to a part of a call. 0, -ENOMEM; one that is too large fails the stream. */
int model_stream_extend(ModelStream *stream, Bytes *part, Span more);

void model_stream_stop(ModelStream *stream, ModelStop stop);

/* Nothing more is expected: what has come of the calls is all there is. */
void model_stream_done(ModelStream *stream);

/* In words for people. The first counts. */
TW_PRINTF(3, 4)
void model_stream_fail(ModelStream *stream, bool is_transient, const char *format, ...);
