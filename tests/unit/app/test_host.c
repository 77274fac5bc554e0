#include "app/host.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/hub.h"
#include "base/alloc.h"
#include "io/unix_socket.h"
#include "support/alloc_testing.h"
#include "support/files.h"
#include "support/oom_sweep.h"

typedef struct Fixture {
    char folder[64];
    char socket[96];
    char schema[96];
    Hub *hub;
    Host *host;
    IoTask stop;
    size_t n_closed;
} Fixture;

static void on_closed(void *context)
{
    Fixture *f = context;

    f->n_closed++;
    io_loop_stop(hub_loop(f->hub));
}

static void never_start(void *context, Call *call)
{
    (void)context;
    call_fail(call, CALL_ERROR_INTERNAL, SPAN(""));
}

static const CallProvider provider = {.start = never_start};

static int add_tool(Fixture *f, const char *json)
{
    return router_add(
        hub_router(f->hub),
        &(RouterSpec){.kind = ROUTER_TOOL, .json = span_from_str(json), .provider = &provider},
        NULL);
}

#define PLAIN "{\"name\":\"plain\",\"inputSchema\":{\"type\":\"object\"}}"
#define FULL                                                                                       \
    "{\"name\":\"full\",\"title\":\"T\",\"description\":\"says \\\"\\u00e9\\\"\",\"icons\":[{"     \
    "\"src\":\"data:,\"}],\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{"            \
    "\"maximum\":9007199254740993}}},\"outputSchema\":{\"type\":\"object\"},\"annotations\":{"     \
    "\"readOnlyHint\":true},\"_meta\":{\"x\":1.0}}"
#define PLAIN_IN_FILE                                                                              \
    "{\"name\":\"plain\",\"description\":\"\",\"input_schema\":{\"type\":\"object\"}}"
#define FULL_IN_FILE                                                                               \
    "{\"name\":\"full\",\"description\":\"says \\\"\\u00e9\\\"\",\"title\":\"T\","                 \
    "\"input_schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"maximum\":9007199254740993}}}" \
    ",\"output_schema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true},\"icons\":"  \
    "[{\"src\":\"data:,\"}],\"_meta\":{\"x\":1.0}}"

static int host_open_at(Fixture *f, Host **ret, Diag *diag)
{
    return host_new(ret,
                    &(HostConfig){.loop = hub_loop(f->hub),
                                  .router = hub_router(f->hub),
                                  .socket_path = f->socket,
                                  .schema_path = f->schema,
                                  .closed = on_closed,
                                  .context = f},
                    diag);
}

static void fixture_prepare(Fixture *f)
{
    static const char folder[] = "/tmp/tw-host-XXXXXX";

    *f = (Fixture){.n_closed = 0};
    memcpy(f->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->socket, sizeof(f->socket), "%s/h.sock", f->folder);
    (void)snprintf(f->schema, sizeof(f->schema), "%s/h.json", f->folder);
}

static int fixture_open_hub(Fixture *f)
{
    int r = hub_new(&f->hub, NULL);

    if (r == 0) {
        r = add_tool(f, PLAIN);
    }
    return r != 0 ? r : add_tool(f, FULL);
}

