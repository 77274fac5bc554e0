/* The agent as a program. Its end has three steps, and each signal leads at least one further:
 * requests that are open may end (agent.grace_ms); they are cut; what they said is written, to the
 * disk and to the shell (AGENT_FLUSH_MS). The end of input leads to the first, a shell that has
 * gone to the second. */
#include "app/agent.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "app/agent_impl.h"
#include "app/agent_secrets.h"
#include "app/end_signals.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/random.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/keep.h"
#include "io/stdio.h"

/* How soon an orphan notices, as in app/serve.c. */
#define AGENT_PARENT_PERIOD_MS 2000

/* What a shell gets to read the last lines once everything was cut. */
#define AGENT_FLUSH_MS 2000

/* Where conversations are kept, in the state folder. */
#define AGENT_HISTORY_NAME "agent.db"

/* A store that is forgotten with the process. */
#define AGENT_HISTORY_MEMORY ":memory:"

/* A prompt is written by hand. */
#define AGENT_SYSTEM_BYTES ((size_t)1024 * 1024)

static const Span agent_default_system =
    SPAN_INIT("You are a helpful assistant with tools. Use them when they help, and say briefly "
              "what you found. File paths are relative to the root folder of the user.");

/* What only the run as a program needs. */
typedef struct AgentRunning {
    Agent agent;
    IoSignal *signals[END_SIGNALS_N];
    IoParentWatch *parent;
    IoBeforeWait *settle;
} AgentRunning;

/* ---- time and the end ---- */

void agent_schedule(Agent *agent, int64_t due_ms)
{
    if (due_ms < agent->timer_ms) {
        agent->timer_ms = due_ms;
        io_timer_start_at(agent->timer, due_ms);
    }
}

static void agent_cut(Agent *agent)
{
    agent->life = AGENT_CUT;
    agent->end_ms = io_loop_now_ms(agent->loop) + AGENT_FLUSH_MS;
    agent_schedule(agent, agent->end_ms);
    (void)agent_items_stop(agent, SPAN_NULL, TURN_END_FAILED, SPAN(AGENT_CUT_WORDS));
}

static void agent_begin_end(Agent *agent, int64_t grace_ms)
{
    int64_t end_ms = io_loop_now_ms(agent->loop) + grace_ms;

    if (agent->life > AGENT_ENDING || (agent->life == AGENT_ENDING && agent->end_ms <= end_ms)) {
        return;
    }
    agent->life = AGENT_ENDING;
    agent->end_ms = end_ms;
    agent_schedule(agent, end_ms);
}

void agent_give_up(Agent *agent, int r)
{
    if (agent->r == 0 && r != -EPIPE && r != -ECONNRESET) {
        agent->r = r; /* a shell that went away without reading everything is no failure of ours */
    }
    agent_begin_end(agent, 0);
}

void agent_look_at_end(Agent *agent)
{
    if (agent->life >= AGENT_ENDING && agent->life != AGENT_GONE && agent->n_items == 0 &&
        (agent->wire == NULL || agent_wire_pending(agent->wire) == 0)) {
        agent->life = AGENT_GONE;
        io_loop_stop(agent->loop);
    }
}

static AgentItem *agent_next_due(const Agent *agent, int64_t now_ms)
{
    for (AgentItem *item = agent->first; item != NULL; item = item->next) {
        if (agent_run_next_deadline(item) <= now_ms) {
            return item;
        }
    }
    return NULL;
}

static void agent_on_timer(void *context)
{
    Agent *agent = context;
    int64_t now_ms = io_loop_now_ms(agent->loop);
    AgentItem *item;

    agent->timer_ms = INT64_MAX;
    if (agent->life == AGENT_GONE) {
        io_loop_stop(agent->loop);
        return;
    }
    if (agent->life == AGENT_ENDING && now_ms >= agent->end_ms) {
        agent_cut(agent);
    } else if (agent->life == AGENT_CUT && now_ms >= agent->end_ms) {
        agent->life = AGENT_GONE;
        io_loop_stop(agent->loop);
    } else if (agent->life != AGENT_OPEN) {
        agent_schedule(agent, agent->end_ms);
    }
    while ((item = agent_next_due(agent, now_ms)) != NULL) {
        agent_run_advance(item, now_ms);
    }
    for (item = agent->first; item != NULL; item = item->next) {
        agent_schedule(agent, agent_run_next_deadline(item));
    }
}

