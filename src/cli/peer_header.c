#include "cli/peer_header.h"

#include <errno.h>
#include <string.h>

#include "app/config.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

static int header_expand(Arena *arena, McpHttpField *field, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *value = NULL;
    int r = config_expand(&value, field->value, reterr_diag);

    if (r == CONFIG_E_INVALID) {
        /* In other words than those of the configuration, which show the text. */
        return diag_set(reterr_diag, PEER_HEADER_E_INVALID,
                        "the header '%.*s': a '$' begins ${NAME} or ${NAME:-default}; write $$ "
                        "for a dollar",
                        (int)field->name.n, field->name.p);
    }
    if (r == CONFIG_E_VARIABLE) {
        diag_prefix(reterr_diag, "--header: ");
        return PEER_HEADER_E_INVALID;
    }
    if (r != 0) {
        return err_fold(r);
    }
    field->value = arena_copy(arena, text_trim(span_from_str(value)));
    return field->value.p != NULL ? 0 : err_raise(-ENOMEM);
}

int peer_header_read(Arena *arena, const char *line, McpHttpField *ret, Diag *reterr_diag)
{
    const char *colon = strchr(line, ':');
    McpHttpField field;
    const char *flaw;
    int r;

    if (colon == NULL) {
        return diag_set(reterr_diag, PEER_HEADER_E_INVALID,
                        "a header is written as --header 'Name: value'");
    }
    field.name = span_make(line, (size_t)(colon - line));
    field.value = SPAN("");
    flaw = mcp_http_client_field_flaw(&field);
    if (flaw == NULL) {
        field.value = span_from_str(colon + 1);
        r = header_expand(arena, &field, reterr_diag);
        if (r != 0) {
            return r;
        }
        flaw = mcp_http_client_field_flaw(&field);
    }
    if (flaw != NULL) {
        return diag_set(reterr_diag, PEER_HEADER_E_INVALID, "the header '%.*s' %s",
                        (int)(field.name.n < 60 ? field.name.n : 60), field.name.p, flaw);
    }
    *ret = field;
    return 0;
}
