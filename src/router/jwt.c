/* Reads a token and its claims. In this order, so that what costs little is refused first: form,
 * header, issuer, signature; of a token that is signed, what it says. */
#include "router/jwt.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "router/jwt_keys.h"
#include "json/json.h"

/* The last second of the year 9999. */
#define JWT_LAST_S 253402300799.0

static const char *const fault_texts[JWT_N_FAULTS] = {
    [JWT_FAULT_NONE] = "",
    [JWT_FAULT_LENGTH] = "The access token is too long",
    [JWT_FAULT_FORM] = "The access token is not known here, and not a signed JWT either",
    [JWT_FAULT_HEADER] = "The access token's header cannot be read",
    [JWT_FAULT_REPEATED] = "The access token says something twice, or too much",
    [JWT_FAULT_ALG] = "The access token is signed with an algorithm that is not accepted",
    [JWT_FAULT_CRIT] = "The access token wants extensions that are not known",
    [JWT_FAULT_TYPE] = "This kind of token is not an access token",
    [JWT_FAULT_CLAIMS] = "The access token's claims cannot be read, or one is missing",
    [JWT_FAULT_ISSUER] = "The access token is of an issuer that is not accepted",
    [JWT_FAULT_KEY] = "The access token is signed with a key that is not known",
    [JWT_FAULT_SIGNATURE] = "The access token's signature is wrong",
    [JWT_FAULT_AUDIENCE] = "The access token is not meant for this server",
    [JWT_FAULT_EXPIRED] = "The access token has expired",
    [JWT_FAULT_NOT_YET] = "The access token is not valid yet",
};

static const JwtAlg algs[] = {
    {SPAN_INIT("RS256"), JWT_KEY_RSA, JWT_DIGEST_SHA256, false},
    {SPAN_INIT("RS384"), JWT_KEY_RSA, JWT_DIGEST_SHA384, false},
    {SPAN_INIT("RS512"), JWT_KEY_RSA, JWT_DIGEST_SHA512, false},
    {SPAN_INIT("PS256"), JWT_KEY_RSA, JWT_DIGEST_SHA256, true},
    {SPAN_INIT("PS384"), JWT_KEY_RSA, JWT_DIGEST_SHA384, true},
    {SPAN_INIT("PS512"), JWT_KEY_RSA, JWT_DIGEST_SHA512, true},
    {SPAN_INIT("ES256"), JWT_KEY_P256, JWT_DIGEST_SHA256, false},
    {SPAN_INIT("ES384"), JWT_KEY_P384, JWT_DIGEST_SHA384, false},
    {SPAN_INIT("ES512"), JWT_KEY_P521, JWT_DIGEST_SHA512, false},
    {SPAN_INIT("EdDSA"), JWT_KEY_ED25519, JWT_DIGEST_NONE, false},
};

/* A token in the making. */
typedef struct Jwt {
    Arena *arena;
    Bytes bytes; /* for decoding */
    JwtFault *fault;
    Span signed_text; /* header and claims as sent */
    Span signature;   /* decoded */
    JsonValue header;
    JsonValue claims;
    const JwtAlg *alg;
    Span kid; /* p NULL: none */
    size_t issuer;
} Jwt;

const char *jwt_fault_text(JwtFault fault)
{
    return fault_texts[fault];
}

const JwtAlg *jwt_alg_find(Span name)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(algs); i++) {
        if (span_equals(algs[i].name, name)) {
            return &algs[i];
        }
    }
    return NULL;
}

static int jwt_refuse(const Jwt *jwt, JwtFault fault)
{
    *jwt->fault = fault;
    return JWT_E_REFUSED;
}

/* ---- form ---- */

