/* dialect/command/request_impl.h: what request.c (path, query, head) and request_body.c share.
 * Thread: any. */
#pragma once

#include "base/compiler.h"
#include "dialect/command/request.h"

/* A field that is not as it must be. */
#define REQUEST_INVALID "INVALID_PARAMS"

/* A request being read. */
typedef struct Reading {
    Arena *arena;
    CommandRequest *request;
    CommandRefusal *refusal;
} Reading;

/* Says why not. COMMAND_E_REFUSED, -ENOMEM. */
TW_PRINTF(4, 5)
int command_refuse(const Reading *in, unsigned status, const char *code, const char *format, ...);

/* An id of a job, maybe with its fence; field: where it stood. 0, -ENOMEM, COMMAND_E_REFUSED. */
int command_take_job(const Reading *in, Span text, const char *field);

/* The method that was read, as a name; field: where it stood. Likewise. */
int command_check_method(const Reading *in, const char *field);

/* What the body says. Likewise. */
int command_read_body(const Reading *in, const Http1Head *head, Span body);
