/* All servers together: their beginning, their change, their end. */
#include "providers/upstream.h"

#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "providers/upstream_impl.h"

/* Of a list that says which servers are not there. */
#define UPSTREAM_META_BYTES ((size_t)256 * 1024)

/* ---- the gate ---- */

static void upstreams_open_gate(Upstreams *upstreams)
{
    if (upstreams->is_gated) {
        upstreams->is_gated = false;
        upstreams->is_knocked = false;
        upstreams->must_begin = false;
        io_timer_stop(upstreams->gate);
        if (upstreams->is_unclaimed) {
            upstreams_publish(upstreams); /* now they are seen */
        }
        router_open_gate(upstreams->config.router);
    }
}

/* By the task: whoever is let in may do anything, and a server is in the middle of something. */
void upstreams_look_at_gate(Upstreams *upstreams)
{
    if (upstreams->is_gated) {
        upstreams_post(upstreams);
    }
}

static void upstreams_on_gate_timer(void *context)
{
    upstreams_open_gate(context);
}

/* By the task: the one who knocks is in the middle of his call. */
static void upstreams_on_knock(void *context)
{
    Upstreams *upstreams = context;

    upstreams->is_knocked = true;
    upstreams->has_listed = true;
    upstreams->must_begin = true;
    io_timer_start_at(upstreams->gate,
                      io_loop_now_ms(upstreams->config.loop) + LIMIT_UPSTREAM_GATE_MS);
    upstreams_post(upstreams);
}

void upstreams_close_gate(Upstreams *upstreams)
{
    if (upstreams->is_ended) {
        return;
    }
    if (!upstreams->is_gated) {
        upstreams->is_gated = true;
        router_close_gate(upstreams->config.router, upstreams_on_knock, upstreams);
    } else if (upstreams->is_knocked) {
        upstreams->must_begin = true;
        upstreams_post(upstreams);
    }
}

/* Somebody waits: those whose lists are not known, or too old, are started. */
static void upstreams_begin(Upstreams *upstreams)
{
    upstreams->must_begin = false;
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        if (!upstreams->servers[i]->is_settled) {
            (void)upstream_wake(upstreams->servers[i]);
        }
    }
}

static bool upstreams_are_settled(const Upstreams *upstreams)
{
    bool are_settled = true;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        are_settled = are_settled && upstreams->servers[i]->is_settled;
    }
    return are_settled;
}

/* ---- the task ---- */

static void upstream_take_news(Upstream *server)
{
    UpstreamCall *held = server->first;

    server->has_news = false;
    while (held != NULL) {
        if (held->is_lost && held->end == UPSTREAM_END_NONE) {
            upstream_call_end_lost(held, SPAN("its answer is lost"));
            held = server->first;
        } else {
            held = held->next;
        }
    }
    upstream_asks_tell(server);
    upstream_turns(server);
}

static void upstreams_on_task(IoTask *task)
{
    Upstreams *upstreams = (Upstreams *)(void *)((char *)task - offsetof(Upstreams, task));

    upstreams->is_task_posted = false;
    if (upstreams->is_freed) {
        (void)mem_free(upstreams);
        return;
    }
    if (upstreams->must_publish) {
        upstreams_publish(upstreams);
    }
    if (upstreams->must_begin) {
        upstreams_begin(upstreams);
    }
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        upstream_lists_look(upstreams->servers[i], upstreams->listed);
        if (upstreams->servers[i]->has_news) {
            upstream_take_news(upstreams->servers[i]);
        }
        if (upstreams->servers[i]->must_subscribe) {
            upstream_subscribe_changed(upstreams->servers[i]);
        }
    }
    upstreams->listed = 0;
    if (upstreams->is_gated && upstreams_are_settled(upstreams)) {
        upstreams_open_gate(upstreams);
    }
}

void upstreams_post(Upstreams *upstreams)
{
    if (!upstreams->is_task_posted) {
        upstreams->is_task_posted = true;
        io_loop_post(upstreams->config.loop, &upstreams->task);
    }
}

