/* Runs the code of a program. What a rendering needs is on the stack; memory is taken only where a
 * helper's result is used by another tag's argument, or an object's members need sorting. */
#include "toolkit/templates/engine_impl.h"

#include "base/error.h"

static const JsonNode render_no_members = {.size = 2, .skip = 1, .tag = JSON_OBJECT};

/* Which context "../" leads away from: a new one, unless it is == to the one before. */
static int render_set_head(TemplateRun *run, uint32_t at)
{
    TemplateFrame *frame = &run->frames[at];
    uint32_t before = run->frames[at - 1].head;
    const TemplateValue *last = &run->frames[before].context;
    bool same = false;
    int r;

    frame->head = before;
    if (!run->program->uses_depths) {
        return 0;
    }
    if (frame->context.kind == VALUE_EMPTY_OBJECT && last->kind == VALUE_NULL) {
        return 0;
    }
    if (frame->context.kind == VALUE_ARRAY || last->kind == VALUE_ARRAY) {
        r = template_charge(run, 1 + (last->kind == VALUE_ARRAY ? last->json.node->skip : 0));
        if (r != 0) {
            return r;
        }
    }
    r = template_value_same(&frame->context, last, &same);
    if (r == 0 && !same) {
        frame->head = at;
    }
    return r;
}

/* Enters a frame whose context is v. */
static int render_push(TemplateRun *run, const TemplateValue *v, TemplateMark mark)
{
    uint32_t data = run->frames[run->top].data;
    TemplateFrame *frame = &run->frames[++run->top];

    frame->context = *v;
    frame->key = template_value_of(VALUE_UNDEFINED);
    frame->mark = mark;
    frame->data = data;
    frame->is_loop = false;
    return render_set_head(run, run->top);
}

/* Takes the next of what is looped over as the context. */
static int render_step(TemplateRun *run)
{
    TemplateFrame *frame = &run->frames[run->top];
    int r = template_charge(run, 1);

    if (r != 0) {
        return r;
    }
    if (frame->members != NULL) {
        frame->context = frame->members[frame->i].value;
        frame->key = template_value_text(frame->members[frame->i].name);
    } else {
        if (frame->has_keys) {
            frame->key = template_value_json((JsonValue){frame->text, frame->next});
            frame->next++;
        } else {
            frame->key = template_value_number(frame->i);
        }
        frame->context = template_value_json((JsonValue){frame->text, frame->next});
        frame->next += frame->next->skip;
    }
    return render_set_head(run, run->top);
}

/* Begins a loop over v, which has at least one element or member. */
static int render_loop(TemplateRun *run, const TemplateValue *v, TemplateMark mark)
{
    TemplateFrame *frame = &run->frames[++run->top];
    bool is_root = v->json.node == run->root.node;
    int r = 0;

    frame->mark = mark;
    frame->data = run->top;
    frame->is_loop = true;
    frame->i = 0;
    frame->n = json_count(v->json);
    frame->text = v->json.text;
    frame->next = v->json.node + 1;
    frame->has_keys = v->kind == VALUE_OBJECT;
    frame->members = NULL;
    if (frame->has_keys && (is_root || !template_members_are_plain(v->json))) {
        TemplateMember extra = {.name = SPAN(TEMPLATE_TIMESTAMP),
                                .value = template_value_text(template_timestamp(run))};
        TemplateMember *members = NULL;

        r = template_charge(run, (uint64_t)frame->n * 8);
        if (r == 0) {
            r = template_members(v->json, is_root ? &extra : NULL, &run->scratch, &members,
                                 &frame->n);
        }
        frame->members = members;
    }
    return r != 0 ? r : render_step(run);
}

static bool render_can_loop(const TemplateRun *run, const TemplateValue *v)
{
    return (v->kind == VALUE_ARRAY || v->kind == VALUE_OBJECT) &&
           (json_count(v->json) > 0 || v->json.node == run->root.node);
}

/* The end of a body: the next round, or the frame is left. *ret_again: go back to the body. */
static int render_next(TemplateRun *run, bool *ret_again)
{
    TemplateFrame *frame = &run->frames[run->top];

    *ret_again = frame->is_loop && frame->i + 1 < frame->n;
    if (*ret_again) {
        frame->i++;
        return render_step(run);
    }
    template_scratch_release(&run->scratch, frame->mark);
    run->top--;
    return 0;
}

