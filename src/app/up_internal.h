/* app/up_internal.h: what the files of the hub's program share. Thread: loop. */
#pragma once

#include "app/audit.h"
#include "app/economy.h"
#include "app/end_signals.h"
#include "app/hub.h"
#include "app/hub_lock.h"
#include "app/pages.h"
#include "app/sources.h"
#include "app/up.h"
#include "app/up_door.h"
#include "app/up_front.h"
#include "app/up_queue.h"
#include "app/watch.h"
#include "io/loop.h"
#include "io/notify.h"
#include "io/watch.h"

/* Doors that were replaced and still answer calls: as many reloads within drain_ms. Of further ones
 * the oldest ends at once. */
#define UP_MAX_LEAVING 4

/* Files whose change is a reload; those with the keys of issuers are beside them. */
enum {
    UP_FILE_CONFIG,
    UP_FILE_TOOLS,
    UP_FILE_PIPE_TOOLS,
    UP_FILE_TOKEN,
    UP_N_FILES
};

/* What the status page names: HTTP, the pipe, the socket for fronts, the queue. */
#define UP_MAX_PLACES 4

typedef struct UpFile {
    const LogSink *log;
    char *path;
    IoWatch *watch;
} UpFile;

typedef struct Up {
    const UpOptions *options;
    Config config; /* what is served now */
    Hub *hub;
    Economy economy;
    Sources sources;
    HashSeed seed;
    Watch *watch;
    Audit *audit; /* NULL: no record is kept */
    Pages pages;
    PagesPlace places[UP_MAX_PLACES];
    char url[256];                   /* of the door, for the pages */
    UpDoor *door;                    /* NULL: HTTP is off */
    UpDoor *leaving[UP_MAX_LEAVING]; /* oldest first, NULL behind the last */
    HttpDoorFigures gone;            /* of doors that were freed: what counts since the start */
    UpFront *front;                  /* NULL: fronts cannot reach it */
    UpFront *leaving_front;          /* of another state folder, or at the end */
    UpQueue *queue;                  /* NULL: there is none */
    PrivateFile lock;                /* of the state folder of the start, where the queue is; */
    PrivateFile other_lock;          /* of another one that a reload has brought */
    IoNotify *notify;
    IoSignal *signals[END_SIGNALS_N];
    IoTimer *end; /* when END_COMMANDS_MS are over */
    UpFile files[UP_N_FILES];
    UpFile *keys; /* by issuer */
    size_t n_keys;
    RouterListener lists; /* told when servers have listed what they have, */
    size_t n_unlisted;    /* as many as had not when it was last said */
    bool has_waited;      /* for those that list in time: others come one by one */
    bool is_closing;      /* one signal has come: the next one does not wait */
    bool is_working;      /* then: jobs still run */
} Up;

/* ---- up.c ---- */

/* Loads the settings, and fills in what they do not say. *ret_pipe_can_wait: the pipe is nobody's
 * wish. Gives *ret. 0, a negative errno, UP_E_CONFIG. */
int up_load(const Up *up, Config *ret, bool *ret_pipe_can_wait, Diag *reterr_diag);

/* A door for the settings, not open yet; *ret NULL: HTTP is off. 0, a negative errno, UP_E_CONFIG.
 */
int up_make_door(Up *up, const Config *config, UpDoor **ret, Diag *reterr_diag);

/* It lets nobody in any more, and is freed when its calls are over. May be NULL. */
void up_leave_door(Up *up, UpDoor *door);

/* Has no second hub serve that state folder. Gives *ret, PRIVATE_FILE_NULL if it is ours already,
 * or cannot be; the log says that. 0, a negative errno, UP_E_PLACE: another hub has it. */
int up_take_state(const Up *up, const Config *config, PrivateFile *ret, Diag *reterr_diag);

/* The socket for fronts; *ret NULL: there can be none, and the log says so. 0, a negative errno,
 * UP_E_PLACE: another hub has it. */
int up_make_front(Up *up, const Config *config, UpFront **ret, Diag *reterr_diag);
void up_leave_front(Up *up, UpFront *front); /* as up_leave_door */

/* The record of calls as the settings want it. 0, a negative errno. */
int up_keep_record(Up *up, const Config *config);

/* Lets the pages show what is there now. */
void up_show(Up *up);

/* SOURCES_E_* as UP_E_*. */
int up_source_result(int r);

void up_tell_ready(Up *up);

/* ---- up_reload.c ---- */

/* Has the files of the settings watched, and no others. 0, a negative errno. */
int up_watch_files(Up *up, const Config *config);
void up_unwatch_files(Up *up);

/* Reads the settings again, and goes over to them; if that fails, nothing changes but the log. */
void up_reload(Up *up);
