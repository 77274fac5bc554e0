/* toolkit/complexity/measure.h: what a source file's functions measure.
 *
 *     complexity_meter_new(&meter);
 *     r = complexity_measure(meter, language, text, &options, &arena, &file);
 *
 * The definitions are those of docs/analysis.md: cognitive complexity by its published paper,
 * cyclomatic by one rule a language that equals a tool people run, Halstead by tokens. A number is
 * measured or not there. Which functions are rows: in JavaScript and TypeScript every function,
 * arrow and method, and nothing of it counts in the one around it; elsewhere closures and nested
 * functions count in the outer function, one level deeper, and a named one has a row of its own as
 * well, as has a closure that is in no function.
 *
 * Reads text that is not UTF-8 too: bytes are bytes. Callers bound the length of what they hand in
 * (COMPLEXITY_FILE_BYTES) and the memory of its tree (max_bytes), which may be hundreds of bytes
 * for each byte of a text that an enemy has written. tree-sitter cannot be told that there is no
 * memory: when the heap gives nothing it goes on out of a reserve of the meter, until it next looks
 * whether it is to stop. Should that not suffice (nothing is known that needs so much), the process
 * is ended. Thread: any; a meter belongs to one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "base/stop.h"
#include "toolkit/complexity/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COMPLEXITY_E_CANCELLED = 1, /* .stop was asked for */
    COMPLEXITY_E_TOO_COSTLY,    /* parsing took more time than the options allow */
    COMPLEXITY_E_TOO_BIG,       /* the tree took more memory than the options allow */
    COMPLEXITY_E_NO_MEMORY,     /* the parser ran out of it: another day there may be more */
};

/* Raised with every change of a rule, so that measures kept from before are not taken for ours. */
#define COMPLEXITY_RULES_VERSION 4

/* A tree takes ten to seventy times the memory of a text that people have written. */
#define COMPLEXITY_FILE_BYTES ((size_t)16 * 1024 * 1024)

/* Why a cognitive value is what it is. */
typedef struct ComplexityIncrement {
    uint32_t line;         /* from 1 */
    uint32_t column;       /* in bytes, from 1 */
    const char *construct; /* "if", "else", "while", "catch", "&&", "goto"… */
    uint32_t amount;       /* all of it */
    uint32_t nesting;      /* the part that is for nesting */
} ComplexityIncrement;

/* Tokens: distinct ones and all of them. */
typedef struct ComplexityHalstead {
    uint32_t n1; /* distinct operators */
    uint32_t n2; /* distinct operands */
    uint32_t N1;
    uint32_t N2;
} ComplexityHalstead;

typedef struct ComplexityFunction {
    Span name; /* with its container: "Parser.next"; "(anonymous)" without one */
    uint32_t first_line;
    uint32_t last_line;
    uint32_t first_column; /* in bytes, from 1 */
    uint32_t last_column;  /* of the last byte */
    uint32_t cyclomatic;
    uint32_t cyclomatic_modified; /* a switch counts once */
    uint32_t cognitive;
    uint32_t nesting;
    uint32_t lines; /* physical */
    uint32_t code_lines;
    uint32_t comment_lines; /* with a comment and no code */
    uint32_t parameters;
    uint32_t tokens;
    ComplexityHalstead halstead;
    /* The parser did not understand something inside (more than a missing semicolon): numbers are
     * of the rest. */
    bool has_error;
    /* In order of place, those of nested functions that count in this one among them; NULL unless
     * asked for, and where the lists of a file have a million entries already. */
    const ComplexityIncrement *increments;
    size_t n_increments;
} ComplexityFunction;

typedef struct ComplexityFile {
    const ComplexityLanguage *language;
    const ComplexityFunction *functions; /* by first line, outer ones first */
    size_t n_functions;
    uint32_t lines;
    uint32_t code_lines;
    uint32_t comment_lines;
    uint32_t blank_lines;
    uint32_t n_errors;         /* places that the parser did not understand */
    uint32_t first_error_line; /* 0: none */
} ComplexityFile;

typedef struct ComplexityOptions {
    bool increments;      /* list them */
    int64_t max_parse_us; /* of the thread's own time, not the clock's; 0: no limit */
    size_t max_bytes;     /* of the tree and what leads to it; 0: no limit */
    Stop stop;            /* asked every 64 KiB, and every thousand steps */
} ComplexityOptions;

typedef struct ComplexityMeter ComplexityMeter;

/* 0, -ENOMEM, or what random_fill returns. Gives *ret. */
int complexity_meter_new(ComplexityMeter **ret);
ComplexityMeter *complexity_meter_free(ComplexityMeter *meter);

/* Borrows text until return; what *ret points at lies in arena, or is constant. 0, -ENOMEM (also if
 * the arena is full), COMPLEXITY_E_*; after any of them the meter can be used again. */
int complexity_measure(ComplexityMeter *meter, const ComplexityLanguage *language, Span text,
                       const ComplexityOptions *options, Arena *arena, ComplexityFile *ret);

/* Microseconds that all calls of this meter have spent in the parser: for the benchmark. */
int64_t complexity_meter_parse_us(const ComplexityMeter *meter);

/* V = N log2 n, D = n1/2 N2/n2, E = D V; 0 where there are no operands. */
double complexity_halstead_volume(const ComplexityHalstead *h);
double complexity_halstead_difficulty(const ComplexityHalstead *h);
double complexity_halstead_effort(const ComplexityHalstead *h);
