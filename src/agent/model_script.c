#include "agent/model_script.h"

#include <errno.h>
#include <string.h>

#include "agent/model_impl.h"
#include "agent/model_input.h"
#include "agent/script.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"

/* What an answer may take: the texts of the request that it repeats. */
#define SCRIPT_RUN_ARENA_BYTES (2 * LIMIT_MODEL_REQUEST_BYTES)

typedef struct ScriptModel ScriptModel;
typedef struct ScriptRun ScriptRun;

struct ScriptRun {
    ModelRun run; /* first */
    ScriptModel *model;
    ScriptRun *next;
    ScriptRun *prev;
    ModelSink sink;
    IoTimer *timer;
    Arena arena;
    const AgentScriptStep *steps; /* in the arena */
    size_t at;                    /* the step under way */
    size_t n_said;                /* bytes of its text */
    uint64_t n_times;             /* whole texts of it */
    bool has_paused;              /* the pause before what comes next is over */
    bool is_playing;              /* inside play: whoever cancels leaves it to that */
    bool is_gone;
};

struct ScriptModel {
    Model model; /* first */
    IoLoop *loop;
    char *name;
    AgentScript script;
    bool has_script;
    uint64_t seed; /* of ids */
    uint32_t n_ids;
    ScriptRun *first;
};

static void run_free(ScriptRun *run)
{
    if (run->next != NULL) {
        run->next->prev = run->prev;
    }
    if (run->prev != NULL) {
        run->prev->next = run->next;
    } else if (run->model->first == run) {
        run->model->first = run->next;
    }
    run->timer = io_timer_free(run->timer);
    arena_deinit(&run->arena);
    (void)mem_free(run);
}

static void run_tell(ScriptRun *run, const ModelEvent *event)
{
    run->sink.event(run->sink.context, event);
}

/* The run waits for the timer. */
static void run_pause(ScriptRun *run, int64_t ms)
{
    run->has_paused = true;
    io_timer_start_at(run->timer, io_loop_now_ms(run->model->loop) + ms);
}

/* One word, or the wait before it. False: the text is said. */
static bool play_word(ScriptRun *run, const AgentScriptStep *step, bool *ret_waits)
{
    ModelEvent event = {.kind = MODEL_TEXT};
    bool is_first = run->n_said == 0 && run->n_times == 0;

    if (run->n_times >= step->times || step->text.n == 0) {
        return false;
    }
    if (step->pause_ms > 0 && !is_first && !run->has_paused) {
        run_pause(run, step->pause_ms);
        *ret_waits = true;
        return true;
    }
    run->has_paused = false;
    event.text =
        agent_script_word(span_make(step->text.p + run->n_said, step->text.n - run->n_said));
    run->n_said += event.text.n;
    if (run->n_said == step->text.n) {
        run->n_said = 0;
        run->n_times++;
    }
    run_tell(run, &event);
    return true;
}

static void play_tool(ScriptRun *run, const AgentScriptStep *step)
{
    ModelEvent event = {.kind = MODEL_TOOL, .name = step->text};
    ScriptModel *model = run->model;
    char id[MODEL_ID_SIZE];
    Arena arena;

    arena_init(&arena, MODEL_INPUT_ARENA_BYTES(step->input.n));
    event.id = model_id_make(id, model->seed, model->n_ids++);
    if (model_input_read(&arena, step->input, &event.input, &event.is_bad_json) != 0) {
        event = (ModelEvent){.kind = MODEL_FAILED, .text = SPAN("out of memory")};
        run->is_gone = true;
    }
    run_tell(run, &event);
    arena_deinit(&arena);
}

/* The step under way, or a part of it. False: it is over. */
static bool play_step(ScriptRun *run, bool *ret_waits)
{
    const AgentScriptStep *step = &run->steps[run->at];
    ModelEvent event = {.kind = MODEL_END, .stop = step->stop};

    switch (step->kind) {
    case AGENT_SCRIPT_TEXT:
        return play_word(run, step, ret_waits);
    case AGENT_SCRIPT_TOOL:
        play_tool(run, step);
        return false;
    case AGENT_SCRIPT_WAIT:
        if (run->has_paused) {
            run->has_paused = false;
            return false;
        }
        run_pause(run, step->pause_ms);
        *ret_waits = true;
        return true;
    case AGENT_SCRIPT_FAIL:
        event = (ModelEvent){.kind = MODEL_FAILED, .text = step->text};
        run->is_gone = true;
        run_tell(run, &event);
        return true;
    default: /* END */
        run->is_gone = true;
        run_tell(run, &event);
        return true;
    }
}

