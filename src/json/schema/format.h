/* json/schema/format.h: the values of "format" that can be checked. Pure functions of the decoded
 * text, which may hold NUL bytes. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>

typedef enum SchemaFormat {
    SCHEMA_FORMAT_DATE_TIME,
    SCHEMA_FORMAT_DATE,
    SCHEMA_FORMAT_TIME,
    SCHEMA_FORMAT_DURATION,
    SCHEMA_FORMAT_EMAIL,
    SCHEMA_FORMAT_IDN_EMAIL,
    SCHEMA_FORMAT_HOSTNAME,
    SCHEMA_FORMAT_IPV4,
    SCHEMA_FORMAT_IPV6,
    SCHEMA_FORMAT_URI,
    SCHEMA_FORMAT_URI_REFERENCE,
    SCHEMA_FORMAT_IRI,
    SCHEMA_FORMAT_IRI_REFERENCE,
    SCHEMA_FORMAT_URI_TEMPLATE,
    SCHEMA_FORMAT_UUID,
    SCHEMA_FORMAT_JSON_POINTER,
    SCHEMA_FORMAT_RELATIVE_JSON_POINTER,
    SCHEMA_FORMAT_REGEX,
    SCHEMA_FORMAT_COUNT /* also: not a format that we check */
} SchemaFormat;

/* SCHEMA_FORMAT_COUNT if the name is not one of ours; such a format always passes. */
SchemaFormat schema_format_find(Span name);
const char *schema_format_name(SchemaFormat format);

/* format must be below SCHEMA_FORMAT_COUNT. */
bool schema_format_check(SchemaFormat format, Span text);

/* The checks themselves, one per format; format.c's table lists them. */
bool format_date_time(Span s); /* RFC 3339, 5.6 */
bool format_date(Span s);      /* full-date */
bool format_time(Span s);      /* full-time; a leap second only where UTC has one */
bool format_duration(Span s);  /* RFC 3339, appendix A */
bool format_email(Span s);     /* RFC 5321 mailbox */
bool format_idn_email(Span s); /* the same with non-ASCII letters (RFC 6531) */
bool format_hostname(Span s);  /* RFC 1123; A-labels must be decodable Punycode */
bool format_ipv4(Span s);      /* RFC 2673 dotted quad, no leading zeros */
bool format_ipv6(Span s);      /* RFC 4291, 2.2; no zone */
bool format_uri(Span s);       /* RFC 3986 with a scheme */
bool format_uri_reference(Span s);
bool format_iri(Span s); /* RFC 3987, private-use characters allowed everywhere */
bool format_iri_reference(Span s);
bool format_uri_template(Span s); /* RFC 6570 */
bool format_uuid(Span s);         /* RFC 4122, any version */
bool format_json_pointer(Span s); /* RFC 6901 */
bool format_relative_json_pointer(Span s);
bool format_regex(Span s); /* syntax of ECMA-262, Unicode mode */
