/* What a model said, as one text: T(piece) U(id name input) RETRY(ms why) END(stop) FAILED(words).
 */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/model.h"
#include "base/compiler.h"

typedef struct ModelLog {
    char *text;
    size_t n;
    size_t n_texts;
    size_t n_ends;
    bool with_ids;
    bool joined; /* pieces of text stand as one T */
    /* Called after each event is in the log; may be NULL. */
    void (*after)(struct ModelLog *log, const ModelEvent *event);
    void *context;
    ModelRun *run;
    char last; /* kind of the last event */
} ModelLog;

TW_UNUSED static void model_log_put(ModelLog *log, const char *p, size_t n)
{
    log->text = realloc(log->text, log->n + n + 1);
    assert_non_null(log->text);
    memcpy(log->text + log->n, p, n);
    log->n += n;
    log->text[log->n] = '\0';
}

TW_UNUSED static void model_log_span(ModelLog *log, Span s)
{
    model_log_put(log, s.p, s.n);
}

TW_UNUSED static void model_log_str(ModelLog *log, const char *s)
{
    model_log_put(log, s, strlen(s));
}

TW_UNUSED static void model_log_event(void *context, const ModelEvent *event)
{
    static const char *const stops[] = {"end", "tools", "length", "refused"};
    ModelLog *log = context;
    char number[32];

    switch (event->kind) {
    case MODEL_TEXT:
        assert_true(event->text.n > 0);
        log->n_texts++;
        if (log->joined && log->last == 'T') {
            log->n--; /* its bracket */
            log->text[log->n] = '\0';
        } else {
            model_log_str(log, "T(");
        }
        model_log_span(log, event->text);
        model_log_str(log, ")");
        log->last = 'T';
        break;
    case MODEL_TOOL:
        assert_true(event->id.n > 0);
        model_log_str(log, event->is_bad_json ? "BAD(" : "U(");
        if (log->with_ids) {
            model_log_span(log, event->id);
            model_log_str(log, " ");
        }
        model_log_span(log, event->name);
        model_log_str(log, " ");
        model_log_span(log, event->input);
        model_log_str(log, ")");
        log->last = 'U';
        break;
    case MODEL_RETRY:
        (void)snprintf(number, sizeof(number), "RETRY(%lld)", (long long)event->retry_ms);
        model_log_str(log, number);
        log->last = 'R';
        break;
    case MODEL_END:
        log->n_ends++;
        model_log_str(log, "END(");
        model_log_str(log, stops[event->stop]);
        model_log_str(log, ")");
        log->last = 'E';
        break;
    default:
        log->n_ends++;
        model_log_str(log, "FAILED(");
        model_log_span(log, event->text);
        model_log_str(log, ")");
        log->last = 'F';
        break;
    }
    if (log->after != NULL) {
        log->after(log, event);
    }
}

TW_UNUSED static ModelSink model_log_sink(ModelLog *log)
{
    return (ModelSink){model_log_event, log};
}

TW_UNUSED static void model_log_expect(ModelLog *log, const char *expected)
{
    assert_string_equal(log->text != NULL ? log->text : "", expected);
}

TW_UNUSED static void model_log_deinit(ModelLog *log)
{
    free(log->text);
    *log = (ModelLog){.text = NULL};
}
