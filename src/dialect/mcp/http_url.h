/* dialect/mcp/http_url.h: addresses of MCP servers over HTTP: whose they are, where a reference of
 * theirs leads, how they are shown. Thread: any. */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    HTTP_URL_E_SYNTAX =
        BYTES_E_FULL + 1, /* no http or https address, or with bytes that none has */
    HTTP_URL_E_ORIGIN,    /* the reference leads to another server */
};

/* Of an address that a server gives us. */
#define HTTP_URL_MAX 8192

typedef struct HttpUrl {
    Span scheme;    /* "http", "https" */
    Span user;      /* with its '@'; empty: none */
    Span authority; /* host and port */
    Span path;      /* from '/' on; may be empty */
    Span query;     /* from '?' on, without a fragment */
} HttpUrl;

/* False: HTTP_URL_E_SYNTAX. The parts are spans of url. */
bool http_url_parse(Span url, HttpUrl *ret);

/* Same scheme, host and port, whether the usual port is written or not. */
bool http_url_same_origin(const HttpUrl *a, const HttpUrl *b);

/* "https://host:port", in lower case: what is the same for all addresses of a server. 0, -ENOMEM,
 * BYTES_E_FULL. */
int http_url_origin(Bytes *out, const HttpUrl *url);

/* Appends the address that `reference` means where `base` was asked; user and password stay those
 * of base. 0, -ENOMEM, BYTES_E_FULL, HTTP_URL_E_*. */
int http_url_resolve(Bytes *out, Span base, Span reference);

/* Without user, password and query, for people: NUL-terminated, cut to size. */
void http_url_show(Span url, char *ret, size_t size);
