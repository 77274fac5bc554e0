#include "app/host.h"

#include <errno.h>
#include <string.h>

#include "app/callsock_door.h"
#include "app/tool_list.h"
#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/place.h"
#include "io/private_file.h"
#include "io/unix_socket.h"
#include "json/writer.h"

/* What a bridge of ours reads, too (providers/tools_file.h). */
#define HOST_SCHEMA_MAX_BYTES ((size_t)16 * 1024 * 1024)

/* A working folder whose name is longer than this is none that a socket could lie in. */
#define HOST_PATH_MAX 4096

/* Parents of this user that were told no place have this name, or one that begins so and goes on
 * with "-". */
#define HOST_NAME "host"

struct Host {
    IoLoop *loop;
    Router *router;
    CallsockDoor *door;
    IoBeforeWait *settle; /* writes the schema file again, once a turn */
    PrivateFile schema;
    RouterListener listener;
    bool is_listening;
    bool has_changed;
    const LogSink *log;
};

/* ---- the socket ---- */

/* A process serves it: which one? fd: a connection to it, which is closed. */
static int host_refuse_served(const char *path, int fd, Diag *reterr_diag)
{
    long pid = 0;

    if (unix_socket_peer_ids(fd, NULL, &pid) != 0) {
        pid = 0;
    }
    io_fd_close(fd);
    if (pid > 0) {
        return diag_set(reterr_diag, HOST_E_PLACE,
                        "%s is served by process %ld; end it, or choose another socket", path, pid);
    }
    return diag_set(reterr_diag, HOST_E_PLACE,
                    "%s is served by another process; end it, or choose another socket", path);
}

/* Whether the socket can be had, as far as that is seen without making it: the schema file beside
 * what another process serves is that process's. 0, HOST_E_PLACE. */
static int host_check_socket(const char *path, Diag *reterr_diag)
{
    int fd = -1;

    if (!unix_socket_is_there(path) || strlen(path) > UNIX_SOCKET_PATH_MAX) {
        return 0; /* what is wrong with the path is said when the socket is made */
    }
    if (unix_socket_is_other(path)) {
        return diag_set(reterr_diag, HOST_E_PLACE,
                        "%s is there and is no socket: move it away, or choose another path", path);
    }
    switch (unix_socket_connect(path, &fd)) {
    case 0:
        return host_refuse_served(path, fd, reterr_diag);
    case -ECONNREFUSED: /* left by a dead process */
    case -ENOENT:
        return 0;
    default:
        return diag_set(reterr_diag, HOST_E_PLACE,
                        "another process may serve %s; end it, or choose another socket", path);
    }
}

/* ---- the schema file ---- */

/* Appends the array of tools. 0, -ENOMEM, BYTES_E_FULL. */
static int host_write_schema(Router *router, Bytes *out)
{
    JsonWriter writer;
    int listed;
    int r;

    json_writer_init(&writer, out, JSON_STYLE_COMPACT);
    listed = tool_list_write(router, &writer);
    r = json_writer_finish(&writer);
    if (r == 0 && listed == 0) {
        /* The array has ended already. */
        return bytes_append_span(out, span_from_str(&HOST_SCHEMA_SIGNATURE[1]));
    }
    return listed != 0 ? err_pass(listed) : r;
}

/* A live process has the schema file: who is it? Its socket may have come since we looked. */
static int host_schema_in_use(const HostConfig *config, Diag *reterr_diag)
{
    int r = host_check_socket(config->socket_path, reterr_diag);

    return r != 0 ? r
                  : diag_set(reterr_diag, HOST_E_PLACE,
                             "%s belongs to a parent that runs; end it, or choose another schema "
                             "file",
                             config->schema_path);
}

static int host_create_schema(Host *host, const HostConfig *config, Diag *reterr_diag)
{
    Bytes text;
    int r;

    bytes_init(&text, HOST_SCHEMA_MAX_BYTES);
    r = host_write_schema(host->router, &text);
    if (r == 0) {
        r = private_file_create(&host->schema, config->schema_path, bytes_span(&text),
                                SPAN(HOST_SCHEMA_SIGNATURE), reterr_diag);
        if (r == PRIVATE_FILE_E_IN_USE) {
            r = host_schema_in_use(config, reterr_diag);
        } else if (r > 0) {
            r = HOST_E_PLACE;
        }
    } else if (r > 0) {
        r = diag_set(reterr_diag, HOST_E_PLACE, "the tools are described in more than %zu MiB",
                     HOST_SCHEMA_MAX_BYTES >> 20);
    }
    bytes_deinit(&text);
    return r;
}

