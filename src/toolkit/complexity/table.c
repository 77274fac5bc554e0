#include "toolkit/complexity/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    TABLE_NODE = 0,
    TABLE_TOKEN = 1,
    TABLE_N_FIXED = 2,
};

static size_t table_count(const ComplexityRule *rules)
{
    size_t n = 0;

    while (rules != NULL && rules[n].node != NULL) {
        n++;
    }
    return n;
}

static bool table_is_named(const TSLanguage *grammar, TSSymbol symbol)
{
    return ts_language_symbol_type(grammar, symbol) == TSSymbolTypeRegular;
}

static bool table_is_seen(const TSLanguage *grammar, TSSymbol symbol)
{
    TSSymbolType type = ts_language_symbol_type(grammar, symbol);

    return type == TSSymbolTypeRegular || type == TSSymbolTypeAnonymous;
}

/* The lowest symbol of that name and kind; 0 if there is none. */
static TSSymbol table_find(const TSLanguage *grammar, const char *name, bool is_named)
{
    uint32_t n = ts_language_symbol_count(grammar);

    for (uint32_t i = 1; i < n; i++) {
        TSSymbol symbol = (TSSymbol)i;

        if (table_is_seen(grammar, symbol) && table_is_named(grammar, symbol) == is_named &&
            strcmp(ts_language_symbol_name(grammar, symbol), name) == 0) {
            return symbol;
        }
    }
    return 0;
}

/* Names are compared all with all, so by a number first. */
static uint32_t table_hash(const char *name, bool is_named)
{
    uint32_t hash = is_named ? 1 : 2;

    for (; *name != '\0'; name++) {
        hash = hash * 31 + (uint8_t)*name;
    }
    return hash;
}

/* Which symbols have the same name and kind: grammars have several numbers for one node. */
static int table_join(ComplexityTable *table, const TSLanguage *grammar)
{
    CLEANUP(mem_freep) uint32_t *hashes = mem_alloc_array(table->n_symbols, sizeof(*hashes));

    if (hashes == NULL) {
        return err_raise(-ENOMEM);
    }
    for (uint32_t i = 1; i < table->n_symbols; i++) {
        TSSymbol symbol = (TSSymbol)i;
        bool is_named = table_is_named(grammar, symbol);
        const char *name = ts_language_symbol_name(grammar, symbol);

        table->first[i] = is_named ? TABLE_NODE : TABLE_TOKEN;
        table->same[i] = symbol;
        if (!table_is_seen(grammar, symbol)) {
            continue;
        }
        hashes[i] = table_hash(name, is_named);
        for (uint32_t k = 1; k < i; k++) {
            if (hashes[k] == hashes[i] && table_is_named(grammar, (TSSymbol)k) == is_named &&
                strcmp(ts_language_symbol_name(grammar, (TSSymbol)k), name) == 0) {
                table->same[i] = (TSSymbol)k;
                break;
            }
        }
    }
    return 0;
}

static void table_bind_fields(ComplexityTable *table, const TSLanguage *grammar,
                              const ComplexityRule *rule, ComplexityBound *bound)
{
    for (size_t i = 0; i < RULE_NESTS_MAX && rule->nests[i] != NULL; i++) {
        const char *name = rule->nests[i];
        TSFieldId field = ts_language_field_id_for_name(grammar, name, (uint32_t)strlen(name));

        if (field == 0) {
            table->unknown = name;
        }
        bound->nests[bound->n_nests++] = field;
    }
}

/* Binds the rules of one kind to the numbers from `at` on, and hangs each into the list of its
 * symbol, from the last to the first so that the first is tried first. */
static void table_bind(ComplexityTable *table, const TSLanguage *grammar,
                       const ComplexityRule *rules, uint16_t at, bool is_named)
{
    for (size_t i = table_count(rules); i-- > 0;) {
        const ComplexityRule *rule = &rules[i];
        uint16_t number = (uint16_t)(at + i);
        ComplexityBound *bound = &table->rules[number];
        TSSymbol symbol = table_find(grammar, rule->node, is_named);

        *bound = (ComplexityBound){.does = rule->does, .shown = rule->shown};
        /* What is no operand in any case says so, so that the walk need not ask what it is. */
        if (!is_named) {
            bound->does |= RULE_OPERATOR;
        }
        table_bind_fields(table, grammar, rule, bound);
        if (rule->parent != NULL) {
            bound->parent = table_find(grammar, rule->parent, true);
        }
        if (symbol == 0 || (rule->parent != NULL && bound->parent == 0)) {
            table->unknown = symbol == 0 ? rule->node : rule->parent;
            continue;
        }
        bound->next = table->first[symbol];
        table->first[symbol] = number;
    }
}

int complexity_table_init(ComplexityTable *table, const ComplexityLanguage *language)
{
    const TSLanguage *grammar = language->grammar();
    size_t n_nodes = table_count(language->nodes);
    size_t n_rules = n_nodes + table_count(language->tokens) + TABLE_N_FIXED;
    int r;

    *table = COMPLEXITY_TABLE_NULL;
    table->n_symbols = ts_language_symbol_count(grammar);
    table->rules = mem_alloc_array(n_rules, sizeof(*table->rules));
    table->first = mem_alloc_array(table->n_symbols, sizeof(*table->first));
    table->same = mem_alloc_array(table->n_symbols, sizeof(*table->same));
    if (table->rules == NULL || table->first == NULL || table->same == NULL) {
        complexity_table_deinit(table);
        return err_raise(-ENOMEM);
    }
    r = table_join(table, grammar);
    if (r != 0) {
        complexity_table_deinit(table);
        return err_pass(r);
    }
    table->rules[TABLE_TOKEN].does = RULE_OPERATOR;
    table_bind(table, grammar, language->nodes, TABLE_N_FIXED, true);
    table_bind(table, grammar, language->tokens, (uint16_t)(TABLE_N_FIXED + n_nodes), false);
    for (uint32_t i = 1; i < table->n_symbols; i++) {
        table->first[i] = table->first[table->same[i]];
    }
    return 0;
}

void complexity_table_deinit(ComplexityTable *table)
{
    table->rules = mem_free(table->rules);
    table->first = mem_free(table->first);
    table->same = mem_free(table->same);
    *table = COMPLEXITY_TABLE_NULL;
}
