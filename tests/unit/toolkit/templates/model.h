/* tests/unit/toolkit/templates/model.h: short ways to what the tests of the model need. Every
 * failure fails the test. */
#pragma once

#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "toolkit/templates/manifest.h"
#include "json/json.h"

/* A JSON text, parsed; model_json_free releases it. */
typedef struct ModelJson {
    Arena arena;
    JsonDoc doc;
} ModelJson;

static inline JsonValue model_json(ModelJson *json, const char *text)
{
    arena_init(&json->arena, (size_t)1 << 28);
    assert_int_equal(json_parse(&json->doc, &json->arena, text, strlen(text), NULL, NULL), 0);
    return json_root(&json->doc);
}

static inline void model_json_free(ModelJson *json)
{
    arena_deinit(&json->arena);
}

static inline void model_span_is(Span s, const char *expected)
{
    if (!span_equals(s, span_from_str(expected))) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.n > 0 ? s.p : "", expected);
    }
}

static inline bool model_span_has(Span s, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= s.n; i++) {
        if (memcmp(s.p + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}

/* A manifest of one template x/rust/cli whose parameters are given as JSON, without the brackets
 * around them, with its text. */
static inline TemplateManifest *model_manifest(const char *parameters, const char *text)
{
    char json[8192];
    TemplateManifest *manifest = NULL;
    Diag diag = DIAG_NULL;
    int n = snprintf(json, sizeof(json),
                     "{\"templates\":[{\"uri\":\"template://x/rust/cli\",\"name\":\"X\","
                     "\"description\":\"d\",\"file\":\"x.hbs\",\"output\":\"x.txt\","
                     "\"parameters\":[%s]}]}",
                     parameters);

    assert_true(n > 0 && (size_t)n < sizeof(json));
    if (template_manifest_parse(&manifest, span_from_str(json), "m.json", &diag) != 0) {
        fail_msg("%s", diag.message);
    }
    if (text != NULL && template_set_text(manifest, template_manifest_at(manifest, 0),
                                          span_from_str(text), "x.hbs", &diag) != 0) {
        fail_msg("%s", diag.message);
    }
    return manifest;
}
