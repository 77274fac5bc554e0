#include "app/sources.h"

#include <errno.h>

#include "app/sources_internal.h"
#include "app/version.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "io/file.h"
#include "io/keep.h"
#include "io/place.h"
#include "providers/tools_file.h"

SourcesFile sources_look(const Sources *sources, const char *path)
{
    SourcesFile seen = {.n = 0};
    Bytes text;

    if (path == NULL || !sources->with.reload) {
        return seen;
    }
    bytes_init(&text, TOOLS_FILE_MAX_BYTES);
    if (io_file_read(&text, path) == 0) {
        seen = (SourcesFile){.hash = hash_span(sources->seed, bytes_span(&text)), .n = text.n};
    }
    bytes_deinit(&text);
    return seen;
}

static int sources_add_exec(Sources *sources, const Config *config, Diag *reterr_diag)
{
    int r;

    /* Looked at first: a change in between is then seen as one by the next reload. */
    sources->tools_file = sources_look(sources, config->tools);
    r = exec_provider_load(&sources->exec,
                           &(ExecProviderConfig){.router = hub_router(sources->hub),
                                                 .loop = hub_loop(sources->hub),
                                                 .path = config->tools,
                                                 .log = sources->log,
                                                 .yields = sources->with.yields,
                                                 .max_request_bytes = config->max_request_bytes,
                                                 .max_response_bytes = config->max_response_bytes},
                           reterr_diag);
    return r > 0 ? SOURCES_E_TOOLS : err_pass(r);
}

static int sources_add_parent(Sources *sources, const Config *config, Diag *reterr_diag)
{
    int r = parent_provider_new(&sources->parent,
                                &(ParentProviderConfig){.router = hub_router(sources->hub),
                                                        .loop = hub_loop(sources->hub),
                                                        .log = sources->log,
                                                        .socket_path = config->call_socket,
                                                        .schema_path = config->call_socket_schema},
                                reterr_diag);

    return r > 0 ? SOURCES_E_PARENT : err_pass(r);
}

static int sources_add_pipe(Sources *sources, const Config *config, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    int r;

    sources->pipe_file = sources_look(sources, config->pipe.tools);
    r = addins_new(&sources->addins,
                   &(AddinsConfig){.router = hub_router(sources->hub),
                                   .loop = hub_loop(sources->hub),
                                   .log = sources->log,
                                   .name = config->pipe.name,
                                   .tools_path = config->pipe.tools,
                                   .ping_interval_ms = config->pipe.ping_interval_ms,
                                   .pong_timeout_ms = config->pipe.pong_timeout_ms},
                   &diag);
    if (r == ADDINS_E_PLACE && sources->with.pipe_can_wait) {
        logsink_write(sources->log, LOGSINK_LEVEL_WARN, "pipe", "going on without add-ins: %s",
                      diag.message);
        return 0;
    }
    if (r > 0 && reterr_diag != NULL) {
        *reterr_diag = diag;
    }
    return r == ADDINS_E_TOOLS   ? SOURCES_E_TOOLS
           : r == ADDINS_E_PLACE ? SOURCES_E_PIPE
                                 : err_pass(r);
}

static int sources_add_templates(Sources *sources, const Config *config, Diag *reterr_diag)
{
    int r = templates_new(&sources->templates,
                          &(TemplatesConfig){.router = hub_router(sources->hub),
                                             .loop = hub_loop(sources->hub),
                                             .log = sources->log,
                                             .folders = (const char *const *)config->templates,
                                             .write_root = config->write_root},
                          reterr_diag);

    return r == TEMPLATES_E_FOLDER   ? SOURCES_E_TEMPLATES
           : r == TEMPLATES_E_EXISTS ? SOURCES_E_TOOLS
                                     : err_pass(r);
}

