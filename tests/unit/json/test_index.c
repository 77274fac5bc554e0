/* Every engine must give the same outcome, the same words at the same place and the same nodes,
 * wherever a byte falls in its blocks of 8, 16, 32 or 64. Texts end at an unreadable page; beside
 * it, each is read once more with bytes behind it that would change its meaning if they were looked
 * at.
 */
#include "json/index.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/files.h"
#include "support/guard.h"

#include "parsed.h"

/* Longer than any text built here. */
#define ROOM 4096

static const JsonEngine engines[] = {JSON_ENGINE_PORTABLE, JSON_ENGINE_SSE2, JSON_ENGINE_AVX2,
                                     JSON_ENGINE_AUTO};

static GuardBuffer guard;
static Arena arena;

static int set_up(void **state)
{
    char *zeros = calloc(1, ROOM);

    (void)state;
    guard = guard_copy(zeros, ROOM);
    free(zeros);
    arena_init(&arena, (size_t)1 << 28);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    guard_free(&guard);
    arena_deinit(&arena);
    return 0;
}

typedef struct Outcome {
    int r;
    JsonDoc doc;
    Diag diag;
} Outcome;

static Outcome outcome_of(const char *p, size_t n, JsonEngine engine)
{
    Outcome o = {.doc = JSON_DOC_NULL, .diag = DIAG_NULL};

    o.r = json_parse(&o.doc, &arena, p, n, &(JsonLimits){.engine = engine}, &o.diag);
    return o;
}

static void require_same(const Outcome *a, const Outcome *b, Span text, JsonEngine engine)
{
    bool same = a->r == b->r && a->diag.offset == b->diag.offset && a->diag.line == b->diag.line &&
                a->diag.column == b->diag.column && strcmp(a->diag.message, b->diag.message) == 0 &&
                a->doc.n_nodes == b->doc.n_nodes &&
                (a->doc.n_nodes == 0 ||
                 memcmp(a->doc.nodes, b->doc.nodes, a->doc.n_nodes * sizeof(JsonNode)) == 0);

    if (!same) {
        fail_msg("engine %d differs: %d/%d, at %zu/%zu, '%s'/'%s', %u/%u nodes, %zu bytes: %.*s",
                 (int)engine, a->r, b->r, a->diag.offset, b->diag.offset, a->diag.message,
                 b->diag.message, a->doc.n_nodes, b->doc.n_nodes, text.n,
                 (int)(text.n < 300 ? text.n : 300), text.p);
    }
}

/* Bytes that would close, continue or spoil whatever comes before them. */
static const char behind[] = "\"]}10e5:,\\\"\"]]}}";

/* Runs all engines on the text, at the page edge and with other bytes behind it. Returns the
 * outcome. */
static int check_engines(Span text)
{
    static char open[ROOM + 64];
    char *p = guard.p + guard.n - text.n;
    Outcome first;

    assert_true(text.n <= ROOM);
    if (text.n > 0) {
        memcpy(p, text.p, text.n);
        memcpy(open, text.p, text.n);
    }
    memcpy(open + text.n, behind + text.n % 8, sizeof(behind) - 8);
    first = outcome_of(p, text.n, JSON_ENGINE_PORTABLE);
    for (size_t i = 0; i < TW_ARRAY_SIZE(engines); i++) {
        Outcome at_edge = outcome_of(p, text.n, engines[i]);
        Outcome inside = outcome_of(open, text.n, engines[i]);

        require_same(&first, &at_edge, text, engines[i]);
        require_same(&first, &inside, text, engines[i]);
    }
    arena_reset(&arena, (size_t)1 << 20);
    return first.r;
}

static void require_outcome(Span text, bool valid)
{
    int r = check_engines(text);

    if ((r == 0) != valid) {
        fail_msg("outcome %d, should be %s: %.*s", r, valid ? "valid" : "an error", (int)text.n,
                 text.p);
    }
}

