/* toolkit/glob.h: patterns of paths: *, ?, [a-z], ** between slashes, and {a,b}.
 *
 * A pattern without a slash is of the name alone, wherever the file lies; with one it is of the
 * path from the project's folder; one that ends in a slash, or names a folder, is of all beneath
 * it. Matching takes time in the product of the two lengths at most. Thread: any.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>

/* A longer pattern says no path. */
#define TOOLKIT_GLOB_MAX 1024

/* What is wrong with a pattern, so that it does not say what its author meant: it is empty or too
 * long, or a bracket, a brace or an escape has no end. NULL: nothing. Constant. */
const char *toolkit_glob_fault(Span pattern);

/* Does the pattern say this path (relative, '/' between names)? A backslash takes the next
 * character for itself; "./" and "/" at the beginning are the project's folder. A brace without its
 * end is a character, a bracket without its end says nothing. */
bool toolkit_glob_matches(Span pattern, Span path);

/* As git matches a pattern with a path: * and ? stop at a slash, ** between slashes does not; no
 * braces. For toolkit/ignore.c. */
bool toolkit_wildmatch(Span pattern, Span text);

/* The same where ASCII letters have no case, with git's exceptions: an escaped letter, and a single
 * one in brackets, is a small one. */
bool toolkit_wildmatch_nocase(Span pattern, Span text);
