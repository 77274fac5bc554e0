#include "regions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One side of a piece of wall: from a node to another. Its other side is its neighbour in the
 * array: index ^ 1. */
typedef struct Edge {
    size_t from, to;
    bool is_walked;
} Edge;

typedef struct Graph {
    Point *nodes;
    Edge *edges;
    size_t *first; /* by_from[first[node]…first[node + 1]) are the edges that leave the node */
    size_t *by_from;
    size_t n_nodes, n_edges;
    size_t edges_size;
    size_t n_cuts;
    bool is_too_many;
} Graph;

/* A place on a wall where it meets another, or ends. */
typedef struct Cut {
    double at;
    size_t node;
} Cut;

static void graph_free(Graph *graph)
{
    free(graph->nodes);
    free(graph->edges);
    free(graph->first);
    free(graph->by_from);
}

/* Every meeting of two walls comes here. */
static size_t graph_node(Graph *graph, Point p)
{
    if (++graph->n_cuts > REGIONS_MAX_CUTS) {
        graph->is_too_many = true;
        return 0;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (fabs(graph->nodes[i].x - p.x) < SAME_POINT_FT &&
            fabs(graph->nodes[i].y - p.y) < SAME_POINT_FT) {
            return i;
        }
    }
    if (graph->n_nodes == REGIONS_MAX_NODES) {
        graph->is_too_many = true;
        return 0;
    }
    graph->nodes[graph->n_nodes] = p;
    return graph->n_nodes++;
}

static int graph_edge(Graph *graph, size_t from, size_t to)
{
    if (from == to) {
        return 0;
    }
    if (graph->n_edges + 2 > graph->edges_size) {
        size_t size = graph->edges_size == 0 ? 64 : 2 * graph->edges_size;
        Edge *edges = realloc(graph->edges, size * sizeof(*edges));

        if (edges == NULL) {
            return -1;
        }
        graph->edges = edges;
        graph->edges_size = size;
    }
    graph->edges[graph->n_edges++] = (Edge){from, to, false};
    graph->edges[graph->n_edges++] = (Edge){to, from, false};
    return 0;
}

static int cut_compare(const void *a, const void *b)
{
    const Cut *left = a;
    const Cut *right = b;

    if (left->at != right->at) {
        return left->at < right->at ? -1 : 1;
    }
    return left->node < right->node ? -1 : left->node > right->node;
}

/* Where the wall and the other one meet: where they cross, and beside the other's ends, as far as
 * those reach into this wall; an end that stops short of the centre line is led there. */
static int wall_cuts(Graph *graph, const RegionWall *wall, const RegionWall *other, Cut *cuts,
                     size_t *n_cuts)
{
    const Point ends[] = {other->start, other->end};
    double reach = wall->thickness / 2 + SAME_POINT_FT;
    Point along = point_sub(wall->end, wall->start);
    double at;
    int r = 0;

    if (segments_cross(wall->start, wall->end, other->start, other->end, &at)) {
        cuts[(*n_cuts)++] = (Cut){at, graph_node(graph, point_add(wall->start, along, at))};
    }
    for (int i = 0; r == 0 && i < 2; i++) {
        if (segment_distance(wall->start, wall->end, ends[i], &at) <= reach) {
            size_t node = graph_node(graph, point_add(wall->start, along, at));

            cuts[(*n_cuts)++] = (Cut){at, node};
            r = graph_edge(graph, graph_node(graph, ends[i]), node);
        }
    }
    return r;
}

/* Most pairs of walls are far from each other, which is quickly seen. */
static bool walls_are_apart(const RegionWall *a, const RegionWall *b)
{
    double reach = a->thickness / 2 + SAME_POINT_FT;

    return fmax(a->start.x, a->end.x) + reach < fmin(b->start.x, b->end.x) ||
           fmax(b->start.x, b->end.x) + reach < fmin(a->start.x, a->end.x) ||
           fmax(a->start.y, a->end.y) + reach < fmin(b->start.y, b->end.y) ||
           fmax(b->start.y, b->end.y) + reach < fmin(a->start.y, a->end.y);
}

/* Walls that lie on each other give the same edge twice; then only the first of the two belongs to
 * a walk, and the other one leads nowhere. */
static int graph_wall(Graph *graph, const RegionWall *walls, size_t n_walls, size_t i, Cut *cuts)
{
    size_t n = 0;
    int r = 0;

    cuts[n++] = (Cut){0, graph_node(graph, walls[i].start)};
    cuts[n++] = (Cut){1, graph_node(graph, walls[i].end)};
    for (size_t j = 0; r == 0 && j < n_walls && !graph->is_too_many; j++) {
        if (j != i && !walls_are_apart(&walls[i], &walls[j])) {
            r = wall_cuts(graph, &walls[i], &walls[j], cuts, &n);
        }
    }
    qsort(cuts, n, sizeof(*cuts), cut_compare);
    for (size_t k = 1; r == 0 && k < n; k++) {
        r = graph_edge(graph, cuts[k - 1].node, cuts[k].node);
    }
    return r;
}