/* Between them these take every branch of the reader; some end in a bracket, some do not. */
static const char *const samples[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call\",\"p\":{\"name\":\"x\",\"a\":[1,2.5]}}",
    "[{\"id\":1,\"name\":\"ab\"},{\"id\":22,\"name\":\"cd\"},{\"id\":333,\"named\":\"e\"}]",
    "[true,false,null,-0,0.5,1e5,-12.75E-10,1234567890123456789,0.1234567890123456]",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00 plain \\u0000\"",
    "[\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 text\",\"0123456789abcdef0123456789abcdef\"]",
    "  [ 1 ,\n\t{ \"a\" : [ ] , \"b\" : { } } ,\r\n   \"c\"                    ]   ",
    "-123.456e+78",
    "{\"a-key-of-sixteen\":{\"a-key-longer-than-sixteen-bytes\":[[[]]]}}",
    "[[[[1]],[[]]],{\"\":{\"\":{}}}]",
    "  true  ",
    "\"short\"",
    "[12345678901234567890.123,1.5,2,33,444,5555,66666,777777,8888888,99999999]",
};

static void engines_agree_on_every_sample(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(samples); i++) {
        require_outcome(span_from_str(samples[i]), true);
    }
}

static void engines_agree_on_every_truncation(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(samples); i++) {
        Span text = span_from_str(samples[i]);

        for (size_t n = 0; n < text.n; n++) {
            (void)check_engines(span_make(text.p, n));
            /* The tail, too: it begins in the middle of something. */
            (void)check_engines(span_make(text.p + n, text.n - n));
        }
    }
}

static void engines_agree_on_every_single_byte_mutation(void **state)
{
    char text[256];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(samples); i++) {
        size_t n = strlen(samples[i]);

        memcpy(text, samples[i], n);
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                text[at] = (char)c;
                (void)check_engines(span_make(text, n));
            }
            text[at] = samples[i][at];
        }
    }
}

static void engines_agree_on_every_deletion_and_doubling(void **state)
{
    char text[256];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(samples); i++) {
        size_t n = strlen(samples[i]);

        for (size_t at = 0; at < n; at++) {
            memcpy(text, samples[i], at);
            memcpy(text + at, samples[i] + at + 1, n - at - 1);
            (void)check_engines(span_make(text, n - 1));
            memcpy(text, samples[i], at + 1);
            memcpy(text + at + 1, samples[i] + at, n - at);
            (void)check_engines(span_make(text, n + 1));
        }
    }
}

typedef struct Piece {
    Span text;
    bool valid;
} Piece;

#define GOOD(text)                                                                                 \
    {                                                                                              \
        SPAN_INIT(text), true                                                                      \
    }
#define WRONG(text)                                                                                \
    {                                                                                              \
        SPAN_INIT(text), false                                                                     \
    }

/* Puts before, k times fill, piece, m times fill, after together; returns the length. */
static size_t build(char *out, const char *before, char fill, size_t k, Span piece, size_t m,
                    const char *after)
{
    size_t n = 0;
    size_t n_before = strlen(before);
    size_t n_after = strlen(after);

    memcpy(out, before, n_before);
    n += n_before;
    memset(out + n, fill, k);
    n += k;
    memcpy(out + n, piece.p, piece.n);
    n += piece.n;
    memset(out + n, fill, m);
    n += m;
    memcpy(out + n, after, n_after);
    return n + n_after;
}

static const size_t paddings[] = {0,  1,  7,  8,  14, 15, 16, 17, 18,
                                  30, 31, 32, 33, 48, 63, 64, 65, 130};

/* A string that has begun long ago, and had an escape: from there on blocks are of 64. */
#define TEXT_16 "abcdefghijklmnop"
#define TEXT_64 TEXT_16 TEXT_16 TEXT_16 TEXT_16
#define LONG    TEXT_64 "\\n"