static int jwt_decode(Jwt *jwt, Span text, Span *ret)
{
    int r;

    bytes_clear(&jwt->bytes);
    r = base64_decode(&jwt->bytes, BASE64_URL, text);
    if (r > 0) {
        return jwt_refuse(jwt, JWT_FAULT_FORM);
    }
    if (r != 0) {
        return err_pass(r);
    }
    *ret = arena_copy(jwt->arena, bytes_span(&jwt->bytes));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

/* Two readers of one text must not find different values in it (RFC 7515, section 4). */
static bool jwt_repeats(JsonValue object)
{
    for (JsonIter a = json_iter(object); json_iter_next(&a);) {
        JsonIter b = a;

        while (json_iter_next(&b)) {
            if (json_string_same(a.key, b.key)) {
                return true;
            }
        }
    }
    return false;
}

static int jwt_read_object(Jwt *jwt, Span text, JwtFault fault, JsonValue *ret)
{
    JsonLimits limits = {.max_depth = LIMIT_JWT_DEPTH, .max_bytes = LIMIT_JWT_BYTES};
    JsonDoc doc;
    Span json;
    int r = jwt_decode(jwt, text, &json);

    if (r != 0) {
        return r;
    }
    r = json_parse(&doc, jwt->arena, json.p, json.n, &limits, NULL);
    if (r > 0 || (r == 0 && json_kind(json_root(&doc)) != JSON_OBJECT)) {
        return jwt_refuse(jwt, fault);
    }
    if (r != 0) {
        return err_pass(r);
    }
    *ret = json_root(&doc);
    if (json_count(*ret) > LIMIT_JWT_MEMBERS || jwt_repeats(*ret)) {
        return jwt_refuse(jwt, JWT_FAULT_REPEATED);
    }
    return 0;
}

/* Takes the part up to the next dot off the front of *rest. */
static bool jwt_take_part(Span *rest, Span *ret)
{
    const char *dot = rest->n == 0 ? NULL : memchr(rest->p, '.', rest->n);

    if (dot == NULL) {
        return false;
    }
    *ret = span_make(rest->p, (size_t)(dot - rest->p));
    *rest = span_make(dot + 1, rest->n - ret->n - 1);
    return true;
}

static int jwt_read_parts(Jwt *jwt, Span token)
{
    Span rest = token;
    Span header;
    Span claims;
    int r;

    if (token.n > LIMIT_JWT_BYTES) {
        return jwt_refuse(jwt, JWT_FAULT_LENGTH);
    }
    if (!jwt_take_part(&rest, &header) || !jwt_take_part(&rest, &claims)) {
        return jwt_refuse(jwt, JWT_FAULT_FORM);
    }
    jwt->signed_text = span_make(token.p, header.n + 1 + claims.n);
    r = jwt_read_object(jwt, header, JWT_FAULT_HEADER, &jwt->header);
    r = r != 0 ? r : jwt_read_object(jwt, claims, JWT_FAULT_CLAIMS, &jwt->claims);
    return r != 0 ? r : jwt_decode(jwt, rest, &jwt->signature);
}

/* ---- header ---- */

/* A string of an object; *ret has p NULL if there is none. */
static int jwt_read_string(const Jwt *jwt, JsonValue object, Span name, JwtFault fault, Span *ret)
{
    JsonValue value;
    int r;

    *ret = SPAN_NULL;
    if (!json_get(object, name, &value)) {
        return 0;
    }
    r = json_string(value, jwt->arena, ret);
    return r == JSON_E_KIND ? jwt_refuse(jwt, fault) : err_fold(r);
}

/* RFC 9068, section 2.1; many issuers still say JWT, or nothing. */
static bool jwt_is_access(Span type)
{
    return type.p == NULL || text_equals_nocase(type, SPAN("at+jwt")) ||
           text_equals_nocase(type, SPAN("application/at+jwt")) ||
           text_equals_nocase(type, SPAN("JWT"));
}

static int jwt_read_header(Jwt *jwt)
{
    JsonValue value;
    Span text;
    int r = jwt_read_string(jwt, jwt->header, SPAN("alg"), JWT_FAULT_HEADER, &text);

    if (r != 0) {
        return r;
    }
    jwt->alg = text.p == NULL ? NULL : jwt_alg_find(text);
    if (jwt->alg == NULL) {
        return jwt_refuse(jwt, JWT_FAULT_ALG);
    }
    /* It names what must be understood, and we understand none of it. */
    if (json_get(jwt->header, SPAN("crit"), &value)) {
        return jwt_refuse(jwt, JWT_FAULT_CRIT);
    }
    r = jwt_read_string(jwt, jwt->header, SPAN("typ"), JWT_FAULT_HEADER, &text);
    if (r != 0) {
        return r;
    }
    /* `cty` says that the claims are a token again. */
    if (!jwt_is_access(text) || json_get(jwt->header, SPAN("cty"), &value)) {
        return jwt_refuse(jwt, JWT_FAULT_TYPE);
    }
    return jwt_read_string(jwt, jwt->header, SPAN("kid"), JWT_FAULT_HEADER, &jwt->kid);
}

/* ---- signature ---- */

static int jwt_verify(Jwt *jwt, const JwtTerms *terms)
{
    JsonValue iss;
    int r;

    if (!json_get(jwt->claims, SPAN("iss"), &iss) || json_kind(iss) != JSON_STRING) {
        return jwt_refuse(jwt, JWT_FAULT_CLAIMS);
    }
    while (jwt->issuer < terms->n_issuers &&
           !json_string_equals(iss, terms->issuers[jwt->issuer].name)) {
        jwt->issuer++;
    }
    if (jwt->issuer == terms->n_issuers) {
        return jwt_refuse(jwt, JWT_FAULT_ISSUER);
    }
    r = jwt_keys_verify(terms->issuers[jwt->issuer].keys, jwt->alg, jwt->kid, jwt->signed_text,
                        jwt->signature);
    if (r == JWT_KEYS_E_UNKNOWN) {
        return jwt_refuse(jwt, JWT_FAULT_KEY);
    }
    if (r == JWT_KEYS_E_WRONG) {
        return jwt_refuse(jwt, JWT_FAULT_SIGNATURE);
    }
    return err_fold(r);
}

/* ---- claims ---- */

static int jwt_check_audience(const Jwt *jwt, Span audience)
{
    JsonValue aud;

    if (!json_get(jwt->claims, SPAN("aud"), &aud)) {
        return jwt_refuse(jwt, JWT_FAULT_CLAIMS);
    }
    if (json_kind(aud) == JSON_STRING) {
        return json_string_equals(aud, audience) ? 0 : jwt_refuse(jwt, JWT_FAULT_AUDIENCE);
    }
    if (json_kind(aud) != JSON_ARRAY) {
        return jwt_refuse(jwt, JWT_FAULT_CLAIMS);
    }
    for (JsonIter it = json_iter(aud); json_iter_next(&it);) {
        if (json_string_equals(it.value, audience)) {
            return 0;
        }
    }
    return jwt_refuse(jwt, JWT_FAULT_AUDIENCE);
}

/* Seconds since 1970, with or without a fraction. */
static int jwt_read_time(const Jwt *jwt, Span name, double *ret, bool *ret_found)
{
    JsonValue value;

    *ret_found = json_get(jwt->claims, name, &value);
    if (*ret_found && json_double(value, ret) != 0) {
        return jwt_refuse(jwt, JWT_FAULT_CLAIMS);
    }
    return 0;
}

/* Is later than now; what no clock will ever say is for ever. */
static int64_t jwt_end(double time)
{
    int64_t end_s;

    if (time >= JWT_LAST_S) {
        return INT64_MAX;
    }
    end_s = (int64_t)time;
    return end_s + (time > (double)end_s ? 1 : 0) + LIMIT_JWT_LEEWAY_S;
}

static int jwt_check_times(const Jwt *jwt, int64_t now_s, int64_t *ret_end_s)
{
    static const Span begins[] = {SPAN_INIT("nbf"), SPAN_INIT("iat")};
    double now = (double)now_s;
    double time = 0;
    bool found;
    int r = jwt_read_time(jwt, SPAN("exp"), &time, &found);

    if (r != 0) {
        return r;
    }
    if (!found) {
        return jwt_refuse(jwt, JWT_FAULT_CLAIMS);
    }
    if (now >= time + LIMIT_JWT_LEEWAY_S) {
        return jwt_refuse(jwt, JWT_FAULT_EXPIRED);
    }
    *ret_end_s = jwt_end(time);
    for (size_t i = 0; i < TW_ARRAY_SIZE(begins); i++) {
        r = jwt_read_time(jwt, begins[i], &time, &found);
        if (r != 0) {
            return r;
        }
        if (found && now < time - LIMIT_JWT_LEEWAY_S) {
            return jwt_refuse(jwt, JWT_FAULT_NOT_YET);
        }
    }
    return 0;
}

/* An array of scopes as one text. */
static int jwt_join_scopes(const Jwt *jwt, JsonValue array, Span *ret)
{
    Span text = json_span(array);
    char *joined = arena_alloc(jwt->arena, text.n); /* brackets, quotes and commas are more */
    size_t n = 0;

    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(array); json_iter_next(&it);) {
        size_t n_scope;

        if (json_kind(it.value) != JSON_STRING) {
            return jwt_refuse(jwt, JWT_FAULT_CLAIMS);
        }
        if (n > 0) {
            joined[n++] = ' ';
        }
        n_scope = json_string_decode(it.value, joined + n);
        /* A blank in one would make two of it. */
        if (n_scope == 0 || memchr(joined + n, ' ', n_scope) != NULL) {
            return jwt_refuse(jwt, JWT_FAULT_CLAIMS);
        }
        n += n_scope;
    }
    *ret = span_make(joined, n);
    return 0;
}

