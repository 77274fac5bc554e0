/* What a server listed, kept in a file for the next run: a hub with twenty servers then shows their
 * lists and starts none of them.
 *
 *     STATE/servers/HASH.json    { "toolwire": "lists", "version": 1, "key": "…", "listedMs": 1,
 *                                  "completes": true, "subscribes": true, "tools": [ … ],
 *                                  "resources": [ … ], "resourceTemplates": [ … ],
 *                                  "prompts": [ … ] }
 *
 * Descriptions are the bytes that the server sent, and are looked at again as if they came from it.
 * The file is named by what is started, so that a server has one; it is good for those settings
 * only of which key is the hash: all that decides what a server lists, also its environment and
 * headers. Nothing else of these is written.
 */
#include "providers/upstream_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "io/error_text.h"
#include "io/keep.h"
#include "router/safety/sha256.h"

#define KEPT_VERSION 1

/* Between two writings: a server may change its lists as often as it likes. */
#define KEPT_PAUSE_MS 10000

/* Lists that were read again and are the same make the file younger, but not each time. */
#define KEPT_RENEW_MS (LIMIT_UPSTREAM_KEPT_MS / 4)

/* Of the settings of one server, while they are hashed. */
#define KEPT_SETTINGS_BYTES ((size_t)4 * 1024 * 1024)

/* "/servers/", 32 digits, ".json" and a NUL. */
#define KEPT_NAME_SIZE 64

/* ---- what a server is ---- */

/* Texts are counted, so that no two lists of them are the same bytes. */
static int kept_add(Bytes *out, const char *text)
{
    return text == NULL ? bytes_append_format(out, "-;")
                        : bytes_append_format(out, "%zu:%s;", strlen(text), text);
}

static int kept_add_list(Bytes *out, char *const *list)
{
    int r = 0;

    for (size_t i = 0; r == 0 && list != NULL && list[i] != NULL; i++) {
        r = kept_add(out, list[i]);
    }
    return r != 0 ? r : bytes_append_format(out, list == NULL ? "-|" : "|");
}

static int kept_add_pairs(Bytes *out, const UpstreamPair *pairs, size_t n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        r = kept_add(out, pairs[i].name);
        r = r != 0 ? r : kept_add(out, pairs[i].value);
    }
    return r != 0 ? r : bytes_append_byte(out, '|');
}

static int kept_add_auth(Bytes *out, const OauthSettings *auth)
{
    int r = bytes_append_format(out, "%d,%d;", (int)auth->grant, (int)auth->is_dpop);

#define X(field) r = r != 0 ? r : kept_add(out, auth->field);
    OAUTH_SETTINGS_STRINGS(X)
#undef X
    return r;
}

/* What is started, and where. */
static int kept_add_place(Bytes *out, const UpstreamSpec *spec)
{
    int r = kept_add(out, spec->name);

    r = r != 0 ? r : kept_add(out, spec->command);
    r = r != 0 ? r : kept_add_list(out, spec->args);
    r = r != 0 ? r : kept_add(out, spec->cwd);
    return r != 0 ? r : kept_add(out, spec->url);
}

/* And all else that decides what it lists here. */
static int kept_add_rest(Bytes *out, const UpstreamSpec *spec)
{
    int r = kept_add_pairs(out, spec->env, spec->n_env);

    r = r != 0 ? r : kept_add_pairs(out, spec->headers, spec->n_headers);
    r = r != 0 ? r : kept_add_auth(out, &spec->auth);
    r = r != 0 ? r : kept_add_list(out, spec->allow);
    r = r != 0 ? r : kept_add_list(out, spec->deny);
    return r != 0 ? r : bytes_append_format(out, "%d", (int)spec->era);
}

