#include "providers/exec.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "call/answer.h"
#include "io/error_text.h"
#include "providers/exec_env.h"
#include "providers/exec_run.h"
#include "providers/tools_file.h"

typedef struct ExecTool {
    ExecProvider *provider;
    const ToolsFileTool *spec; /* the file's */
    const char *const *environment;
    bool is_left_out; /* another had the name */
    bool is_added;    /* to the router */
} ExecTool;

/* Commands that were told to end and have not: a client that calls and cancels in turn, with a tool
 * that ignores SIGTERM, must not collect processes without bound. */
#define EXEC_MAX_ENDING LIMIT_CALLS_IN_FLIGHT

/* What Python calls the end of a program with another status than 0, or by a signal. */
#define EXEC_FAILURE_TYPE "CalledProcessError"

struct ExecProvider {
    Router *router;
    IoLoop *loop;
    const LogSink *log;
    ExecRunLimits limits; /* of each run */
    ToolsFile file;
    ExecTool *tools;
    size_t n_added;   /* tools that are in the router */
    size_t n_entries; /* of these, how many it still may use */
    ExecRun *busy;
    size_t n_ending; /* of these, commands whose call is over */
    ExecRun *spare;  /* idle ones, for the next calls */
    CallAnswer answer;
    Bytes text;
    Arena scratch;
    bool is_freed; /* memory follows when the router has let go of the last entry */
};

/* A run's place in the list of busy ones; its call is NULL if nobody waits for it any more. */

static void exec_link(ExecProvider *provider, ExecRun *run)
{
    ExecRunLink *link = exec_run_link(run);

    link->prev = NULL;
    link->next = provider->busy;
    if (provider->busy != NULL) {
        exec_run_link(provider->busy)->prev = run;
    }
    provider->busy = run;
}

static void exec_unlink(ExecProvider *provider, ExecRun *run)
{
    ExecRunLink *link = exec_run_link(run);

    if (link->prev != NULL) {
        exec_run_link(link->prev)->next = link->next;
    } else {
        provider->busy = link->next;
    }
    if (link->next != NULL) {
        exec_run_link(link->next)->prev = link->prev;
    }
    link->prev = NULL;
}

static Span exec_without_newline(Span text)
{
    if (span_ends_with(text, SPAN("\r\n"))) {
        text.n -= 2; /* as programs of Windows end their lines */
    } else if (text.n > 0 && text.p[text.n - 1] == '\n') {
        text.n--;
    }
    return text;
}

/* Whether it is meant as a structured result: an object, or something nested too deeply to be read,
 * which the answer refuses by that name. What else it may be is the router's to judge. */
static bool exec_is_object(ExecProvider *provider, Span text)
{
    JsonDoc doc;
    bool is_object;
    int r;

    arena_reset(&provider->scratch, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &provider->scratch, text.p, text.n, NULL, NULL);
    is_object = r == JSON_E_DEPTH || (r == 0 && json_kind(json_root(&doc)) == JSON_OBJECT);
    arena_reset(&provider->scratch, LIMIT_KEEP_BYTES);
    return is_object;
}

static void exec_answer_success(ExecProvider *provider, const ExecTool *tool, const ExecRun *run)
{
    Span output = exec_without_newline(exec_run_output(run));

    if (tool->spec->has_output_schema && exec_is_object(provider, output)) {
        call_answer_structured(&provider->answer, output);
    } else {
        call_answer_text(&provider->answer, SPAN_NULL, output);
    }
}

/* How it ended, in words. 0, -ENOMEM, BYTES_E_FULL. */
static int exec_describe_exit(Bytes *text, IoProcessExit how)
{
    const char *name = how.signum != 0 ? io_process_signal_name(how.signum) : NULL;

    if (how.signum == 0) {
        return bytes_append_format(text, "exit status %d", how.status);
    }
    if (name == NULL) {
        return bytes_append_format(text, "ended by signal %d", how.signum);
    }
    return bytes_append_format(text, "ended by signal SIG%s", name);
}

