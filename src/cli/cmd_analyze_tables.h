/* cli/cmd_analyze_tables.h: what was measured, as tables for people. */
#pragma once

#include "cli/cmd_analyze_options.h"
#include "cli/cmd_analyze_text.h"
#include "json/json.h"

/* The whole, then the worst functions and files. delta: NULL unless the report is of what has
 * changed. */
void analyze_tables_complexity(AnalyzeText *text, const AnalyzeAsked *asked,
                               const ComplexityReport *report, const ComplexityDelta *delta);

/* Files by their changes; nothing without any. has_lines: those that came and went were counted. */
void analyze_table_churn(AnalyzeText *text, const ChurnFile *const *files, size_t n,
                         bool has_lines);

/* The members directories and co_changes of churn's JSON. */
void analyze_table_folders(AnalyzeText *text, JsonValue folders);
void analyze_table_pairs(AnalyzeText *text, JsonValue pairs);

/* Nothing without any. */
void analyze_table_hotspots(AnalyzeText *text, const AnalysisHotspot *spots, size_t n,
                            bool has_lines);

/* What a reader has to know, a paragraph each. */
void analyze_say_notes(AnalyzeText *text, const ChurnNote *notes, size_t n);

/* What was left out of the report, and why. */
void analyze_say_skipped(AnalyzeText *text, const ComplexityReport *report);

/* "src/a.c:12" */
Span analyze_place(AnalyzeText *text, Span path, uint32_t line);

/* What a value is by its two thresholds. */
ChartTone analyze_tone(uint32_t value, uint32_t warning, uint32_t error);
