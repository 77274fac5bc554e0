/* providers/templates_impl.h: what the files of this provider share. Private.
 *
 * Storage of an answer is kept from one call to the next. A call is over when call_finish is
 * called, and the storage may then be in use for another one: finishing is the last thing done.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "call/answer.h"
#include "call/call.h"
#include "providers/templates.h"
#include "toolkit/templates/catalog.h"
#include "toolkit/templates/project.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An answer: above what a door sends by default, since that may be set higher. */
#define TEMPLATES_ANSWER_BYTES ((size_t)64 * 1024 * 1024)

/* What is quoted of a URI or query in a sentence. */
#define TEMPLATES_QUOTE_BYTES ((size_t)512)

/* Where the card of a template is. */
typedef struct TemplatesCard {
    const Template *template;
    size_t index; /* in the catalog */
} TemplatesCard;

struct Templates {
    Router *router;
    IoLoop *loop;
    const LogSink *log;
    char **folders; /* owned, NULL-terminated */
    char *write_root;

    TemplateCatalog *catalog;
    Bytes cards;            /* each template as list_templates shows it; made when first needed */
    size_t *card_ends;      /* where each of them ends; NULL: not made yet */
    TemplatesCard *card_of; /* by template */
    bool *is_listed;        /* of each template: its resource is ours (the URI was free) */
    bool *has_prompt;       /* of each toolchain, likewise */
    size_t n_tools;         /* that are in the router */
    bool has_template;      /* the URI template is */

    IoTimer *timer;
    uint64_t state;  /* of the folders */
    int64_t look_ms; /* how long the last look took */

    /* Of the call that is answered. */
    TemplateProject project;
    TemplateValues values;
    Arena arena;
    Bytes structured;
    Bytes content; /* text blocks */
    CallAnswer answer;
};

/* ---- changes (templates_watch.c) ---- */

/* Between two looks at the folders: soon enough for a person who waits. Looking should not take
 * more than a hundredth of the time, but nobody waits longer than WAIT_MAX for a change to count.
 */
#define TEMPLATES_PERIOD_MS   INT64_C(2000)
#define TEMPLATES_IDLE_SHARE  100
#define TEMPLATES_WAIT_MAX_MS INT64_C(10000)

/* What all folders are like: another number when something in one of them has changed. 0, -ENOMEM.
 */
int templates_look(const Templates *templates, uint64_t *ret);

/* Until the next look, after one that took so long. */
int64_t templates_wait_ms(int64_t look_ms);

/* ---- arguments (templates_words.c) ---- */

/* A member that is a string, decoded; empty if there is none. 0, -ENOMEM. */
int templates_string(Templates *templates, JsonValue object, const char *key, Span *ret);
bool templates_flag(JsonValue object, const char *key);

/* Whole numbers from 0 on; fallback if there is none. */
size_t templates_count(JsonValue object, const char *key, size_t fallback);

/* ---- answers (templates_words.c) ---- */

/* Ready for the next call. */
void templates_begin(Templates *templates);

/* Cut for a sentence; quotes whole characters. */
Span templates_cut(Span text);

/* The template of that URI; or NULL, and the call has ended with the error. */
const Template *templates_find(Templates *templates, Call *call, Span uri);

/* Ends the call with "WHAT: URI". */
void templates_fail_uri(Templates *templates, Call *call, int code, const char *what, Span uri);

/* Ends the call with a template's failure: of its parameters, or of rendering. */
void templates_fail_file(Templates *templates, Call *call, const TemplateFailure *failure);

/* Ends it for want of memory or what else the system refused. */
void templates_fail_system(Call *call, int r);

/* Ends it since an argument cannot be used. */
void templates_fail_argument(Templates *templates, Call *call, const char *path,
                             const char *message);

/* Ends it since values of a prompt cannot be used, with all that is wrong but for what is missing;
 * n_total: faults with those that are not told. */
void templates_fail_values(Templates *templates, Call *call, const TemplateFault *faults, size_t n,
                           size_t n_total);

bool templates_is_missing(const TemplateFault *fault);

/* A fault in a line, as text, with the name that was probably meant; and a failure: its sentence,
 * then a line for each further fault, n_lines in all at most, then how many more there are.
 * Appended. 0, -ENOMEM, BYTES_E_FULL. */
int templates_write_fault(Bytes *out, const TemplateFault *fault);
int templates_write_failure(Bytes *out, const TemplateFailure *failure, size_t n_lines);

/* "\nand 7 more"; nothing if there are none. Appended. 0, -ENOMEM, BYTES_E_FULL. */
int templates_write_more(Bytes *out, size_t n);

/* "errors":[{"parameter","code","message","expected","got"}…],"errors_total": of these and those
 * that are not told. */
void templates_write_faults(JsonWriter *w, const TemplateFault *faults, size_t n, size_t n_total);

/* Names whose fault is that they are missing. */
void templates_write_missing(JsonWriter *w, const TemplateFault *faults, size_t n);

/* {"type":"rust"} */
void templates_write_toolchain(JsonWriter *w, Span toolchain);
void templates_write_text(JsonWriter *w, const char *key, Span text);

/* Text blocks: begins one in `content` (with a comma if it is not the first), appends to it, ends
 * it. 0, -ENOMEM, BYTES_E_FULL. */
int templates_block(Templates *templates);
int templates_say(Templates *templates, Span text);
TW_PRINTF(2, 3) int templates_say_format(Templates *templates, const char *format, ...);
int templates_block_end(Templates *templates);

/* The members of the structured content from there on, for CallResult.beside. */
Span templates_beside(const Templates *templates, size_t start);

/* Ends a tool's call with the blocks and the structured content. */
void templates_finish(Templates *templates, Call *call, bool is_error);

/* ---- what is offered ---- */

typedef struct TemplatesTool {
    Span name;
    CallProvider provider;
    Span json; /* without its annotations and its last brace */
} TemplatesTool;

#define TEMPLATES_N_TOOLS 5
extern const TemplatesTool templates_tools[TEMPLATES_N_TOOLS];

/* What the tools do; 0 if the call has ended, else why it must. */
int templates_generate(Templates *templates, Call *call);
int templates_validate(Templates *templates, Call *call);
int templates_list(Templates *templates, Call *call);
int templates_search(Templates *templates, Call *call);
int templates_scaffold(Templates *templates, Call *call);

extern const CallProvider templates_resource_provider;
extern const CallProvider templates_prompt_provider;

/* The description of a template's resource, and of a toolchain's prompt, appended to out. 0,
 * -ENOMEM, BYTES_E_FULL. */
int templates_describe_resource(const Template *t, Bytes *out);
int templates_describe_prompt(const TemplateCatalog *catalog, Span toolchain, Bytes *out);
#define TEMPLATES_PROMPT_BEGIN "scaffold-"
#define TEMPLATES_PROMPT_END   "-project"
