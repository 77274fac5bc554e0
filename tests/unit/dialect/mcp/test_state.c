#include "dialect/mcp/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "support/cmocka.h"
#include "support/oom_sweep.h"

#define MAX_BYTES ((size_t)1 << 23)

/* A stand-in for the HMAC: keyed, over all bytes in order, and so without frames between pieces:
 * what must not be confused, the module under test keeps apart itself. */
static int fake_seal(void *context, const Span *pieces, size_t n, uint8_t ret_code[32])
{
    const uint64_t *key = context;
    Bytes all;

    if (*key == 0) {
        return -EIO;
    }
    bytes_init(&all, MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        if (bytes_append_span(&all, pieces[i]) != 0) {
            bytes_deinit(&all);
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < 4; i++) {
        uint64_t h = hash_span((HashSeed){*key, i}, bytes_span(&all));

        memcpy(ret_code + 8 * i, &h, sizeof(h));
    }
    bytes_deinit(&all);
    return 0;
}

static uint64_t key_one = 1;
static uint64_t key_two = 2;
static uint64_t key_broken = 0;
static const McpSealer sealer = {fake_seal, &key_one};

typedef struct Fixture {
    Arena arena;
    Bytes out;
    McpStateParts parts; /* of the last state opened */
} Fixture;

static int setup(void **state)
{
    static Fixture f;

    arena_init(&f.arena, MAX_BYTES);
    bytes_init(&f.out, MAX_BYTES);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    arena_deinit(&f->arena);
    bytes_deinit(&f->out);
    return 0;
}

/* arguments: JSON, or NULL for none. Each parse lives until the arena ends. */
static McpStateBinding binding_of(Fixture *f, const char *method, const char *target,
                                  const char *arguments)
{
    McpStateBinding binding = {.method = span_from_str(method),
                               .target = span_from_str(target),
                               .arguments = JSON_VALUE_NULL};
    JsonDoc doc;

    if (arguments != NULL) {
        assert_int_equal(json_parse(&doc, &f->arena, arguments, strlen(arguments), NULL, NULL), 0);
        binding.arguments = json_root(&doc);
    }
    return binding;
}

static McpStateBinding usual(Fixture *f)
{
    return binding_of(f, "tools/call", "t", "{\"a\":1,\"b\":[2,\"x y\"]}");
}

#define ASKED   "{\"q\":{\"kind\":\"roots\"}}"
#define ANSWERS "{\"k\":{\"action\":\"accept\"}}"

static Span seal(Fixture *f, const McpStateBinding *binding)
{
    static const McpStateParts parts = {.asked = {ASKED, sizeof(ASKED) - 1},
                                        .answers = {ANSWERS, sizeof(ANSWERS) - 1},
                                        .own = {"st\0te", 5}};

    bytes_clear(&f->out);
    assert_int_equal(mcp_state_seal(&f->out, &f->arena, &sealer, binding, 1000, &parts), 0);
    return bytes_span(&f->out);
}

static int open_with(Fixture *f, const McpSealer *with, const McpStateBinding *binding,
                     int64_t now_ms, Span text)
{
    f->parts = (McpStateParts){SPAN("unset"), SPAN("unset"), SPAN("unset")};
    return mcp_state_open(&f->arena, with, binding, now_ms, text, &f->parts);
}

static void state_comes_back_with_questions_and_answers(void **state)
{
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    Span text = seal(f, &binding);

    for (size_t i = 0; i < text.n; i++) {
        assert_non_null(
            strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", text.p[i]));
    }
    assert_int_equal(open_with(f, &sealer, &binding, 999, text), 0);
    assert_true(span_equals(f->parts.asked, SPAN(ASKED)));
    assert_true(span_equals(f->parts.answers, SPAN(ANSWERS)));
    assert_true(span_equals(f->parts.own, SPAN("st\0te")));
}

static void nothing_to_remember_is_remembered_too(void **state)
{
    Fixture *f = *state;
    McpStateBinding binding = binding_of(f, "prompts/get", "p", NULL);

    bytes_clear(&f->out);
    assert_int_equal(mcp_state_seal(&f->out, &f->arena, &sealer, &binding, 5,
                                    &(McpStateParts){.own = SPAN_NULL}),
                     0);
    assert_int_equal(open_with(f, &sealer, &binding, 4, bytes_span(&f->out)), 0);
    assert_int_equal(f->parts.asked.n, 0);
    assert_int_equal(f->parts.answers.n, 0);
    assert_int_equal(f->parts.own.n, 0);
}

static void expired_state_is_refused(void **state)
{
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    Span text = seal(f, &binding);

    assert_int_equal(open_with(f, &sealer, &binding, 1000, text), MCP_STATE_E_EXPIRED);
    assert_int_equal(open_with(f, &sealer, &binding, INT64_MAX, text), MCP_STATE_E_EXPIRED);
    assert_true(span_equals(f->parts.answers, SPAN("unset")));
}

static void every_changed_byte_is_noticed(void **state)
{
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    Span text = seal(f, &binding);
    char copy[512];

    assert_true(text.n < sizeof(copy));
    for (size_t i = 0; i < text.n; i++) {
        for (int flip = 1; flip < 256; flip++) {
            memcpy(copy, text.p, text.n);
            copy[i] = (char)(copy[i] ^ flip);
            assert_int_equal(open_with(f, &sealer, &binding, 0, span_make(copy, text.n)),
                             MCP_STATE_E_FORGED);
        }
    }
    assert_int_equal(open_with(f, &sealer, &binding, 0, text), 0);
}

static void cut_and_lengthened_states_are_noticed(void **state)
{
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    Span text = seal(f, &binding);
    char copy[512];

    for (size_t n = 0; n < text.n; n++) {
        assert_int_equal(open_with(f, &sealer, &binding, 0, span_make(text.p, n)),
                         MCP_STATE_E_FORGED);
        assert_int_equal(open_with(f, &sealer, &binding, 0, span_make(text.p + n, text.n - n)),
                         n == 0 ? 0 : MCP_STATE_E_FORGED);
    }
    memcpy(copy, text.p, text.n);
    copy[text.n] = 'A';
    assert_int_equal(open_with(f, &sealer, &binding, 0, span_make(copy, text.n + 1)),
                     MCP_STATE_E_FORGED);
    copy[text.n] = '=';
    assert_int_equal(open_with(f, &sealer, &binding, 0, span_make(copy, text.n + 1)),
                     MCP_STATE_E_FORGED);
}

static void state_of_another_request_is_refused(void **state)
{
    static const struct {
        const char *method;
        const char *target;
        const char *arguments;
    } others[] = {
        {"prompts/get", "t", "{\"a\":1,\"b\":[2,\"x y\"]}"},
        {"tools/call", "u", "{\"a\":1,\"b\":[2,\"x y\"]}"},
        {"tools/call", "t", "{\"a\":1,\"b\":[2,\"xy\"]}"},
        {"tools/call", "t", "{\"a\":1.0,\"b\":[2,\"x y\"]}"},
        {"tools/call", "t", "{\"b\":[2,\"x y\"],\"a\":1}"},
        {"tools/call", "t", "{}"},
        {"tools/call", "t", NULL},
        /* The same bytes, cut elsewhere. */
        {"tools/cal", "lt", "{\"a\":1,\"b\":[2,\"x y\"]}"},
        {"tools/callt", "", "{\"a\":1,\"b\":[2,\"x y\"]}"},
    };
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    Span text = seal(f, &binding);

    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        McpStateBinding other =
            binding_of(f, others[i].method, others[i].target, others[i].arguments);

        assert_int_equal(open_with(f, &sealer, &other, 0, text), MCP_STATE_E_FORGED);
    }
}

static void white_space_in_arguments_does_not_matter(void **state)
{
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    Span text = seal(f, &binding);
    McpStateBinding spaced =
        binding_of(f, "tools/call", "t", "{ \"a\" : 1,\n\t\"b\":[ 2 , \"x y\" ] }");

    assert_int_equal(open_with(f, &sealer, &spaced, 0, text), 0);
}

static void no_arguments_and_empty_ones_are_the_same(void **state)
{
    Fixture *f = *state;
    McpStateBinding none = binding_of(f, "tools/call", "t", NULL);
    McpStateBinding empty = binding_of(f, "tools/call", "t", "{ }");

    assert_int_equal(open_with(f, &sealer, &empty, 0, seal(f, &none)), 0);
    assert_int_equal(open_with(f, &sealer, &none, 0, seal(f, &empty)), 0);
}

static void state_under_another_key_is_refused(void **state)
{
    Fixture *f = *state;
    McpSealer other = {fake_seal, &key_two};
    McpStateBinding binding = usual(f);

    assert_int_equal(open_with(f, &other, &binding, 0, seal(f, &binding)), MCP_STATE_E_FORGED);
}

static void failure_of_the_sealer_is_passed_on(void **state)
{
    Fixture *f = *state;
    McpSealer broken = {fake_seal, &key_broken};
    McpStateBinding binding = usual(f);
    Span text = seal(f, &binding);
    Bytes out;

    assert_int_equal(open_with(f, &broken, &binding, 0, text), -EIO);
    bytes_init(&out, MAX_BYTES);
    assert_int_equal(mcp_state_seal(&out, &f->arena, &broken, &binding, 1, &f->parts), -EIO);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

static int seal_sizes(Fixture *f, const char *big, size_t n_asked, size_t n_answers, size_t n_own)
{
    McpStateBinding binding = usual(f);
    McpStateParts parts = {.asked = span_make(big, n_asked),
                           .answers = span_make(big, n_answers),
                           .own = span_make(big, n_own)};

    bytes_clear(&f->out);
    return mcp_state_seal(&f->out, &f->arena, &sealer, &binding, 1, &parts);
}

static void too_large_states_are_refused_on_both_ways(void **state)
{
    static char big[LIMIT_MCP_STATE_BYTES + 1];
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    size_t fits = LIMIT_MCP_STATE_BYTES / 4 * 3 - 17 - 32;

    memset(big, 'A', sizeof(big));
    assert_int_equal(seal_sizes(f, big, 0, 0, fits + 1), MCP_STATE_E_TOO_LARGE);
    assert_int_equal(seal_sizes(f, big, 0, fits, 1), MCP_STATE_E_TOO_LARGE);
    assert_int_equal(seal_sizes(f, big, fits, 1, 0), MCP_STATE_E_TOO_LARGE);
    assert_int_equal(seal_sizes(f, big, fits, 0, 1), MCP_STATE_E_TOO_LARGE);
    assert_int_equal(f->out.n, 0);
    assert_int_equal(seal_sizes(f, big, 2, 1, fits - 3), 0);
    assert_in_range(f->out.n, LIMIT_MCP_STATE_BYTES - 3, LIMIT_MCP_STATE_BYTES);
    assert_int_equal(open_with(f, &sealer, &binding, 0, bytes_span(&f->out)), 0);
    assert_int_equal(f->parts.asked.n, 2);
    assert_int_equal(f->parts.answers.n, 1);
    assert_int_equal(f->parts.own.n, fits - 3);
    assert_int_equal(open_with(f, &sealer, &binding, 0, span_make(big, sizeof(big))),
                     MCP_STATE_E_TOO_LARGE);
}

static void state_that_does_not_fit_its_buffer_is_too_large(void **state)
{
    Fixture *f = *state;
    McpStateBinding binding = usual(f);
    Bytes small;

    bytes_init(&small, 20);
    assert_int_equal(
        mcp_state_seal(&small, &f->arena, &sealer, &binding, 1, &(McpStateParts){.own = SPAN_NULL}),
        MCP_STATE_E_TOO_LARGE);
    assert_int_equal(small.n, 0);
    bytes_deinit(&small);
}

static int seal_and_open(void *context)
{
    McpStateBinding *binding = context;
    McpStateParts parts = {.answers = SPAN("{}"), .own = SPAN("s")};
    Arena arena;
    Bytes out;
    int r;

    arena_init(&arena, MAX_BYTES);
    bytes_init(&out, MAX_BYTES);
    r = mcp_state_seal(&out, &arena, &sealer, binding, 9, &parts);
    if (r == 0) {
        parts = (McpStateParts){.own = SPAN_NULL};
        r = mcp_state_open(&arena, &sealer, binding, 1, bytes_span(&out), &parts);
    }
    assert_true(r != 0 || span_equals(parts.own, SPAN("s")));
    arena_deinit(&arena);
    bytes_deinit(&out);
    return r;
}

static void every_failed_allocation_is_reported(void **state)
{
    McpStateBinding binding = usual(*state);

    test_oom_sweep(seal_and_open, &binding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_comes_back_with_questions_and_answers),
        cmocka_unit_test(nothing_to_remember_is_remembered_too),
        cmocka_unit_test(expired_state_is_refused),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(cut_and_lengthened_states_are_noticed),
        cmocka_unit_test(state_of_another_request_is_refused),
        cmocka_unit_test(white_space_in_arguments_does_not_matter),
        cmocka_unit_test(no_arguments_and_empty_ones_are_the_same),
        cmocka_unit_test(state_under_another_key_is_refused),
        cmocka_unit_test(failure_of_the_sealer_is_passed_on),
        cmocka_unit_test(too_large_states_are_refused_on_both_ways),
        cmocka_unit_test(state_that_does_not_fit_its_buffer_is_too_large),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
