#include "app/hub_place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "io/keep.h"
#include "io/place.h"
#include "io/unix_socket.h"
#include "json/writer.h"

/* Hubs of this user have this name and one more part. */
#define PLACE_NAME "hub"

/* Longest path that is resolved: some systems have ones of 32767 characters. */
#define PLACE_PATH_BYTES ((size_t)128 * 1024)

/* And of what is told of one: JSON writes a byte as six at the most. */
#define PLACE_NOTE_BYTES (6 * PLACE_PATH_BYTES + 64)

/* An object's end and white space that nobody writes: what does not end so is not ours. */
#define PLACE_NOTE_SIGNATURE "}\t\n"

/* Every process must find the same name, so this is no secret: whoever chooses folders that collide
 * does it to himself. */
static const HashSeed place_seed = {UINT64_C(0x746f6f6c77697265), UINT64_C(0x6875622e706c6163)};

/* ---- names of folders ---- */

static size_t place_parent_length(const char *path, size_t n)
{
    while (n > 0 && io_place_is_slash(path[n - 1])) {
        n--;
    }
    while (n > 0 && !io_place_is_slash(path[n - 1])) {
        n--;
    }
    return n;
}

static void place_drop_slashes(Bytes *path)
{
    while (path->n > 0 && io_place_is_slash(path->data[path->n - 1])) {
        path->n--;
    }
}

/* Goes from a folder into `rest`, whose names are not there: what is made of them later are
 * folders, so that dots mean what they say. */
static int place_append(Bytes *path, const char *rest)
{
    int r = 0;

    while (r == 0 && *rest != '\0') {
        size_t n = 0;
        Span name;

        while (rest[n] != '\0' && !io_place_is_slash(rest[n])) {
            n++;
        }
        name = span_make(rest, n);
        rest += rest[n] == '\0' ? n : n + 1;
        if (n == 0 || span_equals(name, SPAN("."))) {
            continue;
        }
        place_drop_slashes(path);
        if (span_equals(name, SPAN(".."))) {
            path->n = place_parent_length(path->data, path->n);
            continue;
        }
        r = bytes_append_byte(path, '/');
        r = r != 0 ? r : bytes_append_span(path, name);
    }
    place_drop_slashes(path);
    return r;
}

/* Appends the real path of what need not be there: links are resolved in the part that is. */
static int place_resolve(Bytes *out, const char *path)
{
    CLEANUP(mem_freep) char *absolute = NULL;
    CLEANUP(mem_freep) char *real = NULL;
    size_t n;
    int r = io_place_absolute(&absolute, path);

    if (r != 0) {
        return err_pass(r);
    }
    for (n = strlen(absolute); n > 0; n = place_parent_length(absolute, n)) {
        char kept = absolute[n];

        absolute[n] = '\0';
        r = io_place_real(&real, absolute);
        absolute[n] = kept;
        if (r == 0 || r == -ENOMEM) {
            break;
        }
    }
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    r = real == NULL ? 0 : bytes_append_span(out, span_from_str(real));
    return r != 0 ? r : place_append(out, absolute + n);
}

static int place_resolve_state(Bytes *out, const char *state_folder)
{
    CLEANUP(mem_freep) char *own = NULL;
    int r = state_folder == NULL ? io_keep_folder(&own) : 0;

    if (r == -ENOENT) {
        return 0; /* nowhere is a place, too */
    }
    return r != 0 ? err_pass(r) : place_resolve(out, state_folder == NULL ? own : state_folder);
}

/* ---- the socket ---- */

