/* An access token and a key set. Whatever comes in is refused, or says who asks: of the issuer
 * whose private key is gone, no token is believed but the two in the corpus.
 *
 * Input: the key set of a second issuer, a NUL, a token. Without the NUL, all of it is the token.
 */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "router/jwt.h"

#define KEYS                                                                                       \
    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k1\",\"alg\":\"ES256\","               \
    "\"use\":\"sig\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\","                       \
    "\"y\":\"m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8\"}]}"

static void check(Span token, JwtKeys *given, JwtKeys *ours)
{
    JwtIssuer issuers[] = {{SPAN("https://issuer.example"), ours},
                           {SPAN("https://given.example"), given}};
    JwtTerms terms = {issuers, given == NULL ? 1 : 2, SPAN("https://hub.example/mcp")};
    JwtFault fault = JWT_FAULT_NONE;
    JwtClaims claims = {.issuer = 0};
    Arena arena;
    int r;

    FUZZ_REQUIRE(given == NULL || jwt_keys_count(given) > 0);
    arena_init(&arena, JWT_ARENA_BYTES);
    r = jwt_check(token, &terms, 1700000000, &arena, &claims, &fault);
    if (r == 0) {
        FUZZ_REQUIRE(claims.subject.n > 0 && claims.issuer < terms.n_issuers);
        FUZZ_REQUIRE(claims.issuer == 1 || span_equals(claims.subject, SPAN("alice")) ||
                     span_equals(claims.subject, SPAN("bob")));
        (void)jwt_has_scope(&claims, SPAN("a"));
    } else {
        FUZZ_REQUIRE(r == JWT_E_REFUSED);
        FUZZ_REQUIRE(fault > JWT_FAULT_NONE && fault < JWT_N_FAULTS);
        FUZZ_REQUIRE(jwt_fault_text(fault)[0] != '\0');
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static JwtKeys *ours;
    Span input = span_make((const char *)data, size);
    const char *nul = size == 0 ? NULL : memchr(data, '\0', size);
    JwtKeys *given = NULL;

    if (ours == NULL) {
        FUZZ_REQUIRE(jwt_keys_new(&ours, SPAN(KEYS), NULL) == 0);
    }
    if (nul != NULL) {
        size_t n = (size_t)(nul - input.p);
        int r = jwt_keys_new(&given, span_make(input.p, n), NULL);

        FUZZ_REQUIRE(r == 0 || r == JWT_E_INVALID);
        FUZZ_REQUIRE((r == 0) == (given != NULL));
        input = span_make(nul + 1, input.n - n - 1);
    }
    check(input, given, ours);
    given = jwt_keys_free(given);
    return 0;
}
