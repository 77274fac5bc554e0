#include "app/audit.h"

#include <string.h>

#include "app/audit_line.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/append_file.h"
#include "io/error_text.h"

/* When a file is tried again that could not be written. */
#define AUDIT_RETRY_MS 1000

/* Lines that are written at once; longer ones alone. On a disk that is almost full, parts of this
 * size still find room. */
#define AUDIT_PART_BYTES ((size_t)64 * 1024)

struct Audit {
    IoLoop *loop;
    char *path;
    size_t max_bytes;
    uint32_t keep;
    bool arguments;
    int64_t retry_ms;
    const LogSink *log;
    AppendFile file;
    Bytes waiting;         /* whole lines */
    Bytes masked;          /* arguments of the call that begins */
    IoBeforeWait *flusher; /* once a turn */
    IoTimer *retry;
    bool is_failing;    /* the last attempt did not go well, and that was said */
    bool is_resting;    /* until the timer */
    bool is_finishing;  /* what fails now is not tried again */
    int error;          /* of the last attempt that failed; a negative errno */
    uint64_t n_untold;  /* lines that were lost since the last one that was not */
    uint64_t n_dropped; /* all of them */
};

/* ---- the file ---- */

static void audit_fail(Audit *audit, int r, const char *action)
{
    audit->error = r;
    if (audit->is_finishing) {
        return;
    }
    if (!audit->is_failing) {
        logsink_write(audit->log, LOGSINK_LEVEL_WARN, "audit",
                      "cannot %s %s: %s; calls go on, and are written down later if that does not "
                      "take long",
                      action, audit->path, io_error_text(-r));
    }
    audit->is_failing = true;
    audit->is_resting = true;
    io_timer_start_at(audit->retry, io_loop_now_ms(audit->loop) + audit->retry_ms);
}

static bool audit_open(Audit *audit)
{
    int r = audit->file.fd >= 0 ? 0 : append_file_open(&audit->file, audit->path);

    if (r != 0) {
        audit_fail(audit, r, "open");
    }
    return r == 0;
}

/* Moves the file aside, and begins another. */
static bool audit_rotate(Audit *audit)
{
    int r;

    append_file_close(&audit->file);
    r = append_file_shift(audit->path, audit->keep);
    if (r != 0) {
        audit_fail(audit, r, "move");
        return false;
    }
    return audit_open(audit);
}

/* Bytes of whole lines at the beginning of rest (not empty) that fit into max; 0: not even one. */
static size_t audit_fitting(Span rest, size_t max)
{
    size_t n = rest.n < max ? rest.n : max;

    while (n > 0 && rest.p[n - 1] != '\n') {
        n--;
    }
    return n;
}

/* The lines that are written next; false if the file cannot have them now. */
static bool audit_next_part(Audit *audit, Span rest, Span *ret)
{
    const char *first_end = memchr(rest.p, '\n', rest.n);
    size_t n_first = first_end == NULL ? rest.n : (size_t)(first_end - rest.p) + 1;
    size_t room = AUDIT_PART_BYTES;
    size_t n;

    if (audit->file.is_regular) {
        uint64_t n_bytes = audit->file.n_bytes;

        if (n_bytes > 0 && (n_bytes >= audit->max_bytes || n_first > audit->max_bytes - n_bytes)) {
            if (!audit_rotate(audit)) {
                return false;
            }
            n_bytes = audit->file.n_bytes;
        }
        if (n_bytes < audit->max_bytes && audit->max_bytes - n_bytes < room) {
            room = (size_t)(audit->max_bytes - n_bytes);
        }
    }
    n = audit_fitting(rest, room);
    *ret = span_make(rest.p, n > 0 ? n : n_first);
    return true;
}

static void audit_write(Audit *audit)
{
    size_t at = 0;

    while (at < audit->waiting.n && audit_open(audit)) {
        Span part;
        int r;

        if (!audit_next_part(audit, span_make(audit->waiting.data + at, audit->waiting.n - at),
                             &part)) {
            break;
        }
        r = append_file_write(&audit->file, part);
        if (r != 0) {
            audit_fail(audit, r, "write");
            break;
        }
        at += part.n;
        if (audit->is_failing) {
            audit->is_failing = false;
            logsink_write(audit->log, LOGSINK_LEVEL_WARN, "audit", "%s is written again",
                          audit->path);
        }
    }
    if (at > 0) {
        bytes_drop_front(&audit->waiting, at);
    }
    if (audit->waiting.n == 0) {
        bytes_clear_keep(&audit->waiting, LIMIT_KEEP_BYTES);
    }
}

void audit_flush(Audit *audit)
{
    if (audit->waiting.n > 0 && !audit->is_resting) {
        audit_write(audit);
    }
}

static void audit_on_before_wait(void *context)
{
    audit_flush(context);
}

