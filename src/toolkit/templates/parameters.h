/* toolkit/templates/parameters.h: values for a template's parameters: all that is wrong with them,
 * and what they are with the defaults. Thread: any, a TemplateValues by one at a time. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "toolkit/templates/manifest.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

/* Codes of what may be wrong. One value may have several faults. */
#define TEMPLATE_FAULT_MISSING "missing" /* required, and not given */
#define TEMPLATE_FAULT_UNKNOWN "unknown" /* no such parameter; expected: the nearest one */
#define TEMPLATE_FAULT_TYPE    "type"
#define TEMPLATE_FAULT_PATTERN "pattern"
#define TEMPLATE_FAULT_RANGE   "range" /* minimum or maximum, or above the sizes below */
#define TEMPLATE_FAULT_CHOICE  "choice"
#define TEMPLATE_FAULT_TWICE   "duplicate"   /* an element that was there before */
#define TEMPLATE_FAULT_NUL     "nul"         /* a string with a NUL in it */
#define TEMPLATE_FAULT_NAME    "unsafe_name" /* would leave the folder of the project */
/* A word that the manifest keeps for something else. */
#define TEMPLATE_FAULT_RESERVED "reserved"

/* Whole numbers are written as those of JSON, which are exact up to here. */
#define TEMPLATE_INTEGER_MAX INT64_C(9007199254740991)

/* Bytes of a string as it is spelt, elements of an array, bytes of all values together: what a
 * person might put into a file, and far below what a request may hold. */
#define TEMPLATE_VALUE_BYTES  ((size_t)64 * 1024)
#define TEMPLATE_ELEMENTS_MAX 1024
#define TEMPLATE_VALUES_BYTES ((size_t)4 * 1024 * 1024)

/* Faults of one check that are told; those that come later are counted. */
#define TEMPLATE_FAULTS_MAX 100

/* What a fault quotes of a value, and of choices, is cut here, and then ends in "...". */
#define TEMPLATE_GOT_BYTES      80
#define TEMPLATE_EXPECTED_BYTES 1024

/* Reserved words that a fault names; of the others it says how many they are. */
#define TEMPLATE_EXPECTED_WORDS 20

/* Names and paths longer than that no file system takes. */
#define TEMPLATE_NAME_MAX 255
#define TEMPLATE_PATH_MAX 1024

typedef struct TemplateFault {
    Span parameter; /* text, as those below; an element of an array is "features[2]"; empty where
                       the values are no object, or too long together */
    const char *code;
    Span message;
    Span expected; /* may be empty */
    Span got;      /* JSON of the value, cut if long; empty if there is none */
} TemplateFault;

/* Reused from one check to the next, so that a steady stream allocates nothing. */
typedef struct TemplateValues {
    Arena arena;
    Bytes text; /* of the object with the defaults */
    JsonDoc doc;
    JsonValue values; /* valid while there is no fault: the given values, then the defaults; an
                         object in any case */
    const TemplateFault *faults;
    size_t n_faults;
    size_t n_faults_total; /* with those that are not told */
    /* Parameters that were not given and have a default: also where others have faults. None if the
     * values are no object, or too long. */
    const TemplateParameter *const *defaulted;
    size_t n_defaulted;
    SchemaCheck *scratch; /* for patterns */
} TemplateValues;

void template_values_init(TemplateValues *values);
void template_values_deinit(TemplateValues *values);

/* given: an object (node NULL: {}), borrowed while the result is used, as the template. All faults
 * at once, in the order of the template's parameters, then unknown ones as they come. Of a member
 * that comes twice the last counts. project_name may always be given, since it names the folder:
 * one that the template does not have must be a safe name, and is no part of values. A shared check
 * (of a project, whose values are for several templates) says which unknown names are another
 * template's: is_known may be NULL. 0, -ENOMEM. */
int template_values_check(TemplateValues *values, const Template *t, JsonValue given,
                          bool (*is_known)(void *context, Span name), void *context);

/* A name that is used as a folder or in a path: 1 to TEMPLATE_NAME_MAX bytes, no '/', '\\', ':' (a
 * drive of Windows), NUL, control character; no '.' or blank at its end, so neither "." nor "..";
 * no device of Windows ("con", "NUL.txt", "com1"). */
bool template_name_is_safe(Span name);
/* A path relative to a project: names that are safe, with '/' between them. */
bool template_path_is_safe(Span path);