static int sources_add_analysis(Sources *sources, const Config *config, Diag *reterr_diag)
{
    int r = analysis_tools_new(&sources->analysis,
                               &(AnalysisToolsConfig){.router = hub_router(sources->hub),
                                                      .loop = hub_loop(sources->hub),
                                                      .state = config->state,
                                                      .root = sources->with.root,
                                                      .version = TOOLWIRE_VERSION},
                               reterr_diag);

    if (r == ANALYSIS_TOOLS_E_UNSUPPORTED) {
        logsink_write(sources->log, LOGSINK_LEVEL_INFO, "analysis",
                      "left out: this system cannot keep it beneath a root");
        return 0;
    }
    return r > 0 ? SOURCES_E_TOOLS : err_pass(r);
}

static const McpIdentity sources_identity = {
    .name = SPAN_INIT("toolwire"),
    .version = SPAN_INIT(TOOLWIRE_VERSION),
    .title = SPAN_INIT("toolwire"),
};

/* The file of the settings, however it was spelt. 0, -ENOMEM. */
static int sources_find_settings(char **ret, const Config *config)
{
    CLEANUP(mem_freep) char *absolute = NULL;
    int r = config->path == NULL ? 0 : io_place_absolute(&absolute, config->path);

    if (r == 0 && absolute != NULL) {
        r = io_place_real(ret, absolute);
    }
    return r == -ENOMEM ? err_pass(r) : 0;
}

static int sources_add_servers(Sources *sources, const Config *config, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *own = NULL;
    CLEANUP(mem_freep) char *settings = NULL;

    (void)reterr_diag;
    if (sources_find_settings(&settings, config) != 0) {
        return err_raise(-ENOMEM);
    }
    /* Without a home nothing is kept, and servers are asked each time. */
    if (config->state == NULL && io_keep_folder(&own) == -ENOMEM) {
        return err_raise(-ENOMEM);
    }
    return err_pass(
        upstreams_new(&sources->upstreams,
                      &(UpstreamsConfig){.router = hub_router(sources->hub),
                                         .loop = hub_loop(sources->hub),
                                         .log = sources->log,
                                         .identity = &sources_identity,
                                         .rank = sources_rank(SOURCES_SERVERS),
                                         .specs = config->servers,
                                         .n_specs = config->n_servers,
                                         .state = config->state != NULL ? config->state : own,
                                         .settings = settings,
                                         .dies_with_us = true}));
}

static bool sources_have_toolkit(const Config *config, SourcesWith with)
{
    return with.toolkit || (with.may_toolkit && config_offers_toolkit(config));
}

bool sources_wants(const Sources *sources, const Config *config, SourcesPart part)
{
    switch (part) {
    case SOURCES_EXEC:
        return config->tools != NULL;
    case SOURCES_PARENT:
        return config->call_socket != NULL;
    case SOURCES_PIPE:
        return config->pipe.name != NULL;
    case SOURCES_SERVERS:
        return sources->with.servers && config->n_servers > 0;
    case SOURCES_ANALYSIS:
        return sources->with.analysis || sources_have_toolkit(config, sources->with);
    default:
        return sources_have_toolkit(config, sources->with);
    }
}

unsigned sources_rank(SourcesPart part)
{
    return 2 * (unsigned)part;
}

int sources_add(Sources *sources, const Config *config, SourcesPart part, Diag *reterr_diag)
{
    static int (*const add[SOURCES_N_PARTS])(Sources * sources, const Config *config,
                                             Diag *reterr_diag) = {
        [SOURCES_EXEC] = sources_add_exec,         [SOURCES_TEMPLATES] = sources_add_templates,
        [SOURCES_ANALYSIS] = sources_add_analysis, [SOURCES_PARENT] = sources_add_parent,
        [SOURCES_PIPE] = sources_add_pipe,         [SOURCES_SERVERS] = sources_add_servers,
    };

    int r;

    if (!sources_wants(sources, config, part)) {
        return 0;
    }
    router_set_rank(hub_router(sources->hub), sources_rank(part));
    r = add[part](sources, config, reterr_diag);
    router_set_rank(hub_router(sources->hub), ROUTER_RANK_LAST);
    return r;
}

