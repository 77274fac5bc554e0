/* The arguments of a command, and behind a NUL a failure whitelist: whatever they are, a desk lets
 * the command run or says why not, in JSON; what it says at its end is JSON; many targets pass only
 * when the caller says what is to become of failures; and the fingerprint does not depend on how
 * the arguments are written. The bytes are also the name of a document. */
#include "fuzz.h"

#include <string.h>

#include "base/utf8.h"
#include "router/safety/canonical.h"
#include "router/safety/fold.h"
#include "router/safety/safety.h"
#include "json/writer.h"

static int fuzz_random(void *context, uint8_t *ret, size_t n)
{
    (void)context;
    memset(ret, 7, n);
    return 0;
}

static void fuzz_json(Span json, JsonKind kind)
{
    Arena arena;
    JsonDoc doc;

    arena_init(&arena, SIZE_MAX);
    FUZZ_REQUIRE(json_parse(&doc, &arena, json.p, json.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_kind(json_root(&doc)) == kind);
    arena_deinit(&arena);
}

/* Between the brackets. */
static void fuzz_inside(const Bytes *inside, const char *brackets, JsonKind kind)
{
    Bytes whole;

    bytes_init(&whole, SIZE_MAX);
    FUZZ_REQUIRE(bytes_append_byte(&whole, brackets[0]) == 0);
    FUZZ_REQUIRE(bytes_append_span(&whole, bytes_span(inside)) == 0);
    FUZZ_REQUIRE(bytes_append_byte(&whole, brackets[1]) == 0);
    fuzz_json(bytes_span(&whole), kind);
    bytes_deinit(&whole);
}

static void fuzz_fold(Span text)
{
    Bytes folded;

    bytes_init(&folded, SIZE_MAX);
    FUZZ_REQUIRE(safety_fold(text, &folded) == 0);
    folded.n = folded.n > 0 ? utf8_mend(folded.data, folded.n) : 0; /* halves stay */
    FUZZ_REQUIRE(utf8_valid(folded.data, folded.n, NULL));
    bytes_deinit(&folded);
}

static void fuzz_fingerprint(JsonValue arguments)
{
    char first[SAFETY_FINGERPRINT_BYTES];
    char second[SAFETY_FINGERPRINT_BYTES];
    JsonWriter w;
    Bytes compact;
    Arena arena;
    JsonDoc doc;

    bytes_init(&compact, SIZE_MAX);
    arena_init(&arena, SIZE_MAX);
    json_writer_init(&w, &compact, JSON_STYLE_PRETTY);
    json_write_value(&w, arguments);
    FUZZ_REQUIRE(json_writer_finish(&w) == 0);
    FUZZ_REQUIRE(json_parse(&doc, &arena, compact.data, compact.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(safety_fingerprint(arguments, first) == 0);
    FUZZ_REQUIRE(safety_fingerprint(json_root(&doc), second) == 0);
    FUZZ_REQUIRE(strcmp(first, second) == 0);
    bytes_deinit(&compact);
    arena_deinit(&arena);
}

static void fuzz_refused(const SafetyRefusal *refusal)
{
    FUZZ_REQUIRE(refusal->code[0] != '\0' && refusal->message.n > 0);
    fuzz_json(refusal->data, JSON_OBJECT);
    fuzz_json(refusal->next_actions, JSON_ARRAY);
}

/* It runs, fails in two ways, and is over. */
static void fuzz_run(SafetyDesk *desk, const SafetyCommand *command, SafetyPlan *plan, Span bytes)
{
    static const int64_t ids[] = {1, -2};
    SafetyFailure failure = {.id = bytes,
                             .guid = bytes,
                             .message = bytes,
                             .element_ids = ids,
                             .n_element_ids = 2,
                             .can_delete = true,
                             .can_resolve = true};
    SafetyVerdict verdict;
    SafetyEnd end;
    Bytes members;
    Bytes warnings;

    bytes_init(&members, SIZE_MAX);
    bytes_init(&warnings, SIZE_MAX);
    FUZZ_REQUIRE(plan->is_explicit || plan->is_dry_run || plan->n_targets < 5);
    FUZZ_REQUIRE(safety_failure(desk, plan, &failure, &verdict) == 0);
    FUZZ_REQUIRE(verdict != SAFETY_KEEP || plan->mode == SAFETY_MODE_OFF);
    if (verdict == SAFETY_RESOLVE) {
        FUZZ_REQUIRE(safety_resolved(desk, plan, &failure, false, &verdict) == 0);
        FUZZ_REQUIRE(verdict == SAFETY_DELETE || verdict == SAFETY_ROLL_BACK);
    }
    FUZZ_REQUIRE((verdict == SAFETY_ROLL_BACK) == plan->needs_rollback);
    failure.id = SPAN("Planner.OverlappingWalls");
    failure.severity = SAFETY_ERROR;
    FUZZ_REQUIRE(safety_failure(desk, plan, &failure, &verdict) == 0);
    FUZZ_REQUIRE(safety_dialog(plan, bytes, bytes) == 0);
    end = (SafetyEnd){.is_ok = !plan->needs_rollback,
                      .code = bytes,
                      .is_committed = !plan->needs_rollback && !plan->is_dry_run,
                      .is_rolled_back = plan->needs_rollback || plan->is_dry_run};
    FUZZ_REQUIRE(safety_end(desk, command, plan, &end, 1, 1, &members, &warnings) == 0);
    fuzz_inside(&members, "{}", JSON_OBJECT);
    fuzz_inside(&warnings, "[]", JSON_ARRAY);
    bytes_deinit(&members);
    bytes_deinit(&warnings);
}

static void fuzz_command(SafetyDesk *desk, const char *method, JsonValue arguments, Span bytes)
{
    SafetyCommand command = {
        .method = span_from_str(method), .arguments = arguments, .meta = arguments};
    SafetyRefusal refusal;
    SafetyPlan plan;
    Bytes context;
    int r;

    safety_plan_init(&plan);
    bytes_init(&context, SIZE_MAX);
    r = safety_admit(desk, &command, 0, &plan, &refusal);
    FUZZ_REQUIRE(r == 0 || r == SAFETY_E_REFUSED);
    if (r == 0) {
        fuzz_run(desk, &command, &plan, bytes);
    } else {
        fuzz_refused(&refusal);
    }
    FUZZ_REQUIRE(safety_desk_write_context(desk, command.method, &context) == 0);
    fuzz_inside(&context, "{}", JSON_OBJECT);
    bytes_clear(&context);
    FUZZ_REQUIRE(safety_desk_write_get_context(desk, arguments, &context) == 0);
    fuzz_json(bytes_span(&context), JSON_OBJECT);
    safety_plan_deinit(&plan);
    bytes_deinit(&context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"move_walls", "delete_walls", "get_walls", "get_context"};
    static const int64_t ids[] = {5, 3, 5};
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    size_t n = nul != NULL ? (size_t)(nul - data) : size;
    Span text = span_make((const char *)data, n);
    Span file = nul != NULL ? span_make((const char *)nul + 1, size - n - 1) : SPAN_NULL;
    SafetyDesk *desk = NULL;
    Arena arena;
    JsonDoc doc;

    arena_init(&arena, SIZE_MAX);
    fuzz_fold(text);
    FUZZ_REQUIRE(safety_desk_new(&desk, &(SafetyConfig){.random = fuzz_random}) == 0);
    FUZZ_REQUIRE(safety_desk_whitelist(desk, "/w", file) == 0);
    FUZZ_REQUIRE(safety_desk_show(
                     desk, &(SafetyDocument){
                               .guid = text, .path = text, .title = text, .view_name = text}) == 0);
    FUZZ_REQUIRE(safety_desk_select(desk, ids, 3) == 0);
    if (json_parse(&doc, &arena, text.p, text.n, NULL, NULL) == 0) {
        fuzz_fingerprint(json_root(&doc));
        for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
            fuzz_command(desk, methods[i], json_root(&doc), text);
        }
    }
    desk = safety_desk_free(desk);
    arena_deinit(&arena);
    return 0;
}
