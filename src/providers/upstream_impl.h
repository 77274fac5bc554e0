/* providers/upstream_impl.h: what the files of the upstream provider share. Included by upstream*.c
 * alone.
 *
 *     upstream.c          all servers: their beginning, reload and end; the gate
 *     upstream_server.c   one server: start, stop, failure, its timer
 *     upstream_begin.c    what its session begins with: command, environment, address
 *     upstream_chain.c    toolwires that start toolwires
 *     upstream_event.c    the events of its session, and who here they are for
 *     upstream_list.c     its lists: pages, changes
 *     upstream_kept.c     its lists, kept in a file for the next run
 *     upstream_publish.c  what is in the router, and under which names
 *     upstream_naming.c   which of them each gets, and what is said of it
 *     upstream_names.c    the rules for that (pure)
 *     upstream_claims.c   names that were given, kept in a file
 *     upstream_item.c     one entry of the router: its description, what a call of it needs
 *     upstream_call.c     calls: their list, their start, their turn
 *     upstream_request.c  the request that a call becomes
 *     upstream_end.c      how calls end: answers, losses, times
 *     upstream_result.c   results of servers as results of calls
 *     upstream_ask.c      questions of servers: whose call it is that asks
 *     upstream_tell.c     questions on their way to those who answer, and the answers back
 *     upstream_park.c     calls that wait for answers
 *     upstream_notes.c    what servers tell unasked; subscriptions
 *     upstream_spec.c     the settings
 *
 * States of a server:
 *
 *     IDLE ─call, list that is not known→ STARTING ─session→ READY ─idle→ IDLE
 *      DOWN ─call or timer, when its time has come→ STARTING     STARTING, READY ─failure→ DOWN
 *
 * Thread: loop.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/span.h"
#include "call/call.h"
#include "io/loop.h"
#include "peer/auth.h"
#include "peer/mcp_peer.h"
#include "providers/upstream.h"
#include "providers/upstream_claims.h"
#include "router/router.h"
#include "json/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Upstream Upstream;
typedef struct UpstreamCall UpstreamCall;
typedef struct UpstreamItem UpstreamItem;
typedef struct UpstreamLeaving UpstreamLeaving;

/* One element of a server's list, in the list's arena. */
typedef struct UpstreamRecord {
    Span key;                 /* name, URI or URI template, decoded */
    Span json;                /* the description as it came */
    bool is_bad;              /* the router does not take it */
    bool is_double;           /* left out for another with the same key, and it has been said */
    bool is_clash;            /* others have its name, and it has been said */
    const UpstreamTool *tool; /* what the settings say of it; may be NULL */
    Span name;                /* ours; empty: it is left out. In the naming arena */
} UpstreamRecord;

/* What a server has of one kind. */
typedef struct UpstreamList {
    Arena arena;
    UpstreamRecord *records;
    size_t n;
    bool is_known;   /* it was read to its end at least once */
    bool is_failing; /* the last reading was given up */

    /* A reading that is under way. */
    Arena next_arena;
    UpstreamRecord *next;
    size_t n_next;
    size_t next_cap;
    McpRequestId request; /* 0: none */
    unsigned n_pages;
    Map cursors;            /* that have been followed */
    bool is_old;            /* it has changed meanwhile */
    int64_t ttl_ms;         /* of the last page */
    int64_t fresh_until_ms; /* INT64_MAX: until the server tells, */
    int64_t stale_ms;       /* or until somebody lists, but not before; INT64_MAX: not so */

    /* In the router, in the order of records. */
    UpstreamItem **items;
    size_t n_items;
} UpstreamList;

/* An entry of the router; freed when the router lets go of it. */
struct UpstreamItem {
    Upstream *server; /* NULL: it has gone */
    RouterKind kind;
    Span key;  /* the server's name, URI or template; behind the struct, as the next two */
    Span name; /* ours */
    Span json; /* as it came */
    Span head; /* what a call of it begins with: {"name":"…" */
    int64_t timeout_ms;
    bool completes; /* as the server said when it was put there */
    bool subscribes;
};

/* Questions of one call at once. */
#define UPSTREAM_MAX_ASKS 32

#define UPSTREAM_N_ASK_KINDS (CALL_ASK_ROOTS + 1)

#define UPSTREAM_LACK_WORDS "Method not found: the client that called cannot be asked for this"

/* A question that has no answer yet. */
typedef struct UpstreamAsk UpstreamAsk;
struct UpstreamAsk {
    uint64_t number; /* the session's */
    CallAskKind kind;
    Bytes key;    /* text */
    Bytes params; /* JSON; empty: none */
    bool
        is_unnamed; /* the server did not say which call asks: any call of the same asker will do */
    bool is_told;   /* the asker has been asked */
    bool is_refused; /* it cannot be: the server hears that with the answers to the others */
    UpstreamAsk *next;
};

