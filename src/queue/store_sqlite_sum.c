/* Checksums of what is kept: a disk, a copy or a hand that changes a byte of a row leaves a file
 * that SQLite reads without complaint, and nobody must be given that byte as a tool's answer.
 *
 * A row has one number: in its upper half the sum of its short columns, in its lower half that of
 * its body, which lists do not read. Rows of versions before have none, and are taken as they are.
 */
#include "queue/store_sqlite.h"

/* Each step can be undone, so that one word that differs makes two sums that do; the fold to 32
 * bits misses one damage of 2^32. It is for disks, and nobody's signature: base/hash.h, which is
 * made against people who choose what is hashed, costs three times as much for texts of some bytes.
 */
#define SUM_ODD 0x9E3779B97F4A7C15u

static uint64_t sum_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * SUM_ODD;
    return sum ^ sum >> 29;
}

/* Little-endian on every machine, since files are moved. Of a size that is known each is one load.
 */
static uint64_t sum_load8(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

static uint64_t sum_load4(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

/* The last word of a text, or all of a short one: words may overlap, which their order allows. */
static uint64_t sum_tail(const uint8_t *p, size_t n)
{
    if (n >= 8) {
        return sum_load8(p + (n - 8));
    }
    if (n >= 4) {
        return sum_load4(p) | sum_load4(p + (n - 4)) << 32;
    }
    return n == 0 ? 0 : (uint64_t)p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16;
}

static uint64_t sum_add(uint64_t sum, Span text)
{
    const uint8_t *p = (const uint8_t *)text.p;

    sum = sum_word(sum, text.n);
    for (size_t at = 0; at + 8 < text.n; at += 8) {
        sum = sum_word(sum, sum_load8(p + at));
    }
    return text.n == 0 ? sum : sum_word(sum, sum_tail(p, text.n));
}

static uint32_t sum_fold(uint64_t sum)
{
    return (uint32_t)(sum ^ sum >> 32);
}

static int64_t sum_join(uint64_t names, uint64_t body)
{
    return (int64_t)((uint64_t)sum_fold(names) << 32 | sum_fold(body));
}

/* Begins with the id: a row that is found under another one is not what was written there. */
static uint64_t sum_texts(int64_t id, const Span *texts, size_t n)
{
    uint64_t sum = sum_word(SUM_ODD, (uint64_t)id);

    for (size_t i = 0; i < n; i++) {
        sum = sum_add(sum, texts[i]);
    }
    return sum;
}

int64_t store_sum_spec(int64_t id, const QueueJob *job)
{
    const Span names[] = {job->method, job->owner,           job->source,
                          job->rpc_id, job->idempotency_key, job->note};
    const Span body = span_equals(job->params, SPAN("{}")) ? SPAN_NULL : job->params;
    uint64_t sum = sum_texts(id, names, TW_ARRAY_SIZE(names));

    sum = sum_word(sum, (uint64_t)job->timeout_ms);
    sum = sum_word(sum, (uint64_t)job->max_attempts << 1 | (job->is_idempotent ? 1u : 0u));
    sum = sum_word(sum, (uint64_t)job->enqueued_us);
    return sum_join(sum, sum_texts(id, &body, 1));
}

int64_t store_sum_outcome(int64_t id, Span code, Span message, Span result)
{
    const Span names[] = {code, message};

    return sum_join(sum_texts(id, names, TW_ARRAY_SIZE(names)), sum_texts(id, &result, 1));
}

int64_t store_sum_ask(int64_t id, Span asks, Span inputs)
{
    return sum_join(sum_texts(id, &asks, 1), sum_texts(id, &inputs, 1));
}

bool store_sum_holds(sqlite3_stmt *sql, int at, int64_t sum, StoreWant want)
{
    uint64_t differs;

    if (sqlite3_column_type(sql, at) == SQLITE_NULL) {
        return true;
    }
    differs = (uint64_t)sqlite3_column_int64(sql, at) ^ (uint64_t)sum;
    return (want == STORE_WANT_BODIES ? differs : differs >> 32) == 0;
}
