/* Words for people: what was expected, what was found. */
#include "json/schema/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

/* Messages quote values; a long one is cut. */
#define REPORT_MAX_MESSAGE 400
#define REPORT_MAX_QUOTE   60

/* Stands for the steps of a path that are left out because it would pass RUN_MAX_PATH_BYTES. */
#define REPORT_PATH_CUT "/..."

/* How much an error counts against a branch when the nearest alternative is looked for: a value of
 * the wrong kind is not meant, and a discriminator that differs ("kind": "circle") is probably not
 * meant. */
#define REPORT_SCORE_KIND   10000
#define REPORT_SCORE_CHOICE 100

static uint32_t report_weight(const SchemaCheck *k, SchemaKeyword keyword, const JsonNode *json)
{
    if (keyword == SCHEMA_KW_TYPE && json == k->branch) {
        return REPORT_SCORE_KIND;
    }
    return keyword == SCHEMA_KW_CONST || keyword == SCHEMA_KW_ENUM ? REPORT_SCORE_CHOICE : 1;
}

/* Is a message to be made? If not, the error counts against the muted branch, or there are enough
 * already. */
static bool report_wants(SchemaCheck *k, SchemaKeyword keyword, const JsonNode *json)
{
    if (k->is_collecting && k->n_muted > 0) {
        k->score += report_weight(k, keyword, json);
        return false;
    }
    return k->is_collecting && k->n_errors < LIMIT_SCHEMA_ERRORS;
}

/* The length of p[0..n) without a character at its end that was cut. */
static size_t report_whole_characters(const char *p, size_t n)
{
    size_t start = n;

    while (start > 0 && n - start < 4 && ((unsigned char)p[start - 1] & 0xC0) == 0x80) {
        start--;
    }
    if (start > 0 && (unsigned char)p[start - 1] >= 0xC0) {
        unsigned char lead = (unsigned char)p[start - 1];
        size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;

        return n - (start - 1) < wanted ? start - 1 : n;
    }
    return n;
}

const char *report_text(Span text, char out[REPORT_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (size_t i = 0; i < text.n && n + 7 < REPORT_TEXT_BYTES; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c >= 0x20) {
            out[n++] = (char)c;
        } else {
            memcpy(out + n, "\\u00", 4);
            out[n + 4] = digits[c >> 4];
            out[n + 5] = digits[c & 15];
            n += 6;
        }
    }
    out[report_whole_characters(out, n)] = '\0';
    return out;
}

void report(SchemaCheck *k, const SchemaNode *node, SchemaKeyword keyword, const JsonNode *json,
            const char *format, ...)
{
    char words[REPORT_MAX_MESSAGE];
    size_t n_name = 0;
    va_list args;
    int n;
    Span message;

    if (!report_wants(k, keyword, json)) {
        return;
    }
    if (k->is_in_name) {
        n_name = (size_t)snprintf(words, sizeof(words), "the name ");
    }
    va_start(args, format);
    n = vsnprintf(words + n_name, sizeof(words) - n_name, format, args);
    va_end(args);
    if (n < 0) {
        return;
    }
    n_name += (size_t)n < sizeof(words) - n_name ? (size_t)n : sizeof(words) - n_name - 1;
    message = arena_copy(&k->arena, span_make(words, report_whole_characters(words, n_name)));
    if (message.p == NULL) {
        k->is_out_of_memory = true;
        return;
    }
    k->raw[k->n_errors++] = (RunError){json, node, keyword, message};
}

/* Cuts s to a length that fits a sentence, at a character's border. */
static Span report_quote(Span s)
{
    size_t n = s.n;

    if (n <= REPORT_MAX_QUOTE) {
        return s;
    }
    n = REPORT_MAX_QUOTE;
    while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
        n--;
    }
    return span_make(s.p, n);
}

static Span report_span(const SchemaCheck *k, const JsonNode *json)
{
    return report_quote(json_span(run_value(k, json)));
}

