/* io/tree_lines.h: how many lines of a text would come and go. Of io/tree alone. Thread: any. */
#pragma once

#include "base/span.h"
#include "io/tree.h"

#include <stdbool.h>

/* Fills *ret for a file that is there. Beyond TREE_LINES_DISTANCE changes the lines between the
 * first and the last one count as all other. 0, -ENOMEM. */
#define TREE_LINES_DISTANCE 3000
int tree_compare(Span before, Span after, IoTreeLook *ret);

/* Is it a path beneath a folder? If not, why, for IO_TREE_E_PLACE. */
bool tree_path_is_safe(const char *path, const char **ret_why);
