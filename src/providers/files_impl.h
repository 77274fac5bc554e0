/* providers/files_impl.h: what the files of this provider share. Private.
 *
 *     files.c           the provider; calls that wait, run and end
 *     files_shared.c    what its threads share: the root, limits, how commands run
 *     files_args.c      what a call asks for
 *     files_json.c      descriptions
 *     files_run.c       list_files, read_file, write_file, on their thread
 *     files_search.c    search_files, likewise
 *     files_match.c     the lines of a text that hold another
 *     files_command.c   run_command, likewise
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "call/call.h"
#include "io/confine.h"
#include "providers/files.h"
#include "json/json.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Outcomes of a tool's work. */
enum {
    FILES_E_REFUSED = 100, /* job->diag says why: a result with is_error */
    FILES_E_ARGUMENT,      /* likewise; an argument that the schema allows and we do not */
};

/* The only folders in which programs are looked for. */
#define FILES_PATH "/usr/local/bin:/usr/bin:/bin"

/* What the threads share; they change nothing of it. Counted on the loop: one for the provider and
 * one for each job. */
typedef struct FilesShared {
    size_t n_refs;
    IoBeneath *root;
    IoConfine *confine; /* NULL: commands run unconfined, or not at all */
    bool may_run;
    char state[DIAG_MESSAGE_SIZE + 32]; /* files_commands_state */
    char **commands;                    /* NULL-terminated; owned */
    size_t n_commands;
    char **environment; /* of commands; NULL-terminated, owned */
    size_t max_file_bytes;
    size_t max_output_bytes;
    int64_t command_ms;
    size_t max_search_entries;
    uint64_t max_search_bytes;
    int64_t search_ms;
    bool allow_network;
} FilesShared;

/* With one reference. 0, -ENOMEM, another negative errno, FILES_E_ROOT, FILES_E_COMMAND,
 * FILES_E_UNSUPPORTED. Thread: loop, as the next. */
int files_shared_new(FilesShared **ret, const FilesConfig *config, Diag *reterr_diag);
FilesShared *files_shared_unref(FilesShared *shared);

/* What a call asks for; strings are in the job's arena, NUL-terminated and without another NUL. */
typedef struct FilesAsked {
    const char *path; /* never NULL */
    Span content;     /* write */
    bool is_base64;   /* read, write: `encoding` */
    size_t line;      /* read: the first, from 1; 0: not said */
    size_t n_lines;   /* read; SIZE_MAX: all */
    Span pattern;     /* search; empty: any name */
    Span text;        /* search; empty: names only */
    bool no_case;
    size_t max_results;
    const char *const *argv; /* run_command; NULL-terminated */
} FilesAsked;

typedef struct FilesJob FilesJob;

typedef struct FilesTool {
    Span name;
    Span description; /* JSON, all of it; run_command: up to the words about commands */
    /* Reads the arguments, which the schema allows. 0, -ENOMEM, FILES_E_ARGUMENT. Thread: loop. */
    int (*ask)(FilesJob *job, JsonValue arguments);
    /* The work, and its answer: job->structured and job->said. 0, a negative errno, BYTES_E_FULL,
     * FILES_E_*. Thread: any. */
    int (*run)(FilesJob *job);
    CallProvider provider;
} FilesTool;

enum {
    FILES_TOOL_LIST,
    FILES_TOOL_READ,
    FILES_TOOL_WRITE,
    FILES_TOOL_SEARCH,
    FILES_TOOL_COMMAND, /* the last one: not there without commands */
    FILES_N_TOOLS
};
extern const FilesTool files_tools[FILES_N_TOOLS];

struct FilesJob {
    FilesJob *next; /* of those that wait, or of those that run */
    FilesJob *prev;
    FilesProvider *files; /* NULL: it has gone */
    FilesShared *shared;
    const FilesTool *tool;
    Call *call; /* NULL: nobody waits for it */
    IoTimer *timer;
    bool is_running;
    atomic_bool cancel;
    atomic_bool is_late; /* cancelled since its time is over */

    Arena arena;
    FilesAsked asked;
    Bytes structured; /* one JSON object */
    Bytes said;       /* one JSON string; empty: it is said_n bytes at said_at of structured */
    size_t said_at;
    size_t said_n;
    bool is_error; /* it ran, and failed; with an answer of its own */
    int r;
    Diag diag;
};

/* What a tool refuses: the words are the answer. Returns FILES_E_REFUSED. */
TW_PRINTF(2, 3) int files_refuse(FilesJob *job, const char *format, ...);

/* What came of a function of io/beneath.h, whose Diag is job->diag. */
int files_beneath(FilesJob *job, int r);

/* Arguments (files_args.c). */
int files_ask_list(FilesJob *job, JsonValue arguments);
int files_ask_read(FilesJob *job, JsonValue arguments);
int files_ask_write(FilesJob *job, JsonValue arguments);
int files_ask_search(FilesJob *job, JsonValue arguments);
int files_ask_command(FilesJob *job, JsonValue arguments);

/* Work. */
int files_run_list(FilesJob *job);
int files_run_read(FilesJob *job);
int files_run_write(FilesJob *job);
int files_run_search(FilesJob *job);
int files_run_command(FilesJob *job);

/* CallProvider (files.c). */
void files_start(FilesProvider *files, const FilesTool *tool, Call *call);
void files_cancel(void *context, Call *call);

/* Appends the description of a tool (files_json.c). 0, -ENOMEM, BYTES_E_FULL, -ENOENT. */
int files_describe(const FilesShared *shared, Span name, Bytes *out);

/* The environment of commands, from ours (files_command.c). Gives *ret: strings and array are the
 * heap's. 0, -ENOMEM. */
int files_environment_new(char ***ret, const char *root, const char *const *ours);

/* Releases a NULL-terminated array of strings; may be NULL. Returns NULL. */
char **files_strings_free(char **strings);

/* ---- files_match.c. Pure. ---- */

/* A line of a text that holds another. */
typedef struct FilesMatch {
    size_t line; /* from 1 */
    Span text;   /* without its end; cut at FILES_MATCH_BYTES, between characters */
} FilesMatch;

#define FILES_MATCH_BYTES ((size_t)240)

/* Goes through a text; all 0 at first but for these three. */
typedef struct FilesMatcher {
    Span text;
    Span wanted;  /* not empty, and without line ends: else nothing is found */
    bool no_case; /* ASCII letters */
    size_t at;
    size_t line; /* that `at` is in, less 1 */
} FilesMatcher;

/* The next line with a match; false: there is none. */
bool files_matcher_next(FilesMatcher *matcher, FilesMatch *ret);

/* The lines first … first + n of a text, with their ends; and how many there are in all (a last one
 * without an end counts). */
Span files_lines(Span text, size_t first, size_t n, size_t *ret_n_all);
