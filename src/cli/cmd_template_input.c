#include "cli/cmd_template_input.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_json.h"
#include "cli/cmd_template_question.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/program.h"
#include "json/writer.h"

/* Text of all values, with room for words that will be refused by name. */
#define INPUT_BYTES (2 * TEMPLATE_VALUES_BYTES)

void template_input_init(TemplateInput *input, const Template *const *templates, size_t n)
{
    *input = (TemplateInput){.templates = templates, .n_templates = n, .arena = ARENA_NULL};
    bytes_init(&input->text, INPUT_BYTES);
    arena_init(&input->arena, SIZE_MAX);
}

void template_input_deinit(TemplateInput *input)
{
    bytes_deinit(&input->text);
    arena_deinit(&input->arena);
}

/* ---- members ---- */

/* Begins a member of the object, whose end is taken off until the value is there. */
static void begin_member(TemplateInput *input, JsonWriter *w, Span name)
{
    Bytes *text = &input->text;

    json_writer_init(w, text, JSON_STYLE_COMPACT);
    if (text->n == 0) {
        w->r = bytes_append_byte(text, '{');
    } else {
        text->n--;
        w->r = bytes_append_byte(text, ',');
    }
    json_write_string(w, name);
    w->r = w->r != 0 ? w->r : bytes_append_byte(text, ':');
    /* The value is a text of its own for the writer: no comma before it. */
    if (w->r == 0) {
        json_writer_init(w, text, JSON_STYLE_COMPACT);
    }
}

static int end_member(TemplateInput *input, JsonWriter *w)
{
    int r = json_writer_finish(w);

    r = r != 0 ? r : bytes_append_byte(&input->text, '}');
    return r > 0 ? err_raise(-ENOMEM) : r;
}

static const TemplateParameter *find_parameter(const TemplateInput *input, Span name)
{
    for (size_t i = 0; i < input->n_templates; i++) {
        for (size_t k = 0; k < input->templates[i]->n_parameters; k++) {
            if (span_equals(input->templates[i]->parameters[k].name, name)) {
                return &input->templates[i]->parameters[k];
            }
        }
    }
    return NULL;
}

static bool write_boolean(JsonWriter *w, Span typed)
{
    static const char *const yes[] = {"true", "yes", "y", "1"};
    static const char *const no[] = {"false", "no", "n", "0"};
    bool flag = text_is_one_of(typed, yes, TW_ARRAY_SIZE(yes), NULL);

    if (flag || text_is_one_of(typed, no, TW_ARRAY_SIZE(no), NULL)) {
        json_write_bool(w, flag);
        return true;
    }
    return false;
}

/* JSON of that kind, as it is. */
static bool write_json(JsonWriter *w, Arena *arena, Span typed, JsonKind kind)
{
    JsonDoc doc;
    int r = json_parse(&doc, arena, typed.p, typed.n, NULL, NULL);

    if (r < 0) {
        w->r = w->r != 0 ? w->r : r; /* whatever it was: nothing more is written */
        return true;
    }
    if (r > 0 || json_kind(json_root(&doc)) != kind) {
        return false;
    }
    json_write_value(w, json_root(&doc));
    return true;
}

static void write_elements(JsonWriter *w, Span typed)
{
    json_write_array(w);
    while (typed.n > 0) {
        const char *comma = memchr(typed.p, ',', typed.n);
        size_t n = comma == NULL ? typed.n : (size_t)(comma - typed.p);

        json_write_string(w, text_trim(span_make(typed.p, n)));
        n += comma != NULL;
        typed = span_make(typed.p + n, typed.n - n);
    }
    json_write_end_array(w);
}

/* A value of the parameter's type; text if it cannot be one, or there is no such parameter. */
static void write_typed(JsonWriter *w, Arena *arena, const TemplateParameter *p, Span typed)
{
    TemplateType type = p != NULL ? p->type : TEMPLATE_STRING;
    bool is_written = false;

    if (type == TEMPLATE_BOOLEAN) {
        is_written = write_boolean(w, text_trim(typed));
    } else if (type == TEMPLATE_INTEGER) {
        is_written = write_json(w, arena, text_trim(typed), JSON_NUMBER);
    } else if (type == TEMPLATE_ARRAY) {
        is_written = write_json(w, arena, text_trim(typed), JSON_ARRAY);
        if (!is_written) {
            write_elements(w, typed);
            is_written = true;
        }
    }
    if (!is_written) {
        json_write_string(w, typed);
    }
}

int template_input_add_typed(TemplateInput *input, const TemplateParameter *p, Span typed)
{
    JsonWriter w;

    begin_member(input, &w, p->name);
    write_typed(&w, &input->arena, p, typed);
    return end_member(input, &w);
}

