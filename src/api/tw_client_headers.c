/* Headers for a server over HTTP, as the options say them. */
#include "api/tw_client.h"

#include <stdlib.h>
#include <string.h>
#include <toolwire/error.h>

#include "base/alloc.h"
#include "base/text.h"

void api_headers_deinit(ApiHeaders *headers)
{
    headers->fields = mem_free(headers->fields);
    headers->bearer = mem_free(headers->bearer);
}

static int headers_add_token(TwClient *client, ApiHeaders *headers)
{
    const char *token = getenv(client->bearer_env);
    Span value;
    char *text;

    if (token == NULL || token[0] == '\0') {
        return api_client_fail(client, TW_ERROR_ARGUMENT,
                               "the environment has no token under the name of bearer_env");
    }
    text = mem_alloc(strlen("Bearer ") + strlen(token) + 1);
    if (text == NULL) {
        return api_client_fail(client, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    memcpy(text, "Bearer ", strlen("Bearer "));
    memcpy(text + strlen("Bearer "), token, strlen(token) + 1);
    headers->bearer = text;
    value = span_from_str(text);
    headers->authorizes = true;
    headers->fields[headers->n++] = (McpHttpField){SPAN("Authorization"), value};
    return 0;
}

int api_headers_read(TwClient *client, ApiHeaders *headers)
{
    size_t n = 0;

    while (client->headers != NULL && client->headers[n] != NULL) {
        n++;
    }
    headers->fields = mem_alloc_array(n + 1, sizeof(*headers->fields));
    if (headers->fields == NULL) {
        return api_client_fail(client, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    for (; headers->n < n; headers->n++) {
        const char *line = client->headers[headers->n];
        const char *colon = strchr(line, ':');

        if (colon == NULL) {
            /* It is not shown: it may be a secret. */
            return api_client_fail(client, TW_ERROR_ARGUMENT,
                                   "a header is not written as \"Name: value\"");
        }
        headers->fields[headers->n] = (McpHttpField){span_make(line, (size_t)(colon - line)),
                                                     text_trim(span_from_str(colon + 1))};
        headers->authorizes =
            headers->authorizes ||
            text_equals_nocase(headers->fields[headers->n].name, SPAN("authorization"));
    }
    return client->bearer_env == NULL ? 0 : headers_add_token(client, headers);
}
