/* agent/store.h: conversations on disk: what was said, tool calls and their results included, until
 * somebody clears or deletes it.
 *
 * One thread owns the database (SQLite). Operations that wait share a commit; each is told on the
 * loop after that commit: an append that is acknowledged survives whatever happens to the process.
 * Several processes may have the same store open.
 *
 *     AgentStoreOp op = AGENT_STORE_OP_NULL;
 *     op.verb = AGENT_STORE_APPEND; op.conversation = id; op.messages = …; op.done = done;
 *     agent_store_submit(store, &op);     // op and what it points to stay until done
 *       → done(&op): op.r                 // on the loop
 *
 * A conversation begins with its first append (or CREATE). Without a store (it cannot be opened) an
 * agent runs all the same, and says so in its status. Thread: loop.
 */
#pragma once

#include "agent/model.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "base/span.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AGENT_STORE_E_MISSING = 1, /* there is no such conversation */
    AGENT_STORE_E_TOO_LARGE,   /* a message over LIMIT_AGENT_MESSAGE_BYTES, an id or title over
                                  LIMIT_AGENT_NAME_BYTES; or an empty id */
    AGENT_STORE_E_FULL,        /* the disk is full */
    AGENT_STORE_E_BUSY,        /* another process has held it for too long */
    AGENT_STORE_E_CLOSED,      /* submitted while the store is being closed */
    AGENT_STORE_E_NEWER,       /* open: a newer version of this program wrote it; Diag */
    AGENT_STORE_E_DAMAGED,     /* open: it is no store of conversations, or damaged; Diag */
    AGENT_STORE_E_READ_ONLY    /* open: the folder or file cannot be written; Diag */
};

typedef struct AgentStore AgentStore;

/* For people: why an operation came to r. Borrowed, for good. */
const char *agent_store_word(int r);

typedef struct AgentConversation {
    Span id;
    Span title;         /* empty: it has none */
    int64_t created_ms; /* since 1970 */
    int64_t updated_ms;
    uint64_t n_messages;
} AgentConversation;

typedef enum AgentStoreVerb {
    AGENT_STORE_CREATE, /* conversation, title: begins an empty one; one that is there gets the
                           title, if one is given → conversations[0] */
    AGENT_STORE_APPEND, /* conversation, messages; title: if it has none yet → conversations[0] */
    AGENT_STORE_LOAD, /* conversation, max_bytes → messages of the conversation, conversations[0];
                         MISSING */
    AGENT_STORE_CLEAR,  /* conversation: no message is left, the title stays. Nothing happens to one
                           that is not there → n_changed: messages */
    AGENT_STORE_DELETE, /* conversation; MISSING */
    AGENT_STORE_TITLE,  /* conversation, title; MISSING → conversations[0] */
    AGENT_STORE_LIST,   /* limit, offset → conversations, that of the last change first; n_all */
    AGENT_STORE_N_VERBS
} AgentStoreVerb;

typedef struct AgentStoreOp AgentStoreOp;
struct AgentStoreOp {
    AgentStoreVerb verb;
    Span conversation; /* an id: any text */
    Span title;
    const AgentMessage *messages; /* APPEND: an input that is no JSON object is kept as {}; text
                                     that is not UTF-8 with U+FFFD in its place */
    size_t n_messages;
    size_t max_bytes; /* LOAD: 0: LIMIT_AGENT_LOAD_BYTES. The newest messages that fit, and the
                         first one of the conversation in any case if it fits alone */
    size_t limit;     /* LIST: 0: LIMIT_AGENT_LIST */
    size_t offset;

    /* On the loop, after the commit or its failure. The op is its owner's again. */
    void (*done)(AgentStoreOp *op);
    void *context;

    /* What came of it; in the op's arena. */
    int r;                /* 0, a negative errno (-ENOMEM, -EIO), AGENT_STORE_E_* */
    AgentMessage *loaded; /* oldest first; blocks are the arena's */
    size_t n_loaded;
    size_t n_left_out; /* messages of the conversation that did not fit: behind loaded[0], if that
                          is the first (has_first), else before it */
    bool has_first;
    AgentConversation *conversations;
    size_t n_conversations;
    uint64_t n_all;
    uint64_t n_changed;
    Arena arena; /* agent_store_op_deinit */

    AgentStoreOp *next; /* the store's */
};

#define AGENT_STORE_OP_NULL ((AgentStoreOp){.verb = AGENT_STORE_N_VERBS})

/* Releases what came of it; the op may be submitted again. May run twice. */
void agent_store_op_deinit(AgentStoreOp *op);

typedef struct AgentStoreConfig {
    IoLoop *loop;
    const char *path;   /* made 0600 if it is not there; its folder 0700 likewise. ":memory:" */
    const LogSink *log; /* may be NULL; used on the store's thread */
    int64_t (*wall_ms)(void *context); /* tests; NULL: the system's clock. On the store's thread */
    void *context;
} AgentStoreConfig;

/* Opens or makes the store and brings an older one to this version. Waits for the disk. 0, a
 * negative errno, AGENT_STORE_E_NEWER, DAMAGED, READ_ONLY, BUSY; the Diag says why. Gives *ret.
 * Borrows the strings until return. */
int agent_store_open(AgentStore **ret, const AgentStoreConfig *config, Diag *reterr_diag);

/* Does what was submitted, waits for the disk, and tells of it before it returns. Not from inside a
 * `done`. May be NULL. Returns NULL. */
AgentStore *agent_store_close(AgentStore *store);

/* op->done always comes, and not before this returns. Keeps the loop running until then. */
void agent_store_submit(AgentStore *store, AgentStoreOp *op);
