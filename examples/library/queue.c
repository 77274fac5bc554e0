/* Jobs that survive the program: what is enqueued is on disk, and a worker of now or of the next
 * start does it.
 *
 *     queue FILE add WHAT      prints the job's id
 *     queue FILE work          does what there is, and prints it
 *     queue FILE show ID       prints the job's state and result
 */
#include <stdio.h>
#include <string.h>
#include <toolwire/toolwire.h>

static int add(TwQueue *queue, const char *what, TwQueueError *error)
{
    TwJson *params = tw_json_new();
    TwJobSpec spec = {.method = "shout", .idempotent = true};
    char id[TW_JOB_ID_SIZE];
    int r;

    tw_json_object(params);
    tw_json_key(params, "what");
    tw_json_string(params, what);
    tw_json_end(params);
    spec.params_json = tw_json_text(params);
    r = tw_queue_enqueue(queue, &spec, id, NULL, error);
    if (r == 0) {
        puts(id); /* it is on disk */
    }
    tw_json_free(params);
    return r;
}

static int work(TwQueue *queue, TwQueueError *error)
{
    TwJobs *jobs = NULL;
    int r = tw_queue_claim(queue, NULL, &jobs, error);

    if (r == TW_ERROR_TIMEOUT) {
        puts("nothing to do");
        return 0;
    }
    while (r == 0 && jobs != NULL) {
        const TwJob *job = tw_jobs_at(jobs, 0);
        TwJobs *next = NULL;

        printf("%s %s, attempt %u\n", job->method, job->params_json, job->attempt);
        /* Its end and the next job in one wait for the disk. */
        r = tw_queue_complete_and_claim(queue, job->id, job->fence, "{\"done\":true}", NULL, &next,
                                        error);
        tw_jobs_free(jobs);
        jobs = next;
    }
    return r;
}

static int show(TwQueue *queue, const char *id, TwQueueError *error)
{
    TwJobs *jobs = NULL;
    int r = tw_queue_get(queue, id, 0, &jobs, error);

    if (r == 0) {
        const TwJob *job = tw_jobs_at(jobs, 0);

        printf("%s %s\n", tw_job_state_name(job->state),
               job->result_json == NULL ? "" : job->result_json);
    }
    tw_jobs_free(jobs);
    return r;
}

int main(int argc, char **argv)
{
    TwQueue *queue = NULL;
    TwQueueError error;
    int r;

    if (argc < 3 || (argc < 4 && strcmp(argv[2], "work") != 0)) {
        fprintf(stderr, "usage: queue FILE add WHAT | work | show ID\n");
        return 2;
    }
    r = tw_queue_open(&queue, argv[1], NULL, &error);
    if (r == 0 && strcmp(argv[2], "add") == 0) {
        r = add(queue, argv[3], &error);
    } else if (r == 0 && strcmp(argv[2], "show") == 0) {
        r = show(queue, argv[3], &error);
    } else if (r == 0) {
        r = work(queue, &error);
    }
    tw_queue_free(queue);
    if (r != 0) {
        fprintf(stderr, "queue: %s\n", error.message);
    }
    return r == 0 ? 0 : 1;
}
