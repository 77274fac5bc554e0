/* app/import.h: the MCP servers of other programs' settings, to be put into ours. Pure, but for
 * import_places.
 *
 * Claude Desktop, Claude Code (with the servers of projects), Cursor, VS Code and Cline write the
 * same in a few spellings; which it is, is seen from the text:
 *
 *     { "mcpServers": { NAME: SERVER } }                      all but VS Code
 *     { "projects": { FOLDER: { "mcpServers": … } } }         Claude Code
 *     { "servers": { NAME: SERVER }, "inputs": […] }          VS Code, mcp.json
 *     { "mcp": { "servers": { NAME: SERVER } } }              VS Code, settings.json
 *
 * A SERVER has command, args, env and cwd, or url (Windsurf: serverUrl) and headers. What it is in
 * our settings is made here: strings with their variables in our words ("${env:X}" is "${X}", a
 * dollar "$$"), nothing that we do not know. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    IMPORT_E_SYNTAX = 1, /* a file is not JSON, or has no servers where they should be; Diag */
    IMPORT_E_CLASH,      /* merge: another server has the name; Diag */
};

/* Servers of all files together. */
#define IMPORT_MAX_SERVERS 1024

/* Lists of servers that are switched off elsewhere. */
#define IMPORT_MAX_LISTS 16

typedef struct ImportServer {
    Span name;
    Span source;  /* the file */
    Span target;  /* command and arguments, or url: for people, secrets masked */
    Span json;    /* of our settings: compact; empty if skipped */
    Span masked;  /* the same for people */
    Span skipped; /* why it is not imported; empty: it is */
    Span note;    /* what has to be done by hand; may be empty */
} ImportServer;

typedef struct Import {
    Arena arena;
    ImportServer servers[IMPORT_MAX_SERVERS];
    size_t n_servers;
    size_t n_beyond;                 /* servers that there is no place for */
    JsonValue off[IMPORT_MAX_LISTS]; /* names of servers of .mcp.json that are switched off */
    size_t n_off;
    bool env_refs; /* secrets become "${NAME}" */
    bool toolkit;  /* "toolkit": true is written beside the servers, where nothing is said of it */
    Span folder;   /* where the user is: whose project's servers are meant; absolute */
} Import;

/* Borrows folder until deinit. */
void import_init(Import *import, Span folder, bool env_refs);
void import_deinit(Import *import);

/* Adds the servers of one file. 0, -ENOMEM, IMPORT_E_SYNTAX. */
int import_read(Import *import, Span path, Span text, Diag *reterr_diag);

/* What becomes of each server that is not skipped. */
typedef enum ImportChange {
    IMPORT_ADDED,
    IMPORT_SAME, /* it is there already */
    IMPORT_REPLACED,
    IMPORT_TAKEN, /* another one has the name, and is not replaced */
    IMPORT_BEYOND /* there are as many as there may be; it is left out */
} ImportChange;

/* Appends to out the settings in text (may be empty: there are none yet) with the servers that are
 * not skipped in mcpServers, CONFIG_MAX_SERVERS at most; all that was there is kept byte for byte,
 * but for servers that are replaced. changes: one for each
 * server. 0, -ENOMEM, IMPORT_E_SYNTAX, IMPORT_E_CLASH: somebody is TAKEN, and all changes are set,
 * but nothing is appended. */
int import_merge(const Import *import, Span path, Span text, bool replace,
                 ImportChange changes[IMPORT_MAX_SERVERS], Bytes *out, Diag *reterr_diag);

/* Do settings that were offered with the toolkit (config_offers_toolkit) lose it by this change,
 * without a word about it? */
bool import_ends_toolkit(const char *path, Span before, Span after);

/* ---- import_text.c ---- */

/* A string of another program in our words. folder: for ${workspaceFolder}; may be empty. *inputs:
 * names of variables that stand for what VS Code would ask for are added, with commas. False: it
 * has a variable that is not known here, *ret is its text. 0, -ENOMEM, BYTES_E_FULL in *ret_r. */
bool import_translate(Arena *arena, Span text, Span folder, Span *inputs, Span *ret, int *ret_r);

/* ---- import_mask.c ---- */

#define IMPORT_MASK "***"

/* Whether an argument, or the value behind one, is a secret by its name. */
bool import_is_secret(Span name);

/* An argument without what is secret in it: --token=…, "Authorization: …", what follows --token
 * (*is_secret, which it keeps from one argument to the next), user and password in an address. 0,
 * -ENOMEM. */
int import_mask_argument(Arena *arena, Span argument, bool *is_secret, Span *ret);

/* Appends settings of ours with what may be secret in them masked, comments as blanks; text that is
 * no JSON as nothing.
 * 0, -ENOMEM, BYTES_E_FULL. */
int import_mask_settings(Span text, Bytes *out);

/* An address without what may be secret in it: user, password, and the values of its query. */
int import_mask_url(Arena *arena, Span url, Span *ret);

/* ---- import_places.c ---- */

/* The kinds of --from, NULL behind the last. */
extern const char *const import_kinds[];

/* Calls fn with each place where a program of that kind (NULL: any) has its settings, whether there
 * is something or not; the first result that is not 0 ends it. folder: where projects have theirs.
 */
int import_places(const char *kind, const char *folder,
                  int (*fn)(void *context, const char *kind, const char *path), void *context);
