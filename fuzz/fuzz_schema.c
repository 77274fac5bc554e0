/* {"schema": ..., "values": [...], "formats": true}: compiles the schema and checks every value.
 * The fast and the collecting pass must agree, and a second run must repeat the first. */
#include "fuzz.h"

#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "json/schema/schema.h"

#define FUZZ_MAX_BYTES ((size_t)1 << 24)

static void fuzz_check(const Schema *schema, SchemaCheck *check, JsonValue value)
{
    int first = schema_validate(schema, check, value);
    size_t n_errors = schema_check_n_errors(check);

    FUZZ_REQUIRE(first >= 0 && first <= SCHEMA_E_LIMIT);
    FUZZ_REQUIRE((first == SCHEMA_E_INVALID) == (n_errors > 0));
    FUZZ_REQUIRE(n_errors <= LIMIT_SCHEMA_ERRORS);
    for (size_t i = 0; i < n_errors; i++) {
        SchemaError e = schema_check_error(check, i);
        JsonValue found;

        FUZZ_REQUIRE(e.message.n > 0 && e.schema_path.n > 0);
        /* A path into a member whose name comes again leads to the last of that name, or nowhere.
         */
        FUZZ_REQUIRE(e.instance_path.n > 1024 ||
                     json_pointer(value, e.instance_path, &found) != JSON_E_SYNTAX);
    }
    FUZZ_REQUIRE(schema_validate(schema, check, value) == first);
    FUZZ_REQUIRE(schema_check_n_errors(check) == n_errors);
}

/* The same schema where its members are tracked, which only the collecting engine does: it must
 * come to the same answer. NULL if the schema means something else there, or is too long. */
static Schema *fuzz_tracked(Span text, const SchemaOptions *options)
{
    Schema *schema = NULL;
    Bytes wrapped;

    if (options->dialect != SCHEMA_DIALECT_2020_12 || memchr(text.p, '$', text.n) != NULL) {
        return NULL;
    }
    bytes_init(&wrapped, FUZZ_MAX_BYTES);
    FUZZ_REQUIRE(bytes_append_span(&wrapped, SPAN("{\"allOf\":[")) == 0);
    FUZZ_REQUIRE(bytes_append_span(&wrapped, text) == 0);
    FUZZ_REQUIRE(bytes_append_span(&wrapped, SPAN("],\"unevaluatedProperties\":true,"
                                                  "\"unevaluatedItems\":true}")) == 0);
    /* It is one level deeper, so a limit may refuse it. */
    if (schema_new(&schema, bytes_span(&wrapped), options, NULL) != 0) {
        schema = NULL;
    }
    bytes_deinit(&wrapped);
    return schema;
}

static void fuzz_compare(const Schema *schema, const Schema *tracked, SchemaCheck *check,
                         JsonValue value)
{
    int fast = schema_validate(schema, check, value);
    int full = schema_validate(tracked, check, value);

    FUZZ_REQUIRE(fast == full || fast == SCHEMA_E_LIMIT || full == SCHEMA_E_LIMIT);
}

static void fuzz_run(JsonValue root)
{
    SchemaOptions options = {.dialect = SCHEMA_DIALECT_2020_12};
    SchemaCheck *check = NULL;
    Schema *schema = NULL;
    Schema *tracked;
    JsonValue text;
    JsonValue values;
    JsonValue flag;

    if (!json_get(root, SPAN("schema"), &text)) {
        return;
    }
    if (json_get(root, SPAN("formats"), &flag)) {
        options.assert_formats = json_kind(flag) == JSON_TRUE;
    }
    if (json_get(root, SPAN("draft7"), &flag)) {
        options.dialect = SCHEMA_DIALECT_DRAFT_07;
    }
    if (schema_new(&schema, json_span(text), &options, NULL) != 0) {
        return;
    }
    FUZZ_REQUIRE(schema_check_new(&check) == 0);
    tracked = fuzz_tracked(json_span(text), &options);
    if (json_get(root, SPAN("values"), &values)) {
        for (JsonIter it = json_iter(values); json_iter_next(&it);) {
            fuzz_check(schema, check, it.value);
            if (tracked != NULL) {
                fuzz_compare(schema, tracked, check, it.value);
            }
        }
    }
    (void)schema_check_free(check);
    (void)schema_free(tracked);
    (void)schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    JsonDoc doc;

    arena_init(&arena, FUZZ_MAX_BYTES);
    if (json_parse(&doc, &arena, data, size, NULL, NULL) == 0) {
        fuzz_run(json_root(&doc));
    }
    arena_deinit(&arena);
    return 0;
}
