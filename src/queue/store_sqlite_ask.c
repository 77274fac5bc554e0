#include "queue/store_sqlite.h"

#include <errno.h>

#include "base/error.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/writer.h"

/* Room for the index of a text, whatever is in it (json/json.h), and for what is written of it. */
#define ASK_ARENA_BYTES(n) ((n)*24 + (size_t)256 * 1024)

/* Texts of one round, and where they are read and written. */
typedef struct AskRound {
    Arena arena;
    Bytes asks;
    Bytes inputs;
    JsonDoc asked;    /* questions without an answer */
    JsonDoc answered; /* answers so far */
    JsonDoc given;    /* answers that come now */
    size_t n_open;    /* questions that stay */
} AskRound;

static void ask_round_init(AskRound *round, size_t n_bytes)
{
    *round = (AskRound){.n_open = 0};
    arena_init(&round->arena, ASK_ARENA_BYTES(n_bytes));
    bytes_init(&round->asks, 2 * n_bytes + 64);
    bytes_init(&round->inputs, 2 * n_bytes + 64);
}

static void ask_round_deinit(AskRound *round)
{
    arena_deinit(&round->arena);
    bytes_deinit(&round->asks);
    bytes_deinit(&round->inputs);
}

/* -EINVAL: it is no object. */
static int ask_parse(AskRound *round, Span text, JsonDoc *ret)
{
    int r;

    if (text.n == 0) {
        text = SPAN("{}");
    }
    r = json_parse(ret, &round->arena, text.p, text.n, NULL, NULL);
    if (r == 0 && json_kind(json_root(ret)) != JSON_OBJECT) {
        return err_raise(-EINVAL);
    }
    return r > 0 ? err_raise(-EINVAL) : r;
}

/* The member of that key in another object; of several the last. */
static int ask_find(AskRound *round, const JsonDoc *doc, JsonValue key, bool *ret_found,
                    JsonValue *ret)
{
    Span text;
    int r = json_string_exact(key, &round->arena, &text);

    if (r != 0) {
        return err_fold(r);
    }
    *ret_found = json_get(json_root(doc), text, ret);
    return 0;
}

/* Copies the members of `from` into w that are (or are not) in `in`, with the values of `values`. A
 * key that comes twice counts once, with its last value. */
static int ask_select(AskRound *round, JsonWriter *w, const JsonDoc *from, const JsonDoc *in,
                      bool is_wanted_in, const JsonDoc *values, size_t *n)
{
    for (JsonIter it = json_iter(json_root(from)); json_iter_next(&it);) {
        JsonValue own;
        JsonValue other;
        bool is_in = false;
        bool has_own = false;
        int r = ask_find(round, from, it.key, &has_own, &own);

        if (r == 0) {
            r = ask_find(round, in, it.key, &is_in, &other);
        }
        if (r != 0) {
            return r;
        }
        if (!has_own || own.node != it.value.node || is_in != is_wanted_in) {
            continue;
        }
        if (!is_in || values != in) {
            other = own;
        }
        /* The key as it was written, colon and all left to the writer. */
        Span text;

        r = json_string_exact(it.key, &round->arena, &text);
        if (r != 0) {
            return err_fold(r);
        }
        json_write_exact_key(w, text);
        json_write_value(w, other);
        (*n)++;
    }
    return 0;
}

/* round->asks: questions that are still open; round->inputs: answers of before, but those that are
 * asked for anew, and the new ones. */
