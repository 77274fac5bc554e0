/* What the tools and prompts of the servers were called here, remembered for the next run: names do
 * not move when a server is added, or when servers answer in another order.
 *
 *     STATE/names/HASH.json    { "toolwire": "names", "version": 1, "settings": "/…/toolwire.json",
 *                                "servers": { "files": { "tools": { "read": "read" },
 *                                                        "prompts": { … } } } }
 *
 * The file is named by the settings: who serves other ones in the same state folder has other
 * names. A name that a server has stays its own while the settings name the server, whether it runs
 * or not, and whether it lists the tool just now or not. What the file says is a wish: a name is
 * used only if it is one that the tool could be given (upstream_names.h).
 *
 * Several processes may serve the same settings. Whoever gives a new name holds the lock, reads
 * what the others have given, and writes: so no name is given twice, and none is lost.
 */
#include "providers/upstream_claims.h"

#include <string.h>

#include "base/alloc.h"
#include "io/error_text.h"
#include "io/keep.h"
#include "io/private_file.h"
#include "providers/upstream_impl.h"
#include "router/safety/sha256.h"
#include "json/writer.h"

#define CLAIMS_VERSION 1

/* Tools that a server had once and does not list: so many of their names are remembered. One that
 * changes its list for ever would fill the file. */
#define CLAIMS_MAX_ABSENT 1024

/* Times that the lock is asked for, a tenth of a second each: it is held for one write. */
#define CLAIMS_LOCK_TRIES     5
#define CLAIMS_LOCK_SIGNATURE "\n#toolwire\n"

/* "/names/", 32 digits, and a NUL. */
#define CLAIMS_NAME_SIZE 48

static const RouterKind claims_kinds[UPSTREAM_N_NAMED] = {ROUTER_TOOL, ROUTER_PROMPT};

/* ---- the table ---- */

static void claims_init(UpstreamClaims *claims, HashSeed seed)
{
    arena_init(&claims->arena, SIZE_MAX);
    for (size_t k = 0; k < UPSTREAM_N_NAMED; k++) {
        map_init(&claims->by_own[k], seed, LIMIT_ROUTER_ENTRIES);
        map_init(&claims->by_name[k], seed, LIMIT_ROUTER_ENTRIES);
    }
}

static void claims_deinit(UpstreamClaims *claims)
{
    for (size_t k = 0; k < UPSTREAM_N_NAMED; k++) {
        map_deinit(&claims->by_own[k]);
        map_deinit(&claims->by_name[k]);
    }
    arena_deinit(&claims->arena);
}

/* Names of servers hold no control characters. p NULL: no memory. */
static Span claims_key(Arena *arena, Span server, Span own)
{
    size_t n = server.n + 1 + own.n;
    char *key = arena_alloc(arena, n);

    if (key == NULL) {
        return SPAN_NULL;
    }
    memcpy(key, server.p, server.n);
    key[server.n] = '\0';
    if (own.n > 0) {
        memcpy(key + server.n + 1, own.p, own.n);
    }
    return span_make(key, n);
}

/* What is there already stays as it is. 0, -ENOMEM. */
static int claims_add(UpstreamClaims *claims, size_t k, const UpstreamClaim *claim)
{
    UpstreamClaim *copy = arena_alloc_array(&claims->arena, 1, sizeof(*copy));
    Span key = claims_key(&claims->arena, claim->server, claim->own);
    int r;

    if (copy == NULL || key.p == NULL) {
        return err_raise(-ENOMEM);
    }
    if (map_find(&claims->by_own[k], key, NULL) ||
        map_find(&claims->by_name[k], claim->name, NULL)) {
        return 0;
    }
    copy->server = span_make(key.p, claim->server.n);
    copy->own = span_make(key.p + claim->server.n + 1, claim->own.n);
    copy->name = arena_copy(&claims->arena, claim->name);
    if (copy->name.p == NULL) {
        return err_raise(-ENOMEM);
    }
    r = map_add(&claims->by_own[k], key, copy);
    r = r != 0 ? r : map_add(&claims->by_name[k], copy->name, copy);
    return r < 0 ? err_pass(r) : 0; /* full: it is not remembered */
}

