#include "json/json.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "json/index.h"

/* Nodes allocated at first: enough for a message of 1 KB, and for a larger one the size at which
 * growing is rare. In a reused arena growing is in place and free. */
#define PARSE_MIN_NODES       64
#define PARSE_MAX_FIRST_NODES 4096
#define PARSE_BYTES_PER_NODE  16

/* Line ends stand between tokens only. Above so many bytes a token, looking there costs less than
 * searching all of the text. */
#define LINE_BYTES_PER_NODE 512

typedef struct FaultText {
    const char *expected;
    bool says_found; /* add what stands there instead */
} FaultText;

static const FaultText fault_texts[JSON_N_FAULTS] = {
    [JSON_FAULT_NONE] = {"no fault", false},
    [JSON_FAULT_VALUE] = {"expected a value", true},
    [JSON_FAULT_TRAILING] = {"expected the end of the text after the value", true},
    [JSON_FAULT_KEY] = {"expected a key in double quotes", true},
    [JSON_FAULT_COLON] = {"expected ':' after the key", true},
    [JSON_FAULT_OBJECT_NEXT] = {"expected ',' or '}' in the object", true},
    [JSON_FAULT_ARRAY_NEXT] = {"expected ',' or ']' in the array", true},
    [JSON_FAULT_LITERAL] = {"expected true, false or null", true},
    [JSON_FAULT_NUMBER_DIGIT] = {"expected a digit after '-'", true},
    [JSON_FAULT_NUMBER_ZERO] = {"a number must not begin with 0 and go on with digits", false},
    [JSON_FAULT_NUMBER_FRACTION] = {"expected a digit after '.'", true},
    [JSON_FAULT_NUMBER_EXPONENT] = {"expected a digit in the exponent", true},
    [JSON_FAULT_STRING_END] = {"the string has no closing quote", false},
    [JSON_FAULT_STRING_CONTROL] = {"a control character in a string must be escaped", true},
    [JSON_FAULT_STRING_UTF8] = {"invalid UTF-8 in a string", true},
    [JSON_FAULT_ESCAPE] = {"unknown escape; after '\\' comes one of \" \\ / b f n r t u", true},
    [JSON_FAULT_ESCAPE_HEX] = {"expected four hex digits after \\u", true},
    [JSON_FAULT_DEPTH] = {"nested too deeply", false},
    [JSON_FAULT_NODES] = {"too many values", false},
};

const char *json_kind_name(JsonKind kind)
{
    static const char *const names[] = {"null",   "boolean", "boolean", "number",
                                        "string", "array",   "object"};

    return names[kind];
}

bool json_engine_available(JsonEngine engine)
{
    switch (engine) {
    case JSON_ENGINE_AVX2:
        return TW_CPU_HAS("avx2") && TW_CPU_HAS("bmi");
    case JSON_ENGINE_SSE2:
        return TW_X86;
    case JSON_ENGINE_AUTO:
    case JSON_ENGINE_PORTABLE:
        break;
    }
    return true;
}

static int parse_run_engine(JsonIndexRun *run, JsonEngine engine)
{
    bool any = engine == JSON_ENGINE_AUTO;

    if (run->end - run->text < INDEX_X86_MIN_BYTES) {
        return json_index_portable(run);
    }
    if ((any || engine == JSON_ENGINE_AVX2) && json_engine_available(JSON_ENGINE_AVX2)) {
        return json_index_avx2(run);
    }
    if ((any || engine == JSON_ENGINE_SSE2) && json_engine_available(JSON_ENGINE_SSE2)) {
        return json_index_sse2(run);
    }
    return json_index_portable(run);
}

/* Puts the fault into words: what was expected, what stands there, and where. Returns the outcome.
 */
static int parse_explain(const JsonIndexRun *run, const char *text, size_t n, Diag *reterr_diag)
{
    const FaultText *fault = &fault_texts[run->fault];
    size_t offset = (size_t)(run->fault_at - text);
    int outcome = run->fault == JSON_FAULT_DEPTH ? JSON_E_DEPTH : JSON_E_SYNTAX;
    unsigned char found = offset < n ? (unsigned char)text[offset] : 0;

    if (run->fault == JSON_FAULT_NODES) {
        outcome = JSON_E_TOO_LARGE;
    }
    if (run->fault == JSON_FAULT_DEPTH) {
        (void)diag_set(reterr_diag, outcome, "nested deeper than %u levels", run->max_depth);
    } else if (!fault->says_found) {
        (void)diag_set(reterr_diag, outcome, "%s", fault->expected);
    } else if (run->fault_at >= run->end) {
        (void)diag_set(reterr_diag, outcome, "%s, found the end of the text", fault->expected);
    } else if (found > ' ' && found < 0x7F) {
        (void)diag_set(reterr_diag, outcome, "%s, found '%c'", fault->expected, found);
    } else {
        (void)diag_set(reterr_diag, outcome, "%s, found byte 0x%02X", fault->expected, found);
    }
    diag_set_place(reterr_diag, text, n, offset);
    return outcome;
}