static int place_join(char **ret_path, const char *folder, Span state, Diag *reterr_diag)
{
    size_t size = strlen(folder) + sizeof("/" PLACE_NAME "-0123456789abcdef.sock");
    char *path;

    if (size - 1 > UNIX_SOCKET_PATH_MAX) {
        return diag_set(
            reterr_diag, HUB_PLACE_E_PLACE,
            "the path of the hub's socket would be %zu bytes long, and %zu is the most: "
            "it lies in %s",
            size - 1, UNIX_SOCKET_PATH_MAX, folder);
    }
    path = mem_alloc(size);
    if (path == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    (void)snprintf(path, size, "%s/" PLACE_NAME "-%016" PRIx64 ".sock", folder,
                   hash_span(place_seed, state));
    *ret_path = path;
    return 0;
}

/* The socket in that runtime folder. */
static int place_in(char **ret_path, const char *folder, const char *state_folder,
                    Diag *reterr_diag)
{
    CLEANUP(bytes_deinit) Bytes state = BYTES_NULL;
    int r;

    bytes_init(&state, PLACE_PATH_BYTES);
    r = place_resolve_state(&state, state_folder);
    if (r != 0) {
        return diag_set(reterr_diag, r > 0 ? HUB_PLACE_E_PLACE : err_pass(r),
                        "the path of the state folder cannot be used: %s",
                        state_folder == NULL ? "the user's" : state_folder);
    }
    return place_join(ret_path, folder, bytes_span(&state), reterr_diag);
}

int hub_place(char **ret_path, const char *state_folder, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *folder = NULL;
    int r = private_folder_runtime_path(&folder, reterr_diag);

    if (r != 0) {
        return r > 0 ? HUB_PLACE_E_PLACE : err_pass(r);
    }
    return place_in(ret_path, folder, state_folder, reterr_diag);
}

int hub_place_make(char **ret_path, const char *state_folder, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *folder = NULL;
    int r = private_folder_runtime(&folder, reterr_diag);

    if (r != 0) {
        return r > 0 ? HUB_PLACE_E_PLACE : err_pass(r);
    }
    (void)private_folder_clean(folder, PLACE_NAME, SPAN(PLACE_NOTE_SIGNATURE));
    return place_in(ret_path, folder, state_folder, reterr_diag);
}

/* ---- the note ---- */

/* As the socket's, but for the end of its name. Gives *ret. */
static int place_beside(char **ret, const char *path, Span end)
{
    size_t n = strlen(path) - SPAN(".sock").n;
    char *beside = mem_alloc(n + end.n + 1);

    if (beside == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(beside, path, n);
    memcpy(beside + n, end.p, end.n + 1);
    *ret = beside;
    return 0;
}

static int note_path(char **ret, const char *path)
{
    return place_beside(ret, path, SPAN(".json"));
}

int hub_place_queue(char **ret, const char *path)
{
    return place_beside(ret, path, SPAN("-queue.sock"));
}

/* {"config":"PATH"} and the signature's white space: equal settings are equal bytes. */
static int note_write(Bytes *out, const char *config)
{
    CLEANUP(bytes_deinit) Bytes real = BYTES_NULL;
    JsonWriter w;
    int r;

    bytes_init(&real, PLACE_PATH_BYTES);
    r = config == NULL ? 0 : place_resolve(&real, config);
    if (r != 0) {
        return r;
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("config"));
    if (config == NULL) {
        json_write_null(&w);
    } else {
        json_write_string(&w, bytes_span(&real));
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    return r != 0 ? r : bytes_append_span(out, span_from_str(&PLACE_NOTE_SIGNATURE[1]));
}

int hub_place_tell(PrivateFile *note, const char *path, const char *config, Diag *reterr_diag)
{
    CLEANUP(bytes_deinit) Bytes content = BYTES_NULL;
    CLEANUP(mem_freep) char *name = NULL;
    int r;

    bytes_init(&content, PLACE_NOTE_BYTES);
    r = note_write(&content, config);
    r = r != 0 ? err_fold(r) : note_path(&name, path);
    if (r != 0) {
        return err_pass(r);
    }
    if (note->path != NULL) {
        return private_file_replace(note, bytes_span(&content), reterr_diag);
    }
    return private_file_create(note, name, bytes_span(&content), SPAN(PLACE_NOTE_SIGNATURE),
                               reterr_diag);
}

bool hub_place_has(const char *path, const char *config)
{
    CLEANUP(bytes_deinit) Bytes content = BYTES_NULL;
    CLEANUP(bytes_deinit) Bytes expected = BYTES_NULL;
    CLEANUP(mem_freep) char *name = NULL;

    bytes_init(&content, PLACE_NOTE_BYTES);
    bytes_init(&expected, PLACE_NOTE_BYTES);
    return note_path(&name, path) == 0 && note_write(&expected, config) == 0 &&
           private_file_read(&content, name, NULL) == 0 &&
           span_equals(bytes_span(&content), bytes_span(&expected));
}
