#include "app/sources.h"

#include "app/version.h"
#include "base/error.h"

static int sources_add_exec(Sources *sources, Hub *hub, const Config *config, const LogSink *log,
                            Diag *reterr_diag)
{
    int r =
        exec_provider_load(&sources->exec,
                           &(ExecProviderConfig){.router = hub_router(hub),
                                                 .loop = hub_loop(hub),
                                                 .path = config->tools,
                                                 .log = log,
                                                 .max_request_bytes = config->max_request_bytes,
                                                 .max_response_bytes = config->max_response_bytes},
                           reterr_diag);

    return r > 0 ? SOURCES_E_TOOLS : err_pass(r);
}

static int sources_add_parent(Sources *sources, Hub *hub, const Config *config, const LogSink *log,
                              Diag *reterr_diag)
{
    int r = parent_provider_new(&sources->parent,
                                &(ParentProviderConfig){.router = hub_router(hub),
                                                        .loop = hub_loop(hub),
                                                        .log = log,
                                                        .socket_path = config->call_socket,
                                                        .schema_path = config->call_socket_schema},
                                reterr_diag);

    return r > 0 ? SOURCES_E_PARENT : err_pass(r);
}

static int sources_add_pipe(Sources *sources, Hub *hub, const Config *config, const LogSink *log,
                            Diag *reterr_diag)
{
    int r = addins_new(&sources->addins,
                       &(AddinsConfig){.router = hub_router(hub),
                                       .loop = hub_loop(hub),
                                       .log = log,
                                       .name = config->pipe.name,
                                       .tools_path = config->pipe.tools,
                                       .ping_interval_ms = config->pipe.ping_interval_ms,
                                       .pong_timeout_ms = config->pipe.pong_timeout_ms},
                       reterr_diag);

    return r == ADDINS_E_TOOLS   ? SOURCES_E_TOOLS
           : r == ADDINS_E_PLACE ? SOURCES_E_PIPE
                                 : err_pass(r);
}

static int sources_add_templates(Sources *sources, Hub *hub, const Config *config,
                                 const LogSink *log, Diag *reterr_diag)
{
    int r = templates_new(&sources->templates,
                          &(TemplatesConfig){.router = hub_router(hub),
                                             .loop = hub_loop(hub),
                                             .log = log,
                                             .folders = (const char *const *)config->templates,
                                             .write_root = config->write_root},
                          reterr_diag);

    return r == TEMPLATES_E_FOLDER   ? SOURCES_E_TEMPLATES
           : r == TEMPLATES_E_EXISTS ? SOURCES_E_TOOLS
                                     : err_pass(r);
}

static int sources_add_analysis(Sources *sources, Hub *hub, const Config *config, Diag *reterr_diag)
{
    int r = analysis_tools_new(&sources->analysis,
                               &(AnalysisToolsConfig){.router = hub_router(hub),
                                                      .loop = hub_loop(hub),
                                                      .state = config->state,
                                                      .version = TOOLWIRE_VERSION},
                               reterr_diag);

    return r > 0 ? SOURCES_E_TOOLS : err_pass(r);
}

int sources_init(Sources *sources, Hub *hub, const Config *config, SourcesWith with,
                 const LogSink *log, Diag *reterr_diag)
{
    int r = 0;

    *sources = SOURCES_NULL;
    if (config->tools != NULL) {
        r = sources_add_exec(sources, hub, config, log, reterr_diag);
    }
    if (r == 0 && with.diagnostics) {
        r = diagnostics_new(&sources->diagnostics, hub_router(hub), hub_loop(hub));
        if (r == -EEXIST) {
            return diag_set(reterr_diag, SOURCES_E_TOOLS,
                            "%s has a tool of the same name as one of --diagnostics",
                            config->tools);
        }
        r = err_pass(r);
    }
    if (r == 0 && with.toolkit) {
        r = sources_add_templates(sources, hub, config, log, reterr_diag);
        r = r != 0 ? r : sources_add_analysis(sources, hub, config, reterr_diag);
    }
    /* Last: where a name is taken, the words are about the parent's file. */
    if (r == 0 && config->call_socket != NULL) {
        r = sources_add_parent(sources, hub, config, log, reterr_diag);
    }
    /* And here about the pipe's; what an add-in brings gives way to all others. */
    if (r == 0 && config->pipe.name != NULL) {
        r = sources_add_pipe(sources, hub, config, log, reterr_diag);
    }
    return r;
}

bool sources_bring_tools(const Config *config)
{
    return config->call_socket != NULL || config->pipe.name != NULL;
}

bool sources_change(const Config *config, SourcesWith with)
{
    return with.toolkit || sources_bring_tools(config);
}

bool sources_bring_resources(const Config *config)
{
    return config->pipe.name != NULL;
}

void sources_end(Sources *sources)
{
    sources->addins = addins_free(sources->addins);
    sources->parent = parent_provider_free(sources->parent);
    sources->analysis = analysis_tools_free(sources->analysis);
    sources->templates = templates_free(sources->templates);
    sources->diagnostics = diagnostics_free(sources->diagnostics);
}

void sources_deinit(Sources *sources)
{
    sources_end(sources);
    sources->exec = exec_provider_free(sources->exec);
}
