#include "e2e/gateway_clients.h"

#include "support/cmocka.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"

#define PAUSE_MS     50 /* of a client between calls */
#define N_SLOTS      4  /* calls that a client of the socket has open */
#define READ_BYTES   ((size_t)64 * 1024)
#define CHAOTIC_EACH 5 /* one client in so many calls servers that misbehave */
#define LIST_EACH    64
#define NS_PER_MS    1000000u

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"                   \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef enum Door {
    DOOR_MODERN,
    DOOR_LEGACY,
    DOOR_SOCKET
} Door;

/* One call; its id is "CLIENT.SEQ". */
typedef struct Slot {
    bool is_open;
    bool is_list;
    size_t seq;
    uint64_t begun_ns;
    uint64_t due_ns; /* the next one, when it is not open */
} Slot;

typedef struct Client {
    size_t number;
    Door door;
    bool is_chaotic;
    int fd;
    char session[128];
    char *in;
    size_t n_in;
    size_t cap;
    size_t last_seq;
    Slot slots[N_SLOTS];
    size_t n_slots;
} Client;

struct GatewayClients {
    GatewayClientsConfig config;
    Client *clients;
    size_t n;
    struct pollfd *fds;
    bool is_chaotic;
    uint64_t random;
    GatewayCounts counts;
    uint64_t *times; /* in microseconds */
    size_t n_times;
    size_t cap_times;
};

static uint64_t next_random(GatewayClients *all)
{
    all->random = all->random * 6364136223846793005u + 1442695040888963407u;
    return all->random >> 33;
}

/* ---- requests ---- */

static void send_http(const GatewayClients *all, const Client *client, const char *method,
                      const char *name, const char *body)
{
    char *head = NULL;

    assert_true(asprintf(&head,
                         "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                         "Content-Type: application/json\r\n"
                         "Accept: application/json, text/event-stream\r\n"
                         "MCP-Protocol-Version: %s\r\n%s%s\r\n%s%s%s"
                         "Content-Length: %zu\r\n\r\n%s",
                         all->config.hub->port,
                         client->door == DOOR_MODERN ? "2026-07-28" : "2025-11-25",
                         client->door == DOOR_MODERN ? "Mcp-Method: " : "Mcp-Session-Id: ",
                         client->door == DOOR_MODERN ? method : client->session,
                         name == NULL || client->door != DOOR_MODERN ? "" : "Mcp-Name: ",
                         name == NULL || client->door != DOOR_MODERN ? "" : name,
                         name == NULL || client->door != DOOR_MODERN ? "" : "\r\n", strlen(body),
                         body) > 0);
    assert_true(http_send_text(client->fd, head));
    free(head);
}

static void send_request(const GatewayClients *all, const Client *client, const char *method,
                         const char *name, const char *body)
{
    if (client->door == DOOR_SOCKET) {
        assert_true(http_send_text(client->fd, body));
        assert_true(http_send_text(client->fd, "\n"));
    } else {
        send_http(all, client, method, name, body);
    }
}

/* What a server that misbehaves is asked for: half of it harmless. */
static const char *chaotic_tool(GatewayClients *all)
{
    static const char *const tools[] = {"die",     "leave", "mute",   "stall",  "garbage",
                                        "garbage", "noise", "noise",  "change", "change",
                                        "twice",   "twice", "endless"};
    uint64_t random = next_random(all);

    return random % 2 == 0 ? "echo" : tools[random / 2 % TW_ARRAY_SIZE(tools)];
}

