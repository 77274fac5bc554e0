/* Tables of what has changed. */
#include "cli/cmd_analyze_tables.h"

#include "base/rfc3339.h"

/* "2026-05-01" */
static Span table_day(AnalyzeText *text, int64_t unix_s)
{
    char stamp[RFC3339_SIZE];

    rfc3339_format(unix_s < RFC3339_MAX_MS / 1000 && unix_s > RFC3339_MIN_MS / 1000 ? unix_s * 1000
                                                                                    : 0,
                   stamp);
    return analyze_format(text, "%.10s", stamp);
}

/* "37 % Somebody" */
static Span table_owner(AnalyzeText *text, const ChurnFile *file)
{
    return file->n_authors == 0
               ? SPAN("")
               : analyze_format(
                     text, "%.0f %% %.*s", file->ownership * 100,
                     (int)(file->authors[0].name.n < 100 ? file->authors[0].name.n : 100),
                     file->authors[0].name.p);
}

static ChartTone rank_tone(double rank)
{
    return rank > 0.95 ? CHART_ERROR : rank > 0.8 ? CHART_WARNING : CHART_GOOD;
}

/* Not counted is not 0. */
static ChartCell cell_if(AnalyzeText *text, bool is_known, double value, unsigned decimals)
{
    return is_known ? analyze_cell_number(text, value, decimals, CHART_PLAIN)
                    : analyze_cell(SPAN("\u2013"));
}

void analyze_table_churn(AnalyzeText *text, const ChurnFile *const *files, size_t n, bool has_lines)
{
    static const ChartColumn columns[] = {
        {"score", CHART_NUMBER, 0}, {"", CHART_BAR, 0},          {"commits", CHART_NUMBER, 1},
        {"+", CHART_NUMBER, 2},     {"\u2212", CHART_NUMBER, 3}, {"authors", CHART_NUMBER, 6},
        {"owner", CHART_NAME, 5},   {"last", CHART_LEFT, 4},     {"file", CHART_PATH, 0}};
    ChartGrid grid;

    if (n == 0) {
        return;
    }
    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < n; i++) {
        const ChurnFile *file = files[i];
        ChartTone tone = file->is_deleted || file->flag != NULL ? CHART_FAINT : CHART_PLAIN;

        analyze_add_row(
            text, &grid,
            (ChartCell[]){cell_if(text, has_lines, file->churn_score, 2),
                          {.value = has_lines ? file->churn_score : file->robust_rank,
                           .tone = rank_tone(file->robust_rank)},
                          analyze_cell_number(text, file->commits, 0, CHART_PLAIN),
                          cell_if(text, has_lines, (double)file->additions, 0),
                          cell_if(text, has_lines, (double)file->deletions, 0),
                          analyze_cell_number(text, (double)file->n_authors, 0, CHART_PLAIN),
                          analyze_cell(table_owner(text, file)),
                          analyze_cell(table_day(text, file->last_modified_s)),
                          {.text = file->path, .tone = tone}});
    }
    analyze_say_heading(text, "The files that change most");
    analyze_say_grid(text, &grid);
}

/* ---- from the JSON ---- */

static double member_number(JsonValue object, const char *key)
{
    double number = 0;
    JsonValue v;

    return json_get(object, span_from_str(key), &v) && json_double(v, &number) == 0 ? number : 0;
}

static ChartCell member_count(AnalyzeText *text, JsonValue object, const char *key)
{
    JsonValue v;

    return cell_if(text, json_get(object, span_from_str(key), &v), member_number(object, key), 0);
}

static ChartCell member_share(AnalyzeText *text, JsonValue object, const char *key)
{
    return analyze_cell(analyze_format(text, "%.0f %%", member_number(object, key) * 100));
}

static ChartCell member_text(AnalyzeText *text, JsonValue object, const char *key)
{
    Span words = SPAN("");
    JsonValue v;

    if (json_get(object, span_from_str(key), &v)) {
        int r = json_string(v, &text->arena, &words);

        text->r = text->r != 0 ? text->r : r;
    }
    return analyze_cell(words);
}

