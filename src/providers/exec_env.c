#include "providers/exec_env.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/span.h"
#include "io/environment.h"
#include "providers/exec_env_names.h"

#define ENV_LOCALE_PREFIX "LC_"

/* The value of a variable of ours, with its name in front; NULL if it is not set. */
static const char *env_find_variable(Span name)
{
    for (const char *const *at = io_environment(); at != NULL && *at != NULL; at++) {
        if (exec_env_is_same(*at, name.p, name.n) && (*at)[name.n] == '=') {
            return *at;
        }
    }
    return NULL;
}

static bool env_is_passed_on(const char *variable)
{
    if (strncmp(variable, ENV_LOCALE_PREFIX, strlen(ENV_LOCALE_PREFIX)) == 0) {
        return true;
    }
    for (const char *const *name = exec_env_names; *name != NULL; name++) {
        size_t n = strlen(*name);

        if (exec_env_is_same(variable, *name, n) && variable[n] == '=') {
            return true;
        }
    }
    return false;
}

/* Puts NAME=value into the environment, in the place of one of the same name if there is one. */
static void env_set_variable(const char **environment, size_t *n, const char *variable)
{
    size_t n_name = strcspn(variable, "=") + 1;

    for (size_t i = 0; i < *n; i++) {
        if (exec_env_is_same(environment[i], variable, n_name)) {
            environment[i] = variable;
            return;
        }
    }
    environment[(*n)++] = variable;
}

/* Gives NAME=value in the arena, a copy: ours may change. NULL without memory. */
static const char *env_copy_variable(Arena *arena, Span name, const char *value)
{
    size_t n_value = strlen(value);
    char *copy = arena_alloc(arena, name.n + n_value + 2);

    if (copy != NULL) {
        memcpy(copy, name.p, name.n);
        copy[name.n] = '=';
        memcpy(copy + name.n + 1, value, n_value + 1);
    }
    return copy;
}

static int env_add_own_variable(Arena *arena, const char **environment, size_t *n,
                                const ToolsFileVariable *variable)
{
    Span name = span_from_str(variable->name);
    const char *value = variable->value;
    const char *ours;
    const char *copy;

    if (value == NULL) {
        ours = env_find_variable(name);
        if (ours == NULL) {
            return 0;
        }
        value = ours + name.n + 1;
    }
    copy = env_copy_variable(arena, name, value);
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    env_set_variable(environment, n, copy);
    return 0;
}

int exec_env_make(const char *const **ret, Arena *arena, const ToolsFileVariable *variables,
                  size_t n_variables)
{
    const char **environment;
    size_t n_max = n_variables + 1;
    size_t n = 0;

    for (const char *const *at = io_environment(); at != NULL && *at != NULL; at++) {
        n_max += env_is_passed_on(*at);
    }
    environment = arena_alloc_array(arena, n_max, sizeof(*environment));
    if (environment == NULL) {
        return err_raise(-ENOMEM);
    }
    for (const char *const *at = io_environment(); at != NULL && *at != NULL; at++) {
        if (env_is_passed_on(*at)) {
            Span copy = arena_copy(arena, span_from_str(*at));

            if (copy.p == NULL) {
                return err_raise(-ENOMEM);
            }
            env_set_variable(environment, &n, copy.p);
        }
    }
    for (size_t i = 0; i < n_variables; i++) {
        int r = env_add_own_variable(arena, environment, &n, &variables[i]);

        if (r != 0) {
            return err_pass(r);
        }
    }
    *ret = environment;
    return 0;
}
