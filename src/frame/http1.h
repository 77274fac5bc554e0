/* frame/http1.h: HTTP/1.0 and 1.1 messages, cut out of a byte stream. Performs no I/O.
 *
 * One reader for either side: a server's reads requests, a client's responses. A message is a HEAD
 * event, any number of BODY pieces, and END. The next one waits until http1_reader_release, so that
 * of pipelined requests one at a time is in work, and its head stays readable as long.
 *
 *     HEAD ──▶ LENGTH | UNTIL_CLOSE ───────────────────────────▶ END ──▶ HELD ──release──▶ HEAD
 *       └────▶ CHUNK_LINE ──▶ CHUNK_DATA ──▶ CHUNK_END ─┐         ▲        └────▶ CLOSED
 *                   ▲  └──▶ TRAILER ────────────────────┼─────────┘
 *                   └───────────────────────────────────┘        any ──▶ FAILED
 *
 * llhttp parses. Before it sees a line, the line has passed a check of our own, because what two
 * parsers read differently is how requests are smuggled: lines end in CRLF, and a CR or LF is
 * nowhere else; no folded lines, no blank before a colon, no control characters; exactly one host;
 * exactly one way to tell the length. What is refused is refused for good: say the status of the
 * fault, and close. Trailers are checked and dropped; chunk extensions are dropped. Nothing is ever
 * upgraded to another protocol.
 *
 *     reserve, read(2) into it, commit (or: feed) → next until HTTP1_E_AGAIN
 *
 * Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/span.h"
#include "frame/inq.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP1_E_AGAIN = 1,  /* nothing yet: feed more, or wait for the peer */
    HTTP1_E_HELD,       /* the message is complete: release it first */
    HTTP1_E_CLOSED,     /* the last message was the last of its connection; more is not read */
    HTTP1_E_REFUSED,    /* http1_reader_fault says why; final */
    HTTP1_E_INCOMPLETE, /* the stream ended inside a message */
    HTTP1_E_FULL,       /* call next until it says something else than 0 first */
};

/* Why a message is refused; http1_fault.c has the status and the words of each. */
typedef enum Http1Fault {
    HTTP1_FAULT_NONE,
    HTTP1_FAULT_SYNTAX,
    HTTP1_FAULT_LINE_END,
    HTTP1_FAULT_CONTROL,
    HTTP1_FAULT_FOLDED,
    HTTP1_FAULT_FIELD_NAME,
    HTTP1_FAULT_TARGET,
    HTTP1_FAULT_HOST_MISSING,
    HTTP1_FAULT_HOST_REPEATED,
    HTTP1_FAULT_HOST,
    HTTP1_FAULT_LENGTH,
    HTTP1_FAULT_LENGTH_REPEATED,
    HTTP1_FAULT_LENGTH_AND_ENCODING,
    HTTP1_FAULT_ENCODING_REPEATED,
    HTTP1_FAULT_ENCODING_IN_1_0,
    HTTP1_FAULT_CHUNK,
    HTTP1_FAULT_EXTENSION,
    HTTP1_FAULT_BODY_TOO_LARGE,
    HTTP1_FAULT_TARGET_TOO_LONG,
    HTTP1_FAULT_EXPECTATION,
    HTTP1_FAULT_HEAD_TOO_LARGE,
    HTTP1_FAULT_TOO_MANY_FIELDS,
    HTTP1_FAULT_METHOD,
    HTTP1_FAULT_ENCODING,
    HTTP1_FAULT_VERSION,
    HTTP1_FAULT_SWITCHED, /* a response 101, which nobody asked for */
    HTTP1_N_FAULTS
} Http1Fault;

/* The status that a server answers with, 400 to 505; 0 for NONE. */
unsigned http1_fault_status(Http1Fault fault);

/* What is wrong, in a few words for a person; static. */
const char *http1_fault_text(Http1Fault fault);

typedef enum Http1Method {
    HTTP1_METHOD_OTHER, /* one that llhttp knows, and we have no use for */
    HTTP1_METHOD_GET,
    HTTP1_METHOD_HEAD,
    HTTP1_METHOD_POST,
    HTTP1_METHOD_PUT,
    HTTP1_METHOD_PATCH,
    HTTP1_METHOD_DELETE,
    HTTP1_METHOD_OPTIONS,
} Http1Method;

