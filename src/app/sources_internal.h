/* app/sources_internal.h: what sources.c and sources_reload.c share. Thread: loop. */
#pragma once

#include "app/sources.h"

/* What can be taken out and put in alone; in the order in which they are added. */
typedef enum SourcesPart {
    SOURCES_EXEC,
    SOURCES_TEMPLATES,
    SOURCES_ANALYSIS,
    /* Where a name is taken, the words are about the parent's file, and not the commands'. */
    SOURCES_PARENT,
    /* And here about the pipe's; what an add-in brings gives way to all others. */
    SOURCES_PIPE,
    /* Last: their names give way to all others, and may change. */
    SOURCES_SERVERS,
    SOURCES_N_PARTS
} SourcesPart;

/* Does the configuration name it, or is it wanted in any case? */
bool sources_wants(const Sources *sources, const Config *config, SourcesPart part);

/* Its place in the lists (router_set_rank); those between two are for what is no part. */
unsigned sources_rank(SourcesPart part);

/* Adds it, if it is wanted. Results as sources_init. */
int sources_add(Sources *sources, const Config *config, SourcesPart part, Diag *reterr_diag);

/* Lets go of it, and of its calls. */
void sources_drop(Sources *sources, SourcesPart part);

/* Could all that the configuration names be had? pipe_is_ours: the sources have the pipe of its
 * name. Results as sources_init; nothing has changed in any case. */
int sources_try(const Sources *sources, const Config *config, bool pipe_is_ours, Diag *reterr_diag);

/* What the file holds now; of one that cannot be read, or with path NULL, nothing. */
SourcesFile sources_look(const Sources *sources, const char *path);
