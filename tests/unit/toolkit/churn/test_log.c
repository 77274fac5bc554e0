/* Records must be the same whole, byte by byte and cut anywhere. */
#include "toolkit/churn/log.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

#define ID                 "0123456789abcdef0123456789abcdef01234567"
#define B1                 "1111111111111111111111111111111111111111"
#define B2                 "2222222222222222222222222222222222222222"
#define RAW(modes, status) ":" modes " " B1 " " B2 " " status "\0"
#define HEAD                                                                                       \
    "\x01" ID "\x02"                                                                               \
    "100\x02"                                                                                      \
    "200\x02"

typedef struct Case {
    const char *name;
    ChurnLogForm form;
    Span input;
    const char *expected;
} Case;

static void show(Bytes *out, Span text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char byte = (unsigned char)text.p[i];

        assert_int_equal(byte < 0x20 || byte > 0x7E ? bytes_append_format(out, "\\%02x", byte)
                                                    : bytes_append_byte(out, (char)byte),
                         0);
    }
}

static void note(Bytes *out, const ChurnLogEvent *event)
{
    switch (event->kind) {
    case CHURN_LOG_COMMIT:
        assert_int_equal(
            bytes_append_format(out, "C(%.4s %lld %lld%s ", event->id.p, (long long)event->author_s,
                                (long long)event->committer_s, event->is_cut ? " cut" : ""),
            0);
        show(out, event->author);
        break;
    case CHURN_LOG_RAW:
        assert_int_equal(bytes_append_format(out, "R(%c%s %zu ", event->status,
                                             event->is_submodule ? " sub" : "", event->blobs.n),
                         0);
        break;
    case CHURN_LOG_LINES:
        assert_int_equal(bytes_append_format(
                             out, "L(%llu %llu%s ", (unsigned long long)event->added,
                             (unsigned long long)event->deleted, event->is_binary ? " binary" : ""),
                         0);
        break;
    case CHURN_LOG_NAME:
        assert_int_equal(bytes_append_format(out, "N("), 0);
        break;
    }
    if (event->old.p != NULL) {
        show(out, event->old);
        assert_int_equal(bytes_append_format(out, " -> "), 0);
    }
    show(out, event->path);
    assert_int_equal(bytes_append_byte(out, ')'), 0);
}

/* True: go on. */
static bool drain(ChurnLog *log, Bytes *out)
{
    for (;;) {
        ChurnLogEvent event;
        Diag diag = DIAG_NULL;
        int r = churn_log_next(log, &event, &diag);

        if (r == CHURN_LOG_E_AGAIN) {
            return true;
        }
        if (r == CHURN_LOG_E_FORMAT) {
            assert_int_equal(bytes_append_format(out, "WRONG at %zu", diag.offset), 0);
            return false;
        }
        assert_int_equal(r, 0);
        note(out, &event);
    }
}

static void check(const Case *c, const size_t *cuts, size_t n_cuts)
{
    ChurnLog log;
    Bytes out;
    bool goes_on = true;

    bytes_init(&out, 65536);
    churn_log_init(&log, c->form);
    for (size_t i = 0; i + 1 < n_cuts && goes_on; i++) {
        GuardBuffer piece = guard_copy(c->input.p + cuts[i], cuts[i + 1] - cuts[i]);

        assert_int_equal(churn_log_feed(&log, piece.p, piece.n), 0);
        goes_on = drain(&log, &out);
        guard_free(&piece);
    }
    if (goes_on) {
        int r = churn_log_finish(&log, NULL);

        assert_int_equal(bytes_append_format(&out, r == 0 ? "END" : "CUT"), 0);
    }
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    if (strcmp(out.data, c->expected) != 0) {
        fail_msg("%s: %s", c->name, out.data);
    }
    bytes_deinit(&out);
    churn_log_deinit(&log);
}

static void check_all_ways(const Case *c)
{
    size_t *cuts = calloc(c->input.n + 2, sizeof(*cuts));

    assert_non_null(cuts);
    for (size_t i = 0; i <= c->input.n; i++) {
        cuts[i] = i;
    }
    check(c, cuts, c->input.n + 1);
    for (size_t a = 0; a <= c->input.n; a++) {
        size_t two[] = {0, a, a + (c->input.n - a) / 2, c->input.n};

        check(c, two, 4);
    }
    free(cuts);
}

