#include "render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outline.h"
#include "svg.h"

/* Pixels around the plan: title above, scale below, dimensions beside. */
#define MARGIN_TOP    96.0
#define MARGIN_BOTTOM 112.0
#define MARGIN_SIDE   76.0

/* A picture of one small wall is not blown up beyond this, and a tall plan not longer than that. */
#define MAX_PIXELS_PER_FT 40.0
#define MAX_HEIGHT        1.2 /* of the width */

#define COLOUR_PAPER  "#fcfbf8"
#define COLOUR_GRID   "#ece8df"
#define COLOUR_INK    "#23272e"
#define COLOUR_FAINT  "#7b8494"
#define COLOUR_THICK  "#49515e" /* walls that carry */
#define COLOUR_THIN   "#9aa3b0" /* partitions */
#define COLOUR_CHOSEN "#e8590c"
#define COLOUR_TINT   "#ffd8b5"

/* From this thickness on a wall looks like one that carries. */
#define THICK_FT 0.4

static const char *const room_colours[] = {"#e7f0fa", "#eaf5e6", "#fdf3dc",
                                           "#f6e9f3", "#e4f4f2", "#f4ede4"};

typedef struct Drawing {
    Svg svg;
    const Floor *floor;
    Outlines outlines;
    Point low, high;             /* what is drawn, in feet */
    Point walls_low, walls_high; /* the walls of it */
    double scale;                /* pixels per foot */
    double width, height;
    Point origin; /* where low.x and high.y come, in pixels */
} Drawing;

/* ---- From feet to pixels ---------------------------------------------------------------- */

static Point to_pixels(const Drawing *d, Point p)
{
    return (Point){d->origin.x + (p.x - d->low.x) * d->scale,
                   d->origin.y + (d->high.y - p.y) * d->scale};
}

static void extend(Drawing *d, Point p)
{
    d->low = (Point){fmin(d->low.x, p.x), fmin(d->low.y, p.y)};
    d->high = (Point){fmax(d->high.x, p.x), fmax(d->high.y, p.y)};
}

/* A door: the leaf, open at a right angle, the side of the wall that it opens to, and where it
 * shuts. */
typedef struct Leaf {
    Point hinge, tip, strike;
    Point away;
} Leaf;

static Leaf leaf_of(const Floor *floor, const FloorDoor *door)
{
    const FloorWall *wall = &floor->walls[door->wall];
    Point along = point_direction(wall->start, wall->end);
    Point away = point_add((Point){0, 0}, point_left(along), door->to_right ? -1 : 1);
    Point middle =
        point_add(point_add(wall->start, along, door->distance), away, wall->thickness / 2);
    double to_hinge = door->width / 2 * (door->hinge_at_end ? 1 : -1);
    Point hinge = point_add(middle, along, to_hinge);

    return (Leaf){hinge, point_add(hinge, away, door->width), point_add(middle, along, -to_hinge),
                  away};
}

/* An empty floor shows 40 by 24 ft of grid. */
static void measure(Drawing *d, int width)
{
    double across;
    double up;

    d->low = (Point){MAX_EXTENT_FT * 2, MAX_EXTENT_FT * 2};
    d->high = (Point){-MAX_EXTENT_FT * 2, -MAX_EXTENT_FT * 2};
    for (size_t i = 0; i < d->outlines.n; i++) {
        for (size_t j = 0; j < d->outlines.outlines[i].n_points; j++) {
            extend(d, d->outlines.outlines[i].points[j]);
        }
    }
    d->walls_low = d->low;
    d->walls_high = d->high;
    for (size_t i = 0; i < d->floor->n_doors; i++) {
        extend(d, leaf_of(d->floor, &d->floor->doors[i]).tip);
    }
    for (size_t i = 0; i < d->floor->n_rooms; i++) {
        extend(d, d->floor->rooms[i].at);
        for (size_t j = 0; j < d->floor->rooms[i].n_points; j++) {
            extend(d, d->floor->rooms[i].points[j]);
        }
    }
    if (d->low.x > d->high.x) {
        d->low = (Point){0, 0};
        d->high = (Point){40, 24};
    }
    across = fmax(d->high.x - d->low.x, 1);
    up = fmax(d->high.y - d->low.y, 1);
    d->width = width;
    d->scale = fmin((width - 2 * MARGIN_SIDE) / across, MAX_HEIGHT * width / up);
    d->scale = fmin(d->scale, MAX_PIXELS_PER_FT);
    d->height = ceil(up * d->scale + MARGIN_TOP + MARGIN_BOTTOM);
    d->origin = (Point){(width - (d->high.x - d->low.x) * d->scale) / 2, MARGIN_TOP};
}

