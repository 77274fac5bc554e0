/* cli/cmd_template_place.h: where the files of a project go.
 *
 * What is there already is the root, which files never leave (io/tree.h); folders that are not
 * there yet become part of the files' paths, and are made with them. Thread: any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"

typedef struct TemplatePlace {
    const char *root;
    Span prefix; /* of paths, with '/' between names; empty if the whole folder is there */
    Span folder; /* for words */
} TemplatePlace;

/* A folder as a person named it; links on the way are followed. The result lies in the arena. 0,
 * -ENOMEM. */
int template_place_split(Arena *arena, const char *folder, TemplatePlace *ret);

/* A folder of that name in the working folder; no link is followed. 0, -ENOMEM. */
int template_place_inside(Arena *arena, Span name, TemplatePlace *ret);

/* The path of a file from the root, in the arena; NULL if there is no memory. */
const char *template_place_path(Arena *arena, const TemplatePlace *place, Span path);