static int ask_merge(AskRound *round)
{
    JsonWriter asks;
    JsonWriter inputs;
    size_t n_inputs = 0;
    int r;

    json_writer_init(&asks, &round->asks, JSON_STYLE_COMPACT);
    json_writer_init(&inputs, &round->inputs, JSON_STYLE_COMPACT);
    json_write_object(&asks);
    json_write_object(&inputs);
    r = ask_select(round, &asks, &round->asked, &round->given, false, &round->asked,
                   &round->n_open);
    if (r == 0) {
        r = ask_select(round, &inputs, &round->answered, &round->asked, false, &round->answered,
                       &n_inputs);
    }
    if (r == 0) {
        r = ask_select(round, &inputs, &round->asked, &round->given, true, &round->given,
                       &n_inputs);
    }
    json_write_end_object(&asks);
    json_write_end_object(&inputs);
    if (r == 0) {
        r = json_writer_finish(&asks);
    }
    if (r == 0) {
        r = json_writer_finish(&inputs);
    }
    return r > 0 ? err_raise(-ENOMEM) : r;
}

static int ask_put(Store *store, int64_t id, Span asks, Span inputs)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_SET_ASK, &r);

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    store_bind(sql, 2, asks);
    store_bind(sql, 3, inputs);
    (void)sqlite3_bind_int64(sql, 4, store_sum_ask(id, asks, inputs));
    store->is_dirty = true;
    return store_do(store, sql);
}

/* What there was before, copied to the operation's arena. */
static int ask_get(Store *store, QueueOp *op, int64_t id, Span *ret_asks, Span *ret_inputs)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_GET_ASK, &r);
    bool has_row = false;

    *ret_asks = SPAN_NULL;
    *ret_inputs = SPAN_NULL;
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    r = store_step(store, sql, &has_row);
    if (r == 0 && has_row) {
        if (!store_copy(&op->arena, store_column(sql, 0), ret_asks) ||
            !store_copy(&op->arena, store_column(sql, 1), ret_inputs)) {
            op->r = err_raise(-ENOMEM);
        } else if (!store_sum_holds(sql, 2, store_sum_ask(id, *ret_asks, *ret_inputs),
                                    STORE_WANT_BODIES)) {
            op->r = QUEUE_E_DAMAGED;
        }
        (void)sqlite3_reset(sql);
    }
    return r;
}

/* Nobody has it until the answers are there; with none to wait for it is ready again at once. */
static int ask_set_waiting(Store *store, StoreRow *row, bool is_open)
{
    JobState was = row->state;
    int64_t flags_were = row->flags;

    row->flags =
        (row->flags | STORE_FLAG_ASKED) & ~(int64_t)(STORE_FLAG_LEASED | STORE_FLAG_CRASHES);
    row->lease_us = 0;
    row->end_us = 0;
    row->span_ms = 0;
    if (is_open) {
        row->flags |= STORE_FLAG_ASKING;
        row->due_us = STORE_NEVER;
        row->state = JOB_RUNNING;
    } else {
        row->flags &= ~(int64_t)STORE_FLAG_ASKING;
        row->due_us = 0;
        row->state = JOB_ENQUEUED;
        row->seq = row->id + STORE_FRONT;
    }
    return store_row_set(store, row, was, flags_were);
}

/* Writes what ask_merge has made; everything that may be missing has been allocated before. */
static int ask_write(Store *store, QueueOp *op, StoreRow *row, AskRound *round)
{
    Span asks = round->n_open > 0 ? bytes_span(&round->asks) : SPAN_NULL;
    Span inputs = round->inputs.n > 2 ? bytes_span(&round->inputs) : SPAN_NULL;
    int r = store_answer_job(store, op, row->id, STORE_WANT_TEXTS);

    if (r != 0 || op->r != 0) {
        return r;
    }
    if (!store_copy(&op->arena, asks, &op->jobs[0].asks) ||
        !store_copy(&op->arena, inputs, &op->jobs[0].inputs)) {
        op->r = err_raise(-ENOMEM);
        return 0;
    }
    r = ask_put(store, row->id, asks, inputs);
    if (r == 0) {
        r = ask_set_waiting(store, row, round->n_open > 0);
    }
    store_job_numbers(row, &op->jobs[0]);
    return r;
}

