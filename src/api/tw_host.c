/* A parent: the tools of a server behind a call socket (app/host.h). */
#include <toolwire/host.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <toolwire/error.h>

#include "api/tw_endpoint.h"
#include "api/tw_server.h"
#include "app/host.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "io/descriptor_look.h"
#include "io/place.h"
#include "io/private_file.h"
#include "io/program.h"
#include "io/unix_socket.h"

/* "host", the process, a number. */
#define HOST_NAME_SIZE 48

struct TwHost {
    ApiEndpoint endpoint;
    char *socket_path;
    char *schema_path;
    Host *host;
};

static TwHost *host_of(ApiEndpoint *endpoint)
{
    return (TwHost *)(void *)((char *)endpoint - offsetof(TwHost, endpoint));
}

/* ---- the end ---- */

static void host_on_closed(void *context)
{
    TwHost *host = context;

    api_endpoint_closed(&host->endpoint);
}

static void host_on_shutdown(ApiEndpoint *endpoint)
{
    host_shutdown(host_of(endpoint)->host);
}

/* Half-built ones too. */
static void host_discard(ApiEndpoint *endpoint)
{
    TwHost *host = host_of(endpoint);

    host->host = host_free(host->host);
    api_endpoint_deinit(endpoint);
    host->socket_path = mem_free(host->socket_path);
    host->schema_path = mem_free(host->schema_path);
    (void)mem_free(host);
}

static const ApiEndpointKind host_kind = {
    .noun = "a host", .shutdown = host_on_shutdown, .discard = host_discard};

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
    (void)snprintf(name, HOST_NAME_SIZE, "host-%ld-%08lx", io_program_pid(), (unsigned long)number);
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
    const TwServer *server = host->endpoint.server;
    const TwServerOptions *options = &server->options;

    return host_new(&host->host,
                    &(HostConfig){.loop = hub_loop(server->hub),
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

/* Why a place cannot be had: does somebody else have it? */
static bool host_place_is_taken(const TwHost *host)
{
    int fd = -1;
    int r;

    if (host->socket_path == NULL) {
        return false;
    }
    r = unix_socket_connect(host->socket_path, &fd);
    if (r == 0) {
        io_fd_close(fd);
    }
    return r == 0 || r == -EAGAIN ||
           (io_place_is_file(host->schema_path) && private_file_is_held(host->schema_path));
}

static int host_fail(TwHost *host, int r, const Diag *diag)
{
    int error = r != HOST_E_PLACE           ? api_error_of(r)
                : host_place_is_taken(host) ? TW_ERROR_EXISTS
                                            : TW_ERROR_SYSTEM;

    return api_endpoint_fail(host->endpoint.server, error, r, diag);
}

/* Lock held. */
static int server_open_host(TwServer *server, const TwHostOptions *options, TwHost **ret_host)
{
    Diag diag = DIAG_NULL;
    TwHost *host = mem_alloc_array(1, sizeof(*host));
    int r;

    if (host == NULL) {
        return api_server_fail(server, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    r = api_endpoint_init(&host->endpoint, &host_kind, server);
    if (r == 0) {
        r = host_choose_paths(host, options, &diag);
    }
    if (r == 0) {
        r = host_listen(host, &diag);
    }
    if (r != 0) {
        r = host_fail(host, r, &diag);
        host_discard(&host->endpoint);
        return r;
    }
    server->endpoint = &host->endpoint;
    *ret_host = host;
    return 0;
}

int tw_host_open(TwServer *server, const TwHostOptions *options, TwHost **ret_host)
{
    int r;

    if (server == NULL || ret_host == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&server->lock);
    r = api_endpoint_claim(server);
    if (r == 0) {
        r = server_open_host(server, options, ret_host);
    }
    pthread_mutex_unlock(&server->lock);
    return r;
}

void tw_host_close(TwHost *host)
{
    if (host != NULL) {
        api_endpoint_close(&host->endpoint);
    }
}

int tw_host_run(TwHost *host)
{
    return host == NULL ? TW_ERROR_ARGUMENT : api_endpoint_run(&host->endpoint);
}

void tw_host_stop(TwHost *host)
{
    if (host != NULL) {
        api_endpoint_stop(&host->endpoint);
    }
}

const char *tw_host_socket_path(const TwHost *host)
{
    return host == NULL ? "" : host->socket_path;
}

const char *tw_host_schema_path(const TwHost *host)
{
    return host == NULL ? "" : host->schema_path;
}
