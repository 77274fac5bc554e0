/* toolwire/document.h: a program that has a document open, and commands that change it.
 *
 * A command is a tool (TwTool.command) that is safe to be called by agents:
 *
 *   - it is answered in one form, on success and on every failure: `ok`, `code`, `msg`, `warnings`,
 *     `timings`, `context`, `nextActions`, beside what the handler gives by tw_call_structured;
 *   - a caller that says what it has seen (expectedContextToken) is refused if the document is
 *     another one by now: PRECONDITION_FAILED;
 *   - one that names five elements or more must say what is to become of failures
 *     (failureHandling), and one that wants to see first what would happen asks for a dry run,
 *     which for destructive commands gives a confirmToken for the real one.
 *
 * All of this is checked before the handler runs, on the same thread, so that nothing can happen in
 * between; docs/safety.md says how. The program tells what is open:
 *
 *     tw_server_show_document(server, &(TwDocument){.guid = guid, .path = path, .title = "House"});
 *     tw_server_set_whitelist(server, "/etc/planner/failures.json");
 *
 * and has then the tool get_context (help.get_context), which gives the token. A handler works in a
 * transaction, tells the failures that come up, and does what it is told:
 *
 *     static void move(TwCall *call, void *user)
 *     {
 *         begin(); … work …
 *         for each failure that the document finds:
 *             tw_call_failure(call, &failure, &verdict);
 *             if (verdict == TW_VERDICT_DELETE) … let the warning go …
 *             if (verdict == TW_VERDICT_RESOLVE)
 *                 tw_call_resolved(call, &failure, mend(), &verdict);
 *         if (tw_call_must_roll_back(call)) {
 *             roll_back();
 *             tw_call_rolled_back(call, "the failures do not let it be");
 *         } else if (tw_call_is_dry_run(call)) {
 *             roll_back();
 *             tw_call_rolled_back(call, NULL);
 *         } else {
 *             commit();
 *         }
 *     }
 *
 * Works for every kind of server: as an add-in, on standard input, over HTTP. With an add-in the
 * hub passes calls and answers on, and adds the times that only it knows. Threads as in server.h
 * and call.h; a command that is kept (tw_call_keep) was checked when its handler began, so whoever
 * wants check and work in one piece does not keep it, or opens the add-in with one_at_a_time.
 */
#pragma once

#include <toolwire/api.h>
#include <toolwire/call.h>
#include <toolwire/server.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

/* ---- What is open ----------------------------------------------------------------------- */

/* What is in front. Strings may be NULL; guid and path not both. */
typedef struct TwDocument {
    const char *guid; /* what it is, wherever it lies */
    const char *path;
    const char *title;
    int64_t view_id; /* what is shown of it */
    const char *view_name;
    const char *view_type;
    /* The program's own count of changes, kept with the document; 0: it has none. With it, tokens
     * of a process before this one are void if the document has changed since. */
    uint64_t revision;
    void *reserved[4];
} TwDocument;

/* This document is in front now, in this view; NULL: none is. One that was before has the revision
 * and the selection that it had; another view counts as a change. TW_ERROR_ARGUMENT,
 * TW_ERROR_MEMORY. */
TW_API int tw_server_show_document(TwServer *server, const TwDocument *document);

/* These elements of it are selected now, in any order; n may be 0. Another selection than before
 * counts as a change. */
TW_API int tw_server_show_selection(TwServer *server, const int64_t *ids, size_t n);

/* It was changed, by somebody else than a command: a person at the screen. Tokens that were given
 * out are void. Commands that succeed count by themselves. */
TW_API int tw_server_document_changed(TwServer *server);

/* Which failures may be deleted or resolved: a file, read here and now. One that is not there or
 * cannot be used leaves none, and answers say so; that is no error. path NULL: none, as at the
 * start. */
TW_API int tw_server_set_whitelist(TwServer *server, const char *path);

/* ---- In the handler of a command -------------------------------------------------------- */

typedef enum TwSeverity {
    TW_SEVERITY_WARNING,
    TW_SEVERITY_ERROR
} TwSeverity;

/* Something that the document does not like. */
typedef struct TwFailure {
    const char *id;      /* which sort: "Planner.OverlappingWalls"; whitelists name it */
    const char *guid;    /* the same, if it has one; may be NULL */
    TwSeverity severity; /* an error cannot be let go */
    const char *message; /* for people */
    const int64_t *element_ids;
    size_t n_element_ids;
    bool can_delete;  /* the warning can be let go */
    bool can_resolve; /* it can be mended; whether it was is told by tw_call_resolved */
    void *reserved[4];
} TwFailure;

/* What is to be done about it. */
typedef enum TwVerdict {
    TW_VERDICT_KEEP, /* nothing: it is told to the caller */
    TW_VERDICT_DELETE,
    TW_VERDICT_RESOLVE,
    TW_VERDICT_ROLL_BACK /* at the end; further failures are worth telling all the same */
} TwVerdict;

/* A failure has come up. On an error *ret_verdict is ROLL_BACK, so that it need not be looked at:
 * TW_ERROR_OVER (nobody waits for the answer any more), TW_ERROR_MEMORY, TW_ERROR_ARGUMENT (this is
 * no command). */
TW_API int tw_call_failure(TwCall *call, const TwFailure *failure, TwVerdict *ret_verdict);

/* The one of which RESOLVE was said, before the next: has it been mended? Then the verdict is KEEP;
 * else DELETE or ROLL_BACK. */
TW_API int tw_call_resolved(TwCall *call, const TwFailure *failure, bool worked,
                            TwVerdict *ret_verdict);

/* A dialog came up and was dismissed, since nobody was there to answer it. */
TW_API int tw_call_dialog(TwCall *call, const char *id, const char *message);

/* Is it to be undone at the end, because the caller only wants to see what would happen? Only for
 * TW_COMMAND_CAN_UNDO; others are not run at all then. */
TW_API bool tw_call_is_dry_run(const TwCall *call);

/* Has a failure been told that does not let the work stay? */
TW_API bool tw_call_must_roll_back(TwCall *call);

/* The work was undone. why NULL: as a dry run wants it; the answer is sent as it is. Else it
 * failed: what was added to the answer is forgotten, and it is TX_NOT_COMMITTED, with why. */
TW_API int tw_call_rolled_back(TwCall *call, const char *why);

/* The work stays. Needed only where the call may be over meanwhile (kept, and cancelled): the
 * document has changed all the same. */
TW_API int tw_call_committed(TwCall *call);

TW_END_C