static const Case cases[] = {
    {"nothing", CHURN_LOG_PLAIN, SPAN_INIT(""), "END"},
    {"a commit without changes", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "Ann\0"),
     "C(0123 100 200 Ann)END"},
    {"a name may be empty", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "\0"), "C(0123 100 200 )END"},
    {"a name cannot pretend to be a record", CHURN_LOG_PLAIN,
     SPAN_INIT(HEAD "\x01" ID "\x02"
                    "7\x02"
                    "7\x02x\n:\0"
                    "\n1\t2\ta\0"),
     "C(0123 100 200 \\01" ID "\\027\\027\\02x\\0a:)L(1 2 a)END"},
    {"times may be missing", CHURN_LOG_PLAIN,
     SPAN_INIT("\x01" ID "\x02\x02"
               "200\x02"
               "A\0\x01" ID "\x02"
               "100\x02\x02"
               "B\0\x01" ID "\x02\x02\x02"
               "C\0"),
     "C(0123 200 200 A)C(0123 100 100 B)C(0123 0 0 C)END"},
    {"times before 1970 and after all", CHURN_LOG_PLAIN,
     SPAN_INIT("\x01" ID "\x02-5\x02"
               "99999999999999999999999\x02"
               "A\0"),
     "C(0123 -5 9223372036854775807 A)END"},
    {"changes and lines", CHURN_LOG_PLAIN,
     SPAN_INIT(HEAD "Ann\0\n" RAW("000000 100644", "A") "x\0" RAW("100644 100644",
                                                                  "M") "y\0"
                                                                       "1\t0\tx\0"
                                                                       "23\t45\ty\0" HEAD "Bob\0"),
     "C(0123 100 200 Ann)R(A 96 x)R(M 96 y)L(1 0 x)L(23 45 y)C(0123 100 200 Bob)END"},
    {"renames and copies", CHURN_LOG_PLAIN,
     SPAN_INIT(HEAD "Ann\0\n" RAW("100644 100644", "R087") "a\0b\0" RAW("100644 100644",
                                                                        "C100") "c\0d\0"
                                                                                "1\t0\t\0a\0b\0"
                                                                                "0\t0\t\0c\0d\0"),
     "C(0123 100 200 Ann)R(R 96 a -> b)R(C 96 c -> d)L(1 0 a -> b)L(0 0 c -> d)END"},
    {"binary", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "Ann\0\n-\t-\tp.png\0-\t-\t\0a\0b\0"),
     "C(0123 100 200 Ann)L(0 0 binary p.png)L(0 0 binary a -> b)END"},
    {"submodules", CHURN_LOG_PLAIN,
     SPAN_INIT(HEAD "Ann\0\n" RAW("160000 160000", "M") "s\0" RAW("100644 160000", "T") "t\0" RAW(
         "160000 000000", "D") "u\0" RAW("120000 100644", "T") "v\0"),
     "C(0123 100 200 Ann)R(M sub 96 s)R(T sub 96 t)R(D sub 96 u)R(T 96 v)END"},
    {"names of all kinds", CHURN_LOG_PLAIN,
     SPAN_INIT(HEAD "Ann\0\n" RAW("100644 100644", "M") "\x01" ID "\x02"
                                                        "1\x02"
                                                        "1\x02x\0"
                                                        "1\t2\t\n:\t\"=>\"\xff\0"),
     "C(0123 100 200 Ann)R(M 96 \\01" ID "\\021\\021\\02x)L(1 2 \\0a:\\09\"=>\"\\ff)END"},
    {"SHA-256", CHURN_LOG_PLAIN,
     SPAN_INIT("\x01" ID "890123456789012345678901\x02"
               "1\x02"
               "2\x02"
               "A\0"),
     "C(0123 1 2 A)END"},
    {"decorations", CHURN_LOG_DECORATED,
     SPAN_INIT(HEAD "\x02"
                    "A\0" HEAD "HEAD\x02"
                    "grafted\0" HEAD "grafted, HEAD\x02"
                    "B\0"),
     "C(0123 100 200 A)C(0123 100 200 grafted)C(0123 100 200 cut B)END"},
    {"names of a tree", CHURN_LOG_NAMES, SPAN_INIT("a\0b\n\0\x01\0"), "N(a)N(b\\0a)N(\\01)END"},
    {"an empty name in a tree", CHURN_LOG_NAMES, SPAN_INIT("a\0\0"), "N(a)WRONG at 2"},
    {"no header", CHURN_LOG_PLAIN, SPAN_INIT("1\t2\tx\0"), "WRONG at 0"},
    {"an error message", CHURN_LOG_PLAIN, SPAN_INIT("fatal: bad object HEAD\n"), "WRONG at 0"},
    {"a short id", CHURN_LOG_PLAIN,
     SPAN_INIT("\x01"
               "abc\x02"),
     "WRONG at 0"},
    {"an id of 50 digits", CHURN_LOG_PLAIN, SPAN_INIT("\x01" ID "0123456789\x02"), "WRONG at 0"},
    {"an empty path", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A\0\n" RAW("100644 100644", "M") "\0"),
     "C(0123 100 200 A)WRONG at 52"},
    {"no status", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A\0\n" RAW("100644 100644", "") "x\0"),
     "C(0123 100 200 A)WRONG at 52"},
    {"numbers that are none", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A\0\n1\tx\ty\0"),
     "C(0123 100 200 A)WRONG at 52"},
    {"a second newline", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A\0\n\n1\t1\ty\0"),
     "C(0123 100 200 A)WRONG at 52"},
    {"a newline before a later record", CHURN_LOG_PLAIN,
     SPAN_INIT(HEAD "A\0\n1\t1\tx\0\n1\t1\ty\0"), "C(0123 100 200 A)L(1 1 x)WRONG at 59"},
    {"cut off in a header", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A"), "CUT"},
    {"cut off in a record", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A\0\n1\t2\tx"),
     "C(0123 100 200 A)CUT"},
    {"cut off behind the newline", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A\0\n"),
     "C(0123 100 200 A)CUT"},
    {"a rename without its second name", CHURN_LOG_PLAIN, SPAN_INIT(HEAD "A\0\n1\t2\t\0x\0"),
     "C(0123 100 200 A)CUT"},
};