/* So many backslashes. */
#define SLASHES_8  "\\\\\\\\\\\\\\\\"
#define SLASHES_64 SLASHES_8 SLASHES_8 SLASHES_8 SLASHES_8 SLASHES_8 SLASHES_8 SLASHES_8 SLASHES_8

/* The piece between the given surroundings, at each distance from both ends that block sizes care
 * for. */
static void check_everywhere(const char *before, char fill, const Piece *piece, const char *after)
{
    char text[512];

    for (size_t k = 0; k <= 70; k++) {
        for (size_t m = 0; m < TW_ARRAY_SIZE(paddings); m++) {
            size_t n = build(text, before, fill, k, piece->text, paddings[m], after);

            require_outcome(span_make(text, n), piece->valid);
        }
    }
}

static void string_contents_are_found_at_every_place_of_a_block(void **state)
{
    static const Piece pieces[] = {
        GOOD(""),
        GOOD("\\n"),
        GOOD("\\\\"),
        GOOD("\\\""),
        GOOD("\\u00e9"),
        GOOD("\\ud83d\\ude00"),
        GOOD("\xC3\xA9"),
        GOOD("\xE2\x82\xAC"),
        GOOD("\xF0\x9F\x98\x80"),
        GOOD("\x7F"),
        GOOD("]"),
        GOOD("}"),
        WRONG("\x01"),
        WRONG("\n"),
        WRONG("\x1F"),
        WRONG("\0"),
        WRONG("\x80"),
        WRONG("\xC3"),
        WRONG("\xE2\x82"),
        WRONG("\xF0\x9F\x98"),
        WRONG("\xFF"),
        WRONG("\\x"),
        WRONG("\\u12g"),
        GOOD("\\ud83d"),
        GOOD("\\ude00"),
        GOOD("\\ud83d\\ud83d"),
        GOOD("\\ud83d\\n"),
        WRONG("\\ud83d\\u12g"),
        WRONG("\xED\xA0\x80"),
        WRONG("\xC0\x80"),
        WRONG("\""),
        GOOD("\\n\\t\\/\\\"\\b"),
        GOOD(SLASHES_64),
        GOOD(SLASHES_64 SLASHES_8 "\\\""),
        WRONG(SLASHES_64 "\""),
        WRONG(SLASHES_64 "\\x"),
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(pieces); i++) {
        check_everywhere("\"", 'a', &pieces[i], "\"");
        check_everywhere("[\"", 'a', &pieces[i], "\"]");
        check_everywhere("{\"", 'a', &pieces[i], "\":1}");
        check_everywhere("{\"k\":\"", 'a', &pieces[i], "\" }");
        check_everywhere("[\"" LONG, 'a', &pieces[i], "\"]");
    }
}

static void unfinished_strings_are_found_at_every_place_of_a_block(void **state)
{
    static const Piece pieces[] = {WRONG(""),         WRONG("\\"),      WRONG("\\\\"),
                                   WRONG("\\u00"),    WRONG("\\ud83d"), WRONG("\xC3"),
                                   WRONG("\xE2\x82"), WRONG("]"),       WRONG("}")};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(pieces); i++) {
        check_everywhere("\"", 'a', &pieces[i], "");
        check_everywhere("[\"", 'a', &pieces[i], "]");
        check_everywhere("{\"", 'a', &pieces[i], "}");
        check_everywhere("[\"" LONG, 'a', &pieces[i], "]");
    }
}

static void white_space_ends_at_every_place_of_a_block(void **state)
{
    static const Piece pieces[] = {
        GOOD("1"),    GOOD("\"a\""), GOOD("[]"),  GOOD("{ }"),   GOOD("\n1\n"), GOOD("\t\r 1"),
        WRONG("\f1"), WRONG("\v1"),  WRONG("\0"), WRONG("\xA0"), WRONG("1 1"),  WRONG(","),
    };
    static const char fills[] = {' ', '\n', '\t', '\r'};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(pieces); i++) {
        for (size_t f = 0; f < sizeof(fills); f++) {
            check_everywhere("", fills[f], &pieces[i], "");
            check_everywhere("[", fills[f], &pieces[i], "]");
            check_everywhere("{\"a\":", fills[f], &pieces[i], "}");
        }
    }
}

