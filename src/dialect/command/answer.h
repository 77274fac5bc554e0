/* dialect/command/answer.h: the command door's answers, written. Pure.
 *
 * Bodies are JSON. A command's payload is the standard envelope (call/envelope.h); JSON-RPC replies
 * nest it at result.result:
 *
 *     {"jsonrpc":"2.0","id":1,"result":{"jsonrpc":"2.0","id":1,"method":"…","result":{…envelope}}}
 *
 * Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "call/envelope.h"
#include "call/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job as the door shows it. Times: microseconds since 1970; 0: not yet. Text unless said. */
typedef struct CommandJob {
    Span id;
    const char *state;
    bool is_over;
    Span method;
    Span params; /* JSON */
    Span rpc_id; /* JSON; empty: null */
    Span idempotency_key;
    Span pool;
    Span worker;
    int64_t priority;
    int64_t timeout_ms;
    unsigned n_attempts;
    unsigned max_attempts;
    int64_t enqueued_us;
    int64_t started_us;
    int64_t beat_us;
    int64_t finished_us;
    Span code;
    Span message;
    const CallResult *result; /* how it ended; NULL: has not, or was not kept */
    bool is_dropped;          /* it had a result, which was not kept */
    int64_t server_pid;       /* of the hub that has it; 0: none was asked */
    unsigned server_port;     /* where that was asked; 0: not at a port */
    uint64_t version;
} CommandJob;

/* All append to out. 0, -ENOMEM, BYTES_E_FULL. */

/* {"ok":true,"jobId":…,"state":…,"known":false,"serverPid":…,"serverPort":…}: it is on disk. */
int command_write_enqueued(const CommandJob *job, bool is_known, Bytes *out);

/* {"jsonrpc","id","result":{"ok":true,"queued":true,"jobId":…}} */
int command_write_queued(const CommandJob *job, Bytes *out);

/* It has answered, and nobody can say what any more: its envelope is RESULT_DROPPED. */
bool command_is_gone(const CommandJob *job);

/* The envelope of a job that is over: its result's, with the times that the queue knows. */
int command_write_payload(const CommandJob *job, Bytes *out);

/* The JSON-RPC reply with it, at result.result. */
int command_write_reply(const CommandJob *job, Bytes *out);

/* The row, in the names of the real server (job_id, method, params_json, rpc_id, idempotency_key,
 * priority, state, enqueue_ts, start_ts, heartbeat_ts, finish_ts (whole seconds), timeout_sec,
 * attempts, max_attempts, result_json: the JSON-RPC reply as text, error_code, error_msg,
 * target_port) and ours (jobId, enqueuedAt …: RFC 3339 with milliseconds, result: the reply's
 * `result`, so that the envelope is at result.result of the row, too). A list has its rows, without
 * bodies, as `jobs` and, as the real server, as `items`. */
int command_write_job(const CommandJob *job, bool with_bodies, Bytes *out);
int command_write_jobs(const CommandJob *jobs, size_t n, Span next, Bytes *out);

/* {"ok":true,"purged":5} */
int command_write_purged(uint64_t n, Bytes *out);

/* {"ok":true,"jobId":…,"state":…}, and leaseMs unless that is 0: done. */
int command_write_done(const CommandJob *job, int64_t lease_ms, Bytes *out);

/* For an application that fetches: a JSON-RPC request whose id is "job-….FENCE"; jobId, leaseMs and
 * attempt beside. */
int command_write_pending(const CommandJob *job, uint64_t fence, int64_t lease_ms, Bytes *out);

/* {"ok":false,"code":…,"msg":…,…all standard members}; with rpc_id as a JSON-RPC reply that nests
 * it (or a JSON-RPC error where the protocol itself was broken: code "INVALID_JSON",
 * "INVALID_JSONRPC"). next_actions: JSON array or empty. */
int command_write_refusal(const char *code, Span message, Span method, Span rpc_id,
                          Span next_actions, bool as_rpc, Bytes *out);

/* What an application posted as its answer, as the result of the call: its envelope in any
 * spelling, or any JSON value. Appends the record (call/record.h) to out; *ret_code and
 * *ret_message (in the arena) for the job's row. 0, -ENOMEM, BYTES_E_FULL. */
int command_record_posted(JsonValue answer, bool is_error, Arena *arena, Bytes *out, Span *ret_code,
                          Span *ret_message);

/* OpenRPC 1.3 of the tools; descriptions as the router has them. */
int command_write_openrpc(Span title, Span version, const JsonValue *tools, size_t n, Bytes *out);