void analyze_table_folders(AnalyzeText *text, JsonValue folders)
{
    static const ChartColumn columns[] = {
        {"commits", CHART_NUMBER, 0}, {"", CHART_BAR, 0},          {"files", CHART_NUMBER, 1},
        {"+", CHART_NUMBER, 2},       {"\u2212", CHART_NUMBER, 3}, {"authors", CHART_NUMBER, 4},
        {"folder", CHART_PATH, 0}};
    ChartGrid grid;

    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (JsonIter it = json_iter(folders); json_iter_next(&it);) {
        analyze_add_row(
            text, &grid,
            (ChartCell[]){member_count(text, it.value, "commit_count"),
                          {.value = member_number(it.value, "commit_count"), .tone = CHART_GOOD},
                          member_count(text, it.value, "files"),
                          member_count(text, it.value, "additions"),
                          member_count(text, it.value, "deletions"),
                          member_count(text, it.value, "author_count"),
                          member_text(text, it.value, "path")});
    }
    if (grid.n_rows > 0) {
        analyze_say_heading(text, "Folders");
        analyze_say_grid(text, &grid);
    }
}

void analyze_table_pairs(AnalyzeText *text, JsonValue pairs)
{
    static const ChartColumn columns[] = {{"commits", CHART_NUMBER, 0},
                                          {"of first", CHART_NUMBER, 1},
                                          {"of second", CHART_NUMBER, 2},
                                          {"first", CHART_PATH, 0},
                                          {"second", CHART_PATH, 0}};
    ChartGrid grid;

    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (JsonIter it = json_iter(pairs); json_iter_next(&it);) {
        analyze_add_row(text, &grid,
                        (ChartCell[]){member_count(text, it.value, "support"),
                                      member_share(text, it.value, "share_of_first"),
                                      member_share(text, it.value, "share_of_second"),
                                      member_text(text, it.value, "first"),
                                      member_text(text, it.value, "second")});
    }
    if (grid.n_rows == 0) {
        analyze_say_span(text, SPAN("\nNo two files change together.\n"));
        return;
    }
    analyze_say_heading(text, "Files that change together");
    analyze_say_grid(text, &grid);
}

void analyze_say_notes(AnalyzeText *text, const ChurnNote *notes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        analyze_say_span(text, SPAN("\n"));
        analyze_say_name(text, span_from_str(notes[i].text));
        analyze_say_span(text, SPAN("\n"));
    }
}

/* ---- hotspots ---- */

static ChartTone score_tone(double score)
{
    return score > 0.8 ? CHART_ERROR : score > 0.6 ? CHART_WARNING : CHART_GOOD;
}

void analyze_table_hotspots(AnalyzeText *text, const AnalysisHotspot *spots, size_t n,
                            bool has_lines)
{
    static const ChartColumn columns[] = {
        {"score", CHART_NUMBER, 0},      {"", CHART_BAR, 0},
        {"commits", CHART_NUMBER, 1},    {"changed", CHART_NUMBER, 3},
        {"authors", CHART_NUMBER, 6},    {"cognitive", CHART_NUMBER, 2},
        {"cyclomatic", CHART_NUMBER, 4}, {"lines", CHART_NUMBER, 5},
        {"file", CHART_PATH, 0}};
    ChartGrid grid;

    if (n == 0) {
        return;
    }
    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < n; i++) {
        const AnalysisHotspot *spot = &spots[i];
        uint64_t changed = spot->churn->additions + spot->churn->deletions;

        analyze_add_row(
            text, &grid,
            (ChartCell[]){
                analyze_cell_number(text, spot->score, 2, CHART_PLAIN),
                {.value = spot->score, .tone = score_tone(spot->score)},
                analyze_cell_number(text, spot->churn->commits, 0, CHART_PLAIN),
                cell_if(text, has_lines, (double)changed, 0),
                analyze_cell_number(text, (double)spot->churn->n_authors, 0, CHART_PLAIN),
                analyze_cell_number(text, (double)spot->file->sum_cognitive, 0, CHART_PLAIN),
                analyze_cell_number(text, spot->file->max_cyclomatic, 0, CHART_PLAIN),
                analyze_cell_number(text, spot->file->file.code_lines, 0, CHART_PLAIN),
                analyze_cell(spot->file->path)});
    }
    analyze_say_heading(text, "Complicated and often changed");
    analyze_say_grid(text, &grid);
}
