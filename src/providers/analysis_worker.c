/* Both ends of the wire between an analysis and the child that measures for it.
 *
 *     request:  WorkerAsk | the text
 *     answer:   WorkerAnswer | what a cache keeps of a file | its increments
 *
 * Both are the same program, so their heads are structures as they lie in memory; what a worker
 * answers is nevertheless read as a stranger's: it may be one by now. */
#include "providers/analysis_worker.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "io/worker.h"
#include "toolkit/complexity/cache_format.h"

/* A worker answers with less than the tree that it made may take, and more than any file has. */
#define WORKER_ANSWER_BYTES ((size_t)1024 * 1024 * 1024)
#define WORKER_KEEP_BYTES   ((size_t)1024 * 1024)

/* Addresses: two trees of the longest text, their reserves and the program. */
#define WORKER_MEMORY_BYTES ((size_t)6 * 1024 * 1024 * 1024)

/* Of its own time, beside what the parser may take, which it looks after itself: a text is parsed
 * twice at the most, and then walked. */
#define WORKER_MORE_US ((int64_t)10 * 1000 * 1000)

/* One thread starts no more children than this for texts that end them: a folder of such texts is
 * an attack. */
#define WORKER_MAX_FAILED 100

typedef struct WorkerAsk {
    uint64_t language; /* complexity_language_at */
    int64_t max_parse_us;
    uint64_t max_bytes;
    uint64_t increments;
} WorkerAsk;

typedef struct WorkerAnswer {
    int64_t r;          /* of complexity_measure */
    uint64_t n_payload; /* 0 unless that is 0 */
} WorkerAnswer;

/* One for the process, since what it says is which program this is. Written before any thread. */
static const char *const *worker_argv;

void analysis_worker_use(const char *const *argv)
{
    worker_argv = argv;
}

/* ---- the child ---- */

typedef struct WorkerServe {
    ComplexityMeter *meter;
    Arena arena;
} WorkerServe;

static int serve_begin(void *context)
{
    WorkerServe *serve = context;

    return complexity_meter_new(&serve->meter);
}

static int serve_put(Bytes *out, const ComplexityFile *file, bool increments)
{
    WorkerAnswer answer = {.r = 0};
    size_t at = out->n;
    int r = bytes_append(out, &answer, sizeof(answer));

    r = r != 0 ? r : cache_format_encode(out, &(ComplexityCached){.file = *file});
    answer.n_payload = out->n - at - sizeof(answer);
    if (r == 0 && increments) {
        r = cache_format_encode_increments(out, file);
    }
    if (r == 0) {
        memcpy(out->data + at, &answer, sizeof(answer));
    }
    return r;
}

static int serve_answer(void *context, Span request, Bytes *out)
{
    WorkerServe *serve = context;
    const ComplexityLanguage *language;
    ComplexityOptions options;
    ComplexityFile file;
    WorkerAsk ask;
    Span text;
    int r;

    if (request.n < sizeof(ask)) {
        return err_raise(-EPROTO);
    }
    memcpy(&ask, request.p, sizeof(ask));
    text = span_make(request.p + sizeof(ask), request.n - sizeof(ask));
    language = complexity_language_at((size_t)ask.language);
    if (language == NULL) {
        return err_raise(-EPROTO);
    }
    options = (ComplexityOptions){.increments = ask.increments != 0,
                                  .max_parse_us = ask.max_parse_us,
                                  .max_bytes = (size_t)ask.max_bytes};
    arena_reset(&serve->arena, WORKER_KEEP_BYTES);
    r = complexity_measure(serve->meter, language, text, &options, &serve->arena, &file);
    if (r == 0) {
        r = serve_put(out, &file, options.increments);
        return r > 0 ? err_fold(r) : r;
    }
    r = bytes_append(out, &(WorkerAnswer){.r = r}, sizeof(WorkerAnswer));
    return r != 0 ? err_fold(r) : 0;
}

int analysis_worker_main(void)
{
    WorkerServe serve = {.meter = NULL};
    int r;

    arena_init(&serve.arena, WORKER_ANSWER_BYTES);
    r = io_worker_serve(&(IoWorkerServe){.max_request = sizeof(WorkerAsk) + COMPLEXITY_FILE_BYTES,
                                         .max_memory = WORKER_MEMORY_BYTES,
                                         .begin = serve_begin,
                                         .answer = serve_answer,
                                         .context = &serve});
    serve.meter = complexity_meter_free(serve.meter);
    arena_deinit(&serve.arena);
    return r;
}

/* ---- its owner ---- */

int analysis_worker_init(AnalysisWorker *worker)
{
    *worker = (AnalysisWorker){.child = NULL};
    bytes_init(&worker->answer, WORKER_ANSWER_BYTES);
    return worker_argv != NULL ? 0 : complexity_meter_new(&worker->meter);
}

