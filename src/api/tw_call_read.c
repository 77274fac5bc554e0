/* What a handler reads of its call: arguments, variables, answers to its questions. */
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_call.h"
#include "api/tw_server.h"

/* Everything here may copy into the call's arena, so it holds the lock. */
static void call_lock(TwCall *call)
{
    pthread_mutex_lock(&call->lock);
}

static void call_unlock(TwCall *call)
{
    pthread_mutex_unlock(&call->lock);
}

TwVerb tw_call_verb(const TwCall *call)
{
    return call->verb;
}

const char *tw_call_target(const TwCall *call)
{
    return call->target;
}

const char *tw_call_completing(const TwCall *call)
{
    return call->completing;
}

const char *tw_call_typed(const TwCall *call)
{
    return call->typed;
}

const char *tw_call_state(const TwCall *call)
{
    return call->state;
}

bool tw_call_can_ask(const TwCall *call, TwAskKind kind)
{
    return (unsigned)kind <= TW_ASK_ROOTS && (call->can & 1u << kind) != 0;
}

static const char *call_arguments_text(TwCall *call)
{
    if (call->arguments_text == NULL) {
        call->arguments_text =
            call->arguments.node == NULL ? "{}" : api_view_text(call->arguments, &call->arena);
    }
    return call->arguments_text;
}

const char *tw_call_arguments(TwCall *call)
{
    const char *text;

    call_lock(call);
    text = call_arguments_text(call);
    call_unlock(call);
    return text;
}

/* ---- values ---- */

/* The argument of that name; node NULL if there is none. */
static JsonValue call_argument(const TwCall *call, const char *name)
{
    JsonValue v = JSON_VALUE_NULL;

    (void)api_view_find(call->arguments, API_NAME_MEMBER, name, &v);
    return v;
}

const char *tw_call_string_n(TwCall *call, const char *name, size_t *ret_n)
{
    const char *text;

    call_lock(call);
    text = api_view_string(call_argument(call, name), &call->arena, ret_n);
    call_unlock(call);
    return text;
}

const char *tw_call_string(TwCall *call, const char *name, const char *fallback)
{
    const char *text = tw_call_string_n(call, name, NULL);

    return text != NULL ? text : fallback;
}

int64_t tw_call_int(TwCall *call, const char *name, int64_t fallback)
{
    call_lock(call);
    fallback = api_view_int(call_argument(call, name), fallback);
    call_unlock(call);
    return fallback;
}

double tw_call_double(TwCall *call, const char *name, double fallback)
{
    call_lock(call);
    fallback = api_view_double(call_argument(call, name), fallback);
    call_unlock(call);
    return fallback;
}

bool tw_call_bool(TwCall *call, const char *name, bool fallback)
{
    call_lock(call);
    fallback = api_view_bool(call_argument(call, name), fallback);
    call_unlock(call);
    return fallback;
}

const char *tw_call_json(TwCall *call, const char *name)
{
    const char *text;

    call_lock(call);
    text = api_view_text(call_argument(call, name), &call->arena);
    call_unlock(call);
    return text;
}

size_t tw_call_count(TwCall *call, const char *name)
{
    JsonValue v;
    size_t n;

    call_lock(call);
    v = call_argument(call, name);
    n = v.node == NULL ? 0 : json_count(v);
    call_unlock(call);
    return n;
}

/* ---- variables of a URI template ---- */

/* A value that holds NUL would be another one as a C string ("a%00.txt"): it is not given at all.
 */
static bool call_variable_of(const Call *call, const char *name, Span *ret)
{
    return router_call_variable(call, span_from_str(name), ret) &&
           (ret->n == 0 || memchr(ret->p, '\0', ret->n) == NULL);
}

static const char *call_variable(TwCall *call, const char *name)
{
    Span value;

    for (size_t i = 0; i < call->n_variables; i++) {
        if (strcmp(call->variables[i].name, name) == 0) {
            return call->variables[i].value;
        }
    }
    /* A kept call has them all; what it has not is not there. */
    if (call->kept || call->call == NULL || !call_variable_of(call->call, name, &value)) {
        return NULL;
    }
    return arena_copy(&call->arena, value).p;
}

const char *tw_call_variable(TwCall *call, const char *name)
{
    const char *value = NULL;

    if (name != NULL && call->verb == TW_VERB_READ) {
        call_lock(call);
        value = call_variable(call, name);
        call_unlock(call);
    }
    return value;
}

