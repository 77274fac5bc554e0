#include "dialect/mcp/http_guard.h"

#include "base/text.h"
#include "frame/http1_scan.h"

/* "host:port" taken apart. */
typedef struct Place {
    Span host; /* without a dot at its end; not empty */
    uint64_t port;
    bool has_port;
} Place;

/* A port is at most five digits: "00080" is none that a browser sends. */
#define PORT_DIGITS 5

/* False if it is none. User names, which an authority could have, are none: what stands before an
 * '@' is there to be taken for the host. */
static bool parse_place(Span s, Place *ret)
{
    const char *end = s.n == 0 ? NULL : memchr(s.p, s.p[0] == '[' ? ']' : ':', s.n);
    Place place = {.host = s};
    Span port = SPAN_NULL;

    if (s.n == 0 || memchr(s.p, '@', s.n) != NULL) {
        return false;
    }
    if (s.p[0] == '[') {
        if (end == NULL) {
            return false;
        }
        end++;
    }
    if (end != NULL && end < s.p + s.n) {
        if (*end != ':') {
            return false;
        }
        place.host.n = (size_t)(end - s.p);
        port = span_make(end + 1, s.n - place.host.n - 1);
    }
    if (place.host.n > 0 && place.host.p[place.host.n - 1] == '.') {
        place.host.n--;
    }
    /* "host:" is as good as "host". */
    place.has_port = port.n > 0;
    if (place.host.n == 0 || port.n > PORT_DIGITS ||
        (place.has_port && (text_parse_u64(port, &place.port) != 0 || place.port > UINT16_MAX))) {
        return false;
    }
    *ret = place;
    return true;
}

static bool is_loopback(Span host)
{
    return text_equals_nocase(host, SPAN("localhost")) || span_equals(host, SPAN("127.0.0.1")) ||
           span_equals(host, SPAN("[::1]"));
}

static bool is_host(const McpHttpGuard *guard, Span authority)
{
    Place place;
    Place known;

    if (guard->any_host) {
        return true;
    }
    if (!parse_place(authority, &place)) {
        return false;
    }
    if (is_loopback(place.host) ||
        (guard->local.n > 0 && text_equals_nocase(guard->local, place.host))) {
        return true;
    }
    for (size_t i = 0; i < guard->n_hosts; i++) {
        if (parse_place(guard->hosts[i], &known) && text_equals_nocase(known.host, place.host) &&
            (!known.has_port || (place.has_port && known.port == place.port))) {
            return true;
        }
    }
    return false;
}

typedef struct Origin {
    bool is_secure;
    Place place; /* always with a port */
} Origin;

/* False if it is not one of http or https. A path, even "/", makes it none. */
static bool parse_origin(Span s, Origin *ret)
{
    static const Span schemes[] = {SPAN_INIT("http://"), SPAN_INIT("https://")};

    for (size_t i = 0; i < TW_ARRAY_SIZE(schemes); i++) {
        Span scheme = schemes[i];

        if (s.n > scheme.n && text_equals_nocase(span_make(s.p, scheme.n), scheme)) {
            ret->is_secure = i > 0;
            if (!parse_place(span_make(s.p + scheme.n, s.n - scheme.n), &ret->place)) {
                return false;
            }
            if (!ret->place.has_port) {
                ret->place.has_port = true;
                ret->place.port = ret->is_secure ? 443 : 80;
            }
            return true;
        }
    }
    return false;
}

static bool is_same_origin(const Origin *a, const Origin *b)
{
    return a->is_secure == b->is_secure && a->place.port == b->place.port &&
           text_equals_nocase(a->place.host, b->place.host);
}

/* An origin of the settings: people copy it from where a browser shows it, with a '/' at its end
 * that no request has. */
static Span origin_of_setting(Span s)
{
    return s.n > 0 && s.p[s.n - 1] == '/' ? span_make(s.p, s.n - 1) : s;
}

static bool is_origin(const McpHttpGuard *guard, Span value)
{
    Origin origin;
    Origin known;
    bool is_http = parse_origin(value, &origin);

    if (is_http && is_loopback(origin.place.host)) {
        return true;
    }
    /* Every sandboxed page of every site has it. */
    if (value.n == 0 || text_equals_nocase(value, SPAN("null"))) {
        return false;
    }
    for (size_t i = 0; i < guard->n_origins; i++) {
        Span allowed = origin_of_setting(guard->origins[i]);

        if (text_equals_nocase(allowed, value) ||
            (is_http && parse_origin(allowed, &known) && is_same_origin(&known, &origin))) {
            return true;
        }
    }
    return false;
}

