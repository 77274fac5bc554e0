/* What a program has open, for the desk that its commands pass (router/safety/safety.h). */
#include <toolwire/document.h>

#include <errno.h>
#include <toolwire/error.h>

#include "api/tw_internal.h"
#include "api/tw_server.h"
#include "base/limits.h"
#include "io/file.h"

/* Changes that the desk counts and the program does not (a view, a selection) have room between two
 * of the program's: so none that it counted before a restart comes again after it. */
#define REVISION_STEPS ((uint64_t)1024)
#define REVISION_MAX   (UINT64_MAX / REVISION_STEPS)

/* The tool that tells what the desk knows; a program may have one of that name itself. */
static int server_open_context(TwServer *server, Diag *reterr_diag)
{
    int r;

    if (server->has_context) {
        return 0;
    }
    r = router_add_get_context(hub_router(server->hub), reterr_diag);
    if (r == ROUTER_E_FULL) {
        return TW_ERROR_FULL;
    }
    if (r != 0 && r != ROUTER_E_EXISTS) {
        return api_error_of(r);
    }
    server->has_context = true;
    return 0;
}

/* ---- the document ---- */

static int show_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const TwDocument *document = argument;
    int r = server_open_context(server, reterr_diag);

    if (r != 0) {
        return r;
    }
    if (document == NULL) {
        return api_error_of(safety_desk_show(hub_desk(server->hub), NULL));
    }
    return api_error_of(safety_desk_show(
        hub_desk(server->hub),
        &(SafetyDocument){.guid = api_span(document->guid),
                          .path = api_span(document->path),
                          .title = api_span(document->title),
                          .view_id = document->view_id,
                          .view_name = api_span(document->view_name),
                          .view_type = api_span(document->view_type),
                          .revision = document->revision % REVISION_MAX * REVISION_STEPS}));
}

int tw_server_show_document(TwServer *server, const TwDocument *document)
{
    TwDocument copy;

    if (server == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    if (document == NULL) {
        return api_server_do(server, show_do, NULL);
    }
    if (api_span(document->guid).n == 0 && api_span(document->path).n == 0) {
        return api_server_fail(server, TW_ERROR_ARGUMENT,
                               "a document has a guid, or a path, or both");
    }
    copy = *document;
    return api_server_do(server, show_do, &copy);
}

typedef struct Selection {
    const int64_t *ids;
    size_t n;
} Selection;

static int select_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const Selection *selection = argument;
    int r = server_open_context(server, reterr_diag);

    return r != 0 ? r
                  : api_error_of(
                        safety_desk_select(hub_desk(server->hub), selection->ids, selection->n));
}

int tw_server_show_selection(TwServer *server, const int64_t *ids, size_t n)
{
    if (server == NULL || (ids == NULL && n > 0)) {
        return TW_ERROR_ARGUMENT;
    }
    return api_server_do(server, select_do, &(Selection){ids, n});
}

static int changed_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    int r = server_open_context(server, reterr_diag);

    (void)argument;
    if (r == 0) {
        safety_desk_changed(hub_desk(server->hub), SAFETY_CHANGE_DOCUMENT);
    }
    return r;
}

int tw_server_document_changed(TwServer *server)
{
    return server == NULL ? TW_ERROR_ARGUMENT : api_server_do(server, changed_do, NULL);
}

/* ---- the whitelist ---- */

typedef struct WhitelistFile {
    const char *path;
    Span text;
} WhitelistFile;

static int whitelist_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const WhitelistFile *file = argument;

    (void)reterr_diag;
    return api_error_of(safety_desk_whitelist(hub_desk(server->hub), file->path, file->text));
}

int tw_server_set_whitelist(TwServer *server, const char *path)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    WhitelistFile file = {.path = path != NULL ? path : ""};
    int r = 0;

    if (server == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    bytes_init(&text, LIMIT_SAFETY_WHITELIST_BYTES);
    if (path != NULL) {
        r = io_file_read(&text, path);
    }
    if (r == -ENOMEM) {
        return api_server_fail(server, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    /* One that cannot be read is one that is not there; one that is too long is none. */
    file.text = r == 0 ? bytes_span(&text) : r > 0 ? SPAN("too long") : SPAN_NULL;
    return api_server_do(server, whitelist_do, &file);
}
