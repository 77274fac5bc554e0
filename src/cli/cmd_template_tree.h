/* cli/cmd_template_tree.h: paths as a tree of folders, for people. Thread: any. */
#pragma once

#include "base/span.h"

#include <stddef.h>
#include <stdio.h>

typedef struct TemplateTreeLine {
    Span path;        /* '/' between names */
    const char *note; /* behind the name */
} TemplateTreeLine;

/* Sorts the lines, and prints them below the name of their folder. */
void template_tree_print(FILE *out, Span folder, TemplateTreeLine *lines, size_t n);
