/* A tool that takes its time: a thread does the work, reports progress, stops when the client has
 * lost interest, and answers. Meanwhile the server answers everybody else. */
#include <pthread.h>
#include <stdio.h>
#include <toolwire/toolwire.h>

static int is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++) {
        if (n % d == 0) {
            return 0;
        }
    }
    return n > 1;
}

static void *count_primes(void *argument)
{
    TwCall *call = argument;
    int64_t below = tw_call_int(call, "below", 100);
    int64_t step = below / 10 + 1;
    int64_t n_primes = 0;

    for (int64_t n = 0; n < below && !tw_call_is_cancelled(call); n++) {
        n_primes += is_prime(n);
        if (n % step == 0) {
            tw_call_progress(call, (double)n, (double)below, NULL);
        }
    }
    tw_call_textf(call, "There are %lld primes below %lld.", (long long)n_primes, (long long)below);
    tw_call_done(call);
    return NULL;
}

static void primes(TwCall *call, void *user)
{
    pthread_t thread;

    (void)user;
    if (tw_call_keep(call) != 0) {
        tw_call_failed(call, "no memory");
        return;
    }
    if (pthread_create(&thread, NULL, count_primes, call) != 0) {
        tw_call_failed(call, "no thread");
        tw_call_done(call);
        return;
    }
    pthread_detach(thread);
}

int main(void)
{
    TwServer *server = tw_server_new("primes", "1.0");
    int r = tw_server_add_tool(
        server, &(TwTool){.name = "primes",
                          .description = "Counts prime numbers",
                          .input_schema = "{\"type\":\"object\",\"required\":[\"below\"],"
                                          "\"properties\":{\"below\":{\"type\":\"integer\"}}}",
                          .annotations = TW_TOOL_READ_ONLY,
                          .handler = primes});

    if (r == 0) {
        r = tw_server_serve_stdio(server);
    }
    if (r != 0) {
        fprintf(stderr, "async_tool: %s\n", tw_server_message(server));
    }
    tw_server_free(server);
    return r == 0 ? 0 : 1;
}
