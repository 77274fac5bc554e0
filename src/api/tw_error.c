/* Error numbers, their words, and the versions; declared in toolwire/error.h and version.h. */
#include <toolwire/error.h>
#include <toolwire/version.h>

#include <errno.h>
#include <stddef.h>

#include "api/tw_internal.h"
#include "base/compiler.h"
#include "dialect/mcp/revision.h"

static const char *const error_texts[] = {
    [-TW_OK] = "done",
    [-TW_ERROR_MEMORY] = "no memory",
    [-TW_ERROR_ARGUMENT] = "a parameter is missing or wrong",
    [-TW_ERROR_JSON] = "not the JSON that it must be",
    [-TW_ERROR_EXISTS] = "that name is taken",
    [-TW_ERROR_MISSING] = "there is nothing of that name",
    [-TW_ERROR_FULL] = "a limit is reached",
    [-TW_ERROR_BUSY] = "in use already",
    [-TW_ERROR_OVER] = "the call is over",
    [-TW_ERROR_SYSTEM] = "the system refused",
    [-TW_ERROR_START] = "the server could not be started or reached",
    [-TW_ERROR_CLOSED] = "there is no session",
    [-TW_ERROR_TIMEOUT] = "no answer came in time",
    [-TW_ERROR_CANCELLED] = "cancelled",
    [-TW_ERROR_REMOTE] = "the server answered with an error",
    [-TW_ERROR_INTERNAL] = "a fault of the library",
    [-TW_ERROR_LEASE] = "the job is somebody else's by now, or nobody's",
};

const char *tw_error_text(int error)
{
    if (error > 0 || error <= -(int)TW_ARRAY_SIZE(error_texts)) {
        return "unknown error";
    }
    return error_texts[-error];
}

int api_error_of(int r)
{
    if (r == 0) {
        return TW_OK;
    }
    if (r == -ENOMEM) {
        return TW_ERROR_MEMORY;
    }
    if (r > 0 || r == -ENOTRECOVERABLE) {
        return TW_ERROR_INTERNAL;
    }
    return TW_ERROR_SYSTEM;
}

const char *tw_version(void)
{
    return TW_VERSION;
}

const char *tw_protocol_version(void)
{
    /* Of a literal, so its NUL is there. */
    return mcp_revision_text((McpRevision)(MCP_N_REVISIONS - 1)).p;
}
