/* What is kept of a task, as JSON: the note beside the job, its questions and its answers.
 *
 *     note     {"can":5,"state":"…","inputs":{…},"names":{"it~2":"it"}}
 *     asks     {"it~2":{"kind":"form","message":"…","schema":{…}}}
 *     inputs   {"it":{…},"it~2":{…}}
 *
 * A name is asked once in the life of a task (the extension wants that): a tool that asks again
 * under the same name asks as `it~2`, and finds the answer as `it`. */
#include "app/jobs_internal.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "call/record.h"
#include "dialect/mcp/answer.h"
#include "json/json.h"
#include "json/writer.h"

/* Questions that one task asks at once; a form has fields enough. */
#define TASK_MAX_ASKS 64

static const char *const ask_kinds[] = {
    [CALL_ASK_FORM] = "form",
    [CALL_ASK_URL] = "url",
    [CALL_ASK_SAMPLE] = "sample",
    [CALL_ASK_ROOTS] = "roots",
};

/* The object that a text holds; empty or something else: node NULL. 0, -ENOMEM. */
static int read_object(Span json, Arena *arena, JsonValue *ret)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    int r;

    *ret = JSON_VALUE_NULL;
    if (json.n == 0) {
        return 0;
    }
    r = json_parse(&doc, arena, json.p, json.n, NULL, &diag);
    if (r == 0 && json_kind(json_root(&doc)) == JSON_OBJECT) {
        *ret = json_root(&doc);
    }
    return r < 0 ? err_pass(r) : 0;
}

/* `"key":value`; of `as`, which is a string, the text is the key. 0, -ENOMEM. */
static int write_member(JsonWriter *w, JsonValue as, JsonValue value, Arena *arena)
{
    Span key;
    int r = json_string_exact(as, arena, &key);

    if (r != 0) {
        return err_fold(r);
    }
    json_write_exact_key(w, key);
    json_write_value(w, value);
    return 0;
}

/* ---- the note ---- */

int jobs_note_write(const JobsNote *note, Bytes *out)
{
    JsonWriter w;

    bytes_clear(out);
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("can"));
    json_write_uint(&w, note->can);
    if (note->state.n > 0) {
        json_write_key(&w, SPAN("state"));
        json_write_exact(&w, note->state);
    }
    if (note->inputs.node != NULL) {
        json_write_key(&w, SPAN("inputs"));
        json_write_value(&w, note->inputs);
    }
    if (note->names.n > 0) {
        json_write_key(&w, SPAN("names"));
        json_write_raw(&w, note->names);
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int jobs_note_read(Span json, Arena *arena, JobsNote *ret)
{
    JsonValue root;
    JsonValue value;
    int64_t can;
    int r = read_object(json, arena, &root);

    *ret = (JobsNote){.inputs = JSON_VALUE_NULL};
    if (r != 0 || root.node == NULL) {
        return err_pass(r);
    }
    if (json_get(root, SPAN("can"), &value) && json_int64(value, &can) == 0) {
        ret->can = (unsigned)can;
    }
    if (json_get(root, SPAN("state"), &value)) {
        r = json_string_exact(value, arena, &ret->state);
    }
    if (json_get(root, SPAN("inputs"), &value) && json_kind(value) == JSON_OBJECT) {
        ret->inputs = value;
    }
    if (json_get(root, SPAN("names"), &value) && json_kind(value) == JSON_OBJECT) {
        ret->names = json_span(value);
    }
    return r < 0 ? err_pass(r) : 0;
}

/* ---- answers ---- */

/* The members of an object, those in names under the name that they have there. 0, -ENOMEM. */
static int write_members(JsonWriter *w, JsonValue object, JsonValue names, Arena *arena)
{
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        JsonValue as = it.key;
        Span key;
        int r = json_string_exact(it.key, arena, &key);

        if (r == 0 && names.node != NULL && !json_get(names, key, &as)) {
            as = it.key;
        }
        r = r != 0 ? err_fold(r) : write_member(w, as, it.value, arena);
        if (r != 0) {
            return err_pass(r);
        }
    }
    return 0;
}

