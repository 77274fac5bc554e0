/* Which keywords "$schema" turns on. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/loader.h"
#include "json/schema/metaschema.h"
#include "json/schema/set.h"
#include "json/schema/uri.h"

/* A metaschema may be described by another one, and so on; real ones stop after one step. */
#define DIALECT_MAX_HOPS 8

#define VOCAB_2020(name) "https://json-schema.org/draft/2020-12/vocab/" name

typedef struct VocabEntry {
    const char *uri;
    uint32_t bit;
} VocabEntry;

static const VocabEntry vocab_table[] = {
    {VOCAB_2020("core"), SCHEMA_VOCAB_CORE},
    {VOCAB_2020("applicator"), SCHEMA_VOCAB_APPLICATOR},
    {VOCAB_2020("unevaluated"), SCHEMA_VOCAB_UNEVALUATED},
    {VOCAB_2020("validation"), SCHEMA_VOCAB_VALIDATION},
    {VOCAB_2020("format-annotation"), SCHEMA_VOCAB_FORMAT},
    {VOCAB_2020("format-assertion"), SCHEMA_VOCAB_FORMAT | SCHEMA_VOCAB_ASSERT},
    {VOCAB_2020("meta-data"), SCHEMA_VOCAB_OTHER},
    {VOCAB_2020("content"), SCHEMA_VOCAB_OTHER},
};

uint32_t loader_default_vocab(SchemaDialect dialect)
{
    uint32_t vocab = SCHEMA_VOCAB_CORE | SCHEMA_VOCAB_APPLICATOR | SCHEMA_VOCAB_VALIDATION |
                     SCHEMA_VOCAB_FORMAT | SCHEMA_VOCAB_OTHER;

    return dialect == SCHEMA_DIALECT_2020_12 ? vocab | SCHEMA_VOCAB_UNEVALUATED : vocab;
}

static bool dialect_is_official(Span uri, SchemaDialect *ret)
{
    if (span_equals(uri, SPAN("https://json-schema.org/draft/2020-12/schema")) ||
        span_equals(uri, SPAN("http://json-schema.org/draft/2020-12/schema"))) {
        *ret = SCHEMA_DIALECT_2020_12;
        return true;
    }
    if (span_equals(uri, SPAN("http://json-schema.org/draft-07/schema")) ||
        span_equals(uri, SPAN("https://json-schema.org/draft-07/schema"))) {
        *ret = SCHEMA_DIALECT_DRAFT_07;
        return true;
    }
    return false;
}

bool loader_find_text(const SchemaLoader *loader, Span uri, Span *ret_text)
{
    return schema_set_find(loader->options->set, uri, ret_text) || metaschema_find(uri, ret_text);
}

/* Core is always on: a schema cannot turn off "$ref". */
static int dialect_read_vocabulary(SchemaLoader *loader, uint32_t doc, const JsonNode *json,
                                   JsonValue listed, uint32_t *ret_vocab)
{
    uint32_t vocab = SCHEMA_VOCAB_CORE;

    for (JsonIter it = json_iter(listed); json_iter_next(&it);) {
        bool is_needed = json_kind(it.value) == JSON_TRUE;
        bool is_known = false;

        for (size_t i = 0; i < TW_ARRAY_SIZE(vocab_table); i++) {
            if (json_string_equals(it.key, span_from_str(vocab_table[i].uri))) {
                vocab |= vocab_table[i].bit;
                is_known = true;
            }
        }
        if (!is_known && is_needed) {
            Span name = json_span(it.key);

            return loader_fail(loader, SCHEMA_E_DIALECT, doc, json, SCHEMA_KW_SCHEMA,
                               "the metaschema needs the unknown vocabulary %.*s", (int)name.n,
                               name.p);
        }
    }
    *ret_vocab = vocab;
    return 0;
}

static int dialect_unknown(SchemaLoader *loader, uint32_t doc, const JsonNode *json, Span uri)
{
    return loader_fail(
        loader, SCHEMA_E_DIALECT, doc, json, SCHEMA_KW_SCHEMA,
        "the dialect %.*s is unknown; 2020-12 and draft-07 are supported, and registered "
        "metaschemas built on them",
        (int)uri.n, uri.p);
}

/* Reads one metaschema: its "$vocabulary" into *vocab if that is still 0, and where it is described
 * itself into *ret_uri, empty if nowhere. */
static int dialect_read(SchemaLoader *loader, uint32_t doc, const JsonNode *json, Span text,
                        uint32_t *vocab, Span *ret_uri)
{
    JsonDoc meta;
    JsonValue v;
    int r = json_parse(&meta, loader->arena, text.p, text.n, NULL, NULL);

    *ret_uri = SPAN("");
    if (r != 0) {
        return r < 0 ? err_pass(r) : SCHEMA_E_SYNTAX;
    }
    /* The nearest "$vocabulary" counts; those further up describe the metaschema, not the schema.
     */
    if (*vocab == 0 && json_get(json_root(&meta), SPAN("$vocabulary"), &v)) {
        r = dialect_read_vocabulary(loader, doc, json, v, vocab);
    }
    if (r == 0 && json_get(json_root(&meta), SPAN("$schema"), &v) && json_kind(v) == JSON_STRING) {
        r = loader_string(loader, v, ret_uri);
    }
    return r;
}

int loader_find_dialect(SchemaLoader *loader, uint32_t doc, const JsonNode *json, Span uri,
                        SchemaDialect *ret_dialect, uint32_t *ret_vocab)
{
    SchemaDialect dialect = loader->options->dialect;
    uint32_t vocab = 0;
    Span first = uri;

    for (int hop = 0;; hop++) {
        Span fragment;
        Span text;
        int r;

        uri_split_fragment(uri, &uri, &fragment);
        r = uri_resolve(loader->arena, SPAN(""), uri, &uri);
        if (r != 0) {
            return err_pass(r);
        }
        /* A metaschema that names no dialect is taken to be of the default one. */
        if (dialect_is_official(uri, &dialect) || (uri.n == 0 && hop > 0)) {
            break;
        }
        if (hop == DIALECT_MAX_HOPS || fragment.n > 0 || !loader_find_text(loader, uri, &text)) {
            return dialect_unknown(loader, doc, json, first);
        }
        r = dialect_read(loader, doc, json, text, &vocab, &uri);
        if (r != 0) {
            return r;
        }
    }
    *ret_dialect = dialect;
    *ret_vocab = vocab != 0 ? vocab : loader_default_vocab(dialect);
    return 0;
}