/* Bridges that cannot be told of a change keep the tools that they know; the parent serves on. */
static void host_rewrite_schema(Host *host)
{
    Diag diag = DIAG_NULL;
    Bytes text;
    int r;

    bytes_init(&text, HOST_SCHEMA_MAX_BYTES);
    r = host_write_schema(host->router, &text);
    if (r == 0) {
        r = private_file_replace(&host->schema, bytes_span(&text), &diag);
    }
    if (r != 0) {
        logsink_write(host->log, LOGSINK_LEVEL_WARN, "host", "the schema file stays as it was: %s",
                      diag.message[0] != '\0' ? diag.message
                      : r < 0                 ? io_error_text(-r)
                                              : "too large");
    }
    bytes_deinit(&text);
}

static void host_on_changed(RouterListener *listener, RouterKind kind)
{
    Host *host = (Host *)(void *)((char *)listener - offsetof(Host, listener));

    host->has_changed = host->has_changed || kind == ROUTER_TOOL;
}

static void host_on_settle(void *context)
{
    Host *host = context;

    if (host->has_changed) {
        host->has_changed = false;
        host_rewrite_schema(host);
    }
}

/* ---- life ---- */

/* Parents that were killed leave files, each under a name of its own: nobody else would remove
 * them.
 */
static void host_clean(const HostConfig *config)
{
    /* A pipe lies in no folder: then only the schema file is in one. */
    const char *file =
        io_place_is_pipe_name(config->socket_path) ? config->schema_path : config->socket_path;
    const char *slash = io_place_last_slash(file);
    Span folder = span_make(file, slash != NULL ? (size_t)(slash - file) : 0);
    char path[HOST_PATH_MAX];

    if (folder.n < sizeof(path) && private_folder_is_runtime(folder)) {
        memcpy(path, folder.p, folder.n);
        path[folder.n] = '\0';
        (void)private_folder_clean(path, HOST_NAME, SPAN(HOST_SCHEMA_SIGNATURE));
    }
}

static int host_open(Host *host, const HostConfig *config, Diag *reterr_diag)
{
    int r = io_before_wait_new(&host->settle, host->loop, host_on_settle, host);

    if (r != 0) {
        return err_pass(r);
    }
    r = host_check_socket(config->socket_path, reterr_diag);
    if (r != 0) {
        return r;
    }
    host_clean(config);
    r = host_create_schema(host, config, reterr_diag);
    if (r != 0) {
        return r;
    }
    r = callsock_door_new(&host->door,
                          &(CallsockDoorConfig){.loop = host->loop,
                                                .router = host->router,
                                                .path = config->socket_path,
                                                .limits = config->limits,
                                                .drain_ms = config->drain_ms,
                                                .log = config->log,
                                                .closed = config->closed,
                                                .context = config->context},
                          reterr_diag);
    return r > 0 ? HOST_E_PLACE : err_pass(r);
}

int host_new(Host **ret, const HostConfig *config, Diag *reterr_diag)
{
    Host *host = mem_alloc_array(1, sizeof(*host));
    int r;

    if (host == NULL) {
        return err_raise(-ENOMEM);
    }
    *host = (Host){
        .loop = config->loop,
        .router = config->router,
        .schema = PRIVATE_FILE_NULL,
        .listener = {.changed = host_on_changed},
        .log = config->log,
    };
    r = host_open(host, config, reterr_diag);
    if (r != 0) {
        host_free(host);
        return r;
    }
    router_listen(host->router, &host->listener);
    host->is_listening = true;
    *ret = host;
    return 0;
}

