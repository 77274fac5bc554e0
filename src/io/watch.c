/* Two things make us look at the file: an event of its folder with its name, and the clock. What is
 * told follows from looking alone:
 *
 *     look     differs from what was told, and from the last look: wait for quiet
 *     quiet    looked at again and still the same (or too much time has gone by): tell
 *
 * An event thus never tells by itself; a hundred events for one change are one change, and an event
 * that the system loses costs a period.
 */
#include "io/watch.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"
#include "io/place.h"

/* Between two looks that nothing but the clock asks for: soon enough for a person who waits. */
#define WATCH_PERIOD_MS 2000

/* Longer than the gaps between the writes of an editor or a compiler; shorter than one notices. */
#define WATCH_QUIET_MS 50

/* A file that is written all the time is told of once in so long. */
#define WATCH_PATIENCE_MS 1000

/* What a file is known by. A change inside the file system's resolution of time that keeps the size
 * is not seen; at a few milliseconds that is shorter than WATCH_QUIET_MS. */
typedef struct WatchState {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    uv_timespec_t modified;
    uv_timespec_t changed;
    bool exists;
} WatchState;

struct IoWatch {
    uv_fs_event_t events;
    IoLoop *loop;
    IoTimer *period;
    IoTimer *quiet;
    char *path;
    char *folder;
    const char *name; /* in path */
    void (*fn)(void *context);
    void *context;
    void (*missing_fn)(void *context); /* may be NULL */
    void *missing_context;
    WatchState told;
    WatchState seen;
    int64_t patience_until_ms; /* INT64_MAX: no change is pending */
    bool has_events;
    bool was_there; /* since it was last told to be missing */
};

static WatchState watch_stat(const char *path)
{
    WatchState state;
    uv_fs_t look;

    memset(&state, 0, sizeof(state));
    if (uv_fs_stat(NULL, &look, path, NULL) == 0) {
        state.device = look.statbuf.st_dev;
        state.inode = look.statbuf.st_ino;
        state.size = look.statbuf.st_size;
        state.modified = look.statbuf.st_mtim;
        state.changed = look.statbuf.st_ctim;
        state.exists = true;
    }
    uv_fs_req_cleanup(&look);
    return state;
}

