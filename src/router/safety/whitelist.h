/* router/safety/whitelist.h: which failures may be deleted or resolved. A file:
 *
 *     { "schema": "…", "logging": { "includeDescriptionText", "includeElements",
 *                                   "maxElementIdsPerFailure" },
 *       "rules": [ { "id": "R1", "enabled": true,
 *                    "match": { "failureDefinitionRef": "Planner.OverlappingWalls" },
 *                    "severity": ["Warning", "Error"],
 *                    "actions": [ { "type": "delete_warning" }, { "type": "resolve_if_possible" }
 * ], "notes": "…" } ] }
 *
 * Members that we do not know are left alone; a rule counts only if it says that it is enabled.
 * Thread: loop. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "router/safety/safety.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct SafetyRule {
    Span id;
    Span reference;
    bool has_warnings;
    bool has_errors;
    bool may_delete;
    bool may_resolve;
} SafetyRule;

typedef struct SafetyWhitelist {
    Arena arena; /* everything below */
    const char *code;
    Span message;
    Span path;
    Span schema;
    char version[9]; /* first digits of the file's SHA-256; empty: no file */
    SafetyRule *rules;
    size_t n_rules;
    bool hides_text; /* of failures that are neither errors nor undo anything */
    bool hides_elements;
    size_t max_elements;
} SafetyWhitelist;

/* NOT_LOADED. */
void safety_whitelist_init(SafetyWhitelist *whitelist);
void safety_whitelist_deinit(SafetyWhitelist *whitelist);

/* Replaces it by what the file says. 0 whatever it says, -ENOMEM, -EIO: it stays as it was. */
int safety_whitelist_load(SafetyWhitelist *whitelist, const char *path, Span text);

/* The last rule that is about this failure; NULL: none. A rule names it in full, or either of the
 * two names is the end of the other, from a dot on and with two parts at least ("Group.Name"); or
 * by its guid. */
const SafetyRule *safety_whitelist_find(const SafetyWhitelist *whitelist, Span id, Span guid,
                                        SafetySeverity severity);

/* Its status, one object: ok, code, msg, path, schema, version. */
void safety_whitelist_write(const SafetyWhitelist *whitelist, JsonWriter *w);
