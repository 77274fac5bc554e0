#include "cli/chat_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "io/program.h"

/* Ten pictures a second, none for what is over before a person looks. */
#define VIEW_FIRST_MS 200
#define VIEW_NEXT_MS  100

/* A terminal that does not say how wide it is. */
#define VIEW_COLUMNS 80

/* Of a tool's input, or of what it said when it failed. */
#define VIEW_INPUT_BYTES 120
#define VIEW_ERROR_BYTES 400

static const char *const view_frames[] = {"\u280b", "\u2819", "\u2839", "\u2838", "\u283c",
                                          "\u2834", "\u2826", "\u2827", "\u2807", "\u280f"};

static const char *view_paint(const ChatView *view, const char *colour)
{
    return view->is_coloured ? colour : "";
}

/* ---- text ---- */

const char *chat_view_plain(ChatView *view, Span text, size_t max)
{
    Plain plain = PLAIN_NULL;
    Bytes *out = &view->text;
    bool is_cut = text.n > max;

    /* Between two letters. */
    while (is_cut && max > 0 && ((unsigned char)text.p[max] & 0xC0) == 0x80) {
        max--;
    }
    bytes_clear(out);
    (void)plain_feed(&plain, is_cut ? span_make(text.p, max) : text, out);
    for (size_t i = 0; i < out->n; i++) {
        if (out->data[i] == '\n' || out->data[i] == '\t') {
            out->data[i] = ' ';
        }
    }
    (void)bytes_append_span(out, is_cut ? SPAN(" \u2026") : SPAN_NULL);
    if (bytes_append_byte(out, '\0') != 0) {
        return "";
    }
    return out->data;
}

/* The first so many letters of a line. */
static int view_fit(const char *line, size_t n_letters)
{
    const char *p = line;

    while (*p != '\0' && n_letters > 0) {
        p++;
        while (((unsigned char)*p & 0xC0) == 0x80) {
            p++;
        }
        n_letters--;
    }
    return (int)(p - line);
}

/* ---- the status line ---- */

static void view_wipe(ChatView *view)
{
    if (view->has_status) {
        fputs("\r\033[K", stderr);
        view->has_status = false;
    }
}

void chat_view_clear(ChatView *view)
{
    view_wipe(view);
    if (view->is_line_begun && view->is_out_terminal && !view->is_json) {
        fputc('\n', stdout);
        view->is_line_begun = false;
    }
    (void)fflush(stdout);
    (void)fflush(stderr);
}

static const ChatViewTool *view_first_tool(const ChatView *view, size_t *ret_n)
{
    const ChatViewTool *first = NULL;

    *ret_n = 0;
    for (size_t i = 0; i < CHAT_VIEW_TOOLS; i++) {
        if (view->tools[i].id[0] != '\0') {
            first = first == NULL || view->tools[i].began_ms < first->began_ms ? &view->tools[i]
                                                                               : first;
            (*ret_n)++;
        }
    }
    return first;
}

static void view_draw(ChatView *view)
{
    int columns = io_terminal_columns(fileno(stderr));
    int64_t now_ms = io_loop_now_ms(view->loop);
    size_t n_tools = 0;
    const ChatViewTool *tool = view_first_tool(view, &n_tools);
    int64_t ms = now_ms - (tool != NULL ? tool->began_ms : view->began_ms);
    const char *words = tool != NULL ? tool->line : "thinking";
    char more[32] = "";
    size_t room = (size_t)(columns > 0 ? columns : VIEW_COLUMNS);

    if (n_tools > 1) {
        (void)snprintf(more, sizeof(more), " and %zu more", n_tools - 1);
    }
    /* The spinner, the seconds, and the last column, where some terminals wrap. */
    room = room > strlen(more) + 16 ? room - strlen(more) - 16 : 1;
    (void)fflush(stdout);
    fprintf(stderr, "\r\033[K%s%s%s %.*s%s %lld.%lld s", view_paint(view, "\033[36m"),
            view_frames[view->n_frames++ % TW_ARRAY_SIZE(view_frames)], view_paint(view, "\033[0m"),
            view_fit(words, room), words, more, (long long)(ms / 1000),
            (long long)(ms % 1000 / 100));
    (void)fflush(stderr);
    view->has_status = true;
}