static int graph_build(Graph *graph, const RegionWall *walls, size_t n_walls)
{
    Cut *cuts = calloc(3 * n_walls + 2, sizeof(*cuts));
    int r = 0;

    graph->nodes = calloc(REGIONS_MAX_NODES, sizeof(*graph->nodes));
    if (graph->nodes == NULL || cuts == NULL) {
        r = -1;
    }
    for (size_t i = 0; r == 0 && i < n_walls && !graph->is_too_many; i++) {
        r = graph_wall(graph, walls, n_walls, i, cuts);
    }
    free(cuts);
    return r;
}

/* Lists edges by the node that they leave. */
static int graph_sort(Graph *graph)
{
    graph->first = calloc(graph->n_nodes + 2, sizeof(*graph->first));
    graph->by_from = calloc(graph->n_edges + 1, sizeof(*graph->by_from));
    if (graph->first == NULL || graph->by_from == NULL) {
        return -1;
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        graph->first[graph->edges[i].from + 2]++;
    }
    for (size_t i = 2; i < graph->n_nodes + 2; i++) {
        graph->first[i] += graph->first[i - 1];
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        graph->by_from[graph->first[graph->edges[i].from + 1]++] = i;
    }
    return 0;
}

/* The edge to take at the end of this one: seen from the way back, the first one clockwise, so that
 * the region stays on the left; back, if there is no other. */
static size_t graph_next(const Graph *graph, size_t edge)
{
    size_t node = graph->edges[edge].to;
    Point back = point_sub(graph->nodes[graph->edges[edge].from], graph->nodes[node]);
    size_t best = edge ^ 1;
    double best_turn = 2 * 3.14159265358979323846;

    for (size_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
        size_t candidate = graph->by_from[i];
        Point way = point_sub(graph->nodes[graph->edges[candidate].to], graph->nodes[node]);
        /* The angle from back to way, clockwise. */
        double turn = -atan2(point_cross(back, way), point_dot(back, way));

        if (candidate == (edge ^ 1)) {
            continue;
        }
        if (turn <= 0) {
            turn += 2 * 3.14159265358979323846;
        }
        if (turn < best_turn) {
            best_turn = turn;
            best = candidate;
        }
    }
    return best;
}

static int regions_add(Regions *regions, const Point *points, size_t n)
{
    Region *grown = realloc(regions->regions, (regions->n_regions + 1) * sizeof(*grown));
    Region *region;

    if (grown == NULL) {
        return -1;
    }
    regions->regions = grown;
    region = &grown[regions->n_regions];
    *region = (Region){.n_points = n, .area = polygon_area(points, n)};
    region->points = malloc(n * sizeof(*region->points));
    if (region->points == NULL) {
        return -1;
    }
    memcpy(region->points, points, n * sizeof(*points));
    regions->n_regions++;
    return 0;
}

static int regions_walk(Regions *regions, Graph *graph, Point *points)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < graph->n_edges; i++) {
        size_t n = 0;

        for (size_t edge = i; !graph->edges[edge].is_walked; edge = graph_next(graph, edge)) {
            graph->edges[edge].is_walked = true;
            points[n++] = graph->nodes[graph->edges[edge].from];
        }
        /* The walk around everything turns right. */
        if (n >= 3 && polygon_area(points, n) > SAME_POINT_FT) {
            r = regions_add(regions, points, n);
        }
    }
    return r;
}

int regions_find(Regions *ret, const RegionWall *walls, size_t n_walls)
{
    Graph graph = {.nodes = NULL};
    Point *points = NULL;
    int r = graph_build(&graph, walls, n_walls);

    if (r == 0 && graph.is_too_many) {
        ret->is_too_many = true;
    } else if (r == 0) {
        r = graph_sort(&graph);
        points = calloc(graph.n_edges + 1, sizeof(*points));
        if (r == 0) {
            r = points != NULL ? regions_walk(ret, &graph, points) : -1;
        }
    }
    free(points);
    graph_free(&graph);
    return r;
}

void regions_free(Regions *regions)
{
    for (size_t i = 0; i < regions->n_regions; i++) {
        free(regions->regions[i].points);
    }
    free(regions->regions);
    *regions = (Regions){.regions = NULL};
}

const Region *regions_at(const Regions *regions, Point p)
{
    const Region *best = NULL;

    for (size_t i = 0; i < regions->n_regions; i++) {
        const Region *region = &regions->regions[i];

        if ((best == NULL || region->area < best->area) &&
            polygon_contains(region->points, region->n_points, p)) {
            best = region;
        }
    }
    return best;
}