/* ---- Parts ------------------------------------------------------------------------------ */

static void draw_polygon(Drawing *d, const Point *points, size_t n)
{
    svg_add(&d->svg, "<polygon points=\"");
    for (size_t i = 0; i < n; i++) {
        svg_add(&d->svg, i == 0 ? "" : " ");
        svg_point(&d->svg, to_pixels(d, points[i]));
    }
    svg_add(&d->svg, "\"/>\n");
}

static void draw_line(Drawing *d, Point from, Point to)
{
    svg_add(&d->svg, "<line");
    svg_attribute(&d->svg, "x1", from.x);
    svg_attribute(&d->svg, "y1", from.y);
    svg_attribute(&d->svg, "x2", to.x);
    svg_attribute(&d->svg, "y2", to.y);
    svg_add(&d->svg, "/>\n");
}

static void begin_text(Drawing *d, Point at, double size, const char *more)
{
    svg_add(&d->svg, "<text");
    svg_attribute(&d->svg, "x", at.x);
    svg_attribute(&d->svg, "y", at.y);
    svg_attribute(&d->svg, "font-size", size);
    svg_add(&d->svg, "%s>", more);
}

/* Lines through every 5 ft; of a large plan through every 50, 500…. */
static void draw_grid(Drawing *d)
{
    double step = 5;
    double top = MARGIN_TOP - 28;
    double bottom = d->height - MARGIN_BOTTOM + 28;

    while (step * d->scale < 12) {
        step *= 10;
    }
    svg_add(&d->svg, "<g stroke=\"" COLOUR_GRID "\">\n");
    for (double x = ceil((d->low.x - d->origin.x / d->scale) / step) * step;; x += step) {
        double at = to_pixels(d, (Point){x, 0}).x;

        if (at > d->width) {
            break;
        }
        draw_line(d, (Point){at, top}, (Point){at, bottom});
    }
    for (double y = floor((d->high.y + 28 / d->scale) / step) * step;; y -= step) {
        double at = to_pixels(d, (Point){0, y}).y;

        if (at > bottom) {
            break;
        }
        draw_line(d, (Point){0, at}, (Point){d->width, at});
    }
    svg_add(&d->svg, "</g>\n");
}

static void draw_rooms(Drawing *d)
{
    const size_t n_colours = sizeof(room_colours) / sizeof(room_colours[0]);

    for (size_t i = 0; i < d->floor->n_rooms; i++) {
        const FloorRoom *room = &d->floor->rooms[i];

        if (room->points == NULL) {
            continue;
        }
        svg_add(&d->svg, "<g class=\"room\" data-id=\"%lld\" fill=\"%s\"%s>\n", (long long)room->id,
                room->is_selected ? COLOUR_TINT : room_colours[i % n_colours],
                room->is_selected ? " stroke=\"" COLOUR_CHOSEN
                                    "\" stroke-width=\"3\" stroke-dasharray=\"8 5\""
                                  : "");
        draw_polygon(d, room->points, room->n_points);
        svg_add(&d->svg, "</g>\n");
    }
}

/* A hair of the same colour hides the seam of a mitre. */
static void draw_filling(Drawing *d, const Outline *outline, const char *colour)
{
    svg_add(&d->svg, "<g class=\"wall\" data-id=\"%lld\" fill=\"%s\" stroke=\"%s\">",
            (long long)outline->wall->id, colour, colour);
    draw_polygon(d, outline->points, outline->n_points);
    svg_add(&d->svg, "</g>\n");
}

/* All outlines first, then all fillings: where walls touch, the fillings cover the lines between
 * them, and they become one. Thick walls come after thin ones, which end in them; the chosen ones
 * come last. */
