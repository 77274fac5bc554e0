#include "cli/up_text.h"

#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "app/version.h"
#include "base/compiler.h"
#include "json/writer.h"

/* Of the server in clients' configurations. */
#define UP_TEXT_NAME "toolwire"

/* Where a client takes the token from, in its own words. */
#define UP_TEXT_TOKEN_CURSOR "Bearer ${env:TOOLWIRE_TOKEN}"
#define UP_TEXT_TOKEN_VSCODE "Bearer ${input:toolwire-token}"
#define UP_TEXT_TOKEN_SHELL  "Authorization: Bearer YOUR_TOKEN"

typedef struct UpText {
    const UpFacts *facts;
    const UpTextWith *with;
    char url[640]; /* of MCP, from this machine; "": not by TCP */
    char base[512];
    bool is_everywhere; /* every address of this machine listens */
} UpText;

/* A host that means "everywhere" is reached by the loopback address. */
static void text_make_urls(UpText *text)
{
    static const struct {
        const char *wide;
        const char *near;
    } hosts[] = {{"0.0.0.0:", "127.0.0.1:"}, {"[::]:", "[::1]:"}};
    const char *address = text->facts->http;
    const char *host = "";

    if (address == NULL || strncmp(address, "unix:", 5) == 0) {
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(hosts); i++) {
        size_t n = strlen(hosts[i].wide);

        if (strncmp(address, hosts[i].wide, n) == 0) {
            host = hosts[i].near;
            text->is_everywhere = true;
            address += n;
            break;
        }
    }
    (void)snprintf(text->base, sizeof(text->base), "http://%s%.400s", host, address);
    (void)snprintf(text->url, sizeof(text->url), "%s%.120s", text->base, text->facts->http_path);
}

/* ---- configurations of clients ---- */

/* Can clients reach it by stdio: is `serve` a front? */
static bool text_has_front(const UpText *text)
{
    return text->facts->socket != NULL;
}

static bool text_has_any(const UpText *text)
{
    return text->url[0] != '\0' || text_has_front(text);
}

static const char *text_settings(const UpText *text)
{
    return text->facts->config != NULL ? text->facts->config : CONFIG_NONE;
}

static void text_write_env(const UpText *text, JsonWriter *w)
{
    if (text->with->n_variables == 0) {
        return;
    }
    json_write_key(w, SPAN("env"));
    json_write_object(w);
    for (size_t i = 0; i < text->with->n_variables; i++) {
        json_write_key(w, span_from_str(text->with->variables[i].name));
        json_write_string(w, span_from_str(text->with->variables[i].value));
    }
    json_write_end_object(w);
}

/* {"command":…,"args":["serve",…]}: `serve` is a front to this hub if it is told of the same
 * settings (also that there are none) and the same state folder, and has the same runtime folder:
 * where a client starts it, it might find others, and serve alone without a word. */
static void text_write_stdio(const UpText *text, JsonWriter *w)
{
    json_write_object(w);
    json_write_key(w, SPAN("command"));
    json_write_string(w, span_from_str(text->with->program));
    json_write_key(w, SPAN("args"));
    json_write_array(w);
    json_write_string(w, SPAN("serve"));
    json_write_string(w, SPAN("--config"));
    json_write_string(w, span_from_str(text_settings(text)));
    if (text->with->state != NULL) {
        json_write_string(w, SPAN("--state"));
        json_write_string(w, span_from_str(text->with->state));
    }
    json_write_end_array(w);
    text_write_env(text, w);
    json_write_end_object(w);
}

static void text_write_header(const UpText *text, JsonWriter *w, const char *value)
{
    if (text->facts->needs_token) {
        json_write_key(w, SPAN("headers"));
        json_write_object(w);
        json_write_key(w, SPAN("Authorization"));
        json_write_string(w, span_from_str(value));
        json_write_end_object(w);
    }
}

static void text_write_url(const UpText *text, JsonWriter *w)
{
    json_write_key(w, SPAN("url"));
    json_write_string(w, span_from_str(text->url));
}

static void text_write_desktop(const UpText *text, JsonWriter *w)
{
    json_write_object(w);
    json_write_key(w, SPAN("mcpServers"));
    json_write_object(w);
    json_write_key(w, SPAN(UP_TEXT_NAME));
    text_write_stdio(text, w);
    json_write_end_object(w);
    json_write_end_object(w);
}

static void text_write_cursor(const UpText *text, JsonWriter *w)
{
    if (text->url[0] == '\0') {
        text_write_desktop(text, w);
        return;
    }
    json_write_object(w);
    json_write_key(w, SPAN("mcpServers"));
    json_write_object(w);
    json_write_key(w, SPAN(UP_TEXT_NAME));
    json_write_object(w);
    text_write_url(text, w);
    text_write_header(text, w, UP_TEXT_TOKEN_CURSOR);
    json_write_end_object(w);
    json_write_end_object(w);
    json_write_end_object(w);
}