void analysis_worker_deinit(AnalysisWorker *worker)
{
    analysis_worker_rest(worker);
    worker->meter = complexity_meter_free(worker->meter);
    bytes_deinit(&worker->answer);
}

void analysis_worker_rest(AnalysisWorker *worker)
{
    worker->child = io_worker_free(worker->child);
}

static size_t worker_language(const ComplexityLanguage *language)
{
    size_t i = 0;

    while (complexity_language_at(i) != language) {
        i++;
    }
    return i;
}

/* What is there was made by the decoder just now. */
static bool worker_decode(Span payload, Span increments, Arena *arena, ComplexityCached *ret)
{
    ComplexityFunction *functions;

    if (!cache_format_decode(payload, arena, ret) || ret->is_skipped) {
        return false;
    }
    if (increments.n == 0) {
        return true;
    }
    memcpy(&functions, &ret->file.functions, sizeof(functions));
    return cache_format_decode_increments(increments, arena, functions, ret->file.n_functions);
}

/* 0, -ENOMEM, COMPLEXITY_E_*, ANALYSIS_WORKER_E_FAILED: it is no answer. */
static int worker_read(const AnalysisWorker *worker, const ComplexityLanguage *language,
                       Arena *arena, ComplexityFile *ret)
{
    Span data = bytes_span(&worker->answer);
    ComplexityCached what;
    WorkerAnswer answer;

    if (data.n < sizeof(answer)) {
        return ANALYSIS_WORKER_E_FAILED;
    }
    memcpy(&answer, data.p, sizeof(answer));
    data = span_make(data.p + sizeof(answer), data.n - sizeof(answer));
    if (answer.r != 0) {
        return answer.r == -ENOMEM || answer.r == COMPLEXITY_E_NO_MEMORY ? COMPLEXITY_E_NO_MEMORY
               : answer.r == COMPLEXITY_E_TOO_COSTLY || answer.r == COMPLEXITY_E_TOO_BIG
                   ? (int)answer.r
                   : ANALYSIS_WORKER_E_FAILED;
    }
    data = answer.n_payload <= data.n ? arena_copy(arena, data) : SPAN_NULL;
    if (data.p == NULL) {
        return answer.n_payload <= worker->answer.n ? err_raise(-ENOMEM) : ANALYSIS_WORKER_E_FAILED;
    }
    if (!worker_decode(span_make(data.p, (size_t)answer.n_payload),
                       span_make(data.p + answer.n_payload, data.n - (size_t)answer.n_payload),
                       arena, &what) ||
        what.file.language != language) {
        return ANALYSIS_WORKER_E_FAILED;
    }
    *ret = what.file;
    return 0;
}

static int worker_ask(AnalysisWorker *worker, const ComplexityLanguage *language, Span text,
                      const ComplexityOptions *options)
{
    WorkerAsk ask = {.language = worker_language(language),
                     .max_parse_us = options->max_parse_us,
                     .max_bytes = options->max_bytes,
                     .increments = options->increments};
    IoWorkerLimits limits = {.max_us = 3 * options->max_parse_us + WORKER_MORE_US,
                             .stop = options->stop};
    int r = worker->child != NULL ? 0 : io_worker_start(&worker->child, worker_argv);

    if (r != 0) {
        return err_pass(r);
    }
    bytes_clear_keep(&worker->answer, WORKER_KEEP_BYTES);
    r = io_worker_ask(worker->child, span_make((const char *)&ask, sizeof(ask)), text, &limits,
                      &worker->answer);
    return r == IO_WORKER_E_CANCELLED ? COMPLEXITY_E_CANCELLED
           : r == IO_WORKER_E_KILLED  ? ANALYSIS_WORKER_E_LOST
           : r > 0                    ? ANALYSIS_WORKER_E_FAILED
                                      : err_pass(r);
}

int analysis_worker_measure(AnalysisWorker *worker, const ComplexityLanguage *language, Span text,
                            const ComplexityOptions *options, Arena *arena, ComplexityFile *ret)
{
    int r;

    if (worker->meter != NULL) {
        return complexity_measure(worker->meter, language, text, options, arena, ret);
    }
    if (worker->n_failed >= WORKER_MAX_FAILED) {
        return ANALYSIS_WORKER_E_LOST;
    }
    r = worker_ask(worker, language, text, options);
    if (r != 0) {
        worker->n_failed += r > 0;
        analysis_worker_rest(worker);
        return r;
    }
    r = worker_read(worker, language, arena, ret);
    if (r == ANALYSIS_WORKER_E_FAILED) {
        worker->n_failed++;
        analysis_worker_rest(worker);
    }
    return r;
}