/* How the end of a body is found. */
typedef enum Http1Length {
    HTTP1_LENGTH_NONE, /* no body */
    HTTP1_LENGTH_GIVEN,
    HTTP1_LENGTH_CHUNKED,
    HTTP1_LENGTH_UNTIL_CLOSE, /* responses only */
} Http1Length;

typedef struct Http1Field {
    Span name;
    Span value; /* without blanks around it */
} Http1Field;

/* So many marks are looked at together. */
#define HTTP1_MARKS_STEP ((size_t)16)

typedef struct Http1Head {
    /* Requests. */
    Http1Method method;
    Span method_name;
    Span target;    /* as sent */
    Span path;      /* up to the '?', from '/' on; "*" of OPTIONS */
    Span query;     /* behind the '?'; p NULL if there is none */
    Span authority; /* host and port as sent, of an absolute target or of Host; may be empty */
    bool expects_continue;
    bool wants_upgrade; /* only said: it is read as if it did not */
    /* Responses. */
    unsigned status;
    Span reason;
    /* Both. */
    unsigned minor; /* HTTP/1.minor, 0 or 1 */
    const Http1Field *fields;
    size_t n_fields;
    /* Of the fields' names (http1_name_mark), in a room that is a multiple of HTTP1_MARKS_STEP;
     * NULL: not known. */
    const uint8_t *marks;
    uint64_t name_bits; /* if they are: http1_name_bit of all of them */
    Http1Length length;
    uint64_t content_length; /* if GIVEN */
    bool keeps_alive; /* what the peer said; whether to close is the caller's decision, too */
} Http1Head;

/* Equal for equal names, and different for most others; letters have no case. Of a literal the
 * compiler knows it. */
TW_INLINE uint8_t http1_name_mark(Span name)
{
    unsigned first = name.n == 0 ? 0 : (unsigned char)name.p[0] | 0x20u;
    unsigned last = name.n == 0 ? 0 : (unsigned char)name.p[name.n - 1] | 0x20u;

    return (uint8_t)(first * 5 + last * 3 + (unsigned)name.n * 17);
}

TW_INLINE uint64_t http1_name_bit(uint8_t mark)
{
    return (uint64_t)1 << (mark % 64);
}

/* As http1_head_find, of a name with that mark. */
size_t http1_head_find_marked(const Http1Head *head, Span name, uint8_t mark, Span *ret_value);

/* Fields of that name, letters without case; *ret_value (optional) is the first one's. */
TW_INLINE size_t http1_head_find(const Http1Head *head, Span name, Span *ret_value)
{
    uint8_t mark = http1_name_mark(name);

    if (head->marks != NULL && (head->name_bits & http1_name_bit(mark)) == 0) {
        return 0;
    }
    return http1_head_find_marked(head, name, mark, ret_value);
}

/* Whether a field of that name is a list with this token in it; neither has case. */
bool http1_head_lists(const Http1Head *head, Span name, Span token);

typedef struct Http1Limits {
    size_t max_head_bytes;   /* with the empty line; equality passes, as everywhere */
    size_t max_target_bytes; /* of a request */
    size_t max_fields;
    uint64_t max_body_bytes; /* without chunk framing; may be changed for each message */
} Http1Limits;

/* What servers commonly take: a head of 16 KiB, 100 fields. */
#define HTTP1_MAX_HEAD_BYTES   ((size_t)16 * 1024)
#define HTTP1_MAX_TARGET_BYTES ((size_t)8 * 1024)
#define HTTP1_MAX_FIELDS       100

/* Chunk extensions of one message, which nobody uses; without a bound, a body of one-byte chunks
 * could carry any number of bytes past the limit of the body. */
#define HTTP1_MAX_EXTENSION_BYTES ((size_t)1024)

#define HTTP1_LIMITS_DEFAULT(max_body)                                                             \
    ((Http1Limits){HTTP1_MAX_HEAD_BYTES, HTTP1_MAX_TARGET_BYTES, HTTP1_MAX_FIELDS, (max_body)})

typedef enum Http1Kind {
    HTTP1_REQUESTS,
    HTTP1_RESPONSES,
} Http1Kind;

typedef enum Http1EventKind {
    HTTP1_EVENT_HEAD,
    HTTP1_EVENT_BODY,
    HTTP1_EVENT_END,
} Http1EventKind;

typedef struct Http1Event {
    Http1EventKind kind;
    const Http1Head *head; /* of each kind; borrowed until release or deinit */
    Span body;             /* of BODY, not empty; borrowed until the next feed, reserve or deinit */
} Http1Event;

