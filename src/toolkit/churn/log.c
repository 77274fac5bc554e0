#include "toolkit/churn/log.h"

#include <string.h>

#include "base/error.h"

/* A record has at most two paths. Git's own limit for one is the system's, 4 KiB; trees that were
 * made without git can hold longer ones. */
#define LOG_RECORD_MAX ((size_t)4 * 1024 * 1024)

/* Storage for the rest of a piece that is kept: a record, and a pipe's worth behind it. */
#define LOG_FEED_MAX ((size_t)256 * 1024 * 1024)

#define LOG_ID_SHA1   40
#define LOG_ID_SHA256 64
#define LOG_MODE      6

/* Reads one record; stops where it is cut off or wrong. */
typedef struct LogCursor {
    const char *p;
    const char *end;
    bool is_short; /* more bytes would help */
} LogCursor;

void churn_log_init(ChurnLog *log, ChurnLogForm form)
{
    *log = (ChurnLog){.form = form};
    bytes_init(&log->rest, LOG_RECORD_MAX + LOG_FEED_MAX);
}

void churn_log_deinit(ChurnLog *log)
{
    bytes_deinit(&log->rest);
    *log = (ChurnLog){.form = log->form};
}

int churn_log_feed(ChurnLog *log, const char *p, size_t n)
{
    int r;

    if (log->rest.n == 0) {
        log->unread = span_make(p, n);
        return 0;
    }
    r = bytes_append(&log->rest, p, n);
    if (r != 0) {
        return r == BYTES_E_FULL ? err_raise(-ENOMEM) : err_pass(r);
    }
    log->unread = bytes_span(&log->rest);
    return 0;
}

/* Keeps what is unread until more comes. */
static int log_keep(ChurnLog *log)
{
    int r;

    if (log->rest.n > 0) {
        bytes_drop_front(&log->rest, log->rest.n - log->unread.n);
        log->unread = bytes_span(&log->rest);
        return CHURN_LOG_E_AGAIN;
    }
    r = bytes_append_span(&log->rest, log->unread);
    if (r != 0) {
        return r == BYTES_E_FULL ? err_raise(-ENOMEM) : err_pass(r);
    }
    log->unread = bytes_span(&log->rest);
    return CHURN_LOG_E_AGAIN;
}

/* ---- pieces of records: false if they are cut off or wrong ---- */

static bool cursor_is(LogCursor *c, char byte)
{
    if (c->p == c->end) {
        c->is_short = true;
        return false;
    }
    if (*c->p != byte) {
        return false;
    }
    c->p++;
    return true;
}

/* All up to a NUL, which is passed. */
static bool cursor_text(LogCursor *c, Span *ret)
{
    const char *nul = c->p == c->end ? NULL : memchr(c->p, '\0', (size_t)(c->end - c->p));

    if (nul == NULL) {
        c->is_short = true;
        return false;
    }
    *ret = span_make(c->p, (size_t)(nul - c->p));
    c->p = nul + 1;
    return true;
}

static bool cursor_name(LogCursor *c, Span *ret)
{
    return cursor_text(c, ret) && ret->n > 0;
}

/* Digits, saturating; how many is told. */
static bool cursor_number(LogCursor *c, uint64_t *ret, size_t *ret_digits)
{
    uint64_t value = 0;
    const char *begin = c->p;

    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*c->p - '0'), &value)) {
            value = UINT64_MAX;
        }
    }
    if (c->p == c->end) {
        c->is_short = true;
        return false;
    }
    *ret = value;
    *ret_digits = (size_t)(c->p - begin);
    return true;
}

