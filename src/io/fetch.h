/* io/fetch.h: HTTP requests of ours to any number of servers at once, by libcurl on the loop.
 *
 *     io_fetcher_new(&fetcher, loop, &diag)                one for all who ask: it keeps
 * connections io_fetch_start(&fetch, fetcher, &request, &diag)     → head → data… → done
 *
 * TLS, HTTP/2, proxies (http_proxy, https_proxy, no_proxy of the environment; never for this
 * machine) and certificates are as libcurl has them on the system. Redirections are not followed,
 * bodies are not decompressed, cookies are not kept: what came is what is told. Nothing is told
 * before io_fetch_start has returned. A request with a body is sent once: when its connection ends
 * before an answer, it is cut, for the server may have carried it out.
 *
 * A fetch is its owner's from start until `done` returns, or until io_fetch_free, which is the way
 * to cancel it and after which nothing is told. Both, and io_fetch_start, may be called from inside
 * any callback; io_fetcher_free may not. libcurl is loaded by io_fetcher_new: 10 ms, once in a
 * process. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IO_FETCH_E_LIBRARY = 1, /* libcurl cannot be loaded, or is not had on this system */
    IO_FETCH_E_REQUEST,     /* the address or a field cannot be sent; the Diag says why */
};

typedef struct IoFetcher IoFetcher;
typedef struct IoFetch IoFetch;

typedef enum IoFetchOutcome {
    IO_FETCH_DONE,      /* the answer is complete, whatever its status */
    IO_FETCH_UNREACHED, /* no such host, refused, or not in connect_ms */
    IO_FETCH_UNTRUSTED, /* its certificate, or TLS, is not acceptable */
    IO_FETCH_CUT,       /* the connection ended before the answer did */
    IO_FETCH_STALLED,   /* stall_ms without a byte, or total_ms over */
    IO_FETCH_TOO_LARGE, /* the head, or the body: more than max_body_bytes */
    IO_FETCH_NO_MEMORY,
    IO_FETCH_FAILED, /* anything else; the message says it */
} IoFetchOutcome;

/* Borrowed until `done` returns. */
typedef struct IoFetchEnd {
    IoFetchOutcome outcome;
    unsigned status;     /* 0: no head has come */
    const char *message; /* of a failure, for people: a few words without the address */
} IoFetchEnd;

typedef struct IoFetchOps {
    /* The answer's head (not of 1xx). May be NULL. */
    void (*head)(void *context, IoFetch *fetch, unsigned status);
    /* Bytes of its body as they came, never none; borrowed until return. */
    void (*data)(void *context, IoFetch *fetch, Span bytes);
    /* Once, and the last. */
    void (*done)(void *context, IoFetch *fetch, const IoFetchEnd *end);
} IoFetchOps;

typedef struct IoFetchField {
    Span name;
    Span value;
} IoFetchField;

typedef struct IoFetchRequest {
    const char *method;      /* "GET", "POST", "DELETE"… */
    const char *url;         /* http or https */
    const char *unix_socket; /* connect to this one, whatever host the address names; NULL: TCP */
    const IoFetchField *fields;
    size_t n_fields;
    Span body;               /* borrowed until done or free; sent if p is not NULL */
    int64_t connect_ms;      /* 0: 10 s */
    int64_t stall_ms;        /* without a byte of the answer, from the start on; 0: none */
    int64_t total_ms;        /* for everything; 0: none */
    uint64_t max_body_bytes; /* 0: none */
    const IoFetchOps *ops;
    void *context;
} IoFetchRequest;

/* 0, -ENOMEM, IO_FETCH_E_LIBRARY. Gives *ret; does not keep the loop running by itself. */
int io_fetcher_new(IoFetcher **ret, IoLoop *loop, Diag *reterr_diag);

/* Ends what is under way without a word. May be NULL. Returns NULL. */
IoFetcher *io_fetcher_free(IoFetcher *fetcher);

/* 0, -ENOMEM, IO_FETCH_E_REQUEST. Borrows the request until return, but its body, ops and context.
 * Keeps the loop running until it is over. */
int io_fetch_start(IoFetch **ret, IoFetcher *fetcher, const IoFetchRequest *request,
                   Diag *reterr_diag);

/* Cancels. Not for one whose `done` has begun. May be NULL. Returns NULL. */
IoFetch *io_fetch_free(IoFetch *fetch);

/* No more data is told until resume; what the peer sends meanwhile waits, with it and in the
 * system. The guard against stalls waits, too. */
void io_fetch_pause(IoFetch *fetch);
void io_fetch_resume(IoFetch *fetch);

/* The last field of that name, in any case, of the answer's head; false: there is none. From `head`
 * on; borrowed until the fetch is over. */
bool io_fetch_field(const IoFetch *fetch, Span name, Span *ret_value);

/* The same of the field of that name with that number, from 0 on, in the order of the head. */
bool io_fetch_field_nth(const IoFetch *fetch, Span name, size_t number, Span *ret_value);

/* Does the address name this machine: localhost, 127.…, [::1]? */
bool io_fetch_is_loopback(const char *url);