/* After the wire has written, before the loop waits. */
static void agent_on_before_wait(void *context)
{
    agent_look_at_end(context);
}

/* ---- what happens ---- */

static void agent_on_line(void *context, Span line)
{
    agent_serve_line(context, line);
}

static void agent_on_too_long(void *context, Span beginning)
{
    agent_serve_too_long(context, beginning);
}

static void agent_on_input_end(void *context)
{
    Agent *agent = context;

    agent_begin_end(agent, agent->settings.grace_ms);
}

static void agent_on_wire_failed(void *context, int r)
{
    agent_give_up(context, r);
}

static void agent_on_signal(void *context, int signum)
{
    Agent *agent = context;

    (void)signum;
    if (agent->life == AGENT_OPEN) {
        agent_begin_end(agent, agent->settings.grace_ms);
    } else if (agent->life == AGENT_ENDING) {
        agent_begin_end(agent, 0);
    } else {
        agent->life = AGENT_GONE;
        io_loop_stop(agent->loop);
    }
}

static void agent_on_orphaned(void *context)
{
    agent_on_input_end(context);
}

static void agent_on_link(void *context)
{
    Agent *agent = context;
    AgentItem *item = agent->first;

    /* One that goes on may end, and take others with it. */
    while (item != NULL) {
        item = agent_run_on_link(item) ? agent->first : item->next;
    }
}

static void agent_on_opened(IoTask *task)
{
    agent_on_link((char *)task - offsetof(Agent, opened));
}

/* Not at once: those who listen do not change what is registered, and a turn may. */
static void agent_on_gate(RouterListener *listener)
{
    Agent *agent = (Agent *)(void *)((char *)listener - offsetof(Agent, gate));

    io_loop_post(agent->loop, &agent->opened);
}

static void agent_on_model(void *context, Model *model)
{
    const Agent *agent = context;

    logsink_write(agent->log, LOGSINK_LEVEL_INFO, "agent", "the model is %s", model_name(model));
}

/* ---- composition ---- */

static const char *agent_root(const Agent *agent)
{
    return agent->settings.root != NULL ? agent->settings.root : ".";
}

/* Those of the settings, or a hub's. The code analyser is our own in any case: a hub's knows
 * nothing of the root. */
static int agent_add_sources(Agent *agent, Diag *reterr_diag)
{
    const AgentOptions *options = agent->options;
    bool has_hub = options->hub_path != NULL;
    SourcesWith with = {.diagnostics = !has_hub && options->diagnostics,
                        .may_toolkit = !has_hub,
                        .analysis = has_hub && config_offers_toolkit(agent->config),
                        .root = agent_root(agent),
                        .yields = true,
                        .servers = !has_hub};
    Config none = {.state = agent->config->state};
    int r;

    agent->opened.fn = agent_on_opened;
    agent->gate.opened = agent_on_gate;
    agent->is_listening = true;
    router_listen(agent->router, &agent->gate);
    r = sources_init(&agent->sources, agent->hub, has_hub ? &none : agent->config, with, agent->log,
                     reterr_diag);

    if (r == 0 && has_hub) {
        return err_pass(agent_link_new(&agent->link, &(AgentLinkConfig){.loop = agent->loop,
                                                                        .router = agent->router,
                                                                        .path = options->hub_path,
                                                                        .log = agent->log,
                                                                        .settled = agent_on_link,
                                                                        .context = agent}));
    }
    return r > 0 ? AGENT_E_TOOLS : err_pass(r);
}

/* The first, so that no other tool has their names. A system without file tools has an agent all
 * the same, unless somebody named a root. */
