/* An envelope on its way out. */
#include "call/envelope.h"

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "call/envelope_impl.h"
#include "json/writer.h"

/* Names that are near a wrong one: more than a reader compares. */
#define ENVELOPE_NEAREST 3

/* Names among which they are looked for: an application has hundreds of commands, and whoever asks
 * for a wrong one must not keep others waiting. */
#define ENVELOPE_MAX_NAMES ((size_t)4096)

/* The four times; what a peer says of them is read, and written anew. */
static const char *const time_names[] = {"queueWaitMs", "revitMs", "transferMs", "totalMs"};

static int64_t clamp_us(int64_t us, int64_t max_us)
{
    return us < 0 ? 0 : us > max_us ? max_us : us;
}

/* The parts of total in microseconds, in the order of the names: whatever was measured where, they
 * add up. */
static void split_times(const Envelope *envelope, const EnvelopeTimes *times,
                        int64_t ret[TW_ARRAY_SIZE(time_names)])
{
    int64_t total = times->total_us < 0 ? 0 : times->total_us;
    int64_t queue = clamp_us(times->queue_us, total);
    int64_t run = envelope->run_us > 0 ? envelope->run_us
                  : times->run_us >= 0 ? times->run_us
                                       : total - queue;

    run = clamp_us(run, total - queue);
    ret[0] = queue;
    ret[1] = run;
    ret[2] = total - queue - run;
    ret[3] = total;
}

/* Milliseconds with the decimals that it has: 12, 12.5, 0.125. */
static void write_ms(JsonWriter *w, int64_t us)
{
    int rest = (int)(us % 1000);
    char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                       (char)('0' + rest % 10)};
    size_t n = rest == 0 ? 0 : sizeof(decimals);

    while (n > 0 && decimals[n - 1] == '0') {
        n--;
    }
    json_write_int(w, us / 1000);
    w->r = w->r != 0 ? w->r : bytes_append(w->out, decimals, n);
}

static bool is_time(JsonValue key)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(time_names); i++) {
        if (json_string_equals(key, span_from_str(time_names[i]))) {
            return true;
        }
    }
    return false;
}

/* What else was measured: transactionMs… */
static void write_other_times(JsonWriter *w, Span timings)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    JsonDoc doc;
    int r;

    if (timings.n <= 2 || w->r != 0) {
        return;
    }
    arena_init(&arena, SIZE_MAX);
    r = json_parse(&doc, &arena, timings.p, timings.n, NULL, NULL);
    if (r < 0) {
        w->r = r;
    }
    if (r != 0) {
        return;
    }
    for (JsonIter it = json_iter(json_root(&doc)); it.is_object && json_iter_next(&it);) {
        if (!is_time(it.key)) {
            json_write_raw(w, json_span(it.key));
            w->r = w->r != 0 ? w->r : bytes_append_byte(w->out, ':');
            json_write_value(w, it.value);
        }
    }
}

static void write_timings(JsonWriter *w, const Envelope *envelope, const EnvelopeTimes *times)
{
    int64_t parts[TW_ARRAY_SIZE(time_names)];

    split_times(envelope, times, parts);
    json_write_object(w);
    for (size_t i = 0; i < TW_ARRAY_SIZE(time_names); i++) {
        json_write_key(w, span_from_str(time_names[i]));
        write_ms(w, parts[i]);
    }
    write_other_times(w, envelope->timings);
    json_write_end_object(w);
}

static void write_context(JsonWriter *w, Span context, Span method)
{
    if (context.n > 0) {
        json_write_raw(w, context);
        return;
    }
    json_write_object(w);
    if (method.n > 0) {
        json_write_key(w, SPAN("method"));
        json_write_exact(w, method);
    }
    json_write_end_object(w);
}

static Span default_message(const Envelope *envelope, Span code)
{
    EnvelopeCode known;

    if (envelope_code_parse(code, &known) && (known == ENVELOPE_OK) == envelope->is_ok) {
        return span_from_str(envelope_code_text(known));
    }
    return envelope->is_ok ? SPAN("OK") : SPAN("Failed");
}

