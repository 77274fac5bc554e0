/* list_templates and search_templates. What is shown of a template (its card) is made once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "providers/templates_impl.h"

/* Cards of one answer: with the text beside them they stay below what a door sends. What does not
 * fit is named by next_offset. */
#define LIST_BYTES ((size_t)4 * 1024 * 1024)

/* Templates of one answer where no limit is given: more than are built in, so that a list without
 * arguments has all of those, and few enough to be made and checked in a few milliseconds. */
#define LIST_LIMIT ((size_t)200)

/* An answer with cards. */
typedef struct ListRun {
    Templates *templates;
    JsonWriter w;
    size_t n_matched; /* so far */
    size_t n_shown;
    size_t offset;
    size_t limit;
    size_t start; /* of structured, where the cards begin */
    size_t next;  /* offset of the first that did not fit; 0: all did */
} ListRun;

static void card_write(JsonWriter *w, const Template *t)
{
    json_write_object(w);
    templates_write_text(w, "uri", t->uri_text);
    templates_write_text(w, "name", t->name);
    templates_write_text(w, "description", t->description);
    templates_write_text(w, "category", t->uri.category);
    templates_write_toolchain(w, t->uri.toolchain);
    templates_write_text(w, "variant", t->uri.variant);
    templates_write_text(w, "version", t->version);
    templates_write_text(w, "mime_type", t->mime_type);
    templates_write_text(w, "output", t->output);
    json_write_key(w, SPAN("parameters_schema"));
    json_write_raw(w, t->schema);
    json_write_end_object(w);
}

static int card_compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const TemplatesCard *)a)->template;
    uintptr_t y = (uintptr_t)((const TemplatesCard *)b)->template;

    return (x > y) - (x < y);
}

/* 0, -ENOMEM, BYTES_E_FULL. */
static int cards_make(Templates *templates)
{
    size_t n = template_catalog_count(templates->catalog);
    CLEANUP(mem_freep) size_t *ends = NULL;
    CLEANUP(mem_freep) TemplatesCard *cards = NULL;

    if (templates->card_ends != NULL) {
        return 0;
    }
    ends = mem_alloc_array(n + 1, sizeof(*ends));
    cards = mem_alloc_array(n + 1, sizeof(*cards));
    if (ends == NULL || cards == NULL) {
        return err_raise(-ENOMEM);
    }
    bytes_clear(&templates->cards);
    for (size_t i = 0; i < n; i++) {
        JsonWriter w;
        int r;

        json_writer_init(&w, &templates->cards, JSON_STYLE_COMPACT);
        card_write(&w, template_catalog_at(templates->catalog, i));
        r = json_writer_finish(&w);
        if (r != 0) {
            return r;
        }
        ends[i] = templates->cards.n;
        cards[i] = (TemplatesCard){template_catalog_at(templates->catalog, i), i};
    }
    qsort(cards, n, sizeof(*cards), card_compare);
    templates->card_ends = ends;
    templates->card_of = cards;
    ends = NULL;
    cards = NULL;
    return 0;
}

static Span card_at(const Templates *templates, size_t i)
{
    size_t start = i == 0 ? 0 : templates->card_ends[i - 1];

    return span_make(templates->cards.data + start, templates->card_ends[i] - start);
}

/* A card with its relevance (< 0: none), and its line of text. */
static int list_show(ListRun *run, const Template *t, Span card, int relevance)
{
    Templates *templates = run->templates;
    size_t at = run->n_matched++;
    int r;

    if (at < run->offset || run->next > 0) {
        return 0;
    }
    if (run->n_shown >= run->limit || templates->structured.n - run->start + card.n > LIST_BYTES) {
        run->next = at;
        return 0;
    }
    run->n_shown++;
    if (relevance < 0) {
        json_write_raw(&run->w, card);
    } else {
        /* The card without its last brace, and one member more. */
        char words[48];
        int n = snprintf(words, sizeof(words), ",\"relevance\":%d}", relevance);

        json_write_raw(&run->w, span_make(card.p, card.n - 1));
        r = run->w.r != 0 ? 0 : bytes_append(&templates->structured, words, (size_t)n);
        run->w.r = run->w.r != 0 ? run->w.r : r;
    }
    r = templates_say(templates, run->n_shown == 1 ? SPAN("") : SPAN("\n"));
    r = r != 0 ? r : templates_say(templates, t->uri_text);
    r = r != 0 ? r : templates_say(templates, SPAN("  "));
    r = r != 0 ? r : templates_say(templates, t->name);
    for (size_t i = 0; r == 0 && i < t->n_parameters; i++) {
        if (t->parameters[i].required) {
            r = templates_say(templates, SPAN("  "));
            r = r != 0 ? r : templates_say(templates, t->parameters[i].name);
            r = r != 0 ? r : templates_say(templates, SPAN("*"));
        }
    }
    return r;
}