static void exec_answer_failure(ExecProvider *provider, const ExecRun *run)
{
    Span output = exec_without_newline(exec_run_output(run));
    Bytes *text = &provider->text;
    bool is_cut;
    Span tail = exec_without_newline(exec_run_tail(run, &is_cut));
    int r;

    bytes_clear_keep(text, LIMIT_KEEP_BYTES);
    r = bytes_append_span(text, output);
    if (r == 0 && output.n > 0) {
        r = bytes_append_byte(text, '\n');
    }
    if (r == 0) {
        r = exec_describe_exit(text, exec_run_exit(run));
    }
    if (r == 0 && tail.n > 0) {
        r = bytes_append_format(text, "\n%s", is_cut ? "[...]" : "");
    }
    if (r == 0) {
        r = bytes_append_span(text, tail);
    }
    if (r != 0) {
        provider->answer.r = r; /* sticks: the call ends with the matching error */
        return;
    }
    provider->answer.result.is_error = true;
    provider->answer.result.error_type = SPAN(EXEC_FAILURE_TYPE);
    provider->answer.result.message = bytes_span(text);
    call_answer_text(&provider->answer, SPAN_NULL, bytes_span(text));
}

static void exec_fail_run(const ExecProvider *provider, Call *call, int r)
{
    char words[128];

    if (r != EXEC_RUN_E_TOO_LARGE) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    (void)snprintf(words, sizeof(words),
                   "the result is too large: the command printed more than %zu bytes "
                   "(--max-response-bytes)",
                   provider->limits.max_output_bytes);
    call_fail(call, CALL_ERROR_TOO_LARGE, span_from_str(words));
}

static void exec_on_done(void *context, ExecRun *run)
{
    ExecProvider *provider = context;
    ExecRunLink *link = exec_run_link(run);
    Call *call = link->call;
    int r = exec_run_failure(run);

    if (call == NULL) {
        return;
    }
    link->call = NULL;
    if (r != 0) {
        link->is_ending = true;
        provider->n_ending++;
        exec_fail_run(provider, call, r);
        return;
    }
    call_answer_reset(&provider->answer, CALL_RESULT_TOOL);
    if (exec_run_exit(run).status == 0) {
        exec_answer_success(provider, link->tool, run);
    } else {
        /* One that was killed has not answered, and nobody knows how far it came. */
        call->may_have_run = exec_run_exit(run).signum != 0;
        exec_answer_failure(provider, run);
    }
    /* The door makes a message of it now: a long output need not lie here a third time. */
    exec_run_forget(run);
    call_answer_finish(&provider->answer, call);
    bytes_clear_keep(&provider->text, LIMIT_KEEP_BYTES);
}

static void exec_on_idle(void *context, ExecRun *run)
{
    ExecProvider *provider = context;

    exec_unlink(provider, run);
    provider->n_ending -= exec_run_link(run)->is_ending;
    exec_run_link(run)->is_ending = false;
    exec_run_link(run)->next = provider->spare;
    provider->spare = run;
}

static const ExecRunOps exec_run_ops = {.done = exec_on_done, .idle = exec_on_idle};

static int exec_take_run(ExecProvider *provider, ExecRun **ret)
{
    if (provider->spare == NULL) {
        return exec_run_new(ret, provider->loop, provider->limits, &exec_run_ops, provider);
    }
    *ret = provider->spare;
    provider->spare = exec_run_link(*ret)->next;
    return 0;
}

/* The arguments byte for byte, and a newline for those who read lines. 0, -ENOMEM, BYTES_E_FULL. */
static int exec_write_input(Bytes *input, const Call *call)
{
    int r;

    bytes_clear(input);
    r = bytes_append_span(input,
                          call->arguments.node != NULL ? json_span(call->arguments) : SPAN("{}"));
    return r != 0 ? r : bytes_append_byte(input, '\n');
}

/* The run goes back unused, and the call ends. */
static void exec_refuse(ExecProvider *provider, Call *call, ExecRun *run, CallError error,
                        Span message)
{
    exec_on_idle(provider, run);
    call_fail(call, error, message);
}

