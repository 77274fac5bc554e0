#include "app/hub_lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/keep.h"
#include "io/program.h"

/* In the state folder: the number of the process, and what it is. */
#define LOCK_NAME      "hub.lock"
#define LOCK_SIGNATURE " toolwire hub\n"

/* More than any of ours has. */
#define LOCK_BYTES 256

static int lock_path(char **ret, const char *folder)
{
    size_t size = strlen(folder) + sizeof("/" LOCK_NAME);
    char *path = mem_alloc(size);

    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(path, size, "%s/" LOCK_NAME, folder);
    *ret = path;
    return 0;
}

/* Who has it? 0 if that cannot be read. */
static long lock_holder(const char *path)
{
    CLEANUP(bytes_deinit) Bytes content = BYTES_NULL;

    bytes_init(&content, LOCK_BYTES);
    if (private_file_read(&content, path, NULL) != 0 || bytes_append_byte(&content, '\0') != 0) {
        return 0;
    }
    return strtol(content.data, NULL, 10);
}

/* It is held: by another process? */
static int lock_say_live(const char *path, Diag *reterr_diag)
{
    long pid = lock_holder(path);

    if (pid == (long)io_program_pid()) {
        return 0;
    }
    if (pid <= 0) {
        return diag_set(reterr_diag, HUB_LOCK_E_LIVE,
                        "a hub for this state folder runs already (see --state): it holds %s",
                        path);
    }
    return diag_set(reterr_diag, HUB_LOCK_E_LIVE,
                    "a hub for this state folder runs already (see --state): process %ld holds %s",
                    pid, path);
}

static int lock_take_at(PrivateFile *ret, const char *path, Diag *reterr_diag)
{
    char content[LOCK_BYTES];
    int n = snprintf(content, sizeof(content), "%ld" LOCK_SIGNATURE, (long)io_program_pid());
    int r = io_keep_make_folders(path);

    if (r != 0) {
        return diag_set(reterr_diag, HUB_LOCK_E_PLACE, "%s: %s", path, io_error_text(-r));
    }
    r = private_file_create(ret, path, span_make(content, (size_t)n), SPAN(LOCK_SIGNATURE),
                            reterr_diag);
    if (r == PRIVATE_FILE_E_IN_USE) {
        return lock_say_live(path, reterr_diag);
    }
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    if (r < 0) {
        return diag_set(reterr_diag, HUB_LOCK_E_PLACE, "%s: %s", path, io_error_text(-r));
    }
    return r > 0 ? HUB_LOCK_E_PLACE : 0;
}

int hub_lock_take(PrivateFile *ret, const char *state_folder, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *own = NULL;
    CLEANUP(mem_freep) char *path = NULL;
    int r = state_folder == NULL ? io_keep_folder(&own) : 0;

    *ret = PRIVATE_FILE_NULL;
    if (r == -ENOENT) {
        return 0;
    }
    r = r != 0 ? r : lock_path(&path, state_folder == NULL ? own : state_folder);
    return r != 0 ? err_pass(r) : lock_take_at(ret, path, reterr_diag);
}
