/* An application with an add-in of its own, by the library: library_addin PIPE. Its one tool
 * answers from another thread. */
#include <pthread.h>
#include <stdio.h>
#include <toolwire/toolwire.h>

static void *answer_main(void *context)
{
    TwCall *call = context;

    (void)tw_call_textf(call, "%s, %zu", "from a thread", sizeof(void *));
    tw_call_done(call);
    return NULL;
}

static void on_hello(TwCall *call, void *user)
{
    pthread_attr_t detached;
    pthread_t thread;
    int r;

    (void)user;
    if (tw_call_keep(call) != 0) {
        (void)tw_call_failed(call, "it cannot be kept");
        return;
    }
    /* Detached from its beginning: winpthreads may lose a thread that is detached while it starts.
     */
    (void)pthread_attr_init(&detached);
    (void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &detached, answer_main, call);
    (void)pthread_attr_destroy(&detached);
    if (r != 0) {
        (void)tw_call_failed(call, "no thread");
        tw_call_done(call);
    }
}

int main(int argc, char **argv)
{
    TwServer *server = tw_server_new("application", "1.0");
    TwAddin *addin = NULL;
    int r = tw_server_add_tool(
        server,
        &(TwTool){.name = "library.hello", .description = "Says hello.", .handler = on_hello});

    if (r == 0) {
        r = tw_addin_open(server, argc > 1 ? argv[1] : "toolwire", NULL, &addin);
    }
    if (r == 0) {
        r = tw_addin_run(addin);
    }
    if (r != 0) {
        fprintf(stderr, "library_addin: %s\n", tw_server_message(server));
    }
    tw_addin_close(addin);
    (void)tw_server_free(server);
    return r == 0 ? 0 : 1;
}
