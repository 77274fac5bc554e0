#include "router/safety/failures.h"

#include "base/error.h"
#include "base/limits.h"
#include "router/safety/desk.h"
#include "json/writer.h"

/* Of each condition: it must hold, must not, or does not matter. */
typedef enum Wants {
    ANY,
    YES,
    NO
} Wants;

typedef enum WantsSeverity {
    EITHER,
    WARNING,
    ERROR
} WantsSeverity;

#define N_MODES 4
#define OFF     (1u << SAFETY_MODE_OFF)
#define BACK    (1u << SAFETY_MODE_ROLLBACK)
#define DEL     (1u << SAFETY_MODE_DELETE)
#define RES     (1u << SAFETY_MODE_RESOLVE)

#define UNDO(action)                                                                               \
    {                                                                                              \
        SAFETY_ROLL_BACK, action                                                                   \
    }

/* The first row that fits decides. "May": the whitelist lets it; "can": the application is able to.
 * A failure that could not be resolved is asked about again, with can_resolve NO.
 *
 * Two rows differ from the documented system. A warning that the whitelist lets only be deleted has
 * the action "none|delete_warning" there, which says nothing more. And off deletes plain warnings
 * there, for the sake of older commands; here it only tells, as the words "capture only" say. */
static const struct {
    unsigned modes;
    Wants is_listed;
    WantsSeverity severity;
    Wants may_resolve;
    Wants can_resolve;
    Wants may_delete;
    Wants can_delete;
    FailureDecision decision;
} table[] = {
    /* clang-format off */
    {OFF,       ANY, EITHER,  ANY, ANY, ANY, ANY, {SAFETY_KEEP, "capture_only"}},
    {BACK,      ANY, EITHER,  ANY, ANY, ANY, ANY, UNDO("rollback")},
    {DEL | RES, NO,  EITHER,  ANY, ANY, ANY, ANY, UNDO("rollback_unwhitelisted")},
    {DEL,       YES, WARNING, ANY, ANY, YES, YES, {SAFETY_DELETE, "delete_warning"}},
    {DEL,       YES, WARNING, ANY, ANY, YES, NO,  UNDO("rollback_delete_warning_failed")},
    {DEL,       YES, WARNING, ANY, ANY, NO,  ANY, UNDO("rollback_delete_not_allowed")},
    {DEL,       YES, ERROR,   ANY, ANY, ANY, ANY, UNDO("rollback_error")},
    {RES,       YES, EITHER,  YES, YES, ANY, ANY, {SAFETY_RESOLVE, "resolve"}},
    {RES,       YES, WARNING, YES, NO,  YES, YES, {SAFETY_DELETE, "resolve_failed|delete_warning"}},
    {RES,       YES, WARNING, NO,  ANY, YES, YES, {SAFETY_DELETE, "delete_warning"}},
    {RES,       YES, WARNING, ANY, ANY, ANY, ANY, UNDO("rollback_warning_unhandled")},
    {RES,       YES, ERROR,   YES, NO,  ANY, ANY, UNDO("rollback_error_resolve_failed")},
    {RES,       YES, ERROR,   NO,  ANY, ANY, ANY, UNDO("rollback_error")},
    /* clang-format on */
};

static bool wants(Wants wanted, bool is)
{
    return wanted == ANY || (wanted == YES) == is;
}

FailureDecision failures_decide(SafetyMode mode, const SafetyRule *rule, SafetySeverity severity,
                                bool can_delete, bool can_resolve)
{
    bool may_delete = rule != NULL && rule->may_delete;
    bool may_resolve = rule != NULL && rule->may_resolve;

    for (size_t i = 0; i < TW_ARRAY_SIZE(table); i++) {
        bool fits =
            (table[i].modes & 1u << mode) != 0 && wants(table[i].is_listed, rule != NULL) &&
            (table[i].severity == EITHER ||
             (table[i].severity == WARNING) == (severity == SAFETY_WARNING)) &&
            wants(table[i].may_resolve, may_resolve) && wants(table[i].can_resolve, can_resolve) &&
            wants(table[i].may_delete, may_delete) && wants(table[i].can_delete, can_delete);

        if (fits) {
            return table[i].decision;
        }
    }
    /* A mode that is none of ours: nothing may stay that nobody has judged. */
    return (FailureDecision){SAFETY_ROLL_BACK, "rollback"};
}

/* ---- one that came up ---- */

static void failures_write_elements(JsonWriter *w, const SafetyWhitelist *whitelist,
                                    const SafetyFailure *failure)
{
    size_t n = whitelist->hides_elements ? 0 : failure->n_element_ids;

    n = n < whitelist->max_elements ? n : whitelist->max_elements;
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_int(w, failure->element_ids[i]);
    }
    json_write_end_array(w);
}

/* One element of issues.failures. */
static void failures_write(JsonWriter *w, const SafetyWhitelist *whitelist,
                           const SafetyFailure *failure, const SafetyRule *rule,
                           const FailureDecision *decision)
{
    /* What an error is, and why something was undone, is told in any case. */
    bool shows_text = !whitelist->hides_text || failure->severity == SAFETY_ERROR ||
                      decision->verdict == SAFETY_ROLL_BACK;

    json_write_object(w);
    json_write_key(w, SPAN("id"));
    json_write_string(w, failure->id);
    json_write_key(w, SPAN("idGuid"));
    json_write_string(w, failure->guid);
    json_write_key(w, SPAN("severity"));
    json_write_string(w, failure->severity == SAFETY_ERROR ? SPAN("Error") : SPAN("Warning"));
    json_write_key(w, SPAN("message"));
    json_write_string(w, shows_text ? failure->message : SPAN_NULL);
    json_write_key(w, SPAN("elementIds"));
    failures_write_elements(w, whitelist, failure);
    json_write_key(w, SPAN("action"));
    json_write_string(w, span_from_str(decision->action));
    json_write_key(w, SPAN("whitelisted"));
    json_write_bool(w, rule != NULL);
    json_write_key(w, SPAN("ruleId"));
    json_write_string(w, rule == NULL ? SPAN_NULL : rule->id);
    json_write_end_object(w);
}