static void begin_call(GatewayClients *all, Client *client, Slot *slot)
{
    bool is_modern = client->door == DOOR_MODERN;
    size_t n_servers = client->is_chaotic ? all->config.n_chaotic : all->config.n_healthy;
    const char *tool = client->is_chaotic && all->is_chaotic ? chaotic_tool(all) : "echo";
    char name[64];
    char body[768];

    slot->is_open = true;
    slot->is_list = client->is_chaotic && next_random(all) % LIST_EACH == 0;
    slot->seq = ++client->last_seq;
    (void)snprintf(name, sizeof(name), "%c%zu__%s", client->is_chaotic ? 'c' : 'h',
                   (size_t)next_random(all) % n_servers, tool);
    if (slot->is_list) {
        (void)snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",\"id\":\"%zu.%zu\",\"method\":\"tools/list\","
                       "\"params\":{%s}}",
                       client->number, slot->seq, is_modern ? META : "");
    } else {
        (void)snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",\"id\":\"%zu.%zu\",\"method\":\"tools/call\","
                       "\"params\":{\"name\":\"%s\",\"arguments\":{\"message\":"
                       "\"of %zu, %zu: 1.0\"}%s}}",
                       client->number, slot->seq, name, client->number, slot->seq,
                       is_modern ? "," META : "");
    }
    all->counts.n_calls++;
    slot->begun_ns = clock_monotonic_ns();
    send_request(all, client, slot->is_list ? "tools/list" : "tools/call",
                 slot->is_list ? NULL : name, body);
}

/* ---- answers ---- */

static void keep_time(GatewayClients *all, const Slot *slot)
{
    if (all->n_times == all->cap_times) {
        all->cap_times = all->cap_times == 0 ? 4096 : 2 * all->cap_times;
        all->times = realloc(all->times, all->cap_times * sizeof(*all->times));
        assert_non_null(all->times);
    }
    all->times[all->n_times++] = (clock_monotonic_ns() - slot->begun_ns) / 1000;
}

static void judge(GatewayClients *all, const Client *client, const Slot *slot, const char *text)
{
    char wanted[96];
    bool is_right;

    (void)snprintf(wanted, sizeof(wanted), "\"text\":\"of %zu, %zu: 1.0\"", client->number,
                   slot->seq);
    is_right = strstr(text, slot->is_list ? "\"tools\":[" : wanted) != NULL;
    if (is_right) {
        if (!client->is_chaotic) {
            keep_time(all, slot);
        }
    } else if (client->is_chaotic &&
               (strstr(text, "\"error\":") != NULL || strstr(text, "\"isError\":true") != NULL)) {
        all->counts.n_errors++;
    } else {
        all->counts.n_wrong++;
        printf("wrong answer: %.400s\n", text);
    }
}

static void take_id(GatewayClients *all, Client *client, const char *id, const char *text)
{
    size_t number;
    size_t seq;

    if (sscanf(id, "%zu.%zu\"", &number, &seq) == 2 && number == client->number) {
        for (size_t i = 0; i < client->n_slots; i++) {
            Slot *slot = &client->slots[i];

            if (slot->is_open && slot->seq == seq) {
                all->counts.n_answers++;
                judge(all, client, slot, text);
                slot->is_open = false;
                slot->due_ns = clock_monotonic_ns() + PAUSE_MS * NS_PER_MS;
                return;
            }
        }
    }
    all->counts.n_extra++;
    printf("an answer too many: %.400s\n", text);
}

/* Every id in it: a stream may hold several messages. The servers' texts have no such member. */
static void take_message(GatewayClients *all, Client *client, const char *text)
{
    static const char name[] = "\"id\":\"";
    const char *at = text;

    while ((at = strstr(at, name)) != NULL) {
        at += sizeof(name) - 1;
        take_id(all, client, at, text);
    }
}

/* The length of the answer that the input begins with; 0: it is not whole yet. */
static size_t answer_bytes(const Client *client)
{
    static const char length[] = "\r\nContent-Length: ";
    const char *end;
    const char *at;
    size_t n;

    if (client->door == DOOR_SOCKET) {
        end = memchr(client->in, '\n', client->n_in);
        return end == NULL ? 0 : (size_t)(end - client->in) + 1;
    }
    end = memmem(client->in, client->n_in, "\r\n\r\n", 4);
    if (end == NULL) {
        return 0;
    }
    end += 4;
    n = (size_t)(end - client->in);
    at = memmem(client->in, n, length, sizeof(length) - 1);
    if (at != NULL) {
        n += strtoul(at + sizeof(length) - 1, NULL, 10);
        return n <= client->n_in ? n : 0;
    }
    /* In pieces: the last one is empty. */
    end = memmem(client->in, client->n_in, "\r\n0\r\n\r\n", 7);
    return end == NULL ? 0 : (size_t)(end - client->in) + 7;
}

