/* check.h: what is wrong with a document.
 *
 * Found inside the transaction that caused it, before it is committed, and told one by one as
 * failures: somebody else decides what becomes of each. A warning may stay in the document, or be
 * let go, which means that nobody hears of it again; an error must be mended, or the transaction
 * cannot be committed.
 */
#pragma once

#include "model.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A transaction that causes more is not told what to do about them, but fails. */
#define ISSUES_MAX 1000

typedef enum IssueKind {
    ISSUE_ZERO_LENGTH,       /* a wall */
    ISSUE_DOOR_WITHOUT_WALL, /* its wall is not there, or not where the door is */
    ISSUE_OVERLAP,           /* two walls, one on top of the other */
    ISSUE_DUPLICATE_MARK,    /* two elements of one category with the same mark */
    ISSUE_N_KINDS
} IssueKind;

typedef struct IssueDefinition {
    const char *id;   /* "Planner.OverlappingWalls" */
    const char *guid; /* the same for programs */
    bool is_error;
} IssueDefinition;

extern const IssueDefinition issue_definitions[ISSUE_N_KINDS];

typedef struct Issue {
    IssueKind kind;
    int64_t ids[2]; /* the last one is the newer, and the one to be mended */
    size_t n_ids;
    char text[200];
} Issue;

typedef struct Issues {
    Issue *items;
    size_t n;
} Issues;

/* What this transaction has caused; errors first. 0, or -1 with *fault. *ret is zeroed before, and
 * to be freed also after a failure. */
int check_changes(Store *store, Issues *ret, Fault *fault);

/* All that is in the document, and has not been let go. */
int check_document(Store *store, Issues *ret, Fault *fault);

void issues_free(Issues *issues);
bool issue_is_same(const Issue *a, const Issue *b);

/* A warning is let go. */
int issue_dismiss(Store *store, const Issue *issue, Fault *fault);

/* Mends it, if that can be done: a wall is shortened, or goes where another one stands already; a
 * mark becomes the next free one; a wall or door that cannot be goes. *ret_worked is false, and
 * nothing has changed, where none of this helps. What goes, with what depends on it, is added to
 * removed. */
int issue_resolve(Store *store, const Issue *issue, IdList *removed, bool *ret_worked,
                  Fault *fault);
