/* Looks through the log that a process has left which did not end in order.
 *
 * SQLite takes the first frame whose checksum is wrong for the end of the log: right for a write
 * that was cut short, and the silent loss of all that follows if it is a page that went bad later.
 * The two differ in what lies behind. A commit is begun when the one before is on disk, so that a
 * log which was cut short ends in the commit that was being written; where frames of a later one
 * follow, what is bad was whole once, and somebody was told so. A bad page in the very last commit
 * looks like one that was cut short, and is taken for it. */
#include "queue/store_sqlite.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"

/* The format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log. Numbers are big-endian.
 */
#define LOG_HEADER_BYTES 32
#define LOG_FRAME_BYTES  24
#define LOG_MAGIC        0x377f0682u /* the last bit: checksums are of big-endian words */

typedef struct LogSum {
    uint32_t a;
    uint32_t b;
} LogSum;

typedef struct LogFrame {
    uint32_t page;
    bool is_commit; /* the last of its commit */
    bool is_ours;   /* of this log, and not of one that lay here before */
    bool is_whole;  /* its checksum follows from that of the frame before, as that has it */
    LogSum sum;     /* as it is written */
} LogFrame;

typedef struct LogReader {
    sqlite3_file *file;
    uint8_t *bytes; /* of one frame */
    size_t n_page;
    bool is_big_endian;
    uint8_t salt[8];
    LogSum sum; /* of the frame before */
} LogReader;

static uint32_t log_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t log_u32_little(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static LogSum log_sum(const LogReader *log, LogSum sum, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        if (log->is_big_endian) {
            sum.a += log_u32(p + i) + sum.b;
            sum.b += log_u32(p + i + 4) + sum.a;
        } else {
            sum.a += log_u32_little(p + i) + sum.b;
            sum.b += log_u32_little(p + i + 4) + sum.a;
        }
    }
    return sum;
}

static bool log_sum_equals(LogSum a, LogSum b)
{
    return a.a == b.a && a.b == b.b;
}

static int log_read_frame(LogReader *log, sqlite3_int64 index, LogFrame *ret)
{
    const uint8_t *p = log->bytes;
    size_t n = LOG_FRAME_BYTES + log->n_page;
    sqlite3_int64 at = LOG_HEADER_BYTES + index * (sqlite3_int64)n;
    LogSum sum;

    if (log->file->pMethods->xRead(log->file, log->bytes, (int)n, at) != SQLITE_OK) {
        return err_raise(-EIO);
    }
    sum = log_sum(log, log->sum, p, 8);
    sum = log_sum(log, sum, p + LOG_FRAME_BYTES, log->n_page);
    *ret = (LogFrame){.page = log_u32(p),
                      .is_commit = log_u32(p + 4) != 0,
                      .is_ours = memcmp(p + 8, log->salt, sizeof(log->salt)) == 0,
                      .sum = {log_u32(p + 16), log_u32(p + 20)}};
    ret->is_whole = ret->page != 0 && log_sum_equals(sum, ret->sum);
    log->sum = ret->sum;
    return 0;
}

/* What lies behind the first frame that is bad: is there more than the rest of its commit? before:
 * the last good frame of the same commit; NULL: the bad one is the first of it. */
static int log_look_behind(LogReader *log, sqlite3_int64 first, sqlite3_int64 n_frames,
                           const LogFrame *before, const LogFrame *bad, bool *ret_damaged)
{
    bool is_next = bad->is_ours && bad->is_commit;
    uint32_t page = before != NULL ? before->page : 0;

    for (sqlite3_int64 i = first; i < n_frames; i++) {
        LogFrame frame;
        int r = log_read_frame(log, i, &frame);

        if (r != 0) {
            return r;
        }
        if (!frame.is_ours || !frame.is_whole) {
            continue;
        }
        /* Pages of one commit are in order: going back is the next one. */
        if (is_next || frame.page <= page) {
            *ret_damaged = true;
            return 0;
        }
        is_next = frame.is_commit;
        page = frame.page;
    }
    return 0;
}

static int log_walk(LogReader *log, sqlite3_int64 n_frames, bool *ret_damaged)
{
    LogFrame before = {.page = 0};
    bool has_before = false;

    for (sqlite3_int64 i = 0; i < n_frames; i++) {
        LogFrame frame;
        int r = log_read_frame(log, i, &frame);

        if (r != 0) {
            return r;
        }
        if (!frame.is_ours || !frame.is_whole) {
            return log_look_behind(log, i + 1, n_frames, has_before ? &before : NULL, &frame,
                                   ret_damaged);
        }
        has_before = !frame.is_commit;
        before = frame;
    }
    return 0;
}

/* A log whose header is bad is none to SQLite. The header is a single sector, on disk before any
 * frame; so two frames in a row that fit together were in use. */
static int log_look_headless(LogReader *log, sqlite3_int64 n_frames, bool *ret_damaged)
{
    LogFrame frame;
    int r = n_frames > 1 ? log_read_frame(log, 0, &frame) : 0;

    if (r == 0 && n_frames > 1) {
        r = log_read_frame(log, 1, &frame);
        *ret_damaged = r == 0 && frame.is_whole;
    }
    return r;
}

static int log_check(LogReader *log, sqlite3_int64 n_bytes, size_t n_page, bool *ret_damaged)
{
    uint8_t header[LOG_HEADER_BYTES];
    sqlite3_int64 n_frames =
        (n_bytes - LOG_HEADER_BYTES) / (sqlite3_int64)(LOG_FRAME_BYTES + n_page);
    bool is_good;

    if (log->file->pMethods->xRead(log->file, header, sizeof(header), 0) != SQLITE_OK) {
        return err_raise(-EIO);
    }
    log->n_page = n_page;
    log->is_big_endian = (header[3] & 1) != 0;
    memcpy(log->salt, header + 16, sizeof(log->salt));
    log->sum = log_sum(log, (LogSum){0, 0}, header, 24);
    is_good = (log_u32(header) & ~1u) == LOG_MAGIC && log_u32(header + 8) == n_page &&
              log_sum_equals(log->sum, (LogSum){log_u32(header + 24), log_u32(header + 28)});
    log->bytes = mem_alloc(LOG_FRAME_BYTES + n_page);
    if (log->bytes == NULL) {
        return err_raise(-ENOMEM);
    }
    return is_good ? log_walk(log, n_frames, ret_damaged)
                   : log_look_headless(log, n_frames, ret_damaged);
}

int store_log_check(Store *store, size_t n_page, bool *ret_damaged)
{
    LogReader log = {.file = NULL};
    sqlite3_int64 n_bytes = 0;
    int r = 0;

    *ret_damaged = false;
    (void)sqlite3_file_control(store->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log.file);
    if (log.file == NULL || log.file->pMethods == NULL) {
        return 0; /* in memory */
    }
    if (log.file->pMethods->xFileSize(log.file, &n_bytes) != SQLITE_OK) {
        return err_raise(-EIO);
    }
    if (n_bytes > LOG_HEADER_BYTES) {
        r = log_check(&log, n_bytes, n_page, ret_damaged);
    }
    mem_free(log.bytes);
    return r;
}
