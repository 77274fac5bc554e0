/* The tokens in this file were computed apart from this code, by Node:
 *
 *     const low = s => [...s].map(c => {
 *         const l = c.toLowerCase(); return [...l].length === 1 ? l : c; }).join('');
 *     const fold = s => low(s.trim().normalize('NFKC'));
 *     'ctx-' + crypto.createHash('sha256').update(['ctx.v1', fold(guid), fold(path), viewId,
 *         revision, ids.join(',')].join('|'), 'utf8').digest('hex').slice(0, 32)
 *
 * Letter by letter, since the documented system lower-cases with ToLowerInvariant: one letter for
 * one, whatever stands beside it, and a capital I with a dot stays, while toLowerCase of a whole
 * text makes two letters of that one, and a final sigma at the end of a word. */
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "router/safety/fold.h"
#include "router/safety/safety.h"
#include "router/safety/token.h"
#include "support/oom_sweep.h"

static const struct {
    const char *name;
    const char *guid;
    const char *path;
    int64_t view_id;
    uint64_t revision;
    int64_t ids[4];
    size_t n_ids;
    const char *token;
} vectors[] = {
    {"plain", "abc", "c:/x.rvt", 1, 0, {0}, 0, "ctx-c4221ebad242d317dc34f305edd1a0c1"},
    {"upper case",
     "ABC-DEF",
     "C:\134Plans\134House.RVT",
     42,
     7,
     {1, 2, 3},
     3,
     "ctx-5ee55775a9e3485e88004b72e6ef2ce4"},
    {"no guid", "", "/plans/a.rvt", 0, 0, {0}, 0, "ctx-cefa1114e76607700da7d277926dac86"},
    {"no path", "{1C0F-9}", "", 5, 1, {10}, 1, "ctx-b898cdd01abcad1b28969ce9ef18aa1a"},
    {"blanks at both ends",
     " \011 guid \015\012",
     "\302\240\343\200\200path\342\200\211",
     1,
     1,
     {0},
     0,
     "ctx-f0c40a6f5b592ae41fe3fbdeaaeeb422"},
    {"full width",
     "\357\274\241\357\274\242\357\274\243\357\274\221",
     "\357\274\217x\357\274\216\357\274\262\357\274\266\357\274\264",
     1,
     2,
     {0},
     0,
     "ctx-4e3f2b5e12104e3aa6c3026d9eb2eb6c"},
    {"dotless i and I",
     "I\304\261",
     "KIRMIZI",
     1,
     3,
     {0},
     0,
     "ctx-c87154475e6218f8e88cf6af6c2a5f36"},
    {"dotted capital I stays",
     "\304\260STANBUL",
     "/\304\260",
     1,
     4,
     {0},
     0,
     "ctx-d4ad5ccbb5aabd2eff45db32a530a01e"},
    {"I and a combining dot are composed first",
     "I\314\207",
     "i\314\207",
     1,
     4,
     {0},
     0,
     "ctx-627bfe5ad077bd83fbee723ad9d9a22e"},
    {"sharp s, both",
     "stra\303\237e",
     "STRA\341\272\236E",
     1,
     5,
     {0},
     0,
     "ctx-7e0b82946d04e077f0f62e9b7a469ed6"},
    {"sigma at the end is no final sigma",
     "\316\237\316\224\316\237\316\243",
     "/\316\243\316\261\316\243",
     1,
     6,
     {0},
     0,
     "ctx-1bcfdf85b6d7d499f637b61ebd0e8566"},
    {"final sigma that was written stays",
     "\316\277\316\264\317\214\317\202",
     "",
     1,
     6,
     {0},
     0,
     "ctx-76c1e0f744f98202fdf303176d8bc521"},
    {"composed",
     "Cafe\314\201",
     "/\303\211te\314\201",
     1,
     7,
     {0},
     0,
     "ctx-91569b4cf9acad71fc768397ae2889db"},
    {"compatibility",
     "\357\254\201le \342\205\250 \302\275",
     "/\343\216\217\342\221\240",
     1,
     8,
     {0},
     0,
     "ctx-f2646715ee0c9ece4affb0ac477d925d"},
    {"Hangul and kana",
     "\341\204\222\341\205\241\341\206\253",
     "/\357\275\266\357\276\236.rvt",
     1,
     9,
     {0},
     0,
     "ctx-b16c09b117156dc1d45135d59f04f14e"},
    {"Cyrillic, Armenian, Georgian",
     "\320\226\324\261",
     "/\341\202\240\341\262\220",
     1,
     10,
     {0},
     0,
     "ctx-47b58d230e7c6fe8e5693c1be47a30ef"},
    {"beyond 16 bits",
     "\360\220\220\200\360\235\220\200",
     "/\360\237\217\240",
     1,
     11,
     {0},
     0,
     "ctx-460e0b0cd28b54eac3b07e7613a96a99"},
    {"negative ids",
     "g",
     "p",
     -1,
     12,
     {INT64_MIN, -5, 0, INT64_MAX},
     4,
     "ctx-7f0e16dbd3768d3ea7c2c3807658cf85"},
    {"large revision",
     "g",
     "p",
     INT64_MAX,
     UINT64_MAX,
     {1},
     1,
     "ctx-1afa95e7bcace2cec48a7f4e3bd6c4ea"},
    {"bars and commas are not escaped",
     "a|b",
     "c,d",
     1,
     1,
     {0},
     0,
     "ctx-281ba7e0eb558164d86f7683a1297844"},
};