typedef enum UpstreamEnd {
    UPSTREAM_END_NONE,
    UPSTREAM_END_RESULT, /* kept: the result */
    UPSTREAM_END_ERROR,  /* kept: the message; code, data */
    UPSTREAM_END_LOST,   /* kept: the message */
} UpstreamEnd;

struct UpstreamCall {
    Upstream *server;
    uint64_t serial;          /* grows from one call to the next */
    const UpstreamItem *item; /* while there is a call */
    Call *call;               /* NULL: parked, or taken back */
    CallVerb verb;
    McpRequestId id; /* 0: not sent: it waits for its turn */
    bool is_dead;    /* taken back: only the session has yet to say so */
    bool is_sent;    /* the server may have seen it */
    bool is_lost;    /* the session ended it; why comes next */
    unsigned can;
    unsigned lacks; /* what the server asked for beside that */
    const CallAsker *asker;
    uint64_t session;   /* the asker's (CallAsker.session) */
    UpstreamCall *next; /* of the server's, oldest first */
    UpstreamCall *prev;

    UpstreamAsk *asks;
    bool has_news;   /* some of them are not told */
    unsigned n_told; /* rounds of questions that its asker was told */
    bool was_answered_ahead;
    bool is_parked;
    bool is_back;       /* its answers are there, and wait for their turn: the server has none */
    int64_t back_by_ms; /* and then wait no longer */
    char park[33];      /* its name in the asker's state; "": it never asked */
    Bytes owner;        /* of the parked call: who may come back for it */
    int64_t expires_ms;
    UpstreamEnd end; /* it ended while it was parked */
    Bytes kept;
    Bytes kept_data;
    int kept_code;
};

/* A resource that somebody here wants to be told of, as the value of a map. */
typedef enum UpstreamWish {
    UPSTREAM_WISH_NEW = 1, /* the server does not know */
    UPSTREAM_WISH_TOLD,
    UPSTREAM_WISH_OLD, /* nobody wants it any more, and the server has yet to be told */
} UpstreamWish;

/* What the server said that it has. */
typedef struct UpstreamOffer {
    bool kinds[ROUTER_N_KINDS];
    bool tells[ROUTER_N_KINDS]; /* when the list changes */
    bool subscribes;
    bool completes;
    bool logs;
} UpstreamOffer;

struct Upstream {
    Upstreams *owner;
    Arena strings;
    UpstreamSpec spec; /* in strings */
    size_t index;      /* in the order of the settings */
    UpstreamState state;
    McpPeer *peer;
    bool is_modern;
    bool is_known_legacy; /* it was, the last time: it need not be asked, which kills some */
    UpstreamOffer offer;
    UpstreamList lists[ROUTER_N_KINDS];
    bool is_settled; /* its lists have come once, or are kept, or it has failed once */
    bool is_gone;    /* it is being freed */

    const char *kept_path; /* in strings; NULL: its lists are not kept */
    char kept_key[65];
    int64_t kept_ms;      /* since 1970: when what is in the file was listed; 0: nothing is */
    int64_t keep_due_ms;  /* they are to be written then; INT64_MAX: need not be */
    int64_t keep_next_ms; /* and not before */
    int64_t stale_ms;     /* from then on they are too old, if it does not run */

    IoTimer *timer;
    int64_t timer_ms;
    int64_t start_timeout_ms;
    int64_t list_timeout_ms;
    UpstreamLeaving *leaving; /* for the end of the session that is there */
    int64_t start_by_ms;      /* STARTING: until then */
    int64_t retry_ms;         /* DOWN: not before */
    int64_t used_ms;          /* by a call */
    unsigned n_in_row;        /* failures without a success in between */
    uint64_t n_starts;
    uint64_t n_failures;
    size_t n_left_out;
    size_t n_renamed;
    Bytes why;
    Bytes inner; /* what it says of servers behind it, if it is a hub: a JSON array; or nothing */

    UpstreamCall *first;
    UpstreamCall *last;
    size_t n_calls;
    size_t n_parked;
    bool takes_turns;    /* its questions could not be told apart: one asker at a time */
    size_t n_unturned;   /* calls that wait for their turn, */
    size_t n_back;       /* and answers that do */
    bool asks_meanwhile; /* it has asked in a call that waited for an answer */
    bool ends_meanwhile; /* or has ended one while another waited */

    CallLogLevel log_level; /* what a legacy server was told */
    Map subscribed;         /* URI → UpstreamWish */
    bool must_subscribe;    /* some of them are not as the server knows them: by the task */
    McpRequestId listen;    /* modern: the subscription; 0: none */
    bool is_untold;         /* it does not take one: what it says that it tells does not come */
    int64_t listen_since_ms;
    int64_t relisten_ms; /* it was lost: when it is begun again; 0: it was not */
    unsigned n_relisten; /* times in a row that it did not last */
    bool has_news;       /* questions to be told, or calls that were lost: by the task */
    int64_t tell_ms;     /* when questions are to be told; 0: none wait */
    bool has_queued;     /* questions wait until their asker has answered others */
};

