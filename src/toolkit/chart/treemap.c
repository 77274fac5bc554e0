#include "toolkit/chart/treemap.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"

/* ---- one rectangle ---- */

/* How far from a square the worst of a row is that is laid along a side: its weights come to sum,
 * from `least` to `most`, and `scale` is area for each weight. */
static double row_worst(double sum, double least, double most, double side, double scale)
{
    double thickness = sum * scale / side;
    double longest = most * scale / thickness;
    double shortest = least * scale / thickness;
    double a = longest > thickness ? longest / thickness : thickness / longest;
    double b = shortest > thickness ? shortest / thickness : thickness / shortest;

    return a > b ? a : b;
}

/* How many weights make the first row of what is left; *ret_sum is what they come to. */
static size_t row_choose(const double *weights, size_t n, double side, double scale,
                         double *ret_sum)
{
    double sum = weights[0];
    double worst = row_worst(sum, weights[0], weights[0], side, scale);
    size_t taken = 1;

    while (taken < n) {
        double next = row_worst(sum + weights[taken], weights[taken], weights[0], side, scale);

        if (next > worst) {
            break;
        }
        worst = next;
        sum += weights[taken++];
    }
    *ret_sum = sum;
    return taken;
}

/* Lays a row along the shorter side of *left, and takes its place away from it. The last one of a
 * row ends where the row ends, so that rounding leaves neither gaps nor overlaps. */
static void row_place(const double *weights, size_t n, double sum, double thickness,
                      ChartRect *left, ChartRect *ret)
{
    bool is_column = left->w >= left->h;
    double start = is_column ? left->y : left->x;
    double end = start + (is_column ? left->h : left->w);
    double side = end - start;
    double before = 0;

    for (size_t i = 0; i < n; i++) {
        double from = start + side * (before / sum);
        double to;

        before += weights[i];
        to = i + 1 == n ? end : start + side * (before / sum);
        ret[i] = is_column ? (ChartRect){left->x, from, thickness, to - from}
                           : (ChartRect){from, left->y, to - from, thickness};
    }
    if (is_column) {
        left->x += thickness;
        left->w -= thickness;
    } else {
        left->y += thickness;
        left->h -= thickness;
    }
}

void chart_squarify(const double *weights, size_t n, ChartRect area, ChartRect *ret)
{
    ChartRect left = area;
    double rest = 0;

    for (size_t i = 0; i < n; i++) {
        rest += weights[i];
    }
    for (size_t at = 0; at < n;) {
        double shorter = left.w < left.h ? left.w : left.h;
        double longer = left.w < left.h ? left.h : left.w;
        double sum = 0;
        size_t taken = n - at;

        if (shorter > 0) {
            taken = row_choose(weights + at, n - at, shorter, shorter * longer / rest, &sum);
        } else {
            sum = rest; /* no room that could be divided */
        }
        row_place(weights + at, taken, sum, at + taken == n ? longer : longer * (sum / rest), &left,
                  ret + at);
        rest -= sum;
        at += taken;
    }
}

/* ---- folders ---- */

Span chart_path_name(Span path)
{
    size_t at = path.n;

    while (at > 0 && path.p[at - 1] != '/') {
        at--;
    }
    return span_make(path.p + at, path.n - at);
}

static int leaf_compare(const void *a, const void *b)
{
    const ChartLeaf *const *left = a;
    const ChartLeaf *const *right = b;
    int c = span_compare((*left)->path, (*right)->path);

    if (c != 0) {
        return c;
    }
    return *left < *right ? -1 : *left > *right;
}

static int node_compare(const void *a, const void *b)
{
    const ChartNode *const *left = a;
    const ChartNode *const *right = b;

    if ((*left)->weight != (*right)->weight) {
        return (*left)->weight > (*right)->weight ? -1 : 1;
    }
    return *left < *right ? -1 : *left > *right;
}

/* Is the path beneath that folder? */
static bool node_holds(const ChartNode *folder, Span path)
{
    return folder->path.n == 0 || (path.n > folder->path.n && path.p[folder->path.n] == '/' &&
                                   span_starts_with(path, folder->path));
}

