/* Paths and expressions to values, while rendering. */
#include "toolkit/templates/engine_impl.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "toolkit/templates/helpers.h"

int template_render_fault(const TemplateRun *run, const char *at, const char *format, ...)
{
    char message[DIAG_MESSAGE_SIZE];
    Span text = run->program->text;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    (void)diag_set(run->diag, TEMPLATE_E_RENDER, "%s", message);
    diag_set_place(run->diag, text.p, text.n, (size_t)(at - text.p));
    return TEMPLATE_E_RENDER;
}

int template_charge(TemplateRun *run, uint64_t steps)
{
    run->n_steps += steps;
    if (TW_LIKELY(run->n_steps <= TEMPLATE_STEPS)) {
        return 0;
    }
    return diag_set(run->diag, TEMPLATE_E_RENDER, "rendering takes too many steps");
}

Span template_timestamp(TemplateRun *run)
{
    if (run->timestamp[0] == '\0') {
        rfc3339_format(run->unix_ms, run->timestamp);
    }
    return span_make(run->timestamp, RFC3339_SIZE - 1);
}

/* What looking at a value may cost. */
static uint64_t path_cost(const TemplateValue *v)
{
    if (v->kind == VALUE_TEXT) {
        return (v->is_json ? v->json.node->size : v->text.n) / 16;
    }
    return v->kind == VALUE_ARRAY || v->kind == VALUE_OBJECT ? json_count(v->json) : 0;
}

static int path_property(TemplateRun *run, const TemplateValue *v, Span name, TemplateValue *ret)
{
    int r = template_charge(run, path_cost(v));

    if (r != 0) {
        return r;
    }
    if (v->kind == VALUE_OBJECT && v->json.node == run->root.node &&
        span_equals(name, SPAN(TEMPLATE_TIMESTAMP))) {
        *ret = template_value_text(template_timestamp(run));
        return 0;
    }
    return template_value_property(v, name, &run->scratch, ret);
}

/* The first look-up of a path, remembered for as long as it is asked of the same object. */
static int path_first(TemplateRun *run, const TemplatePath *path, const TemplateValue *v,
                      TemplateValue *ret)
{
    TemplateLookup *slot;
    int r;

    if (path->slot == TEMPLATE_NONE || v->kind != VALUE_OBJECT) {
        return path_property(run, v, path->parts[0], ret);
    }
    slot = &run->slots[path->slot];
    if (slot->object != v->json.node) {
        r = path_property(run, v, path->parts[0], ret);
        if (r == 0 && (ret->is_json || ret->kind == VALUE_UNDEFINED)) {
            *slot = (TemplateLookup){v->json.node, ret->is_json ? ret->json.node : NULL};
        }
        return r;
    }
    *ret = slot->found == NULL ? template_value_of(VALUE_UNDEFINED)
                               : template_value_json((JsonValue){v->json.text, slot->found});
    return 0;
}

/* The context `depth` blocks up: depths[depth] of Handlebars. */
static TemplateValue path_context(const TemplateRun *run, const TemplatePath *path)
{
    uint32_t frame = run->top;

    if (path->depth == 0) {
        TemplateValue context = run->frames[frame].context;

        return context.kind == VALUE_NULL && path->null_is_object
                   ? template_value_of(VALUE_EMPTY_OBJECT)
                   : context;
    }
    frame = run->frames[frame].head;
    for (uint32_t i = 0; i < path->depth; i++) {
        if (frame == 0) {
            return template_value_of(VALUE_UNDEFINED);
        }
        frame = run->frames[frame - 1].head;
    }
    return run->frames[frame].context;
}

/* @root, @index… of the loop `depth` loops up. */
static TemplateValue path_data(const TemplateRun *run, const TemplatePath *path)
{
    uint32_t frame = run->frames[run->top].data;
    const TemplateFrame *loop;

    for (uint32_t i = 0; i < path->depth; i++) {
        if (frame == TEMPLATE_NONE) {
            return template_value_of(VALUE_UNDEFINED);
        }
        frame = run->frames[frame - 1].data;
    }
    if (path->kind == PATH_ROOT) {
        return template_value_json(run->root);
    }
    if (frame == TEMPLATE_NONE) {
        return template_value_of(VALUE_UNDEFINED);
    }
    loop = &run->frames[frame];
    switch ((TemplatePathKind)path->kind) {
    case PATH_INDEX:
        return template_value_number(loop->i);
    case PATH_KEY:
        return loop->key;
    case PATH_FIRST:
        return template_value_of(loop->i == 0 ? VALUE_TRUE : VALUE_FALSE);
    case PATH_LAST:
        return template_value_of(loop->i + 1 == loop->n ? VALUE_TRUE : VALUE_FALSE);
    default:
        return template_value_of(VALUE_UNDEFINED);
    }
}

int template_eval_path(TemplateRun *run, const TemplatePath *path, TemplateValue *ret)
{
    bool is_data = path->kind >= PATH_ROOT;
    TemplateValue v;

    if (path->kind == PATH_CONTEXT && path->depth == 0 && path->n_parts == 1 &&
        path->slot != TEMPLATE_NONE && template_is_known(run, path->slot, ret)) {
        return 0;
    }
    if (path->kind == PATH_CONTEXT) {
        v = path_context(run, path);
    } else if (is_data) {
        v = path_data(run, path);
    } else {
        const TemplateFrame *frame = &run->frames[path->depth];

        v = path->param == 0   ? frame->context
            : path->param == 1 ? frame->key
                               : template_value_of(VALUE_UNDEFINED);
    }
    for (uint32_t i = 0; i < path->n_parts; i++) {
        TemplateValue parent = v;
        int r;

        /* What has no properties is the result, and of data whatever is not true. */
        if (template_value_is_nothing(&v) || (is_data && !template_value_is_truthy(&v))) {
            break;
        }
        r = i == 0 ? path_first(run, path, &parent, &v)
                   : path_property(run, &parent, path->parts[i], &v);
        if (r != 0) {
            return r;
        }
    }
    *ret = v;
    return 0;
}

