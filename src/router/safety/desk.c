#include "router/safety/desk.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "router/safety/fold.h"
#include "router/safety/token.h"

static DeskDocument *document_free(DeskDocument *document)
{
    if (document != NULL) {
        (void)mem_free(document->texts);
        (void)mem_free(document->selection);
        (void)mem_free(document);
    }
    return NULL;
}

int safety_desk_new(SafetyDesk **ret, const SafetyConfig *config)
{
    SafetyDesk *desk = mem_alloc_array(1, sizeof(*desk));

    if (desk == NULL) {
        return err_raise(-ENOMEM);
    }
    desk->config = *config;
    if (desk->config.threshold == 0) {
        desk->config.threshold = LIMIT_SAFETY_TARGETS;
    }
    if (desk->config.confirm_ttl_ms <= 0) {
        desk->config.confirm_ttl_ms = LIMIT_SAFETY_CONFIRM_MS;
    }
    desk->next_serial = 1;
    safety_whitelist_init(&desk->whitelist);
    desk->memory = mem_alloc_array(1, sizeof(*desk->memory));
    if (desk->memory == NULL) {
        desk = safety_desk_free(desk);
        return err_raise(-ENOMEM);
    }
    *ret = desk;
    return 0;
}

SafetyDesk *safety_desk_free(SafetyDesk *desk)
{
    if (desk != NULL) {
        for (size_t i = 0; i < desk->n_documents; i++) {
            desk->documents[i] = document_free(desk->documents[i]);
        }
        safety_whitelist_deinit(&desk->whitelist);
        (void)mem_free(desk->memory);
        (void)mem_free(desk);
    }
    return NULL;
}

/* ---- documents ---- */

static void document_change(DeskDocument *document, SafetyChange change)
{
    document->n_changes[change]++;
    document->revision++;
}

static Span document_copy_text(char **at, Span text)
{
    Span copy = span_make(*at, text.n);

    if (text.n > 0) {
        memcpy(*at, text.p, text.n);
    }
    *at += text.n;
    return copy;
}

/* A document with these texts, and nothing else yet. */
static int document_new(const SafetyDocument *shown, DeskDocument **ret)
{
    CLEANUP(bytes_deinit) Bytes folded = BYTES_NULL;
    DeskDocument *document = NULL;
    size_t n_guid;
    size_t n;
    char *at;
    int r;

    bytes_init(&folded, SIZE_MAX);
    r = safety_fold(shown->guid, &folded);
    n_guid = folded.n;
    r = r != 0 ? r : safety_fold(shown->path, &folded);
    if (r != 0) {
        return err_fold(r);
    }
    n = shown->guid.n + shown->path.n + shown->title.n + shown->view_name.n + shown->view_type.n +
        folded.n;
    document = mem_alloc_array(1, sizeof(*document));
    at = mem_alloc(n + 1);
    if (document == NULL || at == NULL) {
        (void)mem_free(at);
        (void)mem_free(document);
        return err_raise(-ENOMEM);
    }
    document->texts = at;
    document->guid = document_copy_text(&at, shown->guid);
    document->path = document_copy_text(&at, shown->path);
    document->title = document_copy_text(&at, shown->title);
    document->view_name = document_copy_text(&at, shown->view_name);
    document->view_type = document_copy_text(&at, shown->view_type);
    document->folded_guid = document_copy_text(&at, span_make(folded.data, n_guid));
    document->folded_path = document_copy_text(
        &at, n_guid == folded.n ? SPAN_NULL : span_make(folded.data + n_guid, folded.n - n_guid));
    document->view_id = shown->view_id;
    *ret = document;
    return 0;
}

static bool document_is(const DeskDocument *a, const DeskDocument *b)
{
    return span_equals(a->folded_guid, b->folded_guid) &&
           (a->folded_guid.n > 0 || span_equals(a->folded_path, b->folded_path));
}

