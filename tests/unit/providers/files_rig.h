/* The file tools in a router, with a root of their own, and somebody who asks. */
#pragma once

#include "providers/files.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "support/alloc_testing.h"
#include "unit/io/scratch.h"

typedef struct Rig {
    Call call; /* first: the door finds the rig by it */
    IoLoop *loop;
    Router *router;
    FilesProvider *files;
    Arena arena;
    Bytes text;       /* of the result: all pieces */
    Bytes structured; /* or an error's message */
    CallResultKind kind;
    CallError error;
    bool is_error;
    size_t n_finished;
} Rig;

static Rig rig;

TW_UNUSED static void rig_on_finish(Call *call, const CallResult *result)
{
    Rig *self = (Rig *)(void *)call;

    self->n_finished++;
    self->kind = result->kind;
    self->error = result->error;
    self->is_error = result->is_error;
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_int_equal(bytes_append_span(&self->text, result->pieces[i]), 0);
    }
    assert_int_equal(bytes_append_span(&self->structured, result->kind == CALL_RESULT_ERROR
                                                              ? result->message
                                                              : result->structured),
                     0);
    assert_int_equal(bytes_append_byte(&self->text, '\0'), 0);
    assert_int_equal(bytes_append_byte(&self->structured, '\0'), 0);
    io_loop_stop(self->loop);
}

static const CallDoor rig_door = {.finish = rig_on_finish};

TW_UNUSED static int rig_remove_one(const char *path, const struct stat *info, int type,
                                    struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

/* root/ with a few files; beside it root-evil/ and secret. */
TW_UNUSED static int rig_setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    memset(&rig, 0, sizeof(rig));
    (void)scratch_setup(state);
    assert_int_equal(mkdir(scratch_path("root"), 0755), 0);
    assert_int_equal(mkdir(scratch_path("root/src"), 0755), 0);
    scratch_write(scratch_path("root/src/a.c"), "int a;\nint main(void);\n", 0644);
    scratch_write(scratch_path("root/src/b.h"), "int b;\n", 0644);
    scratch_write(scratch_path("root/note.txt"), "one\ntwo\nthree", 0644);
    assert_int_equal(mkdir(scratch_path("root-evil"), 0755), 0);
    scratch_write(scratch_path("root-evil/secret"), "evil", 0600);
    scratch_write(scratch_path("secret"), "out", 0600);
    return 0;
}

TW_UNUSED static int rig_teardown(void **state)
{
    (void)state;
    assert_int_equal(nftw(scratch, rig_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

TW_UNUSED static int rig_init_with(const FilesConfig *config, Diag *diag)
{
    FilesConfig own = *config;
    int r;

    memset(&rig, 0, sizeof(rig));
    arena_init(&rig.arena, 1 << 26);
    bytes_init(&rig.text, 1 << 28);
    bytes_init(&rig.structured, 1 << 28);
    call_init(&rig.call);
    r = io_loop_new(&rig.loop);
    r = r != 0 ? r : router_new(&rig.router, NULL, (HashSeed){1, 2});
    own.loop = rig.loop;
    own.root = config->root != NULL ? config->root : scratch_path("root");
    r = r != 0 ? r : files_new(&rig.files, &own, diag);
    return r != 0 ? r : files_add(rig.files, rig.router, diag);
}

TW_UNUSED static void rig_init(void)
{
    assert_int_equal(rig_init_with(&(FilesConfig){.commands = files_default_commands}, NULL), 0);
}

TW_UNUSED static void rig_deinit(void)
{
    rig.files = files_free(rig.files);
    rig.router = router_free(rig.router);
    rig.loop = io_loop_free(rig.loop);
    call_deinit(&rig.call);
    arena_deinit(&rig.arena);
    bytes_deinit(&rig.text);
    bytes_deinit(&rig.structured);
}

TW_UNUSED static void rig_begin(const char *tool, const char *arguments)
{
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &rig.arena, arguments, strlen(arguments), NULL, NULL), 0);
    bytes_clear(&rig.text);
    bytes_clear(&rig.structured);
    call_reset(&rig.call);
    rig.call.door = &rig_door;
    rig.call.verb = CALL_TOOL;
    rig.call.target = span_from_str(tool);
    rig.call.arguments = json_root(&doc);
    rig.call.log_level = CALL_LOG_NONE;
    rig.n_finished = 0;
    io_loop_update_now(rig.loop);
    router_advance(rig.router, io_loop_now_ms(rig.loop));
    router_dispatch(rig.router, NULL, &rig.call);
}

/* Asks, and waits for the end. */
TW_UNUSED static void rig_ask(const char *tool, const char *arguments)
{
    rig_begin(tool, arguments);
    while (rig.n_finished == 0) {
        assert_int_equal(io_loop_run(rig.loop), 0);
    }
    assert_int_equal(rig.n_finished, 1);
}

TW_UNUSED static void rig_expect(const char *tool, const char *arguments, const char *structured)
{
    rig_ask(tool, arguments);
    assert_int_equal(rig.kind, CALL_RESULT_TOOL);
    assert_string_equal(rig.structured.data, structured);
    assert_false(rig.is_error);
}

/* A result with is_error whose words hold these. */
TW_UNUSED static void rig_refused(const char *tool, const char *arguments, const char *words)
{
    rig_ask(tool, arguments);
    assert_int_equal(rig.kind, CALL_RESULT_TOOL);
    if (!rig.is_error || strstr(rig.structured.data, words) == NULL) {
        print_message("%s %s: %s\n", tool, arguments, rig.structured.data);
    }
    assert_true(rig.is_error);
    assert_non_null(strstr(rig.structured.data, words));
    assert_non_null(strstr(rig.text.data, words));
}
