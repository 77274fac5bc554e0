/* Members of a configuration that are lists of strings. */
#include "app/config_internal.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

char **config_free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        list[i] = mem_free(list[i]);
    }
    return mem_free(list);
}

int config_read_list(const ConfigReader *reader, JsonValue value, const char *field,
                     const char *expected,
                     int (*read)(const ConfigReader *reader, JsonValue value, char **ret),
                     char ***ret)
{
    bool is_list = json_kind(value) == JSON_ARRAY;
    char element[DIAG_FIELD_SIZE];
    char **list;
    size_t n = 0;
    int r = 0;

    if (!is_list && json_kind(value) != JSON_STRING) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected %s", expected);
        return config_place(reader, value, field, CONFIG_E_INVALID);
    }
    list = mem_alloc_array((is_list ? json_count(value) : 1) + 1, sizeof(*list));
    if (list == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)config_free_list(*ret);
    *ret = list; /* from here on it goes with the configuration */
    if (!is_list) {
        return config_place(reader, value, field, read(reader, value, &list[0]));
    }
    for (JsonIter it = json_iter(value); r == 0 && json_iter_next(&it); n++) {
        (void)snprintf(element, sizeof(element), "%.80s[%zu]", field, n);
        r = config_place(reader, it.value, element, read(reader, it.value, &list[n]));
    }
    return r;
}

int config_replace_list(char ***list, const char *const *values)
{
    char **copy;
    size_t n = 0;
    int r = 0;

    while (values[n] != NULL) {
        n++;
    }
    copy = mem_alloc_array(n + 1, sizeof(*copy));
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = config_replace(&copy[i], values[i]);
    }
    if (r != 0) {
        (void)config_free_list(copy);
        return err_pass(r);
    }
    (void)config_free_list(*list);
    *list = copy;
    return 0;
}
