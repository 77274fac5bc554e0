/* Going over from one configuration to the next: what differs is replaced, all else is left alone.
 */
#include "app/sources.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/sources_internal.h"
#include "base/alloc.h"
#include "support/oom_sweep.h"

#define TOOL(name, script)                                                                         \
    "{\"name\":\"" name "\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"         \
    "\"command\":[\"/bin/sh\",\"-c\",\"" script "\"]}"

typedef struct Fixture {
    char folder[32];
    char tools[64];
    char other[64];
    char go[64]; /* a fifo on which a command waits */
    Hub *hub;
    Sources sources;
    Config config;
    RouterListener listener;
    size_t n_changed;
} Fixture;

/* One call and what became of it. */
typedef struct Asked {
    Call call; /* first: the door gets a Call */
    IoLoop *loop;
    int n_finished;
    CallError error;
    char text[64];
} Asked;

static void on_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;
    size_t n = 0;

    asked->n_finished++;
    asked->error = result->error;
    for (size_t i = 0; i < result->n_pieces; i++) {
        Span piece = result->pieces[i];

        assert_true(n + piece.n < sizeof(asked->text));
        memcpy(asked->text + n, piece.p, piece.n);
        n += piece.n;
    }
    asked->text[n] = '\0';
    io_loop_stop(asked->loop);
}

static const CallDoor door = {.finish = on_finish};

static void ask(Fixture *f, Asked *asked, const char *tool)
{
    *asked = (Asked){.loop = hub_loop(f->hub)};
    call_init(&asked->call);
    asked->call.door = &door;
    asked->call.verb = CALL_TOOL;
    asked->call.target = span_from_str(tool);
    router_advance(hub_router(f->hub), io_loop_now_ms(hub_loop(f->hub)));
    router_dispatch(hub_router(f->hub), NULL, &asked->call);
}

static void wait_for(Fixture *f, Asked *asked)
{
    if (asked->n_finished == 0) {
        io_loop_hold(hub_loop(f->hub));
        assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
        io_loop_release(hub_loop(f->hub));
    }
    assert_int_equal(asked->n_finished, 1);
}

static void on_changed(RouterListener *listener, RouterKind kind)
{
    Fixture *f = (Fixture *)(void *)((char *)listener - offsetof(Fixture, listener));

    if (kind == ROUTER_TOOL) {
        f->n_changed++;
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool has(Fixture *f, const char *tool)
{
    return router_has_tool(hub_router(f->hub), span_from_str(tool));
}

static void setup(Fixture *f, SourcesWith with)
{
    Diag diag = DIAG_NULL;

    with.reload = true;
    memset(f, 0, sizeof(*f));
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tw-sources-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->tools, sizeof(f->tools), "%s/t.json", f->folder);
    (void)snprintf(f->other, sizeof(f->other), "%s/u.json", f->folder);
    (void)snprintf(f->go, sizeof(f->go), "%s/go", f->folder);
    /* Pipes are made here. */
    assert_int_equal(setenv("TMPDIR", f->folder, 1), 0);
    write_file(f->tools, "[" TOOL("a", "echo one") "]");
    assert_int_equal(config_replace(&f->config.tools, f->tools), 0);
    assert_int_equal(config_replace(&f->config.pipe.name, "P"), 0);
    assert_int_equal(hub_new(&f->hub, NULL), 0);
    assert_int_equal(sources_init(&f->sources, f->hub, &f->config, with, NULL, &diag), 0);
    f->listener.changed = on_changed;
    router_listen(hub_router(f->hub), &f->listener);
}

static void teardown(Fixture *f)
{
    router_unlisten(hub_router(f->hub), &f->listener);
    sources_deinit(&f->sources);
    sources_deinit(&f->sources);
    (void)hub_free(f->hub);
    config_deinit(&f->config);
    (void)unlink(f->tools);
    (void)unlink(f->other);
    (void)unlink(f->go);
    assert_int_equal(rmdir(f->folder), 0);
}

/* A copy that a test then changes. */
static Config next_of(const Config *config)
{
    Config next = CONFIG_NULL;

    assert_int_equal(config_replace(&next.tools, config->tools), 0);
    assert_int_equal(config_replace(&next.pipe.name, config->pipe.name), 0);
    return next;
}

static void take(Fixture *f, Config *next)
{
    config_deinit(&f->config);
    f->config = *next;
}

static void nothing_new_touches_nothing(void **state)
{
    Fixture f;
    Config next;
    Addins *addins;
    ExecProvider *exec;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = true, .toolkit = true});
    addins = f.sources.addins;
    exec = f.sources.exec;
    next = next_of(&f.config);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    assert_ptr_equal(f.sources.addins, addins);
    assert_ptr_equal(f.sources.exec, exec);
    assert_int_equal(f.n_changed, 0);
    take(&f, &next);
    teardown(&f);
}

