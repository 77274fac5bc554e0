/* toolkit/complexity/language.h: which language a file is written in, and which languages a
 * toolchain stands for.
 *
 * A language is one constant table (rules.h) and one line in language.c. Thread: any.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ComplexityLanguage ComplexityLanguage;

/* "rust", "javascript", "typescript", "tsx", "python", "c", "cpp", "go", "java", "csharp",
 * "kotlin", "php", "ruby", "bash", "lua", "zig", in the order of lists; NULL from the end on. JSX
 * is part of "javascript". */
const ComplexityLanguage *complexity_language_at(size_t i);

/* By its name; also the spellings people use ("js", "c++", "c#", "sh", "golang"…), in any case;
 * NULL if there is none. */
const ComplexityLanguage *complexity_language_named(Span name);

/* By the name of the file, else, where that says nothing, by its beginning ("#!/usr/bin/env
 * python3"); a .h is C++ if its beginning holds what C does not have. head: the first bytes of the
 * file, or empty. NULL: none that we know. */
const ComplexityLanguage *complexity_language_of(Span path, Span head);

/* Could the name of the file alone say that it is none of ours? Then its head need not be read. */
bool complexity_language_needs_head(Span path);

Span complexity_language_name(const ComplexityLanguage *language);

/* Does the toolchain ("rust", "deno", "python-uv", "auto", or a language in any spelling) read
 * files of that language? */
bool complexity_toolchain_has(Span toolchain, const ComplexityLanguage *language);
bool complexity_toolchain_known(Span toolchain);