/* A session that is being closed. */
struct UpstreamLeaving {
    Upstreams *owner;
    McpPeer *peer;
    PeerAuth *auth; /* of a server over HTTP; or NULL */
    UpstreamLeaving *next;
    UpstreamLeaving *prev;
};

struct Upstreams {
    UpstreamsConfig config;
    char *state; /* NULL: nothing is kept */
    HashSeed seed;
    Upstream **servers;
    size_t n_servers;
    UpstreamLeaving *leaving;
    IoTimer *gate;
    bool is_gated;   /* lists wait, or will: some server's are not known */
    bool is_knocked; /* somebody waits there: the servers are started, and the time runs */
    bool must_begin; /* by the task: start them */
    bool has_listed; /* somebody has lists, and will be told of changes */
    bool is_ended;
    RouterListener listener;
    bool is_publishing;
    bool must_publish; /* by the task */
    UpstreamClaims claims;
    bool is_unclaimed; /* names are not remembered yet, since nobody has seen them */
    unsigned listed;   /* 1 << RouterKind: somebody has listed them; by the task */
    IoTask task;
    bool is_task_posted;
    bool is_freed; /* while the task is posted */
    Arena names;   /* of what is published */
    Arena scratch;
    Bytes params;
    Bytes text;
    Bytes list_meta;
    uint64_t last_serial;
    UpstreamCall *unused;
    size_t n_unused;
};

/* upstream.c */
void upstreams_post(Upstreams *upstreams);
void upstreams_look_at_gate(Upstreams *upstreams);
/* The next list waits for servers that are not settled, and has them started. */
void upstreams_close_gate(Upstreams *upstreams);

/* upstream_spec.c */
int upstream_spec_copy(UpstreamSpec *ret, const UpstreamSpec *spec, Arena *arena);

/* upstream_server.c */
int upstream_new(Upstream **ret, Upstreams *owner, const UpstreamSpec *spec);
Upstream *upstream_free(Upstream *server);
/* Its session begins, if its time has come. False: server->why says why it cannot. */
bool upstream_wake(Upstream *server);
/* The session is over, and server->why says why. */
void upstream_down(Upstream *server);
TW_PRINTF(2, 3) void upstream_fail(Upstream *server, const char *format, ...);
/* Its session ends politely; calls have been ended before. */
void upstream_leave(Upstream *server);
void upstream_set_timer(Upstream *server);
UpstreamLeaving *upstream_leaving_free(UpstreamLeaving *leaving); /* may be NULL */
const char *upstream_state_name(UpstreamState state);

/* upstream_begin.c */
int upstream_begin(Upstream *server, Diag *reterr_diag); /* 0, a negative errno, MCP_PEER_E_* */

/* upstream_event.c */
void upstream_on_event(void *context, McpPeer *peer, const McpClientEvent *event);

/* upstream_list.c */
void upstream_lists_init(Upstream *server);
void upstream_lists_deinit(Upstream *server);
/* Reads what the server offers, anew. */
void upstream_list_all(Upstream *server);
void upstream_list(Upstream *server, RouterKind kind);
bool upstream_list_take(Upstream *server, const McpClientEvent *event); /* false: not its event */
void upstream_lists_stop(Upstream *server);
bool upstream_lists_are_read(const Upstream *server);
/* Somebody has listed these kinds (1 << RouterKind): what is stale is read again. */
void upstream_lists_look(Upstream *server, unsigned listed);
/* The server does not tell of changes, whatever it said. */
void upstream_lists_untold(Upstream *server);
/* A list that is known from elsewhere; it is not published. 0, -ENOMEM: it is as it was. */
int upstream_list_set(Upstream *server, RouterKind kind, JsonValue elements);
Span upstream_list_member(RouterKind kind); /* of a result: "tools" */

/* upstream_kept.c */
int upstream_kept_init(Upstream *server); /* 0, -ENOMEM */
/* Lists of the file; the server is then settled, if they are not too old. */
void upstream_kept_load(Upstream *server);
/* A list was read to its end. */
void upstream_kept_listed(Upstream *server, bool has_changed);
/* Writes what is to be written. */
void upstream_kept_save(Upstream *server);

/* upstream_naming.c */
/* Every record gets its name, or none. 0, -ENOMEM. */
int upstreams_name_all(Upstreams *upstreams);

/* upstream_publish.c */
void upstream_withdraw(Upstream *server);
Span upstreams_list_meta(void *context, RouterKind kind);
/* As router_set_unknown has it. */
Span upstreams_where(void *context, RouterKind kind, Span name);

