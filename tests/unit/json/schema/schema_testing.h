/* tests/unit/json/schema/schema_testing.h: compile a schema, check a text, in one line. */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "json/schema/schema.h"

typedef struct SchemaTesting {
    Schema *schema;
    SchemaCheck *check;
    Arena arena;
    JsonDoc doc;
} SchemaTesting;

static inline void testing_open(SchemaTesting *t, const char *schema, const SchemaOptions *options)
{
    Diag diag = DIAG_NULL;
    int r = schema_new(&t->schema, span_from_str(schema), options, &diag);

    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
    assert_int_equal(schema_check_new(&t->check), 0);
    arena_init(&t->arena, 1 << 26);
}

static inline int testing_check(SchemaTesting *t, const char *text)
{
    arena_reset(&t->arena, 1 << 20);
    assert_int_equal(json_parse(&t->doc, &t->arena, text, strlen(text), NULL, NULL), 0);
    return schema_validate(t->schema, t->check, json_root(&t->doc));
}

static inline void testing_close(SchemaTesting *t)
{
    t->schema = schema_free(t->schema);
    t->check = schema_check_free(t->check);
    arena_deinit(&t->arena);
}

/* The i-th error as "instance path | schema path | message". */
static inline const char *testing_error(const SchemaTesting *t, size_t i, char *out, size_t size)
{
    SchemaError e;

    assert_true(i < schema_check_n_errors(t->check));
    e = schema_check_error(t->check, i);
    (void)snprintf(out, size, "%.*s | %.*s | %.*s", (int)e.instance_path.n, e.instance_path.p,
                   (int)e.schema_path.n, e.schema_path.p, (int)e.message.n, e.message.p);
    return out;
}
