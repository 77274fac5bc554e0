#include "json/schema/compile.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/schema/regex.h"
#include "json/schema/regex_syntax.h"
#include "json/schema/uri.h"

/* Documents, index and program of one schema. The official MCP schema takes 2 MiB. */
#define SCHEMA_MAX_BYTES ((size_t)256 * 1024 * 1024)

static uint32_t compile_hash(const JsonNode *json, uint32_t n_slots)
{
    return (uint32_t)(((uint64_t)(uintptr_t)json * 0x9E3779B97F4A7C15u) >> 32) & (n_slots - 1);
}

static CompileSlot *compile_slot(CompileSlot *slots, uint32_t n_slots, const JsonNode *json)
{
    uint32_t at = compile_hash(json, n_slots);

    while (slots[at].json != NULL && slots[at].json != json) {
        at = (at + 1) & (n_slots - 1);
    }
    return &slots[at];
}

static int compile_grow_map(Compiler *c)
{
    uint32_t n = c->n_slots == 0 ? 64 : c->n_slots * 2;
    CompileSlot *slots = arena_alloc_array(&c->schema->arena, n, sizeof(*slots));

    if (slots == NULL) {
        return err_raise(-ENOMEM);
    }
    for (uint32_t i = 0; i < c->n_slots; i++) {
        if (c->slots[i].json != NULL) {
            *compile_slot(slots, n, c->slots[i].json) = c->slots[i];
        }
    }
    c->slots = slots;
    c->n_slots = n;
    return 0;
}

int compile_intern(Compiler *c, uint32_t doc, const JsonNode *json, uint32_t *ret)
{
    Schema *schema = c->schema;
    CompileSlot *slot;

    if (schema->n_nodes * 2 >= c->n_slots) {
        int r = compile_grow_map(c);

        if (r != 0) {
            return r;
        }
    }
    slot = compile_slot(c->slots, c->n_slots, json);
    if (slot->json == NULL) {
        if (schema->n_nodes >= LIMIT_SCHEMA_NODES) {
            return loader_fail(&c->loader, SCHEMA_E_LIMIT, doc, json, SCHEMA_KW_COUNT,
                               "more than %d subschemas", LIMIT_SCHEMA_NODES);
        }
        if (!VEC_ROOM(&schema->arena, schema->nodes, schema->n_nodes, c->cap_nodes) ||
            !VEC_ROOM(&schema->arena, schema->origins, schema->n_nodes, c->cap_origins) ||
            !VEC_ROOM(&schema->arena, c->aliases, schema->n_nodes, c->cap_aliases)) {
            return err_raise(-ENOMEM);
        }
        schema->nodes[schema->n_nodes] = (SchemaNode){.types = SCHEMA_ALL_KINDS};
        schema->origins[schema->n_nodes] = (SchemaOrigin){doc, json};
        c->aliases[schema->n_nodes] = SCHEMA_NONE;
        *slot = (CompileSlot){json, schema->n_nodes++};
    }
    *ret = slot->node;
    return 0;
}

int compile_child(Subschema *s, JsonValue v, uint32_t *ret)
{
    return compile_intern(s->c, s->doc, v.node, ret);
}

void compile_emit(Subschema *s, uint32_t kinds, SchemaOpCode code, SchemaKeyword keyword,
                  uint32_t a, uint32_t b, uint32_t c)
{
    /* The array is larger than the number of calls to this function. */
    if (s->n_ops < COMPILE_MAX_OPS) {
        s->ops[s->n_ops++] = (CompileOp){
            {.code = (uint8_t)code, .keyword = (uint8_t)keyword, .a = a, .b = b, .c = c}, kinds};
    }
}

int compile_edge(Subschema *s, uint32_t node)
{
    Compiler *c = s->c;

    if (!VEC_ROOM(&c->schema->arena, c->edges, c->n_edges, c->cap_edges)) {
        return err_raise(-ENOMEM);
    }
    c->edges[c->n_edges++] = node;
    return 0;
}

