#include "peer/auth_listener.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/http_server.h"

#define LISTENER_PATH "/callback"

/* More than one person's browser opens. */
#define LISTENER_CONNECTIONS 16
#define LISTENER_BODY_BYTES  1024

struct PeerAuthListener {
    IoHttpServer *server;
    PeerAuthCame (*came)(void *context, Span query);
    void *context;
    bool is_used; /* the redirect has come */
    bool is_stopped;
    char uri[64];
    char authority[32];
};

static int listener_answer(IoHttpExchange *x, unsigned status, const char *title, const char *text)
{
    static const Http1Field fields[] = {
        {SPAN_INIT("Content-Type"), SPAN_INIT("text/html; charset=utf-8")},
        {SPAN_INIT("Cache-Control"), SPAN_INIT("no-store")},
        {SPAN_INIT("Content-Security-Policy"),
         SPAN_INIT("default-src 'none'; style-src 'unsafe-inline'")},
        /* The address holds the code, which goes no further. */
        {SPAN_INIT("Referrer-Policy"), SPAN_INIT("no-referrer")},
    };
    char body[1024];

    (void)snprintf(
        body, sizeof(body),
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>toolwire</title>"
        "<body style=\"font-family:sans-serif;margin:4em\"><h1>%s</h1><p>%s</p></body>"
        "</html>\n",
        title, text);
    return io_http_respond(x, status, fields, TW_ARRAY_SIZE(fields), span_from_str(body));
}

static void listener_request(void *context, IoHttpExchange *x, Span body)
{
    PeerAuthListener *listener = (PeerAuthListener *)context;
    const Http1Head *head = io_http_head(x);
    PeerAuthCame came;

    (void)body;
    /* Under another name we are somebody's trick with DNS. */
    if (!span_equals(head->authority, span_from_str(listener->authority)) ||
        !span_equals(head->path, SPAN(LISTENER_PATH))) {
        (void)listener_answer(x, 404, "Not here", "There is nothing at this address.");
        return;
    }
    if (!span_equals(head->method_name, SPAN("GET"))) {
        (void)listener_answer(x, 405, "Not so", "Only a browser comes here.");
        return;
    }
    if (listener->is_used) {
        (void)listener_answer(x, 410, "Over", "This address was used.");
        return;
    }
    came = listener->came(listener->context, head->query);
    if (came == PEER_AUTH_CAME_STRANGER) {
        (void)listener_answer(x, 400, "Not ours",
                              "This is not the answer that is waited for. Nothing was done.");
        return;
    }
    listener->is_used = true;
    if (came == PEER_AUTH_CAME_OURS) {
        (void)listener_answer(x, 200, "Thank you", "toolwire goes on. You may close this page.");
    } else {
        (void)listener_answer(x, 200, "That did not work",
                              "toolwire says why where it was started. You may close this page.");
    }
}

static void listener_gone(void *context, IoHttpExchange *x)
{
    (void)context;
    (void)x;
}

static const IoHttpOps listener_ops = {.request = listener_request, .gone = listener_gone};

int peer_auth_listener_new(PeerAuthListener **ret, IoLoop *loop, unsigned port,
                           PeerAuthCame (*came)(void *context, Span query), void *context,
                           Diag *reterr_diag)
{
    PeerAuthListener *listener = mem_alloc_array(1, sizeof(*listener));
    char address[32];
    int r;

    if (listener == NULL) {
        return err_raise(-ENOMEM);
    }
    listener->came = came;
    listener->context = context;
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    r = io_http_server_new(&listener->server,
                           &(IoHttpConfig){.loop = loop,
                                           .address = address,
                                           .ops = &listener_ops,
                                           .context = listener,
                                           .limits = {.max_body_bytes = LISTENER_BODY_BYTES,
                                                      .max_connections = LISTENER_CONNECTIONS}},
                           reterr_diag);
    if (r != 0) {
        mem_free(listener);
        return r > 0 ? PEER_AUTH_LISTENER_E_PLACE : err_pass(r);
    }
    (void)snprintf(listener->authority, sizeof(listener->authority), "127.0.0.1:%u",
                   io_http_server_port(listener->server));
    (void)snprintf(listener->uri, sizeof(listener->uri), "http://%s" LISTENER_PATH,
                   listener->authority);
    *ret = listener;
    return 0;
}

const char *peer_auth_listener_uri(const PeerAuthListener *listener)
{
    return listener->uri;
}

static void listener_stopped(void *context)
{
    (void)context;
}

void peer_auth_listener_stop(PeerAuthListener *listener)
{
    listener->is_used = true;
    if (!listener->is_stopped) {
        listener->is_stopped = true;
        io_http_server_stop(listener->server, listener_stopped);
    }
}

PeerAuthListener *peer_auth_listener_free(PeerAuthListener *listener)
{
    if (listener != NULL) {
        (void)io_http_server_free(listener->server);
        mem_free(listener);
    }
    return NULL;
}