/* A tool or prompt of our own may have come that has the name of one of theirs. */
static void upstreams_on_changed(RouterListener *listener, RouterKind kind)
{
    Upstreams *upstreams = (Upstreams *)(void *)((char *)listener - offsetof(Upstreams, listener));

    if ((kind == ROUTER_TOOL || kind == ROUTER_PROMPT) && !upstreams->is_publishing &&
        !upstreams->is_ended) {
        upstreams->must_publish = true;
        upstreams_post(upstreams);
    }
}

/* ---- servers ---- */

static Upstream *upstreams_find_same(const Upstreams *upstreams, const UpstreamSpec *spec)
{
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        if (upstreams->servers[i] != NULL &&
            upstream_spec_is_same(&upstreams->servers[i]->spec, spec)) {
            return upstreams->servers[i];
        }
    }
    return NULL;
}

static void upstreams_take_out(Upstreams *upstreams, const Upstream *server)
{
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        if (upstreams->servers[i] == server) {
            upstreams->servers[i] = NULL;
        }
    }
}

/* The new list, in which those that stay are the old ones; *ret_n of them are there on failure,
 * too. */
static int upstreams_make_list(Upstreams *upstreams, const UpstreamSpec *specs, size_t n_specs,
                               Upstream ***ret, size_t *ret_n)
{
    Upstream **servers = mem_alloc_array(n_specs + 1, sizeof(Upstream *));
    int r = servers == NULL ? err_raise(-ENOMEM) : 0;
    size_t n = 0;

    while (r == 0 && n < n_specs) {
        servers[n] = upstreams_find_same(upstreams, &specs[n]);
        if (servers[n] != NULL) {
            upstreams_take_out(upstreams, servers[n]);
        } else {
            r = upstream_new(&servers[n], upstreams, &specs[n]);
        }
        if (r == 0) {
            servers[n]->index = n;
            n++;
        }
    }
    *ret = servers;
    *ret_n = n;
    return r;
}

/* Those that are new: whoever has lists already does not ask again, and is told of theirs. */
static void upstreams_start(Upstreams *upstreams)
{
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        Upstream *server = upstreams->servers[i];
        bool is_new = server->n_starts == 0;

        if (is_new && (server->spec.is_eager ||
                       (upstreams->has_listed && !server->is_settled && server->kept_ms == 0))) {
            (void)upstream_wake(server);
        }
        if (is_new && !server->is_settled && !upstreams->has_listed) {
            upstreams_close_gate(upstreams);
        }
    }
    upstreams_look_at_gate(upstreams);
}

int upstreams_reload(Upstreams *upstreams, const UpstreamSpec *specs, size_t n_specs)
{
    Upstream **old = upstreams->servers;
    size_t n_old = upstreams->n_servers;
    Upstream **servers;
    size_t n;
    int r = upstreams_make_list(upstreams, specs, n_specs, &servers, &n);

    if (servers == NULL) {
        return err_pass(r);
    }
    upstreams->servers = servers;
    upstreams->n_servers = n;
    router_batch_begin(upstreams->config.router);
    for (size_t i = 0; i < n_old; i++) {
        old[i] = upstream_free(old[i]);
    }
    upstreams_publish(upstreams);
    router_batch_end(upstreams->config.router);
    (void)mem_free(old);
    upstreams_start(upstreams);
    return r;
}

/* ---- life ---- */

static int upstreams_init(Upstreams *upstreams)
{
    const UpstreamsConfig *config = &upstreams->config;
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    upstreams->seed = hash_seed_from(random);
    r = upstream_claims_init(upstreams, config->settings);
    if (r != 0) {
        return err_pass(r);
    }
    upstreams->config.settings = NULL;
    r = io_timer_new(&upstreams->gate, config->loop, true, upstreams_on_gate_timer, upstreams);
    if (r != 0) {
        return err_pass(r);
    }
    router_listen(config->router, &upstreams->listener);
    router_set_list_meta(config->router, upstreams_list_meta, upstreams);
    router_set_wanted(config->router, upstreams_on_wanted, upstreams);
    router_set_forsaken(config->router, upstreams_on_forsaken, upstreams);
    router_set_unknown(config->router, upstreams_where, upstreams);
    r = upstreams_reload(upstreams, config->specs, config->n_specs);
    upstreams->config.specs = NULL;
    return r;
}