/* upstream_item.c */
extern const char *const upstream_kind_words[ROUTER_N_KINDS];
/* True: it is in the router. */
bool upstream_item_publish(Upstream *server, RouterKind kind, UpstreamRecord *record,
                           UpstreamItem **ret);

/* upstream_call.c */
extern const CallProvider upstream_provider;
/* Forgets it; the Call is not told. */
void upstream_call_close(UpstreamCall *held);
void upstream_call_discard(UpstreamCall *held); /* of one that is in no list */
void upstream_turns(Upstream *server);
bool upstream_same_asker(const UpstreamCall *held, const UpstreamCall *other);
bool upstream_must_wait(const Upstream *server, const UpstreamCall *mine);
Span upstream_owner_of(const UpstreamCall *held); /* Call.owner, also while it is parked */

/* upstream_request.c */
int upstream_call_send(UpstreamCall *held); /* 0, a negative errno, MCP_CLIENT_E_* */

/* upstream_end.c */
/* The session is there: what waited was sent. */
void upstream_calls_ready(Upstream *server);
/* All of them end: the server has gone; why: a sentence. */
void upstream_calls_lose(Upstream *server, Span why);
void upstream_call_take_result(UpstreamCall *held, JsonValue value);
void upstream_call_take_error(UpstreamCall *held, const McpClientEvent *event);
/* Ends its Call, or keeps the end for when it comes back. */
void upstream_call_end_lost(UpstreamCall *held, Span message);
void upstream_calls_advance(Upstream *server, int64_t now_ms);
int64_t upstream_calls_deadline(const Upstream *server);

/* upstream_result.c */
/* Ends the call with what the server answered. */
void upstream_finish(Upstreams *upstreams, Call *call, JsonValue value);

/* upstream_ask.c */
void upstream_ask_take(Upstream *server, const McpClientEvent *event);
void upstream_ask_taken_back(Upstream *server, uint64_t number);
UpstreamAsk *upstream_ask_free(UpstreamAsk *ask);
void upstream_asks_free(UpstreamCall *held);
/* The call asks no more (all: nor waits for answers to what it has asked). Questions that may be
 * another call's are asked by another call of the same asker; the server hears why the rest have no
 * answer. */
void upstream_asks_leave(UpstreamCall *held, bool all, const char *why);
/* Its asker has enough to answer: its questions are told when he has answered some. */
bool upstream_asks_must_queue(const UpstreamCall *held);
/* The one call that the server must mean, where it does not say; NULL: nobody knows. */
UpstreamCall *upstream_sole_call(const Upstream *server, unsigned need, bool *ret_many);

/* upstream_tell.c */
/* Tells the askers what their servers ask. */
void upstream_asks_tell(Upstream *server);
/* Sends the answers that have come to questions that were told, or to those that were not. */
void upstream_asks_answer(UpstreamCall *held, const Call *call, bool is_told);
/* Ends the call with what it would have had to be able to answer. False: not its case. */
bool upstream_tell_missing(Call *call, unsigned lacks);
/* What a modern server's error says of that; 0: it is another error. */
unsigned upstream_missing_of(const McpClientEvent *event);

/* upstream_park.c */
/* A call came with a state of ours. */
void upstream_resume(Upstream *server, Call *call);
/* Its answers have their turn: the server gets them. */
void upstream_resume_now(UpstreamCall *held);
/* It waits for no answers any more. */
void upstream_unpark(UpstreamCall *held);
/* Nobody comes back for it: it is taken back at the server; why: as upstream_asks_leave has it. */
void upstream_park_end(UpstreamCall *held, const char *why);
/* The same, of one whose time is over. */
void upstream_park_expire(UpstreamCall *held);
/* As router_set_forsaken has it. */
void upstreams_on_forsaken(void *context, const CallAsker *asker, Span state);

/* upstream_notes.c */
void upstream_note(Upstream *server, const McpClientEvent *event);
/* Subscribes anew to all that is wanted, and to changes. */
void upstream_subscribe_all(Upstream *server);
/* The subscription of a modern server has ended, and the session has not: because the server said
 * so, or the connection broke. */
void upstream_listen_lost(Upstream *server, bool is_said);
/* Begins it again, if it is time. */
void upstream_listen_again(Upstream *server, int64_t now_ms);
/* Tells the server what has changed since; by the task. */
void upstream_subscribe_changed(Upstream *server);
/* A resource is wanted, or not any more (router_set_wanted). */
void upstreams_on_wanted(void *context, Span uri, bool is_wanted);
/* What is in the router has changed, and so may whose the wanted resources are. */
void upstreams_want_anew(Upstreams *upstreams);
/* Has the server log for the call. */
void upstream_set_level(Upstream *server, CallLogLevel level);
