/* The member `lazy_tools` of a configuration: which tools are listed. */
#include "app/config_internal.h"

#include "base/compiler.h"
#include "base/error.h"

static const char *const config_lazy_keys[] = {"always"};

int config_read_lazy_tools(const ConfigReader *reader, JsonValue lazy)
{
    Config *config = reader->config;

    if (json_bool(lazy, &config->lazy_tools)) {
        return 0;
    }
    if (json_kind(lazy) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected true, false or an object");
        return config_place(reader, lazy, "lazy_tools", CONFIG_E_INVALID);
    }
    config->lazy_tools = true;
    for (JsonIter it = json_iter(lazy); json_iter_next(&it);) {
        Span name;
        int r = json_string(it.key, reader->arena, &name);

        if (r != 0) {
            return err_fold(r);
        }
        r = span_equals(name, SPAN("always"))
                ? config_read_list(reader, it.value, "lazy_tools.always",
                                   "a name or an array of names", config_read_string,
                                   &config->lazy_always)
                : config_unknown(reader, it.key, name, "lazy_tools.", config_lazy_keys,
                                 TW_ARRAY_SIZE(config_lazy_keys));
        if (r != 0) {
            return r;
        }
    }
    return 0;
}
