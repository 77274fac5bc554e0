/* frame/http1_scan.h: what a line of HTTP must look like before llhttp may see it; and the classes
 * of characters, which the writer uses too. Lines are given without their CRLF. Thread: any. */
#pragma once

#include "base/span.h"
#include "frame/http1.h"

#include <stdbool.h>
#include <stddef.h>

/* Splits "METHOD target HTTP/1.1" into head (method_name, target, minor); spans of line. */
Http1Fault http1_scan_request_line(Span line, size_t max_target, Http1Head *head);

/* Splits "HTTP/1.1 200 reason" into head (status, minor, reason). */
Http1Fault http1_scan_status_line(Span line, Http1Head *head);

/* "name: value", in a head or behind the last chunk. */
Http1Fault http1_scan_field_line(Span line);

/* "1F" or "1F;name=value"; *ret_extension is the bytes from ';' on. */
Http1Fault http1_scan_chunk_line(Span line, size_t *ret_extension);

/* More digits are not a size but a way to pass bytes by a limit: 64 bits have 16. */
#define HTTP1_SCAN_CHUNK_DIGITS 16

/* Splits the target into path, query and the authority of an absolute one. */
Http1Fault http1_scan_target(Http1Head *head, Span *ret_authority);

/* Host and port, nothing else; may be empty. */
bool http1_scan_is_authority(Span s);

/* A name or a method, not empty. */
bool http1_scan_is_token(Span s);

/* How many bytes at the beginning of s can be those of a name; or of a value. */
size_t http1_scan_token_n(Span s);
size_t http1_scan_value_n(Span s);

/* Without control characters other than tab. */
bool http1_scan_is_value(Span s);

/* Nor with anything above ASCII. */
bool http1_scan_is_plain(Span s);

/* Visible ASCII without '#', not empty. */
bool http1_scan_is_target(Span s);

/* Without the blanks and tabs around it. */
Span http1_scan_trim(Span s);
