/* Between MCP and the transport: the same functions, with what a web page must be told about its
 * answer (Fetch standard, CORS) and the figures. */
#include "app/http_door_internal.h"

/* What MCP says of an answer is a handful of fields. */
#define WIRE_MAX_FIELDS 16

/* What a script may read of an answer besides its body. */
#define WIRE_EXPOSED "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate"

typedef struct WireFields {
    Http1Field list[WIRE_MAX_FIELDS];
    const Http1Field *fields; /* to be sent */
    size_t n;
} WireFields;

static void wire_fields(WireFields *all, const IoHttpExchange *x, const Http1Field *fields,
                        size_t n_fields)
{
    const HttpLink *link = io_http_user(x);
    Span origin;

    all->fields = fields;
    all->n = n_fields;
    if (!link->names_origin || n_fields > WIRE_MAX_FIELDS - 3 ||
        http1_head_find(io_http_head(x), SPAN("origin"), &origin) != 1) {
        return;
    }
    if (n_fields > 0) {
        memcpy(all->list, fields, n_fields * sizeof(*fields));
    }
    all->list[n_fields] = (Http1Field){SPAN("Access-Control-Allow-Origin"), origin};
    all->list[n_fields + 1] =
        (Http1Field){SPAN("Access-Control-Expose-Headers"), SPAN(WIRE_EXPOSED)};
    all->list[n_fields + 2] = (Http1Field){SPAN("Vary"), SPAN("Origin")};
    all->fields = all->list;
    all->n = n_fields + 3;
}

void http_door_count(HttpDoor *door, unsigned status, size_t n_bytes)
{
    door->figures.n_refused += status >= 400 && status < 500;
    door->figures.bytes_out += n_bytes;
}

static void wire_count(const IoHttpExchange *x, unsigned status, size_t n_bytes)
{
    const HttpLink *link = io_http_user(x);

    http_door_count(link->door, status, n_bytes);
}

static int wire_respond(void *context, unsigned status, const Http1Field *fields, size_t n_fields,
                        Span body)
{
    IoHttpExchange *x = context;
    WireFields all;

    wire_fields(&all, x, fields, n_fields);
    wire_count(x, status, body.n);
    return io_http_respond(x, status, all.fields, all.n, body);
}

int http_door_respond(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields,
                      Span body)
{
    return wire_respond(x, status, fields, n_fields, body);
}

static int wire_respond_taken(void *context, unsigned status, const Http1Field *fields,
                              size_t n_fields, Bytes *body)
{
    IoHttpExchange *x = context;
    WireFields all;

    wire_fields(&all, x, fields, n_fields);
    wire_count(x, status, body->n);
    return io_http_respond_taken(x, status, all.fields, all.n, body);
}

static int wire_begin(void *context, unsigned status, const Http1Field *fields, size_t n_fields)
{
    IoHttpExchange *x = context;
    WireFields all;

    wire_fields(&all, x, fields, n_fields);
    wire_count(x, status, 0);
    return io_http_begin(x, status, all.fields, all.n);
}

static int wire_piece_begin(void *context, Bytes **ret_bytes)
{
    IoHttpExchange *x = context;
    HttpLink *link = io_http_user(x);
    int r = io_http_piece_begin(x, ret_bytes);

    if (r == 0) {
        link->piece = *ret_bytes;
        link->piece_start = link->piece->n;
    }
    return r;
}

static int wire_piece_commit(void *context)
{
    IoHttpExchange *x = context;
    HttpLink *link = io_http_user(x);

    wire_count(x, 0, link->piece->n - link->piece_start);
    return io_http_piece_commit(x);
}

static void wire_piece_abort(void *context)
{
    io_http_piece_abort(context);
}

static int wire_piece_taken(void *context, Span before, Bytes *body, Span after)
{
    wire_count(context, 0, before.n + body->n + after.n);
    return io_http_piece_taken(context, before, body, after);
}

static int wire_end(void *context)
{
    return io_http_end(context);
}

static void wire_abort(void *context)
{
    io_http_abort(context);
}

static size_t wire_pending(const void *context)
{
    return io_http_pending(context);
}

static void wire_set_data(void *context, void *data)
{
    io_http_set_data(context, data);
}

static void *wire_data(const void *context)
{
    return io_http_data(context);
}

const McpHttpWire http_door_wire = {
    .respond = wire_respond,
    .respond_taken = wire_respond_taken,
    .begin = wire_begin,
    .piece_begin = wire_piece_begin,
    .piece_commit = wire_piece_commit,
    .piece_abort = wire_piece_abort,
    .piece_taken = wire_piece_taken,
    .end = wire_end,
    .abort = wire_abort,
    .pending = wire_pending,
    .set_data = wire_set_data,
    .data = wire_data,
};
