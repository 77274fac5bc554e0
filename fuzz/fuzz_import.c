/* Reads settings of other programs and puts what was found into ours; checks that comments go
 * without a trace, that JSON stays as it is, and that what is written holds what was there.
 *
 * Input: flags (FLAG_*), then the text. */
#include "fuzz.h"

#include <string.h>

#include "app/config.h"
#include "app/import.h"
#include "app/jsonc.h"
#include "base/alloc.h"
#include "json/json.h"

enum {
    FLAG_REFS = 1u << 0,
    FLAG_REPLACE = 1u << 1,
    FLAG_INTO = 1u << 3, /* into the text itself */
};

#define MAX_BYTES ((size_t)4 * 1024 * 1024)

/* JSON is left alone, and all keeps its length; twice is as once. */
static void check_jsonc(Span text)
{
    Arena arena;
    JsonDoc doc;
    Bytes once;
    Bytes twice;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&once, MAX_BYTES);
    bytes_init(&twice, MAX_BYTES);
    if (jsonc_to_json(&once, text, NULL) == 0) {
        FUZZ_REQUIRE(once.n == text.n);
        if (json_parse(&doc, &arena, text.p, text.n, NULL, NULL) == 0) {
            FUZZ_REQUIRE(span_equals(bytes_span(&once), text));
        }
        if (json_parse(&doc, &arena, once.data, once.n, NULL, NULL) == 0) {
            FUZZ_REQUIRE(jsonc_to_json(&twice, bytes_span(&once), NULL) == 0);
            FUZZ_REQUIRE(span_equals(bytes_span(&once), bytes_span(&twice)));
        }
    }
    bytes_deinit(&once);
    bytes_deinit(&twice);
    arena_deinit(&arena);
}

/* What is shown in place of settings is JSON, too. */
static void check_mask(Span settings)
{
    Arena arena;
    JsonDoc doc;
    Bytes out;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 8 * MAX_BYTES);
    FUZZ_REQUIRE(import_mask_settings(settings, &out) == 0);
    FUZZ_REQUIRE(json_parse(&doc, &arena, out.data, out.n, NULL, NULL) == 0);
    bytes_deinit(&out);
    arena_deinit(&arena);
}

/* What is written is taken: a server may want a variable, but the file is no error. */
static void check_settings(Span settings)
{
    Config config;

    FUZZ_REQUIRE(config_parse(&config, settings, "/srv/toolwire.json", NULL) == 0);
    config_deinit(&config);
}

static void check_merge(const Import *import, Span text, unsigned flags)
{
    static ImportChange changes[IMPORT_MAX_SERVERS];
    Span into = (flags & FLAG_INTO) != 0 ? text : SPAN("{\"tools\":\"t.json\"}");
    Arena arena;
    JsonDoc doc;
    Bytes out;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 4 * MAX_BYTES);
    if (import_merge(import, SPAN("toolwire.json"), into, (flags & FLAG_REPLACE) != 0, changes,
                     &out, NULL) == 0) {
        JsonValue servers;

        FUZZ_REQUIRE(json_parse(&doc, &arena, out.data, out.n, NULL, NULL) == 0);
        check_mask(bytes_span(&out));
        if ((flags & FLAG_INTO) == 0) {
            check_settings(bytes_span(&out));
        }
        for (size_t i = 0; i < import->n_servers; i++) {
            if (import->servers[i].skipped.n == 0 && changes[i] != IMPORT_BEYOND) {
                FUZZ_REQUIRE(json_get(json_root(&doc), SPAN("mcpServers"), &servers));
                FUZZ_REQUIRE(json_get(servers, import->servers[i].name, &servers));
                FUZZ_REQUIRE(config_check_server(import->servers[i].name, import->servers[i].json,
                                                 NULL) == 0);
            }
        }
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned flags = n > 0 ? data[0] : 0;
    Span text = n > 0 ? span_make((const char *)data + 1, n - 1) : SPAN("");
    Import *import;

    if (n > MAX_BYTES / 2) {
        return 0;
    }
    check_jsonc(text);
    import = mem_alloc(sizeof(*import));
    if (import == NULL) {
        return 0;
    }
    import_init(import, SPAN("/srv/app"), (flags & FLAG_REFS) != 0);
    if (import_read(import, SPAN("/srv/app/.vscode/mcp.json"), text, NULL) == 0) {
        check_merge(import, text, flags);
    }
    import_deinit(import);
    mem_free(import);
    return 0;
}
