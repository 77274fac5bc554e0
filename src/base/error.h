/* base/error.h: how functions report failure.
 *
 * An `int r` is 0 for done, < 0 for a negative errno that is fatal to the operation and is
 * forwarded unchanged, > 0 for a named outcome (MODULE_E_*) that the direct caller handles and
 * never forwards. Words for people travel separately, in a Diag (base/diag.h).
 *
 * The three macros cost one branch in release builds. In debug builds, with TOOLWIRE_TRACE set in
 * the environment, each prints file and line to stderr, so that an errno can be followed to where
 * it began.
 */
#pragma once

#include "base/compiler.h"

#include <errno.h>

#ifdef NDEBUG
#define err_raise(r) (r)
#define err_pass(r)  (r)
#define err_fold(r)  err_fold_value(r)
#else
#define err_raise(r) err_trace((r), "raise", __FILE__, __LINE__)
#define err_pass(r)  err_trace((r), "pass", __FILE__, __LINE__)
#define err_fold(r)  err_trace(err_fold_value(r), "fold", __FILE__, __LINE__)
#endif

/* An outcome (> 0) that cannot happen here becomes -ENOTRECOVERABLE: our bug, but not the peer's
 * crash. */
TW_INLINE int err_fold_value(int r)
{
    return r > 0 ? -ENOTRECOVERABLE : r;
}

/* Returns r; use through the macros. Thread: any. */
int err_trace(int r, const char *what, const char *file, int line);
