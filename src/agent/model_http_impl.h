/* agent/model_http_impl.h: what the files of agent/model_http share. */
#pragma once

#include "agent/model_http.h"
#include "agent/model_impl.h"
#include "agent/model_names.h"
#include "agent/model_stream.h"
#include "base/arena.h"

typedef struct HttpModel HttpModel;
typedef struct HttpRun HttpRun;

struct HttpModel {
    Model model; /* first */
    IoLoop *loop;
    const LogSink *log;
    IoFetcher *fetcher; /* NULL until it is needed */
    Arena arena;        /* the texts of the four below */
    ModelService service;
    const char *name;
    const char *url; /* of requests */
    Span authorization;
    int64_t stall_ms;
    int64_t connect_ms;
    int64_t backoff_ms;
    unsigned max_attempts;
    size_t max_answer_bytes;
    HttpRun *first;
};

struct HttpRun {
    ModelRun run; /* first */
    HttpModel *model;
    HttpRun *next;
    HttpRun *prev;
    ModelSink sink;
    Bytes body; /* of the request: the fetch borrows it */
    ModelNames names;
    IoTimer *timer; /* the next attempt */
    IoFetch *fetch; /* NULL: none under way */
    unsigned n_attempts;
    unsigned status;        /* of the answer under way */
    int64_t retry_after_ms; /* that it asks for; < 0: it does not */
    ModelStream stream;     /* of an answer that is a success */
    bool has_stream;
    Bytes error;   /* the body of one that is none */
    bool has_told; /* text or a tool: there is no other attempt */
    bool is_busy;  /* inside a callback: whoever cancels leaves it to that */
    bool is_gone;  /* cancelled */
    bool is_over;  /* END or FAILED is told; the rest of the answer is let pass */
};

/* Makes and starts a run. 0, -ENOMEM, MODEL_E_TOO_LARGE. */
int http_run_new(HttpRun **ret, HttpModel *model, const ModelRequest *request,
                 const ModelSink *sink);

/* Ends it, without a word. */
void http_run_release(HttpRun *run);