static int eval_wrong(const TemplateRun *run, const TemplateExpr *expr, const char *wanted,
                      const TemplateValue *found)
{
    static const char *const names[] = {"nothing", "null",     "false",     "true",     "a number",
                                        "text",    "an array", "an object", "an object"};

    return template_render_fault(run, expr->at, "'%s' needs %s, found %s",
                                 template_helper_at(expr->helper)->name, wanted,
                                 names[found->kind]);
}

/* Calls the helper with its arguments, which it has checked; the text goes to out. */
static int eval_write(TemplateRun *run, const TemplateExpr *expr, const TemplateValue *args,
                      Bytes *out)
{
    const TemplateHelper *helper = template_helper_at(expr->helper);
    TemplateHelperCall call = {.args = args, .unix_ms = run->unix_ms};
    int r = 0;

    if (helper->wants_text) {
        if (args[0].kind != VALUE_TEXT) {
            return eval_wrong(run, expr, "text", &args[0]);
        }
        r = template_value_span(&args[0], &run->scratch, &call.text);
        if (r == 0) {
            r = template_charge(run, call.text.n);
        }
    } else if (helper->wants_array) {
        bool is_missing = args[0].kind == VALUE_UNDEFINED || args[0].kind == VALUE_NULL;

        if (args[0].kind != VALUE_ARRAY && !is_missing) {
            return eval_wrong(run, expr, "an array", &args[0]);
        }
        if (args[1].kind != VALUE_TEXT) {
            return eval_wrong(run, expr, "text between the elements", &args[1]);
        }
        r = template_value_span(&args[1], &run->scratch, &call.separator);
        if (r == 0 && !is_missing) {
            r = template_charge(run,
                                args[0].json.node->skip + (uint64_t)args[0].json.node->size / 16);
        }
    }
    return r != 0 ? r : helper->write_fn(&call, out);
}

static int eval_to_scratch(TemplateRun *run, const TemplateExpr *expr, TemplateValue *args)
{
    char *room = NULL;
    Bytes text;
    int r;

    bytes_init(&text, TEMPLATE_SCRATCH_BYTES);
    r = eval_write(run, expr, args, &text);
    if (r == 0) {
        r = template_scratch_take(&run->scratch, text.n, &room);
    }
    if (r == 0) {
        if (text.n > 0) {
            memcpy(room, text.data, text.n);
        }
        *args = template_value_text(span_make(room, text.n));
    }
    bytes_deinit(&text);
    return r;
}

/* Takes the helper's arguments from the stack and leaves its result there. */
static int eval_call(TemplateRun *run, const TemplateExpr *expr, uint32_t *n_stack)
{
    TemplateValue *args = &run->stack[*n_stack - expr->n_args];

    *n_stack = *n_stack - expr->n_args + 1;
    if (template_helper_at(expr->helper)->write_fn != NULL) {
        return eval_to_scratch(run, expr, args);
    }
    /* default: 0 and false are values. */
    if (args[0].kind != VALUE_FALSE && template_value_is_empty(&args[0])) {
        args[0] = args[1];
    }
    return 0;
}

static int eval_step(TemplateRun *run, const TemplateExpr *expr, uint32_t *n_stack)
{
    TemplateValue *slot = &run->stack[*n_stack];

    if (expr->op == EXPR_CALL) {
        return eval_call(run, expr, n_stack);
    }
    (*n_stack)++;
    switch ((TemplateExprOp)expr->op) {
    case EXPR_PATH:
        return template_eval_path(run, &run->program->paths[expr->path], slot);
    case EXPR_STRING:
        *slot = template_value_text(expr->text);
        break;
    case EXPR_NUMBER:
        *slot = template_value_number(expr->number);
        break;
    case EXPR_TRUE:
        *slot = template_value_of(VALUE_TRUE);
        break;
    case EXPR_FALSE:
        *slot = template_value_of(VALUE_FALSE);
        break;
    case EXPR_NULL:
        *slot = template_value_of(VALUE_NULL);
        break;
    default:
        *slot = template_value_of(VALUE_UNDEFINED);
        break;
    }
    return 0;
}

int template_eval(TemplateRun *run, uint32_t expr, uint32_t n_expr, TemplateValue *ret)
{
    uint32_t n_stack = 0;
    int r = 0;

    for (uint32_t i = 0; i < n_expr && r == 0; i++) {
        r = eval_step(run, &run->program->exprs[expr + i], &n_stack);
    }
    if (r == 0) {
        *ret = run->stack[0];
    }
    return r;
}

int template_eval_print(TemplateRun *run, uint32_t expr, uint32_t n_expr)
{
    const TemplateExpr *last = &run->program->exprs[expr + n_expr - 1];
    bool is_direct = last->op == EXPR_CALL && template_helper_at(last->helper)->write_fn != NULL;
    uint32_t n_stack = 0;
    int r = 0;

    for (uint32_t i = 0; i + is_direct < n_expr && r == 0; i++) {
        r = eval_step(run, &run->program->exprs[expr + i], &n_stack);
    }
    if (r != 0) {
        return r;
    }
    return is_direct ? eval_write(run, last, run->stack, run->out)
                     : template_value_print(&run->stack[0], run->out);
}
