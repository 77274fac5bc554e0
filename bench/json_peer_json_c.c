#include "json_peers.h"

#include <json-c/json.h>

int peer_json_c_parse(const char *text, size_t n)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *object;

    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    object = json_tokener_parse_ex(tokener, text, (int)n);
    json_tokener_free(tokener);
    if (object == NULL) {
        return 1;
    }
    json_object_put(object);
    return 0;
}
