/* providers/templates_scaffold.h: what the files of scaffold_project share. Private. */
#pragma once

#include "io/tree.h"
#include "providers/templates_impl.h"

#include <stdbool.h>
#include <stddef.h>

/* What became of a file, if it is to be written. */
typedef struct ScaffoldFile {
    char *path; /* in write_root */
    IoTreeLook look;
    bool is_refused; /* nothing can be there: look says nothing */
    bool is_written;
    Span error;   /* why not; empty if nothing is wrong */
    size_t start; /* of its content as JSON, in structured */
    size_t n;
} ScaffoldFile;

typedef struct Scaffold {
    Templates *templates;
    Span toolchain;
    Span write_to; /* p NULL: nothing is to be written */
    bool overwrite;
    bool dry_run;
    ScaffoldFile *files; /* as the project's */
    size_t n_errors;     /* of files; templates that failed are the project's */
    size_t n_written;
} Scaffold;

/* The structured content, then the text blocks of the answer. 0, -ENOMEM, BYTES_E_FULL. */
int templates_scaffold_write(const Scaffold *run);
int templates_scaffold_say(const Scaffold *run);
