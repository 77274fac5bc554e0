/* io/fetch_impl.h: what the files of io/fetch share. */
#pragma once

#include "base/bytes.h"
#include "io/fetch.h"
#include "io/fetch_library.h"
#include "io/loop_internal.h"

struct IoFetcher {
    IoLoop *loop;
    FetchLibrary library;
    CURLM *multi;
    IoTimer *timer; /* libcurl's */
    IoFetch *first;
    unsigned depth;     /* of calls into libcurl: while > 0, no transfer may be added or removed */
    size_t n_unsettled; /* started or freed meanwhile */
    bool is_deaf;       /* a socket could not be watched: whoever waits would wait for ever */
    bool is_global;     /* curl_global_init was called */
};

struct IoFetch {
    IoFetcher *fetcher;
    IoFetch *next;
    IoFetch *prev;
    CURL *easy;
    struct curl_slist *fields;
    const IoFetchOps *ops;
    void *context;
    IoTimer *stall; /* NULL: none */
    int64_t stall_ms;
    int64_t heard_ms; /* when a byte came last */
    Bytes head;       /* the fields of the answer, as they came */
    unsigned status;
    bool has_head; /* complete, and told */
    bool is_added; /* to the multi handle */
    bool is_paused;
    bool is_gone;          /* freed by its owner while libcurl could not let go of it */
    IoFetchOutcome reason; /* why a callback of ours has stopped it; DONE: it has not */
    uint64_t n_body;
    uint64_t max_body;
    char error[CURL_ERROR_SIZE];
};

/* Tells libcurl to go on: a socket is ready, or time has passed; then what has come of it. */
void fetcher_act(IoFetcher *fetcher, curl_socket_t socket, int events);

/* Adds what was started and removes what was freed inside a callback, and tells what is over. */
void fetcher_settle(IoFetcher *fetcher);

/* Outside libcurl: releases everything. */
void fetch_release(IoFetch *fetch);

/* Outside libcurl: tells the end, then releases. */
void fetch_finish(IoFetch *fetch, IoFetchOutcome outcome, const char *message);
