/* providers/analysis_tools.h: the code analyser as tools of a router.
 *
 *     analyze_complexity, analyze_code_churn, analyze_hotspots
 *
 * A call is a job on a thread of its own (providers/analysis.h). Two of them run at once, the
 * others wait in order; progress is told every 200 ms, which moves the deadline. A call that is
 * taken back ends its job within 50 ms. The tools read any folder that this process may read (or
 * those beneath a root only, and repositories that lie there), and write nothing but their caches
 * in the state folder. Nothing of the analyser is touched before the first call. Errors are the
 * provider's own (CALL_ERROR_OWN), with the numbers below, or arguments that cannot be. Thread:
 * loop.
 */
#pragma once

#include "base/diag.h"
#include "io/loop.h"
#include "router/router.h"

/* The numbers of the toolkit's documents, and the one of JSON-RPC for all else. */
#define ANALYSIS_TOOLS_ERROR_NOT_FOUND (-32000)
#define ANALYSIS_TOOLS_ERROR_FAILED    (-32603)

enum {
    ANALYSIS_TOOLS_E_EXISTS = 1,  /* a tool of one of the names is there already; Diag */
    ANALYSIS_TOOLS_E_ROOT,        /* the root is no folder that can be used; Diag */
    ANALYSIS_TOOLS_E_UNSUPPORTED, /* nothing can be held beneath a root on this system; Diag */
};

typedef struct AnalysisToolsConfig {
    Router *router;
    IoLoop *loop;
    const char *state; /* folder of the caches; NULL: the user's (io/keep.h). Copied */
    const char *root;  /* paths are seen from here, and lead nowhere else; NULL: anywhere. Copied */
    const char *version; /* of the program, for SARIF; may be NULL; borrowed for good */
} AnalysisToolsConfig;

typedef struct AnalysisTools AnalysisTools;

/* Adds the tools to the router, which it borrows until free, as the loop. 0, -ENOMEM, another
 * negative errno, ANALYSIS_TOOLS_E_*. Gives *ret. */
int analysis_tools_new(AnalysisTools **ret, const AnalysisToolsConfig *config, Diag *reterr_diag);

/* Takes the tools out again. Jobs that still run are told to end, and keep the loop running until
 * they have; no call waits for them any more. */
AnalysisTools *analysis_tools_free(AnalysisTools *tools);
