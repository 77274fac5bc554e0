/* The members of an object as JavaScript lists them. */
#include "toolkit/templates/engine_impl.h"

#include <stdlib.h>
#include <string.h>

/* Objects of up to so many members are looked through for a name that comes twice; larger ones are
 * sorted at once. */
#define MEMBERS_FEW 12

/* Digits of the largest array index, 4294967294, each of which may be written as \u0030. */
#define MEMBERS_INDEX_DIGITS 10
#define MEMBERS_INDEX_BYTES  (MEMBERS_INDEX_DIGITS * 6)

static bool members_index(Span name, uint32_t *ret)
{
    uint64_t number = 0;

    if (name.n == 0 || name.n > MEMBERS_INDEX_DIGITS || (name.n > 1 && name.p[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] < '0' || name.p[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(name.p[i] - '0');
    }
    *ret = (uint32_t)number;
    return number < UINT32_MAX;
}

static bool members_key_is_index(JsonValue key)
{
    char room[MEMBERS_INDEX_BYTES];
    uint32_t number;
    Span name;

    if (json_string_plain(key, &name)) {
        return members_index(name, &number);
    }
    if (key.node->size - 2 > sizeof(room)) {
        return false;
    }
    return members_index(span_make(room, json_string_decode(key, room)), &number);
}

bool template_members_are_plain(JsonValue object)
{
    JsonValue keys[MEMBERS_FEW];
    uint32_t n = 0;

    if (json_count(object) > MEMBERS_FEW) {
        return false;
    }
    for (JsonIter it = json_iter(object); json_iter_next(&it); n++) {
        if (members_key_is_index(it.key)) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (json_string_same(keys[i], it.key)) {
                return false;
            }
        }
        keys[n] = it.key;
    }
    return true;
}

static int members_by_name(const void *left, const void *right)
{
    const TemplateMember *a = left;
    const TemplateMember *b = right;
    int c = span_compare(a->name, b->name);

    return c != 0 ? c : a->order < b->order ? -1 : a->order > b->order;
}

static int members_by_order(const void *left, const void *right)
{
    const TemplateMember *a = left;
    const TemplateMember *b = right;
    uint32_t x = a->is_number ? a->number : a->order;
    uint32_t y = b->is_number ? b->number : b->order;

    if (a->is_number != b->is_number) {
        return a->is_number ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* Of each name one is left, with the place of the first and the value of the last. */
static uint32_t members_unite(TemplateMember *members, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (kept > 0 && span_equals(members[kept - 1].name, members[i].name)) {
            members[kept - 1].value = members[i].value;
        } else {
            members[kept++] = members[i];
        }
    }
    return kept;
}

int template_members(JsonValue object, const TemplateMember *extra, TemplateScratch *scratch,
                     TemplateMember **ret, uint32_t *ret_n)
{
    TemplateMember *members = NULL;
    uint32_t n = 0;
    int r = template_scratch_take(scratch, ((size_t)json_count(object) + 1) * sizeof(*members),
                                  &members);

    for (JsonIter it = json_iter(object); r == 0 && json_iter_next(&it); n++) {
        TemplateValue key = template_value_json(it.key);

        members[n] = (TemplateMember){.value = template_value_json(it.value), .order = n};
        r = template_value_span(&key, scratch, &members[n].name);
    }
    if (r != 0) {
        return r;
    }
    if (extra != NULL) {
        members[n] = *extra;
        members[n].order = n;
        n++;
    }
    for (uint32_t i = 0; i < n; i++) {
        members[i].is_number = members_index(members[i].name, &members[i].number);
    }
    qsort(members, n, sizeof(*members), members_by_name);
    n = members_unite(members, n);
    qsort(members, n, sizeof(*members), members_by_order);
    *ret = members;
    *ret_n = n;
    return 0;
}
