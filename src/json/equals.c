/* Deep equality of two indexed values: by value, not by spelling. */
#include "json/equals.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/string_take.h"

/* Key comparisons before json_equals calls two objects different: about 50 ms. Without it, two
 * objects of 50,000 members in different order would take seconds. */
#define EQUALS_MAX_LOOKS (1u << 24)

/* Objects with more members are compared with the help of a table, where there is room for one. */
#define EQUALS_FEW_MEMBERS 16

/* Words of a scratch: the tables of all objects that are open at once. */
#define EQUALS_MAX_WORDS ((size_t)1 << 30)

/* A pair of containers in the middle of being compared. */
typedef struct EqualsFrame {
    const JsonNode *a_next; /* next element, or next key, of a */
    const JsonNode *a_end;
    const JsonNode *b_next;   /* the same of b, while both go in step */
    const JsonNode *a_object; /* else the objects to look keys up in; NULL while in step */
    const JsonNode *b_object;
    size_t
        pairs; /* or, by a's members, where in b_object the partner is: an index in the scratch */
    bool has_pairs; /* 0 there: a later duplicate counts */
    bool is_object;
} EqualsFrame;

typedef struct EqualsRun {
    const char *a_text;
    const char *b_text;
    EqualsScratch *scratch; /* NULL: none */
    int64_t n_steps_left;
    uint32_t n_looks;
    uint32_t depth;
    int error; /* < 0: no memory; EQUALS_E_LIMIT */
    EqualsFrame frames[LIMIT_JSON_DEPTH];
} EqualsRun;

/* Takes n steps from the budget; false if there are not so many. */
static bool equals_charge(EqualsRun *run, size_t n)
{
    run->n_steps_left -= (int64_t)n;
    if (run->n_steps_left < 0 && run->error == 0) {
        run->error = EQUALS_E_LIMIT;
    }
    return run->error == 0;
}

static bool equals_scalars(EqualsRun *run, JsonValue a, JsonValue b)
{
    if (json_kind(a) == JSON_STRING) {
        return equals_charge(run, a.node->size >> 5) && json_string_same(a, b);
    }
    if (json_kind(a) == JSON_NUMBER) {
        return span_equals(json_span(a), json_span(b)) ||
               (equals_charge(run, 3 + ((a.node->size + b.node->size) >> 3)) &&
                json_number_compare(a, b) == 0);
    }
    return true;
}

/* Do both objects hold the same keys in the same order? */
static bool equals_in_step(EqualsRun *run, JsonValue a, JsonValue b)
{
    JsonIter x = json_iter(a);
    JsonIter y = json_iter(b);

    while (json_iter_next(&x) && json_iter_next(&y)) {
        if (!equals_charge(run, 1 + (x.key.node->size >> 5)) || !json_string_same(x.key, y.key)) {
            return false;
        }
    }
    return json_count(a) == json_count(b);
}

/* Without a scratch, look-ups are bounded by their number. */
static bool equals_is_exhausted(const EqualsRun *run)
{
    return run->scratch == NULL && run->n_looks > EQUALS_MAX_LOOKS;
}

/* The last member of object `in` named like key; counts its work. */
static const JsonNode *equals_find(EqualsRun *run, JsonValue in, JsonValue key)
{
    const JsonNode *found = NULL;

    run->n_looks += json_count(in) + 1;
    (void)equals_charge(run, json_count(in) + (in.node->size >> 5));
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
        if (equals_is_exhausted(run)) {
            return 0;
        }
        n += equals_find(run, v, it.key) == it.value.node;
    }
    return n;
}