static const char *parse_trim_end(const char *text, const char *end)
{
    while (end > text &&
           (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r' || end[-1] == '\t')) {
        end--;
    }
    return end;
}

int json_parse(JsonDoc *ret_doc, Arena *arena, const void *text, size_t n, const JsonLimits *limits,
               Diag *reterr_diag)
{
    size_t max_bytes =
        limits != NULL && limits->max_bytes != 0 ? limits->max_bytes : LIMIT_JSON_BYTES;
    JsonIndexRun run = {
        .text = text,
        .arena = arena,
        .max_depth =
            limits != NULL && limits->max_depth != 0 ? limits->max_depth : LIMIT_JSON_DEPTH,
        .cap = n / PARSE_BYTES_PER_NODE + PARSE_MIN_NODES,
    };
    int r;

    if (n > max_bytes || n > LIMIT_JSON_BYTES) {
        return diag_set(reterr_diag, JSON_E_TOO_LARGE,
                        "the text has %zu bytes, more than the %zu allowed", n,
                        max_bytes < LIMIT_JSON_BYTES ? max_bytes : (size_t)LIMIT_JSON_BYTES);
    }
    if (n == 0) {
        /* text may be NULL then; nothing below needs to know. */
        run.text = "";
    }
    run.end = parse_trim_end(run.text, run.text + n);
    if (run.cap > PARSE_MAX_FIRST_NODES) {
        run.cap = PARSE_MAX_FIRST_NODES;
    }
    run.nodes = arena_alloc(arena, run.cap * sizeof(JsonNode));
    if (run.nodes == NULL) {
        return err_raise(-ENOMEM);
    }
    r = parse_run_engine(&run, limits != NULL ? limits->engine : JSON_ENGINE_AUTO);
    if (r > 0) {
        return parse_explain(&run, run.text, n, reterr_diag);
    }
    if (r < 0) {
        return err_pass(r);
    }
    arena_shrink(arena, run.nodes, run.cap * sizeof(JsonNode), run.n_nodes * sizeof(JsonNode));
    *ret_doc = (JsonDoc){.text = run.text, .n_text = n, .nodes = run.nodes, .n_nodes = run.n_nodes};
    return 0;
}

bool json_bool(JsonValue v, bool *ret_flag)
{
    JsonKind kind = json_kind(v);

    if (kind != JSON_TRUE && kind != JSON_FALSE) {
        return false;
    }
    *ret_flag = kind == JSON_TRUE;
    return true;
}

/* Half of a small message's cost is looking up members, so the walk is written out: a key that
 * needs no decoding is told apart by its length, most often, and else by its bytes. */
bool json_get(JsonValue v, Span key, JsonValue *ret)
{
    const JsonNode *node = v.node + 1;
    const JsonNode *end = v.node + v.node->skip;
    const JsonNode *found = NULL;

    if (json_kind(v) != JSON_OBJECT) {
        return false;
    }
    while (node < end) {
        bool is_same = TW_LIKELY((node->tag & JSON_NODE_ESCAPED) == 0)
                           ? node->size == key.n + 2 &&
                                 (key.n == 0 || memcmp(v.text + node->start + 1, key.p, key.n) == 0)
                           : json_string_equals((JsonValue){v.text, node}, key);

        node++;
        if (is_same) {
            found = node;
        }
        node += node->skip;
    }
    if (found == NULL) {
        return false;
    }
    *ret = (JsonValue){v.text, found};
    return true;
}

bool json_at(JsonValue v, size_t index, JsonValue *ret)
{
    if (json_kind(v) != JSON_ARRAY || index >= json_count(v)) {
        return false;
    }
    for (JsonIter it = json_iter(v); json_iter_next(&it); index--) {
        if (index == 0) {
            *ret = it.value;
            return true;
        }
    }
    return false;
}

static bool line_ends_between(const char *p, const char *end)
{
    return memchr(p, '\n', (size_t)(end - p)) != NULL || memchr(p, '\r', (size_t)(end - p)) != NULL;
}

bool json_is_one_line(JsonValue v)
{
    Span span = json_span(v);
    const JsonNode *stop = v.node + v.node->skip;
    const char *at = span.p;

    if (v.node->skip > span.n / LINE_BYTES_PER_NODE) {
        return !line_ends_between(span.p, span.p + span.n);
    }
    for (const JsonNode *node = v.node; node < stop; node++) {
        const char *start = v.text + node->start;
        uint32_t kind = node->tag & JSON_NODE_KIND_MASK;

        if (line_ends_between(at, start)) {
            return false;
        }
        at = start + (kind == JSON_ARRAY || kind == JSON_OBJECT ? 1 : node->size);
    }
    return !line_ends_between(at, span.p + span.n);
}
