/* router/safety/safety.h: what makes a command safe to run in a live document: the caller has seen
 * the document as it is (context token), has said what is to become of failures when many elements
 * are at stake (failure gate), and has confirmed what cannot be undone (confirm token).
 *
 * A desk knows the documents of one application, as the application tells it, and keeps the tokens
 * that it gave out. It stands where commands are executed, so that nothing happens between the
 * check and the command:
 *
 *     safety_admit → refused: the answer, ready
 *                  → admitted: a plan (mode, dry run …)
 *         the command runs, and tells its failures: safety_failure → what to do with each
 *     safety_end   → what the answer must say besides; the revision moves on
 *
 * Pure: time and randomness are given. Thread: loop.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAFETY_E_REFUSED = 1, /* the refusal says why */
};

/* "ctx-" and 32 hex digits, "ctx-nodoc"; NUL included. */
#define SAFETY_TOKEN_BYTES   40
#define SAFETY_TOKEN_VERSION "ctx.v1"

typedef struct SafetyDesk SafetyDesk;

/* What the application shows. Text; guid or path may be empty, not both. */
typedef struct SafetyDocument {
    Span guid;
    Span path;
    Span title;
    int64_t view_id;
    Span view_name;
    Span view_type;
    uint64_t revision; /* at least; what is kept with the document survives its program. 0: none */
} SafetyDocument;

typedef enum SafetyChange {
    SAFETY_CHANGE_DOCUMENT, /* its content changed */
    SAFETY_CHANGE_SELECTION,
    SAFETY_CHANGE_VIEW,
    SAFETY_CHANGE_WRITE, /* a command of ours changed it */
    SAFETY_N_CHANGES
} SafetyChange;

typedef struct SafetyConfig {
    size_t threshold; /* target ids from which on the gate asks; 0: LIMIT_SAFETY_TARGETS (5) */
    int64_t confirm_ttl_ms; /* 0: LIMIT_SAFETY_CONFIRM_MS (300 s) */
    /* Unguessable bytes, for confirm tokens. 0 or a negative errno. */
    int (*random)(void *context, uint8_t *ret, size_t n);
    void *context;
} SafetyConfig;

/* 0, -ENOMEM. Gives *ret. */
int safety_desk_new(SafetyDesk **ret, const SafetyConfig *config);
SafetyDesk *safety_desk_free(SafetyDesk *desk);

/* The document that is in front now; NULL: none. One that was here before (same guid, or same path
 * without one) has the revision that it had; another view than last time counts as a change of
 * view. Copied. 0, -ENOMEM. */
int safety_desk_show(SafetyDesk *desk, const SafetyDocument *document);

/* The selection, in any order. Counts as a change if it is another than before. 0, -ENOMEM. */
int safety_desk_select(SafetyDesk *desk, const int64_t *ids, size_t n);

/* Something changed in the document in front. */
void safety_desk_changed(SafetyDesk *desk, SafetyChange change);

/* The whitelist (a file's text; path is only shown): which failures may be deleted or resolved. A
 * text that cannot be used leaves none, and the status says why: 0 in any case but -ENOMEM. text
 * empty: the file was not found. Without a call: not loaded. */
int safety_desk_whitelist(SafetyDesk *desk, const char *path, Span text);

/* The token of the document in front, as it is now. 0, -ENOMEM, -EIO (no hash). */
int safety_desk_token(const SafetyDesk *desk, char ret[SAFETY_TOKEN_BYTES]);
uint64_t safety_desk_revision(const SafetyDesk *desk);

/* Writes the members of `context`, without braces: method, and if there is a document docTitle,
 * docGuid, activeViewId, activeViewName, activeViewType, contextTokenVersion, contextRevision,
 * contextToken. 0, -ENOMEM, BYTES_E_FULL. */
int safety_desk_write_context(const SafetyDesk *desk, Span method, Bytes *out);

/* Writes the data of `get_context`, one object: tokenVersion, revision, contextToken, doc*,
 * activeView*, selectionCount, selectionIds (arguments: includeSelectionIds=true,
 * maxSelectionIds=200), selectionIdsTruncated. */
int safety_desk_write_get_context(const SafetyDesk *desk, JsonValue arguments, Bytes *out);

/* ---- one command ---- */

typedef enum SafetyMode {
    SAFETY_MODE_OFF,      /* failures are told, and nothing is done about them */
    SAFETY_MODE_ROLLBACK, /* any failure undoes the command; the default */
    SAFETY_MODE_DELETE,   /* warnings that the whitelist lets be deleted are; else as rollback */
    SAFETY_MODE_RESOLVE,  /* what the whitelist lets be resolved is; else as rollback */
} SafetyMode;

typedef struct SafetyCommand {
    Span method;         /* the tool's name */
    JsonValue arguments; /* object; node NULL: none. Borrowed until safety_end */
    JsonValue meta;      /* of the request, if it is not in the arguments: may hold the expected
                            token, too; node NULL: none */
    /* What its description says; else its name decides (safety/kind.h). */
    bool is_read_only;
    bool is_writing;
    bool is_destructive;
    bool is_not_destructive;
    bool cannot_undo; /* nor can whoever runs it: what it has done stays */
} SafetyCommand;