int template_input_add_word(TemplateInput *input, const char *word, Diag *reterr_diag)
{
    const char *equals = strchr(word, '=');
    size_t n = equals != NULL ? (size_t)(equals - word) : 0;
    bool is_json = n > 0 && word[n - 1] == ':';
    Span name = span_make(word, n - (is_json ? 1 : 0));
    JsonDoc doc;
    JsonWriter w;
    int r;

    if (name.n == 0) {
        return diag_set(reterr_diag, TEMPLATE_INPUT_E_WRONG,
                        "'%s' is no parameter: write NAME=VALUE, or NAME:=JSON", word);
    }
    if (is_json) {
        r = json_parse(&doc, &input->arena, equals + 1, strlen(equals + 1), NULL, NULL);
        if (r < 0) {
            return err_pass(r);
        }
        if (r > 0) {
            return diag_set(reterr_diag, TEMPLATE_INPUT_E_WRONG, "'%.*s' is not JSON: %s",
                            (int)name.n, name.p, equals + 1);
        }
    }
    begin_member(input, &w, name);
    if (is_json) {
        json_write_value(&w, json_root(&doc));
    } else {
        write_typed(&w, &input->arena, find_parameter(input, name), span_from_str(equals + 1));
    }
    return end_member(input, &w);
}

int template_input_add_object(TemplateInput *input, Span json, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    int r = json_parse(&doc, &input->arena, json.p, json.n, NULL, &diag);

    if (r > 0) {
        return diag_set(reterr_diag, TEMPLATE_INPUT_E_WRONG, "not JSON: line %u: %s", diag.line,
                        diag.message);
    }
    if (r == 0 && json_kind(json_root(&doc)) != JSON_OBJECT) {
        return diag_set(reterr_diag, TEMPLATE_INPUT_E_WRONG, "not a JSON object");
    }
    for (JsonIter it = r == 0 ? json_iter(json_root(&doc)) : (JsonIter){.next = NULL};
         r == 0 && json_iter_next(&it);) {
        Span name = SPAN_NULL;
        JsonWriter w;

        r = json_string(it.key, &input->arena, &name);
        if (r == 0) {
            begin_member(input, &w, name);
            json_write_value(&w, it.value);
            r = end_member(input, &w);
        }
    }
    return err_fold(r);
}

int template_input_index(TemplateInput *input)
{
    Span text = input->text.n > 0 ? bytes_span(&input->text) : SPAN("{}");
    JsonDoc doc;
    int r = json_parse(&doc, &input->arena, text.p, text.n, NULL, NULL);

    if (r != 0) {
        return err_fold(r);
    }
    input->values = json_root(&doc);
    return 0;
}

/* ---- options ---- */

static int read_file(TemplateInput *input, const CliArgs *args, const char *path)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    bool is_stdin = strcmp(path, "-") == 0;
    Diag diag = DIAG_NULL;
    int r;

    bytes_init(&text, INPUT_BYTES);
    r = is_stdin ? io_file_read_fd(&text, fileno(stdin)) : io_file_read(&text, path);
    if (r != 0) {
        return cli_usage_error(args, "cannot read the parameters '%s': %s", path,
                               r < 0 ? io_error_text(-r) : "they are too long");
    }
    r = template_input_add_object(input, bytes_span(&text), &diag);
    if (r > 0) {
        return cli_usage_error(args, "the parameters '%s' cannot be used: %s", path, diag.message);
    }
    return r == 0 ? 0 : template_cli_no_memory(args);
}

