/* run_command: the work, on its thread, and the environment of what it starts. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/child.h"
#include "io/process.h"
#include "providers/files_impl.h"
#include "json/writer.h"

/* ---- the environment ---- */

/* Of ours, these are passed on: language, and time. No key or token has such a name. */
static const char *const command_passed[] = {"LANG=", "LANGUAGE=", "LC_", "TZ="};

static bool command_passes(const char *variable)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(command_passed); i++) {
        if (strncmp(variable, command_passed[i], strlen(command_passed[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* NAME and value, one behind the other; NULL without memory. */
static char *command_variable(const char *name, const char *value)
{
    size_t n_name = strlen(name);
    size_t n_value = strlen(value);
    char *variable = mem_alloc(n_name + n_value + 1);

    if (variable != NULL) {
        memcpy(variable, name, n_name);
        memcpy(variable + n_name, value, n_value + 1);
    }
    return variable;
}

char **files_strings_free(char **strings)
{
    for (char **at = strings; at != NULL && *at != NULL; at++) {
        (void)mem_free(*at);
    }
    return mem_free(strings);
}

int files_environment_new(char ***ret, const char *root, const char *const *ours)
{
    /* Where programs are; and the only folder in which something may be kept. */
    const char *const own[][2] = {
        {"PATH=", FILES_PATH}, {"HOME=", root}, {"TMPDIR=", root}, {"TERM=", "dumb"}};
    size_t n_max = TW_ARRAY_SIZE(own) + 1;
    char **made;
    size_t n = 0;
    bool is_full = true;

    for (const char *const *at = ours; *at != NULL; at++) {
        n_max += command_passes(*at);
    }
    made = mem_alloc_array(n_max, sizeof(*made));
    for (size_t i = 0; made != NULL && is_full && i < TW_ARRAY_SIZE(own); i++) {
        made[n++] = command_variable(own[i][0], own[i][1]);
        is_full = made[n - 1] != NULL;
    }
    for (const char *const *at = ours; made != NULL && is_full && *at != NULL; at++) {
        if (command_passes(*at)) {
            made[n++] = command_variable(*at, "");
            is_full = made[n - 1] != NULL;
        }
    }
    if (made == NULL || !is_full) {
        (void)files_strings_free(made);
        return err_raise(-ENOMEM);
    }
    *ret = made;
    return 0;
}

/* ---- the work ---- */

/* What it prints; more than it may is read and forgotten, so that it can end. */
typedef struct Printed {
    Bytes bytes;
    bool is_cut;
} Printed;

static int command_print(void *context, const char *p, size_t n)
{
    Printed *out = context;
    size_t room = out->bytes.max_bytes - out->bytes.n;

    if (n > room) {
        out->is_cut = true;
        n = room;
    }
    return bytes_append(&out->bytes, p, n);
}

static bool command_is_allowed(const FilesShared *shared, const char *name)
{
    for (size_t i = 0; i < shared->n_commands; i++) {
        if (strcmp(shared->commands[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void command_write_line(JsonWriter *w, const char *const *argv)
{
    json_write_key(w, SPAN("command"));
    json_write_string(w, span_from_str(argv[0]));
    json_write_key(w, SPAN("args"));
    json_write_array(w);
    for (size_t i = 1; argv[i] != NULL; i++) {
        json_write_string(w, span_from_str(argv[i]));
    }
    json_write_end_array(w);
}

/* How it ended: a number, or null with a signal or because its time was over. */
static void command_write_end(JsonWriter *w, const IoProcessExit *how, bool is_late)
{
    json_write_key(w, SPAN("exitCode"));
    if (!is_late && how->signum == 0 && how->status >= 0) {
        json_write_int(w, how->status);
    } else {
        json_write_null(w);
    }
    if (is_late) {
        json_write_key(w, SPAN("timedOut"));
        json_write_bool(w, true);
    } else if (how->signum != 0) {
        const char *name = io_process_signal_name(how->signum);

        json_write_key(w, SPAN("signal"));
        json_write_string(w, span_from_str(name != NULL ? name : "?"));
    }
}

static int command_write(FilesJob *job, const Printed *out, const Bytes *errors,
                         const IoProcessExit *how, bool is_late)
{
    JsonWriter w;

    json_writer_init(&w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("stdout"));
    json_write_string(&w, bytes_span(&out->bytes));
    json_write_key(&w, SPAN("stderr"));
    json_write_string(&w, bytes_span(errors));
    command_write_end(&w, how, is_late);
    if (out->is_cut || errors->n == errors->max_bytes) {
        json_write_key(&w, SPAN("truncated"));
        json_write_bool(&w, true);
    }
    command_write_line(&w, job->asked.argv);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* For a model: what was printed, and how it ended if not well. */
static int command_say(FilesJob *job, const Printed *out, const Bytes *errors,
                       const IoProcessExit *how, bool is_late)
{
    JsonWriter w;
    Bytes said;
    int r;

    bytes_init(&said, job->said.max_bytes);
    r = bytes_append_span(&said, bytes_span(&out->bytes));
    r = r != 0 ? r : bytes_append_span(&said, bytes_span(errors));
    if (r == 0 && is_late) {
        r = bytes_append_format(&said, "(ended after %lld ms: its time was over)",
                                (long long)job->shared->command_ms);
    } else if (r == 0 && how->signum != 0) {
        r = bytes_append_format(&said, "(ended by signal %d)", how->signum);
    } else if (r == 0 && how->status != 0) {
        r = bytes_append_format(&said, "(exit code %d)", how->status);
    }
    json_writer_init(&w, &job->said, JSON_STYLE_COMPACT);
    json_write_string(&w, bytes_span(&said));
    r = r != 0 ? r : json_writer_finish(&w);
    bytes_deinit(&said);
    return r;
}

/* 0: it ran, and *ret_how and *ret_is_late say how it ended. */
static int command_start(FilesJob *job, Printed *out, Bytes *errors, IoProcessExit *ret_how,
                         bool *ret_is_late)
{
    union {
        char *const *in;
        const char *const *out;
    } environment = {.in = job->shared->environment}; /* the same, which C does not know */
    int r = io_child_run(&(IoChildSpec){.argv = job->asked.argv,
                                        .environment = environment.out,
                                        .folder = io_beneath_path(job->shared->root),
                                        .output = command_print,
                                        .context = out,
                                        .cancel = &job->cancel,
                                        .confine = job->shared->confine,
                                        .ends_group = true},
                         errors, ret_how, &job->diag);

    *ret_is_late = r == IO_CHILD_E_CANCELLED && atomic_load(&job->is_late);
    switch (r) {
    case 0:
        return 0;
    case IO_CHILD_E_CANCELLED:
        return *ret_is_late ? 0 : files_refuse(job, "cancelled");
    case IO_CHILD_E_STOPPED:
        return err_raise(-ENOMEM); /* the only reason to stop it that we have */
    case IO_CHILD_E_CANNOT_START:
        return FILES_E_REFUSED;
    default:
        return r;
    }
}

int files_run_command(FilesJob *job)
{
    const FilesShared *shared = job->shared;
    IoProcessExit how = {.status = -1};
    bool is_late = false;
    Printed out = {.is_cut = false};
    Bytes errors;
    int r;

    if (!command_is_allowed(shared, job->asked.argv[0])) {
        return files_refuse(job, "Command not allowed: %s", job->asked.argv[0]);
    }
    if (!shared->may_run) {
        return files_refuse(job, "Commands are %s", shared->state);
    }
    bytes_init(&out.bytes, shared->max_output_bytes);
    bytes_init(&errors, shared->max_output_bytes);
    r = command_start(job, &out, &errors, &how, &is_late);
    r = r != 0 ? r : command_write(job, &out, &errors, &how, is_late);
    r = r != 0 ? r : command_say(job, &out, &errors, &how, is_late);
    job->is_error = is_late;
    bytes_deinit(&out.bytes);
    bytes_deinit(&errors);
    return r;
}
