#include "support/cmocka.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/logsink.h"
#include "base/utf8.h"
#include "support/alloc_testing.h"

#define TIME "2025-01-15T10:30:00.000Z"

typedef struct Capture {
    char line[LOGSINK_LINE_MAX + 1];
    size_t n;
    int n_writes;
} Capture;

static void capture_write(void *context, const char *line, size_t n)
{
    Capture *c = context;

    assert_in_range(n, 1, LOGSINK_LINE_MAX);
    memcpy(c->line, line, n);
    c->line[n] = '\0';
    c->n = n;
    c->n_writes++;
    errno = EPIPE;
}

static int64_t fixed_now(void *context)
{
    (void)context;
    return 1736937000000;
}

static LogSink make_sink(LogSinkFormat format, Capture *c)
{
    *c = (Capture){.n = 0};
    return (LogSink){.level = LOGSINK_LEVEL_DEBUG,
                     .format = format,
                     .write_fn = capture_write,
                     .now_fn = fixed_now,
                     .context = c};
}

static void text_lines_are_aligned(void **state)
{
    Capture c;
    LogSink sink = make_sink(LOGSINK_FORMAT_TEXT, &c);

    (void)state;
    logsink_write(&sink, LOGSINK_LEVEL_WARN, "pipe", "peer %d left", 7);
    assert_string_equal(c.line, TIME " warn  pipe: peer 7 left\n");
    logsink_write(&sink, LOGSINK_LEVEL_ERROR, "pipe", "x");
    assert_string_equal(c.line, TIME " error pipe: x\n");
    logsink_write(&sink, LOGSINK_LEVEL_INFO, "queue", "say \"hi\" to C:\\dir");
    assert_string_equal(c.line, TIME " info  queue: say \"hi\" to C:\\dir\n");
    logsink_write(&sink, LOGSINK_LEVEL_DEBUG, "queue", "%s", "");
    assert_string_equal(c.line, TIME " debug queue: \n");
    assert_int_equal(c.n_writes, 4);
}

static void json_lines_are_objects(void **state)
{
    Capture c;
    LogSink sink = make_sink(LOGSINK_FORMAT_JSON, &c);

    (void)state;
    logsink_write(&sink, LOGSINK_LEVEL_WARN, "pipe", "say \"hi\" to C:\\dir\n");
    assert_string_equal(c.line, "{\"time\":\"" TIME "\",\"level\":\"warn\",\"area\":\"pipe\","
                                "\"message\":\"say \\\"hi\\\" to C:\\\\dir\\n\"}\n");
}

static void record_stays_one_line_whatever_it_quotes(void **state)
{
    static const LogSinkFormat formats[] = {LOGSINK_FORMAT_TEXT, LOGSINK_FORMAT_JSON};
    char message[300];

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        for (int byte = 1; byte < 256; byte++) {
            Capture c;
            LogSink sink = make_sink(formats[f], &c);

            (void)snprintf(message, sizeof(message), "a%cb%c", byte, byte);
            logsink_write(&sink, LOGSINK_LEVEL_INFO, message, "%s", message);
            assert_int_equal(c.n_writes, 1);
            assert_ptr_equal(strchr(c.line, '\n'), c.line + c.n - 1);
            assert_true(utf8_valid(c.line, c.n, NULL));
            for (size_t i = 0; i + 1 < c.n; i++) {
                assert_true((unsigned char)c.line[i] >= 0x20 && c.line[i] != 0x7F);
            }
        }
    }
}

static void assert_message(LogSinkFormat format, const char *message, const char *expected)
{
    Capture c;
    LogSink sink = make_sink(format, &c);
    const char *start;

    logsink_write(&sink, LOGSINK_LEVEL_INFO, "a", "%s", message);
    start = strstr(c.line, format == LOGSINK_FORMAT_JSON ? "message\":\"" : "a: ");
    assert_non_null(start);
    start += format == LOGSINK_FORMAT_JSON ? strlen("message\":\"") : strlen("a: ");
    assert_int_equal(strncmp(start, expected, strlen(expected)), 0);
    assert_string_equal(start + strlen(expected), format == LOGSINK_FORMAT_JSON ? "\"}\n" : "\n");
}

static void controls_are_shown_as_escapes(void **state)
{
    static const LogSinkFormat formats[] = {LOGSINK_FORMAT_TEXT, LOGSINK_FORMAT_JSON};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        assert_message(formats[f], "a\nb\rc\td", "a\\nb\\rc\\td");
        assert_message(formats[f], "\x1b[31mred", "\\u001b[31mred");
        assert_message(formats[f], "\x7f", "\\u007f");
        /* CSI as one character: obeyed by some terminals. */
        assert_message(formats[f],
                       "\xC2\x9B"
                       "31m",
                       "\\u009b31m");
        assert_message(formats[f], "\xC2\xA0\xC3\xA9", "\xC2\xA0\xC3\xA9");
        assert_message(formats[f], "\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xA7",
                       "\\u2028\\u2029\xE2\x80\xA7");
        assert_message(formats[f], "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80");
    }
}

