/* peer/web.h: what MCP servers over HTTP share in a process: connections, and of which era each
 * origin is, so that it is asked once. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "io/fetch.h"
#include "io/loop.h"

typedef struct PeerWeb PeerWeb;

typedef enum PeerWebEra {
    PEER_WEB_UNKNOWN,
    PEER_WEB_MODERN,
    PEER_WEB_LEGACY,
    PEER_WEB_OLD, /* HTTP+SSE */
} PeerWebEra;

/* 0, -ENOMEM, IO_FETCH_E_LIBRARY. Gives *ret. */
int peer_web_new(PeerWeb **ret, IoLoop *loop, Diag *reterr_diag);

/* After the peers that use it. May be NULL. Returns NULL. */
PeerWeb *peer_web_free(PeerWeb *web);

IoFetcher *peer_web_fetcher(PeerWeb *web);

/* origin: as http_url_origin writes it. What cannot be remembered is asked again. */
PeerWebEra peer_web_era(const PeerWeb *web, Span origin);
void peer_web_remember(PeerWeb *web, Span origin, PeerWebEra era);
