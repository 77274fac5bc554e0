/* libcurl's multi handle on the loop: it says which sockets and which time to wait for, we say when
 * they are there. */
#include "io/fetch_impl.h"

#include <errno.h>

#include <uv.h>

#include "base/alloc.h"
#include "base/error.h"

/* Connections that are kept while nobody uses them: a few servers, each asked by several at once.
 */
#define FETCHER_IDLE_CONNECTIONS 16L

/* A socket of libcurl's, while it wants to hear of it. */
typedef struct FetchSocket {
    uv_poll_t poll;
    IoFetcher *fetcher;
    curl_socket_t socket;
} FetchSocket;

static void socket_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
}

static void socket_on_event(uv_poll_t *poll, int status, int events)
{
    FetchSocket *socket = poll->data;
    int flags = 0;

    if (status < 0) {
        flags = CURL_CSELECT_ERR;
    }
    if ((events & UV_READABLE) != 0) {
        flags |= CURL_CSELECT_IN;
    }
    if ((events & UV_WRITABLE) != 0) {
        flags |= CURL_CSELECT_OUT;
    }
    fetcher_act(socket->fetcher, socket->socket, flags);
}

static FetchSocket *socket_new(IoFetcher *fetcher, curl_socket_t fd)
{
    FetchSocket *socket = mem_alloc_array(1, sizeof(*socket));

    if (socket == NULL) {
        return NULL;
    }
    if (uv_poll_init_socket(&fetcher->loop->uv, &socket->poll, fd) != 0) {
        return mem_free(socket);
    }
    socket->poll.data = socket;
    socket->fetcher = fetcher;
    socket->socket = fd;
    return socket;
}

/* A CURLMOPT_SOCKETFUNCTION; called inside libcurl. Never an error: that would end all that libcurl
 * does, now and later. */
static int fetcher_on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *data)
{
    IoFetcher *fetcher = context;
    FetchSocket *socket = data;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket != NULL) {
            (void)fetcher->library.curl_multi_assign(fetcher->multi, fd, NULL);
            uv_close((uv_handle_t *)&socket->poll, socket_on_closed);
        }
        return 0;
    }
    if (socket == NULL) {
        socket = socket_new(fetcher, fd);
        if (socket == NULL) {
            fetcher->is_deaf = true;
            return 0;
        }
        (void)fetcher->library.curl_multi_assign(fetcher->multi, fd, socket);
    }
    if (what != CURL_POLL_OUT) {
        events |= UV_READABLE;
    }
    if (what != CURL_POLL_IN) {
        events |= UV_WRITABLE;
    }
    if (uv_poll_start(&socket->poll, events, socket_on_event) != 0) {
        fetcher->is_deaf = true;
    }
    return 0;
}

/* A CURLMOPT_TIMERFUNCTION; called inside libcurl. */
static int fetcher_on_timeout(CURLM *multi, long timeout_ms, void *context)
{
    IoFetcher *fetcher = context;

    (void)multi;
    if (timeout_ms < 0) {
        io_timer_stop(fetcher->timer);
    } else {
        io_timer_start_at(fetcher->timer, io_loop_now_ms(fetcher->loop) + timeout_ms);
    }
    return 0;
}

static void fetcher_on_timer(void *context)
{
    fetcher_act(context, CURL_SOCKET_TIMEOUT, 0);
}

void fetcher_act(IoFetcher *fetcher, curl_socket_t socket, int events)
{
    int n_running;

    fetcher->depth++;
    (void)fetcher->library.curl_multi_socket_action(fetcher->multi, socket, events, &n_running);
    fetcher->depth--;
    fetcher_settle(fetcher);
}

typedef struct Meaning {
    CURLcode code;
    IoFetchOutcome outcome;
} Meaning;

static const Meaning meanings[] = {
    {CURLE_OK, IO_FETCH_DONE},
    {CURLE_COULDNT_RESOLVE_PROXY, IO_FETCH_UNREACHED},
    {CURLE_COULDNT_RESOLVE_HOST, IO_FETCH_UNREACHED},
    {CURLE_COULDNT_CONNECT, IO_FETCH_UNREACHED},
    {CURLE_PROXY, IO_FETCH_UNREACHED},
    {CURLE_OPERATION_TIMEDOUT, IO_FETCH_STALLED},
    {CURLE_SSL_CONNECT_ERROR, IO_FETCH_UNTRUSTED},
    {CURLE_PEER_FAILED_VERIFICATION, IO_FETCH_UNTRUSTED},
    {CURLE_SSL_CACERT_BADFILE, IO_FETCH_UNTRUSTED},
    {CURLE_PARTIAL_FILE, IO_FETCH_CUT},
    {CURLE_GOT_NOTHING, IO_FETCH_CUT},
    {CURLE_SEND_ERROR, IO_FETCH_CUT},
    {CURLE_RECV_ERROR, IO_FETCH_CUT},
    {CURLE_HTTP2, IO_FETCH_CUT},
    {CURLE_HTTP2_STREAM, IO_FETCH_CUT},
    {CURLE_OUT_OF_MEMORY, IO_FETCH_NO_MEMORY},
};