/* given: the operation's answers (none while asking); asked: its questions, or those of before. */
static int ask_run(Store *store, QueueOp *op, StoreRow *row, Span asks, Span inputs, Span given)
{
    AskRound round;
    int r = 0;

    ask_round_init(&round, asks.n + inputs.n + given.n);
    op->r = ask_parse(&round, asks, &round.asked);
    if (op->r == 0) {
        op->r = ask_parse(&round, inputs, &round.answered);
    }
    if (op->r == 0) {
        op->r = ask_parse(&round, given, &round.given);
    }
    if (op->r == 0) {
        op->r = ask_merge(&round);
    }
    if (op->r == 0) {
        r = ask_write(store, op, row, &round);
    }
    ask_round_deinit(&round);
    return r;
}

/* The sum of the row that will have the note; of one that is damaged none that holds. */
static int ask_note_sum(Store *store, QueueOp *op, int64_t id, int64_t *ret)
{
    QueueJob job = {.state = JOB_ENQUEUED};
    bool fits = false;
    int r = store_job_read(store, &op->arena, id, STORE_WANT_BODIES, &job, &fits);

    if (r != 0 || !fits) {
        op->r = fits ? 0 : err_raise(-ENOMEM);
        return r;
    }
    job.note = queue_op_order(op)->spec.note;
    *ret = store_sum_spec(id, &job);
    *ret = job.is_damaged ? ~*ret : *ret;
    return 0;
}

static int ask_put_note(Store *store, int64_t id, Span note, int64_t sum)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_SET_NOTE, &r);

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    store_bind(sql, 2, note);
    (void)sqlite3_bind_int64(sql, 3, sum);
    store->is_dirty = true;
    store_spec_changed(store, id);
    return store_do(store, sql);
}

int store_ask(Store *store, QueueOp *op)
{
    const QueueSpec *spec = &queue_op_order(op)->spec;
    StoreRow row;
    Span asks;
    Span inputs;
    bool has = false;
    int64_t sum = 0;
    int r;

    if (queue_op_order(op)->asks.n > store->max_body_bytes ||
        spec->note.n > store->max_body_bytes) {
        op->r = QUEUE_E_TOO_LARGE;
        return 0;
    }
    r = store_find_held(store, op, &row, &has);
    if (r == 0 && has) {
        r = ask_get(store, op, row.id, &asks, &inputs);
    }
    if (r == 0 && has && op->r == 0 && spec->note.n > 0) {
        r = ask_note_sum(store, op, row.id, &sum);
    }
    if (r != 0 || !has || op->r != 0) {
        return r;
    }
    /* An attempt that asks has not failed. */
    row.n_attempts -= row.n_attempts > 0 ? 1 : 0;
    r = ask_run(store, op, &row, queue_op_order(op)->asks, inputs, SPAN_NULL);
    if (r == 0 && op->r == 0 && spec->note.n > 0) {
        r = ask_put_note(store, row.id, spec->note, sum);
    }
    return r;
}

int store_answer(Store *store, QueueOp *op)
{
    StoreRow row;
    Span asks;
    Span inputs;
    bool found = false;
    int r;

    if (queue_op_order(op)->inputs.n > store->max_body_bytes) {
        op->r = QUEUE_E_TOO_LARGE;
        return 0;
    }
    r = store_find(store, op, &row, &found);
    if (r != 0 || !found) {
        return r;
    }
    if (job_is_over(row.state)) {
        r = store_answer_job(store, op, row.id, STORE_WANT_TEXTS);
        op->r = op->r == 0 ? QUEUE_E_OVER : op->r;
        return r;
    }
    /* Nothing is asked (any more): every key is unknown, and left alone. */
    if ((row.flags & STORE_FLAG_ASKING) == 0) {
        return store_answer_job(store, op, row.id, STORE_WANT_TEXTS);
    }
    r = ask_get(store, op, row.id, &asks, &inputs);
    if (r != 0 || op->r != 0) {
        return r;
    }
    return ask_run(store, op, &row, asks, inputs, queue_op_order(op)->inputs);
}
