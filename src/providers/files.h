/* providers/files.h: the tools of an agent that works in a folder: list_files, read_file,
 * write_file, search_files and run_command.
 *
 * Files are reached beneath the root and nowhere else (io/beneath.h). Commands are names of an
 * allow-list, found in a fixed path, with arguments as they are: no shell reads them. They run in
 * the root, with a short environment that holds no keys, in a process group of their own which does
 * not outlive them or their time, and confined (io/confine.h): whatever their arguments say, they
 * read and write nothing outside the root but what programs need to run. Where a system cannot
 * confine, run_command answers that it will not, unless allow_unconfined.
 *
 * Work is done on threads beside the loop. What fails is a tool's result with is_error, its text
 * for the model, and never an error of the protocol. docs/agent-files.md says what each takes and
 * gives. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "io/beneath.h"
#include "io/loop.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FILES_E_ROOT = 1,    /* new: the root is no folder; Diag */
    FILES_E_COMMAND,     /* new: a name of the allow-list that is none; Diag */
    FILES_E_EXISTS,      /* add: there is a tool of such a name; none was added; Diag */
    FILES_E_UNSUPPORTED, /* new: this system has no file tools, whatever the root; Diag */
};

typedef struct FilesProvider FilesProvider;

/* ls, pwd, date, echo, cat, grep, head, tail, wc: what the real runtime allows, and three more that
 * only read. NULL-terminated. */
extern const char *const files_default_commands[];

/* Numbers that are 0: the default, LIMIT_FILES_… */
typedef struct FilesConfig {
    IoLoop *loop;
    const char *root;
    /* Names that run_command may start, without a slash; NULL-terminated. NULL or empty: there is
     * no such tool. */
    const char *const *commands;
    const char *const *read_folders; /* which commands may read beside the system's; may be NULL */
    bool allow_unconfined; /* commands run though the system cannot confine them; where it can, they
                              are confined all the same */
    bool allow_network;    /* commands may use sockets */
    size_t max_file_bytes;
    size_t max_output_bytes; /* of a command, each of stdout and stderr; the rest is dropped */
    int64_t command_ms;
    /* Of a search: what it looks at, and for how long. */
    size_t max_search_entries;
    uint64_t max_search_bytes;
    int64_t search_ms;
    const LogSink *log; /* may be NULL */
} FilesConfig;

/* Opens the root; adds nothing yet. Borrows loop and log until free, the rest until return. 0,
 * -ENOMEM, another negative errno, FILES_E_ROOT, FILES_E_COMMAND, FILES_E_UNSUPPORTED. Gives *ret.
 */
int files_new(FilesProvider **ret, const FilesConfig *config, Diag *reterr_diag);

/* Ends its calls (unavailable), takes the tools out of the router, and tells its threads to stop;
 * what they hold is freed when they do, on the loop. Before the router's and the loop's. */
FilesProvider *files_free(FilesProvider *files);

/* Adds all of the tools, or none. One router at a time, borrowed until free. 0, -ENOMEM,
 * FILES_E_EXISTS. */
int files_add(FilesProvider *files, Router *router, Diag *reterr_diag);

/* The root, for attachments (agent/attach.h). Borrowed until free. */
IoBeneath *files_root(const FilesProvider *files);

/* How commands run, for people and `status`: "confined", "unconfined: …", "refused: …", "none". */
const char *files_commands_state(const FilesProvider *files);