static void numbers_of_every_length_are_read_alike(void **state)
{
    static const char *const signs[] = {"", "-"};
    static const char *const exponents[] = {"", "e1", "E+10", "e-123", "e", "e+", "."};
    static const char *const afters[] = {"]", " ]", ",2]", ",\"0123456789abcdef0123456789\"]",
                                         "                                  ]"};
    char number[64];
    char text[256];

    (void)state;
    for (size_t n_whole = 1; n_whole <= 24; n_whole++) {
        /* 0: no fraction; k: a point and k - 1 digits. */
        for (size_t fraction = 0; fraction <= 24; fraction++) {
            for (size_t e = 0; e < TW_ARRAY_SIZE(exponents) * 2; e++) {
                const char *exponent = exponents[e / 2];
                bool valid = fraction != 1 && strcmp(exponent, "e") != 0 &&
                             strcmp(exponent, "e+") != 0 && strcmp(exponent, ".") != 0;
                size_t n = (size_t)snprintf(
                    number, sizeof(number), "%s%.*s%s%.*s%s", signs[e % 2], (int)n_whole,
                    "123456789012345678901234", fraction > 0 ? "." : "",
                    fraction > 0 ? (int)fraction - 1 : 0, "098765432109876543210987", exponent);

                require_outcome(span_make(number, n), valid);
                for (size_t a = 0; a < TW_ARRAY_SIZE(afters); a++) {
                    n = (size_t)snprintf(text, sizeof(text), "[%s%s", number, afters[a]);
                    require_outcome(span_make(text, n), valid);
                }
            }
        }
    }
}

static void numbers_with_leading_zeros_are_refused_by_all(void **state)
{
    static const struct {
        const char *number;
        bool valid;
    } cases[] = {{"0", true},
                 {"-0", true},
                 {"0.0", true},
                 {"0e0", true},
                 {"0E-1", true},
                 {"00", false},
                 {"-00", false},
                 {"01", false},
                 {"-01.5", false},
                 {"0.", false},
                 {"0.e1", false},
                 {"-", false},
                 {"000000000000000000000", false},
                 {"0x1", false},
                 {"1a", false},
                 {"1.5.5", false},
                 {"1e5e5", false},
                 {"1-1", false},
                 {"--1", false}};
    char text[256];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        size_t n = (size_t)snprintf(text, sizeof(text), "[%s]", cases[i].number);

        require_outcome(span_make(text, n), cases[i].valid);
        n = (size_t)snprintf(text, sizeof(text), "[%s,123456789012345678901234567890]",
                             cases[i].number);
        require_outcome(span_make(text, n), cases[i].valid);
        require_outcome(span_from_str(cases[i].number), cases[i].valid);
    }
}

/* The key reader guesses a key's length from the sibling before; right or wrong, nothing may depend
 * on it. */
static void sibling_keys_of_any_lengths_are_read_alike(void **state)
{
    char text[512];
    const char *as = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    (void)state;
    for (int a = 0; a <= 20; a++) {
        for (int b = 0; b <= 20; b++) {
            int n = snprintf(text, sizeof(text),
                             "[{\"%.*s\":1,\"%.*s\":[{\"x\":2}]},{\"%.*s\":3,\"%.*s\":[{\"y\":4}]},"
                             "{\"%.*s\\n\":5,\"%.*s\xC3\xA9\":{\"%.*s\":6}}]",
                             a, as, b, as, b, as, a, as, a, as, b, as, a, as);

            require_outcome(span_make(text, (size_t)n), true);
        }
    }
}

