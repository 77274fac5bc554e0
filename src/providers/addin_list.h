/* providers/addin_list.h: what an add-in answered when it was asked what it offers; used by the hub
 * of the pipe only.
 *
 *     {"name": TEXT, "tools": [ …as in a schema file (tools_file.h) ], "resources": [ …as in MCP ]}
 *
 * Everything may be missing; a bare array is taken for the tools. What cannot be used is left out,
 * piece by piece, with a word in the log that names it, or counted if there is much of it. No more
 * is looked at than ADDIN_MAX_OFFERS things and ADDIN_MAX_BYTES, be they of use or not. A tool may
 * not have a name of the pipe's own ("toolwire.…"). Thread: loop.
 */
#pragma once

#include "base/logsink.h"
#include "providers/addin_entries.h"
#include "json/json.h"

#include <stdbool.h>

/* Longest name of an add-in, its NUL included; a longer one is cut. For logs and lists. */
#define ADDIN_NAME_SIZE 80

/* The name that it gives itself; false if there is none. data.node may be NULL. */
bool addin_list_name(JsonValue data, char ret_name[ADDIN_NAME_SIZE]);

/* Puts what it describes among the entries, to be settled. True if it has told a list of tools, be
 * it empty. data.node may be NULL. */
bool addin_list_offer(AddinEntries *entries, AddinOffers *offers, JsonValue data,
                      const LogSink *log);