/* `scope` (RFC 8693, section 4.2), or `scp`, which some issuers say in its place. */
static int jwt_read_scopes(const Jwt *jwt, Span *ret)
{
    JsonValue value;

    *ret = SPAN("");
    if (json_get(jwt->claims, SPAN("scope"), &value)) {
        return jwt_read_string(jwt, jwt->claims, SPAN("scope"), JWT_FAULT_CLAIMS, ret);
    }
    if (!json_get(jwt->claims, SPAN("scp"), &value)) {
        return 0;
    }
    return json_kind(value) == JSON_ARRAY
               ? jwt_join_scopes(jwt, value, ret)
               : jwt_read_string(jwt, jwt->claims, SPAN("scp"), JWT_FAULT_CLAIMS, ret);
}

static int jwt_check_parts(Jwt *jwt, Span token, const JwtTerms *terms, int64_t now_s,
                           JwtClaims *ret)
{
    int r = jwt_read_parts(jwt, token);

    r = r != 0 ? r : jwt_read_header(jwt);
    r = r != 0 ? r : jwt_verify(jwt, terms);
    r = r != 0 ? r : jwt_check_audience(jwt, terms->audience);
    r = r != 0 ? r : jwt_check_times(jwt, now_s, &ret->end_s);
    r = r != 0 ? r
               : jwt_read_string(jwt, jwt->claims, SPAN("sub"), JWT_FAULT_CLAIMS, &ret->subject);
    if (r == 0 && ret->subject.n == 0) {
        r = jwt_refuse(jwt, JWT_FAULT_CLAIMS);
    }
    r = r != 0 ? r : jwt_read_scopes(jwt, &ret->scopes);
    ret->issuer = jwt->issuer;
    return r;
}

int jwt_check(Span token, const JwtTerms *terms, int64_t now_s, Arena *arena, JwtClaims *ret,
              JwtFault *reterr_fault)
{
    JwtFault fault = JWT_FAULT_NONE;
    JwtClaims claims = {.issuer = 0};
    Jwt jwt = {.arena = arena, .fault = &fault};
    int r;

    bytes_init(&jwt.bytes, LIMIT_JWT_BYTES);
    r = jwt_check_parts(&jwt, token, terms, now_s, &claims);
    bytes_deinit(&jwt.bytes);
    if (r == 0) {
        *ret = claims;
    } else if (r == JWT_E_REFUSED) {
        *reterr_fault = fault;
    }
    return r;
}

bool jwt_has_scope(const JwtClaims *claims, Span scope)
{
    Span rest = claims->scopes;

    while (rest.n > 0) {
        const char *blank = memchr(rest.p, ' ', rest.n);
        size_t n = blank == NULL ? rest.n : (size_t)(blank - rest.p);

        if (span_equals(span_make(rest.p, n), scope)) {
            return true;
        }
        n += blank == NULL ? 0 : 1;
        rest = span_make(rest.p + n, rest.n - n);
    }
    return false;
}
