#include "router/jwt_der.h"

enum {
    DER_INTEGER = 0x02,
    DER_BIT_STRING = 0x03,
    DER_SEQUENCE = 0x30,
};

void jwt_der_init(JwtDer *der)
{
    der->at = sizeof(der->data);
    der->is_full = false;
}

void jwt_der_push(JwtDer *der, Span bytes)
{
    if (bytes.n > der->at) {
        der->is_full = true;
        return;
    }
    if (bytes.n > 0) {
        der->at -= bytes.n;
        memcpy(der->data + der->at, bytes.p, bytes.n);
    }
}

static void der_push_byte(JwtDer *der, size_t byte)
{
    char c = (char)(unsigned char)(byte & 0xFF);

    jwt_der_push(der, span_make(&c, 1));
}

void jwt_der_wrap(JwtDer *der, uint8_t tag, size_t end)
{
    size_t n = end - der->at;

    if (n < 0x80) {
        der_push_byte(der, n);
    } else {
        size_t n_bytes = 0;

        for (size_t rest = n; rest > 0; rest >>= 8) {
            der_push_byte(der, rest);
            n_bytes++;
        }
        der_push_byte(der, 0x80 | n_bytes);
    }
    der_push_byte(der, tag);
}

void jwt_der_push_int(JwtDer *der, Span number)
{
    size_t end = der->at;

    while (number.n > 0 && number.p[0] == 0) {
        number = span_make(number.p + 1, number.n - 1);
    }
    jwt_der_push(der, number);
    /* A first bit that is set would make it a negative one. */
    if (number.n == 0 || ((unsigned char)number.p[0] & 0x80) != 0) {
        der_push_byte(der, 0);
    }
    jwt_der_wrap(der, DER_INTEGER, end);
}

void jwt_der_make_public(JwtDer *der, Span algorithm)
{
    der_push_byte(der, 0); /* no bits of the last byte are left over */
    jwt_der_wrap(der, DER_BIT_STRING, sizeof(der->data));
    jwt_der_push(der, algorithm);
    jwt_der_wrap(der, DER_SEQUENCE, sizeof(der->data));
}

Span jwt_der_span(const JwtDer *der)
{
    return span_make((const char *)der->data + der->at, sizeof(der->data) - der->at);
}
