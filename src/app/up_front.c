#include "app/up_front.h"

#include <errno.h>

#include "app/hub_place.h"
#include "app/mcp_listener.h"
#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/unix_socket.h"

struct UpFront {
    UpFrontConfig with; /* config is NULL: it is not kept */
    char *path;
    PrivateFile note;
    McpListener *listener;
};

static void front_on_closed(void *context)
{
    UpFront *front = context;

    front->with.closed(front->with.context, front);
}

static McpDoorConfig front_door_config(const UpFront *front, const Config *config)
{
    return (McpDoorConfig){
        .loop = hub_loop(front->with.hub),
        .router = hub_router(front->with.hub),
        .identity = front->with.identity,
        .limits = &config->limits,
        .sealer = hub_sealer(front->with.hub),
        /* A reload may bring any of them. */
        .lists_change = true,
        .expects_tools = true,
        .expects_resources = true,
        .expects_prompts = true,
        .logging = true,
        .max_request_bytes = config->max_request_bytes,
        .max_response_bytes = config->max_response_bytes,
        .max_line_bytes = config->max_line_bytes,
        .drain_ms = config->drain_ms,
        .log = front->with.log,
    };
}

/* Without the note the hub is still there for those who do not mind its settings. */
static void front_tell(UpFront *front, const Config *config)
{
    Diag diag = DIAG_NULL;
    int r = hub_place_tell(&front->note, front->path, config->path, &diag);

    if (r != 0) {
        logsink_write(front->with.log, LOGSINK_LEVEL_WARN, "front",
                      "fronts cannot read the settings of this hub: %s",
                      r > 0 ? diag.message : io_error_text(-r));
    }
}

static int front_listen(UpFront *front, const Config *config, Diag *reterr_diag)
{
    int r = hub_place_make(&front->path, config->state, reterr_diag);

    if (r != 0) {
        return r > 0 ? UP_FRONT_E_PLACE : err_pass(r);
    }
    r = mcp_listener_new(&front->listener,
                         &(McpListenerConfig){.door = front_door_config(front, config),
                                              .path = front->path,
                                              .closed = front_on_closed,
                                              .context = front},
                         reterr_diag);
    if (r == UNIX_SOCKET_E_LIVE) {
        if (reterr_diag != NULL) {
            diag_prefix(reterr_diag, "a hub for this state folder runs already (see --state): ");
        }
        return UP_FRONT_E_LIVE;
    }
    return r > 0 ? UP_FRONT_E_PLACE : err_pass(r);
}

int up_front_new(UpFront **ret, const UpFrontConfig *config, Diag *reterr_diag)
{
    UpFront *front = mem_alloc_array(1, sizeof(*front));
    int r;

    if (front == NULL) {
        return err_raise(-ENOMEM);
    }
    front->with = *config;
    front->with.config = NULL;
    front->note = PRIVATE_FILE_NULL;
    r = front_listen(front, config->config, reterr_diag);
    if (r != 0) {
        (void)up_front_free(front);
        return r;
    }
    front_tell(front, config->config);
    *ret = front;
    return 0;
}

UpFront *up_front_free(UpFront *front)
{
    if (front == NULL) {
        return NULL;
    }
    front->listener = mcp_listener_free(front->listener);
    private_file_remove(&front->note);
    front->path = mem_free(front->path);
    return mem_free(front);
}

const char *up_front_path(const UpFront *front)
{
    return front->path;
}

void up_front_update(UpFront *front, const Config *config)
{
    McpDoorConfig door = front_door_config(front, config);

    mcp_listener_update(front->listener, &door);
    front_tell(front, config);
}

void up_front_shutdown(UpFront *front)
{
    private_file_remove(&front->note);
    mcp_listener_shutdown(front->listener);
}
