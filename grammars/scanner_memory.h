/* Included before each scanner: its memory is the parser's, so that it is counted, and gone with
 * that. Some scanners ask tree-sitter's allocator only if they are told to, others never. */
#pragma once

#include <stdlib.h>
#include <string.h>

extern void *(*ts_current_malloc)(size_t size);
extern void *(*ts_current_calloc)(size_t count, size_t size);
extern void *(*ts_current_realloc)(void *ptr, size_t size);
extern void (*ts_current_free)(void *ptr);

#define malloc  ts_current_malloc
#define calloc  ts_current_calloc
#define realloc ts_current_realloc
#define free    ts_current_free