static IoFetchOutcome outcome_of(const IoFetch *fetch, CURLcode code)
{
    const FetchLibrary *library = &fetch->fetcher->library;
    curl_off_t connected_us = 0;

    if (fetch->reason != IO_FETCH_DONE) {
        return fetch->reason;
    }
    if (code == CURLE_OK && !fetch->has_head) {
        return IO_FETCH_CUT; /* libcurl is content with half a head */
    }
    if (code == CURLE_OPERATION_TIMEDOUT &&
        library->curl_easy_getinfo(fetch->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us) == 0 &&
        connected_us == 0) {
        return IO_FETCH_UNREACHED;
    }
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].code == code) {
            return meanings[i].outcome;
        }
    }
    return IO_FETCH_FAILED;
}

/* Tells one end, if there is one. */
static bool fetcher_tell_end(IoFetcher *fetcher)
{
    const FetchLibrary *library = &fetcher->library;
    CURLMsg *message;
    IoFetch *fetch = NULL;
    char *private = NULL;
    CURLcode code;
    int n_left;

    do {
        message = library->curl_multi_info_read(fetcher->multi, &n_left);
        if (message == NULL) {
            return false;
        }
    } while (message->msg != CURLMSG_DONE);
    code = message->data.result;
    (void)library->curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
    fetch = (IoFetch *)(void *)private;
    if (fetch->is_gone) {
        return true; /* it is released with the others */
    }
    fetch_finish(fetch, outcome_of(fetch, code),
                 fetch->error[0] != '\0' ? fetch->error : library->curl_easy_strerror(code));
    return true;
}

/* Which of them it concerns cannot be told: there was no memory, and all end. */
static void fetcher_end_all(IoFetcher *fetcher)
{
    IoFetch *fetch;

    fetcher->is_deaf = false;
    for (fetch = fetcher->first; fetch != NULL; fetch = fetch->next) {
        fetch->reason = IO_FETCH_NO_MEMORY; /* those that are started meanwhile do not have it */
    }
    for (fetch = fetcher->first; fetch != NULL;) {
        if (!fetch->is_gone && fetch->reason == IO_FETCH_NO_MEMORY) {
            fetch_finish(fetch, IO_FETCH_NO_MEMORY, NULL);
            fetch = fetcher->first; /* its owner may have freed any */
        } else {
            fetch = fetch->next;
        }
    }
}

/* One that was started or freed inside a callback, if there is one. */
static bool fetcher_settle_one(IoFetcher *fetcher)
{
    for (IoFetch *fetch = fetcher->first; fetch != NULL && fetcher->n_unsettled > 0;
         fetch = fetch->next) {
        if (fetch->is_gone) {
            fetcher->n_unsettled--;
            fetch_release(fetch);
            return true;
        }
        if (!fetch->is_added) {
            fetcher->n_unsettled--;
            fetch->is_added = true;
            if (fetcher->library.curl_multi_add_handle(fetcher->multi, fetch->easy) != CURLM_OK) {
                fetch->is_added = false;
                fetch_finish(fetch, IO_FETCH_NO_MEMORY, "out of memory");
            }
            return true;
        }
    }
    return false;
}

void fetcher_settle(IoFetcher *fetcher)
{
    if (fetcher->depth > 0) {
        return;
    }
    while (fetcher_tell_end(fetcher) || fetcher_settle_one(fetcher)) {
    }
    if (fetcher->is_deaf) {
        fetcher_end_all(fetcher);
    }
}

static int fetcher_open(IoFetcher *fetcher)
{
    const FetchLibrary *library = &fetcher->library;
    int r = io_timer_new(&fetcher->timer, fetcher->loop, false, fetcher_on_timer, fetcher);

    if (r != 0) {
        return err_pass(r);
    }
    if (library->curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return err_raise(-ENOMEM);
    }
    fetcher->is_global = true;
    fetch_library_slim(library);
    fetcher->multi = library->curl_multi_init();
    if (fetcher->multi == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)library->curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, fetcher_on_socket);
    (void)library->curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
    (void)library->curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, fetcher_on_timeout);
    (void)library->curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
    (void)library->curl_multi_setopt(fetcher->multi, CURLMOPT_MAXCONNECTS,
                                     FETCHER_IDLE_CONNECTIONS);
    return 0;
}

int io_fetcher_new(IoFetcher **ret, IoLoop *loop, Diag *reterr_diag)
{
    IoFetcher *fetcher = mem_alloc_array(1, sizeof(*fetcher));
    int r;

    if (fetcher == NULL) {
        return err_raise(-ENOMEM);
    }
    fetcher->loop = loop;
    r = fetch_library_open(&fetcher->library, reterr_diag);
    if (r == 0) {
        r = fetcher_open(fetcher);
    }
    if (r != 0) {
        (void)io_fetcher_free(fetcher);
        return r;
    }
    *ret = fetcher;
    return 0;
}

IoFetcher *io_fetcher_free(IoFetcher *fetcher)
{
    if (fetcher == NULL) {
        return NULL;
    }
    while (fetcher->first != NULL) {
        fetch_release(fetcher->first);
    }
    if (fetcher->multi != NULL) {
        (void)fetcher->library.curl_multi_cleanup(fetcher->multi);
    }
    if (fetcher->is_global) {
        fetcher->library.curl_global_cleanup();
    }
    fetcher->timer = io_timer_free(fetcher->timer);
    fetch_library_close(&fetcher->library);
    return mem_free(fetcher);
}
