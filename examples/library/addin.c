/* An add-in: an application that agents cannot start, and that offers them its tools all the same.
 * It connects to a hub (`toolwire serve --pipe NAME`), and again whenever the hub comes back; what
 * it has is then one of the hub's sources. This one is a drawing board: a document that changes, a
 * picture of it that takes a while to render, and the document itself as a resource.
 *
 *     addin [PIPE]
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <toolwire/toolwire.h>

#define MAX_LINES 1000

typedef struct Line {
    int64_t from[2];
    int64_t to[2];
} Line;

/* Handlers all run on the thread that serves; but a rendering has a thread of its own. */
typedef struct Board {
    pthread_mutex_t lock;
    Line lines[MAX_LINES];
    size_t n_lines;
} Board;

/* Answered at once. */
static void draw_line(TwCall *call, void *user)
{
    Board *board = user;
    char answer[64];
    size_t n;

    pthread_mutex_lock(&board->lock);
    n = board->n_lines;
    if (n < MAX_LINES) {
        board->lines[n] = (Line){{tw_call_int(call, "/from/0", 0), tw_call_int(call, "/from/1", 0)},
                                 {tw_call_int(call, "/to/0", 0), tw_call_int(call, "/to/1", 0)}};
        board->n_lines++;
    }
    pthread_mutex_unlock(&board->lock);
    if (n == MAX_LINES) {
        tw_call_failed(call, "The board is full.");
        return;
    }
    snprintf(answer, sizeof(answer), "{\"line\":%zu}", n + 1);
    tw_call_structured(call, answer);
}

/* A call that is being worked on. */
typedef struct Rendering {
    TwCall *call;
    Board *board;
} Rendering;

static void *render_main(void *argument)
{
    Rendering *rendering = argument;
    TwCall *call = rendering->call;
    Board *board = rendering->board;
    /* The answer is at most as long as this. */
    size_t size = 128 + MAX_LINES * 128;
    char *svg = malloc(size);
    size_t n = 0;

    if (svg == NULL) {
        tw_call_failed(call, "no memory");
    } else {
        n += (size_t)snprintf(svg, size, "<svg xmlns='http://www.w3.org/2000/svg'>");
        pthread_mutex_lock(&board->lock);
        for (size_t i = 0; i < board->n_lines && !tw_call_is_cancelled(call); i++) {
            const Line *line = &board->lines[i];

            n += (size_t)snprintf(svg + n, size - n, "<path d='M%lld,%lld L%lld,%lld'/>",
                                  (long long)line->from[0], (long long)line->from[1],
                                  (long long)line->to[0], (long long)line->to[1]);
        }
        pthread_mutex_unlock(&board->lock);
        snprintf(svg + n, size - n, "</svg>");
        tw_call_text(call, svg);
    }
    free(svg);
    free(rendering);
    tw_call_done(call);
    return NULL;
}

/* Kept, and answered from another thread: this one stays free for the hub, which would take an
 * add-in that does not answer pings for dead. */
static void render(TwCall *call, void *user)
{
    Rendering *rendering = malloc(sizeof(*rendering));
    pthread_t thread;

    if (rendering == NULL || tw_call_keep(call) != 0) {
        free(rendering);
        tw_call_failed(call, "no memory");
        return;
    }
    *rendering = (Rendering){.call = call, .board = user};
    if (pthread_create(&thread, NULL, render_main, rendering) != 0) {
        free(rendering);
        tw_call_failed(call, "no thread");
        tw_call_done(call);
        return;
    }
    pthread_detach(thread);
}

static void read_board(TwCall *call, void *user)
{
    Board *board = user;

    pthread_mutex_lock(&board->lock);
    tw_call_textf(call, "%zu lines", board->n_lines);
    pthread_mutex_unlock(&board->lock);
}

static int add_all(TwServer *server, Board *board)
{
    const TwTool tools[] = {
        {.name = "board.draw_line",
         .description = "Draws a line from one point to another.",
         .input_schema =
             "{\"type\":\"object\",\"required\":[\"from\",\"to\"],\"properties\":{"
             "\"from\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":2,"
             "\"maxItems\":2},"
             "\"to\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":2,"
             "\"maxItems\":2}}}",
         .handler = draw_line,
         .user = board},
        {.name = "board.render",
         .description = "The board as SVG.",
         .annotations = TW_TOOL_READ_ONLY,
         .handler = render,
         .user = board},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++) {
        r = tw_server_add_tool(server, &tools[i]);
    }
    return r != 0 ? r
                  : tw_server_add_resource(server, &(TwResource){.uri = "board:/summary",
                                                                 .name = "summary",
                                                                 .description = "What is drawn.",
                                                                 .mime_type = "text/plain",
                                                                 .handler = read_board,
                                                                 .user = board});
}

static void print_state(void *user, TwAddinState state, const char *message)
{
    static const char *const words[] = {"connecting", "connected", "disconnected", "waiting",
                                        "stopped"};

    (void)user;
    printf("%s%s%s\n", words[state], message[0] != '\0' ? ": " : "", message);
    fflush(stdout);
}

static _Atomic(TwAddin *) running;

static void on_signal(int signum)
{
    (void)signum;
    tw_addin_stop(running);
}

static int run(TwServer *server, const char *pipe)
{
    struct sigaction action = {.sa_handler = on_signal};
    TwAddin *addin = NULL;
    int r = tw_addin_open(server, pipe, &(TwAddinOptions){.changed = print_state}, &addin);

    if (r == 0) {
        running = addin;
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        r = tw_addin_run(addin);
        running = NULL;
    }
    tw_addin_close(addin);
    return r;
}

int main(int argc, char **argv)
{
    static Board board = {.lock = PTHREAD_MUTEX_INITIALIZER};
    TwServer *server = tw_server_new("board", "1.0");
    int r = add_all(server, &board);

    if (r == 0) {
        r = run(server, argc > 1 ? argv[1] : "toolwire");
    }
    if (r != 0) {
        fprintf(stderr, "addin: %s\n", tw_server_message(server));
    }
    tw_server_free(server);
    return r == 0 ? 0 : 1;
}
