#include "app/agent_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/audit_line.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "frame/ndjson.h"
#include "io/environment.h"
#include "io/stream.h"
#include "json/json.h"

struct AgentWire {
    AgentWireConfig config;
    IoStream *stream;
    IoBeforeWait *settle; /* writes what has gathered */
    NdjsonReader reader;
    NdjsonWriter writer;
    Bytes trace;
    bool is_wide; /* a long line has come: the pipe was widened */
    bool is_paused;
    bool has_input_ended;
    bool was_end_told;
    bool has_failed;
};

static const IoTurnName wire_turn = {.text = "the shell that the agent serves"};

/* ---- the trace ---- */

/* What is shown of a line, so that a file that was attached does not fill the terminal. */
#define WIRE_TRACE_BYTES ((size_t)LOGSINK_LINE_MAX - 96)

/* The members of the message itself: `token` is no secret here, but the text of an answer. */
static int wire_mask(Bytes *out, JsonValue root)
{
    const char *before = "{";
    int r = 0;

    for (JsonIter it = json_iter(root); r == 0 && json_iter_next(&it); before = ",") {
        Span name;
        bool is_secret = !json_string_plain(it.key, &name) ||
                         (audit_is_secret(name) && !span_equals(name, SPAN("token")));

        r = bytes_append_format(out, "%s", before);
        r = r != 0 ? r : bytes_append_span(out, json_span(it.key));
        r = r != 0 ? r : bytes_append_byte(out, ':');
        r = r != 0      ? r
            : is_secret ? bytes_append_span(out, SPAN("\"***\""))
                        : audit_mask(out, it.value);
    }
    return r != 0 ? r : bytes_append_format(out, "%s}", before[0] == '{' ? "{" : "");
}

/* What is shorter stands in every other word. */
#define WIRE_SECRET_MIN_BYTES 8

/* Room for the list of them, beside the line's. */
#define WIRE_SECRETS_BYTES ((size_t)1024 * 1024)

typedef struct WireSecrets {
    Span *values;
    size_t n;
} WireSecrets;

static size_t wire_count(const char *const *list)
{
    size_t n = 0;

    while (list != NULL && list[n] != NULL) {
        n++;
    }
    return n;
}

static void wire_add_secret(WireSecrets *to, const char *value)
{
    Span secret = span_from_str(value);

    if (secret.n >= WIRE_SECRET_MIN_BYTES) {
        to->values[to->n++] = secret;
    }
}

/* 0, -ENOMEM. */
static int wire_gather(WireSecrets *ret, Arena *arena, const char *const *environment,
                       const char *const *secrets)
{
    size_t n = wire_count(environment);
    size_t n_secrets = wire_count(secrets);

    ret->n = 0;
    ret->values = arena_alloc_array(arena, n + n_secrets, sizeof(*ret->values));
    if (ret->values == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        size_t n_name = strcspn(environment[i], "=");

        if (environment[i][n_name] == '=' && audit_is_secret(span_make(environment[i], n_name))) {
            wire_add_secret(ret, environment[i] + n_name + 1);
        }
    }
    for (size_t i = 0; i < n_secrets; i++) {
        wire_add_secret(ret, secrets[i]);
    }
    return 0;
}

/* How many bytes at the beginning of s, of a string of JSON, say that character: it may be escaped.
 * 0: they say another. */
static size_t wire_character(Span s, char c)
{
    char code[7];

    if (s.n >= 2 && s.p[0] == '\\' && s.p[1] == 'u') {
        (void)snprintf(code, sizeof(code), "\\u%04x", (unsigned)(unsigned char)c);
        return s.n >= 6 && text_equals_nocase(span_make(s.p, 6), span_from_str(code)) ? 6 : 0;
    }
    if (s.n >= 2 && s.p[0] == '\\') {
        return s.p[1] == c ? 2 : 0;
    }
    return s.n > 0 && s.p[0] == c ? 1 : 0;
}

/* How many bytes at the beginning of s are the key, however it is written; 0: they are not. */
static size_t wire_match(Span s, Span key)
{
    size_t at = 0;

    for (size_t i = 0; i < key.n; i++) {
        size_t n = wire_character(span_make(s.p + at, s.n - at), key.p[i]);

        if (n == 0) {
            return 0;
        }
        at += n;
    }
    return at;
}

