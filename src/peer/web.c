#include "peer/web.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/random.h"

/* Origins that are remembered: more servers than anybody configures. */
#define WEB_MAX_ORIGINS 1024

struct PeerWeb {
    IoFetcher *fetcher;
    Map eras; /* origin → one of the places below */
};

/* The map holds pointers: an era is one into this. */
static char eras[PEER_WEB_OLD + 1];

int peer_web_new(PeerWeb **ret, IoLoop *loop, Diag *reterr_diag)
{
    PeerWeb *web = mem_alloc_array(1, sizeof(*web));
    HashSeed seed;
    int r;

    if (web == NULL) {
        return err_raise(-ENOMEM);
    }
    r = random_fill(&seed, sizeof(seed));
    map_init(&web->eras, seed, WEB_MAX_ORIGINS);
    r = r != 0 ? r : io_fetcher_new(&web->fetcher, loop, reterr_diag);
    if (r != 0) {
        (void)peer_web_free(web);
        return r;
    }
    *ret = web;
    return 0;
}

PeerWeb *peer_web_free(PeerWeb *web)
{
    if (web == NULL) {
        return NULL;
    }
    web->fetcher = io_fetcher_free(web->fetcher);
    map_deinit(&web->eras);
    return mem_free(web);
}

IoFetcher *peer_web_fetcher(PeerWeb *web)
{
    return web->fetcher;
}

PeerWebEra peer_web_era(const PeerWeb *web, Span origin)
{
    const char *era = map_get(&web->eras, origin);

    return era == NULL ? PEER_WEB_UNKNOWN : (PeerWebEra)(era - eras);
}

void peer_web_remember(PeerWeb *web, Span origin, PeerWebEra era)
{
    if (era == PEER_WEB_UNKNOWN) {
        (void)map_remove(&web->eras, origin);
    } else if (!map_replace(&web->eras, origin, &eras[era])) {
        (void)map_add(&web->eras, origin, &eras[era]);
    }
}