int envelope_write(const Envelope *envelope, const EnvelopeTimes *times, Span method, Bytes *out)
{
    Span code = envelope->code.n > 0 ? envelope->code
                : envelope->is_ok    ? SPAN("OK")
                                     : SPAN("ERROR");
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    if (envelope->own.n > 0) {
        json_write_raw(&w, envelope->own);
    }
    json_write_key(&w, envelope_member_name(ENVELOPE_MEMBER_OK));
    json_write_bool(&w, envelope->is_ok);
    json_write_key(&w, envelope_member_name(ENVELOPE_MEMBER_CODE));
    json_write_exact(&w, code);
    json_write_key(&w, envelope_member_name(ENVELOPE_MEMBER_MSG));
    json_write_exact(&w,
                     envelope->message.n > 0 ? envelope->message : default_message(envelope, code));
    json_write_key(&w, envelope_member_name(ENVELOPE_MEMBER_WARNINGS));
    json_write_raw(&w, envelope->warnings.n > 0 ? envelope->warnings : SPAN("[]"));
    json_write_key(&w, envelope_member_name(ENVELOPE_MEMBER_NEXT_ACTIONS));
    json_write_raw(&w, envelope->next_actions.n > 0 ? envelope->next_actions : SPAN("[]"));
    json_write_key(&w, envelope_member_name(ENVELOPE_MEMBER_TIMINGS));
    write_timings(&w, envelope, times);
    json_write_key(&w, envelope_member_name(ENVELOPE_MEMBER_CONTEXT));
    write_context(&w, envelope->context, method);
    json_write_end_object(&w);
    return err_pass(json_writer_finish(&w));
}

/* ---- names that are near ---- */

typedef struct Near {
    size_t index;
    size_t distance;
} Near;

/* Puts one among the nearest, behind those that are as near. Returns how many there are. */
static size_t near_insert(Near nearest[ENVELOPE_NEAREST], size_t n, Near one)
{
    size_t at = n;

    while (at > 0 && nearest[at - 1].distance > one.distance) {
        at--;
    }
    if (at == ENVELOPE_NEAREST) {
        return n;
    }
    n += n < ENVELOPE_NEAREST;
    for (size_t i = n - 1; i > at; i--) {
        nearest[i] = nearest[i - 1];
    }
    nearest[at] = one;
    return n;
}

/* Every third letter may be wrong, as in text_nearest. */
static bool near_enough(Span a, Span b, size_t *ret_distance)
{
    size_t longer = a.n > b.n ? a.n : b.n;
    size_t shorter = a.n > b.n ? b.n : a.n;
    size_t allowed = longer < 3 ? 1 : longer / 3;

    if (longer - shorter > allowed) {
        return false;
    }
    *ret_distance = text_edit_distance(a, b);
    return *ret_distance <= allowed;
}

static void write_named_action(JsonWriter *w, Span method, Span reason)
{
    json_write_object(w);
    json_write_key(w, SPAN("method"));
    json_write_exact(w, method);
    json_write_key(w, SPAN("reason"));
    json_write_string(w, reason);
    json_write_end_object(w);
}

int envelope_write_nearest(Span method, const Span *names, size_t n, Bytes *out)
{
    Near nearest[ENVELOPE_NEAREST] = {{0, 0}};
    size_t n_near = 0;
    JsonWriter w;

    for (size_t i = 0; i < n && i < ENVELOPE_MAX_NAMES; i++) {
        Near one = {.index = i};

        if (near_enough(method, names[i], &one.distance)) {
            n_near = near_insert(nearest, n_near, one);
        }
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_array(&w);
    for (size_t i = 0; i < n_near; i++) {
        write_named_action(&w, names[nearest[i].index], SPAN("A command with a similar name."));
    }
    write_named_action(&w, SPAN("list_commands"), SPAN("List the commands that there are."));
    json_write_end_array(&w);
    return err_pass(json_writer_finish(&w));
}