int compile_malformed(Subschema *s, SchemaKeyword keyword, const char *format, ...)
{
    char words[DIAG_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    return loader_fail(&s->c->loader, SCHEMA_E_MALFORMED, s->doc, s->json, keyword, "%s", words);
}

int compile_count(Subschema *s, SchemaKeyword keyword, uint32_t fallback, uint32_t *ret)
{
    JsonValue v = s->kw[keyword];
    uint64_t count;
    int64_t whole;
    Span text;

    *ret = fallback;
    if (v.node == NULL) {
        return 0;
    }
    text = json_span(v);
    if (json_kind(v) == JSON_NUMBER && json_int64(v, &whole) == 0 && whole == 0) {
        /* Also "-0". */
        *ret = 0;
        return 0;
    }
    if (json_kind(v) != JSON_NUMBER || !json_number_is_whole(v) || text.p[0] == '-') {
        return compile_malformed(s, keyword, "expected a whole number from 0, got %.*s",
                                 (int)text.n, text.p);
    }
    *ret = json_uint64(v, &count) == 0 && count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    return 0;
}

int compile_regex(Subschema *s, SchemaKeyword keyword, JsonValue pattern, uint32_t *ret)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    const char *refused;
    char reason[120];
    Span source;
    int r;

    if (json_kind(pattern) != JSON_STRING) {
        return compile_malformed(s, keyword, "expected a string, got %s",
                                 json_kind_name(json_kind(pattern)));
    }
    r = loader_string(&c->loader, pattern, &source);
    if (r != 0) {
        return err_pass(r);
    }
    refused = regex_syntax_refuse(source);
    if (refused != NULL) {
        return compile_malformed(s, keyword, "not a regular expression of ECMA-262: %s (%.*s)",
                                 refused, (int)source.n, source.p);
    }
    if (!VEC_ROOM(&schema->arena, schema->regexes, schema->n_regexes, c->cap_regexes)) {
        return err_raise(-ENOMEM);
    }
    r = regex_compile(&schema->regexes[schema->n_regexes], &schema->arena, schema->regex_memory,
                      source, reason, sizeof(reason));
    if (r == REGEX_E_MALFORMED) {
        return compile_malformed(s, keyword, "not a regular expression: %s (%.*s)", reason,
                                 (int)source.n, source.p);
    }
    if (r != 0) {
        return err_pass(r);
    }
    *ret = schema->n_regexes++;
    return 0;
}

/* Collects the keywords that the resource's dialect and vocabularies know. */
static int compile_gather(Subschema *s, JsonValue v)
{
    const SchemaResource *resource = &s->c->loader.resources[s->resource];
    uint32_t dialect = resource->dialect == SCHEMA_DIALECT_2020_12 ? SCHEMA_IN_2020 : SCHEMA_IN_07;

    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        Span name;
        SchemaKeyword keyword;
        const SchemaKeywordInfo *info;
        int r = loader_string(&s->c->loader, it.key, &name);

        if (r != 0) {
            return err_pass(r);
        }
        keyword = schema_keyword_find(name);
        if (keyword == SCHEMA_KW_COUNT) {
            continue;
        }
        info = schema_keyword_info(keyword);
        if ((info->dialects & dialect) != 0 && (info->vocab & resource->vocab) != 0) {
            s->kw[keyword] = it.value;
        }
    }
    if (dialect == SCHEMA_IN_07 && subschema_has(s, SCHEMA_KW_REF)) {
        JsonValue ref = s->kw[SCHEMA_KW_REF];

        /* Draft-07: "$ref" voids everything beside it. */
        memset(s->kw, 0, sizeof(s->kw));
        s->kw[SCHEMA_KW_REF] = ref;
    }
    return 0;
}

/* Writes the list of ops for one kind; two kinds with the same ops share it. */
static int compile_write_list(Subschema *s, uint32_t kind, uint32_t *lists)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    uint64_t chosen = 0;
    static const SchemaOp end = {.code = SCHEMA_OP_END};

    for (uint32_t i = 0; i < s->n_ops; i++) {
        chosen |= (uint64_t)((s->ops[i].kinds >> kind) & 1u) << i;
    }
    lists[kind] = 0;
    if (chosen == 0 || ((s->types >> kind) & 1u) == 0) {
        return 0;
    }
    for (uint32_t other = 0; other < kind; other++) {
        uint64_t same = 0;

        for (uint32_t i = 0; i < s->n_ops; i++) {
            same |= (uint64_t)((s->ops[i].kinds >> other) & 1u) << i;
        }
        if (same == chosen && lists[other] != 0) {
            lists[kind] = lists[other];
            return 0;
        }
    }
    lists[kind] = c->n_ops;
    for (uint32_t i = 0; i <= s->n_ops; i++) {
        if (i < s->n_ops && ((chosen >> i) & 1u) == 0) {
            continue;
        }
        if (!VEC_ROOM(&schema->arena, schema->ops, c->n_ops, c->cap_ops)) {
            return err_raise(-ENOMEM);
        }
        schema->ops[c->n_ops++] = i < s->n_ops ? s->ops[i].op : end;
    }
    return 0;
}

/* Do the ops for scalars stay within the node? */
static bool compile_is_leaf(const Subschema *s)
{
    const uint32_t scalars = SCHEMA_ALL_KINDS & ~(COMPILE_KINDS_ARRAY | COMPILE_KINDS_OBJECT);

    for (uint32_t i = 0; i < s->n_ops; i++) {
        if ((s->ops[i].kinds & scalars) != 0 && s->ops[i].op.code >= SCHEMA_OP_ARRAY) {
            return false;
        }
    }
    return true;
}

static int compile_write(Subschema *s)
{
    SchemaNode node = {.types = (uint8_t)s->types,
                       .flags = (uint8_t)s->flags,
                       .declared = (uint16_t)s->declared,
                       .resource = s->resource};

    if (compile_is_leaf(s)) {
        node.flags |= SCHEMA_NODE_LEAF;
    }
    for (uint32_t kind = 0; kind < SCHEMA_N_KINDS; kind++) {
        int r = compile_write_list(s, kind, node.ops);

        if (r != 0) {
            return r;
        }
    }
    if (s->n_ops == 1 && s->ops[0].op.code == SCHEMA_OP_REF && s->types == SCHEMA_ALL_KINDS) {
        s->c->aliases[s->id] = s->ops[0].op.a;
    }
    s->c->schema->nodes[s->id] = node;
    return 0;
}

