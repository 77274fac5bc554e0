#include "router/safety/safety.h"

#include "base/error.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "router/safety/arguments.h"
#include "router/safety/desk.h"
#include "router/safety/gate.h"
#include "json/writer.h"

/* The members are written as one object, of which the inside is then appended; the warnings as one
 * array. */
typedef struct Ending {
    Bytes members;
    Bytes warnings;
    JsonWriter w_members;
    JsonWriter w_warnings;
} Ending;

static void ending_begin(Ending *ending)
{
    bytes_init(&ending->members, SIZE_MAX);
    bytes_init(&ending->warnings, SIZE_MAX);
    json_writer_init(&ending->w_members, &ending->members, JSON_STYLE_COMPACT);
    json_writer_init(&ending->w_warnings, &ending->warnings, JSON_STYLE_COMPACT);
    json_write_object(&ending->w_members);
    json_write_array(&ending->w_warnings);
}

static void ending_deinit(Ending *ending)
{
    bytes_deinit(&ending->members);
    bytes_deinit(&ending->warnings);
}

static void write_flag(JsonWriter *w, const char *name, bool flag)
{
    json_write_key(w, span_from_str(name));
    json_write_bool(w, flag);
}

static void write_text(JsonWriter *w, const char *name, Span text)
{
    json_write_key(w, span_from_str(name));
    json_write_string(w, text);
}

static void write_count(JsonWriter *w, const char *name, size_t n)
{
    json_write_key(w, span_from_str(name));
    json_write_uint(w, n);
}

/* ---- failureHandling ---- */

static bool code_says_rollback(Span code)
{
    Span word = SPAN("ROLLBACK");

    code = text_trim(code);
    if (text_equals_nocase(code, SPAN("TX_NOT_COMMITTED"))) {
        return true;
    }
    for (size_t i = 0; i + word.n <= code.n; i++) {
        if (text_equals_nocase(span_make(code.p + i, word.n), word)) {
            return true;
        }
    }
    return false;
}

/* Was it undone, because it failed? A dry run is undone in any case. In the documented system an
 * error that was resolved counts as a rollback, too, with the reason "OK"; here it is only told. */
static bool end_is_rollback(const SafetyPlan *plan, const SafetyEnd *end)
{
    return plan->needs_rollback || code_says_rollback(end->code) ||
           (end->is_rolled_back && !plan->is_dry_run);
}

static void write_list(JsonWriter *w, const char *name, const Bytes *elements)
{
    json_write_key(w, span_from_str(name));
    json_write_array(w);
    if (elements->n > 0) {
        json_write_raw(w, bytes_span(elements));
    }
    json_write_end_array(w);
}

static void write_issues(JsonWriter *w, const SafetyPlan *plan)
{
    json_write_key(w, SPAN("issues"));
    json_write_object(w);
    write_list(w, "failures", &plan->failures);
    write_list(w, "dialogs", &plan->dialogs);
    if (plan->n_omitted > 0) {
        write_count(w, "omitted", plan->n_omitted);
    }
    write_flag(w, "rollbackRequested", plan->needs_rollback);
    write_text(w, "rollbackReason", plan->reason);
    json_write_end_object(w);
}

static Span end_reason(const SafetyPlan *plan, const SafetyEnd *end)
{
    Span code = text_trim(end->code);

    if (plan->reason.n > 0) {
        return plan->reason;
    }
    return code.n > 0 && !text_equals_nocase(code, SPAN("OK")) ? code : SPAN("RollbackDetected");
}

/* Where it was asked for; and, so that nothing that happened is lost, wherever something did. */
static void end_failures(const SafetyDesk *desk, const SafetyPlan *plan, const SafetyEnd *end,
                         Ending *ending)
{
    bool is_rollback = end_is_rollback(plan, end);
    JsonWriter *w = &ending->w_members;

    if (!plan->is_explicit && !is_rollback && plan->n_failures == 0 && plan->n_dialogs == 0) {
        return;
    }
    json_write_key(w, SPAN("failureHandling"));
    json_write_object(w);
    write_flag(w, "enabled", plan->mode != SAFETY_MODE_OFF);
    write_text(w, "mode", span_from_str(safety_mode_name(plan->mode)));
    write_count(w, "targetCount", plan->n_targets);
    write_count(w, "threshold", desk->config.threshold);
    json_write_key(w, SPAN("whitelist"));
    safety_whitelist_write(&desk->whitelist, w);
    write_issues(w, plan);
    if (is_rollback) {
        write_flag(w, "rollbackDetected", true);
        write_text(w, "rollbackReason", end_reason(plan, end));
    }
    if (plan->n_dialogs > 0) {
        write_count(w, "dialogCount", plan->n_dialogs);
        write_flag(w, "dialogsDismissed", true);
    }
    if (!plan->is_explicit) {
        write_flag(w, "autoCaptured", true);
    }
    json_write_end_object(w);
}

static int warn_dialogs(const SafetyPlan *plan, Ending *ending)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    int r;

    if (plan->n_dialogs == 0) {
        return 0;
    }
    bytes_init(&text, 128);
    r = bytes_append_format(
        &text, "Dialogs auto-dismissed: %zu. See failureHandling.issues.dialogs.", plan->n_dialogs);
    if (r == 0) {
        json_write_string(&ending->w_warnings, bytes_span(&text));
    }
    return err_fold(r);
}

/* ---- dry run and confirmation ---- */

static bool end_is_dry(const SafetyPlan *plan, const SafetyEnd *end)
{
    return plan->is_dry_run && !end->is_committed;
}

