#include "cli/tools_tokens.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "base/tokens.h"
#include "cli/cli.h"
#include "cli/peer_content.h"
#include "cli/table.h"
#include "toolkit/chart/grid.h"
#include "json/writer.h"

/* What is printed of all tools that a list may have. */
#define TOKENS_OUTPUT_BYTES ((size_t)256 * 1024 * 1024)

typedef struct Cost {
    Span name;
    Span server; /* empty: the one that was asked */
    size_t place;
    size_t n_tools;
    size_t n_bytes;
    size_t n_tokens; /* of all that came */
    size_t n_model;  /* of what a model is given */
} Cost;

typedef struct Costs {
    Cost *tools;
    size_t n_tools;
    Cost *servers;
    size_t n_servers;
    Cost sum;
} Costs;

static Cost cost_of(JsonValue tool, size_t place, Arena *arena)
{
    Span json = json_span(tool);
    Cost cost = {.name = peer_content_text(tool, SPAN("name"), arena),
                 .place = place,
                 .n_tools = 1,
                 .n_bytes = json.n,
                 .n_tokens = tokens_estimate(json)};
    JsonValue schema;

    cost.n_model = tokens_estimate(cost.name) +
                   tokens_estimate(peer_content_text(tool, SPAN("description"), arena));
    if (json_get(tool, SPAN("inputSchema"), &schema)) {
        cost.n_model += tokens_estimate(json_span(schema));
    }
    return cost;
}

static void cost_add(Cost *sum, const Cost *cost)
{
    sum->n_tools += cost->n_tools;
    sum->n_bytes += cost->n_bytes;
    sum->n_tokens += cost->n_tokens;
    sum->n_model += cost->n_model;
}

