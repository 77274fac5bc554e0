/* What the desk tells: the context of an answer, and the whole of it. */
#include "router/safety/desk.h"

#include "base/error.h"
#include "router/safety/arguments.h"
#include "router/safety/token.h"

#define CONTEXT_MAX_IDS 200

static void write_text(JsonWriter *w, const char *name, Span text)
{
    json_write_key(w, span_from_str(name));
    json_write_string(w, text);
}

/* A context without a token is still worth telling: the reader finds that it does not match. */
static int desk_token_or_error(const SafetyDesk *desk, char ret[SAFETY_TOKEN_BYTES])
{
    int r = safety_desk_token(desk, ret);

    if (r == -EIO) {
        memcpy(ret, SAFETY_TOKEN_ERROR, sizeof(SAFETY_TOKEN_ERROR));
        return 0;
    }
    return r;
}

static void write_document(JsonWriter *w, const DeskDocument *document)
{
    write_text(w, "docTitle", document->title);
    write_text(w, "docGuid", document->guid);
    json_write_key(w, SPAN("activeViewId"));
    json_write_int(w, document->view_id);
    write_text(w, "activeViewName", document->view_name);
    write_text(w, "activeViewType", document->view_type);
}

int safety_desk_write_context(const SafetyDesk *desk, Span method, Bytes *out)
{
    CLEANUP(bytes_deinit) Bytes object = BYTES_NULL;
    char token[SAFETY_TOKEN_BYTES];
    JsonWriter w;
    int r = desk_token_or_error(desk, token);

    if (r != 0) {
        return err_pass(r);
    }
    bytes_init(&object, SIZE_MAX);
    json_writer_init(&w, &object, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_text(&w, "method", method);
    if (desk->front != NULL) {
        write_document(&w, desk->front);
        write_text(&w, "contextTokenVersion", SPAN(SAFETY_TOKEN_VERSION));
        json_write_key(&w, SPAN("contextRevision"));
        json_write_uint(&w, desk->front->revision);
        write_text(&w, "contextToken", span_from_str(token));
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r != 0) {
        return err_fold(r);
    }
    return bytes_append(out, object.data + 1, object.n - 2);
}

/* How many ids are told: none if they are not wanted, 200 if nothing is said, all if 0 is. */
static size_t context_max_ids(JsonValue arguments, size_t n)
{
    static const char *const names_include[] = {"includeSelectionIds", NULL};
    static const char *const names_max[] = {"maxSelectionIds", NULL};
    SafetyScopes scopes = safety_scopes(arguments);
    int64_t max = CONTEXT_MAX_IDS;
    JsonValue v;

    if (safety_find(&scopes, names_include, true, &v) && safety_says_no(v)) {
        return 0;
    }
    if (safety_find(&scopes, names_max, true, &v)) {
        (void)json_int64(v, &max);
    }
    return max <= 0 || (uint64_t)max > n ? n : (size_t)max;
}

static void write_selection(JsonWriter *w, const DeskDocument *document, size_t max)
{
    json_write_key(w, SPAN("selectionCount"));
    json_write_uint(w, document->n_selection);
    json_write_key(w, SPAN("selectionIds"));
    json_write_array(w);
    for (size_t i = 0; i < max; i++) {
        json_write_int(w, document->selection[i]);
    }
    json_write_end_array(w);
    /* Ids that nobody wanted are not cut off. */
    json_write_key(w, SPAN("selectionIdsTruncated"));
    json_write_bool(w, max > 0 && max < document->n_selection);
}

int safety_desk_write_get_context(const SafetyDesk *desk, JsonValue arguments, Bytes *out)
{
    static const DeskDocument none = {.serial = 0};
    const DeskDocument *document = desk->front == NULL ? &none : desk->front;
    char token[SAFETY_TOKEN_BYTES];
    JsonWriter w;
    int r = desk_token_or_error(desk, token);

    if (r != 0) {
        return err_pass(r);
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_text(&w, "tokenVersion", SPAN(SAFETY_TOKEN_VERSION));
    json_write_key(&w, SPAN("revision"));
    json_write_uint(&w, document->revision);
    write_text(&w, "contextToken", span_from_str(token));
    write_document(&w, document);
    write_text(&w, "docPath", document->path);
    write_selection(&w, document, context_max_ids(arguments, document->n_selection));
    json_write_end_object(&w);
    return json_writer_finish(&w);
}