static uint64_t equals_mix(uint64_t h, const char *p, size_t n)
{
    uint64_t word = 0;

    memcpy(&word, p, n);
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

uint64_t equals_hash_string(JsonValue v)
{
    Span rest = json_string_content(v);
    uint64_t h = JSON_STRING;
    char piece[12]; /* decoded bytes, of which eight at a time are mixed in */
    size_t n = 0;

    while ((v.node->tag & JSON_NODE_ESCAPED) == 0 && rest.n >= 8) {
        h = equals_mix(h, rest.p, 8);
        rest = span_make(rest.p + 8, rest.n - 8);
    }
    while (rest.n > 0) {
        char code[4];
        unsigned n_code = json_string_take(&rest, code);

        memcpy(piece + n, code, n_code);
        n += n_code;
        if (n >= 8) {
            h = equals_mix(h, piece, 8);
            n -= 8;
            memcpy(piece, piece + 8, n);
        }
    }
    h = (equals_mix(h, piece, n) ^ n) * 0xBF58476D1CE4E5B9u;
    return h ^ (h >> 32);
}

void equals_scratch_deinit(EqualsScratch *scratch)
{
    (void)mem_free(scratch->words);
    *scratch = (EqualsScratch){NULL, 0, 0};
}

/* n zeroed words on top of the stack; their index. False, with run->error set, if there is no
 * memory. */
static bool equals_push(EqualsRun *run, size_t n, size_t *ret)
{
    EqualsScratch *s = run->scratch;

    if (n > s->cap_words - s->n_words) {
        size_t cap = (s->n_words + n) * 2;
        uint32_t *words =
            cap > EQUALS_MAX_WORDS ? NULL : mem_realloc(s->words, cap * sizeof(*words));

        if (words == NULL) {
            run->error = err_raise(-ENOMEM);
            return false;
        }
        s->words = words;
        s->cap_words = cap;
    }
    memset(s->words + s->n_words, 0, n * sizeof(*s->words));
    *ret = s->n_words;
    s->n_words += n;
    return true;
}

/* The slot of the object's member that is named like key, or the empty one where it would be. A
 * slot holds the distance of the member's name from the object, 0 if it is empty. */
static size_t equals_slot(EqualsRun *run, size_t table, size_t n_slots, JsonValue object,
                          JsonValue key)
{
    const uint32_t *words = run->scratch->words + table;
    size_t slot = (size_t)equals_hash_string(key) & (n_slots - 1);

    while (equals_charge(run, 2 + (key.node->size >> 4)) && words[slot] != 0 &&
           !json_string_same((JsonValue){object.text, object.node + words[slot]}, key)) {
        slot = (slot + 1) & (n_slots - 1);
    }
    return table + slot;
}

/* Fills the table with the object's members, the last of duplicates; their number. */
static uint32_t equals_fill(EqualsRun *run, size_t table, size_t n_slots, JsonValue object)
{
    uint32_t *words = run->scratch->words;
    uint32_t n = 0;

    memset(words + table, 0, n_slots * sizeof(*words));
    for (JsonIter it = json_iter(object); run->error == 0 && json_iter_next(&it);) {
        size_t slot = equals_slot(run, table, n_slots, object, it.key);

        n += words[slot] == 0;
        words[slot] = (uint32_t)(it.key.node - object.node);
    }
    return n;
}

/* Finds the partner of each member of a in b; false if one has none. */
static bool equals_pair_up(EqualsRun *run, JsonValue a, JsonValue b, size_t *ret_pairs)
{
    uint32_t n_most = json_count(a) > json_count(b) ? json_count(a) : json_count(b);
    size_t n_slots = 32;
    bool all = true;
    uint32_t *words;
    size_t table;
    uint32_t i = 0;
    uint32_t n;

    while (n_slots < (size_t)n_most * 2) {
        n_slots *= 2;
    }
    if (!equals_push(run, json_count(a), ret_pairs)) {
        return false;
    }
    if (!equals_push(run, n_slots, &table)) {
        return false;
    }
    words = run->scratch->words;
    n = equals_fill(run, table, n_slots, a);
    for (JsonIter it = json_iter(a); run->error == 0 && json_iter_next(&it); i++) {
        size_t slot = equals_slot(run, table, n_slots, a, it.key);

        words[*ret_pairs + i] = words[slot] == (uint32_t)(it.key.node - a.node);
    }
    all = run->error == 0 && equals_fill(run, table, n_slots, b) == n;
    i = 0;
    for (JsonIter it = json_iter(a); all && run->error == 0 && json_iter_next(&it); i++) {
        if (words[*ret_pairs + i] != 0) {
            words[*ret_pairs + i] = words[equals_slot(run, table, n_slots, b, it.key)];
            all = words[*ret_pairs + i] != 0;
        }
    }
    run->scratch->n_words = table;
    return all && run->error == 0;
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
    if (json_kind(a) == JSON_OBJECT && !equals_in_step(run, a, b)) {
        frame.a_object = a.node;
        frame.b_object = b.node;
        frame.has_pairs = run->scratch != NULL && (json_count(a) > EQUALS_FEW_MEMBERS ||
                                                   json_count(b) > EQUALS_FEW_MEMBERS);
        if (frame.has_pairs) {
            if (!equals_pair_up(run, a, b, &frame.pairs)) {
                return false;
            }
        } else if (equals_distinct(run, a) != equals_distinct(run, b) || equals_is_exhausted(run)) {
            return false;
        }
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
    *ret_b = (JsonValue){run->b_text, NULL};
    if (top->has_pairs) {
        uint32_t partner = run->scratch->words[top->pairs++];

        ret_b->node = partner == 0 ? NULL : top->b_object + partner + 1;
        return true;
    }
    /* Looked up in both: among duplicates of a, too, it is the last that counts, and it is compared
     * once. Comparing it for each of its duplicates would take 2^depth steps on nested ones. */
    if (equals_find(run, (JsonValue){run->a_text, top->a_object}, key) != ret_a->node) {
        return !equals_is_exhausted(run);
    }
    ret_b->node = equals_find(run, (JsonValue){run->b_text, top->b_object}, key);
    return ret_b->node != NULL && !equals_is_exhausted(run);
}

static bool equals_pair(EqualsRun *run, JsonValue a, JsonValue b)
{
    if (!equals_charge(run, 1) || json_kind(a) != json_kind(b)) {
        return false;
    }
    return json_kind(a) < JSON_ARRAY ? equals_scalars(run, a, b) : equals_enter(run, a, b);
}

/* The frames are written before they are read: clearing them would cost more than most comparisons.
 */
static bool equals_run(EqualsRun *run, JsonValue a, JsonValue b)
{
    run->a_text = a.text;
    run->b_text = b.text;
    run->n_looks = 0;
    run->depth = 0;
    run->error = 0;
    if (!equals_pair(run, a, b)) {
        return false;
    }
    while (run->depth > 0) {
        EqualsFrame *top = &run->frames[run->depth - 1];

        if (top->a_next == top->a_end) {
            run->depth--;
        } else if (!equals_next_pair(run, top, &a, &b) ||
                   (b.node != NULL && !equals_pair(run, a, b))) {
            return false;
        }
    }
    return true;
}

bool json_equals(JsonValue a, JsonValue b)
{
    EqualsRun run;

    run.scratch = NULL;
    run.n_steps_left = INT64_MAX;
    return equals_run(&run, a, b);
}

int equals_within(JsonValue a, JsonValue b, EqualsScratch *scratch, int64_t *n_steps_left)
{
    EqualsRun run;
    bool equal;

    run.scratch = scratch;
    run.n_steps_left = *n_steps_left;
    equal = equals_run(&run, a, b);
    *n_steps_left = run.n_steps_left;
    scratch->n_words = 0;
    if (run.error != 0) {
        return run.error;
    }
    return equal ? 0 : EQUALS_E_DIFFERENT;
}