Host *host_free(Host *host)
{
    if (host == NULL) {
        return NULL;
    }
    if (host->is_listening) {
        router_unlisten(host->router, &host->listener);
    }
    /* The socket first: while the file is there, its holder still owns the place. */
    host->door = callsock_door_free(host->door);
    private_file_remove(&host->schema);
    host->settle = io_before_wait_free(host->settle);
    return mem_free(host);
}

void host_shutdown(Host *host)
{
    callsock_door_shutdown(host->door);
}

/* ---- places ---- */

/* a, b and c as one string. Gives *ret. */
static int host_join(char **ret, Span a, Span b, Span c)
{
    char *joined = mem_alloc(a.n + b.n + c.n + 1);

    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(joined, a.p, a.n);
    memcpy(joined + a.n, b.p, b.n);
    memcpy(joined + a.n + b.n, c.p, c.n);
    joined[a.n + b.n + c.n] = '\0';
    *ret = joined;
    return 0;
}

/* NAME and an ending in the user's runtime folder. */
static int host_in_runtime(char **ret, Span name, Span ending, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *folder = NULL;
    CLEANUP(mem_freep) char *begin = NULL;
    CLEANUP(mem_freep) char *path = NULL;
    int r = private_folder_runtime(&folder, reterr_diag);

    if (r != 0) {
        return r > 0 ? HOST_E_PLACE : err_pass(r);
    }
    r = host_join(&begin, span_from_str(folder), SPAN("/"), name);
    r = r != 0 ? r : host_join(&path, span_from_str(begin), ending, SPAN(""));
    return err_pass(r != 0 ? r : io_place_absolute(ret, path));
}

/* Beside the socket; the name of a pipe lies in no folder. */
static int host_default_schema(char **ret, const char *socket_path, Diag *reterr_diag)
{
    Span path = span_from_str(socket_path);

    if (span_ends_with(path, SPAN(".sock"))) {
        path.n -= SPAN(".sock").n;
    }
    if (io_place_is_pipe_name(socket_path)) {
        size_t n_folder = io_place_folder_length(socket_path);

        return host_in_runtime(ret, span_make(path.p + n_folder, path.n - n_folder), SPAN(".json"),
                               reterr_diag);
    }
    return host_join(ret, path, SPAN(".json"), SPAN(""));
}

int host_paths(const char *name, const char *socket_path, const char *schema_path,
               char **ret_socket_path, char **ret_schema_path, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *place = NULL;
    CLEANUP(mem_freep) char *socket = NULL;
    CLEANUP(mem_freep) char *schema = NULL;
    int r = socket_path != NULL
                ? io_place_absolute(&place, socket_path)
                : host_in_runtime(&place, span_from_str(name), SPAN(".sock"), reterr_diag);

    if (r != 0) {
        return r;
    }
    r = schema_path != NULL ? io_place_absolute(&schema, schema_path)
                            : host_default_schema(&schema, place, reterr_diag);
    r = r != 0 ? r : unix_socket_name(&socket, place);
    if (r != 0) {
        return r;
    }
    if (strcmp(socket, schema) == 0) {
        return diag_set(reterr_diag, HOST_E_PLACE, "%s cannot be both socket and schema file",
                        socket);
    }
    *ret_socket_path = socket;
    *ret_schema_path = schema;
    socket = NULL;
    schema = NULL;
    return 0;
}

int host_client_config(Bytes *out, const char *name, const char *program, const char *socket_path,
                       const char *schema_path)
{
    size_t start = out->n;
    JsonWriter w;
    int r;

    json_writer_init(&w, out, JSON_STYLE_PRETTY);
    json_write_object(&w);
    json_write_key(&w, SPAN("mcpServers"));
    json_write_object(&w);
    json_write_key(&w, span_from_str(name));
    json_write_object(&w);
    json_write_key(&w, SPAN("command"));
    json_write_string(&w, span_from_str(program));
    json_write_key(&w, SPAN("args"));
    json_write_array(&w);
    json_write_string(&w, SPAN("bridge"));
    json_write_string(&w, span_from_str(socket_path));
    json_write_string(&w, span_from_str(schema_path));
    json_write_end_array(&w);
    json_write_end_object(&w);
    json_write_end_object(&w);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r == 0) {
        r = bytes_append_byte(out, '\n');
    }
    if (r != 0) {
        out->n = start;
    }
    return r;
}
