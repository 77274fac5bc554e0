/* There is no libcurl for Windows that could be loaded as elsewhere (io/fetch_library.c): whoever
 * wants to ask a server is told so (io/fetch.h). There is never a fetcher, so that nothing is ever
 * fetched. */
#include "io/fetch.h"

#include <stddef.h>

int io_fetcher_new(IoFetcher **ret, IoLoop *loop, Diag *reterr_diag)
{
    (void)ret;
    (void)loop;
    return diag_set(reterr_diag, IO_FETCH_E_LIBRARY,
                    "servers cannot be asked over HTTP: not on Windows yet");
}

IoFetcher *io_fetcher_free(IoFetcher *fetcher)
{
    (void)fetcher;
    return NULL;
}

int io_fetch_start(IoFetch **ret, IoFetcher *fetcher, const IoFetchRequest *request,
                   Diag *reterr_diag)
{
    (void)ret;
    (void)fetcher;
    (void)request;
    return diag_set(reterr_diag, IO_FETCH_E_REQUEST,
                    "servers cannot be asked over HTTP: not on Windows yet");
}

IoFetch *io_fetch_free(IoFetch *fetch)
{
    (void)fetch;
    return NULL;
}

void io_fetch_pause(IoFetch *fetch)
{
    (void)fetch;
}

void io_fetch_resume(IoFetch *fetch)
{
    (void)fetch;
}

bool io_fetch_field(const IoFetch *fetch, Span name, Span *ret_value)
{
    (void)fetch;
    (void)name;
    (void)ret_value;
    return false;
}
