#include "base/logsink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "base/utf8.h"

static const char *const logsink_level_names[] = {"error", "warn", "info", "debug"};
static const char *const logsink_format_names[] = {"text", "json"};

/* The longest form of one character: \u001b. */
#define LOGSINK_PIECE_MAX 6

/* U+FFFD, for every byte that is not part of a valid sequence. */
#define LOGSINK_REPLACEMENT "\xEF\xBF\xBD"

/* Area names are ours and short; this bound keeps room for a message in every line. */
#define LOGSINK_AREA_MAX 128

/* A line in the making. */
typedef struct LogSinkLine {
    char data[LOGSINK_LINE_MAX];
    size_t n;
    LogSinkFormat format;
} LogSinkLine;

static void logsink_line_add(LogSinkLine *line, const char *s)
{
    size_t n = strlen(s);

    memcpy(line->data + line->n, s, n);
    line->n += n;
}

static unsigned logsink_code_point(const char *p, unsigned length)
{
    if (length == 1) {
        return utf8_byte(p);
    }
    /* Only those of two bytes can be controls; U+2028 and U+2029 are told by their bytes. */
    return length == 2 ? (utf8_byte(p) & 0x1Fu) << 6 | (utf8_byte(p + 1) & 0x3Fu) : 0x20;
}

static size_t logsink_escape_control(unsigned c, char out[LOGSINK_PIECE_MAX + 1])
{
    static const char letters[0x20] = {['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r'};

    if (c < 0x20 && letters[c] != 0) {
        out[0] = '\\';
        out[1] = letters[c];
        return 2;
    }
    return (size_t)snprintf(out, LOGSINK_PIECE_MAX + 1, "\\u%04x", c);
}

/* Writes the character at p as it appears in the line; *ret_length is what it took of the text. */
static size_t logsink_piece(LogSinkFormat format, const char *p, const char *end,
                            char out[LOGSINK_PIECE_MAX + 1], size_t *ret_length)
{
    unsigned length = utf8_sequence(p, end);
    unsigned c;

    *ret_length = length == 0 ? 1 : length;
    if (length == 0) {
        memcpy(out, LOGSINK_REPLACEMENT, 3);
        return 3;
    }
    if (length == 3 && memcmp(p, "\xE2\x80", 2) == 0 && (utf8_byte(p + 2) & 0xFE) == 0xA8) {
        return logsink_escape_control(0x2028 + (utf8_byte(p + 2) & 1), out);
    }
    c = logsink_code_point(p, length);
    /* The controls U+0080 to U+009F too: some terminals obey them. */
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) {
        return logsink_escape_control(c, out);
    }
    if (format == LOGSINK_FORMAT_JSON && (c == '"' || c == '\\')) {
        out[0] = '\\';
        out[1] = (char)c;
        return 2;
    }
    memcpy(out, p, length);
    return length;
}

/* Adds text so that the line does not grow past max; if it would, ends it with the cut mark
 * instead. */
static void logsink_line_add_text(LogSinkLine *line, Span text, size_t max)
{
    size_t cut = line->n; /* where the mark still fits behind whole characters */
    size_t at = 0;

    while (at < text.n) {
        char piece[LOGSINK_PIECE_MAX + 1];
        size_t length;
        size_t n = logsink_piece(line->format, text.p + at, text.p + text.n, piece, &length);

        if (line->n + n > max) {
            line->n = cut;
            logsink_line_add(line, LOGSINK_CUT_MARK);
            return;
        }
        memcpy(line->data + line->n, piece, n);
        line->n += n;
        at += length;
        if (line->n + strlen(LOGSINK_CUT_MARK) <= max) {
            cut = line->n;
        }
    }
}

static void logsink_line_build(LogSinkLine *line, const char *time, const char *level,
                               const char *area, Span message)
{
    bool is_json = line->format == LOGSINK_FORMAT_JSON;
    const char *end = is_json ? "\"}\n" : "\n";

    logsink_line_add(line, is_json ? "{\"time\":\"" : "");
    logsink_line_add(line, time);
    logsink_line_add(line, is_json ? "\",\"level\":\"" : " ");
    logsink_line_add(line, level);
    /* Levels are padded to five letters, so that areas stand in one column. */
    logsink_line_add(line, is_json ? "\",\"area\":\"" : &"      "[strlen(level)]);
    logsink_line_add_text(line, span_from_str(area), line->n + LOGSINK_AREA_MAX);
    logsink_line_add(line, is_json ? "\",\"message\":\"" : ": ");
    logsink_line_add_text(line, message, sizeof(line->data) - strlen(end));
    logsink_line_add(line, end);
}

void logsink_write(const LogSink *sink, LogSinkLevel level, const char *area, const char *format,
                   ...)
{
    /* No character gets shorter in the line, so what does not fit here would not fit there. */
    char message[LOGSINK_LINE_MAX];
    char time[RFC3339_SIZE];
    int saved_errno = errno;
    LogSinkLine line;
    va_list args;
    int n;

    if (!logsink_is_on(sink, level)) {
        return;
    }
    va_start(args, format);
    n = vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (n < 0) {
        n = snprintf(message, sizeof(message), "(unprintable: %s)", format);
    }
    if ((size_t)n >= sizeof(message)) {
        n = (int)sizeof(message) - 1;
    }
    rfc3339_format(sink->now_fn != NULL ? sink->now_fn(sink->context) : clock_now_ms(), time);
    line.n = 0;
    line.format = sink->format;
    logsink_line_build(&line, time, logsink_level_names[level], area,
                       span_make(message, (size_t)n));
    sink->write_fn(sink->context, line.data, line.n);
    errno = saved_errno;
}

void logsink_stderr_write(void *context, const char *line, size_t n)
{
    ssize_t written;

    (void)context;
    do {
        written = write(STDERR_FILENO, line, (unsigned)n); /* LOGSINK_LINE_MAX at the most */
    } while (written < 0 && errno == EINTR);
}

bool logsink_parse_level(Span s, LogSinkLevel *ret)
{
    size_t i;

    if (!text_is_one_of(s, logsink_level_names, TW_ARRAY_SIZE(logsink_level_names), &i)) {
        return false;
    }
    *ret = (LogSinkLevel)i;
    return true;
}

bool logsink_parse_format(Span s, LogSinkFormat *ret)
{
    size_t i;

    if (!text_is_one_of(s, logsink_format_names, TW_ARRAY_SIZE(logsink_format_names), &i)) {
        return false;
    }
    *ret = (LogSinkFormat)i;
    return true;
}
