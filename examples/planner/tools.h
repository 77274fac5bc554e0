/* tools.h: the tools that agents get, and how one runs.
 *
 * A tool is a row of a table: what is said about it, whether it writes, and the function that does
 * the work. All of them run through tool_run (tools.c): there a tool that writes gets its
 * transaction, the one place where its failures are told, and where it is committed or rolled back.
 * All are commands (toolwire/document.h): the library has checked before that the caller knows the
 * document as it is, and makes the answer. Handlers all run on the thread that serves, so that the
 * document needs no lock.
 */
#pragma once

#include "fault.h"
#include "floor.h"
#include "model.h"
#include "render.h"
#include "store.h"

#include <pthread.h>
#include <stdbool.h>
#include <toolwire/toolwire.h>

/* In the schema of results: what was removed again, if anything was. */
#define REMOVED_SCHEMA                                                                             \
    "\"removed_ids\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"},"                   \
    " \"description\": \"What is not there any more, because failures were resolved.\"}"

/* Lists of elements, and marks, in the schema of arguments. */
#define IDS_SCHEMA(least)                                                                          \
    "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}, \"minItems\": " #least ","          \
    " \"maxItems\": 1000, \"uniqueItems\": true}"
#define MARK_SCHEMA                                                                                \
    "\"mark\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 100,"                       \
    " \"description\": \"What people call it; no two walls, doors or rooms should have the "       \
    "same.\"}"

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
    IdList named;   /* what the tool that runs has made or changed, and will tell (ToolTell) */
    TwJson *errors; /* what it could not do, an array; NULL: nothing to tell */
    IdList removed; /* what is not there any more, since failures were resolved */
} Planner;

/* The call was kept, and is answered by somebody else. */
#define TOOL_LATER 1

/* Writes the structured result. 0, TOOL_LATER, or -1 with *fault. */
typedef int (*ToolWork)(Planner *planner, TwCall *call, TwJson *out, Fault *fault);

/* Writes the rest of it when failures are settled: of planner->named only what is still there is
 * left by then. */
typedef void (*ToolTell)(const Planner *planner, TwJson *out);

typedef struct Tool {
    const char *name;
    const char *title;
    const char *description;
    const char *input_schema;
    const char *output_schema;
    unsigned annotations;
    bool writes;
    ToolWork work;
    ToolTell tell; /* NULL: the work has written it all */
} Tool;

/* Each ends with a row without a name. */
extern const Tool tools_revit[];
extern const Tool tools_plan[];
extern const Tool tools_edit[];
extern const Tool tools_fail[];

/* All tools and the picture. 0, or the library's error. */
int tools_add(Planner *planner);

/* Waits for the calls that are still being worked on; they were cancelled before. */
void tools_finish(Planner *planner);

/* Tells the library what is in front: the document, its view and its selection. 0, or -1 with
 * *fault. */
int planner_show(Planner *planner, Fault *fault);

/* The code and the sentence, as the answer of a command has them. */
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

/* The argument element_ids; and some ids of a list. */
int argument_ids(TwCall *call, IdList *ids, Fault *fault);
void out_ids(TwJson *out, const char *key, const IdList *ids, size_t from, size_t to);

/* "element_id" and "message" of the one element that was made, or of none. */
void out_made(const Planner *planner, TwJson *out, const char *made, const char *removed);