static int compile_keywords(Subschema *s, JsonValue v)
{
    static int (*const groups[])(Subschema *) = {compile_values, compile_array, compile_object,
                                                 compile_applicators, compile_unevaluated};
    int r = compile_gather(s, v);

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(groups); i++) {
        r = groups[i](s);
    }
    return r;
}

static int compile_node(Compiler *c, uint32_t id)
{
    SchemaOrigin origin = c->schema->origins[id];
    Subschema s = {.c = c,
                   .id = id,
                   .doc = origin.doc,
                   .json = origin.json,
                   .resource = loader_resource_of(&c->loader, origin.doc, origin.json),
                   .types = SCHEMA_ALL_KINDS};
    JsonValue v = loader_value(&c->loader, origin.doc, origin.json);
    int r = 0;

    /* Whatever gets a number has been walked before, so its keywords have the right shapes. */
    assert(s.resource != SCHEMA_NONE);
    if (!VEC_ROOM(&c->schema->arena, c->first_edges, id, c->cap_first_edges)) {
        return err_raise(-ENOMEM);
    }
    c->first_edges[id] = c->n_edges;
    switch (json_kind(v)) {
    case JSON_TRUE:
        break;
    case JSON_FALSE:
        s.types = 0;
        s.flags = SCHEMA_NODE_FALSE;
        break;
    case JSON_OBJECT:
        r = compile_keywords(&s, v);
        break;
    default:
        r = compile_malformed(&s, SCHEMA_KW_COUNT,
                              "expected a schema (an object, true or false), got %s",
                              json_kind_name(json_kind(v)));
        break;
    }
    return r != 0 ? r : compile_write(&s);
}

/* Compiles the nodes that have a number but no program yet; doing so may number more. */
static int compile_pending(Compiler *c, uint32_t *n_done)
{
    int r = 0;

    while (r == 0 && *n_done < c->schema->n_nodes) {
        r = compile_node(c, *n_done);
        (*n_done)++;
    }
    return r;
}

static int compile_all(Compiler *c, const JsonNode *root_json)
{
    static const SchemaOp end = {.code = SCHEMA_OP_END};
    Schema *schema = c->schema;
    uint32_t n_done = 0;
    uint32_t root;
    bool grew = true;
    int r;

    if (!VEC_ROOM(&schema->arena, schema->ops, c->n_ops, c->cap_ops)) {
        return err_raise(-ENOMEM);
    }
    schema->ops[c->n_ops++] = end;
    r = compile_intern(c, 0, root_json, &root);
    /* What no reference reaches is compiled too: a mistake in "$defs" is reported before it is
     * used. */
    for (uint32_t i = 0; r == 0 && i < c->loader.n_subschemas; i++) {
        uint32_t id;

        r = compile_intern(c, 0, root_json + c->loader.subschemas[i], &id);
    }
    while (r == 0 && grew) {
        r = compile_pending(c, &n_done);
        if (r == 0) {
            r = compile_dynamic_table(c, &grew);
        }
    }
    if (r == 0) {
        r = compile_check_loops(c);
    }
    if (r == 0) {
        compile_skip_aliases(c);
        schema->docs = c->loader.docs;
        r = compile_parts(c);
    }
    return r;
}

int schema_new(Schema **ret, Span text, const SchemaOptions *options, Diag *reterr_diag)
{
    static const SchemaOptions defaults = {.dialect = SCHEMA_DIALECT_2020_12};
    Schema *schema = mem_alloc_array(1, sizeof(*schema));
    Compiler c;
    Span base;
    Span fragment;
    uint32_t root;
    int r;

    if (schema == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&schema->arena, SCHEMA_MAX_BYTES);
    schema->regex_memory = regex_memory_new();
    options = options != NULL ? options : &defaults;
    c = (Compiler){.schema = schema,
                   .options = options,
                   .loader = {.arena = &schema->arena, .options = options, .diag = reterr_diag}};
    uri_split_fragment(options->base_uri, &base, &fragment);
    r = schema->regex_memory == NULL ? err_raise(-ENOMEM)
                                     : uri_resolve(&schema->arena, SPAN(""), base, &base);
    if (r == 0) {
        r = loader_add(&c.loader, base, text, options->dialect, &root);
    }
    if (r == 0) {
        assert(c.loader.docs != NULL);
        r = compile_all(&c, c.loader.docs[0].json.nodes);
    }
    if (r != 0) {
        (void)schema_free(schema);
        return r;
    }
    *ret = schema;
    return 0;
}

Schema *schema_free(Schema *schema)
{
    if (schema != NULL) {
        for (uint32_t i = 0; i < schema->n_regexes; i++) {
            regex_deinit(&schema->regexes[i]);
        }
        pcre2_general_context_free(schema->regex_memory);
        arena_deinit(&schema->arena);
        (void)mem_free(schema);
    }
    return NULL;
}

size_t schema_n_nodes(const Schema *schema)
{
    return schema->n_nodes;
}
