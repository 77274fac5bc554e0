#include "app/http_door_internal.h"

#include "base/compiler.h"

#define PAGES_TEXT "text/plain; charset=utf-8"

/* What MCP clients send, over what a script may set without asking. */
#define PAGES_REQUEST_FIELDS                                                                       \
    "Content-Type, Accept, Authorization, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, "   \
    "Mcp-Method, Mcp-Name"

/* How long a browser may remember what OPTIONS said; two hours is the most that any honours. */
#define PAGES_MAX_AGE_S "7200"

#define PAGES_MAX_FIELDS 6

const HttpPage *http_door_find_page(const HttpDoor *door, Span path)
{
    for (size_t i = 0; i < door->config.n_pages; i++) {
        if (span_equals(path, span_from_str(door->config.pages[i].path))) {
            return &door->config.pages[i];
        }
    }
    return NULL;
}

/* At the place that challenges name, and where clients look that do not read them: below the path
 * of MCP, and of the whole host. */
bool http_door_is_metadata(const HttpDoor *door, Span path)
{
    Span well_known = SPAN(HTTP_AUTH_METADATA_PATH);
    Span rest;

    if (!door->needs_auth || !http_auth_has_issuers(door->config.auth) ||
        !span_starts_with(path, well_known)) {
        return false;
    }
    rest = span_make(path.p + well_known.n, path.n - well_known.n);
    return rest.n == 0 || span_equals(rest, span_from_str(door->config.path)) ||
           http_auth_is_metadata(door->config.auth, path);
}

void http_door_write_text(IoHttpExchange *x, unsigned status, const Http1Field *extra, Span text)
{
    Http1Field fields[2] = {{SPAN("Content-Type"), SPAN(PAGES_TEXT)}};
    size_t n = 1;

    if (extra != NULL) {
        fields[n++] = *extra;
    }
    /* If it cannot be written, the connection ends, and there is nobody to tell. */
    (void)http_door_wire.respond(x, status, fields, n, text);
}

/* The answer to a page whose body was written, r says how. */
static void pages_answer(IoHttpExchange *x, int r, Span type, Bytes *body)
{
    Http1Field fields[] = {{SPAN("Content-Type"), type}, {SPAN("Cache-Control"), SPAN("no-store")}};

    if (r < 0 || r == BYTES_E_FULL) {
        http_door_write_text(x, 500, NULL, SPAN("The page could not be made.\n"));
        return;
    }
    (void)http_door_wire.respond_taken(x, r == 0 ? 200 : (unsigned)r, fields, 2, body);
}

void http_door_write_page(HttpDoor *door, const HttpPage *page, IoHttpExchange *x)
{
    CLEANUP(bytes_deinit) Bytes body = BYTES_NULL;
    int r;

    bytes_init(&body, HTTP_DOOR_PAGE_BYTES);
    r = page->write(door->config.pages_context, &body);
    pages_answer(x, r, span_from_str(page->type), &body);
}

void http_door_write_metadata(HttpDoor *door, IoHttpExchange *x)
{
    CLEANUP(bytes_deinit) Bytes body = BYTES_NULL;
    int r;

    bytes_init(&body, HTTP_DOOR_PAGE_BYTES);
    r = http_auth_write_metadata(door->config.auth, &body);
    pages_answer(x, r, SPAN("application/json"), &body);
}

void http_door_write_options(IoHttpExchange *x, Span allow)
{
    const HttpLink *link = io_http_user(x);
    Http1Field fields[PAGES_MAX_FIELDS] = {{SPAN("Allow"), allow}};
    size_t n = 1;
    Span asked;

    if (link->names_origin) {
        fields[n++] = (Http1Field){SPAN("Access-Control-Allow-Methods"), allow};
        /* Mcp-Param-* are named by the tools: what was asked for is allowed, for those who may ask
         * at all. */
        if (http1_head_find(io_http_head(x), SPAN("access-control-request-headers"), &asked) != 1) {
            asked = SPAN(PAGES_REQUEST_FIELDS);
        }
        fields[n++] = (Http1Field){SPAN("Access-Control-Allow-Headers"), asked};
        fields[n++] = (Http1Field){SPAN("Access-Control-Max-Age"), SPAN(PAGES_MAX_AGE_S)};
    }
    (void)http_door_wire.respond(x, 204, fields, n, SPAN_NULL);
}
