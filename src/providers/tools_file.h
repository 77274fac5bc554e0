/* providers/tools_file.h: the file that says which tools there are and which command runs each.
 *
 * A JSON array of objects:
 *
 *     name, description, input_schema                   needed
 *     title, annotations, icons, output_schema, _meta   go into the tool's description as they are
 *     command      argv, no shell: ["./count", "--json"]; command[0] with a slash is relative to
 *                  the file's folder, without one it is looked up in PATH
 *     cwd          folder of the command, relative to the file's folder; else that folder itself,
 *                  so that ["python3", "add.py"] is found beside the file wherever we were started
 *     env          {"NAME": "value"}, or ["NAME"] to pass ours on
 *     timeout_ms   else the router's
 *     durable      true: runs as a task, through the queue, for those who take one
 *     envelope     true: a command, whose answer is the standard envelope (call/envelope.h)
 *
 * (inputSchema and outputSchema are understood too.) Any other key is an error.
 *
 * A tools file of the pipe describes tools that somebody else runs, and may have been written for
 * another hub: it may be one tool instead of an array, or a folder whose files (*.json, in the
 * order of their names) are one tool each; `parameters` is another word for input_schema; and keys
 * that are not known are noted (unknown) and ignored.
 *
 * A schema file is the same with laxer rules, since another program wrote it, perhaps for others
 * than us: only name and input_schema are needed, null counts as absent, and unknown keys are left
 * out, as is what says how to run the tool (command, cwd, env, durable, envelope). Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOOLS_FILE_E_MALFORMED = 1, /* the Diag says what, with file, line and field */
    TOOLS_FILE_E_UNREADABLE,    /* there is no such file, no permission…; the Diag says */
};

/* Who wrote the file. */
typedef enum ToolsFileRules {
    TOOLS_FILE_STRICT, /* a person, for us */
    TOOLS_FILE_SCHEMA, /* a program that has the tools */
    TOOLS_FILE_PIPE,   /* a person, for us or for another hub */
} ToolsFileRules;

/* Hand-written files have kilobytes; generated ones for a whole application a few MiB. */
#define TOOLS_FILE_MAX_BYTES ((size_t)16 * 1024 * 1024)

typedef struct ToolsFileVariable {
    const char *name;
    const char *value; /* NULL: what ours has, if it has any */
} ToolsFileVariable;

typedef struct ToolsFileTool {
    Span name;
    Span json; /* the description as router/router.h wants it */
    bool has_output_schema;
    const char *const *command; /* NULL-terminated; NULL if the file names none */
    const char *folder; /* NULL: ours; a schema file, or a file that lies in no folder (a pipe) */
    const ToolsFileVariable *variables;
    size_t n_variables;
    int64_t timeout_ms; /* 0: not said */
    bool is_durable;
    bool is_command;
    size_t offset; /* where the tool begins in the file */
} ToolsFileTool;

/* One file of a folder, in the text of all. */
typedef struct ToolsFilePart {
    const char *path;
    size_t offset;
} ToolsFilePart;

/* The names of unknown keys: as many as a line of the log needs. */
#define TOOLS_FILE_UNKNOWN_SIZE 240

typedef struct ToolsFile {
    const char *path; /* as it was given; copied */
    ToolsFileRules rules;
    Bytes text;
    Arena arena; /* holds all of the above */
    ToolsFileTool *tools;
    size_t n_tools;
    const ToolsFilePart *parts; /* of a folder; in the order of their offsets */
    size_t n_parts;
    bool is_one_tool;                      /* no array: the text is the tool */
    char unknown[TOOLS_FILE_UNKNOWN_SIZE]; /* PIPE: "adapter, returns"; empty: there was none */
} ToolsFile;

#define TOOLS_FILE_NULL ((ToolsFile){.path = NULL})

/* Reads and checks the file. 0, -ENOMEM, TOOLS_FILE_E_MALFORMED, TOOLS_FILE_E_UNREADABLE.
 * On failure *file is TOOLS_FILE_NULL. */
int tools_file_load(ToolsFile *file, const char *path, Diag *reterr_diag);

/* The same for a tools file of the pipe, or a folder of them. */
int tools_file_load_pipe(ToolsFile *file, const char *path, Diag *reterr_diag);

/* The same with what was read already. Takes the content of *text, which is then empty. 0, -ENOMEM,
 * TOOLS_FILE_E_MALFORMED. */
int tools_file_parse(ToolsFile *file, const char *path, Bytes *text, ToolsFileRules rules,
                     Diag *reterr_diag);

void tools_file_deinit(ToolsFile *file);

/* Fills *reterr_diag (may be NULL) with "file:line: field: message" and the place of offset; field
 * may be empty. Returns TOOLS_FILE_E_MALFORMED. */
int tools_file_blame(const ToolsFile *file, size_t offset, const char *field, const char *message,
                     Diag *reterr_diag);

/* The same for tools[index], which router_add refused with r (ROUTER_E_*) and *why. */
int tools_file_blame_entry(const ToolsFile *file, size_t index, int r, const Diag *why,
                           Diag *reterr_diag);
