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

/* A line to an MCP client, with its newline. The official TypeScript client closes the session when
 * more than 10 MiB are in its buffer: what it has of the line and the whole chunk of up to 64 KiB
 * in which the line ends, with whatever follows it there. */
#define LIMIT_MCP_LINE_BYTES ((size_t)10 * 1024 * 1024 - (size_t)64 * 1024)

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

/* What the loop may run for one peer before it goes on to the others: a thousand times what a turn
 * takes. Sanitizers slow it down. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_TURN_MS 10000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMIT_TURN_MS 10000
#endif
#endif
#ifndef LIMIT_TURN_MS
#define LIMIT_TURN_MS 1000
#endif

/* After a signal that asks the process to end: how long the loop may not come round, and what the
 * end may take beyond the time that calls in flight have. */
#define LIMIT_END_QUIET_MS 10000
#define LIMIT_END_LATE_MS  10000

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

/* Tasks of one legacy session whose changes it is told of without having asked; those beyond are
 * found by asking. */
#define LIMIT_MCP_TASKS_TOLD 1024

/* MCP over HTTP. Sessions: more than there are clients on one machine, of which one asker cannot
 * take the most part; and one that is not used for an hour is likely forgotten. What one keeps for
 * clients that come back: the last minutes of a talkative tool. Silence that no proxy takes for the
 * end: many give up after a minute, some after 30 s. When to come back to a stream that we closed.
 */
#define LIMIT_MCP_HTTP_SESSIONS        4096
#define LIMIT_MCP_HTTP_SESSIONS_EACH   256
#define LIMIT_MCP_HTTP_SESSION_IDLE_MS ((int64_t)60 * 60 * 1000)

/* A session that nobody has come back to since it was opened: a program sends its next message at
 * once, and a person who types it has found it by then. */
#define LIMIT_MCP_HTTP_SESSION_FRESH_MS ((int64_t)5 * 60 * 1000)
#define LIMIT_MCP_HTTP_STORED_BYTES     ((size_t)256 * 1024)
#define LIMIT_MCP_HTTP_KEEP_ALIVE_MS    15000
#define LIMIT_MCP_HTTP_RETRY_MS         1000

/* Our side as a client: requests open at once, rounds of input for one call, silence that makes a
 * probed server a legacy one, silence that ends a request. */
#define LIMIT_MCP_CLIENT_OPEN       1024
#define LIMIT_MCP_ROUNDS            10
#define LIMIT_MCP_PROBE_MS          5000
#define LIMIT_MCP_CLIENT_REQUEST_MS 60000

/* Requests under way at once to one server over HTTP, each of which may be a connection; others
 * wait. More than any server's share of our descriptors. */
#define LIMIT_MCP_HTTP_CLIENT_STREAMS 256

/* MCP servers behind the hub. Calls open at one of them: those of many clients at once, as many as
 * a server can take. How long the first lists wait for servers that have just been started: a
 * person waits for them, and a client asks only once. Calls whose asker thinks about a question, at
 * one server: each holds the server's memory, too. */
#define LIMIT_UPSTREAM_OPEN    4096
#define LIMIT_UPSTREAM_GATE_MS 3000
#define LIMIT_UPSTREAM_PARKED  64

/* Hubs before hubs, each a child of the next: one that runs within so many starts no servers. Three
 * are of use to somebody; more are settings that lead back to themselves. */
#define LIMIT_UPSTREAM_WITHIN 5

/* What a server lists is kept for the next run, so much of it at most: more is a server that is
 * better asked. Older lists are shown, but the first who asks for lists has them read anew. */
#define LIMIT_UPSTREAM_KEPT_BYTES ((size_t)8 * 1024 * 1024)
#define LIMIT_UPSTREAM_KEPT_MS    ((int64_t)24 * 60 * 60 * 1000)

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

/* Credentials over HTTP whose rate and calls are counted; of more, those that nobody uses are
 * forgotten first. Some 250 bytes each. */
#define LIMIT_HTTP_ASKERS 4096

/* An access token of an issuer: no longer than a request's head may be. Its members are compared
 * with one another before anybody is known to have signed it; the fattest ones seen have 40. */