static void view_on_timer(void *context)
{
    ChatView *view = context;

    /* A line of the answer that is not finished must not be wiped. */
    if (view->is_busy && !(view->is_line_begun && view->is_out_terminal)) {
        view_draw(view);
    }
    io_timer_start_at(view->timer, io_loop_now_ms(view->loop) + VIEW_NEXT_MS);
}

/* The clock of what is shown begins anew. */
static void view_restart(ChatView *view)
{
    view->began_ms = io_loop_now_ms(view->loop);
    view->n_frames = 0;
    if (view->is_lively && !view->is_json) {
        io_timer_start_at(view->timer, view->began_ms + VIEW_FIRST_MS);
    }
}

/* ---- life ---- */

static void view_on_settle(void *context)
{
    (void)context;
    (void)fflush(stdout);
}

int chat_view_init(ChatView *view, IoLoop *loop, bool is_json)
{
    const char *term = getenv("TERM");
    int r;

    *view = (ChatView){.loop = loop, .is_json = is_json, .plain = PLAIN_NULL};
    view->is_lively = io_terminal_is(fileno(stderr)) && term != NULL && strcmp(term, "dumb") != 0;
    view->is_coloured = view->is_lively && cli_wants_colour(stderr);
    view->is_out_terminal = io_terminal_is(fileno(stdout));
    bytes_init(&view->text, LIMIT_AGENT_LINE_BYTES + 64);
    r = io_timer_new(&view->timer, loop, true, view_on_timer, view);
    return r != 0 ? r : io_before_wait_new(&view->settle, loop, view_on_settle, view);
}

void chat_view_deinit(ChatView *view)
{
    view->timer = io_timer_free(view->timer);
    view->settle = io_before_wait_free(view->settle);
    bytes_deinit(&view->text);
}

void chat_view_begin(ChatView *view)
{
    memset(view->tools, 0, sizeof(view->tools));
    view->plain = PLAIN_NULL;
    view->is_busy = true;
    view_restart(view);
}

void chat_view_end(ChatView *view)
{
    view->is_busy = false;
    io_timer_stop(view->timer);
    view_wipe(view);
    if (view->is_line_begun && !view->is_json) {
        fputc('\n', stdout);
        view->is_line_begun = false;
    }
    (void)fflush(stdout);
}

/* ---- what comes ---- */

static void view_token(ChatView *view, Span token)
{
    Bytes *out = &view->text;

    if (token.n == 0) {
        return; /* the agent says that it is there */
    }
    view_wipe(view);
    if (view->is_out_terminal) {
        bytes_clear(out);
        (void)plain_feed(&view->plain, token, out);
        token = bytes_span(out);
    }
    if (token.n > 0) {
        (void)fwrite(token.p, 1, token.n, stdout);
        view->is_line_begun = token.p[token.n - 1] != '\n';
    }
    view_restart(view);
}

static ChatViewTool *view_find_tool(ChatView *view, Span id)
{
    for (size_t i = 0; i < CHAT_VIEW_TOOLS; i++) {
        ChatViewTool *tool = &view->tools[i];
        size_t n = strlen(tool->id);

        if (n == (id.n < sizeof(tool->id) ? id.n : sizeof(tool->id) - 1) &&
            (n == 0 || memcmp(tool->id, id.p, n) == 0)) {
            return tool;
        }
    }
    return NULL;
}

