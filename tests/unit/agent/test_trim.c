#include "agent/trim.h"

#include "support/cmocka.h"

#include <stdint.h>
#include <string.h>

#include "base/limits.h"

#define MAX 32

/* A conversation from letters: u a user's words, a the assistant's, t a call, r its result, x a
 * result of another call, m a call and words, i a picture. Calls and results are numbered. */
typedef struct Talk {
    AgentMessage messages[MAX];
    AgentBlock blocks[MAX][2];
    char ids[MAX][8];
    size_t n;
} Talk;

static const char words[] = "0123456789012345678901234567890123456789"; /* 10 tokens */

static void talk_add(Talk *talk, char letter, size_t call)
{
    size_t i = talk->n++;
    AgentBlock *block = talk->blocks[i];
    Span id = span_make(talk->ids[i], 2);

    talk->ids[i][0] = letter == 'x' ? '?' : '#';
    talk->ids[i][1] = (char)('0' + call);
    talk->messages[i] = (AgentMessage){
        .is_assistant = strchr("atm", letter) != NULL, .blocks = block, .n_blocks = 1};
    switch (letter) {
    case 'i':
        *block = (AgentBlock){.kind = AGENT_BLOCK_IMAGE, .text = SPAN(words)};
        break;
    case 'm':
        talk->messages[i].n_blocks = 2;
        block[1] = (AgentBlock){.kind = AGENT_BLOCK_TEXT, .text = SPAN(words)};
        *block = (AgentBlock){.kind = AGENT_BLOCK_TOOL_USE, .id = id, .input = SPAN("{}")};
        break;
    case 't':
        *block = (AgentBlock){.kind = AGENT_BLOCK_TOOL_USE, .id = id, .input = SPAN("{}")};
        break;
    case 'r':
    case 'x':
        *block = (AgentBlock){.kind = AGENT_BLOCK_TOOL_RESULT, .id = id, .text = SPAN(words)};
        break;
    default:
        *block = (AgentBlock){.kind = AGENT_BLOCK_TEXT, .text = SPAN(words)};
        break;
    }
}

static Talk *talk_make(const char *letters)
{
    static Talk talk;
    size_t call = 0;

    memset(&talk, 0, sizeof(talk));
    for (const char *at = letters; *at != '\0'; at++) {
        call += *at == 't' || *at == 'm';
        talk_add(&talk, *at, call);
    }
    return &talk;
}

/* kept: the letters, '-' for what is left out. */
static void assert_trims(const char *letters, size_t budget, const char *kept, int outcome)
{
    Talk *talk = talk_make(letters);
    AgentTrimmed trimmed = {99, 99};
    char found[MAX + 1] = "";
    bool keep[MAX];
    size_t n_kept = 0;
    size_t n_tokens = 0;
    int r;

    memset(keep, 1, sizeof(keep));
    r = agent_trim(talk->messages, talk->n, budget, keep, &trimmed);
    for (size_t i = 0; i < talk->n; i++) {
        found[i] = keep[i] ? letters[i] : '-';
        n_kept += keep[i];
        n_tokens += keep[i] ? agent_trim_message_tokens(&talk->messages[i]) : 0;
    }
    assert_string_equal(found, kept);
    assert_int_equal(r, outcome);
    assert_int_equal(trimmed.n_kept, n_kept);
    assert_int_equal(trimmed.n_tokens, n_tokens);
    assert_int_equal(agent_trim_apply(talk->messages, talk->n, keep), n_kept);
}

static void what_fits_is_kept(void **state)
{
    (void)state;
    assert_trims("", 0, "", 0);
    assert_trims("u", 22, "u", 0);
    assert_trims("uauau", 1000, "uauau", 0);
    assert_trims("utrtrau", 1000, "utrtrau", 0);
    assert_trims("uauau", SIZE_MAX, "uauau", 0);
}

static void tokens_are_estimated(void **state)
{
    (void)state;
    assert_int_equal(agent_trim_text_tokens(0), 0);
    assert_int_equal(agent_trim_text_tokens(1), 1);
    assert_int_equal(agent_trim_text_tokens(4), 1);
    assert_int_equal(agent_trim_text_tokens(5), 2);
    assert_int_equal(agent_trim_message_tokens(&talk_make("u")->messages[0]), 22);
    assert_int_equal(agent_trim_message_tokens(&talk_make("t")->messages[0]), 13);
    assert_int_equal(agent_trim_message_tokens(&talk_make("i")->messages[0]),
                     12 + LIMIT_AGENT_IMAGE_TOKENS);
}

/* A user's or assistant's words are 22 tokens, a call 13, its result 23 (the id counts). */
static void the_first_of_the_user_and_the_newest_are_kept(void **state)
{
    (void)state;
    assert_trims("uauau", 5 * 22, "uauau", 0);
    assert_trims("uauau", 5 * 22 - 1, "u-uau", 0);
    assert_trims("uauau", 3 * 22, "u--au", 0);
    assert_trims("uauau", 2 * 22, "u---u", 0);
    assert_trims("auau", 2 * 22, "-u-u", 0);
}

/* A picture is many times the budget here, as a long text would be. */
static void a_first_that_takes_more_than_half_is_not_kept(void **state)
{
    (void)state;
    assert_trims("iu", 100, "-u", 0);
    assert_trims("iauau", 100, "--uau", 0);
    assert_trims("iauau", LIMIT_AGENT_IMAGE_TOKENS + 12 + 22, "--uau", 0);
    assert_trims("iauau", 2 * (LIMIT_AGENT_IMAGE_TOKENS + 12), "iauau", 0);
    assert_trims("i", 100, "i", AGENT_TRIM_E_OVER); /* it is the newest, too */
    assert_trims("itr", 100, "itr", AGENT_TRIM_E_OVER);
}