static Span folded(const char *text, Bytes *out)
{
    bytes_init(out, 1 << 20);
    assert_int_equal(safety_fold(span_from_str(text), out), 0);
    return bytes_span(out);
}

static void tokens_are_those_of_the_documented_formula(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(vectors); i++) {
        char token[SAFETY_TOKEN_BYTES];
        Bytes guid;
        Bytes path;
        SafetyTokenParts parts = {.guid = folded(vectors[i].guid, &guid),
                                  .path = folded(vectors[i].path, &path),
                                  .view_id = vectors[i].view_id,
                                  .revision = vectors[i].revision,
                                  .ids = vectors[i].ids,
                                  .n_ids = vectors[i].n_ids};

        assert_int_equal(safety_token(&parts, token), 0);
        if (strcmp(token, vectors[i].token) != 0) {
            fail_msg("%s: %s is not %s", vectors[i].name, token, vectors[i].token);
        }
        bytes_deinit(&guid);
        bytes_deinit(&path);
    }
}

static void the_full_list_of_ids_counts(void **state)
{
    int64_t ids[500];
    char token[SAFETY_TOKEN_BYTES];
    SafetyTokenParts parts = {.guid = SPAN("g"),
                              .path = SPAN("p"),
                              .view_id = 2,
                              .revision = 3,
                              .ids = ids,
                              .n_ids = 500};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(ids); i++) {
        ids[i] = (int64_t)(1000000 - 499 + i);
    }
    assert_int_equal(safety_token(&parts, token), 0);
    assert_string_equal(token, "ctx-56aa80725efda6ed3f2b4a6a87d7c09a");
}

static void a_desk_sorts_the_ids_and_takes_each_once(void **state)
{
    static const int64_t ids[] = {100, 20, 3, 20, 3};
    char token[SAFETY_TOKEN_BYTES];
    SafetyDesk *desk = NULL;

    (void)state;
    assert_int_equal(safety_desk_new(&desk, &(SafetyConfig){.threshold = 0}), 0);
    assert_int_equal(safety_desk_token(desk, token), 0);
    assert_string_equal(token, "ctx-nodoc");
    assert_int_equal(
        safety_desk_show(desk,
                         &(SafetyDocument){.guid = SPAN(" G "), .path = SPAN("P"), .view_id = 1}),
        0);
    assert_int_equal(safety_desk_select(desk, ids, TW_ARRAY_SIZE(ids)), 0);
    assert_int_equal(safety_desk_token(desk, token), 0);
    assert_string_equal(token, "ctx-1817482cc501198515c9d262293901e3");
    desk = safety_desk_free(desk);
}

