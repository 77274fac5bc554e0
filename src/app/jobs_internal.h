/* app/jobs_internal.h: what jobs.c (life, questions), jobs_run.c (jobs as calls), jobs_away.c
 * (jobs without their tool), jobs_later.c (calls as jobs) and jobs_task.c (what is kept of them)
 * share. Thread: loop, but for what says
 * otherwise.
 */
#pragma once

#include "app/jobs.h"

#include "base/bytes.h"
#include "base/map.h"
#include "io/thread.h"
#include "io/wake.h"
#include "router/router.h"

/* What the queue's thread has to say; in order. */
typedef struct JobsNews JobsNews;
struct JobsNews {
    JobsNews *next;
    QueueJob job; /* spans in texts */
    char texts[];
};

/* A power of 2; more than are asked for in one batch of the queue. */
#define JOBS_MAX_TOLD 1024

typedef struct JobsRun JobsRun;
typedef struct JobsWait JobsWait;

struct Jobs {
    JobsConfig config;
    IoLoop *loop;
    Router *router;
    Queue *queue;

    IoWake *wake; /* the queue has told something */
    IoMutex lock; /* of what it has told, in order, and what follows it */
    bool has_lock;
    JobsAsk *first_answer;
    JobsAsk *last_answer;
    JobsNews *first_news;
    JobsNews *last_news;
    bool lost_news; /* for want of memory: look at everything again */

    /* What was asked for in this turn of the loop: goes to the queue at its end, all at once. */
    IoBeforeWait *turn;
    QueueOp *first_asked;
    QueueOp *last_asked;

    /* The last change of a job that was told, by the hash of its id: of one that was asked for both
     * the asker and the queue tell. One that is pushed out is told twice. */
    struct JobsTold {
        uint64_t id;
        uint64_t version;
    } told[JOBS_MAX_TOLD];

    JobsListener *listeners;
    JobsListener *listener_walk; /* the next one to be told; moved when that one leaves */

    /* jobs_run.c */
    JobsRun *runs;
    size_t n_running;
    size_t n_reserved; /* places for jobs that are being claimed */
    JobsAsk claim;
    bool is_claiming;
    size_t n_claiming; /* how many: places that are reserved */
    bool is_ready;     /* something may be ready: claim (again) */
    bool is_stopping;
    IoTimer *retry; /* ends and claims that the disk did not take */

    /* jobs_away.c */
    RouterListener tools;
    IoMutex away_lock; /* of the next two, which the queue's thread uses, too */
    Map away;          /* name of a tool that jobs are for → AwayTool */
    bool has_unknown;  /* a name that nobody has looked at */
    int64_t began_ms;
    JobsAsk wake_ask;
    bool is_waking;
    bool wakes_again; /* a tool has come since */

    /* jobs_later.c */
    JobsWait *waits; /* calls that wait for the queue, or for the end of a task */

    /* the end */
    IoTimer *drain;
    void (*closed)(void *context);
    void *closed_context;
};

/* jobs.c: a job has changed; tells listeners, waiting calls and the router. job is without bodies.
 */
void jobs_changed(Jobs *jobs, const QueueJob *job);

/* jobs_run.c: claims what is ready, if there is room. */
void jobs_claim(Jobs *jobs);
void jobs_run_changed(Jobs *jobs, const QueueJob *job); /* it may be one that runs */
void jobs_run_end(Jobs *jobs);                          /* at free: forgets what runs */

/* Told when the last one ended (jobs.c). */
void jobs_run_idle(Jobs *jobs);

/* jobs_away.c: jobs whose tool nobody has. Init listens to the router's tools, and comes before the
 * queue is opened; begin after that; deinit when it is closed. 0, a negative errno. */
int jobs_away_init(Jobs *jobs);
void jobs_away_begin(Jobs *jobs);
void jobs_away_deinit(Jobs *jobs);

/* A job of that tool is about to come. */
void jobs_away_expect(Jobs *jobs, Span method);

/* Something was told: are there names to look at? */
void jobs_away_hear(Jobs *jobs);

/* QueueClaim.look, with Jobs as its context. Thread: the queue's. */
int64_t jobs_away_claim(void *context, const QueueJob *job);

/* How long until a job of that tool, which is not there, is to be tried again; 0: it has waited
 * long enough. */
int64_t jobs_away_ms(Jobs *jobs, const QueueJob *job);

/* jobs_later.c */
extern const CallProvider jobs_later;
void jobs_later_changed(Jobs *jobs, const QueueJob *job);
void jobs_later_end(Jobs *jobs); /* at free: no call is left */

/* jobs_task.c: what a job looks like as a task; spans are the job's. Without result and asks. */
CallTask jobs_task(const Jobs *jobs, const QueueJob *job);

/* How it ended; what nobody recorded is said from its row. Spans are the job's, or in the arena. */
CallResult jobs_result(const QueueJob *job, Arena *arena);

/* What we keep beside a job for its task, as the queue's note. */
typedef struct JobsNote {
    unsigned can;     /* what its asker can be asked for */
    Span state;       /* text, decoded; of the tool's last question */
    JsonValue inputs; /* object of answers from before there was a task; node NULL if none */
    Span names;       /* JSON object: what the tool calls a question that it asks again; or empty */
} JobsNote;
int jobs_note_write(const JobsNote *note, Bytes *out);      /* 0, -ENOMEM, BYTES_E_FULL */
int jobs_note_read(Span json, Arena *arena, JobsNote *ret); /* 0, -ENOMEM; else nothing in it */

/* The answers as the tool knows them: those before the task, and the job's. Empty if there are
 * none. 0, -ENOMEM, BYTES_E_FULL. */
int jobs_inputs_write(const JobsNote *note, Span inputs, Arena *arena, Bytes *out);

/* The questions of a result, under names that have no answer yet, and note->names, which is then in
 * the last. 0, -ENOMEM, BYTES_E_FULL. */
int jobs_asks_write(const CallResult *result, Span answered, Arena *arena, JobsNote *note,
                    Bytes *out, Bytes *names);
int jobs_asks_read(Span json, Arena *arena, const CallAsk **ret, size_t *ret_n); /* 0, < 0 */

/* Do the answers (an object) fit the questions? Those that nobody asked for are not looked at.
 * *ret_problem: what is wrong, in the arena; empty: nothing. 0, < 0. */
int jobs_inputs_check(Span asks, Span inputs, Arena *arena, Span *ret_problem);
