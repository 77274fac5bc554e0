/* The member `agent` of a configuration: the agent runtime. */
#include "app/config_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

/* Rules are written by hand. */
#define CONFIG_MAX_RULES 1024

/* In the order of TurnVerdict. */
static const char *const config_verdicts[] = {"allow", "ask", "deny"};

int config_add_rule(ConfigAgent *agent, Span name, Span word, Diag *reterr_diag)
{
    AgentRule *rules;
    size_t verdict;
    char *copy;

    if (!text_is_one_of(word, config_verdicts, TW_ARRAY_SIZE(config_verdicts), &verdict)) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "expected \"allow\", \"ask\" or \"deny\"");
    }
    if (name.n == 0 || memchr(name.p, '\0', name.n) != NULL || agent->n_rules == CONFIG_MAX_RULES) {
        return diag_set(reterr_diag, CONFIG_E_INVALID,
                        agent->n_rules == CONFIG_MAX_RULES ? "too many rules"
                                                           : "expected the name of a tool");
    }
    rules = mem_realloc(agent->rules, (agent->n_rules + 1) * sizeof(*rules));
    if (rules == NULL) {
        return err_raise(-ENOMEM);
    }
    agent->rules = rules;
    copy = mem_alloc(name.n + 1);
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, name.p, name.n);
    copy[name.n] = '\0';
    rules[agent->n_rules++] = (AgentRule){.name = copy, .verdict = (TurnVerdict)verdict};
    return 0;
}

void config_agent_deinit(ConfigAgent *agent)
{
    for (size_t i = 0; i < agent->n_rules; i++) {
        agent->rules[i].name = mem_free(agent->rules[i].name);
    }
    agent->rules = mem_free(agent->rules);
    agent->model = mem_free(agent->model);
    agent->base_url = mem_free(agent->base_url);
    agent->root = mem_free(agent->root);
    agent->system = mem_free(agent->system);
    agent->history = mem_free(agent->history);
    agent->commands = config_free_list(agent->commands);
    agent->attachments = config_free_list(agent->attachments);
    *agent = (ConfigAgent){.model = NULL};
}

/* ---- members ---- */

