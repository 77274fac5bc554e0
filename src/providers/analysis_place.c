/* The folder that a job is about (analysis_impl.h). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/beneath.h"
#include "io/error_text.h"
#include "io/place.h"
#include "providers/analysis_impl.h"

bool analysis_is_beneath(const char *root, const char *path)
{
    size_t n = root != NULL ? strlen(root) : 0;

    while (n > 0 && io_place_is_slash(root[n - 1])) {
        n--;
    }
    return n == 0 ||
           (strncmp(path, root, n) == 0 && (path[n] == '\0' || io_place_is_slash(path[n])));
}

int analysis_join(char **ret, const char *base, const char *name)
{
    size_t n_base = strlen(base);
    size_t n_name = strlen(name);
    bool has_slash = n_base > 0 && io_place_is_slash(base[n_base - 1]);
    char *joined = mem_alloc(n_base + n_name + 2);

    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(joined, base, n_base);
    if (!has_slash) {
        joined[n_base++] = '/';
    }
    memcpy(joined + n_base, name, n_name + 1);
    *ret = joined;
    return 0;
}

static int place_fail(const char *path, int r, Diag *reterr_diag)
{
    if (r == -ENOMEM) {
        return r;
    }
    if (r == -ENOENT) {
        return diag_set(reterr_diag, ANALYSIS_E_PATH, "Not found: there is no file or folder at %s",
                        path);
    }
    return diag_set(reterr_diag, ANALYSIS_E_PATH, "Not found: %s cannot be read: %s", path,
                    io_error_text(-r));
}

/* A file: the folder it lies in, and its name. */
static int place_open_file(AnalysisPlace *place, const char *path, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *real = NULL;
    size_t n_folder;
    int r = io_place_real(&real, path);

    if (r != 0) {
        return place_fail(path, r, reterr_diag);
    }
    n_folder = io_place_folder_length(real);
    if (n_folder == 0 || real[n_folder] == '\0') {
        return place_fail(path, -ENOTDIR, reterr_diag);
    }
    place->file = mem_alloc(strlen(real) - n_folder + 1);
    if (place->file == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(place->file, real + n_folder, strlen(real) - n_folder + 1);
    real[n_folder] = '\0';
    r = io_folder_open(&place->folder, real);
    return r == 0 ? 0 : place_fail(path, r, reterr_diag);
}

static int place_open_any(AnalysisPlace *place, const char *path, Diag *reterr_diag)
{
    int r = io_folder_open(&place->folder, path);

    if (r == -ENOTDIR) {
        return place_open_file(place, path, reterr_diag);
    }
    return r == 0 ? 0 : place_fail(path, r, reterr_diag);
}

/* ---- beneath a root ---- */

static int place_fail_outside(const char *path, Diag *reterr_diag)
{
    return diag_set(reterr_diag, ANALYSIS_E_PATH,
                    "Access denied: path outside allowed directory: %s", path);
}

/* The real path of what path means beneath the root. The system says whether it leads out, so that
 * nothing is told of what is outside, not even whether it is there. Gives *ret (mem_free). 0, a
 * negative errno, IO_BENEATH_E_*. */
static int place_resolve(const IoBeneath *root, const char *path, char **ret, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *joined = NULL;
    const char *relative = NULL;
    IoBeneathInfo info;
    int r = io_beneath_relative(root, path, &relative, reterr_diag);

    r = r != 0 ? r : io_beneath_look(root, path, &info, reterr_diag);
    r = r != 0 ? r : analysis_join(&joined, io_beneath_path(root), relative);
    return r != 0 ? r : io_place_real(ret, joined);
}

static int place_open_beneath(AnalysisPlace *place, const char *root, const char *path,
                              Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *real = NULL;
    IoBeneath *beneath = NULL;
    int r = io_beneath_open(&beneath, root, reterr_diag);

    r = r != 0 ? r : io_place_real(&place->root, root);
    r = r != 0 ? r : place_resolve(beneath, path, &real, reterr_diag);
    beneath = io_beneath_free(beneath);
    if (r != 0) {
        return r == IO_BENEATH_E_MISSING ? place_fail(path, -ENOENT, reterr_diag)
               : r > 0                   ? ANALYSIS_E_PATH
                                         : place_fail(path, r, reterr_diag);
    }
    r = place_open_any(place, real, reterr_diag);
    /* Whatever was renamed in between. */
    if (r == 0 && !analysis_is_beneath(place->root, io_folder_path(place->folder))) {
        return place_fail_outside(path, reterr_diag);
    }
    return r;
}

int analysis_place_open(AnalysisPlace *place, const char *root, const char *path, Diag *reterr_diag)
{
    int r;

    *place = ANALYSIS_PLACE_NULL;
    if (path[0] == '\0') {
        return diag_set(reterr_diag, ANALYSIS_E_PATH, "Not found: the path is empty");
    }
    r = root != NULL ? place_open_beneath(place, root, path, reterr_diag)
                     : place_open_any(place, path, reterr_diag);
    if (r != 0) {
        analysis_place_close(place);
    }
    return r;
}

void analysis_place_close(AnalysisPlace *place)
{
    place->folder = io_folder_free(place->folder);
    place->file = mem_free(place->file);
    place->root = mem_free(place->root);
}
