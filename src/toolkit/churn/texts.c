#include "toolkit/churn/texts.h"

#include "base/alloc.h"
#include "base/error.h"

void churn_texts_init(ChurnTexts *texts, HashSeed seed)
{
    *texts = (ChurnTexts){.seed = seed};
}

void churn_texts_deinit(ChurnTexts *texts)
{
    texts->items = mem_free(texts->items);
    churn_index_deinit(&texts->index);
    *texts = (ChurnTexts){.seed = texts->seed};
}

static uint32_t texts_search(const ChurnTexts *texts, Span text, uint64_t hash)
{
    size_t at = 0;
    uint32_t id = churn_index_first(&texts->index, hash, &at);

    while (id != CHURN_NONE && !span_equals(texts->items[id], text)) {
        id = churn_index_next(&texts->index, hash, &at);
    }
    return id;
}

uint32_t churn_texts_find(const ChurnTexts *texts, Span text)
{
    return texts_search(texts, text, hash_span(texts->seed, text));
}

int churn_texts_add(ChurnTexts *texts, Arena *arena, Span text, uint32_t *ret_id)
{
    uint64_t hash = hash_span(texts->seed, text);
    uint32_t id = texts_search(texts, text, hash);
    int r;

    if (id != CHURN_NONE) {
        *ret_id = id;
        return 0;
    }
    r = churn_grow(&texts->items, &texts->cap, texts->n, sizeof(*texts->items));
    if (r != 0) {
        return err_pass(r);
    }
    if (arena != NULL) {
        text = arena_copy(arena, text);
        if (text.p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    r = churn_index_add(&texts->index, hash, (uint32_t)texts->n);
    if (r != 0) {
        return err_pass(r);
    }
    texts->items[texts->n] = text;
    *ret_id = (uint32_t)texts->n++;
    return 0;
}