int jobs_inputs_write(const JobsNote *note, Span inputs, Arena *arena, Bytes *out)
{
    JsonValue names;
    JsonValue given;
    JsonWriter w;
    int r = read_object(note->names, arena, &names);

    if (r == 0) {
        r = read_object(inputs, arena, &given);
    }
    bytes_clear(out);
    if (r != 0 || (given.node == NULL && note->inputs.node == NULL)) {
        return err_pass(r);
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    if (note->inputs.node != NULL) {
        r = write_members(&w, note->inputs, JSON_VALUE_NULL, arena);
    }
    /* Of equal names the last counts. */
    if (r == 0 && given.node != NULL) {
        r = write_members(&w, given, names, arena);
    }
    json_write_end_object(&w);
    return r != 0 ? err_pass(r) : json_writer_finish(&w);
}

/* ---- questions ---- */

static void write_ask(JsonWriter *w, const CallAsk *ask)
{
    json_write_object(w);
    json_write_key(w, SPAN("kind"));
    json_write_string(w, span_from_str(ask_kinds[ask->kind]));
    json_write_key(w, SPAN("message"));
    json_write_exact(w, ask->message);
    if (ask->schema.n > 0) {
        json_write_key(w, SPAN("schema"));
        json_write_raw(w, ask->schema);
    }
    if (ask->url.n > 0) {
        json_write_key(w, SPAN("url"));
        json_write_exact(w, ask->url);
    }
    if (ask->params.n > 0) {
        json_write_key(w, SPAN("params"));
        json_write_raw(w, ask->params);
    }
    json_write_end_object(w);
}

/* A name that the task has not asked under: key, or key~2, key~3… 0, -ENOMEM. */
static int new_name(Span key, JsonValue answered, Arena *arena, Span *ret)
{
    JsonValue ignored;
    char *text;
    int n;

    *ret = key;
    for (unsigned i = 2; answered.node != NULL && json_get(answered, *ret, &ignored); i++) {
        text = arena_alloc(arena, key.n + 16);
        if (text == NULL) {
            return err_raise(-ENOMEM);
        }
        n = snprintf(text, key.n + 16, "%.*s~%u", (int)key.n, key.p, i);
        *ret = span_make(text, (size_t)n);
    }
    return 0;
}

int jobs_asks_write(const CallResult *result, Span answered, Arena *arena, JobsNote *note,
                    Bytes *out, Bytes *names)
{
    JsonValue before;
    JsonValue old;
    JsonWriter w;
    JsonWriter of_names;
    int r = read_object(answered, arena, &before);

    if (r == 0) {
        r = read_object(note->names, arena, &old);
    }
    if (r != 0) {
        return err_pass(r);
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_writer_init(&of_names, names, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_object(&of_names);
    if (old.node != NULL) {
        r = write_members(&of_names, old, JSON_VALUE_NULL, arena);
    }
    for (size_t i = 0; r == 0 && i < result->n_asks; i++) {
        Span name = SPAN_NULL;

        r = new_name(result->asks[i].key, before, arena, &name);
        if (r != 0) {
            break;
        }
        json_write_exact_key(&w, name);
        write_ask(&w, &result->asks[i]);
        if (name.n != result->asks[i].key.n) {
            json_write_exact_key(&of_names, name);
            json_write_exact(&of_names, result->asks[i].key);
        }
    }
    json_write_end_object(&w);
    json_write_end_object(&of_names);
    if (r == 0) {
        r = json_writer_finish(&w);
    }
    if (r == 0) {
        r = json_writer_finish(&of_names);
    }
    note->names = names->n > 2 ? bytes_span(names) : SPAN_NULL;
    return r;
}

static bool ask_kind_parse(JsonValue value, CallAskKind *ret)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(ask_kinds); i++) {
        if (json_string_equals(value, span_from_str(ask_kinds[i]))) {
            *ret = (CallAskKind)i;
            return true;
        }
    }
    return false;
}

/* A text member, decoded; empty if it is not there. */
static int ask_text(JsonValue object, Span name, Arena *arena, Span *ret)
{
    JsonValue value;

    return json_get(object, name, &value) ? json_string_exact(value, arena, ret) : 0;
}

static int read_ask(JsonValue key, JsonValue object, Arena *arena, CallAsk *ret)
{
    JsonValue value;
    int r = json_string_exact(key, arena, &ret->key);

    if (r == 0 && (!json_get(object, SPAN("kind"), &value) || !ask_kind_parse(value, &ret->kind))) {
        return err_raise(-EINVAL);
    }
    if (r == 0) {
        r = ask_text(object, SPAN("message"), arena, &ret->message);
    }
    if (r == 0) {
        r = ask_text(object, SPAN("url"), arena, &ret->url);
    }
    if (json_get(object, SPAN("schema"), &value)) {
        ret->schema = json_span(value);
    }
    if (json_get(object, SPAN("params"), &value)) {
        ret->params = json_span(value);
    }
    return r > 0 ? err_raise(-EINVAL) : r;
}

int jobs_asks_read(Span json, Arena *arena, const CallAsk **ret, size_t *ret_n)
{
    CallAsk *asks = arena_alloc_array(arena, TASK_MAX_ASKS, sizeof(*asks));
    JsonValue all;
    size_t n = 0;
    int r = asks == NULL ? err_raise(-ENOMEM) : read_object(json, arena, &all);

    if (r == 0 && all.node == NULL) {
        r = err_raise(-EINVAL);
    }
    if (r != 0) {
        return err_pass(r);
    }
    for (JsonIter it = json_iter(all); n < TASK_MAX_ASKS && json_iter_next(&it); n++) {
        asks[n] = (CallAsk){.kind = CALL_ASK_FORM};
        r = read_ask(it.key, it.value, arena, &asks[n]);
        if (r != 0) {
            return err_pass(r);
        }
    }
    *ret = asks;
    *ret_n = n;
    return 0;
}

/* 0, -ENOMEM; *ret_problem as in jobs_inputs_check. */
static int check_input(const CallAsk *ask, JsonValue answer, Arena *arena, Span *ret_problem)
{
    McpProblem problem;
    char text[sizeof(problem.text) + 256];
    int r = mcp_answer_check(ask->kind, ask->schema, answer, &problem);

    if (r != MCP_ANSWER_E_MALFORMED) {
        return err_pass(r);
    }
    (void)snprintf(text, sizeof(text), "params.inputResponses[\"%.*s\"] is malformed: %s",
                   (int)(ask->key.n < 128 ? ask->key.n : 128), ask->key.p, problem.text);
    *ret_problem = arena_copy(arena, span_from_str(text));
    return ret_problem->p == NULL ? err_raise(-ENOMEM) : 0;
}

int jobs_inputs_check(Span asks, Span inputs, Arena *arena, Span *ret_problem)
{
    const CallAsk *list = NULL;
    JsonValue answers = JSON_VALUE_NULL;
    JsonValue answer;
    size_t n = 0;
    int r = asks.n == 0 ? 0 : jobs_asks_read(asks, arena, &list, &n);

    *ret_problem = SPAN_NULL;
    if (r == 0) {
        r = read_object(inputs, arena, &answers);
    }
    for (size_t i = 0; r == 0 && i < n && ret_problem->n == 0; i++) {
        if (answers.node != NULL && json_get(answers, list[i].key, &answer)) {
            r = check_input(&list[i], answer, arena, ret_problem);
        }
    }
    return err_pass(r);
}

/* ---- how it stands ---- */

CallTask jobs_task(const Jobs *jobs, const QueueJob *job)
{
    int64_t keep_ms = jobs->config.keep_ms > 0 ? jobs->config.keep_ms : LIMIT_QUEUE_KEEP_MS;
    CallTask task = {
        .id = span_from_str(job->id),
        .status = CALL_TASK_WORKING,
        .message = job->message,
        .created_us = job->enqueued_us,
        .updated_us = job->changed_us,
        .ttl_ms = job->keep_ms > 0 ? job->keep_ms : keep_ms,
        .poll_ms = LIMIT_JOBS_POLL_MS,
    };

    if (job->state == JOB_SUCCEEDED) {
        task.status = CALL_TASK_COMPLETED;
        task.is_error = !span_equals(job->code, SPAN("OK"));
    } else if (job->state == JOB_CANCELLED) {
        task.status = CALL_TASK_CANCELLED;
    } else if (job_is_over(job->state)) {
        task.status = CALL_TASK_FAILED;
    } else if (job->asks.n > 0) {
        task.status = CALL_TASK_INPUT_REQUIRED;
    } else if (job->state == JOB_ENQUEUED && job->pool.n == 0 &&
               !router_tool_is_there(jobs->router, job->method)) {
        task.message = SPAN("waits for whoever has the tool, who is not there now");
    }
    return task;
}

CallResult jobs_result(const QueueJob *job, Arena *arena)
{
    CallResult result = {.kind = CALL_RESULT_ERROR};
    JsonValue value;

    if (read_object(job->result, arena, &value) == 0 && value.node != NULL &&
        call_record_read(value, arena, &result) == 0 &&
        (result.kind == CALL_RESULT_TOOL || result.kind == CALL_RESULT_ERROR)) {
        return result;
    }
    result = (CallResult){.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL};
    if (job->state == JOB_CANCELLED) {
        result.error = CALL_ERROR_CANCELLED;
    } else if (job->state == JOB_TIMEOUT) {
        result.error = CALL_ERROR_TIMEOUT;
    }
    result.message = job->message.n > 0 ? job->message
                     : job->code.n > 0  ? job->code
                                        : span_from_str(call_error_text(result.error));
    return result;
}
