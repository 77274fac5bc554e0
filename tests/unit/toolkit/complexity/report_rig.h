/* tests/unit/toolkit/complexity/report_rig.h: measured files made by hand, and what a report says
 * of them. Every failure fails the test. */
#pragma once

#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "toolkit/complexity/report.h"
#include "json/json.h"

#define RIG_BYTES ((size_t)64 * 1024 * 1024)

/* A function of one line for each point of both values, so that no two numbers are equal by
 * chance. */
static inline ComplexityFunction rig_function(const char *name, uint32_t line, uint32_t cyclomatic,
                                              uint32_t cognitive)
{
    return (ComplexityFunction){
        .name = span_from_str(name),
        .first_line = line,
        .last_line = line + cyclomatic + cognitive,
        .first_column = 3,
        .last_column = 7,
        .cyclomatic = cyclomatic,
        .cyclomatic_modified = cyclomatic > 1 ? cyclomatic - 1 : 1,
        .cognitive = cognitive,
        .nesting = 2,
        .lines = cyclomatic + cognitive + 1,
        .code_lines = cyclomatic + cognitive,
        .comment_lines = 1,
        .parameters = 4,
        .tokens = 99,
        .halstead = {10, 4, 12, 8},
    };
}

static inline ComplexityFile rig_file(const char *language, const ComplexityFunction *functions,
                                      size_t n)
{
    ComplexityFile file = {
        .language = complexity_language_named(span_from_str(language)),
        .functions = functions,
        .n_functions = n,
        .lines = 100,
        .code_lines = 70,
        .comment_lines = 20,
        .blank_lines = 10,
    };

    assert_non_null(file.language);
    return file;
}

static inline ComplexityReportOptions rig_options(void)
{
    return (ComplexityReportOptions){
        .thresholds = complexity_thresholds_default,
        .version = "9.8.7",
        .elapsed_us = -1,
    };
}

static inline void rig_add(ComplexityReport *report, const char *path, const char *language,
                           const ComplexityFunction *functions, size_t n)
{
    ComplexityFile file = rig_file(language, functions, n);

    assert_int_equal(complexity_report_add(report, span_from_str(path), &file), 0);
}

static inline void rig_skip(ComplexityReport *report, const char *path, ComplexitySkip reason,
                            const char *detail)
{
    assert_int_equal(
        complexity_report_skip(report, span_from_str(path), reason, span_from_str(detail)), 0);
}

/* The report in a format, NUL-terminated, for free. */
static inline char *rig_write(const ComplexityReport *report, ComplexityFormat format)
{
    Bytes out;
    char *text;

    bytes_init(&out, RIG_BYTES);
    assert_int_equal(bytes_append(&out, "before", 6), 0);
    assert_int_equal(complexity_report_write(report, format, &out), 0);
    assert_memory_equal(out.data, "before", 6);
    text = malloc(out.n - 5);
    assert_non_null(text);
    memcpy(text, out.data + 6, out.n - 6);
    text[out.n - 6] = '\0';
    bytes_deinit(&out);
    return text;
}

static inline void rig_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", part, text);
    }
}

static inline void rig_has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("\"%s\" is in:\n%s", part, text);
    }
}

static inline void rig_span_is(Span s, const char *expected)
{
    if (!span_equals(s, span_from_str(expected))) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.n > 0 ? s.p : "", expected);
    }
}

/* A JSON text, parsed. */
typedef struct RigJson {
    Arena arena;
    JsonDoc doc;
} RigJson;

static inline JsonValue rig_json(RigJson *json, const char *text)
{
    arena_init(&json->arena, RIG_BYTES);
    assert_int_equal(json_parse(&json->doc, &json->arena, text, strlen(text), NULL, NULL), 0);
    return json_root(&json->doc);
}

/* The value at a pointer ("/violations/0/line"), as its JSON text. */
static inline void rig_json_is(JsonValue root, const char *pointer, const char *expected)
{
    JsonValue v;

    if (json_pointer(root, span_from_str(pointer), &v) != 0) {
        fail_msg("there is no %s", pointer);
    }
    if (!span_equals(json_span(v), span_from_str(expected))) {
        fail_msg("%s is %.*s, not %s", pointer, (int)json_span(v).n, json_span(v).p, expected);
    }
}

static inline bool rig_json_has(JsonValue root, const char *pointer)
{
    JsonValue v;

    return json_pointer(root, span_from_str(pointer), &v) == 0;
}

static inline uint32_t rig_json_count(JsonValue root, const char *pointer)
{
    JsonValue v;

    assert_int_equal(json_pointer(root, span_from_str(pointer), &v), 0);
    return json_count(v);
}
