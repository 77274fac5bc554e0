/* router/faults.h: checks what goes through the router, and says what is wrong with it.
 *
 * The words are built in buffers that are used again, so that a steady stream of good calls
 * allocates nothing and one of bad calls hardly anything. Thread: loop.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "call/result.h"
#include "json/json.h"
#include "json/schema/schema.h"

#include <stddef.h>

enum {
    FAULTS_E_FOUND = 1, /* message and data say what is wrong */
};

typedef struct RouterFaults {
    SchemaCheck *check;
    Bytes
        message; /* "arguments/count: expected integer, got string; arguments: missing property…" */
    Bytes data;      /* [{"path":"/count","message":"expected integer, got string"}…] */
    size_t n_unsaid; /* faults for which message has no room */
    Arena scratch;   /* the index of a structured result */
} RouterFaults;

/* 0, -ENOMEM. */
int router_faults_init(RouterFaults *faults);
void router_faults_deinit(RouterFaults *faults);

/* Arguments of a tool against its schema; node NULL counts as {}. description is the tool's: an
 * argument that its inputSchema does not know is told with the nearest one that it does. 0,
 * -ENOMEM, FAULTS_E_FOUND. */
int router_faults_tool(RouterFaults *faults, const Schema *schema, JsonValue description,
                       JsonValue arguments);

/* Arguments of a prompt against its list (node NULL: none): an object of strings, with all that
 * are required. 0, -ENOMEM, FAULTS_E_FOUND. */
int router_faults_prompt(RouterFaults *faults, JsonValue list, JsonValue arguments);

/* structured (JSON, or empty) against the output schema. 0, -ENOMEM, FAULTS_E_FOUND. */
int router_faults_structured(RouterFaults *faults, const Schema *schema, Span structured);

/* The result that says it; borrowed until the next check. */
CallResult router_faults_result(const RouterFaults *faults, CallError error);