#define LIMIT_JWT_BYTES   ((size_t)16 * 1024)
#define LIMIT_JWT_MEMBERS 256
#define LIMIT_JWT_DEPTH   32

/* An issuer's key set and its keys: issuers have two to six. A token that does not say which makes
 * us try them all, 0.1 ms each. */
#define LIMIT_JWKS_BYTES ((size_t)256 * 1024)
#define LIMIT_JWKS_KEYS  32

/* How far an issuer's clock and ours may be apart. */
#define LIMIT_JWT_LEEWAY_S 60

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

/* HTTP. A request's body is an MCP message, and a connection may hold two answers of full size that
 * its peer has not taken; descriptors run out before so many connections do. */
#define LIMIT_HTTP_BODY_BYTES    LIMIT_MCP_REQUEST_BYTES
#define LIMIT_HTTP_PENDING_BYTES (2 * LIMIT_MCP_RESPONSE_BYTES)
#define LIMIT_HTTP_CONNECTIONS   ((size_t)8192)

/* Output of a connection above which nothing more is asked of its owner: neither are further
 * requests begun, nor should a stream be fed. Several times what a socket takes at once, and still
 * little for each of a thousand streams. */
#define LIMIT_HTTP_MARK_BYTES ((size_t)256 * 1024)

/* How slow an HTTP client may be. A head is one packet: whoever needs 10 s for it holds us up. Idle
 * connections are worth keeping while a person thinks. */
#define LIMIT_HTTP_HEAD_MS  10000
#define LIMIT_HTTP_BODY_MS  30000
#define LIMIT_HTTP_IDLE_MS  60000
#define LIMIT_HTTP_STALL_MS 30000

/* Who sends or takes a byte now and then is never silent, and would hold a body, an answer and a
 * connection for ever. So a body, and a whole answer, must move at this rate, that of a slow
 * mobile link; what is behind it by a minute, time for every small message at any rate, is
 * given up. */
#define LIMIT_HTTP_SLOW_MS          60000
#define LIMIT_HTTP_SLOW_BYTES_PER_S ((size_t)16 * 1024)

/* Memory of connections and sessions that have gone is given back to the system when no more has
 * followed for a second, but after half a minute at the latest: it takes milliseconds. */
#define LIMIT_HTTP_TRIM_MS     1000
#define LIMIT_HTTP_TRIM_MAX_MS 30000

/* A client that has ended its half of the connection and waits for its answer is told so often that
 * we work, which shows whether it is there; and it is looked so often whether it was. */
#define LIMIT_HTTP_PROBE_MS 15000
#define LIMIT_HTTP_LOOK_MS  1000

/* After a last answer the peer may still be sending: what comes is dropped, lest a reset destroys
 * the answer before it is read; many clients read nothing before they have sent all. Until it has
 * been silent for so long, has taken so long altogether, or has sent so much: several times what is
 * taken anywhere, and still some tenths of a second of work. */
#define LIMIT_HTTP_LINGER_MS     5000
#define LIMIT_HTTP_LINGER_MAX_MS 30000
#define LIMIT_HTTP_LINGER_BYTES  ((size_t)256 * 1024 * 1024)

/* Sorts of calls that are counted apart (app/watch.h): some ten providers, four dialects and six
 * verbs, of which few go together. 300 bytes each, and 2.5 KiB of text for whoever reads them. */
#define LIMIT_WATCH_SERIES 128

/* The record of calls (app/audit.h): when a file is moved aside, how many of those are kept, lines
 * that wait for a disk that takes none, and what a line may hold of a call's target and arguments.
 */
#define LIMIT_AUDIT_FILE_BYTES      ((size_t)10 * 1024 * 1024)
#define LIMIT_AUDIT_FILES           5
#define LIMIT_AUDIT_WAITING_BYTES   ((size_t)1024 * 1024)
#define LIMIT_AUDIT_TARGET_BYTES    ((size_t)512)
#define LIMIT_AUDIT_ARGUMENTS_BYTES ((size_t)16 * 1024)

/* The durable queue. Parameters or a result: as large as a message of the pipe. Names (method, key,
 * owner, worker…): they are in indices and lists. Jobs that are not over: a million wait while
 * their application is away, and a claim still takes microseconds. Results: a day, and 256 MiB
 * together.
 */
