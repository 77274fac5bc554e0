#include "frame/http1_parser.h"

#include <llhttp.h>

#include "base/alloc.h"

struct Http1Parser {
    llhttp_t llhttp;
    size_t n_fields;     /* of the head, and of trailers */
    size_t n_body;       /* of the last run */
    uint64_t chunk_size; /* of the last run */
    bool has_chunk;
    bool is_done;
    bool skips_body;
};

static int parser_on_value_complete(llhttp_t *llhttp)
{
    Http1Parser *parser = llhttp->data;

    parser->n_fields++;
    return 0;
}

static int parser_on_headers_complete(llhttp_t *llhttp)
{
    const Http1Parser *parser = llhttp->data;

    /* Else it would take what follows for another protocol, and skip the body. */
    llhttp->upgrade = 0;
    return parser->skips_body ? 1 : 0;
}

static int parser_on_body(llhttp_t *llhttp, const char *at, size_t n)
{
    Http1Parser *parser = llhttp->data;

    (void)at;
    parser->n_body += n;
    return 0;
}

static int parser_on_chunk_header(llhttp_t *llhttp)
{
    Http1Parser *parser = llhttp->data;

    parser->has_chunk = true;
    parser->chunk_size = llhttp->content_length;
    return 0;
}

static int parser_on_message_complete(llhttp_t *llhttp)
{
    Http1Parser *parser = llhttp->data;

    parser->is_done = true;
    return 0;
}

static const llhttp_settings_t parser_settings = {
    .on_header_value_complete = parser_on_value_complete,
    .on_headers_complete = parser_on_headers_complete,
    .on_body = parser_on_body,
    .on_chunk_header = parser_on_chunk_header,
    .on_message_complete = parser_on_message_complete,
};

Http1Parser *http1_parser_new(void)
{
    return mem_alloc_array(1, sizeof(Http1Parser));
}

Http1Parser *http1_parser_free(Http1Parser *parser)
{
    return mem_free(parser);
}

void http1_parser_begin(Http1Parser *parser, Http1Kind kind, bool skips_body)
{
    *parser = (Http1Parser){.skips_body = skips_body};
    llhttp_init(&parser->llhttp, kind == HTTP1_REQUESTS ? HTTP_REQUEST : HTTP_RESPONSE,
                &parser_settings);
    parser->llhttp.data = parser;
}

/* The lines have been checked: what is still wrong with the first one is the method. */
static Http1Fault parser_fault(llhttp_errno_t error)
{
    switch (error) {
    case HPE_OK:
        return HTTP1_FAULT_NONE;
    case HPE_INVALID_METHOD:
    case HPE_INVALID_CONSTANT:
        return HTTP1_FAULT_METHOD;
    case HPE_INVALID_VERSION:
        return HTTP1_FAULT_VERSION;
    case HPE_INVALID_URL:
        return HTTP1_FAULT_TARGET;
    case HPE_INVALID_CONTENT_LENGTH:
        return HTTP1_FAULT_LENGTH;
    case HPE_INVALID_TRANSFER_ENCODING:
        return HTTP1_FAULT_ENCODING;
    case HPE_INVALID_CHUNK_SIZE:
        return HTTP1_FAULT_CHUNK;
    default:
        return HTTP1_FAULT_SYNTAX;
    }
}

Http1Fault http1_parser_run(Http1Parser *parser, Span bytes)
{
    parser->n_body = 0;
    parser->has_chunk = false;
    return parser_fault(llhttp_execute(&parser->llhttp, bytes.p, bytes.n));
}

size_t http1_parser_n_fields(const Http1Parser *parser)
{
    return parser->n_fields;
}

bool http1_parser_is_done(const Http1Parser *parser)
{
    return parser->is_done;
}

bool http1_parser_has_chunk(const Http1Parser *parser, uint64_t *ret_size)
{
    *ret_size = parser->chunk_size;
    return parser->has_chunk;
}

size_t http1_parser_n_body(const Http1Parser *parser)
{
    return parser->n_body;
}

Http1Method http1_parser_method(const Http1Parser *parser)
{
    switch (parser->llhttp.method) {
    case HTTP_GET:
        return HTTP1_METHOD_GET;
    case HTTP_HEAD:
        return HTTP1_METHOD_HEAD;
    case HTTP_POST:
        return HTTP1_METHOD_POST;
    case HTTP_PUT:
        return HTTP1_METHOD_PUT;
    case HTTP_PATCH:
        return HTTP1_METHOD_PATCH;
    case HTTP_DELETE:
        return HTTP1_METHOD_DELETE;
    case HTTP_OPTIONS:
        return HTTP1_METHOD_OPTIONS;
    default:
        return HTTP1_METHOD_OTHER;
    }
}

uint64_t http1_parser_content_length(const Http1Parser *parser)
{
    return parser->llhttp.content_length;
}