/* ---- from the file ---- */

static int claims_read_kind(UpstreamClaims *claims, size_t k, Span server, JsonValue names,
                            Arena *arena)
{
    int r = 0;

    for (JsonIter it = json_iter(names); r == 0 && json_iter_next(&it);) {
        UpstreamClaim claim = {.server = server};

        if (json_kind(it.value) != JSON_STRING ||
            json_string_exact(it.key, arena, &claim.own) != 0 ||
            json_string_exact(it.value, arena, &claim.name) != 0 || claim.name.n == 0) {
            continue;
        }
        r = claims_add(claims, k, &claim);
    }
    return r;
}

/* Words: the file is not used; NULL: it is, or there is no memory and *ret_r says so. */
static const char *claims_read(UpstreamClaims *claims, Span text, Arena *arena, int *ret_r)
{
    int64_t version = 0;
    JsonValue servers;
    JsonValue member;
    JsonDoc doc;
    Span server;

    if (json_parse(&doc, arena, text.p, text.n, NULL, NULL) != 0) {
        return "it is damaged";
    }
    if (json_kind(json_root(&doc)) != JSON_OBJECT ||
        !json_get(json_root(&doc), SPAN("toolwire"), &member) ||
        !json_string_equals(member, SPAN("names")) ||
        !json_get(json_root(&doc), SPAN("servers"), &servers) ||
        json_kind(servers) != JSON_OBJECT) {
        return "it is another file";
    }
    if (!json_get(json_root(&doc), SPAN("version"), &member) || json_int64(member, &version) != 0 ||
        version != CLAIMS_VERSION) {
        return "it is of another version";
    }
    for (JsonIter it = json_iter(servers); *ret_r == 0 && json_iter_next(&it);) {
        for (size_t k = 0; *ret_r == 0 && k < UPSTREAM_N_NAMED; k++) {
            if (json_string(it.key, arena, &server) == 0 && json_kind(it.value) == JSON_OBJECT &&
                json_get(it.value, upstream_list_member(claims_kinds[k]), &member)) {
                *ret_r = claims_read_kind(claims, k, server, member, arena);
            }
        }
    }
    return NULL;
}

/* Adds what others have written meanwhile. 0, -ENOMEM. */
static int claims_load(Upstreams *upstreams)
{
    UpstreamClaims *claims = &upstreams->claims;
    const char *fault = NULL;
    int r = 0;
    int r_file;
    Arena arena;
    Bytes text;

    bytes_init(&text, LIMIT_UPSTREAM_KEPT_BYTES);
    r_file = io_keep_read(claims->path, &text);
    if (r_file == 0) {
        arena_init(&arena, SIZE_MAX);
        fault = claims_read(claims, bytes_span(&text), &arena, &r);
        arena_deinit(&arena);
    } else if (r_file != -ENOENT) {
        fault = r_file > 0 ? "it is too large" : io_error_text(-r_file);
    }
    bytes_deinit(&text);
    if (fault != NULL && !claims->is_warned) {
        claims->is_warned = true;
        logsink_write(upstreams->config.log, LOGSINK_LEVEL_WARN, "upstream",
                      "%s is not used, and tools may get other names: %s", claims->path, fault);
    }
    return r;
}

/* ---- to the file ---- */

static bool claims_is_of(const UpstreamClaim *claim, const Upstream *server)
{
    return span_equals(claim->server, span_from_str(server->spec.name));
}

static void claims_write_kind(JsonWriter *w, const UpstreamClaims *claims, size_t k,
                              const Upstream *server)
{
    void *value = NULL;
    size_t at = 0;
    Span key;

    json_write_key(w, upstream_list_member(claims_kinds[k]));
    json_write_object(w);
    while (map_next(&claims->by_own[k], &at, &key, &value)) {
        const UpstreamClaim *claim = value;

        if (claims_is_of(claim, server)) {
            json_write_key(w, claim->own);
            json_write_exact(w, claim->name);
        }
    }
    json_write_end_object(w);
}

