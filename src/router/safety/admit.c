#include "router/safety/safety.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "router/safety/arguments.h"
#include "router/safety/desk.h"
#include "router/safety/expected.h"
#include "router/safety/gate.h"
#include "router/safety/kind.h"
#include "json/writer.h"

/* Our own words and a few short texts; what a caller sent is cut before it is quoted. */
#define PLAN_ARENA_BYTES ((size_t)1024 * 1024)
#define QUOTED_BYTES     200

void safety_plan_init(SafetyPlan *plan)
{
    *plan = (SafetyPlan){.mode = SAFETY_MODE_ROLLBACK, .last_failure = SIZE_MAX};
    arena_init(&plan->arena, PLAN_ARENA_BYTES);
    bytes_init(&plan->failures, LIMIT_SAFETY_ISSUES_BYTES);
    bytes_init(&plan->dialogs, LIMIT_SAFETY_ISSUES_BYTES);
}

void safety_plan_deinit(SafetyPlan *plan)
{
    bytes_deinit(&plan->failures);
    bytes_deinit(&plan->dialogs);
    arena_deinit(&plan->arena);
    plan->reason = SPAN_NULL;
}

/* ---- refusals ---- */

/* One being put together: data and next actions in one buffer each. */
typedef struct Refusing {
    Bytes data;
    Bytes actions;
    Bytes message;
    JsonWriter w_data;
    JsonWriter w_actions;
} Refusing;

static void refusing_begin(Refusing *refusing)
{
    bytes_init(&refusing->data, SIZE_MAX);
    bytes_init(&refusing->actions, SIZE_MAX);
    bytes_init(&refusing->message, SIZE_MAX);
    json_writer_init(&refusing->w_data, &refusing->data, JSON_STYLE_COMPACT);
    json_writer_init(&refusing->w_actions, &refusing->actions, JSON_STYLE_COMPACT);
    json_write_object(&refusing->w_data);
    json_write_array(&refusing->w_actions);
}

static void refusing_deinit(Refusing *refusing)
{
    bytes_deinit(&refusing->data);
    bytes_deinit(&refusing->actions);
    bytes_deinit(&refusing->message);
}

static void refusing_text(Refusing *refusing, const char *name, Span text)
{
    json_write_key(&refusing->w_data, span_from_str(name));
    json_write_string(&refusing->w_data, text);
}

static void refusing_int(Refusing *refusing, const char *name, int64_t value)
{
    json_write_key(&refusing->w_data, span_from_str(name));
    json_write_int(&refusing->w_data, value);
}

/* params: JSON, or NULL. */
static void refusing_action(Refusing *refusing, Span method, const char *reason, const char *params)
{
    JsonWriter *w = &refusing->w_actions;

    json_write_object(w);
    json_write_key(w, SPAN("method"));
    json_write_string(w, method);
    json_write_key(w, SPAN("reason"));
    json_write_string(w, span_from_str(reason));
    if (params != NULL) {
        json_write_key(w, SPAN("params"));
        json_write_raw(w, span_from_str(params));
    }
    json_write_end_object(w);
}

