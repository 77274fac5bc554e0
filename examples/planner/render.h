/* render.h: a floor, drawn: the plan as SVG. The same document always gives the same text. */
#pragma once

#include "floor.h"

/* Of the picture, in pixels. */
#define RENDER_WIDTH     960
#define RENDER_WIDTH_MIN 240
#define RENDER_WIDTH_MAX 4000

typedef struct Picture {
    char *svg; /* the caller frees it */
    int width, height;
    double pixels_per_ft;
} Picture;

/* 0, or -1 with *fault. title: the document's. */
int render_floor(const Floor *floor, const char *title, int width, Picture *ret, Fault *fault);