/* Appends what w wrote into item to a list. One that finds no room is counted as omitted. */
static int failures_append(SafetyPlan *plan, Bytes *list, const Bytes *item, size_t *ret_at)
{
    size_t comma = list->n > 0 ? 1 : 0;
    int r = bytes_reserve(list, item->n + comma);

    if (r == BYTES_E_FULL) {
        plan->n_omitted++;
        *ret_at = SIZE_MAX;
        return 0;
    }
    if (r != 0) {
        return err_fold(r);
    }
    *ret_at = list->n;
    r = comma == 0 ? 0 : bytes_append_byte(list, ',');
    r = r != 0 ? r : bytes_append_span(list, bytes_span(item));
    return err_fold(r);
}

/* Why everything is undone: the first failure that wants it. */
static int failures_set_reason(SafetyPlan *plan, const SafetyFailure *failure, const char *action)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    Span id = failure->id.n <= 256 ? failure->id : SPAN_NULL;
    int r;

    if (plan->reason.n > 0) {
        return 0;
    }
    bytes_init(&text, 1024);
    r = bytes_append_span(&text, span_from_str(action));
    r = r != 0 || id.n == 0 ? r : bytes_append_span(&text, SPAN(": "));
    r = r != 0 ? r : bytes_append_span(&text, id);
    if (r != 0) {
        return err_fold(r);
    }
    plan->reason = arena_copy(&plan->arena, bytes_span(&text));
    if (plan->reason.p == NULL) {
        plan->reason = SPAN_NULL;
        return err_raise(-ENOMEM);
    }
    return 0;
}

static int failures_record(SafetyDesk *desk, SafetyPlan *plan, const SafetyFailure *failure,
                           bool can_resolve, SafetyVerdict *ret)
{
    CLEANUP(bytes_deinit) Bytes item = BYTES_NULL;
    const SafetyRule *rule =
        safety_whitelist_find(&desk->whitelist, failure->id, failure->guid, failure->severity);
    FailureDecision decision =
        failures_decide(plan->mode, rule, failure->severity, failure->can_delete, can_resolve);
    JsonWriter w;
    int r;

    /* Set first: without memory for the words it must be undone all the same. */
    plan->needs_rollback = plan->needs_rollback || decision.verdict == SAFETY_ROLL_BACK;
    bytes_init(&item, LIMIT_SAFETY_ISSUES_BYTES);
    json_writer_init(&w, &item, JSON_STYLE_COMPACT);
    failures_write(&w, &desk->whitelist, failure, rule, &decision);
    r = json_writer_finish(&w);
    if (r == BYTES_E_FULL) {
        plan->n_omitted++;
        plan->last_failure = SIZE_MAX;
    } else if (r != 0) {
        return err_fold(r);
    } else {
        r = failures_append(plan, &plan->failures, &item, &plan->last_failure);
        if (r != 0) {
            return err_pass(r);
        }
    }
    if (decision.verdict == SAFETY_ROLL_BACK) {
        r = failures_set_reason(plan, failure, decision.action);
        if (r != 0) {
            return err_pass(r);
        }
    }
    *ret = decision.verdict;
    return 0;
}

int safety_failure(SafetyDesk *desk, SafetyPlan *plan, const SafetyFailure *failure,
                   SafetyVerdict *ret)
{
    plan->n_failures++;
    plan->n_errors += failure->severity == SAFETY_ERROR ? 1 : 0;
    return failures_record(desk, plan, failure, failure->can_resolve, ret);
}

int safety_resolved(SafetyDesk *desk, SafetyPlan *plan, const SafetyFailure *failure, bool worked,
                    SafetyVerdict *ret)
{
    if (worked) {
        *ret = SAFETY_KEEP;
        return 0;
    }
    /* Told anew, with what becomes of it now. */
    if (plan->last_failure == SIZE_MAX) {
        plan->n_omitted -= plan->n_omitted > 0 ? 1 : 0;
    } else {
        plan->failures.n = plan->last_failure;
    }
    return failures_record(desk, plan, failure, false, ret);
}

int safety_dialog(SafetyPlan *plan, Span id, Span message)
{
    CLEANUP(bytes_deinit) Bytes item = BYTES_NULL;
    size_t at;
    JsonWriter w;
    int r;

    plan->n_dialogs++;
    bytes_init(&item, LIMIT_SAFETY_ISSUES_BYTES);
    json_writer_init(&w, &item, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("dialogId"));
    json_write_string(&w, id);
    json_write_key(&w, SPAN("message"));
    json_write_string(&w, message);
    json_write_key(&w, SPAN("dismissed"));
    json_write_bool(&w, true);
    json_write_key(&w, SPAN("overrideResult"));
    json_write_int(&w, 1);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r == BYTES_E_FULL) {
        plan->n_omitted++;
        return 0;
    }
    return r != 0 ? err_fold(r) : failures_append(plan, &plan->dialogs, &item, &at);
}
