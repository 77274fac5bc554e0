/* Lists of a server, page by page. */
#include "cli/peer_session_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "call/call.h"
#include "cli/peer_content.h"
#include "cli/table.h"
#include "dialect/mcp/render.h"

/* A list of more pages than this is a server that goes round in circles. */
#define SESSION_MAX_PAGES 1000

/* Is a page as it must be? A cursor that is null is none. */
static int list_check_page(JsonValue page, Span key, Span name, Diag *reterr_diag)
{
    JsonValue cursor;

    if (json_get(page, SPAN("nextCursor"), &cursor) && json_kind(cursor) != JSON_STRING &&
        json_kind(cursor) != JSON_NULL) {
        return diag_set(reterr_diag, PEER_CONTENT_E_SHAPE, "result.nextCursor must be a string");
    }
    return peer_content_check_list(page, key, name, JSON_STRING, reterr_diag);
}

/* Has the error at hand named it? A hub says "the server NAME is not there". */
static bool list_is_named(const PeerSession *session, Span name)
{
    Span head = SPAN("the server ");
    Span words = bytes_span(&session->words);

    for (; words.n > head.n + name.n; words = span_make(words.p + 1, words.n - 1)) {
        char after = words.p[head.n + name.n];

        if (span_starts_with(words, head) &&
            span_equals(span_make(words.p + head.n, name.n), name) &&
            (after == ' ' || after == ',')) {
            return true;
        }
    }
    return false;
}

/* A name with "__" is of the server that it begins with. */
static bool list_concerns(const PeerSession *session, JsonValue server)
{
    Span tool = span_from_str(session->about == NULL ? "" : session->about);
    JsonValue member;
    bool is_told = true;
    Arena arena;
    Span name;

    arena_init(&arena, LIMIT_KEEP_BYTES);
    if (session->about != NULL && json_get(server, SPAN("name"), &member) &&
        json_string(member, &arena, &name) == 0) {
        bool is_its = span_starts_with(tool, name) &&
                      span_starts_with(span_make(tool.p + name.n, tool.n - name.n), SPAN("__"));

        is_told = (is_its || strstr(session->about, "__") == NULL) && !list_is_named(session, name);
    }
    arena_deinit(&arena);
    return is_told;
}

/* A gateway says beside its list which of the servers behind it are not as they should be
 * (providers/upstream_publish.c): without a word they would seem to have nothing. */
static void list_tell_servers(const PeerSession *session, JsonValue page)
{
    JsonValue meta;
    JsonValue servers;

    if (session->is_quiet || session->list.n > 1 || !json_get(page, SPAN("_meta"), &meta) ||
        !json_get(meta, SPAN("toolwire/servers"), &servers)) {
        return;
    }
    for (JsonIter it = json_iter(servers); json_iter_next(&it);) {
        static const char *const members[] = {"name", "state", "why"};

        if (!list_concerns(session, it.value)) {
            continue;
        }
        fprintf(stderr, "toolwire: server");
        for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
            JsonValue member;
            Arena arena;
            Span text;

            arena_init(&arena, LIMIT_KEEP_BYTES);
            if (json_get(it.value, span_from_str(members[i]), &member) &&
                json_string(member, &arena, &text) == 0) {
                fprintf(stderr, i == 2 ? ": " : " ");
                table_print_safe(stderr, text, false);
            }
            arena_deinit(&arena);
        }
        fprintf(stderr, "\n");
    }
}

/* Whose the entries of a page are; null, each of them, if that is not said. 0, -ENOMEM,
 * BYTES_E_FULL. */
static int list_take_origins(PeerSession *session, JsonValue page, JsonValue entries)
{
    JsonIter origin = json_iter(page);
    JsonValue origins;
    JsonValue meta;
    bool is_said = json_get(page, SPAN("_meta"), &meta) &&
                   json_get(meta, SPAN(CALL_META_ORIGINS), &origins) &&
                   json_kind(origins) == JSON_ARRAY && json_count(origins) == json_count(entries);
    int r = 0;

    if (is_said) {
        origin = json_iter(origins);
    }
    for (size_t n = json_count(entries); r == 0 && n > 0; n--) {
        Span name = is_said && json_iter_next(&origin) ? json_span(origin.value) : SPAN("null");

        r = session->origins.n > 1 ? bytes_append_byte(&session->origins, ',') : 0;
        r = r != 0 ? r : bytes_append_span(&session->origins, name);
    }
    return r;
}

