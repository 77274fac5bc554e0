#include "cli/limit_flags.h"

#include <string.h>

#include "base/span.h"

/* The longest name of an option, and its NUL. */
#define LIMIT_FLAGS_NAME_SIZE 64

/* "rate-burst" → rate_burst. False: too long to be a setting. */
static bool flag_setting(const char *flag, char name[LIMIT_FLAGS_NAME_SIZE])
{
    size_t n = strlen(flag);

    if (n >= LIMIT_FLAGS_NAME_SIZE) {
        return false;
    }
    for (size_t i = 0; i <= n; i++) {
        name[i] = flag[i];
        if (flag[i] == '-') {
            name[i] = '_';
        }
    }
    return true;
}

static int flag_apply(const CliArgs *args, const char *flag, const char *value, Config *config)
{
    char name[LIMIT_FLAGS_NAME_SIZE];
    Diag diag = DIAG_NULL;

    if (strcmp(flag, "rate") == 0) {
        if (strcmp(value, "off") != 0) {
            return cli_usage_error(
                args, "--rate: only 'off' is possible; see --rate-burst and --rate-per-s");
        }
        config->limits.rate_off = true;
        return 0;
    }
    if (strcmp(flag, "max-result") == 0) {
        flag = "result-bytes"; /* in the settings it stands among limits, which says the rest */
    }
    if (flag_setting(flag, name) && config_has_number(span_from_str(name)) &&
        config_set(config, span_from_str(name), span_from_str(value), &diag) != 0) {
        return cli_usage_error(args, "--%s: %s", flag, diag.message);
    }
    return 0;
}

int limit_flags_apply(const CliArgs *args, Config *config)
{
    const CliOption *options = args->command->options;

    for (size_t i = 0; options[i].name != NULL; i++) {
        int status = args->values[i] == NULL
                         ? 0
                         : flag_apply(args, options[i].name, args->values[i], config);

        if (status != 0) {
            return status;
        }
    }
    return 0;
}
