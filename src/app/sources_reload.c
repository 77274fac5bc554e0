/* From one configuration to the next. All that it names is tried first (sources_try.c), so that a
 * mistake in it costs nobody a call. Then all parts that differ are taken out before any is put in,
 * so that a name may go over from one to another. Until that has worked the commands are only
 * withdrawn: their calls do not notice a reload that fails, and outlive one that does not.
 */
#include "app/sources_internal.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "io/error_text.h"

/* ---- what differs ---- */

static bool reload_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool reload_same_list(char *const *a, char *const *b)
{
    size_t i = 0;

    if (a == NULL || b == NULL) {
        return a == b;
    }
    while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0) {
        i++;
    }
    return a[i] == NULL && b[i] == NULL;
}

static bool reload_same_file(const Sources *sources, SourcesFile was, const char *path)
{
    SourcesFile now = sources_look(sources, path);

    return now.n == was.n && now.hash == was.hash;
}

static bool reload_is_same_exec(const Sources *sources, const Config *from, const Config *to)
{
    return reload_same(from->tools, to->tools) &&
           from->max_request_bytes == to->max_request_bytes &&
           from->max_response_bytes == to->max_response_bytes &&
           reload_same_file(sources, sources->tools_file, to->tools);
}

static bool reload_is_same_pipe(const Sources *sources, const Config *from, const Config *to)
{
    return reload_same(from->pipe.name, to->pipe.name) &&
           reload_same(from->pipe.tools, to->pipe.tools) &&
           from->pipe.ping_interval_ms == to->pipe.ping_interval_ms &&
           from->pipe.pong_timeout_ms == to->pipe.pong_timeout_ms &&
           reload_same_file(sources, sources->pipe_file, to->pipe.tools);
}

/* What could not be had, or restored, is tried again. */
static bool reload_is_there(const Sources *sources, SourcesPart part)
{
    switch (part) {
    case SOURCES_EXEC:
        return sources->exec != NULL;
    case SOURCES_TEMPLATES:
        return sources->templates != NULL;
    case SOURCES_ANALYSIS:
        return sources->analysis != NULL;
    case SOURCES_PARENT:
        return sources->parent != NULL;
    default:
        return sources->addins != NULL;
    }
}

static bool reload_is_same(const Sources *sources, const Config *from, const Config *to,
                           SourcesPart part)
{
    switch (part) {
    case SOURCES_EXEC:
        return reload_is_same_exec(sources, from, to);
    case SOURCES_TEMPLATES:
        return reload_same_list(from->templates, to->templates) &&
               reload_same(from->write_root, to->write_root);
    case SOURCES_ANALYSIS:
        return reload_same(from->state, to->state);
    case SOURCES_PARENT: /* follows its file by itself */
        return reload_same(from->call_socket, to->call_socket) &&
               reload_same(from->call_socket_schema, to->call_socket_schema);
    default:
        return reload_is_same_pipe(sources, from, to);
    }
}

/* ---- commands that outlive their file ---- */

static void reload_sweep(Sources *sources)
{
    size_t n = 0;

    for (size_t i = 0; i < SOURCES_MAX_RETIRED; i++) {
        ExecProvider *old = sources->retired[i];

        sources->retired[i] = NULL;
        if (old != NULL && exec_provider_is_busy(old)) {
            sources->retired[n++] = old;
        } else {
            (void)exec_provider_free(old);
        }
    }
}

static void reload_retire(Sources *sources, ExecProvider *old)
{
    size_t n = 0;

    reload_sweep(sources);
    if (old == NULL || !exec_provider_is_busy(old)) {
        (void)exec_provider_free(old);
        return;
    }
    if (sources->retired[SOURCES_MAX_RETIRED - 1] != NULL) {
        (void)exec_provider_free(sources->retired[0]);
        memmove(&sources->retired[0], &sources->retired[1],
                (SOURCES_MAX_RETIRED - 1) * sizeof(sources->retired[0]));
        sources->retired[SOURCES_MAX_RETIRED - 1] = NULL;
    }
    while (sources->retired[n] != NULL) {
        n++;
    }
    sources->retired[n] = old;
}

/* ---- the change ---- */