/* What is shown of a name that was refused. */
#define GUARD_SHOWN 80

static int guard_shown(Span s)
{
    return (int)(s.n < GUARD_SHOWN ? s.n : GUARD_SHOWN);
}

/* Where "://" stands; the length if it does not. */
static size_t find_authority(Span s)
{
    for (size_t i = 0; i + 3 <= s.n; i++) {
        if (memcmp(s.p + i, "://", 3) == 0) {
            return i;
        }
    }
    return s.n;
}

/* A name of the DNS, or a number; browsers send other letters as "xn--…". */
static bool is_host_name(Span host)
{
    bool is_6 = host.p[0] == '[';

    for (size_t i = is_6 ? 1 : 0; i < host.n - (is_6 ? 1 : 0); i++) {
        char c = host.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!is_word && c != '.' && (is_6 ? c != ':' : c != '-' && c != '_')) {
            return false;
        }
    }
    return true;
}

int mcp_http_guard_check_host(Span host, Diag *reterr_diag)
{
    Place place;

    if (span_equals(host, SPAN("*"))) {
        return diag_set(reterr_diag, MCP_HTTP_E_HOST,
                        "'*' is no host: each name that leads here has to be listed");
    }
    if (find_authority(host) < host.n) {
        return diag_set(reterr_diag, MCP_HTTP_E_HOST,
                        "'%.*s' is a URL: a host is written without a scheme, as hub.example or "
                        "hub.example:8080",
                        guard_shown(host), host.p);
    }
    if (!parse_place(host, &place) || !is_host_name(place.host)) {
        return diag_set(reterr_diag, MCP_HTTP_E_HOST,
                        "'%.*s' is no host, as hub.example, hub.example:8080 or [2001:db8::7]",
                        guard_shown(host), host.p);
    }
    return 0;
}

int mcp_http_guard_check_origin(Span setting, Diag *reterr_diag)
{
    Span origin = origin_of_setting(setting);
    size_t at = find_authority(origin);
    Span rest = at < origin.n ? span_make(origin.p + at + 3, origin.n - at - 3) : SPAN_NULL;
    bool is_web = span_starts_with(origin, SPAN("http")) && at <= 5;
    Origin parsed;

    if (span_equals(origin, SPAN("*")) || text_equals_nocase(origin, SPAN("null"))) {
        return diag_set(reterr_diag, MCP_HTTP_E_ORIGIN,
                        "'%.*s' would let the pages of every site in: each origin has to be listed",
                        guard_shown(origin), origin.p);
    }
    if (rest.n > 0 && memchr(rest.p, '/', rest.n) != NULL) {
        return diag_set(reterr_diag, MCP_HTTP_E_ORIGIN,
                        "'%.*s' has a path: an origin ends with its host or port",
                        guard_shown(origin), origin.p);
    }
    if (at == 0 || rest.n == 0 ||
        (is_web && (!parse_origin(origin, &parsed) || !is_host_name(parsed.place.host)))) {
        return diag_set(reterr_diag, MCP_HTTP_E_ORIGIN,
                        "'%.*s' is no origin, as https://page.example or http://localhost:3000",
                        guard_shown(origin), origin.p);
    }
    return 0;
}

int mcp_http_guard(const McpHttpGuard *guard, const Http1Head *head)
{
    Span origin = SPAN_NULL;
    size_t n_origins = http1_head_find(head, SPAN("Origin"), &origin);

    if (!is_host(guard, head->authority)) {
        return MCP_HTTP_E_HOST;
    }
    if (n_origins > 1 || (n_origins == 1 && !is_origin(guard, origin))) {
        return MCP_HTTP_E_ORIGIN;
    }
    return 0;
}

/* Takes what stands before the next separator off *rest, without blanks around it; one that is
 * inside quotes separates nothing. False at the end. */
static bool take_part(Span *rest, char separator, Span *ret)
{
    bool is_quoted = false;
    size_t n = 0;

    if (rest->p == NULL) {
        return false;
    }
    for (; n < rest->n && (is_quoted || rest->p[n] != separator); n++) {
        if (rest->p[n] == '"') {
            is_quoted = !is_quoted;
        } else if (is_quoted && rest->p[n] == '\\' && n + 1 < rest->n) {
            n++;
        }
    }
    *ret = http1_scan_trim(span_make(rest->p, n));
    *rest = n == rest->n ? SPAN_NULL : span_make(rest->p + n + 1, rest->n - n - 1);
    return true;
}

