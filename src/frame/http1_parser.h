/* frame/http1_parser.h: llhttp, fed whole lines and counted bytes, and what it said of them. The
 * only file that knows llhttp is http1_parser.c. Thread: any, one at a time. */
#pragma once

#include "base/span.h"
#include "frame/http1.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL when there is no memory. Gives. */
Http1Parser *http1_parser_new(void);
Http1Parser *http1_parser_free(Http1Parser *parser);

/* Forgets the last message. skips_body: the next one is a response that has none, whatever its
 * fields say. */
void http1_parser_begin(Http1Parser *parser, Http1Kind kind, bool skips_body);

/* Parses the head, all of it and nothing more; then bytes of the body, of its framing or of the
 * trailers. */
Http1Fault http1_parser_run(Http1Parser *parser, Span bytes);

/* After run: whether the message is complete; whether those bytes were the line before a chunk, of
 * *ret_size; how many of them were body. */
bool http1_parser_is_done(const Http1Parser *parser);
bool http1_parser_has_chunk(const Http1Parser *parser, uint64_t *ret_size);
size_t http1_parser_n_body(const Http1Parser *parser);

/* After the head. */
size_t http1_parser_n_fields(const Http1Parser *parser);
Http1Method http1_parser_method(const Http1Parser *parser);
uint64_t http1_parser_content_length(const Http1Parser *parser);