/* Of one secret that begins like another the longer counts: nothing of it may stay. */
static size_t wire_match_any(Span s, const WireSecrets *secrets)
{
    size_t longest = 0;

    for (size_t i = 0; i < secrets->n; i++) {
        size_t n = wire_match(s, secrets->values[i]);

        longest = n > longest ? n : longest;
    }
    return longest;
}

/* What is known to be secret, wherever it stands. */
static void wire_mask_secrets(Bytes *out, const WireSecrets *secrets)
{
    size_t to = 0;

    for (size_t from = 0; secrets->n > 0 && from < out->n;) {
        size_t n = wire_match_any(span_make(out->data + from, out->n - from), secrets);

        if (n > 0) {
            memcpy(out->data + to, "***", 3);
            to += 3;
            from += n;
        } else {
            out->data[to++] = out->data[from++];
        }
    }
    out->n = secrets->n > 0 ? to : out->n;
}

/* Long lines are cut, between characters. */
static void wire_cut(Bytes *out)
{
    size_t n = WIRE_TRACE_BYTES;

    if (out->n <= n) {
        return;
    }
    while (n > 0 && ((unsigned char)out->data[n] & 0xC0u) == 0x80u) {
        n--;
    }
    out->n = n;
    (void)bytes_append_span(out, SPAN(LOGSINK_CUT_MARK));
}

int agent_wire_trace_line(Bytes *out, const char *mark, Span line, const char *const *environment,
                          const char *const *secrets)
{
    WireSecrets hidden;
    Arena arena;
    JsonDoc doc;
    int r;

    arena_init(&arena, 16 * line.n + WIRE_SECRETS_BYTES);
    r = wire_gather(&hidden, &arena, environment, secrets);
    r = r != 0 ? r : bytes_append_format(out, "%s ", mark);
    if (r == 0 && json_parse(&doc, &arena, line.p, line.n, NULL, NULL) == 0 &&
        json_kind(json_root(&doc)) == JSON_OBJECT) {
        r = wire_mask(out, json_root(&doc));
    } else if (r == 0) {
        /* What cannot be read cannot be masked either. */
        r = bytes_append_format(out, "(%zu bytes that are no message)", line.n);
    }
    if (r == 0) {
        wire_mask_secrets(out, &hidden);
        wire_cut(out);
        r = bytes_append_byte(out, '\n');
    }
    arena_deinit(&arena);
    return r;
}

static void wire_trace(AgentWire *wire, const char *mark, Span line)
{
    if (!wire->config.trace) {
        return;
    }
    bytes_clear_keep(&wire->trace, LIMIT_KEEP_BYTES);
    if (agent_wire_trace_line(&wire->trace, mark, line, io_environment(), wire->config.secrets) ==
        0) {
        logsink_stderr_write(NULL, wire->trace.data, wire->trace.n);
    }
}

/* ---- lines out ---- */

int agent_wire_begin(AgentWire *wire, Bytes **ret)
{
    return wire == NULL || wire->has_failed ? -EPIPE : ndjson_writer_begin(&wire->writer, ret);
}

int agent_wire_commit(AgentWire *wire)
{
    wire_trace(wire, "[SEND]", outq_composed(&wire->writer.out));
    return ndjson_writer_commit(&wire->writer);
}

void agent_wire_abort(AgentWire *wire)
{
    ndjson_writer_abort(&wire->writer);
}

size_t agent_wire_pending(const AgentWire *wire)
{
    return ndjson_writer_pending(&wire->writer);
}

/* ---- lines in ---- */

/* What the next line begins with, if it may turn out to be too long: next says so and keeps nothing
 * of it. */
static Span wire_beginning(const AgentWire *wire)
{
    Span unread = inq_unread(&wire->reader.in);

    return unread.n > wire->reader.max_bytes && !wire->reader.skipping ? unread : SPAN_NULL;
}

static void wire_end(AgentWire *wire)
{
    Span rest;

    if (wire->was_end_told) {
        return;
    }
    wire->was_end_told = true;
    /* A file or a `printf` often lacks the last newline. */
    if (ndjson_reader_finish(&wire->reader, &rest) == NDJSON_E_INCOMPLETE) {
        wire_trace(wire, "[RECV]", rest);
        wire->config.line(wire->config.context, rest);
    }
    wire->config.ended(wire->config.context);
}