static void audit_on_retry(void *context)
{
    Audit *audit = context;

    audit->is_resting = false;
    audit_flush(audit);
}

/* ---- calls ---- */

void audit_began(Audit *audit, Call *call)
{
    if (!audit->arguments || call->arguments.node == NULL) {
        return;
    }
    bytes_clear(&audit->masked);
    /* What does not fit, or finds no memory, is left out, and the line says so. */
    if (audit_mask(&audit->masked, call->arguments) == 0) {
        Span copy = arena_copy(&call->kept_arena, bytes_span(&audit->masked));

        call->asked_text = copy.p != NULL ? copy : SPAN_NULL;
    }
}

void audit_ended(Audit *audit, const Call *call, const CallResult *result, const AuditEnd *end)
{
    int r = audit_line_write(&audit->waiting, clock_now_ms(), call, result, end, audit->arguments,
                             audit->n_untold);

    if (r != 0) {
        audit->n_untold++;
        audit->n_dropped++;
    } else {
        audit->n_untold = 0;
    }
}

/* ---- life ---- */

static int audit_init(Audit *audit, const char *path)
{
    size_t n = strlen(path) + 1;
    int r;

    audit->path = mem_alloc(n);
    if (audit->path == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(audit->path, path, n);
    r = io_timer_new(&audit->retry, audit->loop, true, audit_on_retry, audit);
    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(io_before_wait_new(&audit->flusher, audit->loop, audit_on_before_wait, audit));
}

int audit_new(Audit **ret, const AuditConfig *config)
{
    Audit *audit = mem_alloc_array(1, sizeof(*audit));
    int r;

    if (audit == NULL) {
        return err_raise(-ENOMEM);
    }
    *audit = (Audit){
        .loop = config->loop,
        .max_bytes = config->max_bytes != 0 ? config->max_bytes : LIMIT_AUDIT_FILE_BYTES,
        .keep = config->keep != 0 ? config->keep : LIMIT_AUDIT_FILES,
        .arguments = config->arguments,
        .retry_ms = config->retry_ms != 0 ? config->retry_ms : AUDIT_RETRY_MS,
        .log = config->log,
        .file = APPEND_FILE_NULL,
    };
    bytes_init(&audit->waiting, LIMIT_AUDIT_WAITING_BYTES);
    bytes_init(&audit->masked, LIMIT_AUDIT_ARGUMENTS_BYTES);
    r = audit_init(audit, config->path);
    if (r != 0) {
        audit_free(audit);
        return err_pass(r);
    }
    /* Now, so that a wrong path is told when somebody looks. */
    (void)audit_open(audit);
    *ret = audit;
    return 0;
}

/* Gives up what waits. Once said, the number covers also those that no line could tell of. */
static void audit_lose(Audit *audit)
{
    uint64_t n = 0;

    for (size_t i = 0; i < audit->waiting.n; i++) {
        n += audit->waiting.data[i] == '\n' ? 1 : 0;
    }
    bytes_clear(&audit->waiting);
    audit->n_dropped += n;
    n += audit->n_untold;
    audit->n_untold = 0;
    if (n > 0) {
        logsink_write(audit->log, LOGSINK_LEVEL_WARN, "audit",
                      "%llu lines about calls are lost: cannot write %s: %s", (unsigned long long)n,
                      audit->path, io_error_text(-audit->error));
    }
}

void audit_finish(Audit *audit)
{
    audit->is_finishing = true;
    audit->is_resting = false;
    audit_flush(audit);
    /* The only line about those that were lost after all others; it is no call's, and so not
     * counted if it is lost itself. */
    if (audit->n_untold > 0 && audit->waiting.n == 0) {
        int r = audit_line_write_dropped(&audit->waiting, clock_now_ms(), audit->n_untold);

        if (r != 0) {
            audit->error = err_fold(r);
        } else {
            audit_flush(audit);
            audit->n_untold = audit->waiting.n == 0 ? 0 : audit->n_untold;
            bytes_clear(&audit->waiting);
        }
    }
    audit_lose(audit);
}

Audit *audit_free(Audit *audit)
{
    if (audit == NULL) {
        return NULL;
    }
    if (audit->retry != NULL) {
        audit_finish(audit);
    }
    append_file_close(&audit->file);
    audit->flusher = io_before_wait_free(audit->flusher);
    audit->retry = io_timer_free(audit->retry);
    bytes_deinit(&audit->masked);
    bytes_deinit(&audit->waiting);
    audit->path = mem_free(audit->path);
    return mem_free(audit);
}

void audit_reopen(Audit *audit)
{
    audit_flush(audit);
    append_file_close(&audit->file);
    audit->is_resting = false; /* another file may take what this one did not */
}

uint64_t audit_n_dropped(const Audit *audit)
{
    return audit->n_dropped;
}