static size_t tree_add(ChartTree *tree, size_t parent, Span path, size_t item)
{
    ChartNode *node = &tree->nodes[tree->n];

    *node = (ChartNode){.path = path,
                        .parent = parent,
                        .item = item,
                        .first_child = SIZE_MAX,
                        .next_sibling = SIZE_MAX};
    if (parent != SIZE_MAX) {
        node->next_sibling = tree->nodes[parent].first_child;
        tree->nodes[parent].first_child = tree->n;
        tree->nodes[parent].n_children++;
    }
    return tree->n++;
}

static size_t count_slashes(Span path)
{
    size_t n = 0;

    for (size_t i = 0; i < path.n; i++) {
        n += path.p[i] == '/';
    }
    return n;
}

/* The file, and the folders on its way that are not there yet. `folder` is where the file before
 * it lies; returns where this one does. */
static size_t tree_add_leaf(ChartTree *tree, size_t folder, const ChartLeaf *leaf, size_t item)
{
    size_t at;
    size_t added;

    while (!node_holds(&tree->nodes[folder], leaf->path)) {
        folder = tree->nodes[folder].parent;
    }
    at = tree->nodes[folder].path.n;
    at += at > 0 ? 1 : 0;
    for (size_t i = at; i < leaf->path.n; i++) {
        /* What begins with a slash has no folder without a name. */
        if (leaf->path.p[i] == '/' && i > 0) {
            folder = tree_add(tree, folder, span_make(leaf->path.p, i), SIZE_MAX);
        }
    }
    added = tree_add(tree, folder, leaf->path, item);
    tree->nodes[added].weight = leaf->weight;
    return folder;
}

/* Divides the folder's rectangle among what is in it. */
static void tree_place_children(ChartTree *tree, const ChartNode *folder, ChartNode **children,
                                double *weights, ChartRect *rects)
{
    size_t n = 0;

    for (size_t i = folder->first_child; i != SIZE_MAX; i = tree->nodes[i].next_sibling) {
        children[n++] = &tree->nodes[i];
    }
    qsort(children, n, sizeof(ChartNode *), node_compare);
    for (size_t i = 0; i < n; i++) {
        weights[i] = children[i]->weight;
    }
    chart_squarify(weights, n, folder->rect, rects);
    for (size_t i = 0; i < n; i++) {
        children[i]->rect = rects[i];
    }
}

/* Parents come before their children: no recursion is needed, neither up nor down. */
static int tree_place(ChartTree *tree, Arena *arena, ChartRect area)
{
    ChartNode **children = arena_alloc_array(arena, tree->n, sizeof(ChartNode *));
    double *weights = arena_alloc_array(arena, tree->n, sizeof(*weights));
    ChartRect *rects = arena_alloc_array(arena, tree->n, sizeof(*rects));

    if (children == NULL || weights == NULL || rects == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = tree->n; i-- > 1;) {
        tree->nodes[tree->nodes[i].parent].weight += tree->nodes[i].weight;
    }
    tree->nodes[0].rect = area;
    for (size_t i = 0; i < tree->n; i++) {
        if (tree->nodes[i].n_children > 0) {
            tree_place_children(tree, &tree->nodes[i], children, weights, rects);
        }
    }
    return 0;
}

int chart_tree_make(ChartTree *ret, Arena *arena, const ChartLeaf *leaves, size_t n, ChartRect area)
{
    const ChartLeaf **sorted = arena_alloc_array(arena, n + 1, sizeof(ChartLeaf *));
    ChartTree tree = {.n = 0};
    size_t n_nodes = 1;
    size_t n_sorted = 0;
    size_t folder;
    int r;

    if (sorted == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        if (leaves[i].weight > 0) {
            sorted[n_sorted++] = &leaves[i];
            n_nodes += 1 + count_slashes(leaves[i].path);
        }
    }
    qsort(sorted, n_sorted, sizeof(ChartLeaf *), leaf_compare);
    tree.nodes = arena_alloc_array(arena, n_nodes, sizeof(*tree.nodes));
    if (tree.nodes == NULL) {
        return err_raise(-ENOMEM);
    }
    folder = tree_add(&tree, SIZE_MAX, SPAN(""), SIZE_MAX);
    for (size_t i = 0; i < n_sorted; i++) {
        folder = tree_add_leaf(&tree, folder, sorted[i], (size_t)(sorted[i] - leaves));
    }
    r = tree_place(&tree, arena, area);
    if (r != 0) {
        return r;
    }
    *ret = tree;
    return 0;
}