static void fixture_init(Fixture *f)
{
    Diag diag = DIAG_NULL;

    fixture_prepare(f);
    assert_int_equal(fixture_open_hub(f), 0);
    io_loop_hold(hub_loop(f->hub));
    if (host_open_at(f, &f->host, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
}

/* Neither file may be left. */
static void fixture_close(Fixture *f)
{
    f->host = host_free(f->host);
    f->hub = hub_free(f->hub);
    assert_int_equal(rmdir(f->folder), 0);
}

static void fixture_deinit(Fixture *f)
{
    io_loop_release(hub_loop(f->hub));
    fixture_close(f);
}

static void on_stop(IoTask *task)
{
    Fixture *f = (Fixture *)(void *)((char *)task - offsetof(Fixture, stop));

    io_loop_stop(hub_loop(f->hub));
}

/* A turn of the loop. */
static void turn(Fixture *f)
{
    f->stop = (IoTask){.fn = on_stop};
    io_loop_post(hub_loop(f->hub), &f->stop);
    assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
}

static void assert_file(const char *path, const char *content)
{
    size_t n;
    char *text = files_read(path, &n);

    assert_string_equal(text, content);
    free(text);
}

/* ---- the schema file ---- */

static void both_files_are_for_this_user_only(void **state)
{
    struct stat info;
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(lstat(f.socket, &info), 0);
    assert_true(S_ISSOCK(info.st_mode));
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(lstat(f.schema, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(info.st_mode & 07777, 0600);
    fixture_deinit(&f);
}

static void the_schema_file_says_what_the_tools_say_of_themselves(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_file(f.schema, "[" PLAIN_IN_FILE "," FULL_IN_FILE "]\t\n");
    fixture_deinit(&f);
}

static void all_pages_of_the_list_are_in_it(void **state)
{
    Fixture f;

    (void)state;
    fixture_prepare(&f);
    assert_int_equal(fixture_open_hub(&f), 0);
    io_loop_hold(hub_loop(f.hub));
    router_set_page_size(hub_router(f.hub), 1);
    assert_int_equal(host_open_at(&f, &f.host, NULL), 0);
    assert_file(f.schema, "[" PLAIN_IN_FILE "," FULL_IN_FILE "]\t\n");
    fixture_deinit(&f);
}

static void it_follows_the_registry(void **state)
{
    struct stat before;
    struct stat after;
    Fixture f;

    (void)state;
    fixture_init(&f);
    turn(&f);
    assert_int_equal(lstat(f.schema, &before), 0);
    /* A change of something else is none. */
    assert_int_equal(router_add(hub_router(f.hub),
                                &(RouterSpec){.kind = ROUTER_PROMPT,
                                              .json = SPAN_INIT("{\"name\":\"p\"}"),
                                              .provider = &provider},
                                NULL),
                     0);
    turn(&f);
    assert_int_equal(lstat(f.schema, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(router_remove(hub_router(f.hub), ROUTER_TOOL, SPAN("full")), 0);
    turn(&f);
    assert_file(f.schema, "[" PLAIN_IN_FILE "]\t\n");
    assert_int_equal(router_remove(hub_router(f.hub), ROUTER_TOOL, SPAN("plain")), 0);
    turn(&f);
    assert_file(f.schema, "[]\t\n");
    assert_int_equal(add_tool(&f, FULL), 0);
    turn(&f);
    assert_file(f.schema, "[" FULL_IN_FILE "]\t\n");
    assert_int_equal(lstat(f.schema, &after), 0);
    assert_int_equal(after.st_mode & 07777, 0600);
    fixture_deinit(&f);
}

/* ---- the place ---- */

static void a_live_parent_is_named_and_left_alone(void **state)
{
    char pid[32];
    Diag diag = DIAG_NULL;
    Host *second = NULL;
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(host_open_at(&f, &second, &diag), HOST_E_PLACE);
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    assert_non_null(strstr(diag.message, f.socket));
    assert_non_null(strstr(diag.message, pid));
    assert_file(f.schema, "[" PLAIN_IN_FILE "," FULL_IN_FILE "]\t\n");
    assert_true(unix_socket_is_live(f.socket));
    /* The same socket with another schema file, which is not left behind. */
    f.schema[strlen(f.schema) - 6] = 'x';
    diag = DIAG_NULL;
    assert_int_equal(host_open_at(&f, &second, &diag), HOST_E_PLACE);
    assert_non_null(strstr(diag.message, pid));
    assert_int_not_equal(access(f.schema, F_OK), 0);
    assert_true(unix_socket_is_live(f.socket));
    fixture_deinit(&f);
}

static void what_a_dead_parent_left_is_replaced(void **state)
{
    Fixture f;
    pid_t pid;
    int status;

    (void)state;
    fixture_prepare(&f);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        Host *host = NULL;
        bool is_open = fixture_open_hub(&f) == 0 && host_open_at(&f, &host, NULL) == 0;

        _exit(is_open ? 0 : 1); /* without a word, as by SIGKILL */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(access(f.socket, F_OK), 0);
    assert_int_equal(access(f.schema, F_OK), 0);
    assert_int_equal(fixture_open_hub(&f), 0);
    io_loop_hold(hub_loop(f.hub));
    assert_int_equal(host_open_at(&f, &f.host, NULL), 0);
    assert_true(unix_socket_is_live(f.socket));
    fixture_deinit(&f);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int bind_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* A start that must fail with these words and leave the schema file as it is. */
static void assert_refused(Fixture *f, const char *words, const char *content)
{
    struct stat before;
    struct stat after;
    Diag diag = DIAG_NULL;
    Host *host = NULL;

    assert_int_equal(lstat(f->schema, &before), 0);
    assert_int_equal(host_open_at(f, &host, &diag), HOST_E_PLACE);
    if (strstr(diag.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", diag.message, words);
    }
    assert_file(f->schema, content);
    assert_int_equal(lstat(f->schema, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void a_file_that_no_parent_wrote_is_left_alone(void **state)
{
    Fixture f;

    (void)state;
    fixture_prepare(&f);
    assert_int_equal(fixture_open_hub(&f), 0);
    write_file(f.schema, "[]\n");
    assert_refused(&f, "is there and was not left by a parent: remove it", "[]\n");
    assert_int_not_equal(access(f.socket, F_OK), 0);
    assert_int_equal(unlink(f.schema), 0);
    fixture_close(&f);
}

/* The schema files here are such as a dead parent of ours leaves: nothing but the socket tells that
 * they are in use. */
static void the_socket_is_looked_at_before_the_schema_is_touched(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f);
    assert_int_equal(fixture_open_hub(&f), 0);
    write_file(f.schema, "[]\t\n");
    fd = bind_at(f.socket);
    assert_int_equal(listen(fd, 1), 0);
    assert_refused(&f, "is served by process", "[]\t\n");
    assert_true(unix_socket_is_live(f.socket));
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(f.socket), 0);
    write_file(f.socket, "precious");
    assert_refused(&f, "is there and is no socket", "[]\t\n");
    assert_file(f.socket, "precious");
    assert_int_equal(unlink(f.socket), 0);
    /* A dead one is no hindrance. */
    assert_int_equal(close(bind_at(f.socket)), 0);
    assert_int_equal(host_open_at(&f, &f.host, NULL), 0);
    fixture_close(&f);
}

static void a_place_that_cannot_be_is_explained(void **state)
{
    static const char *const sockets[] = {"/no/such/folder/h.sock", "/"};
    Fixture f;

    (void)state;
    fixture_prepare(&f);
    assert_int_equal(fixture_open_hub(&f), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(sockets); i++) {
        Diag diag = DIAG_NULL;
        Host *host = NULL;

        (void)snprintf(f.socket, sizeof(f.socket), "%s", sockets[i]);
        assert_int_equal(host_open_at(&f, &host, &diag), HOST_E_PLACE);
        assert_non_null(strstr(diag.message, sockets[i]));
        assert_int_not_equal(access(f.schema, F_OK), 0);
    }
    fixture_close(&f);
}

static void a_shutdown_is_told_when_it_is_over(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    host_shutdown(f.host);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    assert_int_not_equal(access(f.socket, F_OK), 0);
    fixture_deinit(&f);
}

/* ---- names ---- */

static void a_parent_without_a_place_is_in_the_runtime_folder(void **state)
{
    char expected[128];
    char left[128];
    char *socket = NULL;
    char *schema = NULL;
    struct stat info;
    Fixture f;

    (void)state;
    fixture_prepare(&f);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", f.folder, 1), 0);
    assert_int_equal(host_paths("host", NULL, NULL, &socket, &schema, NULL), 0);
    (void)snprintf(expected, sizeof(expected), "%s/toolwire/host.sock", f.folder);
    assert_string_equal(socket, expected);
    (void)snprintf(expected, sizeof(expected), "%s/toolwire/host.json", f.folder);
    assert_string_equal(schema, expected);
    socket = mem_free(socket);
    schema = mem_free(schema);
    (void)snprintf(expected, sizeof(expected), "%s/toolwire", f.folder);
    assert_int_equal(lstat(expected, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    /* To ask for a place removes nothing. */
    (void)snprintf(left, sizeof(left), "%s/toolwire/host-7.json", f.folder);
    write_file(left, "[]\t\n");
    assert_int_equal(host_paths("host-1234", NULL, "/s.json", &socket, &schema, NULL), 0);
    assert_int_equal(unlink(left), 0);
    (void)snprintf(left, sizeof(left), "%s/toolwire/host-1234.sock", f.folder);
    assert_string_equal(socket, left);
    assert_string_equal(schema, "/s.json");
    socket = mem_free(socket);
    schema = mem_free(schema);
    assert_int_equal(rmdir(expected), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_int_equal(rmdir(f.folder), 0);
}

static void a_parent_that_starts_in_the_runtime_folder_cleans_it(void **state)
{
    static const struct {
        const char *name;
        const char *text;
        bool stays;
    } rows[] = {
        {"host-7.json", "[]\t\n", false},
        {"host-8.json", "[]\n", true},
        {"hosts.json", "[]\t\n", true},
    };
    char path[160];
    Fixture f;

    (void)state;
    fixture_prepare(&f);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", f.folder, 1), 0);
    assert_int_equal(fixture_open_hub(&f), 0);
    (void)snprintf(path, sizeof(path), "%s/toolwire", f.folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        (void)snprintf(path, sizeof(path), "%s/toolwire/%s", f.folder, rows[i].name);
        write_file(path, rows[i].text);
    }
    /* One that is elsewhere leaves it alone. */
    assert_int_equal(host_open_at(&f, &f.host, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/toolwire/%s", f.folder, rows[0].name);
    assert_int_equal(access(path, F_OK), 0);
    f.host = host_free(f.host);
    (void)snprintf(f.socket, sizeof(f.socket), "%s/toolwire/host.sock", f.folder);
    assert_int_equal(host_open_at(&f, &f.host, NULL), 0);
    f.host = host_free(f.host);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        (void)snprintf(path, sizeof(path), "%s/toolwire/%s", f.folder, rows[i].name);
        assert_int_equal(unlink(path) == 0, rows[i].stays);
    }
    (void)snprintf(path, sizeof(path), "%s/toolwire", f.folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    fixture_close(&f);
}

static void the_schema_lies_beside_the_socket(void **state)
{
    static const struct {
        const char *socket;
        const char *schema; /* NULL: not said */
        const char *expected;
    } rows[] = {
        {"/a/b.sock", NULL, "/a/b.json"},
        {"/a/b", NULL, "/a/b.json"},
        {"/a/.sock", NULL, "/a/.json"},
        {"/a/b.sock", "/c/d.txt", "/c/d.txt"},
    };
    char *socket = NULL;
    char *schema = NULL;
    char folder[4096];
    Diag diag = DIAG_NULL;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        assert_int_equal(host_paths("n", rows[i].socket, rows[i].schema, &socket, &schema, NULL),
                         0);
        assert_string_equal(socket, rows[i].socket);
        assert_string_equal(schema, rows[i].expected);
        socket = mem_free(socket);
        schema = mem_free(schema);
    }
    /* A bridge may be started in any folder. */
    assert_non_null(getcwd(folder, sizeof(folder)));
    assert_int_equal(host_paths("n", "x.sock", NULL, &socket, &schema, NULL), 0);
    assert_memory_equal(socket, folder, strlen(folder));
    assert_string_equal(socket + strlen(folder), "/x.sock");
    assert_string_equal(schema + strlen(folder), "/x.json");
    socket = mem_free(socket);
    schema = mem_free(schema);
    assert_int_equal(host_paths("n", "/a/b", "/a/b", &socket, &schema, &diag), HOST_E_PLACE);
    assert_non_null(strstr(diag.message, "/a/b"));
    assert_null(socket);
}

static void the_clients_configuration_starts_the_bridge(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 4096);
    assert_int_equal(host_client_config(&out, "mine", "/bin/tw", "/r/h \"1\".sock", "/r/h.json"),
                     0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, "{\n"
                                  "  \"mcpServers\": {\n"
                                  "    \"mine\": {\n"
                                  "      \"command\": \"/bin/tw\",\n"
                                  "      \"args\": [\n"
                                  "        \"bridge\",\n"
                                  "        \"/r/h \\\"1\\\".sock\",\n"
                                  "        \"/r/h.json\"\n"
                                  "      ]\n"
                                  "    }\n"
                                  "  }\n"
                                  "}\n");
    bytes_deinit(&out);
    bytes_init(&out, 50);
    assert_int_equal(host_client_config(&out, "mine", "/bin/tw", "/r/h.sock", "/r/h.json"),
                     BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

/* ---- memory ---- */

static int open_once(void *context)
{
    Fixture *f = context;
    int r = fixture_open_hub(f);

    if (r == 0) {
        r = host_open_at(f, &f->host, NULL);
    }
    f->host = host_free(f->host);
    f->hub = hub_free(f->hub);
    return r;
}

static int name_once(void *context)
{
    char *socket = NULL;
    char *schema = NULL;
    int r = host_paths("host", "x.sock", NULL, &socket, &schema, NULL);

    (void)context;
    (void)mem_free(socket);
    (void)mem_free(schema);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    Fixture f;

    (void)state;
    fixture_prepare(&f);
    test_oom_sweep(open_once, &f);
    test_oom_sweep(name_once, NULL);
    assert_int_equal(rmdir(f.folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_files_are_for_this_user_only),
        cmocka_unit_test(the_schema_file_says_what_the_tools_say_of_themselves),
        cmocka_unit_test(all_pages_of_the_list_are_in_it),
        cmocka_unit_test(it_follows_the_registry),
        cmocka_unit_test(a_live_parent_is_named_and_left_alone),
        cmocka_unit_test(what_a_dead_parent_left_is_replaced),
        cmocka_unit_test(a_file_that_no_parent_wrote_is_left_alone),
        cmocka_unit_test(the_socket_is_looked_at_before_the_schema_is_touched),
        cmocka_unit_test(a_place_that_cannot_be_is_explained),
        cmocka_unit_test(a_shutdown_is_told_when_it_is_over),
        cmocka_unit_test(a_parent_without_a_place_is_in_the_runtime_folder),
        cmocka_unit_test(a_parent_that_starts_in_the_runtime_folder_cleans_it),
        cmocka_unit_test(the_schema_lies_beside_the_socket),
        cmocka_unit_test(the_clients_configuration_starts_the_bridge),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