static int refusing_keep(SafetyPlan *plan, const Bytes *text, Span *ret)
{
    *ret = arena_copy(&plan->arena, bytes_span(text));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

/* Puts it into the plan's arena. SAFETY_E_REFUSED, -ENOMEM. */
static int refusing_end(Refusing *refusing, SafetyPlan *plan, const char *code, int r_message,
                        SafetyRefusal *ret)
{
    SafetyRefusal refusal = {.code = code};
    int r = r_message;
    int r_data;
    int r_actions;

    json_write_end_object(&refusing->w_data);
    json_write_end_array(&refusing->w_actions);
    r_data = json_writer_finish(&refusing->w_data);
    r_actions = json_writer_finish(&refusing->w_actions);
    r = r != 0 ? r : r_data;
    r = r != 0 ? r : r_actions;
    r = r != 0 ? r : refusing_keep(plan, &refusing->message, &refusal.message);
    r = r != 0 ? r : refusing_keep(plan, &refusing->data, &refusal.data);
    r = r != 0 ? r : refusing_keep(plan, &refusing->actions, &refusal.next_actions);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = refusal;
    return SAFETY_E_REFUSED;
}

/* ---- the context token ---- */

static int admit_refuse_context(const SafetyDesk *desk, const SafetyCommand *command, Span expected,
                                const char *actual, SafetyPlan *plan, SafetyRefusal *ret)
{
    static const DeskDocument none = {.serial = 0};
    const DeskDocument *document = desk->front == NULL ? &none : desk->front;
    CLEANUP(refusing_deinit) Refusing refusing;
    int r;

    refusing_begin(&refusing);
    refusing_text(&refusing, "expectedContextToken",
                  span_make(expected.p, expected.n < QUOTED_BYTES ? expected.n : QUOTED_BYTES));
    refusing_text(&refusing, "actualContextToken", span_from_str(actual));
    refusing_text(&refusing, "tokenVersion", SPAN(SAFETY_TOKEN_VERSION));
    json_write_key(&refusing.w_data, SPAN("contextRevision"));
    json_write_uint(&refusing.w_data, document->revision);
    refusing_text(&refusing, "docGuid", document->guid);
    refusing_text(&refusing, "docTitle", document->title);
    refusing_int(&refusing, "activeViewId", document->view_id);
    refusing_int(&refusing, "selectionCount", (int64_t)document->n_selection);
    json_write_key(&refusing.w_data, SPAN("changed"));
    desk_write_changes(desk, expected, &refusing.w_data);
    refusing_action(&refusing, SPAN("help.get_context"),
                    "Tells what is in front now, and its token.", NULL);
    refusing_action(&refusing, SPAN("get_context"), "The same, by its short name.", NULL);
    refusing_action(&refusing, command->method,
                    "Again, with the token of now, if it is still wanted.", NULL);
    r = bytes_append_span(
        &refusing.message,
        SPAN("the document is not as the caller saw it: the context token is another by now"));
    return refusing_end(&refusing, plan, "PRECONDITION_FAILED", r, ret);
}

/* Whoever says it in several places means it in each. */
static int admit_context(const SafetyDesk *desk, const SafetyCommand *command, SafetyPlan *plan,
                         SafetyRefusal *ret)
{
    char actual[SAFETY_TOKEN_BYTES] = "";
    SafetyExpected said;
    JsonValue value;
    Span expected;

    if (safety_is_get_context(command->method)) {
        return 0;
    }
    safety_expected_init(&said);
    safety_expected_add(&said, command->arguments, true);
    safety_expected_add(&said, command->meta, false);
    while (safety_expected_next(&said, &value, &expected)) {
        int r = actual[0] == '\0' ? safety_desk_token(desk, actual) : 0;

        if (r != 0) {
            return err_pass(r);
        }
        if (!text_equals_nocase(expected, span_from_str(actual))) {
            return admit_refuse_context(desk, command, expected, actual, plan, ret);
        }
    }
    return 0;
}

/* ---- the confirm token ---- */

static int admit_refuse_confirm(const SafetyCommand *command, const char *code, const char *problem,
                                bool names_method, SafetyPlan *plan, SafetyRefusal *ret)
{
    CLEANUP(refusing_deinit) Refusing refusing;
    int r = 0;

    refusing_begin(&refusing);
    refusing_text(&refusing, "method", command->method);
    refusing_action(&refusing, command->method,
                    "Shows what would happen, changes nothing, and gives a confirmToken.",
                    "{\"dryRun\":true}");
    if (names_method) {
        r = bytes_append_span(&refusing.message, command->method);
        r = r != 0 ? r : bytes_append_span(&refusing.message, SPAN(": "));
    }
    r = r != 0 ? r : bytes_append_span(&refusing.message, span_from_str(problem));
    return refusing_end(&refusing, plan, code, r, ret);
}

/* Where there is no way to a token: a document is needed, to undo in or to be confirmed for, and
 * somebody who can undo. */
static int admit_refuse_plain(const SafetyCommand *command, const char *code, const char *problem,
                              SafetyPlan *plan, SafetyRefusal *ret)
{
    CLEANUP(refusing_deinit) Refusing refusing;
    int r;

    refusing_begin(&refusing);
    refusing_text(&refusing, "method", command->method);
    r = bytes_append_span(&refusing.message, span_from_str(problem));
    return refusing_end(&refusing, plan, code, r, ret);
}

/* Can a dry run be made, and give a token? NULL: yes; else why not. */
static const char *admit_no_dry_run(const SafetyDesk *desk, const SafetyCommand *command)
{
    if (command->cannot_undo) {
        return "this command cannot be undone, and so there is no dry run of it, and no "
               "confirmToken; it was not run";
    }
    return desk->front == NULL ? "no document is open to try it in, and so there is no "
                                 "confirmToken; it was not run"
                               : NULL;
}

static int admit_check_token(SafetyDesk *desk, const SafetyCommand *command, Span token,
                             int64_t now_ms, SafetyPlan *plan, SafetyRefusal *ret)
{
    char fingerprint[SAFETY_FINGERPRINT_BYTES];
    SafetyConfirmed *taken = arena_alloc(&plan->arena, sizeof(*taken));
    const char *problem;
    int r;

    if (taken == NULL) {
        return err_raise(-ENOMEM);
    }

    problem = admit_no_dry_run(desk, command);
    if (problem != NULL) {
        return admit_refuse_plain(command, "CONFIRMATION_INVALID", problem, plan, ret);
    }
    r = safety_fingerprint(command->arguments, fingerprint);
    if (r != 0) {
        return err_pass(r);
    }
    r = safety_confirm_take(&desk->confirms, token, command->method, desk->front->serial,
                            fingerprint, now_ms, &problem, taken);
    if (r != 0) {
        return err_pass(r);
    }
    if (problem != NULL) {
        return admit_refuse_confirm(command, "CONFIRMATION_INVALID", problem, false, plan, ret);
    }
    plan->is_confirmed = true;
    plan->confirmed = taken;
    return 0;
}

/* Only where a dry run gives one: of what is not destructive none is asked for, and none is
 * checked.
 */
static int admit_confirm(SafetyDesk *desk, const SafetyCommand *command, int64_t now_ms,
                         SafetyPlan *plan, SafetyRefusal *ret)
{
    SafetyScopes scopes = safety_scopes(command->arguments);
    char buffer[SAFETY_TEXT_BYTES];
    const char *problem = admit_no_dry_run(desk, command);
    Span token = SPAN_NULL;
    JsonValue v;

    if (plan->is_dry_run && plan->is_write && command->cannot_undo) {
        return admit_refuse_plain(command, "INVALID_OPERATION", problem, plan, ret);
    }
    if (!plan->is_risky) {
        return 0;
    }
    if (plan->is_dry_run) {
        return problem == NULL
                   ? 0
                   : admit_refuse_plain(command, "PRECONDITION_FAILED", problem, plan, ret);
    }
    if (safety_find(&scopes, safety_names_confirm_token, true, &v) &&
        !safety_text(v, buffer, &token)) {
        token = json_span(v); /* no token of ours, and so refused below */
    }
    if (token.n > 0) {
        return admit_check_token(desk, command, token, now_ms, plan, ret);
    }
    if (!safety_flag(&scopes, safety_names_require_token)) {
        return 0;
    }
    if (problem != NULL) {
        return admit_refuse_plain(command, "CONFIRMATION_REQUIRED", problem, plan, ret);
    }
    return admit_refuse_confirm(
        command, "CONFIRMATION_REQUIRED",
        "this needs a confirmToken: a call with dryRun=true shows what would happen and gives one",
        true, plan, ret);
}

/* ---- the failure gate ---- */

static const struct {
    const char *reason;
    const char *params;
} gate_actions[] = {
    {"Failures are only told, and what was done stays.",
     "{\"failureHandling\":{\"enabled\":false}}"},
    {"Any failure undoes the whole command: the usual choice.",
     "{\"failureHandling\":{\"enabled\":true,\"mode\":\"rollback\"}}"},
    {"Warnings that the whitelist names are let go; anything else undoes the command.",
     "{\"failureHandling\":{\"enabled\":true,\"mode\":\"delete\"}}"},
    {"Failures that the whitelist names are mended; what cannot be undoes the command.",
     "{\"failureHandling\":{\"enabled\":true,\"mode\":\"resolve\"}}"},
};

/* Of what cannot be undone, whatever the mode. */
static const char gate_reason_stays[] =
    "A failure makes the answer one; the command cannot be undone, and what it has done stays.";

static int admit_gate(const SafetyDesk *desk, const SafetyCommand *command, SafetyPlan *plan,
                      SafetyRefusal *ret)
{
    CLEANUP(refusing_deinit) Refusing refusing;
    int r;

    refusing_begin(&refusing);
    /* A dry run passes: what it does is undone, and it is the way to a confirm token. */
    if (plan->n_targets < desk->config.threshold || plan->is_explicit || plan->is_dry_run) {
        return 0;
    }
    refusing_int(&refusing, "targetCount", (int64_t)plan->n_targets);
    refusing_int(&refusing, "threshold", (int64_t)desk->config.threshold);
    refusing_text(&refusing, "defaultMode", SPAN("rollback"));
    json_write_key(&refusing.w_data, SPAN("whitelist"));
    safety_whitelist_write(&desk->whitelist, &refusing.w_data);
    for (size_t i = 0; i < TW_ARRAY_SIZE(gate_actions); i++) {
        refusing_action(&refusing, command->method,
                        plan->is_write && command->cannot_undo && i > 0 ? gate_reason_stays
                                                                        : gate_actions[i].reason,
                        gate_actions[i].params);
    }
    r = bytes_append_span(&refusing.message, command->method);
    r = r != 0 ? r
               : bytes_append_format(&refusing.message,
                                     ": %zu elements are at stake; say in failureHandling what "
                                     "is to become of failures (rollback is usual)",
                                     plan->n_targets);
    return refusing_end(&refusing, plan, "FAILURE_HANDLING_CONFIRMATION_REQUIRED", r, ret);
}

int safety_admit(SafetyDesk *desk, const SafetyCommand *command, int64_t now_ms, SafetyPlan *plan,
                 SafetyRefusal *ret)
{
    SafetyScopes scopes = safety_scopes(command->arguments);
    SafetyHandling handling = safety_handling(command->arguments);
    int r;

    plan->document = desk->front != NULL ? desk->front->serial : 0;
    plan->is_write = safety_is_write(command);
    plan->is_risky = safety_is_risky(command);
    plan->is_dry_run = safety_flag(&scopes, safety_names_dry_run);
    plan->mode = handling.mode;
    plan->is_explicit = handling.is_explicit;
    plan->n_targets = safety_count_targets(command->arguments);
    r = admit_context(desk, command, plan, ret);
    r = r != 0 ? r : admit_confirm(desk, command, now_ms, plan, ret);
    return r != 0 ? r : admit_gate(desk, command, plan, ret);
}

void safety_postpone(SafetyDesk *desk, SafetyPlan *plan)
{
    if (plan->is_confirmed) {
        safety_confirm_return(&desk->confirms, plan->confirmed);
        plan->is_confirmed = false;
    }
}