static int agent_add_files(Agent *agent, Diag *reterr_diag)
{
    const ConfigAgent *config = &agent->settings;
    int r = files_new(&agent->files,
                      &(FilesConfig){.loop = agent->loop,
                                     .root = agent_root(agent),
                                     .commands = config->commands != NULL
                                                     ? (const char *const *)config->commands
                                                     : files_default_commands,
                                     .allow_unconfined = config->allow_unconfined,
                                     .allow_network = config->allow_network,
                                     .log = agent->log},
                      reterr_diag);

    if (r == FILES_E_UNSUPPORTED && config->root == NULL) {
        logsink_write(agent->log, LOGSINK_LEVEL_INFO, "agent", "this system has no file tools");
        return 0;
    }
    if (r == 0) {
        r = files_add(agent->files, agent->router, reterr_diag);
        return r > 0 ? AGENT_E_TOOLS : err_pass(r);
    }
    return r > 0 ? AGENT_E_ROOT : err_pass(r);
}

/* The folders that attachments may come from. */
static int agent_add_roots(Agent *agent, Diag *reterr_diag)
{
    char *const *folders = agent->settings.attachments;

    if (agent->files != NULL) {
        agent->roots[agent->n_roots++] = files_root(agent->files);
    }
    for (size_t i = 0; folders != NULL && folders[i] != NULL; i++) {
        int r;

        if (agent->n_roots == AGENT_MAX_ROOTS) {
            return diag_set(reterr_diag, AGENT_E_ROOT, "more than %d folders of attachments",
                            AGENT_MAX_ROOTS - 1);
        }
        r = io_beneath_open(&agent->roots[agent->n_roots], folders[i], reterr_diag);
        if (r != 0) {
            return r > 0 ? AGENT_E_ROOT : err_pass(r);
        }
        agent->n_roots++;
    }
    return 0;
}

static int agent_open_model(Agent *agent, Diag *reterr_diag)
{
    const ConfigAgent *config = &agent->settings;
    int r = model_open(&agent->model,
                       &(ModelConfig){.loop = agent->loop,
                                      .name = config->model,
                                      .base_url = config->base_url,
                                      .stall_ms = config->stall_ms,
                                      .log = agent->log,
                                      .chosen = agent_on_model,
                                      .context = agent},
                       reterr_diag);

    return r > 0 ? AGENT_E_MODEL : err_pass(r);
}

static int agent_read_system(Agent *agent, Diag *reterr_diag)
{
    const char *path = agent->settings.system;
    int r;

    bytes_init(&agent->system, AGENT_SYSTEM_BYTES);
    if (path == NULL) {
        return err_pass(bytes_append_span(&agent->system, agent_default_system));
    }
    r = io_file_read(&agent->system, path);
    if (r == 0 || r == -ENOMEM) {
        return err_pass(r);
    }
    return diag_set(reterr_diag, AGENT_E_SYSTEM, "%s: %s", path,
                    r == BYTES_E_FULL ? "longer than 1 MiB" : io_error_text(-r));
}

/* ---- the history ---- */

/* Where it is kept; NULL: nowhere, and agent->history says why. Gives *ret (mem_free). 0, -ENOMEM.
 */
