/* frame/http1_impl.h: what http1.c (the reader as a whole), http1_gather.c (lines and heads) and
 * http1_body.c share. */
#pragma once

#include "frame/http1.h"
#include "frame/http1_split.h"

/* The end of the reader. Returns HTTP1_E_REFUSED. */
int http1_refuse(Http1Reader *reader, Http1Fault fault);

/* n unread bytes are dealt with. */
void http1_skip(Http1Reader *reader, size_t n);

/* Finds the end of a line among unread bytes that were not searched before; *ret_end is behind its
 * LF. False if it has not come. */
bool http1_find_line(Http1Reader *reader, Span unread, size_t *ret_end);

/* Takes CRLF off a line that ends in LF. */
Http1Fault http1_strip_line(Span *line);

/* Splits the first line of a head, without its CRLF. */
Http1Fault http1_first_line(const Http1Reader *reader, Span line, Http1Head *head);

/* Copies the head that the unread bytes begin with to head_bytes, once it is complete, and splits
 * it; all lines but the first are checked then. 0, -ENOMEM, AGAIN, REFUSED. */
int http1_gather_head(Http1Reader *reader, Http1Split *ret);

/* One step in a body each. 0, HTTP1_E_AGAIN, HTTP1_E_REFUSED; where there is a ret_body, 0 means
 * that it is set and not empty. `behind` is the state after the last of n_left bytes. */
int http1_read_counted(Http1Reader *reader, Http1State behind, Span *ret_body);
int http1_read_until_close(Http1Reader *reader, Span *ret_body);
int http1_read_chunk_line(Http1Reader *reader);
int http1_read_chunk_end(Http1Reader *reader);

/* One line of trailers, which is checked and dropped, or the empty one that ends the message. */
int http1_read_trailer(Http1Reader *reader);