static int claims_write(const Upstreams *upstreams, Bytes *out)
{
    const UpstreamClaims *claims = &upstreams->claims;
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_PRETTY);
    json_write_object(&w);
    json_write_key(&w, SPAN("toolwire"));
    json_write_string(&w, SPAN("names"));
    json_write_key(&w, SPAN("version"));
    json_write_uint(&w, CLAIMS_VERSION);
    json_write_key(&w, SPAN("settings"));
    json_write_string(&w, span_from_str(claims->settings));
    json_write_key(&w, SPAN("servers"));
    json_write_object(&w);
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        json_write_key(&w, span_from_str(upstreams->servers[i]->spec.name));
        json_write_object(&w);
        for (size_t k = 0; k < UPSTREAM_N_NAMED; k++) {
            claims_write_kind(&w, claims, k, upstreams->servers[i]);
        }
        json_write_end_object(&w);
    }
    json_write_end_object(&w);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static void claims_save(Upstreams *upstreams)
{
    UpstreamClaims *claims = &upstreams->claims;
    Bytes text;
    int r;

    bytes_init(&text, LIMIT_UPSTREAM_KEPT_BYTES);
    r = claims_write(upstreams, &text);
    r = r != 0 ? r : bytes_append_byte(&text, '\n');
    r = r != 0 ? r : io_keep_write(claims->path, bytes_span(&text));
    bytes_deinit(&text);
    if (r != 0 && !claims->is_unsaved) {
        logsink_write(upstreams->config.log, LOGSINK_LEVEL_WARN, "upstream",
                      "the names of tools are not remembered in %s: %s", claims->path,
                      r > 0 ? "they are too long" : io_error_text(-r));
    }
    claims->is_unsaved = r != 0;
}

/* ---- changes ---- */

int upstream_claims_begin(Upstreams *upstreams)
{
    UpstreamClaims *claims = &upstreams->claims;
    Diag diag = DIAG_NULL;
    int r;

    if (claims->path == NULL) {
        return 0;
    }
    /* Without the lock: others may write at the same moment, and what is given here may be lost. */
    r = io_keep_make_folders(claims->lock_path);
    for (int i = 0; r == 0 && claims->lock.path == NULL && i < CLAIMS_LOCK_TRIES; i++) {
        int r_lock =
            private_file_create(&claims->lock, claims->lock_path, SPAN(CLAIMS_LOCK_SIGNATURE),
                                SPAN(CLAIMS_LOCK_SIGNATURE), &diag);

        r = r_lock == PRIVATE_FILE_E_IN_USE ? 0 : r_lock;
    }
    return err_pass(claims_load(upstreams));
}

/* Of each server all that it lists, and the newest of those that it does not. */
static bool claims_is_kept(const Upstreams *upstreams, const UpstreamNamed *item, size_t *n_absent)
{
    if (item->name.n == 0 ||
        upstreams->servers[item->server]->spec.prefixing == UPSTREAM_PREFIX_ALWAYS) {
        return false;
    }
    return !item->is_absent || n_absent[item->server]-- <= CLAIMS_MAX_ABSENT;
}

/* Those that are not listed first: of these the oldest are then the first. 0, -ENOMEM. */
static int claims_take(UpstreamClaims *next, const Upstreams *upstreams, size_t k,
                       const UpstreamNamedList *list)
{
    size_t *n_absent = arena_alloc_array(&next->arena, upstreams->n_servers + 1, sizeof(size_t));
    int r = n_absent == NULL ? err_raise(-ENOMEM) : 0;

    for (size_t i = 0; r == 0 && i < list->n; i++) {
        n_absent[list->items[i].server] += list->items[i].is_absent && list->items[i].name.n > 0;
    }
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; r == 0 && i < list->n; i++) {
            const UpstreamNamed *item = &list->items[i];

            if (item->is_absent == (round == 0) && claims_is_kept(upstreams, item, n_absent)) {
                r = claims_add(next, k,
                               &(UpstreamClaim){.server = span_from_str(
                                                    upstreams->servers[item->server]->spec.name),
                                                .own = item->own,
                                                .name = item->name});
            }
        }
    }
    return r;
}