/* "string, number or null" */
static void report_type_names(uint32_t declared, Bytes *out)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } names[] = {
        {"object", 1u << JSON_OBJECT},    {"array", 1u << JSON_ARRAY},
        {"string", 1u << JSON_STRING},    {"number", 1u << JSON_NUMBER},
        {"integer", SCHEMA_TYPE_INTEGER}, {"boolean", 1u << JSON_TRUE},
        {"null", 1u << JSON_NULL},
    };
    uint32_t left = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        left += (declared & names[i].bits) != 0;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        if ((declared & names[i].bits) != 0) {
            left--;
            (void)bytes_append_format(out, "%s%s", names[i].name,
                                      left > 1 ? ", " : (left == 1 ? " or " : ""));
        }
    }
}

void report_type(SchemaCheck *k, const SchemaNode *node, const JsonNode *json)
{
    if (!k->is_collecting) {
        return;
    }
    if ((node->flags & SCHEMA_NODE_FALSE) != 0) {
        report(k, node, SCHEMA_KW_COUNT, json, "no value is allowed here");
        return;
    }
    if (k->n_muted > 0 || k->n_errors == LIMIT_SCHEMA_ERRORS) {
        (void)report_wants(k, SCHEMA_KW_TYPE, json);
        return;
    }
    bytes_clear(&k->path);
    report_type_names(node->declared, &k->path);
    report(k, node, SCHEMA_KW_TYPE, json, "expected %.*s, got %s", (int)k->path.n,
           k->path.n == 0 ? "" : k->path.data, json_kind_name(json_kind(run_value(k, json))));
}

static void report_choices(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                           const JsonNode *json)
{
    /* The schema's own text lists the choices in the author's order and spelling. */
    const SchemaOrigin *origin = &k->schema->origins[node - k->schema->nodes];
    JsonValue at = {k->schema->docs[origin->doc].json.text, origin->json};
    const SchemaKeywordInfo *info = schema_keyword_info((SchemaKeyword)op->keyword);
    Span got = report_span(k, json);
    JsonValue listed;
    size_t n_left = 0;

    if (!json_get(at, info->name, &listed)) {
        return;
    }
    if (op->keyword == SCHEMA_KW_CONST) {
        Span wanted = report_quote(json_span(listed));

        report(k, node, SCHEMA_KW_CONST, json, "must be %.*s, got %.*s", (int)wanted.n, wanted.p,
               (int)got.n, got.p);
        return;
    }
    bytes_clear(&k->path);
    n_left = json_count(listed);
    for (JsonIter it = json_iter(listed); json_iter_next(&it);) {
        Span choice = report_quote(json_span(it.value));

        if (k->path.n + choice.n > REPORT_MAX_MESSAGE / 2) {
            (void)bytes_append_format(&k->path, "… (%zu more)", n_left);
            break;
        }
        n_left--;
        (void)bytes_append_format(&k->path, "%.*s%s", (int)choice.n, choice.p,
                                  n_left > 0 ? ", " : "");
    }
    report(k, node, SCHEMA_KW_ENUM, json, "must be one of %.*s; got %.*s", (int)k->path.n,
           k->path.n == 0 ? "" : k->path.data, (int)got.n, got.p);
}

static void report_bound(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                         const JsonNode *json)
{
    Span bound = report_quote(json_span(k->schema->bounds[op->a].value));
    Span got = report_span(k, json);
    const char *words;

    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_MINIMUM:
        words = "at least";
        break;
    case SCHEMA_OP_MAXIMUM:
        words = "at most";
        break;
    case SCHEMA_OP_EXCLUSIVE_MINIMUM:
        words = "greater than";
        break;
    case SCHEMA_OP_EXCLUSIVE_MAXIMUM:
        words = "less than";
        break;
    default:
        words = "a multiple of";
        break;
    }
    report(k, node, (SchemaKeyword)op->keyword, json, "must be %s %.*s, got %.*s", words,
           (int)bound.n, bound.p, (int)got.n, got.p);
}