static void wire_take_lines(AgentWire *wire)
{
    Span beginning = wire_beginning(wire);
    Span line;
    int r;

    while ((r = ndjson_reader_next(&wire->reader, &line)) != NDJSON_E_AGAIN) {
        if (r == 0) {
            wire_trace(wire, "[RECV]", line);
            wire->config.line(wire->config.context, line);
        } else {
            wire->config.too_long(wire->config.context, beginning);
        }
        if (io_stream_is_overdue(wire->stream)) {
            return;
        }
        if (ndjson_writer_pending(&wire->writer) > LIMIT_OUTPUT_PAUSE_BYTES) {
            wire->is_paused = true;
            io_stream_pause(wire->stream);
            return;
        }
        beginning = wire_beginning(wire);
    }
    if (wire->has_input_ended) {
        wire_end(wire);
    }
}

static void wire_on_input(void *context)
{
    AgentWire *wire = context;

    if (wire->is_paused || wire->has_failed) {
        return;
    }
    wire_take_lines(wire);
    if (!wire->is_wide && inq_unread(&wire->reader.in).n >= IO_STREAM_READ_BYTES) {
        wire->is_wide = true; /* a line that takes more than one read */
        io_stream_widen_input(wire->stream);
    }
}

static void wire_on_end(void *context)
{
    AgentWire *wire = context;

    wire->has_input_ended = true;
    wire_on_input(wire);
}

static void wire_on_failed(void *context, int r)
{
    AgentWire *wire = context;

    wire->has_failed = true;
    wire->config.failed(wire->config.context, r);
}

static int wire_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    AgentWire *wire = context;

    return err_fold(ndjson_reader_reserve(&wire->reader, want, ret_p, ret_n));
}

static void wire_commit(void *context, size_t n)
{
    AgentWire *wire = context;

    ndjson_reader_commit(&wire->reader, n);
}

static size_t wire_pull(void *context, Span *slices, size_t max)
{
    AgentWire *wire = context;

    return ndjson_writer_pull(&wire->writer, slices, max);
}

static void wire_consumed(void *context, size_t n)
{
    AgentWire *wire = context;

    ndjson_writer_consumed(&wire->writer, n);
}

static const IoStreamOps wire_stream_ops = {
    .reserve = wire_reserve,
    .commit = wire_commit,
    .pull = wire_pull,
    .consumed = wire_consumed,
    .input = wire_on_input,
    .end = wire_on_end,
    .failed = wire_on_failed,
};

/* Once a turn of the loop: one write for all that was said in it. */
static void wire_on_before_wait(void *context)
{
    AgentWire *wire = context;

    if (wire->has_failed) {
        return;
    }
    io_stream_flush(wire->stream);
    if (wire->is_paused && ndjson_writer_pending(&wire->writer) <= LIMIT_OUTPUT_PAUSE_BYTES) {
        wire->is_paused = false;
        io_stream_resume(wire->stream);
        io_turn_begin(wire->config.loop, &wire_turn);
        wire_on_input(wire);
        io_turn_end(wire->config.loop);
        io_stream_flush(wire->stream);
    }
}

/* ---- life ---- */

int agent_wire_new(AgentWire **ret, const AgentWireConfig *config)
{
    AgentWire *wire = mem_alloc_array(1, sizeof(*wire));
    int r;

    if (wire == NULL) {
        return err_raise(-ENOMEM);
    }
    wire->config = *config;
    ndjson_reader_init(&wire->reader, LIMIT_AGENT_LINE_BYTES);
    ndjson_writer_init(&wire->writer, LIMIT_AGENT_LINE_BYTES, LIMIT_OUTPUT_BYTES);
    bytes_init(&wire->trace, 4 * (size_t)LIMIT_AGENT_LINE_BYTES);
    r = io_before_wait_new(&wire->settle, config->loop, wire_on_before_wait, wire);
    if (r == 0) {
        r = io_stream_new(&wire->stream, config->loop, config->in_fd, config->out_fd,
                          &wire_stream_ops, wire);
    }
    if (r != 0) {
        agent_wire_free(wire);
        return err_pass(r);
    }
    io_stream_set_turn(wire->stream, &wire_turn);
    *ret = wire;
    return 0;
}

AgentWire *agent_wire_free(AgentWire *wire)
{
    if (wire == NULL) {
        return NULL;
    }
    if (wire->stream != NULL && !wire->has_failed) {
        io_stream_flush(wire->stream); /* what was said since the loop stopped */
    }
    wire->stream = io_stream_free(wire->stream);
    wire->settle = io_before_wait_free(wire->settle);
    ndjson_reader_deinit(&wire->reader);
    ndjson_writer_deinit(&wire->writer);
    bytes_deinit(&wire->trace);
    return mem_free(wire);
}
