/* What a configuration names, made once beside what there is: in a hub of its own, whose loop never
 * runs. Whatever is wrong with it is found out before anything that serves is touched. Nobody is
 * connected to, since a parent is called only when a tool of its is. A pipe under a name that is
 * not ours yet is there for that moment.
 */
#include "app/sources_internal.h"

#include <errno.h>

#include "base/error.h"
#include "providers/tools_file.h"

/* A tools file for add-ins: what addins_new would say of it. */
static int try_pipe_tools(Sources *trial, const char *path, Diag *reterr_diag)
{
    Router *router = hub_router(trial->hub);
    ToolsFile file;
    int r;

    if (path == NULL) {
        return 0;
    }
    r = tools_file_load_pipe(&file, path, reterr_diag);
    if (r != 0) {
        return r > 0 ? SOURCES_E_TOOLS : err_pass(r);
    }
    for (size_t i = 0; r == 0 && i < file.n_tools; i++) {
        Span name = file.tools[i].name;

        if (router_has_tool(router, name)) {
            r = diag_set(reterr_diag, SOURCES_E_TOOLS,
                         "%s: [%zu].name: another provider has the name '%.*s'", path, i,
                         (int)name.n, name.p);
        }
    }
    tools_file_deinit(&file);
    return r;
}

static int try_parts(Sources *trial, const Config *config, bool pipe_is_ours, Diag *reterr_diag)
{
    int r = 0;

    /* First, so that the words are about the tools file. */
    if (trial->with.diagnostics) {
        r = diagnostics_new(&trial->diagnostics, hub_router(trial->hub), hub_loop(trial->hub));
    }
    /* MCP servers are not tried: one that cannot be had is no mistake of the settings. */
    for (SourcesPart part = 0; r == 0 && part < SOURCES_SERVERS; part++) {
        r = part == SOURCES_PIPE && pipe_is_ours
                ? try_pipe_tools(trial, config->pipe.tools, reterr_diag)
                : sources_add(trial, config, part, reterr_diag);
    }
    return r;
}

int sources_try(const Sources *sources, const Config *config, bool pipe_is_ours, Diag *reterr_diag)
{
    Sources trial = {.with = sources->with, .seed = sources->seed};
    int r = hub_new(&trial.hub, NULL);

    if (r != 0) {
        return err_pass(r);
    }
    r = try_parts(&trial, config, pipe_is_ours, reterr_diag);
    sources_deinit(&trial);
    (void)hub_free(trial.hub);
    return r;
}