/* Takes the document that is like this one out of the list; NULL: there is none. */
static DeskDocument *desk_take(SafetyDesk *desk, const DeskDocument *like)
{
    for (size_t i = 0; i < desk->n_documents; i++) {
        DeskDocument *known = desk->documents[i];

        if (document_is(known, like)) {
            desk->n_documents--;
            memmove(desk->documents + i, desk->documents + i + 1,
                    (desk->n_documents - i) * sizeof(*desk->documents));
            return known;
        }
    }
    return NULL;
}

/* Forgets the document that was not shown for the longest time. */
static void desk_forget_oldest(SafetyDesk *desk)
{
    DeskDocument *oldest = desk->documents[0];

    if (oldest->revision >= desk->first_revision) {
        desk->first_revision = oldest->revision + 1;
    }
    (void)desk_take(desk, oldest);
    oldest = document_free(oldest);
}

/* What the known one has beside its texts goes over to the new one, which is then its successor. */
static void document_succeed(DeskDocument *document, DeskDocument *known)
{
    document->serial = known->serial;
    document->revision = known->revision;
    memcpy(document->n_changes, known->n_changes, sizeof(document->n_changes));
    document->selection = known->selection;
    document->n_selection = known->n_selection;
    known->selection = NULL;
    if (document->view_id != known->view_id) {
        document_change(document, SAFETY_CHANGE_VIEW);
    }
    /* Saved under another name: the token changes, and so must the revision. */
    if (!span_equals(document->folded_path, known->folded_path)) {
        document_change(document, SAFETY_CHANGE_DOCUMENT);
    }
}

int safety_desk_show(SafetyDesk *desk, const SafetyDocument *shown)
{
    DeskDocument *document = NULL;
    DeskDocument *known;
    int r;

    if (shown == NULL) {
        desk->front = NULL;
        return 0;
    }
    r = document_new(shown, &document);
    if (r != 0) {
        return err_pass(r);
    }
    known = desk_take(desk, document);
    if (known != NULL) {
        document_succeed(document, known);
        known = document_free(known);
    } else {
        if (desk->n_documents == LIMIT_SAFETY_DOCUMENTS) {
            desk_forget_oldest(desk);
        }
        document->serial = desk->next_serial++;
        document->revision = desk->first_revision;
    }
    if (document->revision < shown->revision) {
        document_change(document, SAFETY_CHANGE_DOCUMENT);
        document->revision = shown->revision;
    }
    desk->documents[desk->n_documents++] = document;
    desk->front = document;
    return 0;
}

/* ---- selection and other changes ---- */

static int desk_compare_ids(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

static size_t desk_sort_ids(int64_t *ids, size_t n)
{
    size_t kept = 0;

    qsort(ids, n, sizeof(*ids), desk_compare_ids);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || ids[kept - 1] != ids[i]) {
            ids[kept++] = ids[i];
        }
    }
    return kept;
}

