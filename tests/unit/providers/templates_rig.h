/* A router with the templates, and somebody who asks. */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "io/tree.h"
#include "providers/templates.h"
#include "support/alloc_testing.h"

#define RIG_BYTES ((size_t)64 * 1024 * 1024)

typedef struct Rig {
    Call call; /* first: the door gets a Call */
    IoLoop *loop;
    Router *router;
    Templates *templates;
    RouterListener listener;
    Arena arena;
    char folder[64]; /* of this test, with what is made in it */
    char root[80];   /* folder/root */
    const char *folders[3];
    int n_changed[ROUTER_N_KINDS];
    int n_updated;
    /* What came back. */
    int n_finished;
    CallResultKind kind;
    CallError error;
    int wire_code;
    bool is_error;
    int64_t total;
    bool has_more;
    size_t n_entries;
    char *text;   /* pieces, or the message of an error; malloc, as the next two */
    char *beside; /* what stands beside the content for clients without structured content */
    char *json;   /* structured content, or data of an error */
    JsonValue structured;
} Rig;

static int rig_remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

TW_UNUSED static char *rig_copy(const Span *pieces, size_t n)
{
    char *text = malloc(1);
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        text = realloc(text, at + pieces[i].n + 1);
        assert_non_null(text);
        if (pieces[i].n > 0) {
            memcpy(text + at, pieces[i].p, pieces[i].n);
        }
        at += pieces[i].n;
    }
    text[at] = '\0';
    return text;
}

static void rig_forget(Rig *rig)
{
    free(rig->text);
    free(rig->json);
    free(rig->beside);
    rig->text = NULL;
    rig->beside = NULL;
    rig->json = NULL;
}

static void rig_finish(Call *call, const CallResult *result)
{
    Rig *rig = (Rig *)call;
    bool is_error = result->kind == CALL_RESULT_ERROR;

    rig_forget(rig);
    rig->n_finished++;
    rig->kind = result->kind;
    rig->error = result->error;
    rig->wire_code = result->wire_code;
    rig->is_error = result->is_error;
    rig->total = result->total;
    rig->has_more = result->has_more;
    rig->n_entries = result->n_entries;
    rig->text =
        is_error ? rig_copy(&result->message, 1) : rig_copy(result->pieces, result->n_pieces);
    rig->json = rig_copy(is_error ? &result->data : &result->structured, 1);
    rig->beside = rig_copy(&result->beside, 1);
}

static const CallDoor rig_door = {.finish = rig_finish};

static void rig_on_changed(RouterListener *listener, RouterKind kind)
{
    Rig *rig = (Rig *)((char *)listener - offsetof(Rig, listener));

    rig->n_changed[kind]++;
}

static void rig_on_updated(RouterListener *listener, Span uri)
{
    Rig *rig = (Rig *)((char *)listener - offsetof(Rig, listener));

    (void)uri;
    rig->n_updated++;
}

/* The folder, with an empty root in it, and nobody's own templates. */
static void rig_make_folder(Rig *rig)
{
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/tw-templates-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    assert_int_equal(setenv("XDG_CONFIG_HOME", rig->folder, 1), 0);
    (void)snprintf(rig->root, sizeof(rig->root), "%s/root", rig->folder);
    assert_int_equal(mkdir(rig->root, 0700), 0);
}

static int rig_open(Rig *rig, const char *const *folders, const char *write_root)
{
    int r = io_loop_new(&rig->loop);

    r = r != 0 ? r : router_new(&rig->router, NULL, (HashSeed){1, 2});
    r = r != 0 ? r
               : templates_new(&rig->templates,
                               &(TemplatesConfig){.router = rig->router,
                                                  .loop = rig->loop,
                                                  .folders = folders,
                                                  .write_root = write_root},
                               NULL);
    if (r == 0) {
        router_fill(rig->router);
        r = router_count(rig->router, ROUTER_RESOURCE) > 0 ? 0 : -ENOMEM;
    }
    return r;
}

static void rig_close(Rig *rig)
{
    rig->templates = templates_free(rig->templates);
    rig->router = router_free(rig->router);
    rig->loop = io_loop_free(rig->loop);
}

TW_UNUSED static int rig_setup_with(void **state, bool writes)
{
    Rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    rig_make_folder(rig);
    arena_init(&rig->arena, RIG_BYTES);
    call_init(&rig->call);
    assert_int_equal(rig_open(rig, NULL, writes ? rig->root : NULL), 0);
    rig->listener.changed = rig_on_changed;
    rig->listener.updated = rig_on_updated;
    router_listen(rig->router, &rig->listener);
    *state = rig;
    return 0;
}

TW_UNUSED static int rig_setup(void **state)
{
    return rig_setup_with(state, false);
}

