/* toolkit/chart/treemap.h: rectangles in rectangles, each as large as what it stands for.
 *
 * A folder's rectangle is filled by those of what is in it, nothing is left between them: so areas
 * can be compared across the whole map. Rows are chosen to be as square as they can be (the
 * "squarified" layout). The same input gives the same map. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ChartRect {
    double x;
    double y;
    double w;
    double h;
} ChartRect;

/* Fills area with n rectangles; weights: above 0, falling. */
void chart_squarify(const double *weights, size_t n, ChartRect area, ChartRect *ret);

/* A file or a folder. */
typedef struct ChartNode {
    Span path;     /* of a folder without the slash at its end; "" for the root */
    size_t parent; /* SIZE_MAX: it is the root */
    size_t item;   /* the file's place in what was given; SIZE_MAX: it is a folder */
    size_t n_children;
    size_t first_child; /* and of that the next; SIZE_MAX: no more */
    size_t next_sibling;
    double weight;
    ChartRect rect;
} ChartNode;

typedef struct ChartTree {
    ChartNode *nodes; /* the root first, each behind its folder, else by path */
    size_t n;
} ChartTree;

typedef struct ChartLeaf {
    Span path;
    double weight; /* what is not above 0 is left out */
} ChartLeaf;

/* Lies in arena; paths stay borrowed. 0, -ENOMEM. */
int chart_tree_make(ChartTree *ret, Arena *arena, const ChartLeaf *leaves, size_t n,
                    ChartRect area);

/* The last name of a path. */
Span chart_path_name(Span path);