#define LIMIT_QUEUE_BODY_BYTES ((size_t)16 * 1024 * 1024)
#define LIMIT_QUEUE_NAME_BYTES ((size_t)4 * 1024)
#define LIMIT_QUEUE_WAITING    ((uint64_t)1024 * 1024)
#define LIMIT_QUEUE_KEEP_MS    ((int64_t)24 * 60 * 60 * 1000)
#define LIMIT_QUEUE_KEEP_BYTES ((uint64_t)256 * 1024 * 1024)

/* How often in a row a job may be running when its process dies, before it is taken for the cause,
 * whatever its attempts: a hub that is started again and again must not be killed by one job. Fits
 * in two bits (STORE_FLAG_CRASHES). */
#define LIMIT_QUEUE_CRASHES 3

/* Attempts of a job that may be tried again; how long the next one waits: a second, doubled with
 * each, five minutes at most: what is broken for longer is seen to by people. */
#define LIMIT_QUEUE_ATTEMPTS       3
#define LIMIT_QUEUE_BACKOFF_MS     1000
#define LIMIT_QUEUE_BACKOFF_MAX_MS ((int64_t)5 * 60 * 1000)

/* Jobs on a page of a list unless it is said, and at most; jobs of one claim; operations that share
 * a commit, and their bodies together: more would make the first of them wait long. */
#define LIMIT_QUEUE_LIST        50
#define LIMIT_QUEUE_LIST_MAX    1000
#define LIMIT_QUEUE_CLAIM       256
#define LIMIT_QUEUE_BATCH       512
#define LIMIT_QUEUE_BATCH_BYTES ((size_t)8 * 1024 * 1024)

/* What one operation may read: a job whose every text is as large as it may be, and a page of
 * lists.
 */
#define LIMIT_QUEUE_OP_BYTES ((size_t)128 * 1024 * 1024)

/* OAuth (src/oauth, peer/auth). Metadata and answers of token endpoints are a few KiB; a token may
 * be a JWT with many claims, but must fit in a header. Scopes: hundreds of words. The arena holds
 * one flow: four documents and their indices. */
#define LIMIT_OAUTH_BODY_BYTES  ((size_t)256 * 1024)
#define LIMIT_OAUTH_DEPTH       32
#define LIMIT_OAUTH_SCOPE_BYTES ((size_t)8 * 1024)
#define LIMIT_OAUTH_TOKEN_BYTES ((size_t)32 * 1024)
#define LIMIT_OAUTH_ARENA_BYTES ((size_t)32 * 1024 * 1024)

/* A token is renewed so long before its end, that none ends on its way; a document or a token is
 * waited for so long, and a person who logs in so long. The scopes of a server are widened so often
 * before it is asked again by hand. */
#define LIMIT_OAUTH_EARLY_S   60
#define LIMIT_OAUTH_FETCH_MS  30000
#define LIMIT_OAUTH_PERSON_MS ((int64_t)5 * 60 * 1000)
#define LIMIT_OAUTH_STEP_UPS  3

/* The file of credentials: a few KiB for each server. */
#define LIMIT_OAUTH_STORE_BYTES ((size_t)4 * 1024 * 1024)

/* Safety of commands (router/safety). Target ids from which on the caller must say what is to
 * become of failures, and how long a preview stays a basis for the deed: both as in the documented
 * system. Documents, tokens and previews that a desk remembers: more than one person has open, an
 * hour of work, five minutes of it; the oldest go. */
#define LIMIT_SAFETY_TARGETS    5
#define LIMIT_SAFETY_CONFIRM_MS ((int64_t)300 * 1000)
#define LIMIT_SAFETY_DOCUMENTS  64
#define LIMIT_SAFETY_TOKENS     128
#define LIMIT_SAFETY_CONFIRMS   64

/* A whitelist; what one command's failures and dialogs may take in its answer; and a document's
 * guid or path that is normalised: canonical order of a text of accents only is quadratic work, and
 * 16 KiB of them take 0.1 s. */
#define LIMIT_SAFETY_WHITELIST_BYTES ((size_t)4 * 1024 * 1024)
#define LIMIT_SAFETY_ISSUES_BYTES    ((size_t)512 * 1024)
#define LIMIT_SAFETY_FOLD_BYTES      ((size_t)16 * 1024)