static int upstreams_copy_state(Upstreams *upstreams, const char *state)
{
    size_t n = state == NULL ? 0 : strlen(state) + 1;

    if (state == NULL) {
        return 0;
    }
    upstreams->state = mem_alloc(n);
    if (upstreams->state == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(upstreams->state, state, n);
    return 0;
}

int upstreams_new(Upstreams **ret, const UpstreamsConfig *config)
{
    Upstreams *upstreams = mem_alloc_array(1, sizeof(*upstreams));
    int r;

    if (upstreams == NULL) {
        return err_raise(-ENOMEM);
    }
    upstreams->config = *config;
    upstreams->task.fn = upstreams_on_task;
    upstreams->listener.changed = upstreams_on_changed;
    arena_init(&upstreams->names, SIZE_MAX);
    arena_init(&upstreams->scratch, SIZE_MAX);
    bytes_init(&upstreams->params, LIMIT_MCP_RESPONSE_BYTES);
    bytes_init(&upstreams->text, LIMIT_MCP_RESPONSE_BYTES);
    bytes_init(&upstreams->list_meta, UPSTREAM_META_BYTES);
    r = upstreams_copy_state(upstreams, config->state);
    r = r != 0 ? r : upstreams_init(upstreams);
    upstreams->config.state = NULL;
    if (r != 0) {
        (void)upstreams_free(upstreams);
        return err_pass(r);
    }
    *ret = upstreams;
    return 0;
}

void upstreams_end(Upstreams *upstreams)
{
    if (upstreams == NULL || upstreams->is_ended) {
        return;
    }
    upstreams->is_ended = true;
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        upstreams->servers[i] = upstream_free(upstreams->servers[i]);
    }
    upstreams->n_servers = 0;
    upstreams->servers = mem_free(upstreams->servers);
    if (upstreams->gate != NULL) {
        upstreams_open_gate(upstreams);
        router_unlisten(upstreams->config.router, &upstreams->listener);
        router_set_list_meta(upstreams->config.router, NULL, NULL);
        router_set_wanted(upstreams->config.router, NULL, NULL);
        router_set_forsaken(upstreams->config.router, NULL, NULL);
        router_set_unknown(upstreams->config.router, NULL, NULL);
    }
}

Upstreams *upstreams_free(Upstreams *upstreams)
{
    if (upstreams == NULL) {
        return NULL;
    }
    upstreams_end(upstreams);
    while (upstreams->leaving != NULL) {
        UpstreamLeaving *leaving = upstreams->leaving;

        upstreams->leaving = leaving->next;
        (void)upstream_leaving_free(leaving);
    }
    while (upstreams->unused != NULL) {
        UpstreamCall *held = upstreams->unused;

        upstreams->unused = held->next;
        upstream_call_discard(held);
    }
    upstreams->gate = io_timer_free(upstreams->gate);
    upstreams->state = mem_free(upstreams->state);
    upstream_claims_deinit(upstreams);
    arena_deinit(&upstreams->names);
    arena_deinit(&upstreams->scratch);
    bytes_deinit(&upstreams->params);
    bytes_deinit(&upstreams->text);
    bytes_deinit(&upstreams->list_meta);
    if (upstreams->is_task_posted) {
        upstreams->is_freed = true;
        return NULL;
    }
    return mem_free(upstreams);
}

/* ---- those who look ---- */

size_t upstreams_count(const Upstreams *upstreams)
{
    return upstreams == NULL ? 0 : upstreams->n_servers;
}

UpstreamStatus upstreams_status(const Upstreams *upstreams, size_t i)
{
    Upstream *server = upstreams->servers[i];
    UpstreamStatus status = {.name = server->spec.name,
                             .state = server->state,
                             .state_name = upstream_state_name(server->state),
                             .why = "",
                             .is_unlisted = server->state != UPSTREAM_DISABLED &&
                                            !server->is_settled && server->kept_ms == 0,
                             .n_left_out = server->n_left_out,
                             .n_renamed = server->n_renamed,
                             .n_open = server->n_calls,
                             .n_parked = server->n_parked,
                             .n_starts = server->n_starts,
                             .n_failures = server->n_failures};

    for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
        status.n_entries[kind] = server->lists[kind].n_items;
    }
    if (server->why.n > 0 && bytes_reserve(&server->why, 1) == 0) {
        server->why.data[server->why.n] = '\0';
        status.why = server->why.data;
    }
    return status;
}