static void a_file_that_holds_something_else_is_read_again(void **state)
{
    Fixture f;
    Config next;
    Addins *addins;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = true});
    addins = f.sources.addins;
    write_file(f.tools, "[" TOOL("a", "echo two") "," TOOL("b", "echo b") "]");
    next = next_of(&f.config);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    assert_true(has(&f, "a") && has(&f, "b") && has(&f, "sleep"));
    assert_int_equal(f.n_changed, 1);
    assert_ptr_equal(f.sources.addins, addins);
    take(&f, &next);
    teardown(&f);
}

/* The providers of all tools, in the order of the list. */
static void order(const Fixture *f, char *ret, size_t size)
{
    const Router *router = hub_router(f->hub);
    size_t n = 0;

    for (size_t i = 0; i < router_count(router, ROUTER_TOOL); i++) {
        int length = snprintf(ret + n, size - n, "%s ", router_provider_at(router, ROUTER_TOOL, i));

        assert_true(length > 0 && (size_t)length < size - n);
        n += (size_t)length;
    }
}

static void a_list_is_in_the_order_of_a_fresh_start(void **state)
{
    char before[1024];
    char after[1024];
    Fixture f;
    Config next;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = true, .toolkit = true});
    order(&f, before, sizeof(before));
    assert_memory_equal(before, "exec ", 5);
    /* The commands anew, and then what stands in the middle. */
    write_file(f.tools, "[" TOOL("b", "echo two") "]");
    next = next_of(&f.config);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    take(&f, &next);
    assert_true(has(&f, "b") && !has(&f, "a"));
    order(&f, after, sizeof(after));
    assert_string_equal(after, before);
    next = next_of(&f.config);
    assert_int_equal(config_replace(&next.write_root, f.folder), 0);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    take(&f, &next);
    next = next_of(&f.config);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    take(&f, &next);
    order(&f, after, sizeof(after));
    assert_string_equal(after, before);
    teardown(&f);
}

static void commands_that_run_outlive_their_file(void **state)
{
    Fixture f;
    Config next;
    Asked old;
    Asked young;
    FILE *go;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = false});
    write_file(f.tools, "[" TOOL("a", "cat $TMPDIR/go") "]");
    next = next_of(&f.config);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    take(&f, &next);
    assert_int_equal(mkfifo(f.go, 0600), 0);
    ask(&f, &old, "a");
    assert_int_equal(old.n_finished, 0);
    write_file(f.tools, "[" TOOL("a", "echo young") "]");
    next = next_of(&f.config);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    take(&f, &next);
    assert_int_equal(old.n_finished, 0);
    assert_non_null(f.sources.retired[0]);
    ask(&f, &young, "a");
    wait_for(&f, &young);
    assert_non_null(strstr(young.text, "young"));
    go = fopen(f.go, "w");
    assert_non_null(go);
    assert_true(fputs("old", go) >= 0);
    assert_int_equal(fclose(go), 0);
    wait_for(&f, &old);
    assert_non_null(strstr(old.text, "old"));
    call_deinit(&old.call);
    call_deinit(&young.call);
    /* The next reload lets go of what has ended. */
    write_file(f.tools, "[]");
    next = next_of(&f.config);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    take(&f, &next);
    assert_false(has(&f, "a"));
    teardown(&f);
}