static int agent_history_path(Agent *agent, char **ret)
{
    CLEANUP(mem_freep) char *home = NULL;
    const char *file = agent->settings.history;
    const char *folder = agent->config->state;
    size_t n;

    *ret = NULL;
    if (file != NULL && strcmp(file, CONFIG_AGENT_OFF) == 0) {
        (void)bytes_append_format(&agent->history, "not kept: it is off");
        return 0;
    }
    if (file != NULL) {
        return err_pass(config_replace(ret, file));
    }
    if (folder == NULL && io_keep_folder(&home) != 0) {
        (void)bytes_append_format(&agent->history, "not kept: there is no home for it");
        return 0;
    }
    folder = folder != NULL ? folder : home;
    n = strlen(folder) + sizeof("/" AGENT_HISTORY_NAME);
    *ret = mem_alloc(n);
    if (*ret == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(*ret, n, "%s/%s", folder, AGENT_HISTORY_NAME);
    return 0;
}

/* An agent without its past is of more use than none: conversations then live as long as it does.
 */
static int agent_open_store(Agent *agent)
{
    CLEANUP(mem_freep) char *path = NULL;
    AgentStoreConfig config = {.loop = agent->loop, .log = agent->log};
    Diag diag = DIAG_NULL;
    int r = agent_history_path(agent, &path);

    if (r != 0) {
        return err_pass(r);
    }
    if (path != NULL) {
        config.path = path;
        r = io_keep_make_folders(path);
        if (r == 0) {
            r = agent_store_open(&agent->store, &config, &diag);
        }
        if (r == 0) {
            agent->is_history_kept = true;
            return err_pass(bytes_append_format(&agent->history, "kept in %s", path));
        }
        (void)bytes_append_format(&agent->history, "not kept: %s",
                                  r > 0 ? diag.message : io_error_text(-r));
        logsink_write(agent->log, LOGSINK_LEVEL_WARN, "agent", "the history is %.*s",
                      (int)agent->history.n, agent->history.data);
    }
    config.path = AGENT_HISTORY_MEMORY;
    return err_fold(agent_store_open(&agent->store, &config, NULL));
}

/* ---- life ---- */

static ConfigAgent agent_settings(const Config *config)
{
    ConfigAgent settings = config->agent;

    settings.max_tokens = settings.max_tokens > 0 ? settings.max_tokens : LIMIT_MODEL_TOKENS;
    settings.budget_tokens =
        settings.budget_tokens > 0 ? settings.budget_tokens : LIMIT_AGENT_BUDGET_TOKENS;
    settings.grace_ms = settings.grace_ms > 0 ? settings.grace_ms : LIMIT_AGENT_GRACE_MS;
    return settings;
}

static int agent_init(Agent *agent, Diag *reterr_diag)
{
    const Config *config = agent->config;
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    agent->settings = agent_settings(config);
    agent->asker = (CallAsker){.dialect = "agent", .who = "stdio"};
    agent_server_init(&agent->server, hash_seed_from(random), LIMIT_AGENT_REQUESTS);
    map_init(&agent->talks, hash_seed_from(random), LIMIT_AGENT_REQUESTS);
    arena_init(&agent->arena, 20 * (size_t)LIMIT_AGENT_LINE_BYTES);
    arena_init(&agent->scratch, LIMIT_AGENT_TURN_BYTES);
    arena_init(&agent->secrets, SIZE_MAX);
    bytes_init(&agent->data, 2 * (size_t)LIMIT_AGENT_LINE_BYTES);
    bytes_init(&agent->history, 4096);
    bytes_init(&agent->current, LIMIT_AGENT_ID_BYTES);
    r = bytes_append_span(&agent->current, SPAN(AGENT_DEFAULT_TALK));
    if (r == 0) {
        r = hub_new(&agent->hub, &config->limits);
    }
    if (r != 0) {
        return err_fold(r);
    }
    agent->loop = hub_loop(agent->hub);
    agent->router = hub_router(agent->hub);
    agent->began_ms = io_loop_now_ms(agent->loop);
    router_quota_init(&agent->quota, &config->limits, agent->began_ms);
    r = io_timer_new(&agent->timer, agent->loop, true, agent_on_timer, agent);
    r = r != 0 ? r : agent_read_system(agent, reterr_diag);
    r = r != 0 ? r : agent_add_files(agent, reterr_diag);
    r = r != 0 ? r : agent_add_sources(agent, reterr_diag);
    r = r != 0 ? r : agent_add_roots(agent, reterr_diag);
    r = r != 0 ? r
               : agent_tools_new(&agent->tools, agent->router, agent->settings.rules,
                                 agent->settings.n_rules, agent->log);
    r = r != 0 ? r : agent_open_model(agent, reterr_diag);
    return r != 0 ? r : agent_open_store(agent);
}

static int agent_open_wire(Agent *agent)
{
    int in_fd = -1;
    int out_fd = -1;
    const char *const *secrets = NULL;
    int r = agent->options->trace ? agent_secrets(&agent->secrets, agent->config, &secrets) : 0;

    r = r != 0 ? r : io_stdio_claim(&in_fd, &out_fd);
    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(agent_wire_new(&agent->wire, &(AgentWireConfig){.loop = agent->loop,
                                                                    .in_fd = in_fd,
                                                                    .out_fd = out_fd,
                                                                    .trace = agent->options->trace,
                                                                    .secrets = secrets,
                                                                    .log = agent->log,
                                                                    .line = agent_on_line,
                                                                    .too_long = agent_on_too_long,
                                                                    .ended = agent_on_input_end,
                                                                    .failed = agent_on_wire_failed,
                                                                    .context = agent}));
}

/* What is left when the loop has stopped: requests that nobody waits for any more, threads that
 * read attachments, which cannot be called back but end soon, and commands. */
static void agent_end_work(Agent *agent)
{
    agent->life = AGENT_GONE;
    (void)agent_items_stop(agent, SPAN_NULL, TURN_END_FAILED, SPAN(AGENT_CUT_WORDS));
    agent->model = model_free(agent->model);
    agent->store = agent_store_close(agent->store);
    agent->wire = agent_wire_free(agent->wire);
    agent->tools = agent_tools_free(agent->tools);
    agent->link = agent_link_free(agent->link);
    if (agent->is_listening) {
        router_unlisten(agent->router, &agent->gate);
        agent->is_listening = false;
    }
    sources_end(&agent->sources);
    do {
        io_loop_update_now(agent->loop);
        agent_schedule(agent, io_loop_now_ms(agent->loop) + END_COMMANDS_MS);
    } while (io_loop_run(agent->loop) == 0 && agent->first != NULL);
}

static void agent_deinit(Agent *agent)
{
    AgentCall *call;

    if (agent->timer != NULL) {
        agent_end_work(agent);
    }
    while ((call = agent->spare_calls) != NULL) {
        agent->spare_calls = agent_run_drop_call(call);
    }
    for (size_t i = agent->files != NULL ? 1 : 0; i < agent->n_roots; i++) {
        agent->roots[i] = io_beneath_free(agent->roots[i]);
    }
    agent->files = files_free(agent->files);
    sources_deinit(&agent->sources);
    agent->timer = io_timer_free(agent->timer);
    agent->hub = hub_free(agent->hub);
    agent_server_deinit(&agent->server);
    map_deinit(&agent->talks);
    arena_deinit(&agent->arena);
    arena_deinit(&agent->scratch);
    arena_deinit(&agent->secrets);
    bytes_deinit(&agent->data);
    bytes_deinit(&agent->history);
    bytes_deinit(&agent->current);
    bytes_deinit(&agent->system);
}

static int agent_watch(AgentRunning *running)
{
    Agent *agent = &running->agent;

    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        int r = io_signal_new(&running->signals[i], agent->loop, end_signals[i], agent_on_signal,
                              agent);

        if (r != 0) {
            return err_pass(r);
        }
    }
    return err_pass(io_parent_watch_new(&running->parent, agent->loop, AGENT_PARENT_PERIOD_MS,
                                        agent_on_orphaned, agent));
}