static void exec_start(void *context, Call *call)
{
    ExecTool *tool = context;
    ExecProvider *provider = tool->provider;
    IoProcessSpec spec = {.argv = tool->spec->command,
                          .environment = tool->environment,
                          .folder = tool->spec->folder,
                          .wire = IO_PROCESS_PIPES};
    Diag diag = DIAG_NULL;
    ExecRun *run = NULL;
    int r;

    if (provider->n_ending >= EXEC_MAX_ENDING) {
        call_fail(call, CALL_ERROR_BUSY,
                  SPAN("too many commands of cancelled calls have not ended yet"));
        return;
    }
    r = exec_take_run(provider, &run);
    if (r != 0) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    exec_link(provider, run);
    r = exec_write_input(exec_run_input(run), call);
    if (r != 0) {
        bytes_clear_keep(exec_run_input(run), LIMIT_KEEP_BYTES);
        exec_refuse(provider, call, run, r > 0 ? CALL_ERROR_TOO_LARGE : CALL_ERROR_INTERNAL,
                    r > 0 ? SPAN("the arguments are too large for a command") : SPAN_NULL);
        return;
    }
    r = exec_run_start(run, &spec, &diag);
    if (r != 0) {
        if (r < 0) {
            (void)diag_set(&diag, r, "cannot start the command: %s", io_error_text(-r));
        }
        logsink_write(provider->log, LOGSINK_LEVEL_DEBUG, "exec", "%s: %s", tool->spec->name.p,
                      diag.message);
        exec_refuse(provider, call, run, CALL_ERROR_UNAVAILABLE, span_from_str(diag.message));
        return;
    }
    call->provider_data = run;
    exec_run_link(run)->call = call;
    exec_run_link(run)->tool = tool;
}

static void exec_cancel(void *context, Call *call)
{
    const ExecTool *tool = context;
    ExecRun *run = call->provider_data;

    exec_run_link(run)->call = NULL;
    exec_run_link(run)->is_ending = true;
    tool->provider->n_ending++;
    exec_run_end(run);
}

static const CallProvider exec_call_provider = {
    .name = "exec", .start = exec_start, .cancel = exec_cancel};

static void exec_release_memory(ExecProvider *provider)
{
    call_answer_deinit(&provider->answer);
    bytes_deinit(&provider->text);
    arena_deinit(&provider->scratch);
    tools_file_deinit(&provider->file);
    (void)mem_free(provider);
}

static void exec_on_release(void *context)
{
    ExecTool *tool = context;
    ExecProvider *provider = tool->provider;

    provider->n_entries--;
    if (provider->is_freed && provider->n_entries == 0) {
        exec_release_memory(provider);
    }
}

static int exec_add_entry(ExecProvider *provider, size_t index, Diag *reterr_diag)
{
    const ToolsFileTool *spec = &provider->file.tools[index];
    RouterSpec entry = {.kind = ROUTER_TOOL,
                        .json = spec->json,
                        .provider = &exec_call_provider,
                        .context = &provider->tools[index],
                        .timeout_ms = spec->timeout_ms,
                        .later = spec->is_durable ? ROUTER_LATER_MAY : ROUTER_LATER_NEVER,
                        .is_command = spec->is_command,
                        .release = exec_on_release};
    Diag why = DIAG_NULL;
    int r = router_add(provider->router, &entry, &why);

    if (r < 0) {
        return err_pass(r);
    }
    if (r != 0) {
        return tools_file_blame_entry(&provider->file, index, r, &why, reterr_diag);
    }
    provider->tools[index].is_added = true;
    provider->n_added++;
    provider->n_entries++;
    return 0;
}

static int exec_add_tool(ExecProvider *provider, size_t index, Diag *reterr_diag)
{
    ExecTool *tool = &provider->tools[index];
    const ToolsFileTool *spec = &provider->file.tools[index];
    char field[DIAG_FIELD_SIZE];
    int r;

    if (spec->command == NULL) {
        (void)snprintf(field, sizeof(field), "[%zu].command", index);
        return tools_file_blame(&provider->file, spec->offset, field, "is missing", reterr_diag);
    }
    r = exec_env_make(&tool->environment, &provider->file.arena, spec->variables,
                      spec->n_variables);
    if (r != 0 || tool->is_left_out) {
        return err_pass(r);
    }
    return exec_add_entry(provider, index, reterr_diag);
}

/* Makes room for the tools, and leaves out those that yield: before any is added, so that a name
 * which the file has twice is none of them. */
static int exec_prepare(ExecProvider *provider, bool yields)
{
    const ToolsFile *file = &provider->file;

    provider->tools =
        arena_alloc_array(&provider->file.arena, file->n_tools, sizeof(*provider->tools));
    if (provider->tools == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < file->n_tools; i++) {
        Span name = file->tools[i].name;
        bool is_left_out = yields && router_has_tool(provider->router, name);

        provider->tools[i] =
            (ExecTool){.provider = provider, .spec = &file->tools[i], .is_left_out = is_left_out};
        if (is_left_out) {
            logsink_write(provider->log, LOGSINK_LEVEL_WARN, "exec",
                          "the tool %.*s of %s has the name of one of ours, which is used",
                          (int)name.n, name.p, file->path);
        }
    }
    return 0;
}

