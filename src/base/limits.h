/* base/limits.h: the bounds that several files need or a setting changes, each with its reason. One
 * that concerns a single module may be in that, with a name and a reason, too.
 *
 * These are the defaults; owners pass them on at init, so that a configuration can change them.
 */
#pragma once

#include <stddef.h>

/* Nesting of a JSON text. Real messages stay under 20; the index needs no stack, but consumers may.
 */
#define LIMIT_JSON_DEPTH 512

/* Nesting of JSON that a provider gives: an answer wraps up to five levels around it (a batch, the
 * message, result, messages, message; the message, result, inputRequests, request, params), and the
 * peer that reads the whole may count as strictly as we do. The rest is for whoever passes it on
 * inside a message of its own. */
#define LIMIT_RESULT_DEPTH (LIMIT_JSON_DEPTH - 8)

/* A JSON text that is indexed. Offsets are 32 bits wide, and no wire of ours carries a larger
 * message. */
#define LIMIT_JSON_BYTES 0xFFFFFFF0u

/* Subschemas written inside subschemas. */
#define LIMIT_SCHEMA_DEPTH 64

/* Subschemas inside one another while a value is checked. A value nested LIMIT_JSON_DEPTH deep with
 * a recursive schema of four steps per level (reference, allOf, property, reference) still passes;
 * the C stack needs about 300 bytes for each. */
#define LIMIT_SCHEMA_FRAMES 2048

/* The work of checking one value, in steps of about 10 ns: a subschema tried, an element or member
 * looked at, 8 to 64 bytes of a string or number read, a fifth of a pattern's item matched with
 * backtracking. A diamond of references (a: allOf [b, b], b: allOf [c, c]...) doubles the work with
 * each level, and a pattern may do the same with each character.
 *
 * So many to begin with, 40 to 200 ms; so many more for each value inside it and for each byte of
 * it, which is far above what honest schemas need; but never more than LIMIT_SCHEMA_STEPS_MAX, so
 * that a hostile schema ends within a second on 1 MiB, and as many for each value as leave an array
 * of millions its due. */
#define LIMIT_SCHEMA_STEPS                  4000000
#define LIMIT_SCHEMA_STEPS_PER_VALUE        1024
#define LIMIT_SCHEMA_STEPS_PER_BYTE         32
#define LIMIT_SCHEMA_STEPS_MAX              30000000
#define LIMIT_SCHEMA_STEPS_ALWAYS_PER_VALUE 32

/* Subschemas of one compiled schema with everything it references: the official MCP schema has
 * 1,500. */
#define LIMIT_SCHEMA_NODES 65536

/* Errors collected for one value; a person acts on the first few. */
#define LIMIT_SCHEMA_ERRORS 32

/* MCP request and response, as the toolkit server states them. */
#define LIMIT_MCP_REQUEST_BYTES  ((size_t)1024 * 1024)
#define LIMIT_MCP_RESPONSE_BYTES ((size_t)10 * 1024 * 1024)

/* Calls of one session in flight, and the token bucket of its rate, as the toolkit server states
 * them. */
#define LIMIT_CALLS_IN_FLIGHT 128
#define LIMIT_RATE_BURST      1000
#define LIMIT_RATE_PER_S      100

/* A tool call, until progress moves its end, and at the very most. Clients are seen to give up at
 * 60 s of silence; what reports progress may well be a long build. */
#define LIMIT_CALL_MS     30000
#define LIMIT_CALL_MAX_MS ((int64_t)60 * 60 * 1000)

/* What calls in flight get to finish when the session ends. */
#define LIMIT_DRAIN_MS 30000

/* Tools, resources, templates or prompts of one router, each; a session lists them all. */
#define LIMIT_ROUTER_ENTRIES 65536

/* Descriptions in one page of a list, however many entries a page may have: a response of the
 * default size holds them and what is around them. No single one comes near (router/entry.c). */
#define LIMIT_LIST_PAGE_BYTES ((size_t)4 * 1024 * 1024)

/* How long a client may take to come back with the answers to our questions: a person reads them.
 * The state that it brings back holds the answers of earlier rounds, and is bounded too. */
#define LIMIT_MCP_STATE_MS    ((int64_t)10 * 60 * 1000)
#define LIMIT_MCP_STATE_BYTES ((size_t)256 * 1024)

/* Subscriptions of one session, the URIs that they name, and the bytes of these in a legacy one. */
#define LIMIT_MCP_LISTENS          64
#define LIMIT_MCP_SUBSCRIBED       1024
#define LIMIT_MCP_SUBSCRIBED_BYTES ((size_t)1024 * 1024)

/* Our side as a client: requests open at once, rounds of input for one call, silence that makes a
 * probed server a legacy one, silence that ends a request. */
#define LIMIT_MCP_CLIENT_OPEN       1024
#define LIMIT_MCP_ROUNDS            10
#define LIMIT_MCP_PROBE_MS          5000
#define LIMIT_MCP_CLIENT_REQUEST_MS 60000

/* Output that waits for a peer: above it nothing more is read from that peer. Answers of calls in
 * flight still find room, so that no result is thrown away: a door holds at most so many as calls
 * may be open. */
#define LIMIT_OUTPUT_PAUSE_BYTES ((size_t)1024 * 1024)

/* Requests of ours that wait for a server to read them. */
#define LIMIT_OUTPUT_BYTES ((size_t)64 * 1024 * 1024)

/* Longest time that a setting may name, ten years: sums of it and of the clock do not overflow. */
#define LIMIT_TIME_MS ((int64_t)10 * 366 * 24 * 60 * 60 * 1000)

/* Most that a session's calls in flight may be set to. */
#define LIMIT_CALLS_IN_FLIGHT_MAX 65536

/* Pipe message; equality passes. */
#define LIMIT_PIPE_MESSAGE_BYTES 16777216

/* Keep-alive of the pipe, both ways; attempts of an add-in to connect: 1, 2, 4… s, 30 at most. */
#define LIMIT_PIPE_PING_MS      30000
#define LIMIT_PIPE_PONG_MS      10000
#define LIMIT_PIPE_RETRY_MS     1000
#define LIMIT_PIPE_RETRY_MAX_MS 30000

/* Calls that one add-in runs at once, and that wait in it. */
#define LIMIT_PIPE_CALLS   128
#define LIMIT_PIPE_WAITING 1024

/* Call-socket message; equality passes. */
#define LIMIT_CALLSOCK_MESSAGE_BYTES 10485760

/* How long calls wait for the answer to one that was taken back after it was sent; then a new
 * connection serves them. A parent that finishes soon keeps its connection. */
#define LIMIT_CALLSOCK_LATE_MS 2000

/* Storage that an arena or buffer keeps between messages: covers the common message, so that steady
 * traffic allocates nothing, and lets a rare 10 MiB one go back to the system. */
#define LIMIT_KEEP_BYTES ((size_t)256 * 1024)
