/* unit/api/queue_place.h: a folder with a queue in it, for the tests of toolwire/queue.h. */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolwire/queue.h>
#include <unistd.h>

/* Much longer than anything takes: a job that never comes fails a test instead of stopping it. */
#define PLACE_WAIT_MS ((int64_t)60 * 1000)

typedef struct Place {
    char folder[64];
    TwQueue *queue;
} Place;

static inline void place_open(Place *place)
{
    TwQueueError error = {.message = ""};

    if (tw_queue_open(&place->queue, place->folder, NULL, &error) != TW_OK) {
        fail_msg("%s", error.message);
    }
}

static inline void place_close(Place *place)
{
    tw_queue_free(place->queue);
    place->queue = NULL;
}

/* With an open queue. */
static inline int place_set_up(void **state)
{
    static const char folder[] = "/tmp/tw-queue-XXXXXX";
    Place *place = calloc(1, sizeof(*place));

    memcpy(place->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(place->folder));
    place_open(place);
    *state = place;
    return 0;
}

static inline int place_tear_down(void **state)
{
    Place *place = *state;
    char path[96];

    tw_queue_free(place->queue);
    (void)snprintf(path, sizeof(path), "%s/queue.db", place->folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(place->folder), 0); /* nothing else is left there */
    free(place);
    return 0;
}

static inline void place_enqueue(TwQueue *queue, TwJobSpec spec, char ret_id[TW_JOB_ID_SIZE])
{
    TwQueueError error = {.message = ""};

    if (tw_queue_enqueue(queue, &spec, ret_id, NULL, &error) != TW_OK) {
        fail_msg("%s", error.message);
    }
}

/* One job that is ready; tw_jobs_free. */
static inline TwJobs *place_claim(TwQueue *queue, TwJobClaim claim)
{
    TwJobs *jobs = NULL;
    TwQueueError error = {.message = ""};

    if (tw_queue_claim(queue, &claim, &jobs, &error) != TW_OK) {
        fail_msg("%s", error.message);
    }
    return jobs;
}

/* A job as it is; tw_jobs_free. */
static inline TwJobs *place_get(TwQueue *queue, const char *id)
{
    TwJobs *jobs = NULL;

    assert_int_equal(tw_queue_get(queue, id, 0, &jobs, NULL), TW_OK);
    assert_int_equal(tw_jobs_count(jobs), 1);
    return jobs;
}

static inline TwJobState place_state(TwQueue *queue, const char *id)
{
    TwJobs *jobs = place_get(queue, id);
    TwJobState state = tw_jobs_at(jobs, 0)->state;

    tw_jobs_free(jobs);
    return state;
}