static void report_length(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                          const JsonNode *json)
{
    size_t n = json_string_length(run_value(k, json));
    bool is_short = n < op->a;
    uint32_t bound = is_short ? op->a : op->b;

    report(k, node, is_short ? SCHEMA_KW_MIN_LENGTH : SCHEMA_KW_MAX_LENGTH, json,
           "must have at %s %u character%s, has %zu", is_short ? "least" : "most", (unsigned)bound,
           bound == 1 ? "" : "s", n);
}

static void report_string(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                          const JsonNode *json)
{
    char source[REPORT_TEXT_BYTES];

    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_LENGTH:
        report_length(k, node, op, json);
        break;
    case SCHEMA_OP_FORMAT:
        report(k, node, SCHEMA_KW_FORMAT, json, "%.*s is not a valid %s",
               (int)report_span(k, json).n, report_span(k, json).p,
               schema_format_name((SchemaFormat)op->a));
        break;
    default:
        report(k, node, SCHEMA_KW_PATTERN, json, "%.*s does not match the pattern %s",
               (int)report_span(k, json).n, report_span(k, json).p,
               report_text(k->schema->regexes[op->a].source, source));
        break;
    }
}

/* Too few or too many elements or members. */
static void report_count(SchemaCheck *k, const SchemaNode *node, const JsonNode *json, uint64_t got,
                         uint32_t at_least, const SchemaKeyword keywords[2], uint32_t at_most,
                         const char *what)
{
    bool too_few = got < at_least;
    uint32_t bound = too_few ? at_least : at_most;

    report(k, node, keywords[too_few ? 0 : 1], json, "must have at %s %u %s%s, has %llu",
           too_few ? "least" : "most", (unsigned)bound, what, bound == 1 ? "" : "s",
           (unsigned long long)got);
}

static void report_container(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                             const JsonNode *json, uint64_t got)
{
    static const SchemaKeyword items[2] = {SCHEMA_KW_MIN_ITEMS, SCHEMA_KW_MAX_ITEMS};
    static const SchemaKeyword members[2] = {SCHEMA_KW_MIN_PROPERTIES, SCHEMA_KW_MAX_PROPERTIES};
    const SchemaKeyword found[2] = {op->b > 1 ? SCHEMA_KW_MIN_CONTAINS : SCHEMA_KW_CONTAINS,
                                    SCHEMA_KW_MAX_CONTAINS};

    if (op->code == SCHEMA_OP_ARRAY) {
        const SchemaArrayPlan *plan = &k->schema->arrays[op->a];

        report_count(k, node, json, got, plan->min_items, items, plan->max_items, "item");
    } else if (op->code == SCHEMA_OP_OBJECT) {
        const SchemaObjectPlan *plan = &k->schema->objects[op->a];

        report_count(k, node, json, got, plan->min_properties, members, plan->max_properties,
                     "member");
    } else {
        report_count(k, node, json, got, op->b, found, op->c, "matching item");
    }
}

void report_op(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op, const JsonNode *json,
               uint64_t got)
{
    if (!k->is_collecting) {
        return;
    }
    if (k->n_muted > 0 || k->n_errors == LIMIT_SCHEMA_ERRORS) {
        (void)report_wants(
            k, op->code == SCHEMA_OP_WHOLE ? SCHEMA_KW_TYPE : (SchemaKeyword)op->keyword, json);
        return;
    }
    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_WHOLE:
        report(k, node, SCHEMA_KW_TYPE, json, "expected integer, got %.*s",
               (int)report_span(k, json).n, report_span(k, json).p);
        break;
    case SCHEMA_OP_ENUM_STRINGS:
    case SCHEMA_OP_ENUM_VALUES:
        report_choices(k, node, op, json);
        break;
    case SCHEMA_OP_LENGTH:
    case SCHEMA_OP_PATTERN:
    case SCHEMA_OP_FORMAT:
        report_string(k, node, op, json);
        break;
    case SCHEMA_OP_ARRAY:
    case SCHEMA_OP_CONTAINS:
    case SCHEMA_OP_OBJECT:
        report_container(k, node, op, json, got);
        break;
    case SCHEMA_OP_ANY:
    case SCHEMA_OP_ONE:
        report(k, node, (SchemaKeyword)op->keyword, json, "matches none of the %u alternatives",
               (unsigned)op->b);
        break;
    case SCHEMA_OP_NOT:
        report(k, node, SCHEMA_KW_NOT, json, "must not be like this (it matches \"not\")");
        break;
    default:
        report_bound(k, node, op, json);
        break;
    }
}

