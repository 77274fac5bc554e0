/* Requests that wait for a model. */
#include "agent/model_choice_impl.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* A request and its tables: as large as one may be. */
#define CHOICE_RUN_ARENA_BYTES (2 * LIMIT_MODEL_REQUEST_BYTES)

static bool copy_span(Arena *arena, Span *s)
{
    *s = arena_copy(arena, *s);
    return s->p != NULL;
}

static bool copy_block(Arena *arena, AgentBlock *block)
{
    return copy_span(arena, &block->text) && copy_span(arena, &block->mime) &&
           copy_span(arena, &block->id) && copy_span(arena, &block->name) &&
           copy_span(arena, &block->input);
}

static bool copy_message(Arena *arena, AgentMessage *message)
{
    AgentBlock *blocks = arena_alloc_array(arena, message->n_blocks, sizeof(*blocks));

    if (blocks == NULL) {
        return false;
    }
    for (size_t i = 0; i < message->n_blocks; i++) {
        blocks[i] = message->blocks[i];
        if (!copy_block(arena, &blocks[i])) {
            return false;
        }
    }
    message->blocks = blocks;
    return true;
}

static bool copy_messages(Arena *arena, ModelRequest *request)
{
    AgentMessage *messages = arena_alloc_array(arena, request->n_messages, sizeof(*messages));

    if (messages == NULL) {
        return false;
    }
    for (size_t i = 0; i < request->n_messages; i++) {
        messages[i] = request->messages[i];
        if (!copy_message(arena, &messages[i])) {
            return false;
        }
    }
    request->messages = messages;
    return true;
}

static bool copy_tools(Arena *arena, ModelRequest *request)
{
    AgentToolSpec *tools = arena_alloc_array(arena, request->n_tools, sizeof(*tools));

    if (tools == NULL) {
        return false;
    }
    for (size_t i = 0; i < request->n_tools; i++) {
        tools[i] = request->tools[i];
        if (!copy_span(arena, &tools[i].name) || !copy_span(arena, &tools[i].description) ||
            !copy_span(arena, &tools[i].schema)) {
            return false;
        }
    }
    request->tools = tools;
    return true;
}

int choice_run_new(ChoiceRun **ret, ChoiceModel *model, const ModelRequest *request,
                   const ModelSink *sink)
{
    ChoiceRun *run = mem_alloc_array(1, sizeof(*run));

    if (run == NULL) {
        return err_raise(-ENOMEM);
    }
    *run = (ChoiceRun){.run = {model->model.ops}, .model = model, .sink = *sink};
    arena_init(&run->arena, CHOICE_RUN_ARENA_BYTES);
    run->request = *request;
    if (!copy_span(&run->arena, &run->request.system) ||
        !copy_messages(&run->arena, &run->request) || !copy_tools(&run->arena, &run->request)) {
        arena_deinit(&run->arena);
        (void)mem_free(run);
        return err_raise(-ENOMEM);
    }
    run->next = model->first;
    if (run->next != NULL) {
        run->next->prev = run;
    }
    model->first = run;
    *ret = run;
    return 0;
}

void choice_run_release(ChoiceRun *run)
{
    if (run->next != NULL) {
        run->next->prev = run->prev;
    }
    if (run->prev != NULL) {
        run->prev->next = run->next;
    } else if (run->model->first == run) {
        run->model->first = run->next;
    }
    run->inner = model_cancel(run->inner);
    arena_deinit(&run->arena);
    (void)mem_free(run);
}

/* Of those that wait: they are listed newest first, and served in their order. */
static ChoiceRun *choice_oldest(ChoiceModel *model, bool is_lost)
{
    ChoiceRun *oldest = NULL;

    for (ChoiceRun *run = model->first; run != NULL; run = run->next) {
        oldest = run->inner == NULL && run->is_lost == is_lost ? run : oldest;
    }
    return oldest;
}

/* The run is gone before its owner hears of it: whatever that does, nothing is touched after. */
static void choice_fail(ChoiceRun *run, const char *words)
{
    ModelEvent event = {.kind = MODEL_FAILED, .text = span_from_str(words)};
    ModelSink sink = run->sink;

    choice_run_release(run);
    sink.event(sink.context, &event);
}

void choice_fail_waiting(ChoiceModel *model, const char *words)
{
    ChoiceRun *run;

    /* Those that are started meanwhile, in answer to this, wait for the next time. */
    for (run = model->first; run != NULL; run = run->next) {
        run->is_lost = run->inner == NULL;
    }
    while ((run = choice_oldest(model, true)) != NULL) {
        choice_fail(run, words);
    }
}

static void choice_run_on_event(void *context, const ModelEvent *event)
{
    ChoiceRun *run = context;
    ModelSink sink = run->sink;

    if (event->kind == MODEL_END || event->kind == MODEL_FAILED) {
        run->inner = NULL;
        choice_run_release(run);
    }
    sink.event(sink.context, event);
}

void choice_start_waiting(ChoiceModel *model)
{
    ChoiceRun *run;

    while ((run = choice_oldest(model, false)) != NULL) {
        ModelSink sink = {choice_run_on_event, run};
        int r = model_start(model->inner, &run->request, &sink, &run->inner);

        if (r != 0) {
            choice_fail(run, r > 0 ? "the request is too large for a model" : "out of memory");
        } else {
            arena_reset(&run->arena, 0);
        }
    }
}
