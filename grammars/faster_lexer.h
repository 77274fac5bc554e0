/* Included before each generated parser: what its header defines, in ways that take less time.
 *
 * The generator writes the sets of characters as sorted ranges, hundreds of them for the letters of
 * all scripts, and what a token may begin with as a list of pairs; both are asked for nearly every
 * character of a text. The answers stay the same. */
#pragma once

#include "tree_sitter/parser.h"

#include "faster_state.h"

/* As the generator's header has them, but for the two calls. */
#undef START_LEXER
#define START_LEXER()                                                                              \
    bool result = false;                                                                           \
    bool skip = false;                                                                             \
    UNUSED                                                                                         \
    bool eof = false;                                                                              \
    int32_t lookahead;                                                                             \
    goto start;                                                                                    \
    next_state:                                                                                    \
    tw_lexer_advance(lexer, skip);                                                                 \
    start:                                                                                         \
    skip = false;                                                                                  \
    lookahead = lexer->lookahead;

#undef ACCEPT_TOKEN
#define ACCEPT_TOKEN(symbol_value)                                                                 \
    result = true;                                                                                 \
    lexer->result_symbol = symbol_value;                                                           \
    tw_lexer_mark_end(lexer);

/* Of hundreds of ranges the first few are ASCII, as nearly all characters are. */
static inline bool tw_set_contains(const TSCharacterRange *ranges, uint32_t len, int32_t lookahead)
{
    if (lookahead < 0x80) {
        for (uint32_t i = 0; i < len && ranges[i].start <= lookahead; i++) {
            if (lookahead <= ranges[i].end) {
                return true;
            }
        }
        return false;
    }
    return set_contains(ranges, len, lookahead);
}

#define set_contains tw_set_contains

/* A switch instead of a loop over the pairs. The preprocessor expands a macro in itself only if it
 * is told to look again, here up to 4^4 times; a list with more pairs would not compile. */
#define TW_AGAIN_1(...) __VA_ARGS__
#define TW_AGAIN_2(...) TW_AGAIN_1(TW_AGAIN_1(TW_AGAIN_1(TW_AGAIN_1(__VA_ARGS__))))
#define TW_AGAIN_3(...) TW_AGAIN_2(TW_AGAIN_2(TW_AGAIN_2(TW_AGAIN_2(__VA_ARGS__))))
#define TW_AGAIN_4(...) TW_AGAIN_3(TW_AGAIN_3(TW_AGAIN_3(TW_AGAIN_3(__VA_ARGS__))))
#define TW_AGAIN(...)   TW_AGAIN_4(TW_AGAIN_4(TW_AGAIN_4(TW_AGAIN_4(__VA_ARGS__))))
#define TW_NOTHING
#define TW_CASES_NAME() TW_CASES
#define TW_CASES(character, next, ...)                                                             \
    case (character):                                                                              \
        ADVANCE(next)                                                                              \
        __VA_OPT__(TW_CASES_NAME TW_NOTHING()(__VA_ARGS__))

#undef ADVANCE_MAP
#define ADVANCE_MAP(...)                                                                           \
    switch (lookahead) {                                                                           \
        TW_AGAIN(TW_CASES(__VA_ARGS__))                                                            \
    default:                                                                                       \
        break;                                                                                     \
    }