/* Why a command is refused: the parts of its answer. In the plan's arena. */
typedef struct SafetyRefusal {
    const char *code; /* "PRECONDITION_FAILED" … */
    Span message;
    Span data;         /* a JSON object */
    Span next_actions; /* a JSON array */
} SafetyRefusal;

/* What one failure is, as the application tells it. */
typedef enum SafetySeverity {
    SAFETY_WARNING,
    SAFETY_ERROR
} SafetySeverity;

typedef struct SafetyFailure {
    Span id;   /* its definition: "Planner.OverlappingWalls" */
    Span guid; /* may be empty */
    SafetySeverity severity;
    Span message;
    const int64_t *element_ids;
    size_t n_element_ids;
    bool can_delete;  /* the application can let the warning go */
    bool can_resolve; /* it knows how to mend it */
} SafetyFailure;

/* What the application does with it. */
typedef enum SafetyVerdict {
    SAFETY_KEEP,    /* only told */
    SAFETY_DELETE,  /* let the warning go */
    SAFETY_RESOLVE, /* mend it; say whether it worked: safety_resolved */
    SAFETY_ROLL_BACK,
} SafetyVerdict;

typedef struct SafetyPlan {
    SafetyMode mode;
    bool is_explicit; /* the caller named the mode */
    bool is_dry_run;  /* run it, and undo it */
    bool is_write;
    bool is_risky;       /* destructive: a dry run gives a confirm token */
    bool is_confirmed;   /* it brought a confirm token, which was right */
    bool needs_rollback; /* a failure wants it: the transaction must not be committed */
    bool is_undone;      /* set by whoever runs it: what it did is undone again */
    size_t n_targets;    /* ids that its arguments name */
    uint64_t document;   /* in front when it was admitted; 0: none */
    Arena arena;
    Bytes failures; /* elements of issues.failures, with commas */
    Bytes dialogs;  /* likewise, of issues.dialogs */
    size_t n_failures;
    size_t n_dialogs;
    size_t n_errors;
    size_t n_omitted;    /* of failures and dialogs: counted, but found no room in the answer */
    size_t last_failure; /* where the last one begins, for safety_resolved; SIZE_MAX: omitted */
    Span reason;         /* of the rollback; in the arena */
    void *confirmed;     /* the confirm token that was taken; in the arena */
} SafetyPlan;

void safety_plan_init(SafetyPlan *plan);
void safety_plan_deinit(SafetyPlan *plan);

/* May it run? In the order: context token (get_context needs none), confirm token, failure gate.
 * now_ms: monotonic. 0: the plan says how; SAFETY_E_REFUSED; -ENOMEM, -EIO. */
int safety_admit(SafetyDesk *desk, const SafetyCommand *command, int64_t now_ms, SafetyPlan *plan,
                 SafetyRefusal *ret);

/* It did not run to its end but asks first, and will come again with the answers: its confirm token
 * is still good. Instead of safety_end. */
void safety_postpone(SafetyDesk *desk, SafetyPlan *plan);

/* It was stopped, and nobody knows how far it came: what it writes to counts as changed. Instead of
 * safety_end. */
void safety_abandon(SafetyDesk *desk, const SafetyPlan *plan);

/* A failure has come up while it ran. 0, -ENOMEM. */
int safety_failure(SafetyDesk *desk, SafetyPlan *plan, const SafetyFailure *failure,
                   SafetyVerdict *ret);
/* The one of which RESOLVE was said: did it work? Else it may become DELETE or ROLL_BACK. */
int safety_resolved(SafetyDesk *desk, SafetyPlan *plan, const SafetyFailure *failure, bool worked,
                    SafetyVerdict *ret);
/* A dialog that was dismissed. */
int safety_dialog(SafetyPlan *plan, Span id, Span message);

/* How it ended. */
typedef struct SafetyEnd {
    bool is_ok;
    Span code;         /* what the command itself says; may be empty */
    bool is_committed; /* what it did stays, or may have; false also for what changes nothing */
    bool is_rolled_back;
} SafetyEnd;

/* It is over: moves the revision on after a write that stays, makes a confirm token after a dry run
 * that went well, and appends to members what the answer must hold besides, `"name":value` with
 * commas in between: failureHandling (mode, enabled, whitelist, issues; autoCaptured,
 * rollbackDetected, rollbackReason where nobody asked for it), dryRun…, confirmToken…; and to
 * warnings strings for the answer's `warnings`, likewise. Either may stay as it is. 0, -ENOMEM,
 * -EIO, BYTES_E_FULL. */
int safety_end(SafetyDesk *desk, const SafetyCommand *command, SafetyPlan *plan,
               const SafetyEnd *end, int64_t now_ms, int64_t wall_ms, Bytes *members,
               Bytes *warnings);
