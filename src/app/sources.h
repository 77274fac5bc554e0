/* app/sources.h: the providers that a configuration names, put into a hub's router: the commands of
 * a tools file, a parent's tools, those of the add-ins at a pipe, the toolkit (templates and the
 * code analyser), and the diagnostic ones. Thread: loop.
 */
#pragma once

#include "app/config.h"
#include "app/hub.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/logsink.h"
#include "providers/addins.h"
#include "providers/analysis_tools.h"
#include "providers/diagnostics.h"
#include "providers/exec.h"
#include "providers/parent.h"
#include "providers/templates.h"
#include "providers/upstream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SOURCES_E_TOOLS = 1, /* the tools file cannot be used; the Diag says why */
    SOURCES_E_PARENT,    /* the parent's schema file cannot */
    SOURCES_E_PIPE,      /* the pipe cannot be there, or another live process has it */
    SOURCES_E_TEMPLATES, /* a folder of templates, or write_root, cannot be used */
};

/* Tools files that were replaced while their commands ran. More than a person changes within the
 * time of a call; of further ones the oldest ends. */
#define SOURCES_MAX_RETIRED 8

/* What a file held when it was read. */
typedef struct SourcesFile {
    uint64_t hash;
    size_t n;
} SourcesFile;

/* What a configuration does not say. */
typedef struct SourcesWith {
    bool diagnostics;   /* echo, sleep and fail, too */
    bool toolkit;       /* the templates and the code analyser, in any case */
    bool may_toolkit;   /* and if the configuration offers them (config_offers_toolkit) */
    bool analysis;      /* the code analyser, without the templates */
    const char *root;   /* what the code analyser reads lies beneath it; NULL: anywhere; borrowed */
    bool yields;        /* a command whose name is taken is left out, with a warning */
    bool pipe_can_wait; /* a pipe that another process has is a warning */
    bool reload;        /* sources_reload may follow: what is in tools files is remembered */
    bool servers;       /* the MCP servers of the configuration, too */
} SourcesWith;

typedef struct Sources {
    Hub *hub;
    SourcesWith with;
    const LogSink *log;
    HashSeed seed; /* of SourcesFile */
    SourcesFile tools_file;
    SourcesFile pipe_file;
    ExecProvider *retired[SOURCES_MAX_RETIRED]; /* oldest first, NULL behind the last */
    ExecProvider *exec;
    ParentProvider *parent;
    Addins *addins;
    Diagnostics *diagnostics;
    Templates *templates;
    AnalysisTools *analysis;
    Upstreams *upstreams;
} Sources;

#define SOURCES_NULL ((Sources){.exec = NULL})

/* Borrows hub and log (may be NULL) until deinit. 0, a negative errno, SOURCES_E_*; in any case
 * deinit follows. */
int sources_init(Sources *sources, Hub *hub, const Config *config, SourcesWith with,
                 const LogSink *log, Diag *reterr_diag);

/* Goes over from one configuration to another: what both say the same, and files that hold the same
 * as when they were read, are left alone with their connections and calls; the commands of a tools
 * file that is replaced run to their end. On failure everything is as before (what cannot be
 * restored is told to the log). 0, -ENOMEM, another negative errno, SOURCES_E_*. */
int sources_reload(Sources *sources, const Config *from, const Config *to, Diag *reterr_diag);

/* What a configuration names may bring tools, and resources, that come and go; so doors announce
 * them while there are none. */
bool sources_bring_tools(const Config *config);
bool sources_bring_resources(const Config *config);
bool sources_bring_prompts(const Config *config, SourcesWith with);

/* Lists may change at all. */
bool sources_change(const Config *config, SourcesWith with);

/* Commands of tools files that still run although their call is over. */
size_t sources_ending(const Sources *sources);

/* Lets go of everything but the commands, which may still be ending: nothing else keeps the loop
 * running then. */
void sources_end(Sources *sources);

/* After the doors, before the hub. May run twice. */
void sources_deinit(Sources *sources);
