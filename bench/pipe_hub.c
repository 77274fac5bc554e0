#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "app/hub.h"
#include "base/clock.h"
#include "peer.h"
#include "pipe_sides.h"
#include "providers/addins.h"
#include "json/json.h"

struct HubSide {
    Hub *hub;
    Addins *addins;
    pid_t pid;
    RouterListener listener;
    Call call;
    char *arguments;
    Arena arena;
    JsonDoc doc;
    size_t n_answer; /* of the data of each; 0: not known */

    /* While it runs. */
    double *samples;
    size_t n;
    size_t max;
    uint64_t begin;
    uint64_t end;
};

static void hub_ask(HubSide *side);

static void hub_on_finish(Call *call, const CallResult *result)
{
    HubSide *side = (HubSide *)(void *)((char *)call - offsetof(HubSide, call));
    uint64_t now = clock_monotonic_ns();

    if (result->kind != CALL_RESULT_TOOL || result->is_error || result->structured.n == 0) {
        peer_die("hub", "an answer that is none");
    }
    if (side->n_answer == 0) {
        if (memcmp(result->structured.p, side->arguments, result->structured.n) != 0) {
            peer_die("hub", "a wrong answer");
        }
        side->n_answer = result->structured.n;
    }
    if (result->structured.n != side->n_answer) {
        peer_die("hub", "an answer of another length");
    }
    side->samples[side->n++] = (double)(now - side->begin);
    if (side->n == side->max || now >= side->end) {
        io_loop_stop(hub_loop(side->hub));
        return;
    }
    side->begin = now;
    hub_ask(side);
}

static const CallDoor hub_door = {.finish = hub_on_finish};

static void hub_ask(HubSide *side)
{
    call_reset(&side->call);
    side->call.door = &hub_door;
    side->call.verb = CALL_TOOL;
    side->call.target = SPAN("echo");
    side->call.arguments = json_root(&side->doc);
    router_dispatch(hub_router(side->hub), NULL, &side->call);
}

static void hub_on_changed(RouterListener *listener, RouterKind kind)
{
    HubSide *side = (HubSide *)(void *)((char *)listener - offsetof(HubSide, listener));

    (void)kind;
    if (router_has_tool(hub_router(side->hub), SPAN("echo"))) {
        io_loop_stop(hub_loop(side->hub));
    }
}

static void hub_read_arguments(HubSide *side, size_t size)
{
    static const char head[] = "{\"message\":\"";
    size_t n = sizeof(head) - 1 + size;

    side->arguments = malloc(n + 3);
    if (side->arguments == NULL) {
        peer_die("memory", "not enough");
    }
    memcpy(side->arguments, head, sizeof(head) - 1);
    for (size_t i = 0; i < size; i++) {
        side->arguments[sizeof(head) - 1 + i] = (char)('a' + (int)(i % 26));
    }
    memcpy(side->arguments + n, "\"}", 3);
    arena_init(&side->arena, SIZE_MAX);
    if (json_parse(&side->doc, &side->arena, side->arguments, n + 2, NULL, NULL) != 0) {
        peer_die("hub", "arguments");
    }
}

HubSide *hub_side_new(const char *folder, size_t size)
{
    HubSide *side = calloc(1, sizeof(*side));
    Diag diag = DIAG_NULL;
    char name[256];

    if (side == NULL || hub_new(&side->hub, NULL) != 0) {
        peer_die("memory", "not enough");
    }
    (void)snprintf(name, sizeof(name), "%s/hub-%zu.sock", folder, size);
    if (addins_new(&side->addins,
                   &(AddinsConfig){
                       .router = hub_router(side->hub), .loop = hub_loop(side->hub), .name = name},
                   &diag) != 0) {
        peer_die(name, diag.message);
    }
    call_init(&side->call);
    hub_read_arguments(side, size);
    side->listener.changed = hub_on_changed;
    router_listen(hub_router(side->hub), &side->listener);
    side->pid = pipe_side_start(BENCH_PIPE_PEER, "addin", addins_path(side->addins));
    (void)io_loop_run(hub_loop(side->hub));
    router_unlisten(hub_router(side->hub), &side->listener);
    return side;
}

void hub_side_free(HubSide *side)
{
    side->addins = addins_free(side->addins);
    side->hub = hub_free(side->hub);
    (void)waitpid(side->pid, NULL, 0);
    call_deinit(&side->call);
    arena_deinit(&side->arena);
    free(side->arguments);
    free(side);
}

pid_t hub_side_peer(const HubSide *side)
{
    return side->pid;
}

const char *hub_side_path(const HubSide *side)
{
    return addins_path(side->addins);
}

size_t hub_side_run(HubSide *side, uint64_t for_ns, double *samples, size_t max)
{
    side->samples = samples;
    side->n = 0;
    side->max = max;
    side->begin = clock_monotonic_ns();
    side->end = side->begin + for_ns;
    io_loop_update_now(hub_loop(side->hub));
    hub_ask(side);
    (void)io_loop_run(hub_loop(side->hub));
    return side->n;
}