/* The dearest first. */
static int cost_compare(const void *a, const void *b)
{
    const Cost *x = a;
    const Cost *y = b;

    if (x->n_tokens != y->n_tokens) {
        return x->n_tokens < y->n_tokens ? 1 : -1;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

static void costs_add_server(Costs *costs, const Cost *tool)
{
    size_t i = 0;

    while (i < costs->n_servers && !span_equals(costs->servers[i].name, tool->server)) {
        i++;
    }
    if (i == costs->n_servers) {
        costs->servers[costs->n_servers++] = (Cost){.name = tool->server, .place = i};
    }
    cost_add(&costs->servers[i], tool);
}

static int costs_count(Costs *costs, JsonValue tools, JsonValue origins, Arena *arena)
{
    JsonIter origin = json_iter(origins);
    size_t n = json_count(tools);
    int r;

    *costs = (Costs){.tools = arena_alloc_array(arena, n + 1, sizeof(Cost)),
                     .servers = arena_alloc_array(arena, n + 1, sizeof(Cost))};
    if (costs->tools == NULL || costs->servers == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(tools); json_iter_next(&it);) {
        Cost *cost = &costs->tools[costs->n_tools];

        *cost = cost_of(it.value, costs->n_tools, arena);
        if (json_iter_next(&origin) && json_kind(origin.value) == JSON_STRING &&
            json_string(origin.value, arena, &cost->server) < 0) {
            return err_raise(-ENOMEM);
        }
        cost_add(&costs->sum, cost);
        costs_add_server(costs, cost);
        costs->n_tools++;
    }
    r = sort_items(costs->tools, costs->n_tools, sizeof(Cost), cost_compare, STOP_NEVER);
    r = r != 0
            ? r
            : sort_items(costs->servers, costs->n_servers, sizeof(Cost), cost_compare, STOP_NEVER);
    return err_pass(r);
}

/* ---- for programs ---- */

static void write_cost(JsonWriter *w, const Cost *cost)
{
    json_write_key(w, SPAN("bytes"));
    json_write_uint(w, cost->n_bytes);
    json_write_key(w, SPAN("tokens"));
    json_write_uint(w, cost->n_tokens);
    json_write_key(w, SPAN("model_tokens"));
    json_write_uint(w, cost->n_model);
    json_write_end_object(w);
}

static void write_server(JsonWriter *w, Span server)
{
    json_write_key(w, SPAN("server"));
    if (server.n > 0) {
        json_write_string(w, server);
    } else {
        json_write_null(w);
    }
}

static int costs_write_json(const Costs *costs, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("tools"));
    json_write_array(&w);
    for (size_t i = 0; i < costs->n_tools; i++) {
        json_write_object(&w);
        json_write_key(&w, SPAN("name"));
        json_write_string(&w, costs->tools[i].name);
        write_server(&w, costs->tools[i].server);
        write_cost(&w, &costs->tools[i]);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("servers"));
    json_write_array(&w);
    for (size_t i = 0; i < costs->n_servers; i++) {
        json_write_object(&w);
        write_server(&w, costs->servers[i].name);
        json_write_key(&w, SPAN("tools"));
        json_write_uint(&w, costs->servers[i].n_tools);
        write_cost(&w, &costs->servers[i]);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("total"));
    json_write_object(&w);
    json_write_key(&w, SPAN("tools"));
    json_write_uint(&w, costs->sum.n_tools);
    write_cost(&w, &costs->sum);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* ---- for people ---- */

static Span number_text(Arena *arena, size_t n)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%zu", n);

    return arena_copy(arena, span_make(text, (size_t)length));
}

static int costs_write_tools(const Costs *costs, size_t width, bool coloured, Arena *arena,
                             Bytes *out)
{
    static const ChartColumn columns[] = {{"tool", CHART_NAME, 0},
                                          {"bytes", CHART_NUMBER, 2},
                                          {"tokens", CHART_NUMBER, 0},
                                          {"to a model", CHART_NUMBER, 1},
                                          {"", CHART_BAR, 3}};
    ChartGrid grid;
    int r = 0;

    chart_grid_init(&grid, arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; r == 0 && i < costs->n_tools; i++) {
        const Cost *cost = &costs->tools[i];

        r = chart_grid_add(&grid,
                           (ChartCell[]){{.text = cost->name},
                                         {.text = number_text(arena, cost->n_bytes)},
                                         {.text = number_text(arena, cost->n_tokens)},
                                         {.text = number_text(arena, cost->n_model)},
                                         {.value = (double)cost->n_tokens, .tone = CHART_GOOD}});
    }
    return r != 0 ? r : chart_grid_write(&grid, width, coloured, out);
}

static int costs_write_servers(const Costs *costs, size_t width, bool coloured, Arena *arena,
                               Bytes *out)
{
    static const ChartColumn columns[] = {
        {"server", CHART_NAME, 0},   {"tools", CHART_NUMBER, 0},      {"bytes", CHART_NUMBER, 2},
        {"tokens", CHART_NUMBER, 0}, {"to a model", CHART_NUMBER, 1}, {"", CHART_BAR, 3}};
    ChartGrid grid;
    int r = 0;

    chart_grid_init(&grid, arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; r == 0 && i < costs->n_servers; i++) {
        const Cost *cost = &costs->servers[i];

        r = chart_grid_add(
            &grid, (ChartCell[]){{.text = cost->name.n > 0 ? cost->name : SPAN("(its own)")},
                                 {.text = number_text(arena, cost->n_tools)},
                                 {.text = number_text(arena, cost->n_bytes)},
                                 {.text = number_text(arena, cost->n_tokens)},
                                 {.text = number_text(arena, cost->n_model)},
                                 {.value = (double)cost->n_tokens, .tone = CHART_GOOD}});
    }
    r = r != 0 ? r : chart_grid_write(&grid, width, coloured, out);
    return r != 0 ? r : bytes_append_byte(out, '\n');
}

int tools_tokens_write(JsonValue tools, JsonValue origins, bool as_json, size_t width,
                       bool coloured, Arena *arena, Bytes *out)
{
    Costs costs;
    int r = costs_count(&costs, tools, origins, arena);

    if (r != 0) {
        return err_pass(r);
    }
    if (as_json) {
        r = costs_write_json(&costs, out);
        return r != 0 ? r : bytes_append_byte(out, '\n');
    }
    if (costs.n_servers > 1 || (costs.n_servers == 1 && costs.servers[0].name.n > 0)) {
        r = costs_write_servers(&costs, width, coloured, arena, out);
    }
    if (costs.n_tools > 0) {
        r = r != 0 ? r : costs_write_tools(&costs, width, coloured, arena, out);
    }
    return r != 0
               ? r
               : bytes_append_format(out,
                                     "%s%zu tool%s: %zu bytes, about %zu tokens, %zu of them to a "
                                     "model (name, description, input schema)\n",
                                     costs.n_tools > 0 ? "\n" : "", costs.sum.n_tools,
                                     costs.sum.n_tools == 1 ? "" : "s", costs.sum.n_bytes,
                                     costs.sum.n_tokens, costs.sum.n_model);
}

int tools_tokens_show(PeerSession *session, JsonValue tools, JsonValue origins, Arena *arena)
{
    const CliArgs *args = peer_session_args(session);
    Bytes out;
    int r;

    bytes_init(&out, TOKENS_OUTPUT_BYTES);
    r = tools_tokens_write(tools, origins, args->values[PEER_OPTION_JSON] != NULL,
                           table_terminal_width(stdout), cli_wants_colour(stdout), arena, &out);
    if (r == 0) {
        (void)fwrite(out.data, 1, out.n, stdout);
    }
    bytes_deinit(&out);
    return r == 0 ? CLI_EXIT_DONE : peer_session_no_memory(session);
}