static bool watch_same_time(uv_timespec_t a, uv_timespec_t b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool watch_same(const WatchState *a, const WatchState *b)
{
    return a->exists == b->exists && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && watch_same_time(a->modified, b->modified) &&
           watch_same_time(a->changed, b->changed);
}

static void watch_await_quiet(IoWatch *watch)
{
    int64_t now_ms = io_loop_now_ms(watch->loop);
    int64_t due_ms = now_ms + WATCH_QUIET_MS;

    if (watch->patience_until_ms == INT64_MAX) {
        watch->patience_until_ms = now_ms + WATCH_PATIENCE_MS;
    }
    io_timer_start_at(watch->quiet,
                      due_ms < watch->patience_until_ms ? due_ms : watch->patience_until_ms);
}

static void watch_look(IoWatch *watch)
{
    WatchState now = watch_stat(watch->path);

    if (!watch_same(&now, &watch->seen)) {
        watch->seen = now;
        watch_await_quiet(watch);
    }
}

static void watch_tell_gone(IoWatch *watch)
{
    bool is_news = watch->was_there;

    watch->was_there = false;
    if (is_news && watch->missing_fn != NULL) {
        watch->missing_fn(watch->missing_context);
    }
}

static void watch_on_quiet(void *context)
{
    IoWatch *watch = context;
    WatchState now = watch_stat(watch->path);
    bool is_quiet = watch_same(&now, &watch->seen);

    watch->seen = now;
    if (!is_quiet && io_loop_now_ms(watch->loop) < watch->patience_until_ms) {
        watch_await_quiet(watch);
        return;
    }
    watch->patience_until_ms = INT64_MAX;
    if (!now.exists) {
        watch_tell_gone(watch);
        return;
    }
    watch->was_there = true;
    if (!watch_same(&now, &watch->told)) {
        watch->told = now;
        watch->fn(watch->context);
    }
}

static void watch_on_event(uv_fs_event_t *events, const char *name, int what, int status)
{
    IoWatch *watch = events->data;

    (void)what;
    /* Without a name the event is of the folder itself, or the system could not say. */
    if (status != 0 || name == NULL || io_place_is_same_name(name, watch->name)) {
        watch_look(watch);
    }
}

/* Watches the folder, if that can be done now. */
static void watch_start_events(IoWatch *watch)
{
    if (!watch->has_events) {
        watch->has_events =
            uv_fs_event_start(&watch->events, watch_on_event, watch->folder, 0) == 0;
    }
}

static void watch_on_period(void *context)
{
    IoWatch *watch = context;

    watch_start_events(watch);
    watch_look(watch);
    io_timer_start_at(watch->period, io_loop_now_ms(watch->loop) + WATCH_PERIOD_MS);
}

static void watch_release(IoWatch *watch)
{
    (void)io_timer_free(watch->period);
    (void)io_timer_free(watch->quiet);
    (void)mem_free(watch->path);
    (void)mem_free(watch->folder);
    (void)mem_free(watch);
}

/* The path, its folder ("." if it names none) and its last part. */
static int watch_copy_path(IoWatch *watch, const char *path)
{
    size_t n_path = strlen(path);
    size_t n_folder = io_place_folder_length(path);

    watch->path = mem_alloc(n_path + 1);
    watch->folder = mem_alloc(n_folder + sizeof("."));
    if (watch->path == NULL || watch->folder == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(watch->path, path, n_path + 1);
    memcpy(watch->folder, path, n_folder);
    memcpy(watch->folder + n_folder, ".", sizeof("."));
    watch->name = watch->path + n_folder;
    return 0;
}

static int watch_init(IoWatch *watch, const char *path)
{
    int r = watch_copy_path(watch, path);

    if (r != 0) {
        return err_pass(r);
    }
    r = io_timer_new(&watch->period, watch->loop, true, watch_on_period, watch);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_timer_new(&watch->quiet, watch->loop, true, watch_on_quiet, watch);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_uv_result(uv_fs_event_init(&watch->loop->uv, &watch->events));
    return r == 0 ? 0 : err_raise(r);
}

int io_watch_new(IoWatch **ret, IoLoop *loop, const char *path, void (*fn)(void *context),
                 void *context)
{
    IoWatch *watch = mem_alloc_array(1, sizeof(*watch));
    int r;

    if (watch == NULL) {
        return err_raise(-ENOMEM);
    }
    watch->loop = loop;
    watch->fn = fn;
    watch->context = context;
    watch->patience_until_ms = INT64_MAX;
    r = watch_init(watch, path);
    if (r != 0) {
        watch_release(watch);
        return err_pass(r);
    }
    watch->events.data = watch;
    uv_unref((uv_handle_t *)&watch->events);
    /* Events first: a change after the look below is then an event. */
    watch_start_events(watch);
    watch->told = watch_stat(path);
    watch->seen = watch->told;
    watch->was_there = watch->told.exists;
    io_timer_start_at(watch->period, io_loop_now_ms(loop) + WATCH_PERIOD_MS);
    *ret = watch;
    return 0;
}

void io_watch_tell_missing(IoWatch *watch, void (*missing)(void *context), void *context)
{
    watch->missing_fn = missing;
    watch->missing_context = context;
}

static void watch_on_closed(uv_handle_t *handle)
{
    watch_release(handle->data);
}

IoWatch *io_watch_free(IoWatch *watch)
{
    if (watch == NULL) {
        return NULL;
    }
    /* Now, not when the handle has closed: no callback comes after this. */
    watch->period = io_timer_free(watch->period);
    watch->quiet = io_timer_free(watch->quiet);
    uv_close((uv_handle_t *)&watch->events, watch_on_closed);
    return NULL;
}
