/* A parent: the tools of a server behind a call socket (app/host.h). */
#include <toolwire/host.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <toolwire/error.h>
#include <unistd.h>

#include "api/tw_server.h"
#include "api/tw_sigpipe.h"
#include "app/host.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "io/private_file.h"
#include "io/unix_socket.h"
#include "io/wake.h"

/* "host", the process, a number. */
#define HOST_NAME_SIZE 48

struct TwHost {
    TwServer *server;
    char *socket_path;
    char *schema_path;
    IoWake *wake; /* carries tw_host_stop to the loop, which may not run yet */
    Host *host;
    bool is_closed; /* every call is over; loop */
};

/* ---- the end ---- */

static void host_on_closed(void *context)
{
    TwHost *host = context;

    host->is_closed = true;
    io_loop_stop(hub_loop(host->server->hub));
}

static void host_on_wake(void *context)
{
    TwHost *host = context;

    host_shutdown(host->host);
}

void tw_host_stop(TwHost *host)
{
    if (host != NULL) {
        io_wake_send(host->wake);
    }
}

/* ---- open and close ---- */

/* A name that no other host has, in this process or in one that shares its folder: a number of the
 * process is not enough, since containers may share folders and have the same numbers. */
static int host_choose_name(char name[HOST_NAME_SIZE])
{
    uint32_t number;
    int r = random_fill(&number, sizeof(number));

    if (r != 0) {
        return err_pass(r);
    }
    (void)snprintf(name, HOST_NAME_SIZE, "host-%ld-%08lx", (long)getpid(), (unsigned long)number);
    return 0;
}

static int host_choose_paths(TwHost *host, const TwHostOptions *options, Diag *reterr_diag)
{
    char name[HOST_NAME_SIZE];
    int r = host_choose_name(name);

    if (r != 0) {
        return err_pass(r);
    }
    return host_paths(name, options != NULL ? options->socket_path : NULL,
                      options != NULL ? options->schema_path : NULL, &host->socket_path,
                      &host->schema_path, reterr_diag);
}

static int host_listen(TwHost *host, Diag *reterr_diag)
{
    TwServer *server = host->server;
    const TwServerOptions *options = &server->options;
    IoLoop *loop = hub_loop(server->hub);
    int r = io_wake_new(&host->wake, loop, host_on_wake, host);

    if (r != 0) {
        return err_pass(r);
    }
    return host_new(&host->host,
                    &(HostConfig){.loop = loop,
                                  .router = hub_router(server->hub),
                                  .socket_path = host->socket_path,
                                  .schema_path = host->schema_path,
                                  .limits = &(RouterLimits){.max_in_flight = options->max_in_flight,
                                                            .rate_off = options->rate_off,
                                                            .rate_burst = options->rate_burst,
                                                            .rate_per_s = options->rate_per_s},
                                  .drain_ms = options->drain_ms,
                                  .closed = host_on_closed,
                                  .context = host},
                    reterr_diag);
}

/* Half-built ones too. Lock of the server held. */
static void host_discard(TwHost *host)
{
    host->host = host_free(host->host);
    host->wake = io_wake_free(host->wake);
    /* Lets the loop forget what was freed; nothing is left that it could wait for. */
    (void)io_loop_run(hub_loop(host->server->hub));
    host->socket_path = mem_free(host->socket_path);
    host->schema_path = mem_free(host->schema_path);
    (void)mem_free(host);
}

/* Why a place cannot be had: does somebody else have it? */
static bool host_place_is_taken(const TwHost *host)
{
    struct stat info;
    int fd = -1;
    int r;

    if (host->socket_path == NULL) {
        return false;
    }
    r = unix_socket_connect(host->socket_path, &fd);
    if (r == 0) {
        (void)close(fd);
    }
    return r == 0 || r == -EAGAIN ||
           (lstat(host->schema_path, &info) == 0 && S_ISREG(info.st_mode) &&
            private_file_is_held(host->schema_path));
}

static int host_fail(TwHost *host, int r, const Diag *diag)
{
    int error = r != HOST_E_PLACE           ? api_error_of(r)
                : host_place_is_taken(host) ? TW_ERROR_EXISTS
                                            : TW_ERROR_SYSTEM;

    return api_server_fail(host->server, error,
                           error == TW_ERROR_MEMORY   ? tw_error_text(error)
                           : diag->message[0] != '\0' ? diag->message
                           : error == TW_ERROR_SYSTEM ? strerror(-r)
                                                      : tw_error_text(error));
}

/* Lock held. */
static int server_open_host(TwServer *server, const TwHostOptions *options)
{
    Diag diag = DIAG_NULL;
    TwHost *host;
    int r = api_server_open(server);

    if (r != 0) {
        return r;
    }
    host = mem_alloc_array(1, sizeof(*host));
    if (host == NULL) {
        return api_server_fail(server, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    host->server = server;
    r = host_choose_paths(host, options, &diag);
    if (r == 0) {
        r = host_listen(host, &diag);
    }
    if (r != 0) {
        r = host_fail(host, r, &diag);
        host_discard(host);
        return r;
    }
    server->host = host;
    return 0;
}

int tw_host_open(TwServer *server, const TwHostOptions *options, TwHost **ret_host)
{
    int r;

    if (server == NULL || ret_host == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&server->lock);
    if (server->serving) {
        r = api_server_fail(server, TW_ERROR_BUSY, "the server serves already");
    } else if (server->host != NULL) {
        r = api_server_fail(server, TW_ERROR_BUSY, "the server has a host already");
    } else {
        r = server_open_host(server, options);
    }
    if (r == 0) {
        *ret_host = server->host;
    }
    pthread_mutex_unlock(&server->lock);
    return r;
}

void tw_host_close(TwHost *host)
{
    TwServer *server;

    if (host == NULL) {
        return;
    }
    server = host->server;
    pthread_mutex_lock(&server->lock);
    server->host = NULL;
    host_discard(host);
    pthread_mutex_unlock(&server->lock);
}

const char *tw_host_socket_path(const TwHost *host)
{
    return host == NULL ? "" : host->socket_path;
}

const char *tw_host_schema_path(const TwHost *host)
{
    return host == NULL ? "" : host->schema_path;
}

/* ---- running ---- */

static int host_serve(TwHost *host)
{
    IoLoop *loop = hub_loop(host->server->hub);
    int r = 0;

    /* Threads of the user may answer when nothing else is left for the loop to wait for. */
    io_loop_hold(loop);
    if (!host->is_closed) {
        r = io_loop_run(loop);
    }
    io_loop_release(loop);
    return r;
}

int tw_host_run(TwHost *host)
{
    ApiSigpipe sigpipe;
    int r;

    if (host == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    r = api_server_begin(host->server, host);
    if (r != 0) {
        return r;
    }
    api_sigpipe_block(&sigpipe);
    r = host_serve(host);
    api_server_end(host->server);
    api_sigpipe_restore(&sigpipe);
    return r == 0 ? 0 : api_server_fail(host->server, api_error_of(r), strerror(-r));
}
