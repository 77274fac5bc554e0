#include "report.h"

void report_row(Report *report, const char *row, const char *what)
{
    report->row = row;
    report->has_heads = false;
    printf("\n%s: %s\n", row, what);
}

static bool goal_met(const ReportFigure *f)
{
    return f->goal == REPORT_GOAL_AT_MOST ? f->value <= f->limit : f->value >= f->limit;
}

static void print_goal(Report *report, const char *peer, const char *era, const ReportFigure *f)
{
    const char *sign = f->goal == REPORT_GOAL_AT_MOST ? "<=" : ">=";
    bool met = goal_met(f);

    printf("   %s %s %g: %s", f->name, sign, f->limit, met ? "ok" : "MISSES GOAL");
    if (met) {
        report->n_met++;
        return;
    }
    if (report->n_missed < REPORT_MAX_MISSED) {
        (void)snprintf(report->missed[report->n_missed], sizeof(report->missed[0]),
                       "%s, %s %s: %s %.*f, goal %s %g", report->row, peer, era, f->name,
                       f->decimals, f->value, sign, f->limit);
    }
    report->n_missed++;
}

static void write_json(Report *report, const char *peer, const char *era,
                       const ReportFigure *figures, size_t n_figures)
{
    (void)fprintf(report->json, "{\"row\":\"%s\",\"peer\":\"%s\",\"era\":\"%s\"", report->row, peer,
                  era);
    for (size_t i = 0; i < n_figures; i++) {
        (void)fprintf(report->json, ",\"%s\":%.*f", figures[i].name, figures[i].decimals + 2,
                      figures[i].value);
    }
    for (size_t i = 0; i < n_figures; i++) {
        if (figures[i].goal != REPORT_GOAL_NONE) {
            (void)fprintf(report->json, ",\"goal_%s\":{\"%s\":%g,\"met\":%s}", figures[i].name,
                          figures[i].goal == REPORT_GOAL_AT_MOST ? "at_most" : "at_least",
                          figures[i].limit, goal_met(&figures[i]) ? "true" : "false");
        }
    }
    (void)fprintf(report->json, "}\n");
    (void)fflush(report->json);
}

void report_line(Report *report, const char *peer, const char *era, const ReportFigure *figures,
                 size_t n_figures)
{
    if (!report->has_heads) {
        printf("  %-14s %-10s", "peer", "era");
        for (size_t i = 0; i < n_figures; i++) {
            printf(" %14s", figures[i].name);
        }
        printf("\n");
        report->has_heads = true;
    }
    printf("  %-14s %-10s", peer, era);
    for (size_t i = 0; i < n_figures; i++) {
        printf(" %14.*f", figures[i].decimals, figures[i].value);
    }
    for (size_t i = 0; i < n_figures; i++) {
        if (figures[i].goal != REPORT_GOAL_NONE) {
            print_goal(report, peer, era, &figures[i]);
        }
    }
    printf("\n");
    (void)fflush(stdout);
    if (report->json != NULL) {
        write_json(report, peer, era, figures, n_figures);
    }
}

void report_summary(const Report *report)
{
    printf("\ngoals: %zu met, %zu missed\n", report->n_met, report->n_missed);
    for (size_t i = 0; i < report->n_missed && i < REPORT_MAX_MISSED; i++) {
        printf("  %s\n", report->missed[i]);
    }
}
