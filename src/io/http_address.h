/* io/http_address.h: where an HTTP server listens, as people write it.
 *
 * "127.0.0.1:7410", "[::1]:0", "localhost:7410", "unix:/path". A host is a number or "localhost",
 * which is 127.0.0.1 here: no name server is asked. Thread: any.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "io/tcp_socket.h"

#include <stdbool.h>

typedef struct HttpAddress {
    bool is_unix;
    bool is_loopback; /* reaches this machine only */
    Span path;        /* of a Unix socket; borrows the text that was parsed */
    TcpAddress tcp;   /* of the others */
} HttpAddress;

/* 0, IO_HTTP_E_PLACE (io/http_server.h): the Diag says what is wrong. */
int http_address_parse(HttpAddress *ret, Span text, Diag *reterr_diag);
