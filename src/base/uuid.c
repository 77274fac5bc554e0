#include "base/uuid.h"

#include "base/error.h"
#include "base/random.h"

#define UUID_LENGTH (UUID_SIZE - 1)

/* Where the version's and the variant's digits stand in the text. */
#define UUID_AT_VERSION 14
#define UUID_AT_VARIANT 19

static bool uuid_is_dash_at(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

void uuid_v4_from(const uint8_t random[16], char out[UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;

    for (size_t i = 0; i < 16; i++) {
        unsigned byte = random[i];

        if (i == 6) {
            byte = (byte & 0x0F) | 0x40;
        } else if (i == 8) {
            byte = (byte & 0x3F) | 0x80;
        }
        if (uuid_is_dash_at(at)) {
            out[at++] = '-';
        }
        out[at++] = digits[byte >> 4];
        out[at++] = digits[byte & 0xF];
    }
    out[at] = '\0';
}

int uuid_v4(char out[UUID_SIZE])
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_fold(r);
    }
    uuid_v4_from(random, out);
    return 0;
}

static bool uuid_is_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool uuid_is_valid(Span s)
{
    if (s.n != UUID_LENGTH) {
        return false;
    }
    for (size_t i = 0; i < UUID_LENGTH; i++) {
        if (uuid_is_dash_at(i) ? s.p[i] != '-' : !uuid_is_digit(s.p[i])) {
            return false;
        }
    }
    return true;
}

bool uuid_is_v4(Span s)
{
    char variant;

    if (!uuid_is_valid(s) || s.p[UUID_AT_VERSION] != '4') {
        return false;
    }
    variant = s.p[UUID_AT_VARIANT];
    return variant == '8' || variant == '9' || (variant | 0x20) == 'a' || (variant | 0x20) == 'b';
}