typedef enum Http1State {
    HTTP1_STATE_HEAD,
    HTTP1_STATE_LENGTH,
    HTTP1_STATE_UNTIL_CLOSE,
    HTTP1_STATE_CHUNK_LINE,
    HTTP1_STATE_CHUNK_DATA,
    HTTP1_STATE_CHUNK_END,
    HTTP1_STATE_TRAILER,
    HTTP1_STATE_END,
    HTTP1_STATE_HELD,
    HTTP1_STATE_CLOSED,
    HTTP1_STATE_FAILED,
} Http1State;

typedef struct Http1Parser Http1Parser;

typedef struct Http1Reader {
    Inq in;
    Http1Kind kind;
    Http1Limits limits;
    Http1State state;
    Http1Fault fault;
    Http1Parser *parser; /* llhttp; made for the first head */
    Http1Head head;
    Bytes head_bytes;   /* what head points into */
    Http1Field *fields; /* room for n_room of them, and behind it for their marks */
    size_t n_room;
    size_t n_searched;  /* unread bytes that are known to hold no further line end */
    size_t line_start;  /* of a head: where the line begins that is being searched for its end */
    size_t n_lines;     /* of a head: lines that are checked; of trailers: too */
    size_t n_extension; /* bytes of chunk extensions, or of trailers, in this message */
    uint64_t n_body;    /* bytes of body given out */
    uint64_t n_left;    /* of the body or of the chunk */
    uint64_t max_body;  /* of this message */
    uint64_t n_scanned; /* bytes searched for line ends, over its life: the tests' proof that none
                         * is searched twice */
    bool skipped_line;  /* the one empty line that may stand before a request */
    bool answers_head;  /* the next response has no body */
} Http1Reader;

#define HTTP1_READER_NULL ((Http1Reader){.in = {.data = NULL}})

/* Allocates nothing yet. */
void http1_reader_init(Http1Reader *reader, Http1Kind kind, Http1Limits limits);
void http1_reader_deinit(Http1Reader *reader);

/* Appends n bytes; borrows data until return. After HTTP1_E_AGAIN any n up to INQ_AHEAD_BYTES is
 * accepted. 0, -ENOMEM, HTTP1_E_FULL, HTTP1_E_CLOSED, HTTP1_E_REFUSED; nothing was taken unless 0.
 */
int http1_reader_feed(Http1Reader *reader, const void *data, size_t n);

/* Instead of feed, without its copy: room for at least `want` bytes (1 to INQ_AHEAD_BYTES) to be
 * written by the caller, who then commits as many as arrived; *ret_p is borrowed until that commit.
 * Outcomes as feed. */
int http1_reader_reserve(Http1Reader *reader, size_t want, char **ret_p, size_t *ret_n);
void http1_reader_commit(Http1Reader *reader, size_t n);

/* The next event. 0, -ENOMEM (nothing is lost: call again), HTTP1_E_AGAIN, HTTP1_E_HELD,
 * HTTP1_E_CLOSED, HTTP1_E_REFUSED. */
int http1_reader_next(Http1Reader *reader, Http1Event *ret_event);

/* For the body of the message whose HEAD was just given, instead of the limits' maximum. Until the
 * next `next` a body that is declared larger has not been refused yet. */
void http1_reader_limit_body(Http1Reader *reader, uint64_t max_body_bytes);

/* The message whose END was given is dealt with; its head is no longer borrowed. */
void http1_reader_release(Http1Reader *reader);

/* For responses: the next one (after those of 100 to 199) answers a HEAD request, so that it has no
 * body whatever it says. */
void http1_reader_expect_no_body(Http1Reader *reader);

/* After HTTP1_E_REFUSED. */
TW_INLINE Http1Fault http1_reader_fault(const Http1Reader *reader)
{
    return reader->fault;
}

/* Whether a message has begun to arrive and is not complete: what a time-out is about. */
bool http1_reader_is_inside(const Http1Reader *reader);

/* The stream ended, and next has said AGAIN, HELD or CLOSED. 0 if that was between messages, or if
 * it ends a body that lasts until then: call next once more, for its END. HTTP1_E_INCOMPLETE if it
 * was inside a message. HTTP1_E_REFUSED as before. */
int http1_reader_finish(Http1Reader *reader);

/* Gives back memory that a large message took, if nothing is unread or borrowed. For a transport
 * whose peer has been silent for a while. */
void http1_reader_trim(Http1Reader *reader);
