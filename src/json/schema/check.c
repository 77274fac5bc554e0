/* The life of a SchemaCheck, and the two passes of a validation. */
#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "json/schema/run.h"

/* Messages and paths of at most LIMIT_SCHEMA_ERRORS errors. */
#define CHECK_ERRORS_MAX_BYTES ((size_t)4 * 1024 * 1024)

/* Bits for the members of all values that are open at once, and the hash table of one uniqueItems.
 */
#define CHECK_MAX_WORDS ((size_t)1 << 28)

int schema_check_new(SchemaCheck **ret)
{
    SchemaCheck *check = mem_alloc_array(1, sizeof(*check));
    int r;

    if (check == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&check->arena, CHECK_ERRORS_MAX_BYTES);
    bytes_init(&check->path, RUN_MAX_PATH_BYTES + RUN_PATH_MARK_BYTES);
    r = regex_scratch_init(&check->regex);
    if (r != 0) {
        (void)schema_check_free(check);
        return err_pass(r);
    }
    *ret = check;
    return 0;
}

SchemaCheck *schema_check_free(SchemaCheck *check)
{
    if (check != NULL) {
        regex_scratch_deinit(&check->regex);
        equals_scratch_deinit(&check->equals);
        bytes_deinit(&check->path);
        arena_deinit(&check->arena);
        (void)mem_free(check->words);
        (void)mem_free(check->decoded);
        (void)mem_free(check->scope);
        (void)mem_free(check);
    }
    return NULL;
}

int run_push_words(SchemaCheck *k, size_t n, size_t *ret)
{
    if (n > k->cap_words - k->n_words) {
        size_t cap = (k->n_words + n) * 2;
        uint64_t *words =
            cap > CHECK_MAX_WORDS ? NULL : mem_realloc(k->words, cap * sizeof(*words));

        if (words == NULL) {
            return err_raise(-ENOMEM);
        }
        k->words = words;
        k->cap_words = cap;
    }
    memset(k->words + k->n_words, 0, n * sizeof(*k->words));
    *ret = k->n_words;
    k->n_words += n;
    return 0;
}

int run_same(SchemaCheck *k, JsonValue a, JsonValue b)
{
    int r = equals_within(a, b, &k->equals, &k->n_steps_left);

    if (r == EQUALS_E_DIFFERENT) {
        return SCHEMA_E_INVALID;
    }
    return r == EQUALS_E_LIMIT ? SCHEMA_E_LIMIT : r;
}

int run_decode(SchemaCheck *k, const JsonNode *json, bool is_exact, Span *ret, const char **ret_end)
{
    JsonValue v = run_value(k, json);
    size_t n = json->size;

    run_charge(k, n >> 3);
    if (n > k->cap_decoded) {
        char *decoded = mem_realloc(k->decoded, n * 2);

        if (decoded == NULL) {
            return err_raise(-ENOMEM);
        }
        k->decoded = decoded;
        k->cap_decoded = n * 2;
    }
    n = is_exact ? json_string_decode_exact(v, k->decoded) : json_string_decode(v, k->decoded);
    *ret = span_make(k->decoded, n);
    *ret_end = k->decoded + k->cap_decoded;
    return 0;
}

/* The steps that this value may cost. */
static int64_t check_budget(const JsonNode *root)
{
    int64_t n_values = root->skip;
    int64_t budget = LIMIT_SCHEMA_STEPS + n_values * LIMIT_SCHEMA_STEPS_PER_VALUE +
                     (int64_t)root->size * LIMIT_SCHEMA_STEPS_PER_BYTE;
    int64_t most = LIMIT_SCHEMA_STEPS_MAX + n_values * LIMIT_SCHEMA_STEPS_ALWAYS_PER_VALUE;

    return budget < most ? budget : most;
}

static void check_begin(SchemaCheck *check)
{
    check->n_frames = 0;
    check->n_steps_left = check_budget(check->root);
    check->n_words = 0;
    check->n_scope = 0;
    check->is_in_name = false;
    check->n_muted = 0;
}

/* The value is known to be invalid: finds out why. */
static int check_explain(SchemaCheck *check)
{
    int r;

    arena_reset(&check->arena, LIMIT_KEEP_BYTES);
    check_begin(check);
    check->is_out_of_memory = false;
    check->score = 0;
    check->branch = NULL;
    r = run_collect(check);
    if (r < 0) {
        return err_pass(r);
    }
    if (check->n_errors == 0) {
        /* The second pass does more work than the first and may meet a limit before it meets the
         * error. */
        check->is_collecting = true;
        report(check, check->schema->nodes, SCHEMA_KW_COUNT, check->root,
               "does not match the schema");
        check->is_collecting = false;
    }
    r = check->is_out_of_memory ? err_raise(-ENOMEM) : report_finish(check);
    return r != 0 ? r : SCHEMA_E_INVALID;
}

int schema_validate(const Schema *schema, SchemaCheck *check, JsonValue value)
{
    int r;

    check->n_errors = 0;
    if (schema->n_dynamic_names > 0 && check->scope == NULL) {
        check->scope = mem_alloc_array(LIMIT_SCHEMA_FRAMES, sizeof(*check->scope));
        if (check->scope == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    check->schema = schema;
    check->text = value.text;
    check->root = value.node;
    check->end = value.text + value.node->start + value.node->size;
    check_begin(check);
    r = run_fast(check, schema->nodes, check->root);
    if (r == SCHEMA_E_INVALID) {
        r = check_explain(check);
    }
    if (r < 0) {
        check->n_errors = 0;
    }
    return r;
}

size_t schema_check_n_errors(const SchemaCheck *check)
{
    return check->n_errors;
}

SchemaError schema_check_error(const SchemaCheck *check, size_t i)
{
    return check->errors[i];
}