/* What VS Code asks for, once. */
static void text_write_vscode_input(JsonWriter *w)
{
    json_write_key(w, SPAN("inputs"));
    json_write_array(w);
    json_write_object(w);
    json_write_key(w, SPAN("type"));
    json_write_string(w, SPAN("promptString"));
    json_write_key(w, SPAN("id"));
    json_write_string(w, SPAN("toolwire-token"));
    json_write_key(w, SPAN("description"));
    json_write_string(w, SPAN("Token of toolwire"));
    json_write_key(w, SPAN("password"));
    json_write_bool(w, true);
    json_write_end_object(w);
    json_write_end_array(w);
}

static void text_write_vscode(const UpText *text, JsonWriter *w)
{
    bool is_http = text->url[0] != '\0';

    json_write_object(w);
    if (is_http && text->facts->needs_token) {
        text_write_vscode_input(w);
    }
    json_write_key(w, SPAN("servers"));
    json_write_object(w);
    json_write_key(w, SPAN(UP_TEXT_NAME));
    if (is_http) {
        json_write_object(w);
        json_write_key(w, SPAN("type"));
        json_write_string(w, SPAN("http"));
        text_write_url(text, w);
        text_write_header(text, w, UP_TEXT_TOKEN_VSCODE);
        json_write_end_object(w);
    } else {
        text_write_stdio(text, w);
    }
    json_write_end_object(w);
    json_write_end_object(w);
}

/* A word of a command line: in quotes if a shell would take it apart. */
static int text_append_word(Bytes *out, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./[]-";
    int r;

    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        return bytes_append(out, word, strlen(word));
    }
    r = bytes_append_byte(out, '\'');
    for (; r == 0 && *word != '\0'; word++) {
        r = *word == '\'' ? bytes_append(out, "'\\''", 4) : bytes_append_byte(out, *word);
    }
    return r != 0 ? r : bytes_append_byte(out, '\'');
}

/* The command for Claude Code. */
static int text_append_claude_code(Bytes *out, const UpText *text)
{
    int r;

    if (text->url[0] != '\0') {
        return bytes_append_format(
            out, "claude mcp add --transport http %s %s%s", UP_TEXT_NAME, text->url,
            text->facts->needs_token ? " --header '" UP_TEXT_TOKEN_SHELL "'" : "");
    }
    r = bytes_append_format(out, "claude mcp add %s", UP_TEXT_NAME);
    for (size_t i = 0; r == 0 && i < text->with->n_variables; i++) {
        r = bytes_append_format(out, " --env %s=", text->with->variables[i].name);
        r = r != 0 || text->with->variables[i].value[0] == '\0'
                ? r
                : text_append_word(out, text->with->variables[i].value);
    }
    r = r != 0 ? r : bytes_append_format(out, " -- ");
    r = r != 0 ? r : text_append_word(out, text->with->program);
    r = r != 0 ? r : bytes_append_format(out, " serve --config ");
    r = r != 0 ? r : text_append_word(out, text_settings(text));
    if (r == 0 && text->with->state != NULL) {
        r = bytes_append_format(out, " --state ");
        r = r != 0 ? r : text_append_word(out, text->with->state);
    }
    return r;
}

/* ---- for people ---- */

static int text_append_client(Bytes *out, const UpText *text, const char *title,
                              void (*write)(const UpText *text, JsonWriter *w))
{
    JsonWriter w;
    int r = bytes_append_format(out, "\n%s\n\n", title);

    if (r != 0) {
        return r;
    }
    json_writer_init(&w, out, JSON_STYLE_PRETTY);
    write(text, &w);
    r = json_writer_finish(&w);
    return r != 0 ? r : bytes_append_byte(out, '\n');
}

static int text_append_http(Bytes *out, const UpText *text)
{
    const UpFacts *facts = text->facts;

    if (facts->http == NULL) {
        return bytes_append_format(out, "  HTTP      off\n");
    }
    if (text->url[0] == '\0') {
        return bytes_append_format(out, "  HTTP      %s, MCP at %s\n", facts->http,
                                   facts->http_path);
    }
    return bytes_append_format(out, "  HTTP      %s%s%s\n  status    %s/, %s/healthz, %s/metrics\n",
                               text->url,
                               facts->needs_access  ? " (access tokens)"
                               : facts->needs_token ? " (needs the token)"
                                                    : "",
                               text->is_everywhere ? "; all addresses of this machine" : "",
                               text->base, text->base, text->base);
}

static int text_append_places(Bytes *out, const UpText *text)
{
    const UpFacts *facts = text->facts;
    int r = bytes_append_format(out, "toolwire %s serves %zu tool%s", TOOLWIRE_VERSION,
                                facts->n_tools, facts->n_tools == 1 ? "" : "s");

    if (r == 0 && facts->n_unlisted > 0) {
        r = bytes_append_format(out, ", and those of %zu server%s not listed them yet",
                                facts->n_unlisted,
                                facts->n_unlisted == 1 ? ", which has" : "s, which have");
    }
    r = r != 0 ? r : bytes_append_format(out, "\n\n");
    r = r != 0 ? r : text_append_http(out, text);
    if (r == 0 && facts->socket != NULL) {
        r = bytes_append_format(out, "  fronts    %s\n", facts->socket);
    }
    if (r == 0 && facts->pipe != NULL) {
        r = bytes_append_format(out, "  add-ins   %s\n", facts->pipe);
    }
    if (r == 0 && facts->queue != NULL) {
        r = bytes_append_format(out, "  queue     %s\n", facts->queue);
    }
    return r != 0 ? r
                  : bytes_append_format(out, "  settings  %s\n",
                                        facts->config == NULL ? "none (embedded defaults)"
                                                              : facts->config);
}