static void a_mistake_changes_nothing(void **state)
{
    static const struct {
        const char *tools; /* of the pipe's file, if the name says so */
        bool is_pipe;
        const char *words;
    } cases[] = {
        {"[{]", false, "t.json:1"},
        {"[" TOOL("echo", "x") "]", false, "[0].name"},
        {"[{]", true, "u.json:1"},
        {"[" TOOL("a", "x") "]", true, "[0].name"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Diag diag = DIAG_NULL;
        Fixture f;
        Config next;
        Asked asked;
        Addins *addins;

        setup(&f, (SourcesWith){.diagnostics = true});
        addins = f.sources.addins;
        next = next_of(&f.config);
        write_file(cases[i].is_pipe ? f.other : f.tools, cases[i].tools);
        if (cases[i].is_pipe) {
            assert_int_equal(config_replace(&next.pipe.tools, f.other), 0);
        }
        assert_int_equal(sources_reload(&f.sources, &f.config, &next, &diag), SOURCES_E_TOOLS);
        if (strstr(diag.message, cases[i].words) == NULL) {
            assert_string_equal(diag.message, cases[i].words);
        }
        assert_ptr_equal(f.sources.addins, addins);
        assert_int_equal(f.n_changed, 0);
        ask(&f, &asked, "a");
        wait_for(&f, &asked);
        assert_non_null(strstr(asked.text, "one"));
        call_deinit(&asked.call);
        config_deinit(&next);
        teardown(&f);
    }
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(fd >= 0 && strlen(path) < sizeof(address.sun_path));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* A pipe that differs stays with its add-ins and their calls if anything else is wrong. */
static void a_mistake_elsewhere_does_not_cost_the_pipe(void **state)
{
    static const char *const nowhere[] = {"/nowhere/at/all", NULL};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        Diag diag = DIAG_NULL;
        Fixture f;
        Config next;
        Addins *addins;
        char byte;
        int addin;
        int wanted = SOURCES_E_TEMPLATES;

        setup(&f, (SourcesWith){.toolkit = true});
        addins = f.sources.addins;
        addin = connect_to(addins_path(addins));
        next = next_of(&f.config);
        next.pipe.ping_interval_ms = 5000;
        if (i == 0) {
            assert_int_equal(config_replace_list(&next.templates, nowhere), 0);
        } else if (i == 1) {
            assert_int_equal(config_replace(&next.write_root, nowhere[0]), 0);
        } else if (i == 2) {
            assert_int_equal(config_replace(&next.call_socket, "/nowhere/s"), 0);
            assert_int_equal(config_replace(&next.call_socket_schema, nowhere[0]), 0);
            wanted = SOURCES_E_PARENT;
        } else {
            /* A pipe whose place is taken, by something that is no socket. */
            assert_int_equal(config_replace(&next.pipe.name, "Q"), 0);
            (void)snprintf(f.other, sizeof(f.other), "%s/CoreFxPipe_Q", f.folder);
            write_file(f.other, "x");
            wanted = SOURCES_E_PIPE;
        }
        assert_int_equal(sources_reload(&f.sources, &f.config, &next, &diag), wanted);
        assert_true(diag.message[0] != '\0');
        assert_ptr_equal(f.sources.addins, addins);
        assert_int_equal(f.n_changed, 0);
        assert_int_equal(recv(addin, &byte, 1, MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(close(addin), 0);
        config_deinit(&next);
        teardown(&f);
    }
}

static void a_name_may_go_over_to_another(void **state)
{
    Diag diag = DIAG_NULL;
    Fixture f;
    Config next;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = false});
    write_file(f.tools, "[" TOOL("b", "x") "]");
    write_file(f.other, "[" TOOL("a", "x") "]");
    next = next_of(&f.config);
    assert_int_equal(config_replace(&next.pipe.tools, f.other), 0);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, &diag), 0);
    take(&f, &next);
    assert_true(has(&f, "a") && has(&f, "b"));
    assert_int_equal(exec_provider_count(f.sources.exec), 1);
    teardown(&f);
}

static void what_is_named_no_more_goes(void **state)
{
    Config next = CONFIG_NULL;
    Fixture f;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = false});
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    assert_null(f.sources.exec);
    assert_null(f.sources.addins);
    assert_false(has(&f, "a"));
    take(&f, &next);
    next = CONFIG_NULL;
    assert_int_equal(config_replace(&next.tools, f.tools), 0);
    assert_int_equal(config_replace(&next.pipe.name, "Q"), 0);
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    assert_non_null(f.sources.addins);
    assert_non_null(strstr(addins_path(f.sources.addins), "_Q"));
    assert_true(has(&f, "a"));
    take(&f, &next);
    teardown(&f);
}

static void a_pipe_that_can_wait_is_tried_again(void **state)
{
    Fixture f;
    Sources second;
    Config next;
    Diag diag = DIAG_NULL;
    Config config = CONFIG_NULL;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = false});
    assert_int_equal(config_replace(&config.pipe.name, "P"), 0);
    assert_int_equal(
        sources_init(&second, f.hub, &config, (SourcesWith){.toolkit = false}, NULL, &diag),
        SOURCES_E_PIPE);
    sources_deinit(&second);
    assert_int_equal(
        sources_init(&second, f.hub, &config, (SourcesWith){.pipe_can_wait = true}, NULL, &diag),
        0);
    assert_null(second.addins);
    next = CONFIG_NULL;
    assert_int_equal(sources_reload(&f.sources, &f.config, &next, NULL), 0);
    take(&f, &next);
    assert_int_equal(sources_reload(&second, &config, &config, NULL), 0);
    assert_non_null(second.addins);
    sources_deinit(&second);
    config_deinit(&config);
    teardown(&f);
}

static int try_once(void *context)
{
    const Fixture *f = context;

    return sources_try(&f->sources, &f->config, true, NULL);
}

static void no_allocation_of_a_trial_may_fail_unnoticed(void **state)
{
    Fixture f;

    (void)state;
    setup(&f, (SourcesWith){.diagnostics = true});
    write_file(f.other, "[" TOOL("b", "x") "]");
    assert_int_equal(config_replace(&f.config.pipe.tools, f.other), 0);
    test_oom_sweep(try_once, &f);
    assert_int_equal(f.n_changed, 0);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_new_touches_nothing),
        cmocka_unit_test(a_file_that_holds_something_else_is_read_again),
        cmocka_unit_test(a_list_is_in_the_order_of_a_fresh_start),
        cmocka_unit_test(commands_that_run_outlive_their_file),
        cmocka_unit_test(a_mistake_changes_nothing),
        cmocka_unit_test(a_mistake_elsewhere_does_not_cost_the_pipe),
        cmocka_unit_test(a_name_may_go_over_to_another),
        cmocka_unit_test(what_is_named_no_more_goes),
        cmocka_unit_test(a_pipe_that_can_wait_is_tried_again),
        cmocka_unit_test(no_allocation_of_a_trial_may_fail_unnoticed),
    };

    io_ignore_sigpipe();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
