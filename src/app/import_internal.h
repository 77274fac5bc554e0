/* app/import_internal.h: a server as it is read (import.c), and as our settings say it
 * (import_entry.c). */
#pragma once

#include "app/import.h"
#include "json/json.h"

/* One file as it is read. */
typedef struct ImportReader {
    Import *import;
    Span path;
    Span folder; /* the project that the file, or the member, is about; may be empty */
} ImportReader;

/* One server as it is read. */
typedef struct ImportEntry {
    const ImportReader *reader;
    JsonValue value;
    Span name;
    Span inputs;    /* variables that stand for questions */
    Span variables; /* and for secrets that are not written */
    Span unknown;   /* a variable that nobody here knows */
    Span left;      /* members that are not taken over */
    Span refusal;   /* why it cannot be said in our settings */
    bool has_text_args;
    bool masked;
    int r;
} ImportEntry;

/* A string as it is. After a failure entry->r says so, as in all below. */
Span import_entry_text(ImportEntry *entry, JsonValue value);

/* The server with this command, or else this url, as our settings say it; in the arena. */
Span import_entry_json(ImportEntry *entry, JsonValue command, JsonValue url, bool masked);