static void draw_walls(Drawing *d, bool chosen)
{
    const Outline *outlines = d->outlines.outlines;
    bool is_any = false;

    for (size_t i = 0; i < d->outlines.n; i++) {
        is_any |= outlines[i].wall->is_selected == chosen;
    }
    if (!is_any) {
        return;
    }
    svg_add(&d->svg,
            "<g fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" stroke-linejoin=\"round\">\n",
            chosen ? COLOUR_CHOSEN : COLOUR_INK, chosen ? 5 : 3);
    for (size_t i = 0; i < d->outlines.n; i++) {
        if (outlines[i].wall->is_selected == chosen) {
            draw_polygon(d, outlines[i].points, outlines[i].n_points);
        }
    }
    svg_add(&d->svg, "</g>\n<g stroke-width=\"0.6\" stroke-linejoin=\"round\">\n");
    for (int thick = 0; thick < 2; thick++) {
        for (size_t i = 0; i < d->outlines.n; i++) {
            if (outlines[i].wall->is_selected == chosen &&
                (outlines[i].wall->thickness >= THICK_FT) == (thick == 1)) {
                draw_filling(d, &outlines[i],
                             chosen       ? COLOUR_TINT
                             : thick == 1 ? COLOUR_THICK
                                          : COLOUR_THIN);
            }
        }
    }
    svg_add(&d->svg, "</g>\n");
}

/* The leaf, the way that it swings, and the threshold. */
static void draw_door(Drawing *d, const FloorDoor *door)
{
    double thickness = d->floor->walls[door->wall].thickness;
    Leaf leaf = leaf_of(d->floor, door);
    /* Pixels have y down, so that a left turn in feet is SVG's sweep 0. */
    int sweep = point_cross(point_sub(leaf.strike, leaf.hinge), leaf.away) > 0 ? 0 : 1;

    svg_add(&d->svg, "<g class=\"door\" data-id=\"%lld\" fill=\"none\" stroke=\"%s\">\n",
            (long long)door->id, door->is_selected ? COLOUR_CHOSEN : COLOUR_INK);
    svg_add(&d->svg, "<g stroke-width=\"1\" stroke-opacity=\"0.35\">\n");
    draw_line(d, to_pixels(d, leaf.hinge), to_pixels(d, leaf.strike));
    draw_line(d, to_pixels(d, point_add(leaf.hinge, leaf.away, -thickness)),
              to_pixels(d, point_add(leaf.strike, leaf.away, -thickness)));
    svg_add(&d->svg, "</g>\n<path stroke-width=\"%s\" d=\"M ", door->is_selected ? "2.5" : "1.2");
    svg_point(&d->svg, to_pixels(d, leaf.strike));
    svg_add(&d->svg, " A ");
    svg_point(&d->svg, (Point){door->width * d->scale, door->width * d->scale});
    svg_add(&d->svg, " 0 0 %d ", sweep);
    svg_point(&d->svg, to_pixels(d, leaf.tip));
    svg_add(&d->svg, "\"/>\n<g stroke-width=\"%d\">", door->is_selected ? 5 : 3);
    draw_line(d, to_pixels(d, leaf.hinge), to_pixels(d, leaf.tip));
    svg_add(&d->svg, "</g>\n</g>\n");
}