static void nesting_of_mixed_containers_is_read_alike(void **state)
{
    uint64_t random = 7;
    char text[ROOM];

    (void)state;
    for (int round = 0; round < 3000; round++) {
        char closers[64];
        size_t depth = 0;
        size_t n = 0;
        bool fresh = true;

        do {
            uint64_t dice = next_random(&random) % 8;
            bool in_object = depth > 0 && closers[depth - 1] == '}';

            if (dice < 2 && depth > 1) {
                text[n++] = closers[--depth];
                fresh = false;
                continue;
            }
            if (!fresh) {
                text[n++] = ',';
            }
            if (in_object) {
                memcpy(text + n, "\"key\":", 6);
                n += 6;
            }
            if (dice < 5 && depth < 40) {
                text[n++] = dice % 2 == 0 ? '[' : '{';
                closers[depth++] = dice % 2 == 0 ? ']' : '}';
                fresh = true;
            } else {
                text[n++] = '7';
                fresh = false;
            }
        } while (n < 200 && depth > 0);
        if (depth == 0) {
            require_outcome(span_make(text, n), true);
            continue;
        }
        /* Left open: an error that ends in a bracket as often as not. */
        require_outcome(span_make(text, n), false);
        while (depth > 0) {
            /* "[," never stands there, but a comma may. */
            text[n++] = closers[--depth];
        }
        require_outcome(span_make(text, n), true);
        text[n - 1] = text[n - 1] == ']' ? '}' : ']';
        require_outcome(span_make(text, n), false);
    }
}

static void an_engine_that_is_not_there_is_replaced(void **state)
{
    (void)state;
    assert_true(json_engine_available(JSON_ENGINE_AUTO));
    assert_true(json_engine_available(JSON_ENGINE_PORTABLE));
    for (size_t i = 0; i < TW_ARRAY_SIZE(engines); i++) {
        assert_int_equal(outcome_of("[1]", 3, engines[i]).r, 0);
        if (!json_engine_available(engines[i])) {
            print_message("engine %d: not on this machine\n", (int)engines[i]);
        }
    }
}

static void engines_agree_on_every_text_of_the_parsing_suite(void **state)
{
    const char *folder = TW_SHARED_DATA "/json-parsing-test-suite/test_parsing";
    struct stat st;
    char **names;
    size_t n_names;

    (void)state;
    if (stat(folder, &st) != 0) {
        skip();
    }
    names = files_list(folder, ".json", &n_names);
    assert_true(n_names > 0);
    for (size_t i = 0; i < n_names; i++) {
        char path[4096];
        size_t n;
        char *text;

        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        text = files_read(path, &n);
        if (n <= ROOM) {
            (void)check_engines(span_make(text, n));
        } else {
            Outcome first = outcome_of(text, n, JSON_ENGINE_PORTABLE);

            for (size_t e = 0; e < TW_ARRAY_SIZE(engines); e++) {
                Outcome o = outcome_of(text, n, engines[e]);

                require_same(&first, &o, span_make(text, n), engines[e]);
            }
        }
        free(text);
    }
    files_list_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_agree_on_every_sample),
        cmocka_unit_test(engines_agree_on_every_truncation),
        cmocka_unit_test(engines_agree_on_every_single_byte_mutation),
        cmocka_unit_test(engines_agree_on_every_deletion_and_doubling),
        cmocka_unit_test(string_contents_are_found_at_every_place_of_a_block),
        cmocka_unit_test(unfinished_strings_are_found_at_every_place_of_a_block),
        cmocka_unit_test(white_space_ends_at_every_place_of_a_block),
        cmocka_unit_test(numbers_of_every_length_are_read_alike),
        cmocka_unit_test(numbers_with_leading_zeros_are_refused_by_all),
        cmocka_unit_test(sibling_keys_of_any_lengths_are_read_alike),
        cmocka_unit_test(nesting_of_mixed_containers_is_read_alike),
        cmocka_unit_test(an_engine_that_is_not_there_is_replaced),
        cmocka_unit_test(engines_agree_on_every_text_of_the_parsing_suite),
    };

    return cmocka_run_group_tests_name("json.index", tests, set_up, tear_down);
}