int upstream_kept_init(Upstream *server)
{
    const char *state = server->owner->state;
    uint8_t hash[SAFETY_HASH_BYTES] = {0};
    char name[KEPT_NAME_SIZE];
    Bytes text;
    int r;

    if (state == NULL || server->spec.is_eager || server->spec.is_disabled) {
        return 0;
    }
    bytes_init(&text, KEPT_SETTINGS_BYTES);
    r = kept_add_place(&text, &server->spec);
    r = r != 0 ? r : safety_sha256(bytes_span(&text), hash);
    safety_hex("/servers/", hash, 16, name);
    r = r != 0 ? r : kept_add_rest(&text, &server->spec);
    r = r != 0 ? r : safety_sha256(bytes_span(&text), hash);
    safety_hex("", hash, sizeof(hash), server->kept_key);
    bytes_clear(&text);
    r = r != 0 ? r : bytes_append_format(&text, "%s%s.json", state, name);
    if (r == 0) {
        server->kept_path = arena_copy(&server->strings, bytes_span(&text)).p;
    }
    bytes_deinit(&text);
    return r == -ENOMEM || (r == 0 && server->kept_path == NULL) ? err_raise(-ENOMEM) : 0;
}

/* ---- from the file ---- */

static bool kept_bool(JsonValue root, Span name)
{
    JsonValue member;
    bool flag = false;

    return json_get(root, name, &member) && json_bool(member, &flag) && flag;
}

/* NULL: it is ours, and of these settings. */
static const char *kept_check(const Upstream *server, JsonValue root, int64_t *ret_listed_ms)
{
    int64_t version = 0;
    JsonValue member;

    if (json_kind(root) != JSON_OBJECT || !json_get(root, SPAN("toolwire"), &member) ||
        !json_string_equals(member, SPAN("lists"))) {
        return "the file is another";
    }
    if (!json_get(root, SPAN("version"), &member) || json_int64(member, &version) != 0 ||
        version != KEPT_VERSION) {
        return "the file is of another version";
    }
    if (!json_get(root, SPAN("key"), &member) ||
        !json_string_equals(member, span_from_str(server->kept_key))) {
        return "the settings of the server have changed";
    }
    if (!json_get(root, SPAN("listedMs"), &member) || json_int64(member, ret_listed_ms) != 0) {
        return "the file does not say when it was written";
    }
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        if (json_get(root, upstream_list_member(kind), &member) &&
            json_kind(member) != JSON_ARRAY) {
            return "one of its lists is none";
        }
    }
    return NULL;
}

/* Lists of tomorrow are of somebody who has set the clock. */
static void kept_take_age(Upstream *server, int64_t listed_ms)
{
    int64_t age_ms = listed_ms > 0 ? clock_now_ms() - listed_ms : -1;
    bool is_fresh = age_ms >= 0 && age_ms < LIMIT_UPSTREAM_KEPT_MS;

    server->kept_ms = is_fresh ? listed_ms : 0;
    server->is_settled = is_fresh;
    server->stale_ms =
        is_fresh ? io_loop_now_ms(server->owner->config.loop) + LIMIT_UPSTREAM_KEPT_MS - age_ms
                 : INT64_MAX;
}

static const char *kept_take(Upstream *server, Span text, Arena *arena)
{
    const char *fault;
    int64_t listed_ms = 0;
    JsonValue member;
    JsonDoc doc;

    if (json_parse(&doc, arena, text.p, text.n, NULL, NULL) != 0) {
        return "the file is damaged";
    }
    fault = kept_check(server, json_root(&doc), &listed_ms);
    for (RouterKind kind = 0; fault == NULL && kind < ROUTER_N_KINDS; kind++) {
        if (json_get(json_root(&doc), upstream_list_member(kind), &member) &&
            upstream_list_set(server, kind, member) != 0) {
            fault = "there is no room for it";
        }
    }
    if (fault == NULL) {
        server->offer.completes = kept_bool(json_root(&doc), SPAN("completes"));
        server->offer.subscribes = kept_bool(json_root(&doc), SPAN("subscribes"));
        kept_take_age(server, listed_ms);
    }
    return fault;
}