static void what_is_asked_now_is_kept_whatever_its_tools_gave(void **state)
{
    (void)state;
    assert_trims("uautrtrtr", 22 + 22 + 36, "u-u----tr", 0);
    assert_trims("uautrtrtr", 22 + 22 + 2 * 36, "u-u--trtr", 0);
    assert_trims("uautrtr", 40, "--u--tr", AGENT_TRIM_E_OVER);
}

static void what_is_sent_begins_with_the_user(void **state)
{
    (void)state;
    assert_trims("iauau", 4 * 22, "--uau", 0);
    assert_trims("trau", 1000, "---u", 0);
    assert_trims("auau", 1000, "-uau", 0);
    assert_trims("tr", 1000, "tr", 0); /* there is no user */
}

static void the_last_is_kept_whatever_it_takes(void **state)
{
    (void)state;
    assert_trims("uauau", 21, "----u", AGENT_TRIM_E_OVER);
    assert_trims("u", 0, "u", AGENT_TRIM_E_OVER);
    assert_trims("utr", 0, "utr", AGENT_TRIM_E_OVER);
}

static void a_call_and_its_result_are_not_parted(void **state)
{
    (void)state;
    /* 22 for each of the words, and 36 for a pair. */
    assert_trims("utrau", 22 + 36 + 44, "utrau", 0);
    assert_trims("utrau", 22 + 35 + 44, "u--au", 0);
    assert_trims("utrtrau", 22 + 36 + 36 + 43, "u--trau", 0);
    assert_trims("utrtr", 22 + 36 + 30, "u--tr", 0);
    assert_trims("umrau", 22 + 53 + 44, "u--au", 0);
    assert_trims("umrau", 22 + 54 + 44, "umrau", 0);
}

static void what_is_parted_already_is_left_out(void **state)
{
    (void)state;
    assert_trims("urau", 1000, "u-au", 0);   /* a result without its call */
    assert_trims("utau", 1000, "u-au", 0);   /* a call without a result */
    assert_trims("utxau", 1000, "u--au", 0); /* a result of another call */
    assert_trims("rau", 1000, "--u", 0);
    assert_trims("ut", 1000, "ut", 0); /* the last: its result is yet to come */
    assert_trims("ur", 1000, "ur", 0);
}

static void results_in_another_order_are_a_pair(void **state)
{
    AgentBlock uses[] = {{.kind = AGENT_BLOCK_TOOL_USE, .id = SPAN_INIT("a")},
                         {.kind = AGENT_BLOCK_TOOL_USE, .id = SPAN_INIT("b")}};
    AgentBlock results[] = {{.kind = AGENT_BLOCK_TOOL_RESULT, .id = SPAN_INIT("b")},
                            {.kind = AGENT_BLOCK_TOOL_RESULT, .id = SPAN_INIT("a")}};
    AgentBlock text[] = {{.kind = AGENT_BLOCK_TEXT, .text = SPAN_INIT("x")}};
    AgentMessage messages[] = {
        {false, text, 1}, {true, uses, 2}, {false, results, 2}, {false, text, 1}};
    AgentTrimmed trimmed;
    bool keep[4];

    (void)state;
    assert_int_equal(agent_trim(messages, 4, 1000, keep, &trimmed), 0);
    assert_int_equal(trimmed.n_kept, 4);
    results[0].id = SPAN("c");
    assert_int_equal(agent_trim(messages, 4, 1000, keep, &trimmed), 0);
    assert_int_equal(trimmed.n_kept, 2);
    messages[2].n_blocks = 1;
    assert_int_equal(agent_trim(messages, 4, 1000, keep, &trimmed), 0);
    assert_int_equal(trimmed.n_kept, 2);
}

/* Every conversation of these letters, with every budget: no call without its result, no result
 * without its call, but in the last message; the newest words of the user, and nothing before the
 * first of them. */
static void nothing_that_is_sent_is_half(void **state)
{
    static const char letters[] = "uatr";
    char text[7] = "";

    (void)state;
    for (unsigned code = 0; code < 4096; code++) {
        for (size_t i = 0; i < 6; i++) {
            text[i] = letters[code >> (2 * i) & 3];
        }
        for (size_t budget = 0; budget <= 160; budget += 10) {
            Talk *talk = talk_make(text);
            AgentTrimmed trimmed;
            bool keep[MAX];

            const char *newest = strrchr(text, 'u');
            size_t first = 0;

            (void)agent_trim(talk->messages, 6, budget, keep, &trimmed);
            assert_true(keep[5]);
            assert_true(newest == NULL || keep[newest - text]);
            while (!keep[first]) {
                first++;
            }
            assert_true(newest == NULL || text[first] == 'u');
            for (size_t i = 0; i < 5; i++) {
                if (keep[i] && text[i] == 't') {
                    assert_true(keep[i + 1] && text[i + 1] == 'r');
                }
                if (keep[i] && text[i] == 'r') {
                    assert_true(i > 0 && keep[i - 1] && text[i - 1] == 't');
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_kept),
        cmocka_unit_test(tokens_are_estimated),
        cmocka_unit_test(the_first_of_the_user_and_the_newest_are_kept),
        cmocka_unit_test(a_first_that_takes_more_than_half_is_not_kept),
        cmocka_unit_test(what_is_asked_now_is_kept_whatever_its_tools_gave),
        cmocka_unit_test(what_is_sent_begins_with_the_user),
        cmocka_unit_test(the_last_is_kept_whatever_it_takes),
        cmocka_unit_test(a_call_and_its_result_are_not_parted),
        cmocka_unit_test(what_is_parted_already_is_left_out),
        cmocka_unit_test(results_in_another_order_are_a_pair),
        cmocka_unit_test(nothing_that_is_sent_is_half),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
