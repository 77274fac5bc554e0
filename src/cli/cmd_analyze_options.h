/* cli/cmd_analyze_options.h: what the sub-commands of `toolwire analyze` are asked for. Private to
 * them. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "cli/cli.h"
#include "providers/analysis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of the tables of options that several of them have; they are found by their names. */
#define ANALYZE_OPTION_JSON                                                                        \
    {                                                                                              \
        "json", NULL, "the same as --format json"                                                  \
    }
#define ANALYZE_OPTION_TOOLCHAIN                                                                   \
    {                                                                                              \
        "toolchain", "NAME", "rust, deno, python-uv, a language, or auto (default): all"           \
    }
#define ANALYZE_OPTION_INCLUDE                                                                     \
    {                                                                                              \
        "include", "GLOB...", "only files that match one of these"                                 \
    }
#define ANALYZE_OPTION_EXCLUDE                                                                     \
    {                                                                                              \
        "exclude", "GLOB...", "no files that match one of these"                                   \
    }
#define ANALYZE_OPTION_ALL                                                                         \
    {                                                                                              \
        "all", NULL, "vendored, generated and minified files, too"                                 \
    }
#define ANALYZE_OPTION_NO_IGNORE                                                                   \
    {                                                                                              \
        "no-ignore", NULL, "what git ignores, too"                                                 \
    }
#define ANALYZE_OPTION_THREADS                                                                     \
    {                                                                                              \
        "threads", "N", "measure on so many threads (one for each core)"                           \
    }
#define ANALYZE_OPTION_NO_CACHE                                                                    \
    {                                                                                              \
        "no-cache", NULL, "neither use nor keep earlier results"                                   \
    }
#define ANALYZE_OPTION_STATE                                                                       \
    {                                                                                              \
        "state", "DIR", "the folder of earlier results"                                            \
    }
#define ANALYZE_OPTION_DAYS                                                                        \
    {                                                                                              \
        "days", "N", "changes of so many days (30); 0: all"                                        \
    }
#define ANALYZE_OPTION_UNTIL                                                                       \
    {                                                                                              \
        "until", "DATE", "changes until this day, or time (now)"                                   \
    }
#define ANALYZE_OPTION_REV                                                                         \
    {                                                                                              \
        "rev", "REV", "the history of this revision (HEAD)"                                        \
    }
#define ANALYZE_OPTION_PATH                                                                        \
    {                                                                                              \
        "path", "PATHSPEC...", "changes of these files only, in git's words"                       \
    }
#define ANALYZE_OPTION_NO_RENAMES                                                                  \
    {                                                                                              \
        "no-renames", NULL, "a renamed file is another file"                                       \
    }
#define ANALYZE_OPTION_SVG                                                                         \
    {                                                                                              \
        "svg", "FILE", "draw a map of the files, too (-: to stdout instead of the result)"         \
    }
#define ANALYZE_OPTION_HTML                                                                        \
    {                                                                                              \
        "html", "FILE", "the same as a page for a browser"                                         \
    }

typedef enum AnalyzeFail {
    ANALYZE_FAIL_NEVER,
    ANALYZE_FAIL_OVER, /* a function above fail_over */
    ANALYZE_FAIL_ERRORS,
    ANALYZE_FAIL_WARNINGS, /* errors, too */
} AnalyzeFail;

typedef struct AnalyzeAsked {
    const CliArgs *args;
    Arena arena;
    AnalysisFiles files;
    AnalysisHistory history;
    ComplexityReportOptions report;
    Span format;  /* empty: tables for people */
    bool has_top; /* given */
    size_t top;   /* files */
    bool has_functions;
    size_t functions;
    AnalyzeFail fail;
    uint32_t fail_over;
    const char *svg; /* NULL: none */
    const char *html;
} AnalyzeAsked;

/* Reads the words of a command, whichever of these options it has; files in tables are default_top.
 * Explains on stderr what cannot be. 0 or an exit status; in both cases deinit. */
int analyze_asked_init(AnalyzeAsked *asked, const CliArgs *args, size_t default_top);
void analyze_asked_deinit(AnalyzeAsked *asked);

/* Is the format (empty too) one of these? names: NULL-terminated. 0 or CLI_EXIT_USAGE, explained.
 */
int analyze_asked_check_format(const AnalyzeAsked *asked, const char *const *names);

/* Explains on stderr; CLI_EXIT_FAILED. */
TW_PRINTF(2, 3) int analyze_fail(const CliArgs *args, const char *format, ...);
int analyze_no_memory(const CliArgs *args);
