/* files_driver ROOT: the file tools and nothing else. Reads lines of TOOL, a blank and JSON, calls
 * them one after the other, and prints "ok" or "error" and what came, a line each.
 *
 * Says when it begins and ends by asking for files that are not there: whoever traces it sees from
 * where on nothing but the root may be touched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "providers/files.h"

#define DRIVER_LINE 65536

typedef struct Driver {
    Call call; /* first: the door finds the driver by it */
    IoLoop *loop;
    Router *router;
    FilesProvider *files;
    Arena arena;
    bool is_done;
} Driver;

static const char *const driver_commands[] = {"cat", "echo", "ls", "sh", NULL};

static void driver_on_finish(Call *call, const CallResult *result)
{
    Driver *driver = (Driver *)(void *)call;
    Span text = result->kind == CALL_RESULT_ERROR ? result->message : result->structured;
    bool is_error = result->kind == CALL_RESULT_ERROR || result->is_error;

    (void)printf("%s %.*s\n", is_error ? "error" : "ok", (int)text.n, text.p);
    driver->is_done = true;
    io_loop_stop(driver->loop);
}

static const CallDoor driver_door = {.finish = driver_on_finish};

static int driver_init(Driver *driver, const char *root)
{
    Diag diag = DIAG_NULL;
    int r;

    call_init(&driver->call);
    arena_init(&driver->arena, (size_t)64 * 1024 * 1024);
    r = io_loop_new(&driver->loop);
    r = r != 0 ? r : router_new(&driver->router, NULL, (HashSeed){1, 2});
    r = r != 0 ? r
               : files_new(&driver->files,
                           &(FilesConfig){
                               .loop = driver->loop, .root = root, .commands = driver_commands},
                           &diag);
    r = r != 0 ? r : files_add(driver->files, driver->router, &diag);
    if (r != 0) {
        (void)fprintf(stderr, "files_driver: %d %s\n", r, diag.message);
    }
    return r;
}

static void driver_ask(Driver *driver, char *line)
{
    char *blank = strchr(line, ' ');
    JsonDoc doc;

    line[strcspn(line, "\n")] = '\0';
    if (blank == NULL ||
        json_parse(&doc, &driver->arena, blank + 1, strlen(blank + 1), NULL, NULL) != 0) {
        (void)printf("error not a call: %s\n", line);
        return;
    }
    call_reset(&driver->call);
    driver->call.door = &driver_door;
    driver->call.verb = CALL_TOOL;
    driver->call.target = span_make(line, (size_t)(blank - line));
    driver->call.arguments = json_root(&doc);
    driver->call.log_level = CALL_LOG_NONE;
    driver->is_done = false;
    router_dispatch(driver->router, NULL, &driver->call);
    while (!driver->is_done) {
        (void)io_loop_run(driver->loop);
    }
}

int main(int argc, char **argv)
{
    static char line[DRIVER_LINE];
    Driver driver = {.is_done = false};
    int r;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: files_driver ROOT\n");
        return 2;
    }
    r = driver_init(&driver, argv[1]);
    if (r == 0) {
        (void)printf("commands are %s\n", files_commands_state(driver.files));
        (void)access("/files-driver-begins", F_OK);
        while (fgets(line, sizeof(line), stdin) != NULL) {
            driver_ask(&driver, line);
        }
        (void)access("/files-driver-ends", F_OK);
    }
    driver.files = files_free(driver.files);
    driver.router = router_free(driver.router);
    driver.loop = io_loop_free(driver.loop);
    call_deinit(&driver.call);
    arena_deinit(&driver.arena);
    return r == 0 ? 0 : 1;
}
