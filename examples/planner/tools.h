/* tools.h: the tools that agents get, and how one runs.
 *
 * A tool is a row of a table: what is said about it, whether it writes, and the function that does
 * the work. All of them run through tool_run (tools.c): there a tool that writes gets its
 * transaction, the one place where somebody can refuse it, and where it is committed or rolled
 * back. Handlers all run on the thread that serves, so that the document needs no lock.
 */
#pragma once

#include "fault.h"
#include "floor.h"
#include "render.h"
#include "store.h"

#include <pthread.h>
#include <stdbool.h>
#include <toolwire/toolwire.h>

/* Writes JSON as it is; a schema is easier to read without backslashes. */
#define JSON(...) #__VA_ARGS__

#define PLAN_URI "plan://document.svg"

/* Threads that answer calls later. */
typedef struct Workers {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* one is done, or a call was cancelled */
    size_t n;
} Workers;

typedef struct Planner {
    Store store;
    TwServer *server;
    Workers workers;
} Planner;

/* The call was kept, and is answered by somebody else. */
#define TOOL_LATER 1

/* Writes the structured result. 0, TOOL_LATER, or -1 with *fault. */
typedef int (*ToolWork)(Planner *planner, TwCall *call, TwJson *out, Fault *fault);

typedef struct Tool {
    const char *name;
    const char *title;
    const char *description;
    const char *input_schema;
    const char *output_schema;
    unsigned annotations;
    bool writes;
    ToolWork work;
} Tool;

/* Each ends with a row without a name. */
extern const Tool tools_revit[];
extern const Tool tools_plan[];
extern const Tool tools_fail[];

/* All tools and the picture. 0, or the library's error. */
int tools_add(Planner *planner);

/* Waits for the calls that are still being worked on; they were cancelled before. */
void tools_finish(Planner *planner);

/* The code and the sentence, in the form in which the pipe carries them. */
void tool_fail(TwCall *call, const Fault *fault);

/* A level, drawn; level NULL: that of the active view. Gives the picture; *floor is the caller's to
 * free, also after a failure. */
int plan_picture(Planner *planner, const char *level, int width, Floor *floor, Picture *ret,
                 Fault *fault);

/* "key": value */
void out_int(TwJson *out, const char *key, int64_t value);
void out_double(TwJson *out, const char *key, double value);
void out_string(TwJson *out, const char *key, const char *value);

/* The element [i] of the array argument `name`, or of its member: "/name/i/more". */
double argument_number(TwCall *call, const char *name, size_t i, const char *more);