/* Has an earlier -p named the same parameter? */
static bool is_repeated(const CliArgs *args, size_t at)
{
    const char *word = args->repeats[at].value;
    size_t n = strcspn(word, ":=");

    for (size_t i = 0; i < at; i++) {
        const char *other = args->repeats[i].value;

        if (args->repeats[i].place == args->repeats[at].place && strcspn(other, ":=") == n &&
            memcmp(other, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static int read_words(TemplateInput *input, const CliArgs *args, size_t place)
{
    for (size_t i = 0; i < args->n_repeats; i++) {
        const char *word = args->repeats[i].value;
        Diag diag = DIAG_NULL;
        int r;

        if (args->repeats[i].place != place) {
            continue;
        }
        if (is_repeated(args, i)) {
            return cli_usage_error(args, "'%.*s' is given twice", (int)strcspn(word, ":="), word);
        }
        r = template_input_add_word(input, word, &diag);
        if (r != 0) {
            return r > 0 ? cli_usage_error(args, "%s", diag.message) : template_cli_no_memory(args);
        }
    }
    return 0;
}

int template_input_read(TemplateInput *input, const CliArgs *args, TemplateInputOptions options)
{
    const char *path = args->values[options.params];
    int status = path != NULL ? read_file(input, args, path) : 0;

    if (status == 0) {
        status = read_words(input, args, options.p);
    }
    if (status == 0 && template_input_index(input) != 0) {
        return template_cli_no_memory(args);
    }
    /* What stands on standard input already is no answer. */
    if (status == 0 && (path == NULL || strcmp(path, "-") != 0) && io_terminal_is(fileno(stdin))) {
        status = template_question_all(input, args);
    }
    return status;
}

/* ---- faults ---- */

/* One check tells no more than TEMPLATE_FAULTS_MAX; nor does a whole project. */
typedef struct FaultList {
    const TemplateFault *faults[TEMPLATE_FAULTS_MAX];
    size_t n;
    size_t n_more; /* that are not told; of several templates the most that one of them has */
} FaultList;

static bool fault_is_unknown(const TemplateFault *fault)
{
    return strcmp(fault->code, TEMPLATE_FAULT_UNKNOWN) == 0;
}

/* Several templates of a project have the same parameters: each fault is told once. Of an unknown
 * name, which each of them has its own guess about, the first guess counts. */
static void fault_list_add(FaultList *list, const TemplateFault *fault)
{
    for (size_t i = 0; i < list->n; i++) {
        const TemplateFault *other = list->faults[i];

        if (!span_equals(other->parameter, fault->parameter) ||
            strcmp(other->code, fault->code) != 0) {
            continue;
        }
        if (fault_is_unknown(fault) && other->expected.n == 0) {
            list->faults[i] = fault;
        }
        if (fault_is_unknown(fault) || span_equals(other->expected, fault->expected)) {
            return;
        }
    }
    if (list->n < TEMPLATE_FAULTS_MAX) {
        list->faults[list->n++] = fault;
    } else {
        list->n_more++;
    }
}

/* Those that the check of a template has only counted. */
static void fault_list_count(FaultList *list, const TemplateProject *project)
{
    size_t n_most = 0;

    for (size_t i = 0; i < project->n_failures; i++) {
        size_t n = project->failures[i].n_faults_total - project->failures[i].n_faults;

        n_most = n > n_most ? n : n_most;
    }
    list->n_more += n_most;
}

/* Adds those of unknown names, or all others. */
static void fault_list_fill(FaultList *list, const TemplateProject *project, bool unknown)
{
    for (size_t i = 0; i < project->n_failures; i++) {
        const TemplateFailure *failure = &project->failures[i];

        for (size_t k = 0; k < failure->n_faults; k++) {
            if (fault_is_unknown(&failure->faults[k]) == unknown) {
                fault_list_add(list, &failure->faults[k]);
            }
        }
    }
}

static void print_fault(const CliArgs *args, const TemplateFault *fault)
{
    bool is_missing = strcmp(fault->code, TEMPLATE_FAULT_MISSING) == 0;

    fprintf(stderr, "toolwire %s: ", args->command->name);
    if (is_missing) {
        fprintf(stderr, "parameter '");
        table_print_safe(stderr, fault->parameter, false);
        fprintf(stderr, "' is required (");
        table_print_safe(stderr, fault->expected, false);
        fprintf(stderr, ")");
    } else {
        table_print_safe(stderr, fault->message, false);
    }
    if (fault_is_unknown(fault)) {
        if (fault->expected.n > 0) {
            fprintf(stderr, "; did you mean '");
            table_print_safe(stderr, fault->expected, false);
            fprintf(stderr, "'?");
        }
    } else if (!is_missing && fault->got.n > 0) {
        fprintf(stderr, "; got ");
        table_print_safe(stderr, fault->got, false);
    }
    fprintf(stderr, "\n");
}

static int print_faults_json(const CliArgs *args, const FaultList *list,
                             const TemplateProject *project)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;

    bytes_init(&out, INPUT_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("errors"));
    json_write_array(&w);
    for (size_t i = 0; i < project->n_failures; i++) {
        json_write_object(&w);
        template_json_member(&w, "template", project->failures[i].asked);
        template_json_member(&w, "error", project->failures[i].message);
        json_write_key(&w, SPAN("errors_total"));
        json_write_uint(&w, project->failures[i].n_faults_total);
        json_write_end_object(&w);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("faults"));
    template_json_faults(&w, list->faults, list->n);
    json_write_end_object(&w);
    return template_json_print(args, &w);
}

int template_input_explain(const CliArgs *args, const TemplateProject *project)
{
    FaultList list = {.n = 0};
    bool is_ours = false; /* something else than values is wrong */

    fault_list_fill(&list, project, false);
    fault_list_fill(&list, project, true);
    fault_list_count(&list, project);
    for (size_t i = 0; i < project->n_failures; i++) {
        const TemplateFailure *failure = &project->failures[i];

        if (failure->n_faults == 0) {
            is_ours = true;
            fprintf(stderr, "toolwire %s: ", args->command->name);
            table_print_safe(stderr, failure->asked, false);
            fprintf(stderr, ": ");
            table_print_safe(stderr, failure->message, false);
            fprintf(stderr, "\n");
        }
    }
    for (size_t i = 0; i < list.n; i++) {
        print_fault(args, list.faults[i]);
    }
    if (list.n_more > 0) {
        /* What several templates have in common is counted for each. */
        fprintf(stderr, "toolwire %s: and %s%zu more\n", args->command->name,
                project->n_failures > 1 ? "up to " : "", list.n_more);
    }
    if (args->values[TEMPLATE_OPTION_JSON] != NULL) {
        (void)print_faults_json(args, &list, project);
    }
    return is_ours ? CLI_EXIT_FAILED : CLI_EXIT_USAGE;
}
