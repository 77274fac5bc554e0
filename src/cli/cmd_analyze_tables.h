/* cli/cmd_analyze_tables.h: what was measured, as tables for people. */
#pragma once

#include "cli/cmd_analyze_options.h"
#include "cli/cmd_analyze_text.h"

/* The whole, then the worst functions and files. delta: NULL unless the report is of what has
 * changed. */
void analyze_tables_complexity(AnalyzeText *text, const AnalyzeAsked *asked,
                               const ComplexityReport *report, const ComplexityDelta *delta);

/* "src/a.c:12" */
Span analyze_place(AnalyzeText *text, Span path, uint32_t line);

/* What a value is by its two thresholds. */
ChartTone analyze_tone(uint32_t value, uint32_t warning, uint32_t error);
