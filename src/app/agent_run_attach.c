/* What a user message has with it, read on a thread beside the loop. */
#include <errno.h>
#include <string.h>

#include "agent/attach.h"
#include "app/agent_run_impl.h"
#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/work.h"

/* The thread has the run's attachments and the roots to itself: nobody changes them meanwhile. The
 * run waits for it, whatever else happens. */
struct RunAttach {
    AgentRun *run;
    IoBeneath *const *roots;
    size_t n_roots;
    Diag diag;
    int r;
};

static int attach_one(RunAttach *attach, const AgentAttachment *attachment, AgentBlock *ret)
{
    Arena *arena = &attach->run->item.arena;

    if (attachment->data.n > 0) {
        return agent_attach_image(attachment->data, attachment->name, arena, ret, &attach->diag);
    }
    return agent_attach_file(attach->roots, attach->n_roots, attachment->path, arena, ret,
                             &attach->diag);
}

static void attach_work(void *context)
{
    RunAttach *attach = context;
    AgentRun *run = attach->run;

    for (size_t i = 0; attach->r == 0 && i < run->n_attachments; i++) {
        attach->r = attach_one(attach, &run->attachments[i], &run->blocks[run->n_blocks]);
        if (attach->r == 0) {
            run->n_blocks++;
        }
    }
}

static void attach_done(void *context)
{
    RunAttach *attach = context;
    AgentRun *run = attach->run;

    run->attach = NULL;
    if (attach->r != 0 && !run->has_ended) {
        Span words =
            span_from_str(attach->r > 0 ? attach->diag.message : io_error_text(-attach->r));

        words = arena_copy(&run->item.arena, words);
        run->has_ended = true;
        run->end = TURN_END_FAILED;
        run->words = words.p != NULL ? words : SPAN("an attachment cannot be read");
    }
    (void)mem_free(attach);
    agent_run_prepare(run);
}

int agent_run_attach(AgentRun *run)
{
    Agent *agent = run->item.agent;
    RunAttach *attach;
    int r;

    if (run->message.n > 0) {
        run->blocks[run->n_blocks++] = (AgentBlock){.kind = AGENT_BLOCK_TEXT, .text = run->message};
    }
    if (run->n_attachments == 0) {
        return 0;
    }
    attach = mem_alloc_array(1, sizeof(*attach));
    if (attach == NULL) {
        return err_raise(-ENOMEM);
    }
    *attach = (RunAttach){
        .run = run, .roots = agent->roots, .n_roots = agent->n_roots, .diag = DIAG_NULL};
    run->attach = attach;
    r = io_work_start(agent->loop, attach_work, attach_done, attach);
    if (r != 0) {
        run->attach = mem_free(attach);
        return err_pass(r);
    }
    return 0;
}
