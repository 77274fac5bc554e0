/* cli/cmd_analyze_picture.h: the results of an analysis as files for a browser. */
#pragma once

#include "cli/cmd_analyze_options.h"
#include "toolkit/chart/page.h"

/* Is a picture asked for? */
bool analyze_wants_picture(const AnalyzeAsked *asked);

/* Is the result to be printed, or does a picture go to stdout ("-") instead? */
bool analyze_wants_text(const AnalyzeAsked *asked);

/* Before the work: whether the pictures can be written where they are asked for. Leaves nothing
 * there. 0 or an exit status, explained. */
int analyze_picture_check(AnalyzeAsked *asked);

/* A map of what was measured, coloured by the highest cognitive complexity in each file; by what
 * has changed in it; by both, and the points of both. Each is written to the files that are asked
 * for, whole or not at all; where there is nothing to draw, none is, which is a failure. 0 or an
 * exit status, explained. */
int analyze_picture_complexity(AnalyzeAsked *asked, const ComplexityReport *report);
int analyze_picture_churn(AnalyzeAsked *asked, const ComplexityReport *report, const Churn *churn,
                          Span prefix);
int analyze_picture_hotspots(AnalyzeAsked *asked, const ComplexityReport *report,
                             const Churn *churn, Span prefix, const AnalysisHotspots *hotspots);

/* Of the file's functions. */
uint32_t analyze_max_cognitive(const ComplexityFileRow *row);

/* What is known of the changes of a measured file; *ret NULL: it has none. 0, -ENOMEM. */
int analyze_find_churn(const Churn *churn, Span prefix, Span path, const ChurnFile **ret);