static void view_tool_begin(ChatView *view, const AgentTool *used)
{
    ChatViewTool *tool = view_find_tool(view, SPAN_NULL);
    bool has_input = used->input.n > 0 && !span_equals(used->input, SPAN("{}"));
    char name[VIEW_INPUT_BYTES + 8];

    chat_view_clear(view);
    if (tool == NULL) {
        return;
    }
    (void)snprintf(name, sizeof(name), "%s", chat_view_plain(view, used->name, VIEW_INPUT_BYTES));
    (void)snprintf(tool->id, sizeof(tool->id), "%.*s",
                   (int)(used->id.n < sizeof(tool->id) ? used->id.n : sizeof(tool->id) - 1),
                   used->id.p);
    (void)snprintf(tool->line, sizeof(tool->line), "%s%s%s", name, has_input ? " " : "",
                   has_input ? chat_view_plain(view, used->input, VIEW_INPUT_BYTES) : "");
    tool->began_ms = io_loop_now_ms(view->loop);
    view_restart(view);
}

/* One line of what has happened stays on the terminal. */
static void view_tool_end(ChatView *view, const AgentResponse *response)
{
    ChatViewTool *tool = view_find_tool(view, response->tool.id);
    bool is_error = response->is_tool_error;
    int64_t now_ms = io_loop_now_ms(view->loop);
    int64_t ms = tool != NULL ? now_ms - tool->began_ms : 0;
    char line[sizeof(tool->line)];

    chat_view_clear(view);
    (void)snprintf(line, sizeof(line), "%s",
                   tool != NULL ? tool->line
                                : chat_view_plain(view, response->tool.name, VIEW_INPUT_BYTES));
    if (tool != NULL) {
        tool->id[0] = '\0';
    }
    if (view->is_lively) {
        fprintf(stderr, "%s%s%s %s %s%lld.%lld s%s%s%s\n",
                view_paint(view, is_error ? "\033[31m" : "\033[32m"),
                is_error ? "\u2717" : "\u2713", view_paint(view, "\033[0m"), line,
                view_paint(view, "\033[2m"), (long long)(ms / 1000), (long long)(ms % 1000 / 100),
                is_error ? ": " : "",
                is_error ? chat_view_plain(view, response->tool.error, VIEW_ERROR_BYTES) : "",
                view_paint(view, "\033[0m"));
    }
    view_restart(view);
}

void chat_view_tool_answered(ChatView *view, Span id)
{
    ChatViewTool *tool = view_find_tool(view, id);

    if (tool != NULL) {
        tool->began_ms = io_loop_now_ms(view->loop);
    }
}

/* What a tool says of itself stands beside its name. */
static void view_tool_progress(ChatView *view, const AgentTool *used)
{
    ChatViewTool *tool = view_find_tool(view, used->id);
    char name[VIEW_INPUT_BYTES + 8];

    if (tool == NULL || used->message.n == 0) {
        return;
    }
    (void)snprintf(name, sizeof(name), "%s", chat_view_plain(view, used->name, VIEW_INPUT_BYTES));
    (void)snprintf(tool->line, sizeof(tool->line), "%s: %s", name,
                   chat_view_plain(view, used->message, VIEW_INPUT_BYTES));
}

void chat_view_response(ChatView *view, const AgentResponse *response)
{
    if (view->is_json) {
        return; /* chat_view_line has shown it */
    }
    switch (response->type) {
    case AGENT_TYPE_TOKEN:
        view_token(view, response->token);
        break;
    case AGENT_TYPE_TOOL_USE:
        view_tool_begin(view, &response->tool);
        break;
    case AGENT_TYPE_TOOL_RESULT:
        view_tool_end(view, response);
        break;
    case AGENT_TYPE_TOOL_PROGRESS:
        view_tool_progress(view, &response->tool);
        break;
    default:
        break;
    }
}

void chat_view_line(ChatView *view, Span line)
{
    if (view->is_json) {
        (void)fwrite(line.p, 1, line.n, stdout);
        fputc('\n', stdout);
    }
}

void chat_view_say(ChatView *view, const char *format, ...)
{
    va_list list;

    chat_view_clear(view);
    fputs("toolwire chat: ", stderr);
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}