static void list_begin(ListRun *run, Templates *templates, JsonValue arguments)
{
    *run = (ListRun){.templates = templates,
                     .offset = templates_count(arguments, "offset", 0),
                     .limit = templates_count(arguments, "limit", LIST_LIMIT)};
    json_writer_init(&run->w, &templates->structured, JSON_STYLE_COMPACT);
    json_write_object(&run->w);
    json_write_key(&run->w, SPAN("templates"));
    json_write_array(&run->w);
    run->start = templates->structured.n;
}

static int list_end(ListRun *run)
{
    json_write_end_array(&run->w);
    json_write_key(&run->w, SPAN("count"));
    json_write_uint(&run->w, run->n_shown);
    json_write_key(&run->w, SPAN("total"));
    json_write_uint(&run->w, run->n_matched);
    if (run->next > 0) {
        json_write_key(&run->w, SPAN("next_offset"));
        json_write_uint(&run->w, run->next);
    }
    return run->w.r;
}

/* The lines, which were written before the sentence is known, become the second block. */
static int list_say(ListRun *run, Span query, bool has_query)
{
    Templates *templates = run->templates;
    Bytes *content = &templates->content;
    Span lines = arena_copy(&templates->arena, bytes_span(content));
    Span cut = templates_cut(query);
    int r;

    if (lines.p == NULL) {
        return err_raise(-ENOMEM);
    }
    bytes_clear(content);
    r = templates_block(templates);
    r = r != 0 ? r
               : templates_say_format(templates, "Found %zu template%s", run->n_matched,
                                      run->n_matched == 1 ? "" : "s");
    if (has_query) {
        r = r != 0 ? r : templates_say(templates, SPAN(" matching '"));
        r = r != 0 ? r : templates_say(templates, cut);
        r = r != 0 ? r : templates_say(templates, cut.n < query.n ? SPAN("...'") : SPAN("'"));
    }
    r = r != 0 ? r : templates_block_end(templates);
    if (lines.n > 0) {
        r = r != 0 ? r : templates_block(templates);
        r = r != 0 ? r : bytes_append_span(content, lines);
        if (run->next > 0) {
            r = r != 0 ? r : templates_say_format(templates, "\n(more: offset %zu)", run->next);
        }
        r = r != 0 ? r : templates_block_end(templates);
    }
    return r;
}

int templates_list(Templates *templates, Call *call)
{
    TemplateFilter filter = {.variant = SPAN_NULL};
    ListRun run;
    int r = templates_string(templates, call->arguments, "toolchain", &filter.toolchain);

    r = r != 0 ? r : templates_string(templates, call->arguments, "category", &filter.category);
    r = r != 0 ? r : cards_make(templates);
    if (r != 0) {
        return r;
    }
    list_begin(&run, templates, call->arguments);
    for (size_t i = 0; r == 0 && i < template_catalog_count(templates->catalog); i++) {
        const Template *t = template_catalog_at(templates->catalog, i);

        if (template_matches(t, &filter)) {
            r = list_show(&run, t, card_at(templates, i), -1);
        }
    }
    r = r != 0 ? r : list_end(&run);
    json_write_end_object(&run.w);
    r = r != 0 ? r : json_writer_finish(&run.w);
    r = r != 0 ? r : list_say(&run, SPAN_NULL, false);
    if (r == 0) {
        templates_finish(templates, call, false);
    }
    return r;
}

static int search_show(ListRun *run, const TemplateHit *hit)
{
    const Templates *templates = run->templates;
    TemplatesCard key = {.template = hit->template};
    const TemplatesCard *card =
        bsearch(&key, templates->card_of, template_catalog_count(templates->catalog), sizeof(key),
                card_compare);

    return card == NULL
               ? err_raise(-EINVAL)
               : list_show(run, hit->template, card_at(templates, card->index), hit->relevance);
}

int templates_search(Templates *templates, Call *call)
{
    TemplateFilter filter = {.variant = SPAN_NULL};
    const TemplateHit *hits = NULL;
    size_t n = 0;
    Span query;
    ListRun run;
    int r = templates_string(templates, call->arguments, "query", &query);

    r = r != 0 ? r : templates_string(templates, call->arguments, "toolchain", &filter.toolchain);
    r = r != 0 ? r : cards_make(templates);
    r = r != 0 ? r : template_catalog_search(templates->catalog, query, &filter, &hits, &n);
    if (r != 0) {
        return r;
    }
    list_begin(&run, templates, call->arguments);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = search_show(&run, &hits[i]);
    }
    r = r != 0 ? r : list_end(&run);
    templates_write_text(&run.w, "query", query);
    json_write_end_object(&run.w);
    r = r != 0 ? r : json_writer_finish(&run.w);
    r = r != 0 ? r : list_say(&run, query, true);
    if (r == 0) {
        templates_finish(templates, call, false);
    }
    return r;
}