/* Adds the entries of a page to the list. 0, -ENOMEM, BYTES_E_FULL. */
static int list_take_page(PeerSession *session, JsonValue page, Span key)
{
    JsonValue entries;
    int r = 0;

    list_tell_servers(session, page);
    (void)json_get(page, key, &entries);
    r = session->wants_origins ? list_take_origins(session, page, entries) : 0;
    for (JsonIter it = json_iter(entries); r == 0 && json_iter_next(&it);) {
        r = session->list.n > 1 ? bytes_append_byte(&session->list, ',') : 0;
        r = r != 0 ? r : bytes_append_span(&session->list, json_span(it.value));
    }
    return r;
}

/* {"cursor":…} for the next page. 0, -ENOMEM, BYTES_E_FULL, LIST_E_LAST (this was the last page),
 * LIST_E_ENDLESS (the same cursor again). */
enum {
    LIST_E_LAST = BYTES_E_FULL + 1,
    LIST_E_ENDLESS,
    LIST_E_PAGES, /* more than SESSION_MAX_PAGES; not of this function */
};

static int list_next_page(PeerSession *session, JsonValue page)
{
    CLEANUP(bytes_deinit) Bytes next = BYTES_NULL;
    JsonValue cursor;
    int r;

    if (!json_get(page, SPAN("nextCursor"), &cursor) || json_kind(cursor) != JSON_STRING) {
        return LIST_E_LAST;
    }
    bytes_init(&next, LIMIT_MCP_RESPONSE_BYTES);
    r = bytes_append_span(&next, SPAN("{\"cursor\":"));
    r = r != 0 ? r : bytes_append_span(&next, json_span(cursor));
    r = r != 0 ? r : bytes_append_byte(&next, '}');
    if (r == 0 && span_equals(bytes_span(&session->params), bytes_span(&next))) {
        return LIST_E_ENDLESS;
    }
    bytes_clear(&session->params);
    return r != 0 ? r : bytes_append_span(&session->params, bytes_span(&next));
}

/* What went wrong with a list: of our memory, or of the server. */
static int list_fail(const PeerSession *session, int r)
{
    char words[64];
    int n;

    if (r < 0) {
        return peer_session_no_memory(session);
    }
    if (r == LIST_E_ENDLESS) {
        return peer_session_say(session, SPAN("the list has no end: a page leads to itself"));
    }
    if (r == LIST_E_PAGES) {
        n = snprintf(words, sizeof(words), "the list has more than %d pages", SESSION_MAX_PAGES);
        return peer_session_say(session, span_make(words, (size_t)n));
    }
    return peer_session_say(session, SPAN("the list is too long"));
}

int peer_session_list(PeerSession *session, Span method, Span key, Span name, JsonValue *ret)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    JsonValue page;
    int n_pages = 0;
    int r = 0;

    bytes_clear(&session->params);
    bytes_clear(&session->list);
    (void)bytes_append_byte(&session->list, '[');
    do {
        peer_session_ask(session, method, bytes_span(&session->params));
        if (session->outcome == SESSION_ERROR && session->code == MCP_ERROR_METHOD_NOT_FOUND) {
            break; /* a server without prompts need not know the word */
        }
        r = peer_session_report(session, &page);
        if (r != 0) {
            return r;
        }
        if (list_check_page(page, key, name, &diag) != 0) {
            return peer_session_malformed(session, false, &diag);
        }
        r = list_take_page(session, page, key);
        r = r != 0 ? r : list_next_page(session, page);
        if (r == 0 && ++n_pages == SESSION_MAX_PAGES) {
            r = LIST_E_PAGES;
        }
    } while (r == 0);
    r = r != 0 && r != LIST_E_LAST ? r : bytes_append_byte(&session->list, ']');
    arena_reset(&session->list_arena, LIMIT_KEEP_BYTES);
    r = r != 0 ? r
               : json_parse(&doc, &session->list_arena, session->list.data, session->list.n, NULL,
                            NULL);
    if (r != 0) {
        return list_fail(session, r);
    }
    *ret = json_root(&doc);
    return 0;
}

int peer_session_list_tools(PeerSession *session, JsonValue *ret, JsonValue *ret_origins)
{
    JsonDoc doc;
    int r;

    bytes_clear(&session->origins);
    (void)bytes_append_byte(&session->origins, '[');
    session->wants_origins = true;
    r = peer_session_list(session, SPAN("tools/list"), SPAN("tools"), SPAN("name"), ret);
    session->wants_origins = false;
    if (r != 0) {
        return r;
    }
    r = bytes_append_byte(&session->origins, ']');
    r = r != 0 ? r
               : json_parse(&doc, &session->list_arena, session->origins.data, session->origins.n,
                            NULL, NULL);
    if (r != 0) {
        return list_fail(session, r);
    }
    *ret_origins = json_root(&doc);
    return 0;
}
