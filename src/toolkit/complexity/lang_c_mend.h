/* toolkit/complexity/lang_c_mend.h: the tokens of a text that the grammar did not understand.
 * Private to lang_c_mend*.c. Thread: any. */
#pragma once

#include "base/span.h"
#include "base/stop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Braces that are deeper are like the last of these. */
#define MEND_BRACES_MAX 256

typedef enum MendWord {
    MEND_NO_WORD,
    MEND_NAME,
    MEND_CAPITALS,
    MEND_TYPE,
    MEND_STORAGE, /* also what else begins a declaration */
    MEND_QUALIFIER,
    MEND_TAG,
    MEND_STATEMENT,
    MEND_ELSE,
    MEND_KEYWORD, /* any other */
} MendWord;

typedef enum MendBrace {
    MEND_SCOPE, /* file, namespace, class */
    MEND_BLOCK, /* statements */
    MEND_LIST,  /* initialisers, enumerators */
} MendBrace;

typedef struct MendToken {
    uint32_t start;
    uint32_t end;
    uint32_t
        partner; /* of ( and ): the other; of a directive: the one before it in its #if; or 0 */
    char kind;   /* 'w' word, '0' number, '"' text, '#' directive, or the byte itself */
    uint8_t word;
    uint8_t brace;
    bool in_parens;
} MendToken;

typedef struct Mend {
    char *p;
    Span text;
    MendToken
        *tokens; /* the first is a semicolon in front of everything, the last one, behind it */
    size_t n;
    size_t cap;
    size_t previous; /* the last token that is left, where the rules are */
    bool changed;
    Stop stop; /* what is left then is left */

    /* while the tokens are made */
    uint32_t open;      /* ( that is not closed yet; those around it by .partner */
    uint32_t directive; /* #if, #else… of the innermost #if */
    uint32_t n_parens;
    uint8_t braces[MEND_BRACES_MAX];
    size_t n_braces;
    bool has_tag; /* of the declaration that the token is in */
    bool has_parens;
} Mend;

/* Fills in the tokens of .p and .text; what they take is the caller's to free, also on failure. 0,
 * -ENOMEM. */
int complexity_c_mend_read(Mend *mend);

/* Of an #if in whose branches there are braces that are closed elsewhere, or an `else` whose `if`
 * or statement is elsewhere, or that is inside of parentheses, only the first branch is left: no
 * tree could hold the others too. The tokens are then no longer those of the text (.changed). 0,
 * -ENOMEM. */
int complexity_c_mend_branches(Mend *mend);

/* lang_c_mend_parts.c. A word that is no keyword; what may stand in front of a declaration or
 * statement. */
bool complexity_c_mend_is_name(const MendToken *token);
bool complexity_c_mend_is_boundary(const MendToken *token);
/* From the first token to the last. */
void complexity_c_mend_blank(Mend *mend, size_t first, size_t last);
/* The sign at i: a directive whose branches are heads of one function, a range of cases, a label
 * without a statement. There is a token behind it. */
void complexity_c_mend_sign(Mend *mend, size_t i);
/* `QUOTED("a") " b"`: the word at i, whose arguments end before next, is a part of a text; a name
 * is left of it. False: it is none. */
bool complexity_c_mend_text(Mend *mend, size_t i, size_t next);
