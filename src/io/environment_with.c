/* Our environment and some more; declared in io/environment.h. */
#include "io/environment.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"

static size_t with_count(const char *const *strings)
{
    size_t n = 0;

    while (strings[n] != NULL) {
        n++;
    }
    return n;
}

/* Does one of extra set what the entry sets? */
static bool with_is_replaced(const char *entry, const char *const *extra)
{
    const char *end = strchr(entry, '=');
    size_t n = end == NULL ? strlen(entry) : (size_t)(end - entry);

    for (size_t i = 0; extra[i] != NULL; i++) {
        if (io_environment_sets(extra[i], span_make(entry, n))) {
            return true;
        }
    }
    return false;
}

int io_environment_with(const char *const *extra, const char ***ret)
{
    const char *const *ours = io_environment();
    const char **all =
        mem_alloc_array(with_count(ours) + with_count(extra) + 1, sizeof(const char *));
    size_t n = 0;

    if (all == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; ours[i] != NULL; i++) {
        if (!with_is_replaced(ours[i], extra)) {
            all[n++] = ours[i];
        }
    }
    for (size_t i = 0; extra[i] != NULL; i++) {
        all[n++] = extra[i];
    }
    *ret = all;
    return 0;
}