static size_t call_count_variables(const char *names)
{
    size_t n = 0;

    for (const char *p = names; p != NULL && *p != '\0'; p += strlen(p) + 1) {
        n++;
    }
    return n;
}

static int call_copy_variables(TwCall *call)
{
    const char *names = call->verb == TW_VERB_READ ? call->entry->variables : NULL;
    size_t n = call_count_variables(names);

    call->variables = n == 0 ? NULL : arena_alloc_array(&call->arena, n, sizeof(ApiVariable));
    if (call->variables == NULL) {
        return n == 0 ? 0 : TW_ERROR_MEMORY;
    }
    for (const char *p = names; *p != '\0'; p += strlen(p) + 1) {
        ApiVariable *variable = &call->variables[call->n_variables];
        Span value;

        if (!call_variable_of(call->call, p, &value)) {
            continue;
        }
        variable->name = arena_copy(&call->arena, span_from_str(p)).p;
        variable->value = arena_copy(&call->arena, value).p;
        if (variable->name == NULL || variable->value == NULL) {
            call->n_variables = 0;
            return TW_ERROR_MEMORY;
        }
        call->n_variables++;
    }
    return 0;
}

/* The same value in a text of our own. */
static int call_copy_value(TwCall *call, const char *text, JsonValue *value)
{
    JsonDoc doc;

    if (value->node == NULL) {
        return 0;
    }
    if (text == NULL || json_parse(&doc, &call->arena, text, strlen(text), NULL, NULL) != 0) {
        return TW_ERROR_MEMORY;
    }
    *value = json_root(&doc);
    return 0;
}

int api_call_copy(TwCall *call)
{
    int r = call_copy_value(call, call_arguments_text(call), &call->arguments);

    if (r == 0) {
        r = call_copy_value(call, api_view_text(call->inputs, &call->arena), &call->inputs);
    }
    return r != 0 ? r : call_copy_variables(call);
}

/* ---- answers to questions ---- */

static JsonValue call_answer_of(const TwCall *call, const char *key)
{
    JsonValue v = JSON_VALUE_NULL;

    if (call->inputs.node != NULL && key != NULL) {
        (void)json_get(call->inputs, span_from_str(key), &v);
    }
    return v;
}

const char *tw_call_answer(TwCall *call, const char *key)
{
    const char *text;

    call_lock(call);
    text = api_view_text(call_answer_of(call, key), &call->arena);
    call_unlock(call);
    return text;
}

const char *tw_call_answer_action(TwCall *call, const char *key)
{
    JsonValue v = JSON_VALUE_NULL;
    const char *text;

    call_lock(call);
    (void)api_view_find(call_answer_of(call, key), API_NAME_MEMBER, "action", &v);
    text = api_view_string(v, &call->arena, NULL);
    call_unlock(call);
    return text;
}

bool tw_call_answer_accepted(TwCall *call, const char *key)
{
    const char *action = tw_call_answer_action(call, key);

    return action != NULL && strcmp(action, "accept") == 0;
}

/* A field of a form, or any place of the answer; node NULL if it is not there. Lock held. */
static JsonValue call_answer_field(const TwCall *call, const char *key, const char *field)
{
    JsonValue answer = call_answer_of(call, key);
    JsonValue v = JSON_VALUE_NULL;

    if (answer.node == NULL || field == NULL) {
        return v;
    }
    if (field[0] != '/' && !json_get(answer, SPAN("content"), &answer)) {
        return v;
    }
    (void)api_view_find(answer, API_NAME_MEMBER, field, &v);
    return v;
}

const char *tw_call_answer_string(TwCall *call, const char *key, const char *field,
                                  const char *fallback)
{
    const char *text;

    call_lock(call);
    text = api_view_string(call_answer_field(call, key, field), &call->arena, NULL);
    call_unlock(call);
    return text != NULL ? text : fallback;
}

int64_t tw_call_answer_int(TwCall *call, const char *key, const char *field, int64_t fallback)
{
    call_lock(call);
    fallback = api_view_int(call_answer_field(call, key, field), fallback);
    call_unlock(call);
    return fallback;
}

double tw_call_answer_double(TwCall *call, const char *key, const char *field, double fallback)
{
    call_lock(call);
    fallback = api_view_double(call_answer_field(call, key, field), fallback);
    call_unlock(call);
    return fallback;
}

bool tw_call_answer_bool(TwCall *call, const char *key, const char *field, bool fallback)
{
    call_lock(call);
    fallback = api_view_bool(call_answer_field(call, key, field), fallback);
    call_unlock(call);
    return fallback;
}
