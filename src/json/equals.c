/* Deep equality of two indexed values: by value, not by spelling. */
#include "json/json.h"

#include "base/limits.h"

/* Key comparisons before two objects count as different: about 50 ms. Without it, two objects of
 * 50,000 members in different order would take seconds. */
#define EQUALS_MAX_LOOKS (1u << 24)

/* A pair of containers in the middle of being compared. */
typedef struct EqualsFrame {
    const JsonNode *a_next; /* next element, or next key, of a */
    const JsonNode *a_end;
    const JsonNode *b_next;   /* the same of b, while both go in step */
    const JsonNode *a_object; /* else the objects to look keys up in; NULL while in step */
    const JsonNode *b_object;
    bool is_object;
} EqualsFrame;

typedef struct EqualsRun {
    const char *a_text;
    const char *b_text;
    uint32_t n_looks;
    uint32_t depth;
    EqualsFrame frames[LIMIT_JSON_DEPTH];
} EqualsRun;

static bool equals_scalars(JsonValue a, JsonValue b)
{
    if (json_kind(a) == JSON_STRING) {
        return json_string_same(a, b);
    }
    if (json_kind(a) == JSON_NUMBER) {
        return json_number_compare(a, b) == 0;
    }
    return true;
}

/* Do both objects hold the same keys in the same order? */
static bool equals_in_step(JsonValue a, JsonValue b)
{
    JsonIter x = json_iter(a);
    JsonIter y = json_iter(b);

    while (json_iter_next(&x) && json_iter_next(&y)) {
        if (!json_string_same(x.key, y.key)) {
            return false;
        }
    }
    return json_count(a) == json_count(b);
}

/* The last member of object `in` named like key; counts its work. */
static const JsonNode *equals_find(EqualsRun *run, JsonValue in, JsonValue key)
{
    const JsonNode *found = NULL;

    run->n_looks += json_count(in) + 1;
    for (JsonIter it = json_iter(in); json_iter_next(&it);) {
        if (json_string_same(it.key, key)) {
            found = it.value.node;
        }
    }
    return found;
}

/* Members of v after duplicates are merged into their last; 0 when the work runs out. */
static uint32_t equals_distinct(EqualsRun *run, JsonValue v)
{
    uint32_t n = 0;

    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        if (run->n_looks > EQUALS_MAX_LOOKS) {
            return 0;
        }
        n += equals_find(run, v, it.key) == it.value.node;
    }
    return n;
}

/* Begins to compare two containers of one kind; false if a look at their outside tells them apart.
 */
static bool equals_enter(EqualsRun *run, JsonValue a, JsonValue b)
{
    EqualsFrame frame = {.a_next = a.node + 1,
                         .a_end = a.node + a.node->skip,
                         .b_next = b.node + 1,
                         .is_object = json_kind(a) == JSON_OBJECT};

    if (json_kind(a) == JSON_ARRAY && json_count(a) != json_count(b)) {
        return false;
    }
    if (json_kind(a) == JSON_OBJECT && !equals_in_step(a, b)) {
        uint32_t n = equals_distinct(run, a);

        if (n != equals_distinct(run, b) || run->n_looks > EQUALS_MAX_LOOKS) {
            return false;
        }
        frame.a_object = a.node;
        frame.b_object = b.node;
    }
    if (run->depth == LIMIT_JSON_DEPTH) {
        /* Deeper than any text of ours is read: let the spelling decide. */
        return span_equals(json_span(a), json_span(b));
    }
    run->frames[run->depth++] = frame;
    return true;
}

/* Takes the next pair of values out of the top frame; ret_b->node is NULL if there is nothing to
 * compare, because a later duplicate counts instead. False if a key of a is not in b. */
static bool equals_next_pair(EqualsRun *run, EqualsFrame *top, JsonValue *ret_a, JsonValue *ret_b)
{
    JsonValue key = {run->a_text, top->a_next};

    top->a_next += top->is_object;
    *ret_a = (JsonValue){run->a_text, top->a_next};
    top->a_next += top->a_next->skip;
    if (top->b_object == NULL) {
        top->b_next += top->is_object;
        *ret_b = (JsonValue){run->b_text, top->b_next};
        top->b_next += top->b_next->skip;
        return true;
    }
    /* Looked up in both: among duplicates of a, too, it is the last that counts, and it is compared
     * once. Comparing it for each of its duplicates would take 2^depth steps on nested ones. */
    *ret_b = (JsonValue){run->b_text, NULL};
    if (equals_find(run, (JsonValue){run->a_text, top->a_object}, key) != ret_a->node) {
        return run->n_looks <= EQUALS_MAX_LOOKS;
    }
    ret_b->node = equals_find(run, (JsonValue){run->b_text, top->b_object}, key);
    return ret_b->node != NULL && run->n_looks <= EQUALS_MAX_LOOKS;
}

static bool equals_pair(EqualsRun *run, JsonValue a, JsonValue b)
{
    if (json_kind(a) != json_kind(b)) {
        return false;
    }
    return json_kind(a) < JSON_ARRAY ? equals_scalars(a, b) : equals_enter(run, a, b);
}

bool json_equals(JsonValue a, JsonValue b)
{
    /* Only the head is set: the frames are written before they are read, and clearing them would
     * cost more than most comparisons. */
    EqualsRun run;

    run.a_text = a.text;
    run.b_text = b.text;
    run.n_looks = 0;
    run.depth = 0;
    if (!equals_pair(&run, a, b)) {
        return false;
    }
    while (run.depth > 0) {
        EqualsFrame *top = &run.frames[run.depth - 1];

        if (top->a_next == top->a_end) {
            run.depth--;
        } else if (!equals_next_pair(&run, top, &a, &b) ||
                   (b.node != NULL && !equals_pair(&run, a, b))) {
            return false;
        }
    }
    return true;
}
