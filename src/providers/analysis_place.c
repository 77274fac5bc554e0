/* The folder that a job is about (analysis_impl.h). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/place.h"
#include "providers/analysis_impl.h"

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

int analysis_place_open(AnalysisPlace *place, const char *path, Diag *reterr_diag)
{
    int r;

    *place = ANALYSIS_PLACE_NULL;
    if (path[0] == '\0') {
        return diag_set(reterr_diag, ANALYSIS_E_PATH, "Not found: the path is empty");
    }
    r = io_folder_open(&place->folder, path);
    if (r == -ENOTDIR) {
        r = place_open_file(place, path, reterr_diag);
    } else if (r != 0) {
        r = place_fail(path, r, reterr_diag);
    }
    if (r != 0) {
        analysis_place_close(place);
    }
    return r;
}

void analysis_place_close(AnalysisPlace *place)
{
    place->folder = io_folder_free(place->folder);
    place->file = mem_free(place->file);
}