static void take_input(GatewayClients *all, Client *client)
{
    size_t n;

    while (client->n_in > 0 && (n = answer_bytes(client)) > 0) {
        char *text = strndup(client->in, n);

        assert_non_null(text);
        take_message(all, client, text);
        free(text);
        client->n_in -= n;
        memmove(client->in, client->in + n, client->n_in);
    }
}

static void read_some(Client *client)
{
    ssize_t n;

    if (client->cap - client->n_in < READ_BYTES) {
        client->cap = client->n_in + 2 * READ_BYTES;
        client->in = realloc(client->in, client->cap);
        assert_non_null(client->in);
    }
    n = recv(client->fd, client->in + client->n_in, READ_BYTES, MSG_DONTWAIT);
    assert_true(n > 0 || (n < 0 && errno == EAGAIN)); /* the hub does not hang up */
    client->n_in += n > 0 ? (size_t)n : 0;
}

/* ---- the loop ---- */

/* Begins what is due; returns when the next one is. */
static uint64_t begin_due(GatewayClients *all, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;

    for (size_t i = 0; i < all->n; i++) {
        Client *client = &all->clients[i];

        for (size_t k = 0; k < client->n_slots; k++) {
            Slot *slot = &client->slots[k];

            if (!slot->is_open && slot->due_ns <= now_ns) {
                begin_call(all, client, slot);
            } else if (!slot->is_open && slot->due_ns < next_ns) {
                next_ns = slot->due_ns;
            }
        }
    }
    return next_ns;
}

static void wait_for_input(GatewayClients *all, uint64_t until_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    int wait_ms = until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / NS_PER_MS) + 1;

    for (size_t i = 0; i < all->n; i++) {
        all->fds[i] = (struct pollfd){.fd = all->clients[i].fd, .events = POLLIN};
    }
    if (poll(all->fds, (nfds_t)all->n, wait_ms) <= 0) {
        return;
    }
    for (size_t i = 0; i < all->n; i++) {
        if (all->fds[i].revents != 0) {
            read_some(&all->clients[i]);
            take_input(all, &all->clients[i]);
        }
    }
}

void gateway_clients_run(GatewayClients *all, int64_t ms, bool is_chaotic,
                         void (*tick)(void *context), int64_t tick_ms, void *context)
{
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)ms * NS_PER_MS;
    uint64_t tick_ns = 0;
    uint64_t hang_ns;
    uint64_t now_ns;

    all->is_chaotic = is_chaotic;
    while ((now_ns = clock_monotonic_ns()) < end_ns) {
        uint64_t next_ns = begin_due(all, now_ns);

        if (tick != NULL && now_ns >= tick_ns) {
            tick(context);
            tick_ns = now_ns + (uint64_t)tick_ms * NS_PER_MS;
        }
        next_ns = tick != NULL && tick_ns < next_ns ? tick_ns : next_ns;
        wait_for_input(all, next_ns < end_ns ? next_ns : end_ns);
    }
    hang_ns = now_ns + (uint64_t)HTTP_HANG_MS * NS_PER_MS;
    while (all->counts.n_answers < all->counts.n_calls && clock_monotonic_ns() < hang_ns) {
        wait_for_input(all, hang_ns);
    }
}

/* ---- their beginning and end ---- */

static int connect_socket(const HttpProcess *hub)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(hub->socket) < sizeof(address.sun_path));
    memcpy(address.sun_path, hub->socket, strlen(hub->socket) + 1);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* The next answer, whole; free() it. */
static char *wait_for_answer(Client *client)
{
    char *text;
    size_t n;

    while (client->n_in == 0 || (n = answer_bytes(client)) == 0) {
        struct pollfd ready = {.fd = client->fd, .events = POLLIN};

        assert_int_equal(poll(&ready, 1, HTTP_HANG_MS), 1);
        read_some(client);
    }
    text = strndup(client->in, n);
    assert_non_null(text);
    client->n_in -= n;
    memmove(client->in, client->in + n, client->n_in);
    return text;
}