void report_false(SchemaCheck *k, const SchemaNode *node, SchemaKeyword keyword,
                  const JsonNode *json)
{
    switch (keyword) {
    case SCHEMA_KW_ADDITIONAL_PROPERTIES:
    case SCHEMA_KW_UNEVALUATED_PROPERTIES:
        report(k, node, keyword, json, "unknown property");
        break;
    case SCHEMA_KW_PROPERTIES:
    case SCHEMA_KW_PATTERN_PROPERTIES:
        report(k, node, keyword, json, "this property is not allowed");
        break;
    case SCHEMA_KW_PROPERTY_NAMES:
        report(k, node, keyword, json, "is not allowed");
        break;
    default:
        report(k, node, keyword, json, "no item is allowed here");
        break;
    }
}

/* Copies what k->path holds; "" if there is nothing. */
static int report_take_path(SchemaCheck *k, Span *ret)
{
    *ret = arena_copy(&k->arena, k->path.n == 0 ? SPAN("") : bytes_span(&k->path));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

/* Appends the pointer of target to k->path, or as many whole steps of it as fit and a mark. 0,
 * -ENOMEM, BYTES_E_FULL: it was cut. */
static int report_pointer(SchemaCheck *k, JsonValue root, JsonValue target)
{
    int r = json_pointer_of(root, target, &k->path);

    if (r <= 0) {
        return r;
    }
    while (root.node != target.node) {
        JsonIter it = json_iter(root);
        size_t n_before = k->path.n;

        /* The child whose subtree holds the target. */
        while (json_iter_next(&it) && it.next <= target.node) {
        }
        r = json_pointer_of(root, it.value, &k->path);
        if (r < 0) {
            return r;
        }
        if (r != 0 || k->path.n > RUN_MAX_PATH_BYTES) {
            k->path.n = n_before;
            break;
        }
        root = it.value;
    }
    r = bytes_append_span(&k->path, SPAN(REPORT_PATH_CUT));
    return r < 0 ? r : BYTES_E_FULL;
}

static int report_schema_path(SchemaCheck *k, const RunError *raw, Span *ret)
{
    const SchemaOrigin *origin = &k->schema->origins[raw->node - k->schema->nodes];
    const SchemaDoc *doc = &k->schema->docs[origin->doc];
    int r = 0;

    bytes_clear(&k->path);
    if (origin->doc > 0) {
        r = bytes_append_span(&k->path, doc->uri);
    }
    if (r == 0) {
        r = bytes_append_byte(&k->path, '#');
    }
    if (r == 0) {
        r = report_pointer(k, json_root(&doc->json), (JsonValue){doc->json.text, origin->json});
    }
    if (r == 0 && raw->keyword < SCHEMA_KW_COUNT) {
        r = bytes_append_format(&k->path, "/%s", schema_keyword_info(raw->keyword)->name.p);
    }
    /* A path that passes the maximum is cut: BYTES_E_FULL is no failure here. */
    return r < 0 ? err_pass(r) : report_take_path(k, ret);
}

int report_finish(SchemaCheck *k)
{
    for (uint32_t i = 0; i < k->n_errors; i++) {
        SchemaError *error = &k->errors[i];
        int r;

        bytes_clear(&k->path);
        r = report_pointer(k, run_value(k, k->root), run_value(k, k->raw[i].json));
        r = r < 0 ? err_pass(r) : report_take_path(k, &error->instance_path);
        if (r == 0) {
            r = report_schema_path(k, &k->raw[i], &error->schema_path);
        }
        if (r != 0) {
            k->n_errors = 0;
            return r;
        }
        error->message = k->raw[i].message;
    }
    return 0;
}
