#include "failures.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

/* What was told; what is found again is not told again. */
typedef struct Telling {
    Planner *planner;
    TwCall *call;
    Issues told;
    char *why; /* FAILURES_WHY_SIZE; "": it may stay */
} Telling;

static bool is_told(const Telling *telling, const Issue *issue)
{
    for (size_t i = 0; i < telling->told.n; i++) {
        if (issue_is_same(&telling->told.items[i], issue)) {
            return true;
        }
    }
    return false;
}

/* There are ISSUES_MAX at the most, each time that is looked; in all no more either. */
static int note_told(Telling *telling, const Issue *issue, Fault *fault)
{
    if (telling->told.items == NULL) {
        telling->told.items = malloc(ISSUES_MAX * sizeof(*telling->told.items));
    }
    if (telling->told.items == NULL) {
        return fault_memory(fault);
    }
    if (telling->told.n >= ISSUES_MAX) {
        return fault_set(fault, FAULT_TRANSACTION, "More than %d failures", ISSUES_MAX);
    }
    telling->told.items[telling->told.n++] = *issue;
    return 0;
}

static void cannot_stay(Telling *telling, const Issue *issue)
{
    if (telling->why[0] == '\0') {
        (void)snprintf(telling->why, FAILURES_WHY_SIZE, "Rolled back: %s", issue->text);
    }
}

/* Mends it. *ret_mended: the document is another one now. */
static int resolve(Telling *telling, const Issue *issue, const TwFailure *failure,
                   TwVerdict *ret_verdict, bool *ret_mended, Fault *fault)
{
    int r = issue_resolve(&telling->planner->store, issue, &telling->planner->removed, ret_mended,
                          fault);

    if (r == 0) {
        (void)tw_call_resolved(telling->call, failure, *ret_mended, ret_verdict);
    }
    return r;
}

static int tell(Telling *telling, const Issue *issue, bool *ret_mended, Fault *fault)
{
    const IssueDefinition *definition = &issue_definitions[issue->kind];
    TwFailure failure = {.id = definition->id,
                         .guid = definition->guid,
                         .severity = definition->is_error ? TW_SEVERITY_ERROR : TW_SEVERITY_WARNING,
                         .message = issue->text,
                         .element_ids = issue->ids,
                         .n_element_ids = issue->n_ids,
                         .can_delete = !definition->is_error,
                         .can_resolve = true};
    TwVerdict verdict;
    int r = note_told(telling, issue, fault);

    if (r != 0) {
        return r;
    }
    (void)tw_call_failure(telling->call, &failure, &verdict);
    if (verdict == TW_VERDICT_RESOLVE) {
        r = resolve(telling, issue, &failure, &verdict, ret_mended, fault);
    }
    if (r == 0 && verdict == TW_VERDICT_DELETE) {
        r = issue_dismiss(&telling->planner->store, issue, fault);
    }
    /* An error that nobody does anything about: here the document has the last word. */
    if (verdict == TW_VERDICT_ROLL_BACK || (definition->is_error && !*ret_mended)) {
        cannot_stay(telling, issue);
    }
    return r;
}

/* Until one was mended: then the others may be gone, too, or new ones there. */
static int tell_all(Telling *telling, bool *ret_mended, Fault *fault)
{
    Issues issues = {.items = NULL};
    int r = check_changes(&telling->planner->store, &issues, fault);

    *ret_mended = false;
    for (size_t i = 0; r == 0 && i < issues.n && !*ret_mended; i++) {
        if (!is_told(telling, &issues.items[i])) {
            r = tell(telling, &issues.items[i], ret_mended, fault);
        }
    }
    issues_free(&issues);
    return r;
}

int failures_settle(Planner *planner, TwCall *call, char why[FAILURES_WHY_SIZE], Fault *fault)
{
    Telling telling = {.planner = planner, .call = call, .why = why};
    bool is_mended = true;
    int r = 0;

    why[0] = '\0';
    while (r == 0 && is_mended) {
        r = tell_all(&telling, &is_mended, fault);
    }
    issues_free(&telling.told);
    return r != 0 ? r : why[0] != '\0';
}