static int config_read_agent_tools(const ConfigReader *reader, JsonValue tools)
{
    if (json_kind(tools) != JSON_OBJECT) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected an object of names and words");
    }
    for (JsonIter it = json_iter(tools); json_iter_next(&it);) {
        Span name;
        Span word = SPAN_NULL;
        int r = json_string(it.key, reader->arena, &name);

        if (r == 0 && json_kind(it.value) == JSON_STRING) {
            r = json_string(it.value, reader->arena, &word);
        }
        r = r != 0 ? err_fold(r)
                   : config_add_rule(&reader->config->agent, name, word, reader->diag);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* A path, or "off". */
static int config_read_agent_history(const ConfigReader *reader, JsonValue value)
{
    char **history = &reader->config->agent.history;
    int r = config_read_string(reader, value, history);

    if (r != 0 || strcmp(*history, CONFIG_AGENT_OFF) == 0) {
        return r;
    }
    if ((*history)[0] == '\0') {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected the path of a file, or off");
    }
    return config_read_path(reader, value, history);
}

/* The script of "script:FILE" is a file as others are. */
static int config_read_agent_model(const ConfigReader *reader, JsonValue value)
{
    return config_read_string(reader, value, &reader->config->agent.model);
}

typedef enum AgentMember {
    AGENT_MEMBER_MODEL,
    AGENT_MEMBER_BASE_URL,
    AGENT_MEMBER_ROOT,
    AGENT_MEMBER_SYSTEM,
    AGENT_MEMBER_HISTORY,
    AGENT_MEMBER_TOOLS,
    AGENT_MEMBER_COMMANDS,
    AGENT_MEMBER_ATTACHMENTS,
    AGENT_MEMBER_NETWORK,
    AGENT_MEMBER_UNCONFINED,
    AGENT_N_MEMBERS
} AgentMember;

static const char *const config_agent_names[AGENT_N_MEMBERS] = {
    [AGENT_MEMBER_MODEL] = "model",
    [AGENT_MEMBER_BASE_URL] = "base_url",
    [AGENT_MEMBER_ROOT] = "root",
    [AGENT_MEMBER_SYSTEM] = "system",
    [AGENT_MEMBER_HISTORY] = "history",
    [AGENT_MEMBER_TOOLS] = "tools",
    [AGENT_MEMBER_COMMANDS] = "commands",
    [AGENT_MEMBER_ATTACHMENTS] = "attachments",
    [AGENT_MEMBER_NETWORK] = "allow_network",
    [AGENT_MEMBER_UNCONFINED] = "allow_unconfined",
};

static int config_read_agent_known(const ConfigReader *reader, AgentMember member, JsonValue value,
                                   const char *field)
{
    ConfigAgent *agent = &reader->config->agent;

    switch (member) {
    case AGENT_MEMBER_MODEL:
        return config_place(reader, value, field, config_read_agent_model(reader, value));
    case AGENT_MEMBER_BASE_URL:
        return config_place(reader, value, field,
                            config_read_string(reader, value, &agent->base_url));
    case AGENT_MEMBER_ROOT:
        return config_place(reader, value, field, config_read_path(reader, value, &agent->root));
    case AGENT_MEMBER_SYSTEM:
        return config_place(reader, value, field, config_read_path(reader, value, &agent->system));
    case AGENT_MEMBER_HISTORY:
        return config_place(reader, value, field, config_read_agent_history(reader, value));
    case AGENT_MEMBER_TOOLS:
        return config_place(reader, value, field, config_read_agent_tools(reader, value));
    case AGENT_MEMBER_COMMANDS:
        return config_read_list(reader, value, field, "a name or an array of names",
                                config_read_string, &agent->commands);
    case AGENT_MEMBER_ATTACHMENTS:
        return config_read_list(reader, value, field, "a folder or an array of folders",
                                config_read_path, &agent->attachments);
    case AGENT_MEMBER_NETWORK:
        return config_place(reader, value, field,
                            config_read_bool(reader, value, &agent->allow_network));
    case AGENT_MEMBER_UNCONFINED:
    default:
        return config_place(reader, value, field,
                            config_read_bool(reader, value, &agent->allow_unconfined));
    }
}

static int config_read_agent_member(const ConfigReader *reader, const JsonIter *it)
{
    const char *names[CONFIG_NUMBERS_MAX + AGENT_N_MEMBERS];
    size_t n_names = config_number_names(CONFIG_AGENT, names);
    char field[DIAG_FIELD_SIZE];
    bool is_known;
    size_t member;
    Span name;
    int r = json_string(it->key, reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    (void)snprintf(field, sizeof(field), "agent.%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
    r = config_read_number(reader, CONFIG_AGENT, name, it->value, &is_known);
    if (is_known) {
        return config_place(reader, it->value, field, r);
    }
    if (text_is_one_of(name, config_agent_names, AGENT_N_MEMBERS, &member)) {
        return config_read_agent_known(reader, (AgentMember)member, it->value, field);
    }
    memcpy(names + n_names, config_agent_names, sizeof(config_agent_names));
    return config_unknown(reader, it->key, name, "agent.", names, n_names + AGENT_N_MEMBERS);
}

int config_read_agent(const ConfigReader *reader, JsonValue agent)
{
    if (json_kind(agent) == JSON_STRING) {
        return config_place(reader, agent, "agent", config_read_agent_model(reader, agent));
    }
    if (json_kind(agent) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object, or a model");
        return config_place(reader, agent, "agent", CONFIG_E_INVALID);
    }
    for (JsonIter it = json_iter(agent); json_iter_next(&it);) {
        int r = config_read_agent_member(reader, &it);

        if (r != 0) {
            return r;
        }
    }
    return 0;
}