/* Jobs that a hub runs at once: they wait for programs more than they work. An end that the disk
 * did not take is offered again after a second. How often whoever has a task is told to ask for it.
 */
#define LIMIT_JOBS_RUNNING  16
#define LIMIT_JOBS_RETRY_MS 1000
#define LIMIT_JOBS_POLL_MS  500

/* A job whose tool nobody has, since its application is not there (again) yet: how long it waits
 * unless it says so itself, which is longer than people need to start one; and names of tools of
 * which it is remembered whether they are there. */
#define LIMIT_JOBS_AWAY_MS    ((int64_t)10 * 60 * 1000)
#define LIMIT_JOBS_AWAY_NAMES 4096

/* The command door. A body: what its real clients may send. How long an answer may be waited for,
 * and requests that wait at once. A lease of an application that fetches its jobs, unless it says
 * another; and how long after it was last heard of one is still known, which is longer than it
 * takes to start one again. */
#define LIMIT_COMMAND_BYTES        ((size_t)10 * 1024 * 1024)
#define LIMIT_COMMAND_WAIT_MS      ((int64_t)60 * 1000)
#define LIMIT_COMMAND_WAITING      1024
#define LIMIT_COMMAND_LEASE_MS     ((int64_t)60 * 1000)
#define LIMIT_COMMAND_LEASE_MAX_MS ((int64_t)24 * 60 * 60 * 1000)
#define LIMIT_COMMAND_KNOWN_MS     ((int64_t)10 * 60 * 1000)

/* An agent's files (providers/files.h). A file that is read or written: ten times what a model
 * takes in. Of a command, each of its outputs: what a model reads of it; and the time of the
 * documented system. Of a search: what it looks at, and for how long, before it gives what it has;
 * and results unless it is said, and at most. Entries of one folder. Commands at once: each is a
 * process. */
#define LIMIT_FILES_BYTES          ((size_t)10 * 1024 * 1024)
#define LIMIT_FILES_OUTPUT_BYTES   ((size_t)256 * 1024)
#define LIMIT_FILES_COMMAND_MS     ((int64_t)10 * 1000)
#define LIMIT_FILES_SEARCH_BYTES   ((uint64_t)256 * 1024 * 1024)
#define LIMIT_FILES_SEARCH_ENTRIES ((size_t)200000)
#define LIMIT_FILES_SEARCH_MS      ((int64_t)10 * 1000)
#define LIMIT_FILES_RESULTS        100
#define LIMIT_FILES_RESULTS_MAX    1000
#define LIMIT_FILES_ENTRIES        ((size_t)10000)
#define LIMIT_FILES_RUNNING        16

/* Attachments: a text, and a picture before it is encoded; both as in the documented system. A
 * picture counts as so many tokens, whatever its size: the largest that the known models charge. */
#define LIMIT_AGENT_FILE_BYTES   ((size_t)10 * 1024 * 1024)
#define LIMIT_AGENT_IMAGE_BYTES  ((size_t)5 * 1024 * 1024)
#define LIMIT_AGENT_IMAGE_TOKENS 1600

/* Conversations on disk. One message: a line of the protocol and some attachments. An id or title:
 * people read them. What is loaded of a conversation, unless it is said: more than any model takes.
 * Conversations on a page of a list, and at most. Operations that share a commit. */
#define LIMIT_AGENT_MESSAGE_BYTES ((size_t)64 * 1024 * 1024)
#define LIMIT_AGENT_NAME_BYTES    ((size_t)1024)
#define LIMIT_AGENT_LOAD_BYTES    ((size_t)32 * 1024 * 1024)
#define LIMIT_AGENT_LIST          50
#define LIMIT_AGENT_LIST_MAX      1000
#define LIMIT_AGENT_STORE_BATCH   256
/* A turn of the agent (agent/turn.h). Rounds of tools, as the documented agent has it. How long a
 * person may think about a call; any turn. What it says and hears in all; what the model reads of
 * one result: a quarter of a usual context. Calls of one answer. How often the shell hears that a
 * tool still runs, as the real one is used to. */