static void open_session(const GatewayClients *all, Client *client)
{
    static const char initialize[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";
    static const char initialized[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
    static const char session[] = "\r\nMcp-Session-Id: ";
    char *head = NULL;
    char *answer;
    const char *at;

    if (client->door == DOOR_SOCKET) {
        send_request(all, client, "initialize", NULL, initialize);
        free(wait_for_answer(client));
        send_request(all, client, "initialized", NULL, initialized);
        return;
    }
    assert_true(asprintf(&head,
                         "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: "
                         "application/json\r\nAccept: application/json, text/event-stream\r\n"
                         "Content-Length: %zu\r\n\r\n%s",
                         all->config.hub->port, strlen(initialize), initialize) > 0);
    assert_true(http_send_text(client->fd, head));
    free(head);
    answer = wait_for_answer(client);
    at = strcasestr(answer, session);
    assert_non_null(at);
    at += sizeof(session) - 1;
    (void)snprintf(client->session, sizeof(client->session), "%.*s", (int)strcspn(at, "\r"), at);
    free(answer);
    send_request(all, client, "initialized", NULL, initialized);
    free(wait_for_answer(client));
}

static void open_client(GatewayClients *all, size_t i)
{
    Client *client = &all->clients[i];
    uint64_t now_ns = clock_monotonic_ns();

    client->number = i;
    client->is_chaotic = i % CHAOTIC_EACH == 0;
    client->door = i >= all->config.n_http ? DOOR_SOCKET : i % 2 == 0 ? DOOR_MODERN : DOOR_LEGACY;
    client->n_slots = client->door == DOOR_SOCKET ? N_SLOTS : 1;
    client->fd = client->door == DOOR_SOCKET ? connect_socket(all->config.hub)
                                             : http_connect(all->config.hub, false);
    if (client->door != DOOR_MODERN) {
        open_session(all, client);
    }
    for (size_t k = 0; k < client->n_slots; k++) {
        client->slots[k].due_ns = now_ns + next_random(all) % PAUSE_MS * NS_PER_MS;
    }
}

GatewayClients *gateway_clients_new(const GatewayClientsConfig *config)
{
    GatewayClients *all = calloc(1, sizeof(*all));

    assert_non_null(all);
    all->config = *config;
    all->random = config->seed;
    all->n = config->n_http + config->n_socket;
    all->clients = calloc(all->n, sizeof(*all->clients));
    all->fds = calloc(all->n, sizeof(*all->fds));
    assert_non_null(all->clients);
    assert_non_null(all->fds);
    for (size_t i = 0; i < all->n; i++) {
        open_client(all, i);
    }
    return all;
}

GatewayClients *gateway_clients_free(GatewayClients *all)
{
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        (void)close(all->clients[i].fd);
        free(all->clients[i].in);
    }
    if (all != NULL) {
        free(all->clients);
        free(all->fds);
        free(all->times);
    }
    free(all);
    return NULL;
}

/* ---- those who ask ---- */

bool gateway_clients_try(GatewayClients *all, const char *server)
{
    Client *client = &all->clients[0]; /* modern */
    char name[64];
    char body[640];
    bool is_right;
    char *answer;

    (void)snprintf(name, sizeof(name), "%s__echo", server);
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":\"try\",\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"%s\",\"arguments\":{\"message\":\"tried\"}," META "}}",
                   name);
    send_request(all, client, "tools/call", name, body);
    answer = wait_for_answer(client);
    is_right = strstr(answer, "\"text\":\"tried\"") != NULL;
    free(answer);
    return is_right;
}

GatewayCounts gateway_clients_counts(const GatewayClients *all)
{
    return all->counts;
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return (*x > *y) - (*x < *y);
}

uint64_t gateway_clients_p99(GatewayClients *all, size_t *ret_n)
{
    uint64_t p99 = 0;

    if (all->n_times > 0) {
        qsort(all->times, all->n_times, sizeof(*all->times), compare_times);
        p99 = all->times[all->n_times * 99 / 100];
    }
    *ret_n = all->n_times;
    all->n_times = 0;
    return p99;
}