void upstream_claims_end(Upstreams *upstreams, const UpstreamNamedList lists[UPSTREAM_N_NAMED])
{
    UpstreamClaims *claims = &upstreams->claims;
    UpstreamClaims next = *claims;
    int r = 0;

    claims_init(&next, upstreams->seed);
    for (size_t k = 0; r == 0 && lists != NULL && k < UPSTREAM_N_NAMED; k++) {
        r = claims_take(&next, upstreams, k, &lists[k]);
    }
    if (r == 0 && lists != NULL) {
        claims_deinit(claims);
        *claims = next;
        if (claims->path != NULL) {
            claims_save(upstreams);
        }
    } else {
        claims_deinit(&next); /* the next change tries again */
    }
    if (claims->lock.path != NULL) {
        private_file_remove(&claims->lock);
        claims->lock = PRIVATE_FILE_NULL;
    }
}

/* ---- who looks ---- */

static size_t claims_of_kind(RouterKind kind)
{
    return kind == ROUTER_TOOL ? 0 : 1;
}

int upstream_claims_find(const Upstreams *upstreams, RouterKind kind, Span server, Span own,
                         Arena *arena, Span *ret)
{
    Span key = claims_key(arena, server, own);
    const UpstreamClaim *claim;

    if (key.p == NULL) {
        return err_raise(-ENOMEM);
    }
    claim = map_get(&upstreams->claims.by_own[claims_of_kind(kind)], key);
    *ret = claim == NULL ? SPAN_NULL : claim->name;
    return 0;
}

const UpstreamClaim *upstream_claims_next(const Upstreams *upstreams, RouterKind kind,
                                          size_t *cursor)
{
    void *value = NULL;
    Span key;

    return map_next(&upstreams->claims.by_own[claims_of_kind(kind)], cursor, &key, &value) ? value
                                                                                           : NULL;
}

const UpstreamClaim *upstream_claims_of(const Upstreams *upstreams, RouterKind kind, Span name)
{
    return map_get(&upstreams->claims.by_name[claims_of_kind(kind)], name);
}

size_t upstream_claims_count(const Upstreams *upstreams, RouterKind kind)
{
    return upstreams->claims.by_own[claims_of_kind(kind)].n;
}

/* ---- life ---- */

static char *claims_join(const char *state, const char *name, const char *end)
{
    size_t n_state = strlen(state);
    size_t n_name = strlen(name);
    size_t n_end = strlen(end);
    char *path = mem_alloc(n_state + n_name + n_end + 1);

    if (path != NULL) {
        memcpy(path, state, n_state);
        memcpy(path + n_state, name, n_name);
        memcpy(path + n_state + n_name, end, n_end + 1);
    }
    return path;
}

int upstream_claims_init(Upstreams *upstreams, const char *settings)
{
    UpstreamClaims *claims = &upstreams->claims;
    uint8_t hash[SAFETY_HASH_BYTES] = {0};
    char name[CLAIMS_NAME_SIZE];
    int r;

    claims_init(claims, upstreams->seed);
    claims->lock = PRIVATE_FILE_NULL;
    if (upstreams->state == NULL) {
        return 0;
    }
    claims->settings = claims_join(settings == NULL ? "" : settings, "", "");
    r = claims->settings == NULL ? err_raise(-ENOMEM)
                                 : safety_sha256(span_from_str(claims->settings), hash);
    if (r != 0) {
        return err_pass(r);
    }
    safety_hex("/names/", hash, 16, name);
    claims->path = claims_join(upstreams->state, name, ".json");
    claims->lock_path = claims_join(upstreams->state, name, ".lock");
    if (claims->path == NULL || claims->lock_path == NULL) {
        return err_raise(-ENOMEM);
    }
    return err_pass(claims_load(upstreams));
}

void upstream_claims_deinit(Upstreams *upstreams)
{
    UpstreamClaims *claims = &upstreams->claims;

    claims_deinit(claims);
    claims->settings = mem_free(claims->settings);
    claims->path = mem_free(claims->path);
    claims->lock_path = mem_free(claims->lock_path);
}
