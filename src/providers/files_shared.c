/* What the threads of the file tools share: the root, limits, and how commands run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/environment.h"
#include "io/error_text.h"
#include "providers/files_impl.h"

const char *const files_default_commands[] = {"ls",   "pwd",  "date", "echo", "cat",
                                              "grep", "head", "tail", "wc",   NULL};

FilesShared *files_shared_unref(FilesShared *shared)
{
    if (shared == NULL || --shared->n_refs > 0) {
        return NULL;
    }
    shared->root = io_beneath_free(shared->root);
    shared->confine = io_confine_free(shared->confine);
    shared->commands = files_strings_free(shared->commands);
    shared->environment = files_strings_free(shared->environment);
    return mem_free(shared);
}

/* A name that is looked up, and nothing that leads elsewhere. */
static bool shared_is_name(const char *name)
{
    return name[0] != '\0' && name[0] != '-' && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int shared_copy_commands(FilesShared *shared, const char *const *commands, Diag *reterr_diag)
{
    size_t n = 0;

    while (commands != NULL && commands[n] != NULL) {
        n++;
    }
    shared->commands = mem_alloc_array(n + 1, sizeof(*shared->commands));
    if (shared->commands == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        size_t n_name = strlen(commands[i]) + 1;

        if (!shared_is_name(commands[i])) {
            return diag_set(reterr_diag, FILES_E_COMMAND,
                            "'%s' is no name of a command: programs are named without a path",
                            commands[i]);
        }
        shared->commands[i] = mem_alloc(n_name);
        if (shared->commands[i] == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(shared->commands[i], commands[i], n_name);
    }
    shared->n_commands = n;
    return 0;
}

/* Whether commands run, and how. */
static int shared_confine(FilesShared *shared, const FilesConfig *config)
{
    Diag diag = DIAG_NULL;
    int r;

    if (shared->n_commands == 0) {
        (void)snprintf(shared->state, sizeof(shared->state), "none");
        return 0;
    }
    r = io_confine_new(&shared->confine,
                       &(IoConfineSpec){.write_fd = io_beneath_fd(shared->root),
                                        .read_folders = config->read_folders,
                                        .allow_network = config->allow_network},
                       &diag);
    if (r == -ENOMEM) {
        return r;
    }
    if (r < 0) {
        (void)diag_set(&diag, r, "the kernel refuses the rules: %s", io_error_text(-r));
    }
    shared->may_run = r == 0 || config->allow_unconfined;
    if (r == 0) {
        (void)snprintf(shared->state, sizeof(shared->state), "confined");
    } else {
        (void)snprintf(shared->state, sizeof(shared->state), "%s: %s",
                       shared->may_run ? "unconfined" : "refused", diag.message);
    }
    return 0;
}

static int shared_fill(FilesShared *shared, const FilesConfig *config, Diag *reterr_diag)
{
    int r = io_beneath_open(&shared->root, config->root, reterr_diag);

    if (r != 0) {
        return r == IO_BENEATH_E_UNSUPPORTED ? FILES_E_UNSUPPORTED : r > 0 ? FILES_E_ROOT : r;
    }
    r = shared_copy_commands(shared, config->commands, reterr_diag);
    r = r != 0 ? r : shared_confine(shared, config);
    return r != 0 ? r
                  : files_environment_new(&shared->environment, io_beneath_path(shared->root),
                                          io_environment());
}

#define SHARED_LIMIT(member, fallback)                                                             \
    shared->member = config->member > 0 ? config->member : (fallback)

static void shared_set_limits(FilesShared *shared, const FilesConfig *config)
{
    SHARED_LIMIT(max_file_bytes, LIMIT_FILES_BYTES);
    SHARED_LIMIT(max_output_bytes, LIMIT_FILES_OUTPUT_BYTES);
    SHARED_LIMIT(command_ms, LIMIT_FILES_COMMAND_MS);
    SHARED_LIMIT(max_search_entries, LIMIT_FILES_SEARCH_ENTRIES);
    SHARED_LIMIT(max_search_bytes, LIMIT_FILES_SEARCH_BYTES);
    SHARED_LIMIT(search_ms, LIMIT_FILES_SEARCH_MS);
}

int files_shared_new(FilesShared **ret, const FilesConfig *config, Diag *reterr_diag)
{
    FilesShared *shared = mem_alloc_array(1, sizeof(*shared));
    int r;

    if (shared == NULL) {
        return err_raise(-ENOMEM);
    }
    shared->n_refs = 1;
    shared_set_limits(shared, config);
    shared->allow_network = config->allow_network;
    r = shared_fill(shared, config, reterr_diag);
    if (r != 0) {
        (void)files_shared_unref(shared);
        return r;
    }
    *ret = shared;
    return 0;
}