int safety_desk_select(SafetyDesk *desk, const int64_t *ids, size_t n)
{
    DeskDocument *document = desk->front;
    int64_t *sorted = NULL;

    if (document == NULL) {
        return 0;
    }
    if (n > 0) {
        sorted = mem_alloc_array(n, sizeof(*sorted));
        if (sorted == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(sorted, ids, n * sizeof(*sorted));
        n = desk_sort_ids(sorted, n);
    }
    if (n == document->n_selection &&
        (n == 0 || memcmp(sorted, document->selection, n * sizeof(*sorted)) == 0)) {
        (void)mem_free(sorted);
        return 0;
    }
    (void)mem_free(document->selection);
    document->selection = sorted;
    document->n_selection = n;
    document_change(document, SAFETY_CHANGE_SELECTION);
    return 0;
}

void safety_desk_changed(SafetyDesk *desk, SafetyChange change)
{
    if (desk->front != NULL) {
        document_change(desk->front, change);
    }
}

void desk_changed(SafetyDesk *desk, uint64_t serial, SafetyChange change)
{
    for (size_t i = 0; i < desk->n_documents; i++) {
        if (desk->documents[i]->serial == serial) {
            document_change(desk->documents[i], change);
        }
    }
}

int safety_desk_whitelist(SafetyDesk *desk, const char *path, Span text)
{
    return safety_whitelist_load(&desk->whitelist, path, text);
}

uint64_t safety_desk_revision(const SafetyDesk *desk)
{
    return desk->front == NULL ? 0 : desk->front->revision;
}

/* ---- tokens ---- */

static const DeskToken *memory_find_state(const DeskMemory *memory, const DeskDocument *document)
{
    for (size_t i = 0; i < memory->n_tokens; i++) {
        const DeskToken *known = &memory->tokens[i];

        if (known->serial == document->serial &&
            memcmp(known->n_changes, document->n_changes, sizeof(known->n_changes)) == 0) {
            return known;
        }
    }
    return NULL;
}

static void memory_add(DeskMemory *memory, const DeskDocument *document,
                       const char token[SAFETY_TOKEN_BYTES])
{
    DeskToken *entry = &memory->tokens[memory->next];

    entry->serial = document->serial;
    memcpy(entry->n_changes, document->n_changes, sizeof(entry->n_changes));
    memcpy(entry->token, token, sizeof(entry->token));
    memory->next = (memory->next + 1) % LIMIT_SAFETY_TOKENS;
    memory->n_tokens += memory->n_tokens < LIMIT_SAFETY_TOKENS ? 1 : 0;
}

int safety_desk_token(const SafetyDesk *desk, char ret[SAFETY_TOKEN_BYTES])
{
    const DeskDocument *document = desk->front;
    char token[SAFETY_TOKEN_BYTES] = SAFETY_TOKEN_NO_DOCUMENT;
    const DeskToken *known;
    int r;

    if (document == NULL) {
        memcpy(ret, token, sizeof(token));
        return 0;
    }
    /* Whatever is in the token counts as a change: the same counts, the same token. */
    known = memory_find_state(desk->memory, document);
    if (known != NULL) {
        memcpy(ret, known->token, sizeof(known->token));
        return 0;
    }
    r = safety_token(&(SafetyTokenParts){.guid = document->folded_guid,
                                         .path = document->folded_path,
                                         .view_id = document->view_id,
                                         .revision = document->revision,
                                         .ids = document->selection,
                                         .n_ids = document->n_selection},
                     token);
    if (r != 0) {
        return err_pass(r);
    }
    memory_add(desk->memory, document, token);
    memcpy(ret, token, sizeof(token));
    return 0;
}

static void desk_write_counts(const DeskToken *then, const DeskDocument *now, JsonWriter *w)
{
    static const char *const names[SAFETY_N_CHANGES] = {
        [SAFETY_CHANGE_DOCUMENT] = "document",
        [SAFETY_CHANGE_SELECTION] = "selection",
        [SAFETY_CHANGE_VIEW] = "view",
        [SAFETY_CHANGE_WRITE] = "write",
    };

    for (size_t i = 0; i < SAFETY_N_CHANGES; i++) {
        if (then->n_changes[i] != now->n_changes[i]) {
            json_write_string(w, span_from_str(names[i]));
        }
    }
}

void desk_write_changes(const SafetyDesk *desk, Span token, JsonWriter *w)
{
    const DeskToken *found = NULL;
    bool had_none = text_equals_nocase(token, SPAN(SAFETY_TOKEN_NO_DOCUMENT));

    for (size_t i = 0; i < desk->memory->n_tokens; i++) {
        const DeskToken *known = &desk->memory->tokens[i];

        if (text_equals_nocase(token, span_from_str(known->token))) {
            found = known;
        }
    }
    json_write_array(w);
    if (!had_none && found == NULL) {
        json_write_string(w, SPAN("unknown"));
    } else if (desk->front == NULL || had_none || found->serial != desk->front->serial) {
        json_write_string(w, SPAN("activeDocument"));
    } else {
        desk_write_counts(found, desk->front, w);
    }
    json_write_end_array(w);
}
