/* tests/unit/frame/events.h: what a reader yielded, as one text that can be compared. */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"

/* SPAN for initializers of static tables, where a compound literal is not allowed. */
#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

typedef struct Events {
    char *text; /* NUL-terminated, but may contain NULs: compare n too */
    size_t n;
    size_t cap;
} Events;

static inline void events_deinit(Events *events)
{
    free(events->text);
    *events = (Events){NULL, 0, 0};
}

static inline void events_add_bytes(Events *events, const char *p, size_t n)
{
    if (n >= events->cap - events->n) {
        events->cap = 2 * (events->n + n + 1);
        events->text = realloc(events->text, events->cap);
        assert_non_null(events->text);
    }
    if (n > 0) {
        memcpy(events->text + events->n, p, n);
    }
    events->n += n;
    events->text[events->n] = '\0';
}

/* "word" for an event without content. */
static inline void events_add(Events *events, const char *word)
{
    events_add_bytes(events, word, strlen(word));
}

/* "word(content)"; the content is read to its last byte. */
static inline void events_add_span(Events *events, const char *word, Span content)
{
    events_add(events, word);
    events_add(events, "(");
    events_add_bytes(events, content.p, content.n);
    events_add(events, ")");
}

static inline void events_expect(const Events *events, Span expected, const char *name)
{
    if (!span_equals(span_make(events->text, events->n), expected)) {
        fail_msg("%s: got %s, expected %s", name, events->text == NULL ? "" : events->text,
                 expected.p);
    }
}
