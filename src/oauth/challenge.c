#include "oauth/challenge.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

typedef struct ChallengeReader {
    Arena *arena;
    Span text;
    size_t at;
} ChallengeReader;

static bool challenge_is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static void challenge_skip(ChallengeReader *reader, const char *bytes)
{
    while (reader->at < reader->text.n && reader->text.p[reader->at] != '\0' &&
           strchr(bytes, reader->text.p[reader->at]) != NULL) {
        reader->at++;
    }
}

static Span challenge_token(ChallengeReader *reader)
{
    size_t start = reader->at;

    while (reader->at < reader->text.n && challenge_is_token(reader->text.p[reader->at])) {
        reader->at++;
    }
    return span_make(reader->text.p + start, reader->at - start);
}

static bool challenge_is_at(const ChallengeReader *reader, char c)
{
    return reader->at < reader->text.n && reader->text.p[reader->at] == c;
}

/* A quoted string, whose first quote has been seen. 1: read; 0: it does not end. */
static int challenge_quoted(ChallengeReader *reader, Span *ret)
{
    char *out = arena_alloc(reader->arena, reader->text.n - reader->at + 1);
    size_t n = 0;

    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    for (reader->at++; reader->at < reader->text.n; reader->at++) {
        char c = reader->text.p[reader->at];

        if (c == '"') {
            reader->at++;
            *ret = span_make(out, n);
            return 1;
        }
        if (c == '\\' && reader->at + 1 < reader->text.n) {
            c = reader->text.p[++reader->at];
        }
        out[n++] = c;
    }
    return 0;
}

/* A value: quoted, or what people write without quotes, an address too. */
static int challenge_value(ChallengeReader *reader, Span *ret)
{
    size_t start = reader->at;

    if (challenge_is_at(reader, '"')) {
        return challenge_quoted(reader, ret);
    }
    while (reader->at < reader->text.n && strchr(", \t", reader->text.p[reader->at]) == NULL) {
        reader->at++;
    }
    *ret = span_make(reader->text.p + start, reader->at - start);
    return 1;
}

static void challenge_keep(OauthChallenge *challenge, Span name, Span value)
{
    static const Span nonce = SPAN_INIT("use_dpop_nonce");
    const struct {
        Span name;
        Span *place;
    } places[] = {
        {SPAN("resource_metadata"), &challenge->resource_metadata},
        {SPAN("scope"), &challenge->scope},
        {SPAN("error"), &challenge->error},
        {SPAN("error_description"), &challenge->error_description},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(places); i++) {
        bool is_nonce = places[i].place == &challenge->error && span_equals(value, nonce);

        if (text_equals_nocase(name, places[i].name) && (places[i].place->n == 0 || is_nonce)) {
            *places[i].place = value;
        }
    }
}

/* One field. The grammar is ambiguous at a comma: a name with "=" behind it goes on with the
 * challenge, one without begins the next. */
static int challenge_field(ChallengeReader *reader, OauthChallenge *challenge)
{
    bool is_ours = false;

    while (true) {
        Span name;
        Span value = SPAN_NULL;
        int r;

        challenge_skip(reader, ", \t");
        name = challenge_token(reader);
        if (name.n == 0) {
            return 0;
        }
        challenge_skip(reader, " \t");
        if (!challenge_is_at(reader, '=')) {
            bool is_dpop = text_equals_nocase(name, SPAN("DPoP"));

            is_ours = is_dpop || text_equals_nocase(name, SPAN("Bearer"));
            challenge->is_there = challenge->is_there || is_ours;
            challenge->is_dpop = challenge->is_dpop || is_dpop;
            continue;
        }
        reader->at++;
        challenge_skip(reader, " \t=");
        r = challenge_value(reader, &value);
        if (r <= 0) {
            return r;
        }
        if (is_ours) {
            challenge_keep(challenge, name, value);
        }
    }
}

int oauth_challenge_parse(OauthChallenge *ret, Arena *arena, const Span *fields, size_t n_fields)
{
    OauthChallenge challenge = {.is_there = false};

    for (size_t i = 0; i < n_fields; i++) {
        ChallengeReader reader = {.arena = arena, .text = fields[i]};
        int r = challenge_field(&reader, &challenge);

        if (r != 0) {
            return err_pass(r);
        }
    }
    *ret = challenge;
    return 0;
}
