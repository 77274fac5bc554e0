/* The state of tree-sitter's lexer as the generated lexers see it, so that they step to the next
 * character by themselves where nothing is to be decided: within a piece of text, from a character
 * that ends no line to one that is ASCII. Everything else is a call, as it is without this.
 *
 * faster_text.cmake lets the core check at compile time that its own state lies likewise. */
#pragma once

typedef struct TwPlace {
    uint32_t bytes;
    uint32_t row;
    uint32_t column;
} TwPlace;

typedef struct TwLexer {
    TSLexer data;
    TwPlace current_position;
    TwPlace token_start_position;
    TwPlace token_end_position;
    void *included_ranges;
    const char *chunk;
    struct {
        void *payload;
        void (*read)(void);
        int encoding;
        void (*decode)(void);
    } input;
    struct {
        void *payload;
        void (*log)(void);
    } logger;
    uint32_t included_range_count;
    uint32_t current_included_range_index;
    uint32_t chunk_start;
    uint32_t chunk_size;
    uint32_t lookahead_size;
    bool did_get_column;
    struct {
        uint32_t value;
        bool valid;
    } column_data;
    uint32_t plain_end; /* what is before it may be stepped over; 0: nothing */
} TwLexer;

_Static_assert(sizeof(TSLexer) == 8 + 6 * sizeof(void *), "each grammar has its own declaration");

/* Whether it was that simple. */
static inline bool tw_lexer_step(TSLexer *lexer, bool skip)
{
    TwLexer *self = (TwLexer *)(void *)lexer;
    uint32_t next = self->current_position.bytes + 1;
    uint8_t character;

    if (next >= self->plain_end || self->lookahead_size != 1 || lexer->lookahead == '\n') {
        return false;
    }
    character = (uint8_t)self->chunk[next - self->chunk_start];
    if (character >= 0x80) {
        return false;
    }
    self->current_position.bytes = next;
    self->current_position.column++;
    self->column_data.value += self->column_data.valid;
    lexer->lookahead = character;
    if (skip) {
        self->token_start_position = self->current_position;
    }
    return true;
}

static inline void tw_lexer_advance(TSLexer *lexer, bool skip)
{
    if (!tw_lexer_step(lexer, skip)) {
        lexer->advance(lexer, skip);
    }
}

/* In the first range of a text a token ends where the lexer is. */
static inline void tw_lexer_mark_end(TSLexer *lexer)
{
    TwLexer *self = (TwLexer *)(void *)lexer;

    if (self->current_included_range_index == 0) {
        self->token_end_position = self->current_position;
    } else {
        lexer->mark_end(lexer);
    }
}
