/* toolkit/complexity/table.h: a language's rules in the numbers of its grammar. Private.
 *
 * The walk asks for the rule of every node, so names are compared here, once, and not there.
 * Thread: any, one at a time. */
#pragma once

#include "base/compiler.h"
#include "toolkit/complexity/rules.h"

typedef struct ComplexityBound {
    uint64_t does;
    const char *shown;
    TSSymbol parent; /* as in ComplexityTable.same; 0: anywhere */
    uint16_t next;   /* what to try where the parent is another */
    uint16_t n_nests;
    TSFieldId nests[RULE_NESTS_MAX];
} ComplexityBound;

typedef struct ComplexityTable {
    ComplexityBound *rules; /* 0: of nodes that have none; 1: of tokens that have none */
    uint16_t *first;        /* by symbol: the first rule to try */
    TSSymbol *same;         /* by symbol: the lowest one of the same name and kind */
    uint32_t n_symbols;
    const char *unknown; /* a name in the rules that the grammar does not have, or NULL */
} ComplexityTable;

#define COMPLEXITY_TABLE_NULL ((ComplexityTable){.rules = NULL})

/* 0, -ENOMEM. */
int complexity_table_init(ComplexityTable *table, const ComplexityLanguage *language);
void complexity_table_deinit(ComplexityTable *table);

/* The symbol of a node as the tables have it: ERROR has a number behind all others. */
TW_INLINE TSSymbol complexity_table_same(const ComplexityTable *table, TSSymbol symbol)
{
    return symbol < table->n_symbols ? table->same[symbol] : 0;
}

/* The rule of a node inside a node of symbol `parent` (as from complexity_table_same). */
TW_INLINE const ComplexityBound *complexity_table_rule(const ComplexityTable *table,
                                                       TSSymbol symbol, TSSymbol parent)
{
    const ComplexityBound *rule;

    if (TW_UNLIKELY(symbol >= table->n_symbols)) {
        return &table->rules[0];
    }
    rule = &table->rules[table->first[symbol]];
    while (rule->parent != 0 && rule->parent != parent) {
        rule = &table->rules[rule->next];
    }
    return rule;
}

/* What the node would have without that rule. */
TW_INLINE const ComplexityBound *complexity_table_none(const ComplexityTable *table,
                                                       const ComplexityBound *rule)
{
    return &table->rules[(rule->does & RULE_OPERATOR) != 0 ? 1 : 0];
}