static size_t characters(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

/* As large as fits between the room's left and right, within reason. */
static double label_size(const Drawing *d, const FloorRoom *room)
{
    double low = room->at.x;
    double high = room->at.x;
    double size;

    for (size_t i = 0; i < room->n_points; i++) {
        low = fmin(low, room->points[i].x);
        high = fmax(high, room->points[i].x);
    }
    size = (high - low) * d->scale * 0.8 / (0.58 * (double)(characters(room->name) + 1));
    return fmax(8, fmin(17, size));
}

static double wall_distance(const Drawing *d, Point p)
{
    double least = 1e9;
    double at;

    for (size_t i = 0; i < d->floor->n_walls; i++) {
        const FloorWall *wall = &d->floor->walls[i];

        least = fmin(least, segment_distance(wall->start, wall->end, p, &at));
    }
    return least;
}

/* In the middle, unless a wall is there. */
static Point label_place(const Drawing *d, const FloorRoom *room)
{
    Point middle;

    if (room->points == NULL) {
        return room->at;
    }
    middle = polygon_middle(room->points, room->n_points, room->at);
    if (wall_distance(d, middle) < 1.5 && wall_distance(d, room->at) > 1.5) {
        return room->at;
    }
    return middle;
}

static void draw_labels(Drawing *d)
{
    svg_add(&d->svg, "<g text-anchor=\"middle\">\n");
    for (size_t i = 0; i < d->floor->n_rooms; i++) {
        const FloorRoom *room = &d->floor->rooms[i];
        double size = label_size(d, room);
        Point at = to_pixels(d, label_place(d, room));

        begin_text(d, (Point){at.x, at.y - 2}, size,
                   room->is_selected ? " font-weight=\"600\" fill=\"" COLOUR_CHOSEN "\""
                                     : " font-weight=\"600\"");
        svg_escaped(&d->svg, room->name);
        svg_add(&d->svg, "</text>\n");
        begin_text(d, (Point){at.x, at.y + size}, fmax(8, size * 0.75),
                   " fill=\"" COLOUR_FAINT "\"");
        if (room->points != NULL) {
            svg_add(&d->svg, "%.1f sq ft", fabs(polygon_area(room->points, room->n_points)));
        } else {
            svg_add(&d->svg, "not enclosed");
        }
        svg_add(&d->svg, "</text>\n");
    }
    svg_add(&d->svg, "</g>\n");
}

/* Feet and inches, to the nearest inch, as on a plan. */
static void add_feet(Svg *svg, double feet)
{
    long long inches = llround(feet * 12);

    svg_add(svg, "%lld&#8242;-%lld&#8243;", inches / 12, inches % 12);
}

/* How long all is, below and at the left. */
static void draw_dimensions(Drawing *d)
{
    Point low = to_pixels(d, d->walls_low);
    Point high = to_pixels(d, d->walls_high);
    /* Beside everything that is drawn. */
    double y = to_pixels(d, d->low).y + 34;
    double x = to_pixels(d, d->low).x - 34;

    if (d->outlines.n == 0) {
        return;
    }
    svg_add(&d->svg, "<g class=\"dimensions\" stroke=\"" COLOUR_FAINT "\">\n");
    draw_line(d, (Point){low.x, y}, (Point){high.x, y});
    draw_line(d, (Point){x, low.y}, (Point){x, high.y});
    for (int i = 0; i < 2; i++) {
        double across = i == 0 ? low.x : high.x;
        double up = i == 0 ? low.y : high.y;

        draw_line(d, (Point){across, y - 14}, (Point){across, y + 6});
        draw_line(d, (Point){across - 4, y + 4}, (Point){across + 4, y - 4});
        draw_line(d, (Point){x - 6, up}, (Point){x + 14, up});
        draw_line(d, (Point){x - 4, up + 4}, (Point){x + 4, up - 4});
    }
    svg_add(&d->svg, "</g>\n<g text-anchor=\"middle\" fill=\"" COLOUR_FAINT "\">\n");
    begin_text(d, (Point){(low.x + high.x) / 2, y - 6}, 12, "");
    add_feet(&d->svg, d->walls_high.x - d->walls_low.x);
    svg_add(&d->svg, "</text>\n<g transform=\"translate(");
    svg_point(&d->svg, (Point){x - 6, (low.y + high.y) / 2});
    svg_add(&d->svg, ") rotate(-90)\">");
    begin_text(d, (Point){0, 0}, 12, "");
    add_feet(&d->svg, d->walls_high.y - d->walls_low.y);
    svg_add(&d->svg, "</text></g>\n</g>\n");
}

static void count(Svg *svg, size_t n, const char *one, const char *many)
{
    svg_add(svg, " &#183; %zu %s", n, n == 1 ? one : many);
}

static void draw_title(Drawing *d, const char *title)
{
    begin_text(d, (Point){28, 38}, 22, " font-weight=\"600\"");
    svg_escaped(&d->svg, title);
    svg_add(&d->svg, "</text>\n");
    begin_text(d, (Point){28, 58}, 13, " fill=\"" COLOUR_FAINT "\"");
    svg_escaped(&d->svg, d->floor->level_name);
    count(&d->svg, d->floor->n_walls, "wall", "walls");
    count(&d->svg, d->floor->n_doors, "door", "doors");
    count(&d->svg, d->floor->n_rooms, "room", "rooms");
    svg_add(&d->svg, "</text>\n");
    if (d->floor->n_walls + d->floor->n_rooms == 0) {
        begin_text(d, (Point){d->width / 2, d->height / 2}, 16,
                   " text-anchor=\"middle\" fill=\"" COLOUR_FAINT "\"");
        svg_add(&d->svg, "Nothing is on this level yet.</text>\n");
    }
    svg_add(&d->svg, "<g transform=\"translate(");
    svg_point(&d->svg, (Point){d->width - 44, 42});
    svg_add(&d->svg, ")\"><circle r=\"15\" fill=\"none\" stroke=\"" COLOUR_FAINT "\"/>"
                     "<path d=\"M 0,-21 L 7,9 L 0,4 L -7,9 Z\"/>"
                     "<text y=\"30\" font-size=\"11\" text-anchor=\"middle\">N</text></g>\n");
}

/* Four pieces, dark and light; all together about a fifth of the picture, and a round number. */
static void draw_scale(Drawing *d)
{
    static const double steps[] = {2, 2.5, 2}; /* 1 2 5 10 … */
    double feet = 1;
    double piece;
    double y = d->height - 34;

    for (int i = 0; feet * d->scale < d->width / 8; i++) {
        feet *= steps[i % 3];
    }
    piece = feet * d->scale / 4;
    svg_add(&d->svg, "<g class=\"scale\" stroke=\"" COLOUR_INK "\">\n");
    for (int i = 0; i < 4; i++) {
        svg_add(&d->svg, "<rect");
        svg_attribute(&d->svg, "x", 28 + i * piece);
        svg_attribute(&d->svg, "y", y);
        svg_attribute(&d->svg, "width", piece);
        svg_add(&d->svg, " height=\"6\" fill=\"%s\"/>\n", i % 2 == 0 ? COLOUR_INK : COLOUR_PAPER);
    }
    svg_add(&d->svg, "</g>\n<g text-anchor=\"middle\">\n");
    begin_text(d, (Point){28, y + 20}, 11, "");
    svg_add(&d->svg, "0</text>\n");
    begin_text(d, (Point){28 + 4 * piece, y + 20}, 11, "");
    svg_add(&d->svg, "%g ft</text>\n</g>\n", feet);
}

/* ---- The whole -------------------------------------------------------------------------- */

static void draw(Drawing *d, const char *title)
{
    svg_add(&d->svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\""
            " viewBox=\"0 0 %.0f %.0f\" font-family=\"Inter, Helvetica, Arial, sans-serif\""
            " fill=\"" COLOUR_INK "\">\n<title>",
            d->width, d->height, d->width, d->height);
    svg_escaped(&d->svg, title);
    svg_add(&d->svg, ", ");
    svg_escaped(&d->svg, d->floor->level_name);
    svg_add(&d->svg,
            "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"" COLOUR_PAPER "\"/>\n");
    draw_grid(d);
    draw_rooms(d);
    draw_walls(d, false);
    draw_walls(d, true);
    for (size_t i = 0; i < d->floor->n_doors; i++) {
        draw_door(d, &d->floor->doors[i]);
    }
    draw_labels(d);
    draw_dimensions(d);
    draw_title(d, title);
    draw_scale(d);
    svg_add(&d->svg, "</svg>\n");
}

int render_floor(const Floor *floor, const char *title, int width, Picture *ret, Fault *fault)
{
    Drawing d = {.floor = floor};

    if (outlines_make(floor, &d.outlines) != 0) {
        return fault_memory(fault);
    }
    measure(&d, width);
    draw(&d, title);
    outlines_free(&d.outlines);
    if (d.svg.is_failed) {
        free(d.svg.text);
        return fault_memory(fault);
    }
    *ret = (Picture){d.svg.text, width, (int)d.height, d.scale};
    return 0;
}
