#include "json/schema/keyword.h"

#define SCHEMA_KEYWORD_ENTRY(id, text, shape_, vocab_, dialects_)                                  \
    [SCHEMA_KW_##id] = {.name = {(text), sizeof(text) - 1},                                        \
                        .shape = SCHEMA_SHAPE_##shape_,                                            \
                        .vocab = SCHEMA_VOCAB_##vocab_,                                            \
                        .dialects = SCHEMA_IN_##dialects_},

static const SchemaKeywordInfo keyword_infos[SCHEMA_KW_COUNT] = {
    SCHEMA_KEYWORDS(SCHEMA_KEYWORD_ENTRY)};

const SchemaKeywordInfo *schema_keyword_info(SchemaKeyword keyword)
{
    return &keyword_infos[keyword];
}

SchemaKeyword schema_keyword_find(Span name)
{
    for (int i = 0; i < SCHEMA_KW_COUNT; i++) {
        if (span_equals(keyword_infos[i].name, name)) {
            return (SchemaKeyword)i;
        }
    }
    return SCHEMA_KW_COUNT;
}