/* An empty provider, with its limits. */
static ExecProvider *exec_new(const ExecProviderConfig *config)
{
    ExecProvider *provider = mem_alloc_array(1, sizeof(*provider));
    size_t max_request =
        config->max_request_bytes != 0 ? config->max_request_bytes : LIMIT_MCP_REQUEST_BYTES;
    size_t max_response =
        config->max_response_bytes != 0 ? config->max_response_bytes : LIMIT_MCP_RESPONSE_BYTES;

    if (provider == NULL) {
        return NULL;
    }
    assert(max_request < SIZE_MAX / 32 && max_response < SIZE_MAX / 32);
    provider->router = config->router;
    provider->loop = config->loop;
    provider->log = config->log;
    /* The arguments and their newline; as much output as a response could hold at all: whether it
     * does, with what is around it, is seen when the answer is made. */
    provider->limits = (ExecRunLimits){max_request + 1, max_response};
    call_answer_init(&provider->answer, max_response);
    bytes_init(&provider->text, max_response);
    /* An index needs at most 16 bytes for each of text, and 64 KiB (json/json.h). */
    arena_init(&provider->scratch, max_response * 16 + 65536);
    return provider;
}

int exec_provider_load(ExecProvider **ret, const ExecProviderConfig *config, Diag *reterr_diag)
{
    ExecProvider *provider = exec_new(config);
    Router *router = config->router;
    bool is_unreadable;
    int r;

    if (provider == NULL) {
        return err_raise(-ENOMEM);
    }
    r = tools_file_load(&provider->file, config->path, reterr_diag);
    is_unreadable = r == TOOLS_FILE_E_UNREADABLE;
    r = r != 0 ? r : exec_prepare(provider, config->yields);
    router_batch_begin(router);
    for (size_t i = 0; r == 0 && i < provider->file.n_tools; i++) {
        r = exec_add_tool(provider, i, reterr_diag);
    }
    if (r != 0) {
        (void)exec_provider_free(provider);
        router_batch_end(router);
        if (is_unreadable) {
            return EXEC_PROVIDER_E_UNREADABLE;
        }
        return r > 0 ? EXEC_PROVIDER_E_MALFORMED : err_pass(r);
    }
    router_batch_end(router);
    *ret = provider;
    return 0;
}

void exec_provider_withdraw(ExecProvider *provider)
{
    router_batch_begin(provider->router);
    for (size_t i = 0; provider->n_added > 0; i++) {
        if (provider->tools[i].is_added) {
            (void)router_remove(provider->router, ROUTER_TOOL, provider->file.tools[i].name);
            provider->tools[i].is_added = false;
            provider->n_added--;
        }
    }
    router_batch_end(provider->router);
}

int exec_provider_offer(ExecProvider *provider)
{
    int r = 0;

    router_batch_begin(provider->router);
    for (size_t i = 0; r == 0 && i < provider->file.n_tools; i++) {
        if (!provider->tools[i].is_left_out && !provider->tools[i].is_added) {
            r = exec_add_entry(provider, i, NULL);
        }
    }
    if (r != 0) {
        exec_provider_withdraw(provider);
    }
    router_batch_end(provider->router);
    return r > 0 ? EXEC_PROVIDER_E_MALFORMED : err_pass(r);
}

bool exec_provider_is_busy(const ExecProvider *provider)
{
    return provider->busy != NULL;
}

ExecProvider *exec_provider_free(ExecProvider *provider)
{
    ExecRun *run;

    if (provider == NULL) {
        return NULL;
    }
    /* Removed first: the end of a call must not lead to the start of another. */
    exec_provider_withdraw(provider);
    while ((run = provider->busy) != NULL) {
        Call *call = exec_run_link(run)->call;

        exec_unlink(provider, run);
        run = exec_run_free(run);
        if (call != NULL) {
            call->may_have_run = true;
            call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN_NULL);
        }
    }
    while ((run = provider->spare) != NULL) {
        provider->spare = exec_run_link(run)->next;
        run = exec_run_free(run);
    }
    provider->is_freed = true;
    if (provider->n_entries == 0) {
        exec_release_memory(provider);
    }
    return NULL;
}

size_t exec_provider_ending(const ExecProvider *provider)
{
    return provider->n_ending;
}

size_t exec_provider_count(const ExecProvider *provider)
{
    return provider->n_added;
}
