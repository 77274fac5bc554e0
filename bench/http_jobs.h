/* bench/http_jobs.h: what the rows of jobs over HTTP share. */
#pragma once

#include "http_load.h"
#include "http_side.h"

/* Puts jobs into the queue, that nobody runs. */
extern const HttpLoadKind http_load_enqueue;

/* A hub that takes such jobs; its answer to one is in side->answer. */
void http_jobs_start(HttpSide *side, const char *toolwire);
