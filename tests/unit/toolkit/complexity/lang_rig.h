/* tests/unit/toolkit/complexity/lang_rig.h: sources with the numbers that they must have. The text
 * ends at an unreadable page, and nothing in it may be beyond the parser. */
#pragma once

#include "support/cmocka.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guard.h"
#include "toolkit/complexity/measure.h"

#define LANG_BYTES ((size_t)16 * 1024 * 1024)
#define LANG_ROOM  8192

/* What stands inside a function of which the rest is the same for all cases of a language. */
typedef struct LangCase {
    const char *body;
    uint32_t cyclomatic;
    uint32_t modified;
    uint32_t cognitive;
    uint32_t nesting;
} LangCase;

typedef struct Lang {
    ComplexityMeter *meter;
    Arena arena;
    GuardBuffer text;
    ComplexityFile file;
} Lang;

static inline void lang_close(Lang *lang)
{
    lang->meter = complexity_meter_free(lang->meter);
    arena_deinit(&lang->arena);
    guard_free(&lang->text);
}

static inline void lang_open(Lang *lang, const char *language, const char *text)
{
    const ComplexityLanguage *found = complexity_language_named(span_from_str(language));
    ComplexityOptions options = {.increments = true};

    assert_non_null(found);
    *lang = (Lang){.text = guard_copy(text, strlen(text))};
    arena_init(&lang->arena, LANG_BYTES);
    assert_int_equal(complexity_meter_new(&lang->meter), 0);
    assert_int_equal(complexity_measure(lang->meter, found, span_make(lang->text.p, lang->text.n),
                                        &options, &lang->arena, &lang->file),
                     0);
    if (lang->file.n_errors != 0) {
        fail_msg("line %u is not understood: %s", lang->file.first_error_line, text);
    }
}

static inline void lang_check_cases(const char *language, const char *before, const char *after,
                                    const LangCase *cases, size_t n)
{
    bool ok = true;

    for (size_t i = 0; i < n; i++) {
        const LangCase *expected = &cases[i];
        const ComplexityFunction *got;
        char text[LANG_ROOM];
        Lang lang;

        (void)snprintf(text, sizeof(text), "%s%s%s", before, expected->body, after);
        lang_open(&lang, language, text);
        assert_true(lang.file.n_functions > 0);
        got = &lang.file.functions[0];
        if (got->cyclomatic != expected->cyclomatic ||
            got->cyclomatic_modified != expected->modified ||
            got->cognitive != expected->cognitive || got->nesting != expected->nesting) {
            print_error("%s\n  is cyclomatic %" PRIu32 ", modified %" PRIu32 ", cognitive %" PRIu32
                        ", nesting %" PRIu32 "\n",
                        expected->body, got->cyclomatic, got->cyclomatic_modified, got->cognitive,
                        got->nesting);
            ok = false;
        }
        lang_close(&lang);
    }
    assert_true(ok);
}

/* A line for each row: name, first and last line, cyclomatic, cognitive, parameters. */
static inline void lang_check_rows(const char *language, const char *text, const char *expected)
{
    char got[LANG_ROOM];
    size_t n = 0;
    Lang lang;

    lang_open(&lang, language, text);
    got[0] = '\0';
    for (size_t i = 0; i < lang.file.n_functions; i++) {
        const ComplexityFunction *row = &lang.file.functions[i];

        n += (size_t)snprintf(got + n, sizeof(got) - n,
                              "%.*s %" PRIu32 "-%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
                              (int)row->name.n, row->name.p, row->first_line, row->last_line,
                              row->cyclomatic, row->cognitive, row->parameters);
        assert_true(n < sizeof(got));
    }
    assert_string_equal(got, expected);
    lang_close(&lang);
}

/* Of the first row: line:column construct +amount, and the part of it that is for nesting. */
static inline void lang_check_increments(const char *language, const char *text,
                                         const char *expected)
{
    char got[LANG_ROOM];
    size_t n = 0;
    uint32_t sum = 0;
    Lang lang;

    lang_open(&lang, language, text);
    got[0] = '\0';
    for (size_t i = 0; i < lang.file.functions[0].n_increments; i++) {
        const ComplexityIncrement *one = &lang.file.functions[0].increments[i];

        n += (size_t)snprintf(got + n, sizeof(got) - n,
                              "%" PRIu32 ":%" PRIu32 " %s +%" PRIu32 " %" PRIu32 "\n", one->line,
                              one->column, one->construct, one->amount, one->nesting);
        assert_true(n < sizeof(got));
        sum += one->amount;
    }
    assert_string_equal(got, expected);
    assert_int_equal(sum, lang.file.functions[0].cognitive);
    lang_close(&lang);
}

/* Of the first row. tokens: also those that close a pair. */
static inline void lang_check_halstead(const char *language, const char *text,
                                       ComplexityHalstead expected, uint32_t tokens)
{
    Lang lang;

    lang_open(&lang, language, text);
    assert_int_equal(lang.file.functions[0].halstead.n1, expected.n1);
    assert_int_equal(lang.file.functions[0].halstead.n2, expected.n2);
    assert_int_equal(lang.file.functions[0].halstead.N1, expected.N1);
    assert_int_equal(lang.file.functions[0].halstead.N2, expected.N2);
    assert_int_equal(lang.file.functions[0].tokens, tokens);
    lang_close(&lang);
}

/* Of the first row. */
static inline void lang_check_lines(const char *language, const char *text, uint32_t lines,
                                    uint32_t code_lines, uint32_t comment_lines)
{
    Lang lang;

    lang_open(&lang, language, text);
    assert_int_equal(lang.file.functions[0].lines, lines);
    assert_int_equal(lang.file.functions[0].code_lines, code_lines);
    assert_int_equal(lang.file.functions[0].comment_lines, comment_lines);
    lang_close(&lang);
}

/* Of the whole file. */
static inline void lang_check_file(const char *language, const char *text, uint32_t code_lines,
                                   uint32_t comment_lines)
{
    Lang lang;

    lang_open(&lang, language, text);
    assert_int_equal(lang.file.code_lines, code_lines);
    assert_int_equal(lang.file.comment_lines, comment_lines);
    lang_close(&lang);
}
