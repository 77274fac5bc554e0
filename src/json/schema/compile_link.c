/* The last steps of compiling, when all nodes are known. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/compile.h"

typedef struct LinkFrame {
    uint32_t node;
    uint32_t next_edge;
} LinkFrame;

typedef enum LinkColour {
    LINK_NEW,
    LINK_OPEN,
    LINK_DONE
} LinkColour;

static uint32_t link_end_of_edges(const Compiler *c, uint32_t node)
{
    return node + 1 < c->schema->n_nodes ? c->first_edges[node + 1] : c->n_edges;
}

/* Depth-first from one node along edges to subschemas for the same value; a node met again while it
 * is still open closes a loop. */
static int link_search(Compiler *c, uint8_t *colours, LinkFrame *stack, uint32_t start)
{
    uint32_t n = 0;

    stack[n++] = (LinkFrame){start, c->first_edges[start]};
    colours[start] = LINK_OPEN;
    while (n > 0) {
        LinkFrame *top = &stack[n - 1];
        uint32_t to;

        if (top->next_edge == link_end_of_edges(c, top->node)) {
            colours[top->node] = LINK_DONE;
            n--;
            continue;
        }
        to = c->edges[top->next_edge++];
        if (colours[to] == LINK_OPEN) {
            SchemaOrigin at = c->schema->origins[to];

            return loader_fail(&c->loader, SCHEMA_E_LOOP, at.doc, at.json, SCHEMA_KW_COUNT,
                               "refers to itself for the same value, without end");
        }
        if (colours[to] == LINK_NEW) {
            colours[to] = LINK_OPEN;
            stack[n++] = (LinkFrame){to, c->first_edges[to]};
        }
    }
    return 0;
}

int compile_check_loops(Compiler *c)
{
    uint32_t n = c->schema->n_nodes;
    uint8_t *colours = arena_alloc_array(&c->schema->arena, n, sizeof(*colours));
    LinkFrame *stack = arena_alloc_array(&c->schema->arena, n, sizeof(*stack));
    int r = 0;

    if (colours == NULL || stack == NULL) {
        return err_raise(-ENOMEM);
    }
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        if (colours[i] == LINK_NEW) {
            r = link_search(c, colours, stack, i);
        }
    }
    return r;
}

/* Where a chain of mere references ends; it does, since loops have been refused. The chain is made
 * short on the way: one of thousands is walked once, not from each of its nodes. */
static uint32_t link_end(const Compiler *c, uint32_t node)
{
    uint32_t end = node;

    while (end != SCHEMA_NONE && c->aliases[end] != SCHEMA_NONE) {
        end = c->aliases[end];
    }
    while (node != end) {
        uint32_t next = c->aliases[node];

        c->aliases[node] = end;
        node = next;
    }
    return end;
}

static void link_list(const Compiler *c, const uint32_t *list, uint32_t n)
{
    /* Plans are constant to their readers; this is the compiler, which made them. */
    uint32_t *nodes = (uint32_t *)(uintptr_t)list;

    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = link_end(c, nodes[i]);
    }
}

static void link_op(const Compiler *c, SchemaOp *op)
{
    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_IF:
        op->b = link_end(c, op->b);
        op->c = link_end(c, op->c);
        op->a = link_end(c, op->a);
        break;
    case SCHEMA_OP_CONTAINS:
    case SCHEMA_OP_REF:
    case SCHEMA_OP_NOT:
    case SCHEMA_OP_UNEVALUATED_ITEMS:
    case SCHEMA_OP_UNEVALUATED_PROPERTIES:
        op->a = link_end(c, op->a);
        break;
    default:
        break;
    }
}

static void link_object(const Compiler *c, SchemaObjectPlan *plan)
{
    plan->additional = link_end(c, plan->additional);
    plan->property_names = link_end(c, plan->property_names);
    link_list(c, plan->children, plan->n_names);
    for (uint32_t i = 0; i < plan->n_patterns; i++) {
        SchemaPatternRule *rule = (SchemaPatternRule *)(uintptr_t)&plan->patterns[i];

        rule->node = link_end(c, rule->node);
    }
    for (uint32_t i = 0; i < plan->n_dependents; i++) {
        SchemaDependent *rule = (SchemaDependent *)(uintptr_t)&plan->dependents[i];

        rule->node = link_end(c, rule->node);
    }
}

static SchemaAction link_action(const Schema *schema, const SchemaNode *node, uint32_t kind)
{
    const SchemaOp *op;

    if (((node->types >> kind) & 1u) == 0) {
        return SCHEMA_ACTION_REFUSE;
    }
    if (node->ops[kind] == 0) {
        return SCHEMA_ACTION_DONE;
    }
    if (kind < JSON_ARRAY && (node->flags & SCHEMA_NODE_LEAF) != 0) {
        return SCHEMA_ACTION_QUICK;
    }
    op = &schema->ops[node->ops[kind]];
    if (op[0].code == SCHEMA_OP_ARRAY && op[1].code == SCHEMA_OP_END &&
        schema->arrays[op->a].n_prefix == 0) {
        return SCHEMA_ACTION_QUICK;
    }
    if (op[0].code == SCHEMA_OP_OBJECT && op[1].code == SCHEMA_OP_END &&
        schema->objects[op->a].is_plain && schema->n_dynamic_names == 0) {
        return SCHEMA_ACTION_QUICK;
    }
    return SCHEMA_ACTION_NODE;
}

static SchemaPart link_part(const Schema *schema, uint32_t node)
{
    SchemaPart part = {.node = node == SCHEMA_NONE ? NULL : &schema->nodes[node]};

    for (uint32_t kind = 0; kind < SCHEMA_N_KINDS; kind++) {
        part.actions[kind] = (uint8_t)(part.node == NULL ? SCHEMA_ACTION_DONE
                                                         : link_action(schema, part.node, kind));
    }
    return part;
}

int compile_parts(Compiler *c)
{
    Schema *schema = c->schema;

    for (uint32_t i = 0; i < c->n_arrays; i++) {
        schema->arrays[i].items_part = link_part(schema, schema->arrays[i].items);
    }
    for (uint32_t i = 0; i < c->n_objects; i++) {
        SchemaObjectPlan *plan = &schema->objects[i];
        SchemaPart *parts = arena_alloc_array(&schema->arena, plan->n_names, sizeof(*parts));

        if (parts == NULL) {
            return err_raise(-ENOMEM);
        }
        for (uint32_t name = 0; name < plan->n_names; name++) {
            uint32_t child = plan->children[name];

            parts[name] = link_part(schema, child != SCHEMA_NONE ? child : plan->additional);
            parts[name].bit = (uint64_t)1 << (name % 64);
        }
        plan->parts = parts;
        plan->additional_part = link_part(schema, plan->additional);
    }
    return 0;
}

void compile_skip_aliases(Compiler *c)
{
    Schema *schema = c->schema;

    /* A reference also enters its resource, which "$dynamicRef" can see. */
    if (schema->n_dynamic_names > 0) {
        return;
    }
    for (uint32_t i = 0; i < c->n_ops; i++) {
        link_op(c, &schema->ops[i]);
    }
    link_list(c, schema->lists, c->n_lists);
    for (uint32_t i = 0; i < c->n_arrays; i++) {
        link_list(c, schema->arrays[i].prefix, schema->arrays[i].n_prefix);
        schema->arrays[i].items = link_end(c, schema->arrays[i].items);
    }
    for (uint32_t i = 0; i < c->n_objects; i++) {
        link_object(c, &schema->objects[i]);
    }
}
