#include "providers/tool_index.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static const char *const tools[] = {
    "{\"name\":\"fs__read_file\",\"description\":\"Read the complete contents of a file.\","
    "\"inputSchema\":{\"properties\":{\"path\":{}}}}",
    "{\"name\":\"fs__write_file\",\"description\":\"Create a new file or overwrite one.\","
    "\"inputSchema\":{\"properties\":{\"path\":{},\"content\":{}}}}",
    "{\"name\":\"git_log\",\"title\":\"Commit history\",\"description\":\"Shows commits.\"}",
    "{\"name\":\"sendMail\",\"description\":\"Sends a message to people.\","
    "\"inputSchema\":{\"properties\":{\"recipient\":{},\"subject\":{}}}}",
    "{\"name\":\"weather\",\"description\":\"Temperature and rain of a place, from a file.\"}",
    "null",
};

typedef struct Fixture {
    ToolIndex *index;
    Arena arena;
} Fixture;

static int fixture_init(Fixture *f)
{
    int r;

    f->index = NULL;
    arena_init(&f->arena, 1 << 20);
    r = tool_index_new(&f->index);
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(tools); i++) {
        JsonDoc doc;

        r = json_parse(&doc, &f->arena, tools[i], strlen(tools[i]), NULL, NULL);
        r = r != 0 ? r : tool_index_add(f->index, json_root(&doc));
    }
    return r;
}

static void fixture_deinit(Fixture *f)
{
    f->index = tool_index_free(f->index);
    arena_deinit(&f->arena);
}

/* The places that were found, as a text: "0 1". */
static const char *found(Fixture *f, const char *query, size_t max)
{
    static char text[128];
    ToolHit hits[8];
    size_t n;
    size_t n_all;
    int at = 0;

    text[0] = '\0';
    assert_int_equal(tool_index_search(f->index, span_from_str(query), hits, max, &n, &n_all), 0);
    assert_true(n <= max && n <= n_all);
    for (size_t i = 0; i < n; i++) {
        at += snprintf(text + at, sizeof(text) - (size_t)at, i > 0 ? " %zu" : "%zu", hits[i].place);
    }
    return text;
}

static void words_are_found_in_every_field(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_string_equal(found(&f, "git", 8), "2");
    assert_string_equal(found(&f, "history", 8), "2");
    assert_string_equal(found(&f, "overwrite", 8), "1");
    assert_string_equal(found(&f, "recipient", 8), "3");
    assert_string_equal(found(&f, "mail", 8), "3"); /* sendMail */
    assert_string_equal(found(&f, "sendmail", 8), "3");
    assert_string_equal(found(&f, "nothing here", 8), "");
    fixture_deinit(&f);
}

static void names_count_more_than_descriptions(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_string_equal(found(&f, "file", 8), "0 1 4");
    assert_string_equal(found(&f, "file", 1), "0");
    assert_string_equal(found(&f, "fs__write_file", 8), "1 0 4");
    assert_string_equal(found(&f, "write a file", 1), "1");
    fixture_deinit(&f);
}

static void sentences_forms_and_slips_are_understood(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_string_equal(found(&f, "How do I read what is in files?", 1), "0");
    assert_string_equal(found(&f, "reading", 8), "0");
    assert_string_equal(found(&f, "temperatrue", 8), "4");
    assert_string_equal(found(&f, "wheather", 8), "4");
    assert_string_equal(found(&f, "temp", 8), "4");
    fixture_deinit(&f);
}

static void a_query_without_words_finds_all_that_have_some(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_string_equal(found(&f, " ?! ", 8), "0 1 2 3 4");
    assert_string_equal(found(&f, "", 2), "0 1");
    assert_string_equal(found(&f, "", 0), "");
    fixture_deinit(&f);
}

/* More words than are looked at, and words without an end. */
static void endless_queries_are_cut(void **state)
{
    Fixture f;
    char query[4096];

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    memset(query, 'x', sizeof(query) - 1);
    query[sizeof(query) - 1] = '\0';
    assert_string_equal(found(&f, query, 8), "");
    for (size_t i = 0; i + 2 < sizeof(query); i += 2) {
        query[i] = 'q';
        query[i + 1] = ' ';
    }
    memcpy(query, "git ", 4);
    assert_string_equal(found(&f, query, 8), "2");
    fixture_deinit(&f);
}

static int everything(void *context)
{
    Fixture f;
    ToolHit hits[4];
    size_t n;
    size_t n_all;
    int r = fixture_init(&f);

    (void)context;
    r = r != 0 ? r : tool_index_search(f.index, SPAN("read file"), hits, 4, &n, &n_all);
    fixture_deinit(&f);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(everything, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_in_every_field),
        cmocka_unit_test(names_count_more_than_descriptions),
        cmocka_unit_test(sentences_forms_and_slips_are_understood),
        cmocka_unit_test(a_query_without_words_finds_all_that_have_some),
        cmocka_unit_test(endless_queries_are_cut),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