static int reload_add(Sources *sources, const Config *config, const bool which[SOURCES_N_PARTS],
                      Diag *reterr_diag)
{
    int r = 0;

    for (SourcesPart part = 0; r == 0 && part < SOURCES_N_PARTS; part++) {
        r = which[part] ? sources_add(sources, config, part, reterr_diag) : 0;
    }
    return r;
}

static void reload_drop(Sources *sources, const bool which[SOURCES_N_PARTS])
{
    for (SourcesPart part = 0; part < SOURCES_N_PARTS; part++) {
        if (which[part]) {
            sources_drop(sources, part);
        }
    }
}

/* Back to what was: each part on its own, so that one that is lost costs no other. */
static void reload_restore(Sources *sources, const Config *from, const bool which[SOURCES_N_PARTS])
{
    for (SourcesPart part = SOURCES_EXEC + 1; part < SOURCES_N_PARTS; part++) {
        Diag diag = DIAG_NULL;
        int r = which[part] ? sources_add(sources, from, part, &diag) : 0;

        if (r != 0) {
            logsink_write(sources->log, LOGSINK_LEVEL_ERROR, "reload", "not restored: %s",
                          r > 0 ? diag.message : io_error_text(-r));
        }
    }
}

static int reload_change(Sources *sources, const Config *from, const Config *to,
                         const bool differs[SOURCES_N_PARTS], Diag *reterr_diag)
{
    SourcesFile tools_file = sources->tools_file;
    ExecProvider *old = NULL;
    int r_old;
    int r;

    if (differs[SOURCES_EXEC] && sources->exec != NULL) {
        old = sources->exec;
        sources->exec = NULL;
        exec_provider_withdraw(old);
    }
    reload_drop(sources, differs);
    r = reload_add(sources, to, differs, reterr_diag);
    if (r == 0) {
        reload_retire(sources, old);
        return 0;
    }
    reload_drop(sources, differs);
    if (old != NULL) {
        sources->exec = old;
        sources->tools_file = tools_file;
        router_set_rank(hub_router(sources->hub), sources_rank(SOURCES_EXEC));
        r_old = exec_provider_offer(old);
        router_set_rank(hub_router(sources->hub), ROUTER_RANK_LAST);
        if (r_old != 0) {
            logsink_write(sources->log, LOGSINK_LEVEL_ERROR, "reload",
                          "the tools of %s could not be restored", from->tools);
        }
    }
    reload_restore(sources, from, differs);
    return r;
}

/* The servers change one by one: those that stay keep their sessions. Last, when nothing can fail
 * any more but for want of memory. */
static int reload_servers(Sources *sources, const Config *to)
{
    bool is_wanted = sources_wants(sources, to, SOURCES_SERVERS);

    if (sources->upstreams != NULL && is_wanted) {
        return err_pass(upstreams_reload(sources->upstreams, to->servers, to->n_servers));
    }
    sources_drop(sources, SOURCES_SERVERS);
    return sources_add(sources, to, SOURCES_SERVERS, NULL);
}

static int reload_parts(Sources *sources, const Config *from, const Config *to, Diag *reterr_diag)
{
    Router *router = hub_router(sources->hub);
    bool differs[SOURCES_N_PARTS] = {false};
    bool differs_at_all = false;
    int r;

    for (SourcesPart part = 0; part < SOURCES_SERVERS; part++) {
        bool was = sources_wants(sources, from, part);
        bool is = sources_wants(sources, to, part);

        differs[part] = (was || is) && !(was && is && reload_is_there(sources, part) &&
                                         reload_is_same(sources, from, to, part));
        differs_at_all = differs_at_all || differs[part];
    }
    if (!differs_at_all) {
        return 0;
    }
    r = sources_try(sources, to,
                    sources->addins != NULL && reload_same(from->pipe.name, to->pipe.name),
                    reterr_diag);
    if (r != 0) {
        return r;
    }
    router_batch_begin(router);
    /* Tools of our own have their names, also where one of a server has it. */
    upstreams_withdraw(sources->upstreams);
    r = reload_change(sources, from, to, differs, reterr_diag);
    upstreams_publish(sources->upstreams);
    router_batch_end(router);
    return r;
}

int sources_reload(Sources *sources, const Config *from, const Config *to, Diag *reterr_diag)
{
    int r = reload_parts(sources, from, to, reterr_diag);

    return r != 0 ? r : reload_servers(sources, to);
}
