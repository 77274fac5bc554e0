/* app/config_internal.h: what the files that read a configuration share. Private to this folder.
 * Thread: any, one at a time.
 */
#pragma once

#include "app/config.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"
#include "oauth/settings.h"
#include "json/json.h"

#include <stddef.h>

/* Reading one file. */
typedef struct ConfigReader {
    Config *config;
    Span text;
    const char *path;
    Arena *arena;
    Diag *diag;
    bool is_check; /* nothing of it is used: variables need not be set, and errors name no file */
} ConfigReader;

/* ---- errors (config.c) ---- */

/* Adds file, line and field to what diag_set wrote; returns r, and does nothing if that is 0 or
 * negative. */
int config_place(const ConfigReader *reader, JsonValue at, const char *field, int r);

/* A key that none of the names is; where: what stands before it in the field's name. */
int config_unknown(const ConfigReader *reader, JsonValue key, Span name, const char *where,
                   const char *const *names, size_t n);

/* "expected an object", with its place. */
int config_no_object(const ConfigReader *reader, JsonValue value, const char *field);

/* ---- values (config.c); errors without their place ---- */

/* A string with its variables replaced. Gives *ret; what was there is freed. */
int config_read_string(const ConfigReader *reader, JsonValue value, char **ret);

/* The same, a path from the folder where the file lies. */
int config_read_path(const ConfigReader *reader, JsonValue value, char **ret);

/* true or false. */
int config_read_bool(const ConfigReader *reader, JsonValue value, bool *ret);

/* ---- lists of strings (config_list.c) ---- */

/* Reads an array of strings, or one alone, each with `read` (config_read_string, config_read_path).
 * expected: what it should be, for the error. Gives *ret; what was there is freed. Errors have
 * their place. */
int config_read_list(const ConfigReader *reader, JsonValue value, const char *field,
                     const char *expected,
                     int (*read)(const ConfigReader *reader, JsonValue value, char **ret),
                     char ***ret);
char **config_free_list(char **list); /* NULL */

/* ---- numbers (config_numbers.c) ---- */

/* Which member of the file a number belongs to. */
typedef enum ConfigGroup {
    CONFIG_LIMITS,
    CONFIG_PIPE,
    CONFIG_AUDIT,
    CONFIG_QUEUE,
    CONFIG_AGENT,
} ConfigGroup;

/* More than there are in one group. */
#define CONFIG_NUMBERS_MAX 16

/* The names of a group's numbers; returns how many. */
size_t config_number_names(ConfigGroup group, const char *ret[CONFIG_NUMBERS_MAX]);

/* Reads the value of the group's number of that name: as JSON, or as text. *ret_known: there is
 * such a number; if not, nothing was done. */
int config_read_number(const ConfigReader *reader, ConfigGroup group, Span name, JsonValue value,
                       bool *ret_known);

/* ---- members of the file ---- */

int config_read_limits(const ConfigReader *reader, JsonValue limits);
int config_read_pipe(const ConfigReader *reader, JsonValue pipe);
int config_read_http(const ConfigReader *reader, JsonValue http);
int config_read_auth(const ConfigReader *reader, JsonValue auth);
void config_free_issuers(ConfigHttp *http);
int config_read_audit(const ConfigReader *reader, JsonValue audit);
int config_read_queue(const ConfigReader *reader, JsonValue queue);
/* `auth` of a server over HTTP (config_server_auth.c); where: its field. What was read before a
 * failure stays in *ret (oauth_settings_deinit). */
int config_read_server_auth(const ConfigReader *reader, JsonValue auth, const char *where,
                            OauthSettings *ret);
int config_read_agent(const ConfigReader *reader, JsonValue agent);
int config_read_lazy_tools(const ConfigReader *reader, JsonValue lazy);
int config_read_servers(const ConfigReader *reader, JsonValue servers);
void config_servers_deinit(Config *config);
void config_agent_deinit(ConfigAgent *agent);
