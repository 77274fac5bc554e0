/* The one table of faults, statuses and words. */
#include "frame/http1.h"

typedef struct Http1FaultEntry {
    unsigned status;
    const char *text;
} Http1FaultEntry;

static const Http1FaultEntry http1_faults[HTTP1_N_FAULTS] = {
    [HTTP1_FAULT_NONE] = {0, "nothing is wrong"},
    [HTTP1_FAULT_SYNTAX] = {400, "this is not HTTP/1"},
    [HTTP1_FAULT_LINE_END] = {400, "a line does not end in CRLF, or has a CR in it"},
    [HTTP1_FAULT_CONTROL] = {400, "a control character"},
    [HTTP1_FAULT_FOLDED] = {400, "a header field goes on in the next line"},
    [HTTP1_FAULT_FIELD_NAME] = {400, "a header field's name is not a token before a colon"},
    [HTTP1_FAULT_TARGET] = {400, "the request target is neither a path nor an http address"},
    [HTTP1_FAULT_HOST_MISSING] = {400, "there is no Host field"},
    [HTTP1_FAULT_HOST_REPEATED] = {400, "more than one Host field"},
    [HTTP1_FAULT_HOST] = {400, "the Host field is no host, or not that of the target"},
    [HTTP1_FAULT_LENGTH] = {400, "Content-Length is not a number"},
    [HTTP1_FAULT_LENGTH_REPEATED] = {400, "more than one Content-Length"},
    [HTTP1_FAULT_LENGTH_AND_ENCODING] = {400, "both Content-Length and Transfer-Encoding"},
    [HTTP1_FAULT_ENCODING_REPEATED] = {400, "more than one Transfer-Encoding"},
    [HTTP1_FAULT_ENCODING_IN_1_0] = {400, "HTTP/1.0 has no Transfer-Encoding"},
    [HTTP1_FAULT_CHUNK] = {400, "a chunk of the body is malformed"},
    [HTTP1_FAULT_EXTENSION] = {400, "chunk extensions are too long"},
    [HTTP1_FAULT_BODY_TOO_LARGE] = {413, "the body is too large"},
    [HTTP1_FAULT_TARGET_TOO_LONG] = {414, "the request target is too long"},
    [HTTP1_FAULT_EXPECTATION] = {417, "an expectation other than 100-continue"},
    [HTTP1_FAULT_HEAD_TOO_LARGE] = {431, "the head or the trailers are too large"},
    [HTTP1_FAULT_TOO_MANY_FIELDS] = {431, "too many header fields"},
    [HTTP1_FAULT_METHOD] = {501, "the method is not implemented"},
    [HTTP1_FAULT_ENCODING] = {501, "a transfer encoding other than chunked"},
    [HTTP1_FAULT_VERSION] = {505, "a version other than HTTP/1.0 and HTTP/1.1"},
    [HTTP1_FAULT_SWITCHED] = {400, "the server switched to a protocol that nobody asked for"},
};

unsigned http1_fault_status(Http1Fault fault)
{
    return http1_faults[fault].status;
}

const char *http1_fault_text(Http1Fault fault)
{
    return http1_faults[fault].text;
}