static void end_dry_run(const SafetyDesk *desk, const SafetyPlan *plan, const SafetyEnd *end,
                        Ending *ending)
{
    JsonWriter *w = &ending->w_members;

    if (plan->is_dry_run) {
        write_flag(w, "dryRunRequested", true);
    }
    if (end_is_dry(plan, end)) {
        write_flag(w, "dryRun", true);
        write_text(w, "dryRunApplied", SPAN("transactionGroup.rollback"));
        json_write_string(&ending->w_warnings,
                          SPAN("dry run: it was executed and undone; the document is as it was"));
    } else if (plan->is_dry_run) {
        json_write_string(&ending->w_warnings,
                          SPAN("dryRun was asked for, but nothing was undone: what it did stays"));
    }
    /* The gate will ask, and the parameters that answer it are not those that were confirmed. */
    if (end_is_dry(plan, end) && plan->is_risky && !plan->is_explicit &&
        plan->n_targets >= desk->config.threshold) {
        json_write_string(&ending->w_warnings,
                          SPAN("The real run needs failureHandling, and the confirmToken is bound "
                               "to the parameters: set failureHandling in the dry run already."));
    }
    if (plan->is_confirmed) {
        write_flag(w, "confirmTokenAccepted", true);
    }
}

static int end_confirm(SafetyDesk *desk, const SafetyCommand *command, const SafetyPlan *plan,
                       const SafetyEnd *end, int64_t now_ms, int64_t wall_ms, Ending *ending)
{
    const SafetyConfig *config = &desk->config;
    char fingerprint[SAFETY_FINGERPRINT_BYTES];
    char token[SAFETY_CONFIRM_BYTES];
    char until[RFC3339_SIZE];
    JsonWriter *w = &ending->w_members;
    uint8_t random[16];
    int r;

    if (!end_is_dry(plan, end) || !plan->is_risky || !end->is_ok || plan->document == 0) {
        return 0;
    }
    if (config->random == NULL || config->random(config->context, random, sizeof(random)) != 0) {
        return err_raise(-EIO);
    }
    r = safety_fingerprint(command->arguments, fingerprint);
    if (r == 0) {
        r = safety_confirm_add(&desk->confirms, random, command->method, plan->document,
                               fingerprint, now_ms + config->confirm_ttl_ms, token);
    }
    if (r != 0) {
        return err_pass(r);
    }
    rfc3339_format(wall_ms + config->confirm_ttl_ms, until);
    write_text(w, "confirmToken", span_from_str(token));
    write_text(w, "confirmTokenExpiresAtUtc", span_from_str(until));
    write_count(w, "confirmTokenTtlSec", (size_t)(config->confirm_ttl_ms / 1000));
    write_text(w, "confirmTokenMethod", command->method);
    return 0;
}

/* ---- all of it ---- */

/* What was said and could not be followed. */
static void warn_arguments(const SafetyCommand *command, const SafetyPlan *plan, Ending *ending)
{
    SafetyScopes scopes = safety_scopes(command->arguments);

    if (safety_handling(command->arguments).is_unknown) {
        json_write_string(&ending->w_warnings,
                          SPAN("Unknown failureHandling mode; rollback was used. Modes: off, "
                               "rollback, delete, resolve."));
    }
    if (!plan->is_risky && safety_flag(&scopes, safety_names_require_token)) {
        json_write_string(&ending->w_warnings,
                          SPAN("requireConfirmToken has no effect: this command is not "
                               "destructive."));
    }
}

static int end_append(Bytes *out, const Bytes *inside)
{
    bool comma = out->n > 0 && out->data[out->n - 1] != ',' && out->data[out->n - 1] != '{' &&
                 out->data[out->n - 1] != '[';
    size_t before = out->n;
    int r;

    if (inside->n <= 2) {
        return 0;
    }
    r = comma ? bytes_append_byte(out, ',') : 0;
    r = r != 0 ? r : bytes_append(out, inside->data + 1, inside->n - 2);
    if (r != 0) {
        out->n = before;
    }
    return r;
}

static int ending_finish(Ending *ending, Bytes *members, Bytes *warnings)
{
    size_t before = members->n;
    int r_members;
    int r;

    json_write_end_object(&ending->w_members);
    json_write_end_array(&ending->w_warnings);
    r_members = json_writer_finish(&ending->w_members);
    r = json_writer_finish(&ending->w_warnings);
    r = r != 0 ? r : r_members;
    if (r != 0) {
        return err_fold(r);
    }
    r = end_append(members, &ending->members);
    if (r != 0) {
        return r;
    }
    r = end_append(warnings, &ending->warnings);
    if (r != 0) {
        members->n = before;
    }
    return r;
}

int safety_end(SafetyDesk *desk, const SafetyCommand *command, SafetyPlan *plan,
               const SafetyEnd *end, int64_t now_ms, int64_t wall_ms, Bytes *members,
               Bytes *warnings)
{
    CLEANUP(ending_deinit) Ending ending;
    int r;

    /* First, whatever becomes of the words: the document is another one now. */
    if (end->is_committed && plan->is_write) {
        desk_changed(desk, plan->document, SAFETY_CHANGE_WRITE);
    }
    ending_begin(&ending);
    end_failures(desk, plan, end, &ending);
    end_dry_run(desk, plan, end, &ending);
    warn_arguments(command, plan, &ending);
    r = warn_dialogs(plan, &ending);
    r = r != 0 ? r : end_confirm(desk, command, plan, end, now_ms, wall_ms, &ending);
    if (r != 0) {
        return err_pass(r);
    }
    return ending_finish(&ending, members, warnings);
}

void safety_abandon(SafetyDesk *desk, const SafetyPlan *plan)
{
    if (plan->is_write && !plan->is_undone) {
        desk_changed(desk, plan->document, SAFETY_CHANGE_WRITE);
    }
}
