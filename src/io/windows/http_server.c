/* HTTP is not served on Windows yet; declared in io/http_server.h. There is never a server, so what
 * is asked of one has the answers of none. */
#include "io/http_server.h"

#include <errno.h>

#include "base/error.h"
#include "io/http_address.h"

int io_http_server_new(IoHttpServer **ret, const IoHttpConfig *config, Diag *reterr_diag)
{
    HttpAddress address;
    int r = http_address_parse(&address, span_from_str(config->address), reterr_diag);

    (void)ret;
    return r != 0 ? IO_HTTP_E_PLACE
                  : diag_set(reterr_diag, IO_HTTP_E_PLACE,
                             "cannot listen on %s: HTTP is not served on Windows yet",
                             config->address);
}

const char *io_http_server_address(const IoHttpServer *server)
{
    (void)server;
    return "";
}

unsigned io_http_server_port(const IoHttpServer *server)
{
    (void)server;
    return 0;
}

size_t io_http_server_n_connections(const IoHttpServer *server)
{
    (void)server;
    return 0;
}

void io_http_server_freed(IoHttpServer *server)
{
    (void)server;
}

void io_http_server_stop(IoHttpServer *server, void (*stopped)(void *context))
{
    (void)server;
    (void)stopped;
}

IoHttpServer *io_http_server_free(IoHttpServer *server)
{
    (void)server;
    return NULL;
}

const Http1Head *io_http_head(const IoHttpExchange *x)
{
    (void)x;
    return NULL;
}

void *io_http_user(const IoHttpExchange *x)
{
    (void)x;
    return NULL;
}

void io_http_set_data(IoHttpExchange *x, void *data)
{
    (void)x;
    (void)data;
}

void *io_http_data(const IoHttpExchange *x)
{
    (void)x;
    return NULL;
}

void io_http_limit_body(IoHttpExchange *x, uint64_t max_bytes)
{
    (void)x;
    (void)max_bytes;
}

int io_http_respond(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields,
                    Span body)
{
    (void)x;
    (void)status;
    (void)fields;
    (void)n_fields;
    (void)body;
    return err_raise(-EPIPE);
}

int io_http_respond_taken(IoHttpExchange *x, unsigned status, const Http1Field *fields,
                          size_t n_fields, Bytes *body)
{
    (void)body;
    return err_pass(io_http_respond(x, status, fields, n_fields, SPAN_NULL));
}

int io_http_begin(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields)
{
    return err_pass(io_http_respond(x, status, fields, n_fields, SPAN_NULL));
}

int io_http_piece_begin(IoHttpExchange *x, Bytes **ret_bytes)
{
    (void)x;
    (void)ret_bytes;
    return err_raise(-EPIPE);
}

int io_http_piece_commit(IoHttpExchange *x)
{
    (void)x;
    return err_raise(-EPIPE);
}

void io_http_piece_abort(IoHttpExchange *x)
{
    (void)x;
}

int io_http_piece_taken(IoHttpExchange *x, Span before, Bytes *body, Span after)
{
    (void)x;
    (void)before;
    (void)body;
    (void)after;
    return err_raise(-EPIPE);
}

int io_http_end(IoHttpExchange *x)
{
    (void)x;
    return err_raise(-EPIPE);
}

void io_http_abort(IoHttpExchange *x)
{
    (void)x;
}

size_t io_http_pending(const IoHttpExchange *x)
{
    (void)x;
    return 0;
}