static void records_are_the_same_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        check_all_ways(&cases[i]);
    }
}

static int feed_long(size_t n, size_t piece)
{
    char *text = malloc(n + sizeof(HEAD));
    ChurnLogEvent event;
    ChurnLog log;
    int r = 0;

    assert_non_null(text);
    memcpy(text, HEAD, sizeof(HEAD) - 1);
    memset(text + sizeof(HEAD) - 1, 'x', n - sizeof(HEAD));
    text[n - 1] = '\0';
    churn_log_init(&log, CHURN_LOG_PLAIN);
    for (size_t at = 0; at < n && r == 0; at += piece) {
        assert_int_equal(churn_log_feed(&log, text + at, n - at < piece ? n - at : piece), 0);
        r = churn_log_next(&log, &event, NULL);
        r = r == CHURN_LOG_E_AGAIN ? 0 : r;
    }
    churn_log_deinit(&log);
    free(text);
    return r;
}

static void a_record_has_a_bound_however_it_is_cut(void **state)
{
    size_t max = (size_t)4 * 1024 * 1024;

    (void)state;
    assert_int_equal(feed_long(max, max), 0);
    assert_int_equal(feed_long(max, 65536), 0);
    assert_int_equal(feed_long(max + 1, max + 1), CHURN_LOG_E_FORMAT);
    assert_int_equal(feed_long(max + 1, 65536), CHURN_LOG_E_FORMAT);
}

static int cut_record(void *context)
{
    ChurnLogEvent event;
    ChurnLog log;
    int r;

    (void)context;
    churn_log_init(&log, CHURN_LOG_PLAIN);
    r = churn_log_feed(&log, HEAD, sizeof(HEAD) - 1);
    if (r == 0) {
        r = churn_log_next(&log, &event, NULL);
        assert_true(r < 0 || r == CHURN_LOG_E_AGAIN);
    }
    if (r == CHURN_LOG_E_AGAIN) {
        r = churn_log_feed(&log, "Somebody with a name\0", 21);
    }
    if (r == 0) {
        r = churn_log_next(&log, &event, NULL);
    }
    churn_log_deinit(&log);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(cut_record, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_the_same_however_they_are_cut),
        cmocka_unit_test(a_record_has_a_bound_however_it_is_cut),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
