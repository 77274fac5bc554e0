/* Where the programs keep their settings. All systems are in one table: what does not exist there
 * is not found. */
#include "app/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define PLACES_PATH_MAX 4096

const char *const import_kinds[] = {"claude-desktop", "claude-code", "cursor",
                                    "vscode",         "cline",       NULL};

enum {
    KIND_CLAUDE_DESKTOP,
    KIND_CLAUDE_CODE,
    KIND_CURSOR,
    KIND_VSCODE,
    KIND_CLINE
};

/* What stands before the path. */
typedef enum PlaceBase {
    BASE_HERE,
    BASE_HOME,
    BASE_CONFIG,  /* $XDG_CONFIG_HOME, ~/.config */
    BASE_LIBRARY, /* ~/Library/Application Support */
    BASE_APPDATA, /* %APPDATA% */
    BASE_CLAUDE,  /* $CLAUDE_CONFIG_DIR */
    BASE_FILE     /* the variable is the whole path */
} PlaceBase;

#define CLINE_FILE "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

static const struct {
    int kind;
    PlaceBase base;
    const char *path;
} places[] = {
    {KIND_CLAUDE_DESKTOP, BASE_CONFIG, "Claude/claude_desktop_config.json"},
    {KIND_CLAUDE_DESKTOP, BASE_LIBRARY, "Claude/claude_desktop_config.json"},
    {KIND_CLAUDE_DESKTOP, BASE_APPDATA, "Claude/claude_desktop_config.json"},
    {KIND_CLAUDE_CODE, BASE_HERE, ".mcp.json"},
    {KIND_CLAUDE_CODE, BASE_HERE, ".claude/settings.local.json"},
    {KIND_CLAUDE_CODE, BASE_HERE, ".claude/settings.json"},
    {KIND_CLAUDE_CODE, BASE_CLAUDE, ".claude.json"},
    {KIND_CLAUDE_CODE, BASE_HOME, ".claude.json"},
    {KIND_CURSOR, BASE_HERE, ".cursor/mcp.json"},
    {KIND_CURSOR, BASE_HOME, ".cursor/mcp.json"},
    {KIND_VSCODE, BASE_HERE, ".vscode/mcp.json"},
    {KIND_VSCODE, BASE_HERE, ".vscode/settings.json"},
    {KIND_VSCODE, BASE_CONFIG, "Code/User/mcp.json"},
    {KIND_VSCODE, BASE_CONFIG, "Code/User/settings.json"},
    {KIND_VSCODE, BASE_LIBRARY, "Code/User/mcp.json"},
    {KIND_VSCODE, BASE_LIBRARY, "Code/User/settings.json"},
    {KIND_VSCODE, BASE_APPDATA, "Code/User/mcp.json"},
    {KIND_VSCODE, BASE_APPDATA, "Code/User/settings.json"},
    {KIND_CLINE, BASE_FILE, "CLINE_MCP_SETTINGS_PATH"},
    {KIND_CLINE, BASE_HOME, ".cline/data/settings/cline_mcp_settings.json"},
    {KIND_CLINE, BASE_CONFIG, "Code/User/" CLINE_FILE},
    {KIND_CLINE, BASE_LIBRARY, "Code/User/" CLINE_FILE},
    {KIND_CLINE, BASE_APPDATA, "Code/User/" CLINE_FILE},
};

static const char *place_variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *place_home(void)
{
    const char *home = place_variable("HOME");

    return home != NULL ? home : place_variable("USERPROFILE");
}

/* False: there is no such base, or the path is too long. */
static bool place_path(PlaceBase base, const char *path, const char *folder,
                       char ret[PLACES_PATH_MAX])
{
    const char *before = NULL;
    const char *between = "/";
    int n;

    switch (base) {
    case BASE_HERE:
        before = folder;
        break;
    case BASE_HOME:
        before = place_home();
        break;
    case BASE_CONFIG:
        before = place_variable("XDG_CONFIG_HOME");
        if (before == NULL) {
            before = place_home();
            between = "/.config/";
        }
        break;
    case BASE_LIBRARY:
        before = place_home();
        between = "/Library/Application Support/";
        break;
    case BASE_APPDATA:
        before = place_variable("APPDATA");
        break;
    case BASE_CLAUDE:
        before = place_variable("CLAUDE_CONFIG_DIR");
        break;
    case BASE_FILE:
        before = place_variable(path);
        between = "";
        path = "";
        break;
    }
    n = before == NULL ? -1 : snprintf(ret, PLACES_PATH_MAX, "%s%s%s", before, between, path);
    return n >= 0 && n < PLACES_PATH_MAX;
}

int import_places(const char *kind, const char *folder,
                  int (*fn)(void *context, const char *kind, const char *path), void *context)
{
    char path[PLACES_PATH_MAX];
    int r = 0;

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(places); i++) {
        const char *name = import_kinds[places[i].kind];

        if ((kind == NULL || strcmp(kind, name) == 0) &&
            place_path(places[i].base, places[i].path, folder, path)) {
            r = fn(context, name, path);
        }
    }
    return r;
}