void upstream_kept_load(Upstream *server)
{
    const char *fault = NULL;
    Arena arena;
    Bytes text;
    int r;

    if (server->kept_path == NULL) {
        return;
    }
    bytes_init(&text, LIMIT_UPSTREAM_KEPT_BYTES);
    r = io_keep_read(server->kept_path, &text);
    if (r == 0) {
        arena_init(&arena, SIZE_MAX);
        fault = kept_take(server, bytes_span(&text), &arena);
        arena_deinit(&arena);
    } else if (r != -ENOENT) {
        fault = r > 0 ? "the file is too large" : io_error_text(-r);
    }
    if (fault != NULL) {
        logsink_write(server->owner->config.log, LOGSINK_LEVEL_DEBUG, "upstream",
                      "%s: its kept lists are not used: %s", server->spec.name, fault);
    }
    bytes_deinit(&text);
}

/* ---- to the file ---- */

static int kept_write_list(Bytes *out, const UpstreamList *list, RouterKind kind)
{
    Span member = upstream_list_member(kind);
    int r = bytes_append_format(out, ",\n\"%.*s\":[", (int)member.n, member.p);

    for (size_t i = 0; r == 0 && i < list->n; i++) {
        r = bytes_append_span(out, i > 0 ? SPAN(",\n") : SPAN("\n"));
        r = r != 0 ? r : bytes_append_span(out, list->records[i].json);
    }
    return r != 0 ? r : bytes_append_byte(out, ']');
}

static int kept_write(const Upstream *server, int64_t now_ms, Bytes *out)
{
    int r = bytes_append_format(out,
                                "{\"toolwire\":\"lists\",\"version\":%d,\"key\":\"%s\","
                                "\"listedMs\":%lld,\"completes\":%s,\"subscribes\":%s",
                                KEPT_VERSION, server->kept_key, (long long)now_ms,
                                server->offer.completes ? "true" : "false",
                                server->offer.subscribes ? "true" : "false");

    for (RouterKind kind = 0; r == 0 && kind < ROUTER_N_KINDS; kind++) {
        if (server->lists[kind].is_known && server->offer.kinds[kind]) {
            r = kept_write_list(out, &server->lists[kind], kind);
        }
    }
    return r != 0 ? r : bytes_append_span(out, SPAN("}\n"));
}

static bool kept_is_whole(const Upstream *server)
{
    bool is_whole = true;

    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        is_whole = is_whole && (server->lists[kind].is_known || !server->offer.kinds[kind]);
    }
    return is_whole;
}

void upstream_kept_save(Upstream *server)
{
    int64_t now_ms = clock_now_ms();
    Bytes text;
    int r;

    if (server->keep_due_ms == INT64_MAX) {
        return;
    }
    server->keep_due_ms = INT64_MAX;
    if (!kept_is_whole(server)) {
        return; /* until the rest has been read */
    }
    server->keep_next_ms = io_loop_now_ms(server->owner->config.loop) + KEPT_PAUSE_MS;
    bytes_init(&text, LIMIT_UPSTREAM_KEPT_BYTES);
    r = kept_write(server, now_ms, &text);
    r = r != 0 ? r : io_keep_write(server->kept_path, bytes_span(&text));
    bytes_deinit(&text);
    if (r == 0) {
        server->kept_ms = now_ms;
        return;
    }
    logsink_write(server->owner->config.log, LOGSINK_LEVEL_DEBUG, "upstream",
                  "%s: its lists are not kept: %s", server->spec.name,
                  r > 0 ? "they are too large" : io_error_text(-r));
}

void upstream_kept_listed(Upstream *server, bool has_changed)
{
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);
    int64_t age_ms = clock_now_ms() - server->kept_ms;

    server->stale_ms = now_ms + LIMIT_UPSTREAM_KEPT_MS;
    if (server->kept_path != NULL && server->keep_due_ms == INT64_MAX &&
        (has_changed || age_ms < 0 || age_ms >= KEPT_RENEW_MS)) {
        server->keep_due_ms = server->keep_next_ms > now_ms ? server->keep_next_ms : now_ms;
    }
}