TW_UNUSED static int rig_setup_writing(void **state)
{
    return rig_setup_with(state, true);
}

TW_UNUSED static int rig_teardown(void **state)
{
    Rig *rig = *state;

    router_unlisten(rig->router, &rig->listener);
    rig_close(rig);
    call_deinit(&rig->call);
    arena_deinit(&rig->arena);
    rig_forget(rig);
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(rig->folder, rig_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(rig);
    return 0;
}

/* ---- asking ---- */

TW_UNUSED static JsonValue rig_parse(Rig *rig, const char *json)
{
    JsonDoc doc;
    Diag diag = DIAG_NULL;

    if (json_parse(&doc, &rig->arena, json, strlen(json), NULL, &diag) != 0) {
        fail_msg("%s: %s", diag.message, json);
    }
    return json_root(&doc);
}

static void rig_dispatch(Rig *rig, CallVerb verb, Span target, JsonValue arguments)
{
    Call *call = &rig->call;

    call->door = &rig_door;
    call->verb = verb;
    call->target = target;
    call->arguments = arguments;
    call->log_level = CALL_LOG_NONE;
    rig->n_finished = 0;
    router_dispatch(rig->router, NULL, call);
    assert_int_equal(rig->n_finished, 1);
}

/* Arguments may use ' for ". */
TW_UNUSED static void rig_tool(Rig *rig, const char *name, const char *arguments)
{
    char *json = strdup(arguments);

    for (char *c = strchr(json, '\''); c != NULL; c = strchr(c, '\'')) {
        *c = '"';
    }
    arena_reset(&rig->arena, 0);
    call_reset(&rig->call);
    rig_dispatch(rig, CALL_TOOL, span_from_str(name), rig_parse(rig, json));
    free(json);
    rig->structured = rig->json[0] != '\0' ? rig_parse(rig, rig->json) : JSON_VALUE_NULL;
}

TW_UNUSED static void rig_read(Rig *rig, Span uri)
{
    call_reset(&rig->call);
    rig_dispatch(rig, CALL_READ, uri, JSON_VALUE_NULL);
}

TW_UNUSED static void rig_complete(Rig *rig, bool is_prompt, const char *target,
                                   const char *argument, const char *value, const char *context)
{
    arena_reset(&rig->arena, 0);
    call_reset(&rig->call);
    rig->call.completion =
        (CallCompletion){.is_prompt = is_prompt,
                         .argument = span_from_str(argument),
                         .value = span_from_str(value),
                         .context = context != NULL ? rig_parse(rig, context) : JSON_VALUE_NULL};
    rig_dispatch(rig, CALL_COMPLETE, span_from_str(target), JSON_VALUE_NULL);
}

/* ---- looking at the answer ---- */

/* The value at a pointer into the structured content, as JSON text. */
TW_UNUSED static Span rig_at(Rig *rig, const char *pointer)
{
    JsonValue v;

    assert_non_null(rig->structured.node);
    if (json_pointer(rig->structured, span_from_str(pointer), &v) != 0) {
        fail_msg("there is no %s in %.300s", pointer, rig->json);
    }
    return json_span(v);
}

TW_UNUSED static bool rig_has(Rig *rig, const char *pointer)
{
    JsonValue v;

    return json_pointer(rig->structured, span_from_str(pointer), &v) == 0;
}

TW_UNUSED static void rig_assert_at(Rig *rig, const char *pointer, const char *json)
{
    Span v = rig_at(rig, pointer);

    if (!span_equals(v, span_from_str(json))) {
        fail_msg("%s is %.*s, not %s", pointer, (int)(v.n < 300 ? v.n : 300), v.p, json);
    }
}

TW_UNUSED static void rig_assert_says(const Rig *rig, const char *words)
{
    if (strstr(rig->text, words) == NULL) {
        fail_msg("\"%.400s\" does not say \"%s\"", rig->text, words);
    }
}

TW_UNUSED static void rig_assert_fails(const Rig *rig, int code, const char *message)
{
    assert_int_equal(rig->kind, CALL_RESULT_ERROR);
    assert_int_equal(rig->error,
                     rig->call.verb == CALL_READ ? CALL_ERROR_UNKNOWN_RESOURCE : CALL_ERROR_OWN);
    assert_int_equal(rig->wire_code, code);
    assert_string_equal(rig->text, message);
}

/* ---- files ---- */

TW_UNUSED static void rig_put(const Rig *rig, const char *path, const char *content)
{
    assert_int_equal(io_tree_write(rig->folder, path, span_from_str(content), false, true, NULL),
                     0);
}

TW_UNUSED static bool rig_exists(const Rig *rig, const char *path)
{
    char full[512];
    struct stat info;

    (void)snprintf(full, sizeof(full), "%s/%s", rig->folder, path);
    return lstat(full, &info) == 0;
}
