/* The HTTP engine with everything around it: a wire that keeps what is answered, askers that are
 * counted, a clock, and a provider that does what the tool's name says.
 *
 *     tool       does
 *     echo       answers "hi" as text
 *     hold       waits for http_rig_finish; known by arguments.tag
 *     steps      reports progress 1 and 2 of 2, then answers
 *     stephold   reports progress 1, then as hold
 *     form       asks a form with the key "it"; then answers "hi"
 *     detach     lets the client go, then as hold
 *     big        answers a text of 5,000 bytes
 *     task       only becomes the task t1
 *
 * Each asker's tasks are its own. */
#pragma once

#include "base/bytes.h"
#include "call/call.h"
#include "dialect/mcp/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_RIG_MAX_X    4200
#define HTTP_RIG_MAX_HELD 600

typedef struct HttpRig HttpRig;

/* One exchange, and what it was answered with. */
typedef struct HttpX {
    HttpRig *rig;
    void *data;
    unsigned status;  /* 0: nothing yet */
    char fields[400]; /* "Name: value\n" each */
    Bytes body;       /* pieces of a stream, too */
    size_t n_read;    /* of it */
    size_t start;     /* of the piece that is being written */
    size_t n_pending; /* what the peer is said not to have read */
    size_t n_taken;   /* pieces that were handed over */
    bool is_in_piece;
    bool is_streaming;
    bool is_complete;
    bool is_aborted;
    bool is_gone;
    bool is_broken; /* every write fails */
} HttpX;

typedef struct HttpAsker {
    long n_holds;
    int who; /* those of one number are the same */
} HttpAsker;

struct HttpRig {
    McpHttp *http;
    McpHttpConfig config;
    McpIdentity identity;
    McpSealer sealer;
    McpHttpWire wire;
    McpHttpOwner owner;
    int64_t now_ms;
    int64_t end_ms; /* when what is asked with now expires; 0: never */
    uint16_t n_randoms;
    int random_fails;
    bool breaks_next; /* the next exchange is broken from its beginning */

    HttpAsker alice;
    HttpAsker bob;
    HttpX *xs[HTTP_RIG_MAX_X];
    size_t n_xs;

    Call *held[HTTP_RIG_MAX_HELD];
    char tags[HTTP_RIG_MAX_HELD][16];
    size_t n_held;
    size_t n_calls;
    uint64_t session; /* of the last call */
    size_t n_cancelled;
    char task_owner[16]; /* of the last task */
};

/* config may be changed between the two. open: 0, -ENOMEM. */
void http_rig_init(HttpRig *rig);
int http_rig_open(HttpRig *rig);

/* Tells the engine of every exchange that is open that it has gone, frees it, and checks that
 * nobody holds an asker any more. */
void http_rig_close(HttpRig *rig);

/* One request of alice's. fields: "Name: value\n" each. target: "/mcp", "/sse", "/messages?…". */
HttpX *http_rig_send(HttpRig *rig, const char *method, const char *target, const char *fields,
                     const char *body);
HttpX *http_rig_send_as(HttpRig *rig, HttpAsker *asker, const char *method, const char *target,
                        const char *fields, const char *body);

/* POST /mcp with Content-Type and Accept for both, and further fields. */
HttpX *http_rig_post(HttpRig *rig, const char *fields, const char *body);

/* POST /mcp of the modern era; params: members, with a comma behind each. The headers that it must
 * have are added. */
HttpX *http_rig_modern(HttpRig *rig, const char *accept, const char *method, const char *name,
                       const char *params);

/* Opens a session of that revision and makes it ready. The id is in id, as a field. */
void http_rig_initialize(HttpRig *rig, const char *revision, char id[64]);

/* The client is no longer there. */
void http_rig_gone(HttpRig *rig, HttpX *x);

/* Time goes by. */
void http_rig_advance(HttpRig *rig, int64_t ms);

/* What has been written since the last time, as text. */
const char *http_rig_text(HttpX *x);

/* The field's value; NULL if it was not sent. Borrowed until the next question. */
const char *http_rig_field(HttpX *x, const char *name);

/* Ends the call that is held under that tag with the text "done", with 5,000 bytes, or with a
 * question; reports progress of it. */
void http_rig_finish(HttpRig *rig, const char *tag);
void http_rig_finish_big(HttpRig *rig, const char *tag);
void http_rig_ask(HttpRig *rig, const char *tag);
void http_rig_report(HttpRig *rig, const char *tag, double progress);
