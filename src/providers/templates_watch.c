/* How often the folders of templates are looked at, and what is seen. */
#include "base/error.h"
#include "io/tree.h"
#include "providers/template_source.h"
#include "providers/templates_impl.h"

#define WATCH_PATH_SIZE 4096

int templates_look(const Templates *templates, uint64_t *ret)
{
    char own[WATCH_PATH_SIZE];
    uint64_t sum = 0;
    uint64_t one = 0;
    int r = 0;

    if (template_source_user_folder(own, sizeof(own))) {
        r = io_tree_state(own, &one);
        sum = one;
    }
    for (size_t i = 0; r == 0 && templates->folders != NULL && templates->folders[i] != NULL; i++) {
        r = io_tree_state(templates->folders[i], &one);
        sum = sum * 31 + one; /* the order counts */
    }
    if (r == 0) {
        *ret = sum;
    }
    return err_pass(r);
}

int64_t templates_wait_ms(int64_t look_ms)
{
    int64_t wait_ms =
        look_ms < TEMPLATES_WAIT_MAX_MS ? look_ms * TEMPLATES_IDLE_SHARE : TEMPLATES_WAIT_MAX_MS;

    if (wait_ms < TEMPLATES_PERIOD_MS) {
        return TEMPLATES_PERIOD_MS;
    }
    return wait_ms < TEMPLATES_WAIT_MAX_MS ? wait_ms : TEMPLATES_WAIT_MAX_MS;
}