/* Only what works: a client that cannot reach this hub is left out. */
static int text_append_clients(Bytes *out, const UpText *text)
{
    int r = 0;

    if (text_has_any(text)) {
        r = bytes_append_format(out, "\nClaude Code\n\n");
        r = r != 0 ? r : text_append_claude_code(out, text);
        r = r != 0 ? r : bytes_append_byte(out, '\n');
    }
    if (r == 0 && text_has_front(text)) {
        r = text_append_client(out, text, "Claude Desktop (claude_desktop_config.json)",
                               text_write_desktop);
    }
    if (r == 0 && text_has_any(text)) {
        r = text_append_client(out, text, "Cursor (~/.cursor/mcp.json)", text_write_cursor);
        r = r != 0 ? r
                   : text_append_client(out, text, "VS Code (.vscode/mcp.json)", text_write_vscode);
    }
    return r;
}

int up_text_write(Bytes *out, const UpFacts *facts, const UpTextWith *with)
{
    UpText text = {.facts = facts, .with = with};
    int r;

    text_make_urls(&text);
    r = text_append_places(out, &text);
    r = r != 0 ? r : text_append_clients(out, &text);
    return r != 0 ? r : bytes_append_format(out, "\nCtrl-C ends it.\n");
}

/* ---- for programs ---- */

static void json_write_optional(JsonWriter *w, Span key, const char *value)
{
    json_write_key(w, key);
    if (value == NULL) {
        json_write_null(w);
    } else {
        json_write_string(w, span_from_str(value));
    }
}

static void json_write_http(const UpText *text, JsonWriter *w)
{
    const UpFacts *facts = text->facts;

    json_write_key(w, SPAN("http"));
    if (facts->http == NULL) {
        json_write_null(w);
        return;
    }
    json_write_object(w);
    json_write_key(w, SPAN("address"));
    json_write_string(w, span_from_str(facts->http));
    json_write_key(w, SPAN("path"));
    json_write_string(w, span_from_str(facts->http_path));
    json_write_optional(w, SPAN("url"), text->url[0] == '\0' ? NULL : text->url);
    json_write_key(w, SPAN("token"));
    json_write_bool(w, facts->needs_token);
    json_write_key(w, SPAN("access_tokens"));
    json_write_bool(w, facts->needs_access);
    json_write_end_object(w);
}

static void json_write_clients(const UpText *text, Span claude_code, JsonWriter *w)
{
    json_write_key(w, SPAN("clients"));
    json_write_object(w);
    if (text_has_any(text)) {
        json_write_key(w, SPAN("claude_code"));
        json_write_string(w, claude_code);
    }
    if (text_has_front(text)) {
        json_write_key(w, SPAN("claude_desktop"));
        text_write_desktop(text, w);
    }
    if (text_has_any(text)) {
        json_write_key(w, SPAN("cursor"));
        text_write_cursor(text, w);
        json_write_key(w, SPAN("vscode"));
        text_write_vscode(text, w);
    }
    json_write_end_object(w);
}

int up_text_write_json(Bytes *out, const UpFacts *facts, const UpTextWith *with)
{
    UpText text = {.facts = facts, .with = with};
    Bytes command;
    JsonWriter w;
    int r;

    text_make_urls(&text);
    bytes_init(&command, out->max_bytes);
    r = text_append_claude_code(&command, &text);
    if (r == 0) {
        json_writer_init(&w, out, JSON_STYLE_COMPACT);
        json_write_object(&w);
        json_write_key(&w, SPAN("version"));
        json_write_string(&w, SPAN(TOOLWIRE_VERSION));
        json_write_key(&w, SPAN("pid"));
        json_write_int(&w, with->pid);
        json_write_key(&w, SPAN("tools"));
        json_write_uint(&w, facts->n_tools);
        if (facts->n_unlisted > 0) {
            json_write_key(&w, SPAN("unlisted"));
            json_write_uint(&w, facts->n_unlisted);
        }
        json_write_http(&text, &w);
        json_write_optional(&w, SPAN("socket"), facts->socket);
        json_write_optional(&w, SPAN("pipe"), facts->pipe);
        json_write_optional(&w, SPAN("queue"), facts->queue);
        json_write_optional(&w, SPAN("config"), facts->config);
        json_write_clients(&text, bytes_span(&command), &w);
        json_write_end_object(&w);
        r = json_writer_finish(&w);
    }
    bytes_deinit(&command);
    return r != 0 ? r : bytes_append_byte(out, '\n');
}
