#include "queue/store_sqlite.h"

#include <string.h>

/* "job-", the number, "-", the secret; hexadecimal, in one spelling only. */
static const char id_digits[] = "0123456789abcdef";
#define ID_PREFIX "job-"

void store_id_write(int64_t id, const uint8_t secret[STORE_SECRET_BYTES], char out[QUEUE_ID_BYTES])
{
    char *at = out + sizeof(ID_PREFIX) - 1;
    unsigned shift = 60;

    memcpy(out, ID_PREFIX, sizeof(ID_PREFIX) - 1);
    while (shift > 0 && ((uint64_t)id >> shift) == 0) {
        shift -= 4;
    }
    for (;; shift -= 4) {
        *at++ = id_digits[((uint64_t)id >> shift) & 15];
        if (shift == 0) {
            break;
        }
    }
    *at++ = '-';
    for (size_t i = 0; i < STORE_SECRET_BYTES; i++) {
        *at++ = id_digits[secret[i] >> 4];
        *at++ = id_digits[secret[i] & 15];
    }
    *at = '\0';
}

static int id_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool store_id_parse(Span text, int64_t *ret_id, uint8_t ret_secret[STORE_SECRET_BYTES])
{
    size_t at = sizeof(ID_PREFIX) - 1;
    size_t first = at;
    uint64_t id = 0;

    if (!span_starts_with(text, SPAN(ID_PREFIX))) {
        return false;
    }
    for (; at < text.n && id_digit(text.p[at]) >= 0; at++) {
        if (at - first == 15) {
            return false;
        }
        id = id * 16 + (uint64_t)id_digit(text.p[at]);
    }
    if (at == first || text.p[first] == '0' || text.n - at != 1 + 2 * STORE_SECRET_BYTES ||
        text.p[at] != '-') {
        return false;
    }
    at++;
    for (size_t i = 0; i < STORE_SECRET_BYTES; i++, at += 2) {
        int high = id_digit(text.p[at]);
        int low = id_digit(text.p[at + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        ret_secret[i] = (uint8_t)(high * 16 + low);
    }
    *ret_id = (int64_t)id;
    return true;
}

/* Does the job belong to the operation's owner? */
static int id_is_owned(Store *store, const QueueOp *op, int64_t id, bool *ret)
{
    int r;
    sqlite3_stmt *sql;
    bool has_row = false;

    *ret = true;
    if (queue_op_order(op)->owner.n == 0) {
        return 0;
    }
    sql = store_sql(store, STORE_SQL_ABOUT, &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    r = store_step(store, sql, &has_row);
    *ret = has_row && span_equals(store_column(sql, 3), queue_op_order(op)->owner);
    (void)sqlite3_reset(sql);
    return r;
}

int store_find(Store *store, QueueOp *op, StoreRow *ret, bool *ret_found)
{
    uint8_t secret[STORE_SECRET_BYTES];
    bool is_owned = false;
    int64_t id;
    int r;

    *ret_found = false;
    if (!store_id_parse(queue_op_order(op)->id, &id, secret)) {
        op->r = QUEUE_E_BAD_ID;
        return 0;
    }
    r = store_row_get(store, id, ret, ret_found);
    if (r == 0 && *ret_found) {
        unsigned differs = 0;

        /* All of it, whatever is found: the time tells nothing. */
        for (size_t i = 0; i < STORE_SECRET_BYTES; i++) {
            differs |= (unsigned)(secret[i] ^ ret->secret[i]);
        }
        *ret_found = differs == 0;
    }
    if (r == 0 && *ret_found) {
        r = id_is_owned(store, op, id, &is_owned);
        *ret_found = is_owned;
    }
    if (!*ret_found) {
        op->r = QUEUE_E_MISSING;
    }
    return r;
}