/* As much as there is to say before the next pause. */
static void run_on_timer(void *context)
{
    ScriptRun *run = context;
    bool waits = false;

    run->is_playing = true;
    while (!waits && !run->is_gone) {
        if (!play_step(run, &waits)) {
            run->at++;
            run->n_said = 0;
            run->n_times = 0;
        }
    }
    run->is_playing = false;
    if (run->is_gone) {
        run_free(run);
    }
}

static int run_new(ScriptRun **ret, ScriptModel *model, const ModelSink *sink)
{
    ScriptRun *run = mem_alloc_array(1, sizeof(*run));
    int r;

    if (run == NULL) {
        return err_raise(-ENOMEM);
    }
    *run = (ScriptRun){.run = {model->model.ops}, .model = model, .sink = *sink};
    arena_init(&run->arena, SCRIPT_RUN_ARENA_BYTES);
    r = io_timer_new(&run->timer, model->loop, false, run_on_timer, run);
    if (r != 0) {
        (void)mem_free(run);
        return err_pass(r);
    }
    run->next = model->first;
    if (run->next != NULL) {
        run->next->prev = run;
    }
    model->first = run;
    *ret = run;
    return 0;
}

static int script_start(Model *base, const ModelRequest *request, const ModelSink *sink,
                        ModelRun **ret)
{
    ScriptModel *model = (ScriptModel *)base;
    ScriptRun *run = NULL;
    size_t n_steps;
    int r = run_new(&run, model, sink);

    if (r != 0) {
        return err_pass(r);
    }
    r = agent_script_answer(model->has_script ? &model->script : NULL, &run->arena, request,
                            &run->steps, &n_steps);
    if (r != 0) {
        run_free(run);
        return err_pass(r);
    }
    io_timer_start_at(run->timer, io_loop_now_ms(model->loop));
    *ret = &run->run;
    return 0;
}

static void script_cancel(ModelRun *base)
{
    ScriptRun *run = (ScriptRun *)base;

    if (run->is_playing) {
        run->is_gone = true;
    } else {
        run_free(run);
    }
}

static void script_free(Model *base)
{
    ScriptModel *model = (ScriptModel *)base;

    while (model->first != NULL) {
        run_free(model->first);
    }
    agent_script_deinit(&model->script);
    (void)mem_free(model->name);
    (void)mem_free(model);
}

static const char *script_name(const Model *base)
{
    return ((const ScriptModel *)base)->name;
}

static bool script_is_script(const Model *base)
{
    (void)base;
    return true;
}

static const ModelOps script_ops = {
    .start = script_start,
    .cancel = script_cancel,
    .free = script_free,
    .name = script_name,
    .is_script = script_is_script,
};

int model_script_new(Model **ret, IoLoop *loop, const char *name, const Span *text,
                     Diag *reterr_diag)
{
    ScriptModel *model = mem_alloc_array(1, sizeof(*model));
    int r = 0;

    if (model == NULL) {
        return err_raise(-ENOMEM);
    }
    *model = (ScriptModel){.model = {&script_ops}, .loop = loop};
    model->name = mem_alloc(strlen(name) + 1);
    if (model->name == NULL) {
        r = err_raise(-ENOMEM);
    } else {
        memcpy(model->name, name, strlen(name) + 1);
        r = random_fill(&model->seed, sizeof(model->seed));
    }
    if (r == 0 && text != NULL) {
        model->has_script = true;
        r = agent_script_init(&model->script, *text, reterr_diag);
        r = r > 0 ? MODEL_E_FILE : r;
    }
    if (r != 0) {
        script_free(&model->model);
        return r;
    }
    *ret = &model->model;
    return 0;
}
