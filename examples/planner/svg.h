/* svg.h: text that grows, in the ways that SVG needs. The first failure to get memory sticks. */
#pragma once

#include "geometry.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Svg {
    char *text; /* NUL-terminated; the caller frees it */
    size_t n, size;
    bool is_failed;
} Svg;

__attribute__((format(printf, 2, 3))) void svg_add(Svg *svg, const char *format, ...);

/* A number with at most two decimals, the same on every machine. */
void svg_number(Svg *svg, double number);

/* name="number", with a blank in front. */
void svg_attribute(Svg *svg, const char *name, double number);

/* "x,y" */
void svg_point(Svg *svg, Point point);

/* What any name may hold: markup is escaped, and what XML cannot say becomes U+FFFD. */
void svg_escaped(Svg *svg, const char *text);