/* The value of "name=value", without quotes around it; false if it is of another name. */
static bool is_parameter(Span parameter, Span name, Span *ret)
{
    Span value;

    if (parameter.n <= name.n || parameter.p[name.n] != '=' ||
        !text_equals_nocase(span_make(parameter.p, name.n), name)) {
        return false;
    }
    value = span_make(parameter.p + name.n + 1, parameter.n - name.n - 1);
    if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"') {
        value = span_make(value.p + 1, value.n - 2);
    }
    *ret = value;
    return true;
}

/* "0", "0.", "0.000". */
static bool is_zero(Span weight)
{
    for (size_t i = 0; i < weight.n; i++) {
        if (weight.p[i] != '0' && weight.p[i] != '.') {
            return false;
        }
    }
    return weight.n > 0;
}

/* How closely a media range fits the type: 3 it is the type, 2 "text/…", 1 anything, 0 not. */
static unsigned range_fits(Span range, Span type)
{
    size_t n_main = (size_t)((const char *)memchr(type.p, '/', type.n) - type.p) + 1;

    if (text_equals_nocase(range, type)) {
        return 3;
    }
    if (range.n == n_main + 1 && range.p[n_main] == '*' &&
        text_equals_nocase(span_make(range.p, n_main), span_make(type.p, n_main))) {
        return 2;
    }
    /* Old libraries say "*". */
    return span_equals(range, SPAN("*/*")) || span_equals(range, SPAN("*")) ? 1 : 0;
}

typedef struct Verdict {
    unsigned fit; /* of the best range so far */
    bool is_admitted;
    bool has_any;
} Verdict;

static void judge_range(Verdict *verdict, Span element, Span type)
{
    Span range = SPAN_NULL;
    Span parameter;
    Span weight;
    bool is_refused = false;
    unsigned fit;

    if (element.n == 0) {
        return;
    }
    verdict->has_any = true;
    (void)take_part(&element, ';', &range);
    while (take_part(&element, ';', &parameter)) {
        if (is_parameter(parameter, SPAN("q"), &weight)) {
            is_refused = is_zero(weight);
        }
    }
    fit = range_fits(range, type);
    if (fit > verdict->fit) {
        verdict->fit = fit;
        verdict->is_admitted = !is_refused;
    } else if (fit > 0 && fit == verdict->fit && !is_refused) {
        verdict->is_admitted = true; /* two forms of a type that we do not tell apart */
    }
}

bool mcp_http_accepts(const Http1Head *head, Span type)
{
    Verdict verdict = {.fit = 0};

    for (size_t i = 0; i < head->n_fields; i++) {
        Span rest = head->fields[i].value;
        Span element;

        if (!text_equals_nocase(head->fields[i].name, SPAN("Accept"))) {
            continue;
        }
        while (take_part(&rest, ',', &element)) {
            judge_range(&verdict, element, type);
        }
    }
    return !verdict.has_any || verdict.is_admitted;
}

McpHttpTakes mcp_http_takes(const Http1Head *head)
{
    /* As the specification wants it, which is how nearly all clients have it: both. */
    static const Span usual[] = {SPAN_INIT("application/json, text/event-stream"),
                                 SPAN_INIT("text/event-stream, application/json"),
                                 SPAN_INIT("application/json,text/event-stream")};
    Span accept;

    if (http1_head_find(head, SPAN("Accept"), &accept) == 1) {
        for (size_t i = 0; i < TW_ARRAY_SIZE(usual); i++) {
            if (span_equals(accept, usual[i])) {
                return (McpHttpTakes){.json = true, .events = true};
            }
        }
    }
    return (McpHttpTakes){.json = mcp_http_accepts(head, SPAN("application/json")),
                          .events = mcp_http_accepts(head, SPAN("text/event-stream"))};
}

bool mcp_http_is_json(const Http1Head *head)
{
    Span rest = SPAN_NULL;
    Span part = SPAN_NULL;
    Span charset;

    if (http1_head_find(head, SPAN("Content-Type"), &rest) != 1) {
        return false;
    }
    if (span_equals(rest, SPAN("application/json"))) {
        return true; /* nearly always */
    }
    if (!take_part(&rest, ';', &part) || !text_equals_nocase(part, SPAN("application/json"))) {
        return false;
    }
    while (take_part(&rest, ';', &part)) {
        if (is_parameter(part, SPAN("charset"), &charset) &&
            !text_equals_nocase(charset, SPAN("utf-8")) &&
            !text_equals_nocase(charset, SPAN("utf8"))) {
            return false;
        }
    }
    return true;
}
