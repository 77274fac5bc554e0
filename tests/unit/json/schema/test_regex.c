/* Patterns are ECMA-262's, not Perl's. Each is tried through "pattern", as users do. */
#include "schema_testing.h"

typedef struct RegexCase {
    const char *pattern; /* as JSON */
    const char *text;    /* likewise */
    bool matches;
} RegexCase;

static const RegexCase regex_cases[] = {
    /* A hyphen beside a set is a hyphen. */
    {"^[\\\\s-.]+$", "\"- .\\ufeff\"", true},
    {"^[\\\\s-.]+$", "\"/\"", false},
    {"^[\\\\d-x]+$", "\"1-x\"", true},
    {"^[\\\\d-x]+$", "\"w\"", false},
    {"^[.-\\\\s]+$", "\"- .\"", true},
    {"^[\\\\w-]+$", "\"a-b\"", true},
    {"^[-\\\\w]+$", "\"a-b\"", true},
    {"^[\\\\p{Lu}-a]+$", "\"-Aa\"", true},
    {"^[\\\\d-a-z]+$", "\"1-az\"", true},
    {"^[\\\\d-a-z]+$", "\"b\"", false},
    /* Ranges are still ranges. */
    {"^[a-c-e]+$", "\"b-e\"", true},
    {"^[a-c-e]+$", "\"d\"", false},
    {"^[+--]+$", "\",\"", true},
    {"^[^a-c]$", "\"b\"", false},
    {"^[\\\\u0041-\\\\u0043-z]+$", "\"B-z\"", true},
    {"^[\\\\u0041-\\\\u0043-z]+$", "\"D\"", false},
    {"^[\\\\u{41}-\\\\u{43}]+$", "\"B\"", true},
    {"^[\\u00e0-\\u00e9]$", "\"\\u00e5\"", true},
    {"^[\\u00e0-\\u00e9-x]$", "\"-\"", true},
    {"^[[:alpha:]]$", "\"b]\"", false},
    {"^[[:alpha:]]$", "\"a]\"", true},
    /* The dot. */
    {"^.$", "\"\\u2028\"", false},
    {"^.$", "\"\\u2029\"", false},
    {"^.$", "\"\\n\"", false},
    {"^.$", "\"\\r\"", false},
    {"^.$", "\"\\u0085\"", true},
    {"^.$", "\"\\ud83d\\ude00\"", true},
    {"^[.]$", "\"a\"", false},
    {"^\\\\.$", "\"a\"", false},
    /* Letters that mean something to Perl only. */
    {"^\\\\A\\\\z\\\\Z\\\\G\\\\K$", "\"AzZGK\"", true},
    {"^\\\\R\\\\X\\\\h\\\\H\\\\Q\\\\E$", "\"RXhHQE\"", true},
    {"^\\\\Q+\\\\E$", "\"QQE\"", true},
    {"^[\\\\R\\\\h]+$", "\"hR\"", true},
    {"^\\\\h$", "\" \"", false},
    {"^\\\\k$", "\"k\"", true},
    {"^(?<n>a)\\\\k<n>$", "\"aa\"", true},
    {"^\\\\v$", "\"\\u000b\"", true},
    {"^\\\\v$", "\"\\n\"", false},
    {"^\\\\v$", "\"\\u2028\"", false},
    {"^\\\\x41\\\\u0042\\\\cA\\\\0$", "\"AB\\u0001\\u0000\"", true},
    /* What looks like Perl's but is not. */
    {"^[(*)]+$", "\"(*)\"", true},
    {"^[a++]+$", "\"a+\"", true},
    {"^\\\\++$", "\"++\"", true},
    {"^a{+$", "\"a{{\"", true},
    {"^a{1,2}?b+?$", "\"aab\"", true},
    {"^(?i:A)b$", "\"ab\"", true},
    {"^(?i:A)b$", "\"aB\"", false},
    {"^(?:a)(?=b)(?!c)(?<=a)(?<!b)b$", "\"ab\"", true},
};

static void patterns_mean_what_ecma_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(regex_cases); i++) {
        const RegexCase *c = &regex_cases[i];
        char schema[256];
        SchemaTesting t;
        int r;

        (void)snprintf(schema, sizeof(schema), "{\"pattern\":\"%s\"}", c->pattern);
        testing_open(&t, schema, NULL);
        r = testing_check(&t, c->text);
        if (r != (c->matches ? 0 : SCHEMA_E_INVALID)) {
            fail_msg("%s, %s: %d", c->pattern, c->text, r);
        }
        testing_close(&t);
    }
}

static void syntax_of_perl_is_refused(void **state)
{
    static const char *const patterns[] = {
        "(*FAIL)",  "(*UTF)a", "a(*COMMIT)b", "(?R)",   "(?0)",    "(a)(?1)",    "(?+1)(a)",
        "(a)(?-1)", "(?&n)",   "(?i)a",       "(?s:.)", "(?>a)",   "(?|a|b)",    "(?#a)b",
        "(?C)a",    "(?C1)a",  "(?P<n>a)",    "(?P=n)", "(?'n'a)", "(a)(?(1)b)", "a++",
        "a*+",      "a?+",     "a{1}+",       "a{1,}+", "a{1,2}+", "(a)++",      "[a]++",
        "a{2}{3}",  "a+?+",    "(?",          "(?^)a",  "a**",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(patterns); i++) {
        char text[128];
        Schema *schema = NULL;
        Diag diag = DIAG_NULL;
        int r;

        (void)snprintf(text, sizeof(text), "{\"pattern\":\"%s\"}", patterns[i]);
        r = schema_new(&schema, span_from_str(text), NULL, &diag);
        if (r != SCHEMA_E_MALFORMED ||
            strstr(diag.message, "/pattern: not a regular expression of ECMA-262: ") == NULL) {
            fail_msg("%s: %d, %s", patterns[i], r, diag.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_mean_what_ecma_says),
        cmocka_unit_test(syntax_of_perl_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
