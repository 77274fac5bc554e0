/* What the tests of measures share: a text is measured, its rows are looked up by name. */
#pragma once

#include "support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "toolkit/complexity/measure.h"

#define RIG_ARENA_BYTES ((size_t)1 << 28)

typedef struct Rig {
    ComplexityMeter *meter;
    Arena arena;
    ComplexityFile file;
} Rig;

/* One function of a text, and what it must measure. */
typedef struct RigCase {
    const char *text;
    const char *name;
    uint32_t cyclomatic;
    uint32_t cognitive;
} RigCase;

static inline void rig_open(Rig *rig)
{
    *rig = (Rig){.meter = NULL};
    arena_init(&rig->arena, RIG_ARENA_BYTES);
    assert_int_equal(complexity_meter_new(&rig->meter), 0);
}

static inline void rig_close(Rig *rig)
{
    rig->meter = complexity_meter_free(rig->meter);
    arena_deinit(&rig->arena);
}

static inline void rig_measure_span(Rig *rig, const char *language, Span text)
{
    static const ComplexityOptions options = {.increments = true};
    const ComplexityLanguage *found = complexity_language_named(span_from_str(language));

    assert_non_null(found);
    arena_reset(&rig->arena, RIG_ARENA_BYTES);
    assert_int_equal(complexity_measure(rig->meter, found, text, &options, &rig->arena, &rig->file),
                     0);
}

static inline void rig_measure(Rig *rig, const char *language, const char *text)
{
    rig_measure_span(rig, language, span_from_str(text));
}

static inline const ComplexityFunction *rig_find(const Rig *rig, const char *name)
{
    for (size_t i = 0; i < rig->file.n_functions; i++) {
        if (span_equals(rig->file.functions[i].name, span_from_str(name))) {
            return &rig->file.functions[i];
        }
    }
    return NULL;
}

/* Fails with the names that there are. */
static inline const ComplexityFunction *rig_row(const Rig *rig, const char *name)
{
    const ComplexityFunction *row = rig_find(rig, name);

    if (row == NULL) {
        for (size_t i = 0; i < rig->file.n_functions; i++) {
            Span other = rig->file.functions[i].name;

            print_error("there is: %.*s\n", (int)other.n, other.p);
        }
        fail_msg("no function %s", name);
    }
    return row;
}

static inline void rig_check(Rig *rig, const char *language, const RigCase *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ComplexityFunction *row;

        rig_measure(rig, language, cases[i].text);
        row = rig_row(rig, cases[i].name);
        if (row->cyclomatic != cases[i].cyclomatic || row->cognitive != cases[i].cognitive) {
            fail_msg("%s: cyclomatic %u, not %u; cognitive %u, not %u", cases[i].text,
                     row->cyclomatic, cases[i].cyclomatic, row->cognitive, cases[i].cognitive);
        }
        assert_int_equal(rig->file.n_errors, 0);
        /* The list of increments explains all of it. */
        uint64_t sum = 0;
        for (size_t k = 0; k < row->n_increments; k++) {
            sum += row->increments[k].amount;
        }
        assert_int_equal(sum, row->cognitive);
    }
}

#define RIG_CHECK(rig, language, cases)                                                            \
    rig_check((rig), (language), (cases), sizeof(cases) / sizeof((cases)[0]))
