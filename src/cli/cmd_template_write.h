/* cli/cmd_template_write.h: the files of a project, put into a folder, or only compared with what
 * is there. Thread: main. */
#pragma once

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/cmd_template_place.h"
#include "toolkit/templates/project.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct TemplateWrite {
    const CliArgs *args;
    Span toolchain;
    TemplatePlace place;
    const TemplateFile *files;
    size_t n;
    const TemplateSkip *skipped; /* what the project goes without */
    size_t n_skipped;
    bool dry_run;
    bool overwrite;
    Arena *arena; /* for paths and notes */
} TemplateWrite;

/* Looks at all of them first: if one cannot be written, or is there with other content and is not
 * to be replaced, nothing is written. Files with the same content are left alone. Prints the tree,
 * or JSON. Returns an exit status, the reason said. */
int template_write_run(const TemplateWrite *write);