static bool cursor_is_hex(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

/* An object's name, and the byte behind it. */
static bool cursor_id(LogCursor *c, char behind, Span *ret)
{
    const char *begin = c->p;

    while (c->p < c->end && c->p - begin < LOG_ID_SHA256 && cursor_is_hex(*c->p)) {
        c->p++;
    }
    *ret = span_make(begin, (size_t)(c->p - begin));
    return cursor_is(c, behind) && (ret->n == LOG_ID_SHA1 || ret->n == LOG_ID_SHA256);
}

/* Seconds and the byte 02. A commit that was not made by git may lack them. */
static bool cursor_time(LogCursor *c, int64_t *ret, bool *ret_has)
{
    bool is_negative = c->p < c->end && *c->p == '-';
    uint64_t value;
    size_t n;

    c->p += is_negative;
    if (!cursor_number(c, &value, &n)) {
        return false;
    }
    *ret = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    *ret = is_negative ? -*ret : *ret;
    *ret_has = n > 0;
    return cursor_is(c, '\x02');
}

/* ---- records ---- */

/* "grafted" among the words of a decoration; no branch can show up there (runs.c). */
static bool log_is_cut(Span decoration)
{
    Span word = SPAN("grafted");

    while (decoration.n >= word.n) {
        if (span_starts_with(decoration, word)) {
            return true;
        }
        decoration = span_make(decoration.p + 1, decoration.n - 1);
    }
    return false;
}

static bool log_read_decoration(LogCursor *c, bool *ret_is_cut)
{
    const char *stop = c->p == c->end ? NULL : memchr(c->p, '\x02', (size_t)(c->end - c->p));

    if (stop == NULL) {
        c->is_short = true;
        return false;
    }
    *ret_is_cut = log_is_cut(span_make(c->p, (size_t)(stop - c->p)));
    c->p = stop + 1;
    return true;
}

static bool log_read_header(const ChurnLog *log, LogCursor *c, ChurnLogEvent *event)
{
    bool has_author = false;
    bool has_committer = false;

    event->kind = CHURN_LOG_COMMIT;
    if (!cursor_is(c, '\x01') || !cursor_id(c, '\x02', &event->id) ||
        !cursor_time(c, &event->author_s, &has_author) ||
        !cursor_time(c, &event->committer_s, &has_committer)) {
        return false;
    }
    if (log->form == CHURN_LOG_DECORATED && !log_read_decoration(c, &event->is_cut)) {
        return false;
    }
    if (!has_author) {
        event->author_s = event->committer_s;
    }
    if (!has_committer) {
        event->committer_s = event->author_s;
    }
    return cursor_text(c, &event->author);
}

static bool log_read_mode(LogCursor *c, bool *ret_is_submodule)
{
    const char *begin = c->p;

    while (c->p < c->end && c->p - begin < LOG_MODE && *c->p >= '0' && *c->p <= '7') {
        c->p++;
    }
    if (!cursor_is(c, ' ')) {
        return false;
    }
    *ret_is_submodule = span_equals(span_make(begin, (size_t)(c->p - begin)), SPAN("160000 "));
    return true;
}

static bool log_read_raw(LogCursor *c, ChurnLogEvent *event)
{
    bool was_submodule = false;
    bool is_submodule = false;
    const char *begin = c->p + 1;
    Span blob;
    Span status;

    event->kind = CHURN_LOG_RAW;
    if (!cursor_is(c, ':') || !log_read_mode(c, &was_submodule) ||
        !log_read_mode(c, &is_submodule) || !cursor_id(c, ' ', &blob) ||
        !cursor_id(c, ' ', &blob)) {
        return false;
    }
    event->is_submodule = was_submodule || is_submodule;
    event->blobs = span_make(begin, (size_t)(c->p - begin));
    /* A letter, and how alike both are in percent. */
    if (!cursor_text(c, &status) || status.n == 0 || status.n > 4) {
        return false;
    }
    event->status = status.p[0];
    if (event->status == 'R' || event->status == 'C') {
        return cursor_name(c, &event->old) && cursor_name(c, &event->path);
    }
    return cursor_name(c, &event->path);
}

/* "12" or "-", and a tab. */
static bool log_read_count(LogCursor *c, uint64_t *ret, bool *ret_is_binary)
{
    size_t n = 0;

    if (c->p < c->end && *c->p == '-') {
        c->p++;
        *ret_is_binary = true;
        return cursor_is(c, '\t');
    }
    return cursor_number(c, ret, &n) && n > 0 && cursor_is(c, '\t');
}

static bool log_read_lines(LogCursor *c, ChurnLogEvent *event)
{
    event->kind = CHURN_LOG_LINES;
    if (!log_read_count(c, &event->added, &event->is_binary) ||
        !log_read_count(c, &event->deleted, &event->is_binary) || !cursor_text(c, &event->path)) {
        return false;
    }
    if (event->is_binary) {
        event->added = 0;
        event->deleted = 0;
    }
    if (event->path.n > 0) {
        return true;
    }
    return cursor_name(c, &event->old) && cursor_name(c, &event->path);
}

static bool log_read_record(const ChurnLog *log, LogCursor *c, ChurnLogEvent *event)
{
    if (log->form == CHURN_LOG_NAMES) {
        event->kind = CHURN_LOG_NAME;
        return cursor_name(c, &event->path);
    }
    if (*c->p == '\x01') {
        return log_read_header(log, c, event);
    }
    if (!log->in_commit) {
        return false;
    }
    if (log->at_first && *c->p == '\n') {
        c->p++;
        if (c->p == c->end) {
            c->is_short = true;
            return false;
        }
    }
    return *c->p == ':' ? log_read_raw(c, event) : log_read_lines(c, event);
}

static int log_refuse(const ChurnLog *log, Diag *reterr_diag, const char *what)
{
    int r = diag_set(reterr_diag, CHURN_LOG_E_FORMAT, "what git printed %s", what);

    if (reterr_diag != NULL) {
        reterr_diag->offset = (size_t)log->offset;
    }
    return r;
}

/* Whole or not: where the pieces are cut must not matter. */
static int log_refuse_long(const ChurnLog *log, Diag *reterr_diag)
{
    return log_refuse(log, reterr_diag, "has a record above 4 MiB");
}

int churn_log_next(ChurnLog *log, ChurnLogEvent *ret, Diag *reterr_diag)
{
    LogCursor cursor = {.is_short = false};
    ChurnLogEvent event = {.old = SPAN_NULL};
    size_t n;

    if (log->unread.n == 0) {
        log->rest.n = 0;
        return CHURN_LOG_E_AGAIN;
    }
    cursor.p = log->unread.p;
    cursor.end = log->unread.p + log->unread.n;
    if (!log_read_record(log, &cursor, &event)) {
        if (!cursor.is_short) {
            return log_refuse(log, reterr_diag, "is no record of a log");
        }
        return log->unread.n > LOG_RECORD_MAX ? log_refuse_long(log, reterr_diag) : log_keep(log);
    }
    n = (size_t)(cursor.p - log->unread.p);
    if (n > LOG_RECORD_MAX) {
        return log_refuse_long(log, reterr_diag);
    }
    log->unread = span_make(cursor.p, log->unread.n - n);
    log->offset += n;
    log->at_first = event.kind == CHURN_LOG_COMMIT;
    log->in_commit = true;
    *ret = event;
    return 0;
}

int churn_log_finish(const ChurnLog *log, Diag *reterr_diag)
{
    if (log->unread.n > 0) {
        return log_refuse(log, reterr_diag, "ends in the middle of a record");
    }
    return 0;
}
