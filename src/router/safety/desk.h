/* router/safety/desk.h: what a desk knows. Private to router/safety. */
#pragma once

#include "base/limits.h"
#include "router/safety/confirm.h"
#include "router/safety/safety.h"
#include "router/safety/whitelist.h"

typedef struct DeskDocument {
    uint64_t serial; /* never used again */
    char *texts;     /* one block for all that follow */
    Span guid;
    Span path;
    Span title;
    Span view_name;
    Span view_type;
    Span folded_guid;
    Span folded_path;
    int64_t view_id;
    uint64_t revision;                    /* the sum of the changes, and where it began */
    uint64_t n_changes[SAFETY_N_CHANGES]; /* of each sort, so that a token can say what changed */
    int64_t *selection;                   /* ascending, each once */
    size_t n_selection;
} DeskDocument;

/* A token that was given out, and how often its document had changed then. */
typedef struct DeskToken {
    char token[SAFETY_TOKEN_BYTES];
    uint64_t serial;
    uint64_t n_changes[SAFETY_N_CHANGES];
} DeskToken;

/* What is remembered when a token is asked for, which changes nothing that anybody sees. */
typedef struct DeskMemory {
    DeskToken tokens[LIMIT_SAFETY_TOKENS]; /* a ring */
    size_t n_tokens;
    size_t next;
} DeskMemory;

struct SafetyDesk {
    SafetyConfig config;
    DeskDocument *documents[LIMIT_SAFETY_DOCUMENTS]; /* the one shown last is the last */
    size_t n_documents;
    DeskDocument *front;     /* NULL: none */
    uint64_t next_serial;    /* from 1 on */
    uint64_t first_revision; /* of new documents: above all of those that were forgotten, so that a
                                token of one does not come back */
    SafetyWhitelist whitelist;
    SafetyConfirms confirms;
    DeskMemory *memory;
};

/* Something changed in that document, whether it is in front or not; one that was forgotten has no
 * revision any more. */
void desk_changed(SafetyDesk *desk, uint64_t serial, SafetyChange change);

/* What changed since the token was given out, as words of a JSON array: activeDocument (another is
 * in front), document, selection, view, write; unknown: the token is not remembered. */
void desk_write_changes(const SafetyDesk *desk, Span token, JsonWriter *w);
