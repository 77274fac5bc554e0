/* Puts servers into the text of our settings, where all else stays as it is. */
#include "app/import.h"

#include <string.h>

#include "app/config.h"
#include "app/jsonc.h"
#include "base/error.h"
#include "json/json.h"
#include "json/writer.h"

/* The text on its way: copied up to `at`, with what is put in between. */
typedef struct Merge {
    Bytes *out;
    Span text;
    Span plain; /* the text with blanks in place of comments: what values point into */
    size_t at;
    int r;
} Merge;

static void merge_add(Merge *merge, Span what)
{
    merge->r = merge->r != 0 ? merge->r : bytes_append_span(merge->out, what);
}

/* Copies the text up to that offset. */
static void merge_copy(Merge *merge, size_t to)
{
    merge_add(merge, span_make(merge->text.p + merge->at, to - merge->at));
    merge->at = to;
}

static size_t offset_of(const Merge *merge, JsonValue value)
{
    return (size_t)(json_span(value).p - merge->plain.p);
}

static bool is_empty(Span text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (strchr(" \t\r\n", text.p[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static size_t end_of(const Merge *merge, JsonValue value)
{
    return offset_of(merge, value) + json_span(value).n;
}

static bool object_last(JsonValue object, JsonValue *ret)
{
    bool found = false;

    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        *ret = it.value;
        found = true;
    }
    return found;
}

static void merge_name(Merge *merge, Span name)
{
    JsonWriter w;

    if (merge->r == 0) {
        json_writer_init(&w, merge->out, JSON_STYLE_COMPACT);
        json_write_string(&w, name);
        merge->r = json_writer_finish(&w);
    }
}

/* The new members, one a line. is_first: nothing stands before them. */
static void merge_members(Merge *merge, const Import *import, const ImportChange *changes,
                          bool is_first)
{
    for (size_t i = 0; i < import->n_servers; i++) {
        const ImportServer *server = &import->servers[i];

        if (server->skipped.n > 0 || changes[i] != IMPORT_ADDED) {
            continue;
        }
        merge_add(merge, is_first ? SPAN("\n    ") : SPAN(",\n    "));
        merge_name(merge, server->name);
        merge_add(merge, SPAN(": "));
        merge_add(merge, server->json);
        is_first = false;
    }
}

/* Opens an object that has no members: comments in it stay, the blanks before its end go. What is
 * added begins with a line end, which ends a comment that needs one. */
static void merge_open(Merge *merge, JsonValue object)
{
    size_t end = end_of(merge, object) - 1;
    size_t last = end;

    while (strchr(" \t\r\n", merge->text.p[last - 1]) != NULL) {
        last--;
    }
    merge_copy(merge, last);
    merge->at = end;
}

/* The object mcpServers is there. */
static void merge_into(Merge *merge, const Import *import, JsonValue servers,
                       const ImportChange *changes)
{
    JsonValue last = JSON_VALUE_NULL;
    bool has_last = object_last(servers, &last);

    for (JsonIter it = json_iter(servers); json_iter_next(&it);) {
        for (size_t i = 0; i < import->n_servers; i++) {
            const ImportServer *server = &import->servers[i];

            if (server->skipped.n == 0 && changes[i] == IMPORT_REPLACED &&
                json_string_equals(it.key, server->name)) {
                merge_copy(merge, offset_of(merge, it.value));
                merge_add(merge, server->json);
                merge->at = end_of(merge, it.value);
            }
        }
    }
    if (has_last) {
        merge_copy(merge, end_of(merge, last));
    } else {
        merge_open(merge, servers);
    }
    merge_members(merge, import, changes, !has_last);
    if (!has_last) {
        merge_add(merge, SPAN("\n  "));
    }
}

static void merge_object(Merge *merge, const Import *import, const ImportChange *changes)
{
    merge_add(merge, SPAN("\"mcpServers\": {"));
    merge_members(merge, import, changes, true);
    merge_add(merge, SPAN("\n  }"));
}

static bool changes_any(const Import *import, const ImportChange *changes)
{
    for (size_t i = 0; i < import->n_servers; i++) {
        if (import->servers[i].skipped.n == 0 && changes[i] != IMPORT_SAME &&
            changes[i] != IMPORT_BEYOND) {
            return true;
        }
    }
    return false;
}

/* Before all else, where it is seen. */
static void merge_toolkit(Merge *merge, const Import *import, JsonValue root, bool is_alone)
{
    JsonValue member;

    if (import->toolkit && !json_get(root, SPAN("toolkit"), &member)) {
        merge_copy(merge, offset_of(merge, root) + 1);
        merge_add(merge, SPAN("\n  \"toolkit\": true"));
        merge_add(merge, is_alone ? SPAN("") : SPAN(","));
    }
}

static void merge_write(Merge *merge, const Import *import, JsonValue root,
                        const ImportChange *changes)
{
    bool has_changes = changes_any(import, changes);
    JsonValue member;

    if (root.node == NULL) {
        if (!is_empty(merge->text)) { /* comments only */
            merge_copy(merge, merge->text.n);
            merge_add(merge, SPAN("\n"));
        }
        merge_add(merge, SPAN("{\n  "));
        merge_add(merge, import->toolkit ? SPAN("\"toolkit\": true,\n  ") : SPAN(""));
        merge_object(merge, import, changes);
        merge_add(merge, SPAN("\n}\n"));
        return;
    }
    merge_toolkit(merge, import, root, !has_changes && !object_last(root, &member));
    if (!has_changes) {
        merge_copy(merge, merge->text.n);
        return;
    }
    if (json_get(root, SPAN("mcpServers"), &member)) {
        merge_into(merge, import, member, changes);
    } else if (object_last(root, &member)) {
        merge_copy(merge, end_of(merge, member));
        merge_add(merge, SPAN(",\n  "));
        merge_object(merge, import, changes);
    } else {
        merge_open(merge, root);
        merge_add(merge, SPAN("\n  "));
        merge_object(merge, import, changes);
        merge_add(merge, SPAN("\n"));
    }
    merge_copy(merge, merge->text.n);
}

/* What becomes of one server. 0, -ENOMEM, IMPORT_E_CLASH. */
static int change_of(Arena *arena, const ImportServer *server, JsonValue servers, bool replace,
                     ImportChange *ret)
{
    JsonValue there;
    JsonDoc doc;
    int r;

    *ret = IMPORT_ADDED;
    if (server->skipped.n > 0 || servers.node == NULL || !json_get(servers, server->name, &there)) {
        return 0;
    }
    r = json_parse(&doc, arena, server->json.p, server->json.n, NULL, NULL);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = json_equals(there, json_root(&doc)) ? IMPORT_SAME
           : replace                           ? IMPORT_REPLACED
                                               : IMPORT_TAKEN;
    return *ret == IMPORT_TAKEN ? IMPORT_E_CLASH : 0;
}

static int merge_plan(const Import *import, Arena *arena, Span path, JsonValue root, bool replace,
                      ImportChange *changes, Diag *reterr_diag)
{
    JsonValue servers = JSON_VALUE_NULL;
    size_t n_servers = 0;
    int clash = 0;

    if (root.node != NULL && json_kind(root) != JSON_OBJECT) {
        return diag_set(reterr_diag, IMPORT_E_SYNTAX, "%.*s: expected an object", (int)path.n,
                        path.p);
    }
    if (root.node != NULL && json_get(root, SPAN("mcpServers"), &servers) &&
        json_kind(servers) != JSON_OBJECT) {
        return diag_set(reterr_diag, IMPORT_E_SYNTAX, "%.*s: mcpServers: expected an object",
                        (int)path.n, path.p);
    }
    n_servers = servers.node != NULL ? json_count(servers) : 0;
    for (size_t i = 0; i < import->n_servers; i++) {
        const ImportServer *server = &import->servers[i];
        int r = change_of(arena, server, servers, replace, &changes[i]);

        if (server->skipped.n == 0 && changes[i] == IMPORT_ADDED &&
            n_servers++ >= CONFIG_MAX_SERVERS) {
            changes[i] = IMPORT_BEYOND;
        }

        if (r == IMPORT_E_CLASH && clash == 0) {
            clash = diag_set(reterr_diag, IMPORT_E_CLASH,
                             "%.*s has another server '%.*s'; --replace takes the one that was "
                             "found",
                             (int)path.n, path.p, (int)(server->name.n < 80 ? server->name.n : 80),
                             server->name.p);
        } else if (r != 0 && r != IMPORT_E_CLASH) {
            return err_pass(r);
        }
    }
    return clash;
}

/* The settings as they are, into *ret_root; null if there is nothing in them. */
static int merge_parse(Merge *merge, Arena *arena, Bytes *plain, Span path, JsonValue *ret_root,
                       Diag *reterr_diag)
{
    JsonDoc doc;
    int r = jsonc_to_json(plain, merge->text, reterr_diag);

    merge->plain = bytes_span(plain);
    if (r == 0 && !is_empty(merge->plain)) {
        r = json_parse(&doc, arena, merge->plain.p, merge->plain.n, NULL, reterr_diag);
        if (r == 0) {
            *ret_root = json_root(&doc);
        }
    }
    if (r > 0 && reterr_diag != NULL) {
        diag_prefix(reterr_diag, "%.*s:%u:%u: ", (int)(path.n < 200 ? path.n : 200), path.p,
                    reterr_diag->line, reterr_diag->column);
    }
    return r > 0 ? IMPORT_E_SYNTAX : r;
}

int import_merge(const Import *import, Span path, Span text, bool replace,
                 ImportChange changes[IMPORT_MAX_SERVERS], Bytes *out, Diag *reterr_diag)
{
    Merge merge = {.out = out, .text = text};
    JsonValue root = JSON_VALUE_NULL;
    size_t n_out = out->n;
    Arena arena;
    Bytes plain;
    int r;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&plain, text.n);
    r = merge_parse(&merge, &arena, &plain, path, &root, reterr_diag);
    r = r != 0 ? r : merge_plan(import, &arena, path, root, replace, changes, reterr_diag);
    if (r == 0) {
        merge_write(&merge, import, root, changes);
        r = merge.r > 0 ? err_raise(-ENOMEM) : merge.r;
    }
    if (r != 0) {
        out->n = n_out;
    }
    bytes_deinit(&plain);
    arena_deinit(&arena);
    return r;
}

/* Settings that cannot be used offer nothing. */
static bool settings_offer_toolkit(const char *path, Span text, ConfigToolkit *ret_said)
{
    Config config = CONFIG_NULL;
    bool offers;

    if (!is_empty(text) && config_parse(&config, text, path, NULL) != 0) {
        return false;
    }
    offers = config_offers_toolkit(&config);
    *ret_said = config.toolkit;
    config_deinit(&config);
    return offers;
}

bool import_ends_toolkit(const char *path, Span before, Span after)
{
    ConfigToolkit said = CONFIG_TOOLKIT_LEFT_OUT;

    return settings_offer_toolkit(path, before, &said) &&
           !settings_offer_toolkit(path, after, &said) && said == CONFIG_TOOLKIT_UNSAID;
}
