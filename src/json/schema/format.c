#include "json/schema/format.h"

typedef struct FormatEntry {
    Span name;
    bool (*check_fn)(Span s);
} FormatEntry;

static const FormatEntry format_table[SCHEMA_FORMAT_COUNT] = {
    [SCHEMA_FORMAT_DATE_TIME] = {{"date-time", 9}, format_date_time},
    [SCHEMA_FORMAT_DATE] = {{"date", 4}, format_date},
    [SCHEMA_FORMAT_TIME] = {{"time", 4}, format_time},
    [SCHEMA_FORMAT_DURATION] = {{"duration", 8}, format_duration},
    [SCHEMA_FORMAT_EMAIL] = {{"email", 5}, format_email},
    [SCHEMA_FORMAT_IDN_EMAIL] = {{"idn-email", 9}, format_idn_email},
    [SCHEMA_FORMAT_HOSTNAME] = {{"hostname", 8}, format_hostname},
    [SCHEMA_FORMAT_IPV4] = {{"ipv4", 4}, format_ipv4},
    [SCHEMA_FORMAT_IPV6] = {{"ipv6", 4}, format_ipv6},
    [SCHEMA_FORMAT_URI] = {{"uri", 3}, format_uri},
    [SCHEMA_FORMAT_URI_REFERENCE] = {{"uri-reference", 13}, format_uri_reference},
    [SCHEMA_FORMAT_IRI] = {{"iri", 3}, format_iri},
    [SCHEMA_FORMAT_IRI_REFERENCE] = {{"iri-reference", 13}, format_iri_reference},
    [SCHEMA_FORMAT_URI_TEMPLATE] = {{"uri-template", 12}, format_uri_template},
    [SCHEMA_FORMAT_UUID] = {{"uuid", 4}, format_uuid},
    [SCHEMA_FORMAT_JSON_POINTER] = {{"json-pointer", 12}, format_json_pointer},
    [SCHEMA_FORMAT_RELATIVE_JSON_POINTER] = {{"relative-json-pointer", 21},
                                             format_relative_json_pointer},
    [SCHEMA_FORMAT_REGEX] = {{"regex", 5}, format_regex},
};

SchemaFormat schema_format_find(Span name)
{
    for (int i = 0; i < SCHEMA_FORMAT_COUNT; i++) {
        if (span_equals(format_table[i].name, name)) {
            return (SchemaFormat)i;
        }
    }
    return SCHEMA_FORMAT_COUNT;
}

const char *schema_format_name(SchemaFormat format)
{
    return format_table[format].name.p;
}

bool schema_format_check(SchemaFormat format, Span text)
{
    return format_table[format].check_fn(text);
}
