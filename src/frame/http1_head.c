#include "frame/http1_head.h"

#include "base/compiler.h"
#include "base/text.h"
#include "frame/http1_scan.h"

#if TW_X86
#include <emmintrin.h>
#endif

/* Names that are equal are mostly written alike. */
static bool http1_head_is_name(Span a, Span b)
{
    return a.n == b.n && a.n > 0 && (memcmp(a.p, b.p, a.n) == 0 || text_equals_nocase(a, b));
}

/* Of 16 fields, beginning with the i-th, those that have this mark; there is room for as many. */
static unsigned http1_head_marked(const Http1Head *head, size_t i, uint8_t mark)
{
    size_t n = head->n_fields - i < HTTP1_MARKS_STEP ? head->n_fields - i : HTTP1_MARKS_STEP;
    unsigned all = (1u << n) - 1;
    unsigned marked = 0;

    if (head->marks == NULL) {
        return all;
    }
#if TW_X86
    marked = (unsigned)_mm_movemask_epi8(
        _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(head->marks + i)),
                       _mm_set1_epi8((char)mark)));
#else
    for (size_t k = 0; k < n; k++) {
        marked |= (unsigned)(head->marks[i + k] == mark) << k;
    }
#endif
    return marked & all;
}

size_t http1_head_find_marked(const Http1Head *head, Span name, uint8_t mark, Span *ret_value)
{
    size_t n = 0;

    for (size_t i = 0; i < head->n_fields; i += HTTP1_MARKS_STEP) {
        for (unsigned left = http1_head_marked(head, i, mark); left != 0; left &= left - 1) {
            const Http1Field *field = &head->fields[i + (size_t)__builtin_ctz(left)];

            if (http1_head_is_name(field->name, name)) {
                if (n == 0 && ret_value != NULL) {
                    *ret_value = field->value;
                }
                n++;
            }
        }
    }
    return n;
}

/* Takes the next element off a list that commas separate; false at its end. */
static bool http1_list_take(Span *rest, Span *ret_element)
{
    const char *comma;

    if (rest->p == NULL) {
        return false;
    }
    comma = rest->n == 0 ? NULL : memchr(rest->p, ',', rest->n);
    if (comma == NULL) {
        *ret_element = http1_scan_trim(*rest);
        *rest = SPAN_NULL;
    } else {
        *ret_element = http1_scan_trim(span_make(rest->p, (size_t)(comma - rest->p)));
        *rest = span_make(comma + 1, rest->n - (size_t)(comma - rest->p) - 1);
    }
    return true;
}

bool http1_head_lists(const Http1Head *head, Span name, Span token)
{
    if (http1_head_find(head, name, NULL) == 0) {
        return false;
    }
    for (size_t i = 0; i < head->n_fields; i++) {
        Span rest = head->fields[i].value;
        Span element = SPAN_NULL;

        if (!text_equals_nocase(head->fields[i].name, name)) {
            continue;
        }
        while (http1_list_take(&rest, &element)) {
            if (text_equals_nocase(element, token)) {
                return true;
            }
        }
    }
    return false;
}

Http1Fault http1_head_decide_length(Http1Head *head)
{
    Span length = SPAN_NULL;
    Span encoding = SPAN_NULL;
    size_t n_lengths = http1_head_find(head, SPAN("Content-Length"), &length);
    size_t n_encodings = http1_head_find(head, SPAN("Transfer-Encoding"), &encoding);

    /* The order matters for a head that llhttp stopped in: what needs no value comes first. */
    if (n_lengths > 0 && n_encodings > 0) {
        return HTTP1_FAULT_LENGTH_AND_ENCODING;
    }
    if (n_lengths > 1) {
        return HTTP1_FAULT_LENGTH_REPEATED;
    }
    if (n_encodings > 1) {
        return HTTP1_FAULT_ENCODING_REPEATED;
    }
    head->length = HTTP1_LENGTH_NONE;
    if (n_lengths == 1) {
        head->length = HTTP1_LENGTH_GIVEN;
        return text_parse_u64(length, &head->content_length) == 0 ? HTTP1_FAULT_NONE
                                                                  : HTTP1_FAULT_LENGTH;
    }
    if (n_encodings == 1) {
        head->length = HTTP1_LENGTH_CHUNKED;
        if (head->minor == 0) {
            return HTTP1_FAULT_ENCODING_IN_1_0;
        }
        return text_equals_nocase(encoding, SPAN("chunked")) ? HTTP1_FAULT_NONE
                                                             : HTTP1_FAULT_ENCODING;
    }
    return HTTP1_FAULT_NONE;
}

static bool http1_head_keeps_alive(const Http1Head *head)
{
    if (http1_head_lists(head, SPAN("Connection"), SPAN("close"))) {
        return false;
    }
    return head->minor > 0 || http1_head_lists(head, SPAN("Connection"), SPAN("keep-alive"));
}

static Http1Fault http1_head_decide_host(Http1Head *head)
{
    Span host = SPAN_NULL;
    size_t n = http1_head_find(head, SPAN("Host"), &host);
    Span of_target = SPAN_NULL;
    Http1Fault fault = http1_scan_target(head, &of_target);

    if (fault != HTTP1_FAULT_NONE) {
        return fault;
    }
    if (n > 1) {
        return HTTP1_FAULT_HOST_REPEATED;
    }
    if (n == 0 && head->minor > 0) {
        return HTTP1_FAULT_HOST_MISSING;
    }
    if (!http1_scan_is_authority(host)) {
        return HTTP1_FAULT_HOST;
    }
    head->authority = host;
    if (of_target.p != NULL) {
        /* The target's is the one that counts (RFC 9112, 3.2.2); a client sends the same twice, and
         * whoever does not wants one of us to look at the other. */
        if (n > 0 && !text_equals_nocase(host, of_target)) {
            return HTTP1_FAULT_HOST;
        }
        head->authority = of_target;
    }
    return HTTP1_FAULT_NONE;
}

Http1Fault http1_head_decide_request(Http1Head *head)
{
    Span expect = SPAN_NULL;
    size_t n_expects = http1_head_find(head, SPAN("Expect"), &expect);
    Http1Fault fault = http1_head_decide_host(head);

    if (fault != HTTP1_FAULT_NONE) {
        return fault;
    }
    head->keeps_alive = http1_head_keeps_alive(head);
    head->wants_upgrade = http1_head_find(head, SPAN("Upgrade"), NULL) > 0;
    if (n_expects > 1 || (n_expects == 1 && !text_equals_nocase(expect, SPAN("100-continue")))) {
        return HTTP1_FAULT_EXPECTATION;
    }
    /* From HTTP/1.0 it is ignored (RFC 9110, 10.1.1), and without a body there is nothing to
     * continue with. */
    head->expects_continue = n_expects == 1 && head->minor > 0 &&
                             (head->length == HTTP1_LENGTH_CHUNKED || head->content_length > 0);
    return HTTP1_FAULT_NONE;
}

bool http1_head_is_bare(unsigned status)
{
    return status < 200 || status == 204 || status == 304;
}

Http1Fault http1_head_decide_response(Http1Head *head, bool answers_head)
{
    if (head->status == 101) {
        return HTTP1_FAULT_SWITCHED;
    }
    head->keeps_alive = http1_head_keeps_alive(head);
    if (answers_head || http1_head_is_bare(head->status)) {
        head->length = HTTP1_LENGTH_NONE;
    } else if (head->length == HTTP1_LENGTH_NONE) {
        head->length = HTTP1_LENGTH_UNTIL_CLOSE;
        head->keeps_alive = false;
    }
    return HTTP1_FAULT_NONE;
}