/* ---- folding ---- */

static void folding_is_that_of_the_invariant_culture(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"ABC", "abc"},
        {" \t\r\n\v\fA \n", "a"},
        {"\302\205A\302\240", "a"},          /* U+0085, U+00A0 */
        {"\343\200\200 \341\232\200A", "a"}, /* U+3000, U+1680 */
        {"\342\200\213A", "\342\200\213a"},  /* a zero-width space is no white space */
        {"a b", "a b"},
        {"\304\260", "\304\260"},                 /* U+0130 stays */
        {"I\314\207", "\304\260"},                /* and I with a combining dot is that */
        {"\304\261", "\304\261"},                 /* dotless i stays, too */
        {"\342\204\252", "k"},                    /* the Kelvin sign */
        {"\341\272\236", "\303\237"},             /* capital sharp s */
        {"\303\237", "\303\237"},                 /* never ss */
        {"\316\221\316\243", "\316\261\317\203"}, /* no final sigma */
        {"\317\202", "\317\202"},
        {"\307\205", "d\305\276"},  /* title case, of which NFKC makes two letters */
        {"\377A", "\357\277\275a"}, /* what is no UTF-8 */
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Bytes out;
        Span text = folded(cases[i][0], &out);

        assert_int_equal(text.n, strlen(cases[i][1]));
        if (text.n > 0) {
            assert_memory_equal(text.p, cases[i][1], text.n);
        }
        bytes_deinit(&out);
    }
}

/* Canonical order is quadratic work: of a very long text only ASCII is folded. */
static void a_text_of_accents_only_does_not_take_long(void **state)
{
    static char text[2 * LIMIT_SAFETY_FOLD_BYTES + 4];
    Bytes out;

    (void)state;
    text[0] = 'A';
    for (size_t i = 1; i + 2 < sizeof(text); i += 2) {
        memcpy(text + i, i % 4 == 1 ? "\314\201" : "\314\243", 2);
    }
    assert_int_equal(folded(text, &out).n, strlen(text));
    assert_int_equal(out.data[0], 'a');
    bytes_deinit(&out);
}

static int fold_scenario(void *context)
{
    char token[SAFETY_TOKEN_BYTES];
    SafetyTokenParts parts = {.guid = SPAN("g")};
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 1000);
    r = safety_fold(SPAN("\303\211\377\355\240\275\303\211"), &out);
    bytes_deinit(&out);
    return r != 0 ? r : safety_token(&parts, token);
}

static void paths_with_different_halves_of_pairs_are_different(void **state)
{
    Bytes first;
    Bytes second;
    Span one = folded(" \xC3\x89\xED\xA0\xBDX ", &first);
    Span other = folded(" \xC3\x89\xED\xA0\xBEX ", &second);

    (void)state;
    assert_true(span_equals(one, SPAN("\xC3\xA9\xED\xA0\xBDx")));
    assert_true(span_equals(other, SPAN("\xC3\xA9\xED\xA0\xBEx")));
    bytes_deinit(&first);
    bytes_deinit(&second);
}

static void want_of_memory_is_said(void **state)
{
    Bytes out;

    (void)state;
    test_oom_sweep(fold_scenario, NULL);
    bytes_init(&out, 1);
    assert_int_equal(safety_fold(SPAN("ab"), &out), BYTES_E_FULL);
    assert_int_equal(safety_fold(SPAN("\303\211"), &out), BYTES_E_FULL);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_those_of_the_documented_formula),
        cmocka_unit_test(the_full_list_of_ids_counts),
        cmocka_unit_test(a_desk_sorts_the_ids_and_takes_each_once),
        cmocka_unit_test(folding_is_that_of_the_invariant_culture),
        cmocka_unit_test(a_text_of_accents_only_does_not_take_long),
        cmocka_unit_test(paths_with_different_halves_of_pairs_are_different),
        cmocka_unit_test(want_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