static void invalid_bytes_become_replacement_characters(void **state)
{
    static const LogSinkFormat formats[] = {LOGSINK_FORMAT_TEXT, LOGSINK_FORMAT_JSON};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        assert_message(formats[f], "a\xFFz", "a\xEF\xBF\xBDz");
        assert_message(formats[f], "cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD");
        assert_message(formats[f], "\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD");
        assert_message(formats[f], "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    }
}

static void long_message_is_cut_visibly_between_characters(void **state)
{
    static const struct {
        LogSinkFormat format;
        const char *unit;
        const char *end;
    } cases[] = {
        {LOGSINK_FORMAT_TEXT, "\xF0\x9F\x98\x80", LOGSINK_CUT_MARK "\n"},
        {LOGSINK_FORMAT_JSON, "\xF0\x9F\x98\x80", LOGSINK_CUT_MARK "\"}\n"},
        {LOGSINK_FORMAT_TEXT, "\x01", LOGSINK_CUT_MARK "\n"},
        {LOGSINK_FORMAT_JSON, "\x01", LOGSINK_CUT_MARK "\"}\n"},
        {LOGSINK_FORMAT_JSON, "\"", LOGSINK_CUT_MARK "\"}\n"},
        {LOGSINK_FORMAT_TEXT, "\xFF", LOGSINK_CUT_MARK "\n"},
        {LOGSINK_FORMAT_TEXT, "a", LOGSINK_CUT_MARK "\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t shift = 0; shift < 8; shift++) {
            static char message[3 * LOGSINK_LINE_MAX];
            Capture c;
            LogSink sink = make_sink(cases[i].format, &c);
            size_t n = strlen(cases[i].unit);
            size_t at = shift;

            memset(message, 'a', shift);
            for (; at + n < sizeof(message); at += n) {
                memcpy(message + at, cases[i].unit, n + 1);
            }
            logsink_write(&sink, LOGSINK_LEVEL_INFO, "area", "%s", message);
            assert_in_range(c.n, LOGSINK_LINE_MAX - 8, LOGSINK_LINE_MAX);
            assert_true(utf8_valid(c.line, c.n, NULL));
            assert_string_equal(c.line + c.n - strlen(cases[i].end), cases[i].end);
            if (cases[i].unit[0] == '\x01') {
                /* Nor are escapes cut in two. */
                assert_int_equal(strncmp(c.line + c.n - strlen(cases[i].end) - 6, "\\u0001", 6), 0);
            }
        }
    }
}

static void message_that_just_fits_is_not_cut(void **state)
{
    static const char head[] = TIME " info  area: ";
    char message[LOGSINK_LINE_MAX];
    Capture c;
    LogSink sink = make_sink(LOGSINK_FORMAT_TEXT, &c);
    int n = LOGSINK_LINE_MAX - (int)strlen(head) - 1;

    (void)state;
    memset(message, 'm', sizeof(message));
    logsink_write(&sink, LOGSINK_LEVEL_INFO, "area", "%.*s", n, message);
    assert_int_equal(c.n, LOGSINK_LINE_MAX);
    assert_null(strstr(c.line, "..."));
    logsink_write(&sink, LOGSINK_LEVEL_INFO, "area", "%.*s", n + 1, message);
    assert_int_equal(c.n, LOGSINK_LINE_MAX);
    assert_non_null(strstr(c.line, "m" LOGSINK_CUT_MARK "\n"));
}

static void endless_area_leaves_room_for_the_message(void **state)
{
    char area[1000];
    Capture c;
    LogSink sink = make_sink(LOGSINK_FORMAT_JSON, &c);

    (void)state;
    memset(area, 'x', sizeof(area) - 1);
    area[sizeof(area) - 1] = '\0';
    logsink_write(&sink, LOGSINK_LEVEL_INFO, area, "hello");
    assert_non_null(strstr(c.line, "x" LOGSINK_CUT_MARK "\",\"message\":\"hello\"}\n"));
}

static void records_above_the_level_are_dropped(void **state)
{
    (void)state;
    for (int level = LOGSINK_LEVEL_ERROR; level <= LOGSINK_LEVEL_DEBUG; level++) {
        for (int record = LOGSINK_LEVEL_ERROR; record <= LOGSINK_LEVEL_DEBUG; record++) {
            Capture c;
            LogSink sink = make_sink(LOGSINK_FORMAT_TEXT, &c);

            sink.level = (LogSinkLevel)level;
            logsink_write(&sink, (LogSinkLevel)record, "a", "m");
            assert_int_equal(c.n_writes, record <= level);
            assert_int_equal(logsink_is_on(&sink, (LogSinkLevel)record), record <= level);
        }
    }
}

static void null_sink_is_silent(void **state)
{
    (void)state;
    logsink_write(NULL, LOGSINK_LEVEL_ERROR, "a", "m");
    assert_false(logsink_is_on(NULL, LOGSINK_LEVEL_ERROR));
}

static void writing_keeps_errno_and_allocates_nothing(void **state)
{
    Capture c;
    LogSink sink = make_sink(LOGSINK_FORMAT_TEXT, &c);

    (void)state;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    errno = ENOENT;
    logsink_write(&sink, LOGSINK_LEVEL_ERROR, "a", "%s", strerror(errno));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(c.n_writes, 1);
    assert_int_equal(alloc_testing()->n_calls, 0);
}

static void without_a_clock_the_wall_clock_is_used(void **state)
{
    Capture c;
    LogSink sink = make_sink(LOGSINK_FORMAT_TEXT, &c);

    (void)state;
    sink.now_fn = NULL;
    logsink_write(&sink, LOGSINK_LEVEL_ERROR, "a", "m");
    assert_int_equal(strncmp(c.line, "20", 2), 0);
    assert_string_equal(c.line + strlen(TIME), " error a: m\n");
}

static void stderr_gets_the_line_in_one_piece(void **state)
{
    LogSink sink = LOGSINK_STDERR;
    int saved = dup(STDERR_FILENO);
    char out[LOGSINK_LINE_MAX];
    int fds[2];
    ssize_t n;

    (void)state;
    sink.now_fn = fixed_now;
    assert_int_equal(pipe(fds), 0);
    assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
    logsink_write(&sink, LOGSINK_LEVEL_WARN, "a", "hello");
    logsink_write(&sink, LOGSINK_LEVEL_INFO, "a", "not at this level");
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    (void)close(fds[1]);
    n = read(fds[0], out, sizeof(out) - 1);
    (void)close(fds[0]);
    assert_true(n >= 0);
    out[n] = '\0';
    assert_string_equal(out, TIME " warn  a: hello\n");
}

static void names_of_levels_and_formats_are_exact(void **state)
{
    LogSinkLevel level = LOGSINK_LEVEL_DEBUG;
    LogSinkFormat format = LOGSINK_FORMAT_TEXT;

    (void)state;
    assert_true(logsink_parse_level(SPAN("error"), &level));
    assert_int_equal(level, LOGSINK_LEVEL_ERROR);
    assert_true(logsink_parse_level(SPAN("warn"), &level));
    assert_int_equal(level, LOGSINK_LEVEL_WARN);
    assert_true(logsink_parse_level(SPAN("info"), &level));
    assert_int_equal(level, LOGSINK_LEVEL_INFO);
    assert_true(logsink_parse_level(SPAN("debug"), &level));
    assert_int_equal(level, LOGSINK_LEVEL_DEBUG);
    assert_false(logsink_parse_level(SPAN("Warn"), &level));
    assert_false(logsink_parse_level(SPAN(""), &level));
    assert_int_equal(level, LOGSINK_LEVEL_DEBUG);
    assert_true(logsink_parse_format(SPAN("json"), &format));
    assert_int_equal(format, LOGSINK_FORMAT_JSON);
    assert_true(logsink_parse_format(SPAN("text"), &format));
    assert_int_equal(format, LOGSINK_FORMAT_TEXT);
    assert_false(logsink_parse_format(SPAN("xml"), &format));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_are_aligned),
        cmocka_unit_test(json_lines_are_objects),
        cmocka_unit_test(record_stays_one_line_whatever_it_quotes),
        cmocka_unit_test(controls_are_shown_as_escapes),
        cmocka_unit_test(invalid_bytes_become_replacement_characters),
        cmocka_unit_test(long_message_is_cut_visibly_between_characters),
        cmocka_unit_test(message_that_just_fits_is_not_cut),
        cmocka_unit_test(endless_area_leaves_room_for_the_message),
        cmocka_unit_test(records_above_the_level_are_dropped),
        cmocka_unit_test(null_sink_is_silent),
        cmocka_unit_test(writing_keeps_errno_and_allocates_nothing),
        cmocka_unit_test(without_a_clock_the_wall_clock_is_used),
        cmocka_unit_test(stderr_gets_the_line_in_one_piece),
        cmocka_unit_test(names_of_levels_and_formats_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