static int agent_run(AgentRunning *running, Diag *reterr_diag)
{
    Agent *agent = &running->agent;
    int r = agent_init(agent, reterr_diag);

    if (r != 0) {
        return r;
    }
    /* Before the wire's, so that it comes after it. */
    r = io_before_wait_new(&running->settle, agent->loop, agent_on_before_wait, agent);
    r = r != 0 ? r : agent_open_wire(agent);
    r = r != 0 ? r : agent_watch(running);
    if (r != 0) {
        return err_pass(r);
    }
    agent_tell_ready(agent);
    end_signals_watch(agent->loop, agent->log, agent->settings.grace_ms, 0);
    end_signals_unblock();
    io_loop_hold(agent->loop);
    r = io_loop_run(agent->loop);
    io_loop_release(agent->loop);
    return err_pass(r != 0 ? r : agent->r);
}

int agent_stdio(const AgentOptions *options, Diag *reterr_diag)
{
    AgentRunning running = {.agent = {.options = options,
                                      .config = options->config,
                                      .log = options->log,
                                      .sources = SOURCES_NULL,
                                      .timer_ms = INT64_MAX}};
    int r;

    io_ignore_sigpipe();
    end_signals_block(); /* until somebody listens */
    r = agent_run(&running, reterr_diag);
    end_signals_block();
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        running.signals[i] = io_signal_free(running.signals[i]);
    }
    running.parent = io_parent_watch_free(running.parent);
    running.settle = io_before_wait_free(running.settle);
    agent_deinit(&running.agent);
    return r;
}