void sources_drop(Sources *sources, SourcesPart part)
{
    switch (part) {
    case SOURCES_EXEC:
        sources->exec = exec_provider_free(sources->exec);
        break;
    case SOURCES_TEMPLATES:
        sources->templates = templates_free(sources->templates);
        break;
    case SOURCES_ANALYSIS:
        sources->analysis = analysis_tools_free(sources->analysis);
        break;
    case SOURCES_PARENT:
        sources->parent = parent_provider_free(sources->parent);
        break;
    case SOURCES_SERVERS:
        sources->upstreams = upstreams_free(sources->upstreams);
        break;
    default:
        sources->addins = addins_free(sources->addins);
        break;
    }
}

static int sources_add_diagnostics(Sources *sources, const Config *config, Diag *reterr_diag)
{
    int r;

    router_set_rank(hub_router(sources->hub), sources_rank(SOURCES_EXEC) + 1);
    r = diagnostics_new(&sources->diagnostics, hub_router(sources->hub), hub_loop(sources->hub));
    router_set_rank(hub_router(sources->hub), ROUTER_RANK_LAST);
    if (r == -EEXIST) {
        Span name = diagnostics_taken(hub_router(sources->hub));

        return diag_set(reterr_diag, SOURCES_E_TOOLS,
                        "%s has a tool \"%.*s\", which is the name of one of --diagnostics",
                        config->tools, (int)name.n, name.p);
    }
    return err_pass(r);
}

int sources_init(Sources *sources, Hub *hub, const Config *config, SourcesWith with,
                 const LogSink *log, Diag *reterr_diag)
{
    uint8_t random[16];
    int r;

    *sources = (Sources){.hub = hub, .with = with, .log = log};
    r = random_fill(random, sizeof(random));
    if (r != 0) {
        return err_pass(r);
    }
    sources->seed = hash_seed_from(random);
    for (SourcesPart part = 0; r == 0 && part < SOURCES_N_PARTS; part++) {
        r = sources_add(sources, config, part, reterr_diag);
        if (r == 0 && part == SOURCES_EXEC && with.diagnostics) {
            r = sources_add_diagnostics(sources, config, reterr_diag);
        }
    }
    return r;
}

bool sources_bring_tools(const Config *config)
{
    return config->call_socket != NULL || config->pipe.name != NULL || config->n_servers > 0;
}

bool sources_change(const Config *config, SourcesWith with)
{
    return sources_have_toolkit(config, with) || sources_bring_tools(config);
}

bool sources_bring_resources(const Config *config)
{
    return config->pipe.name != NULL || config->n_servers > 0;
}

bool sources_bring_prompts(const Config *config, SourcesWith with)
{
    return sources_have_toolkit(config, with) || config->n_servers > 0;
}

size_t sources_ending(const Sources *sources)
{
    size_t n = sources->exec != NULL ? exec_provider_ending(sources->exec) : 0;

    for (size_t i = 0; i < SOURCES_MAX_RETIRED && sources->retired[i] != NULL; i++) {
        n += exec_provider_ending(sources->retired[i]);
    }
    return n;
}

void sources_end(Sources *sources)
{
    /* They go in order, which takes a moment; what is left is killed with the commands. */
    upstreams_end(sources->upstreams);
    for (SourcesPart part = SOURCES_SERVERS; part > SOURCES_EXEC + 1; part--) {
        sources_drop(sources, part - 1);
    }
    sources->diagnostics = diagnostics_free(sources->diagnostics);
}

void sources_deinit(Sources *sources)
{
    sources_end(sources);
    sources_drop(sources, SOURCES_SERVERS);
    sources_drop(sources, SOURCES_EXEC);
    for (size_t i = 0; i < SOURCES_MAX_RETIRED; i++) {
        sources->retired[i] = exec_provider_free(sources->retired[i]);
    }
}