#define LIMIT_AGENT_ROUNDS       10
#define LIMIT_AGENT_APPROVAL_MS  ((int64_t)10 * 60 * 1000)
#define LIMIT_AGENT_TURN_MS      ((int64_t)60 * 60 * 1000)
#define LIMIT_AGENT_TURN_BYTES   ((size_t)128 * 1024 * 1024)
#define LIMIT_AGENT_RESULT_BYTES ((size_t)128 * 1024)
#define LIMIT_AGENT_ROUND_TOOLS  128
#define LIMIT_AGENT_PROGRESS_MS  1000

/* The runtime around it (app/agent.h). Tools that a model is offered: what the strictest of the
 * services takes; and their texts. Tokens of a request unless it is said: what the models of the
 * day have in any case, and what a person pays for without looking. The first words of a
 * conversation as its title. What open requests get when the agent ends: those who have sent
 * SIGTERM are not patient. */
#define LIMIT_AGENT_TOOLS         128
#define LIMIT_AGENT_OFFER_BYTES   ((size_t)16 * 1024 * 1024)
#define LIMIT_AGENT_BUDGET_TOKENS 64000
#define LIMIT_AGENT_TITLE_BYTES   ((size_t)60)
#define LIMIT_AGENT_GRACE_MS      5000

/* Storage that an arena or buffer keeps between messages: covers the common message, so that steady
 * traffic allocates nothing, and lets a rare 10 MiB one go back to the system. */
#define LIMIT_KEEP_BYTES ((size_t)256 * 1024)

/* Results that were too long for a model and are kept for who wants all of it
 * (providers/results.h): how many, all together, and for how long. An agent reads on within minutes
 * or never; the memory is that of a few of the longest answers. */
#define LIMIT_RESULTS_COUNT 256
#define LIMIT_RESULTS_BYTES ((size_t)64 * 1024 * 1024)
#define LIMIT_RESULTS_MS    ((int64_t)60 * 60 * 1000)

/* Language models (agent/model.h). The answer, in tokens, unless it is said: as the documented
 * agent. A request: what the largest of the known services takes. An answer, an event of its stream
 * and the input of one tool in it: a hundred times what models write, for models that never stop;
 * and tools that one answer calls. */
#define LIMIT_MODEL_TOKENS        4096
#define LIMIT_MODEL_REQUEST_BYTES ((size_t)32 * 1024 * 1024)
#define LIMIT_MODEL_ANSWER_BYTES  ((size_t)8 * 1024 * 1024)
#define LIMIT_MODEL_EVENT_BYTES   ((size_t)2 * 1024 * 1024)
#define LIMIT_MODEL_TOOL_BYTES    ((size_t)1024 * 1024)
#define LIMIT_MODEL_TOOLS         128

/* Silence of a model that ends a run, as the documented agent has it: large local models read a
 * long conversation for a minute before their first word. Reaching the server; finding one on this
 * machine that nobody has named, which is not waited for by a person. */
#define LIMIT_MODEL_STALL_MS   120000
#define LIMIT_MODEL_CONNECT_MS 10000
#define LIMIT_MODEL_PROBE_MS   500

/* Attempts of a run, and the waits between them: 1, 2, 4 s, or what the server asks for; one that
 * asks for more than a minute is not waited for: a person would not know why. */
#define LIMIT_MODEL_ATTEMPTS     4
#define LIMIT_MODEL_BACKOFF_MS   1000
#define LIMIT_MODEL_RETRY_MAX_MS 60000
/* A line between a shell and an agent, either way: what the shells of the field hold before they
 * drop it. */
#define LIMIT_AGENT_LINE_BYTES 10485760

/* An id of a request, a conversation, a use of a tool; attachments of one message; requests that an
 * agent has open at once. */
#define LIMIT_AGENT_ID_BYTES    256
#define LIMIT_AGENT_ATTACHMENTS 64
#define LIMIT_AGENT_REQUESTS    1024

/* A shell gives a request up after so long without a word about it; so an agent that waits for its
 * model or a tool says every now and then that it is there. */
#define LIMIT_AGENT_IDLE_MS  60000
#define LIMIT_AGENT_ALIVE_MS 15000

/* An agent that ends is started again after this, doubled each time until one has answered. */
#define LIMIT_AGENT_RESTART_MS     500
#define LIMIT_AGENT_RESTART_MAX_MS 30000