/* {{#value}}: what Handlebars calls blockHelperMissing. *ret_enters: the body is next. */
static int render_section(TemplateRun *run, const TemplateValue *v, bool null_is_object,
                          TemplateMark mark, bool *ret_enters)
{
    const TemplateFrame *frame = &run->frames[run->top];
    TemplateValue context = *v;

    *ret_enters = !template_value_is_nothing(v) && v->kind != VALUE_FALSE &&
                  !(v->kind == VALUE_ARRAY && json_count(v->json) == 0);
    if (!*ret_enters) {
        return 0;
    }
    if (v->kind == VALUE_ARRAY) {
        return render_loop(run, v, mark);
    }
    if (v->kind == VALUE_TRUE) {
        context = frame->context.kind == VALUE_NULL && null_is_object
                      ? template_value_of(VALUE_EMPTY_OBJECT)
                      : frame->context;
    }
    return render_push(run, &context, mark);
}

/* The tag of a block; *pc is where to go on. */
static int render_block(TemplateRun *run, const TemplateCode *code, uint32_t *pc)
{
    const TemplateExpr *expr = &run->program->exprs[code->expr];
    TemplateMark mark = template_scratch_mark(&run->scratch);
    TemplateValue v;
    bool enters = false;
    bool has_body = code->body != TEMPLATE_NONE;
    int r = template_eval(run, code->expr, code->n_expr, &v);

    if (r != 0) {
        return r;
    }
    switch ((TemplateOp)code->op) {
    case OP_IF:
        enters = template_value_is_true(&v);
        break;
    case OP_WITH:
        enters = !template_value_is_empty(&v);
        r = enters && has_body ? render_push(run, &v, mark) : 0;
        break;
    case OP_EACH:
        enters = render_can_loop(run, &v);
        r = enters && has_body ? render_loop(run, &v, mark) : 0;
        break;
    default:
        if (has_body) {
            r = render_section(run, &v, run->program->paths[expr->path].null_is_object, mark,
                               &enters);
        } else {
            enters = !template_value_is_nothing(&v) && v.kind != VALUE_FALSE &&
                     !(v.kind == VALUE_ARRAY && json_count(v.json) == 0);
        }
        break;
    }
    if (!enters || !has_body || code->op == OP_IF) {
        template_scratch_release(&run->scratch, mark);
    }
    *pc = enters ? code->body : code->inverse;
    *pc = *pc == TEMPLATE_NONE ? code->end : *pc;
    return r;
}

/* {{name}}: the most frequent tag by far. */
static int render_name(TemplateRun *run, const TemplateCode *code)
{
    TemplateValue v;
    int r = 0;

    if (!template_is_known(run, code->expr, &v)) {
        TemplatePath path = {.parts = &code->text, .n_parts = 1, .slot = code->expr};

        r = template_eval_path(run, &path, &v);
    }
    return r != 0 ? r : template_value_print(&v, run->out);
}

static int render_run(TemplateRun *run)
{
    const TemplateCode *codes = run->program->code;
    uint32_t loops[TEMPLATE_DEPTH + 1]; /* where the body of each frame begins */
    uint32_t pc = 0;
    int r = 0;

    while (r == 0) {
        const TemplateCode *code = &codes[pc++];
        TemplateMark mark;
        uint32_t top;
        bool again;

        switch ((TemplateOp)code->op) {
        case OP_END:
            return 0;
        case OP_TEXT:
            r = bytes_append_span(run->out, code->text);
            break;
        case OP_NAME:
            r = render_name(run, code);
            break;
        case OP_PRINT:
            mark = template_scratch_mark(&run->scratch);
            r = template_eval_print(run, code->expr, code->n_expr);
            template_scratch_release(&run->scratch, mark);
            break;
        case OP_NEXT:
            top = run->top;
            r = render_next(run, &again);
            pc = again ? loops[top] : pc;
            break;
        case OP_JUMP:
            pc = code->end;
            break;
        default:
            top = run->top;
            r = render_block(run, code, &pc);
            if (run->top > top) {
                loops[run->top] = pc;
            }
            break;
        }
    }
    return r;
}

int template_render(const TemplateProgram *program, JsonValue values, int64_t unix_ms, Bytes *out,
                    Diag *reterr_diag)
{
    size_t n_before = out->n;
    TemplateRun run;
    int r;

    run.program = program;
    run.root = values.node != NULL ? values : (JsonValue){"{}", &render_no_members};
    run.out = out;
    run.diag = reterr_diag;
    run.unix_ms = unix_ms;
    run.n_steps = 0;
    run.top = 0;
    run.timestamp[0] = '\0';
    template_scratch_init(&run.scratch);
    for (uint32_t i = 0; i < program->n_slots; i++) {
        run.slots[i].object = NULL;
    }
    run.frames[0].context = template_value_json(run.root);
    run.frames[0].key = template_value_of(VALUE_UNDEFINED);
    run.frames[0].head = 0;
    run.frames[0].data = TEMPLATE_NONE;
    run.frames[0].is_loop = false;
    r = render_run(&run);
    template_scratch_release(&run.scratch, (TemplateMark){NULL, 0});
    if (r != 0) {
        out->n = n_before;
    }
    return r;
}
