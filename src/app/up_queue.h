/* app/up_queue.h: the hub's durable queue: the store in the state folder, the jobs that it runs,
 * the command door that the HTTP doors share, and a private one for `toolwire queue`. Thread: loop.
 */
#pragma once

#include "app/command_door.h"
#include "app/config.h"
#include "app/hub.h"
#include "app/jobs.h"
#include "base/diag.h"
#include "base/logsink.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    UP_QUEUE_E_PLACE = 1, /* the store cannot be opened; the Diag names it, and says what to do */
};

typedef struct UpQueue UpQueue;

typedef struct UpQueueConfig {
    Hub *hub;
    const McpIdentity *identity; /* borrowed until free, as log */
    const Config *config;        /* until return */
    const LogSink *log;
    bool (*expects_tools)(void *context, int64_t within_ms); /* CommandDoorConfig's; may be NULL */
    void (*closed)(void *context); /* after shutdown: nothing runs any more */
    void *context;
} UpQueueConfig;

/* The file of the store for these settings. Gives *ret (mem_free); NULL: there is no queue. 0, a
 * negative errno, UP_QUEUE_E_PLACE: there is no state folder. */
int up_queue_path(char **ret, const Config *config, Diag *reterr_diag);

/* Opens the store. 0, a negative errno, UP_QUEUE_E_PLACE. Gives *ret. */
int up_queue_new(UpQueue **ret, const UpQueueConfig *config, Diag *reterr_diag);

/* After the HTTP doors; before the sources, so that what runs is left as it is: the next process
 * knows what may be run again. Waits for the disk. May be NULL. Returns NULL. */
UpQueue *up_queue_free(UpQueue *queue);

/* Also serves the command door to this user at the socket beside the one for fronts
 * (hub_place_queue); what stands in the way is only logged. */
void up_queue_listen(UpQueue *queue, const char *front_path);

/* Jobs that run may end within drain_ms; none is started. `closed` comes once. */
void up_queue_shutdown(UpQueue *queue, int64_t drain_ms);

const HttpSide *up_queue_side(const UpQueue *queue);
const char *up_queue_file(const UpQueue *queue);
QueueFigures up_queue_figures(const UpQueue *queue);

/* Would these settings make another queue? */
bool up_queue_differs(const UpQueue *queue, const Config *config);
