/* base/logsink.h: one line per record, wherever it goes.
 *
 * `app` fills a LogSink and hands it to the layers that may log; a NULL sink is silent. Whatever a
 * message holds (it may quote a peer), the record stays one line, its control characters cannot
 * reach the terminal, and the JSON form stays JSON. Allocates nothing, keeps errno. Thread: any, if
 * write_fn is; the one for stderr is.
 */
#pragma once

#include "base/compiler.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LogSinkLevel {
    LOGSINK_LEVEL_ERROR,
    LOGSINK_LEVEL_WARN,
    LOGSINK_LEVEL_INFO,
    LOGSINK_LEVEL_DEBUG
} LogSinkLevel;

typedef enum LogSinkFormat {
    LOGSINK_FORMAT_TEXT, /* 2025-01-15T10:30:00.000Z warn  area: message */
    LOGSINK_FORMAT_JSON  /* {"time":"…","level":"warn","area":"…","message":"…"} */
} LogSinkFormat;

/* Longest line, its newline included: what POSIX lets several processes write to one pipe without
 * mixing (PIPE_BUF on Linux). A longer message is cut, and ends in LOGSINK_CUT_MARK. */
#define LOGSINK_LINE_MAX 4096
#define LOGSINK_CUT_MARK "... [cut]"

/* Borrows n bytes, one whole line with its newline, until return. */
typedef void (*LogSinkWriteFn)(void *context, const char *line, size_t n);

/* Milliseconds since 1970. */
typedef int64_t (*LogSinkNowFn)(void *context);

typedef struct LogSink {
    LogSinkLevel level; /* records above it are dropped */
    LogSinkFormat format;
    LogSinkWriteFn write_fn;
    LogSinkNowFn now_fn; /* NULL: the wall clock */
    void *context;       /* borrowed, for both functions */
} LogSink;

/* Warnings and errors, as text, to stderr. */
#define LOGSINK_STDERR ((LogSink){.level = LOGSINK_LEVEL_WARN, .write_fn = logsink_stderr_write})

/* Whether a record of that level would be written: asked before a costly argument is made. */
TW_INLINE bool logsink_is_on(const LogSink *sink, LogSinkLevel level)
{
    return sink != NULL && level <= sink->level;
}

/* Writes one record. area is the module that speaks ("pipe", "queue"). */
TW_PRINTF(4, 5)
void logsink_write(const LogSink *sink, LogSinkLevel level, const char *area, const char *format,
                   ...);

/* A LogSinkWriteFn: one write(2) to stderr. What the system does not take is lost: a log must not
 * block or end the program. */
void logsink_stderr_write(void *context, const char *line, size_t n);

/* "error" "warn" "info" "debug"; "text" "json". False if it is none of them. */
bool logsink_parse_level(Span s, LogSinkLevel *ret);
bool logsink_parse_format(Span s, LogSinkFormat *ret);
