#include "app/import.h"

#include <string.h>

#include "app/config.h"
#include "app/import_internal.h"
#include "app/jsonc.h"
#include "base/error.h"
#include "base/text.h"
#include "json/json.h"

/* A settings file; Claude Code's, with its projects, is the largest. */
#define IMPORT_FILE_BYTES  ((size_t)64 * 1024 * 1024)
#define IMPORT_ENTRY_BYTES ((size_t)1024 * 1024)

void import_init(Import *import, Span folder, bool env_refs)
{
    arena_init(&import->arena, SIZE_MAX);
    import->n_servers = 0;
    import->n_beyond = 0;
    import->n_off = 0;
    import->env_refs = env_refs;
    import->folder = folder;
}

void import_deinit(Import *import)
{
    arena_deinit(&import->arena);
    import->n_servers = 0;
}

/* ---- one server ---- */

static bool entry_string(const ImportEntry *entry, Span key, JsonValue *ret)
{
    return json_get(entry->value, key, ret) && json_kind(*ret) == JSON_STRING;
}

static bool is_switched(JsonValue object, Span key, bool to)
{
    JsonValue value;
    bool flag = !to;

    return json_get(object, key, &value) && json_bool(value, &flag) && flag == to;
}

/* The last part of a path, of either system, without .exe. */
static Span base_name(Span path)
{
    size_t start = path.n;

    while (start > 0 && path.p[start - 1] != '/' && path.p[start - 1] != '\\') {
        start--;
    }
    path = span_make(path.p + start, path.n - start);
    return span_ends_with(path, SPAN(".exe")) ? span_make(path.p, path.n - 4) : path;
}

/* Where a hub of ours serves unless it is told otherwise. */
static bool is_own_url(Span url)
{
    return span_starts_with(url, SPAN("http://127.0.0.1:7410/")) ||
           span_starts_with(url, SPAN("http://localhost:7410/"));
}

/* Why it is none of those that can be used; empty: it is. */
static Span entry_refusal(ImportEntry *entry, JsonValue *command, JsonValue *url)
{
    static const Span types[] = {SPAN_INIT("stdio"),          SPAN_INIT("sse"),
                                 SPAN_INIT("http"),           SPAN_INIT("streamable-http"),
                                 SPAN_INIT("streamableHttp"), SPAN_INIT("streamable_http"),
                                 SPAN_INIT("remote"),         SPAN_INIT("local")};
    JsonValue type;
    bool is_known = false;

    if (json_kind(entry->value) != JSON_OBJECT) {
        return SPAN("not an object");
    }
    if (!entry_string(entry, SPAN("command"), command)) {
        *command = JSON_VALUE_NULL;
        if (!entry_string(entry, SPAN("url"), url) &&
            !entry_string(entry, SPAN("serverUrl"), url)) {
            *url = JSON_VALUE_NULL;
        }
    }
    if (is_switched(entry->value, SPAN("disabled"), true) ||
        is_switched(entry->value, SPAN("enabled"), false)) {
        return SPAN("disabled");
    }
    if (entry_string(entry, SPAN("type"), &type) || entry_string(entry, SPAN("transport"), &type)) {
        for (size_t i = 0; i < TW_ARRAY_SIZE(types); i++) {
            is_known = is_known || json_string_equals(type, types[i]);
        }
        if (!is_known) {
            return SPAN("a transport that is not supported");
        }
    }
    if (command->node != NULL) {
        return span_equals(base_name(import_entry_text(entry, *command)), SPAN("toolwire"))
                   ? SPAN("toolwire itself")
                   : SPAN_NULL;
    }
    if (url->node != NULL) {
        return is_own_url(import_entry_text(entry, *url)) ? SPAN("toolwire itself") : SPAN_NULL;
    }
    return SPAN("neither a command nor a url");
}

static Span entry_say(ImportEntry *entry, const char *before, Span what, const char *after)
{
    Arena *arena = &entry->reader->import->arena;
    size_t n_before = strlen(before);
    size_t n_after = strlen(after);
    char *text = arena_alloc(arena, n_before + what.n + n_after + 1);

    if (text == NULL) {
        entry->r = -ENOMEM;
        return SPAN("");
    }
    memcpy(text, before, n_before);
    memcpy(text + n_before, what.p, what.n);
    memcpy(text + n_before + what.n, after, n_after);
    return span_make(text, n_before + what.n + n_after);
}

static Span entry_join(ImportEntry *entry, Span a, const char *between, Span b)
{
    Span head = entry_say(entry, "", a, between);
    char *text = arena_alloc(&entry->reader->import->arena, head.n + b.n + 1);

    if (text == NULL) {
        entry->r = -ENOMEM;
        return SPAN("");
    }
    memcpy(text, head.p, head.n);
    memcpy(text + head.n, b.p, b.n);
    return span_make(text, head.n + b.n);
}

/* Members that other programs have and nobody here, but for those that only say how a server is
 * shown or which of its tools need no question. */
static Span entry_left(ImportEntry *entry)
{
    static const char *const known[] = {
        "command", "args",        "env",         "cwd",         "url",     "serverUrl",
        "headers", "type",        "transport",   "disabled",    "enabled", "alwaysAllow",
        "name",    "autoApprove", "description", "icon",        "icons",   "gallery",
        "note",    "version",     "envFile",     "displayName", "id"};
    Span left = SPAN_NULL;

    for (JsonIter it = json_iter(entry->value); json_iter_next(&it);) {
        Span name = import_entry_text(entry, it.key);

        if (!text_is_one_of(name, known, TW_ARRAY_SIZE(known), NULL)) {
            left = left.n == 0 ? name : entry_join(entry, left, ", ", name);
        }
    }
    return left;
}

static void note_add(ImportEntry *entry, Span *note, Span more)
{
    *note = note->n == 0 ? more : entry_join(entry, *note, "; ", more);
}

static Span entry_note(ImportEntry *entry)
{
    Span left = entry_left(entry);
    Span note = SPAN_NULL;
    JsonValue file;

    if (entry->inputs.n > 0) {
        note_add(
            entry, &note,
            entry_say(entry, "asked for by VS Code: set ", entry->inputs, " in the environment"));
    }
    if (entry->variables.n > 0) {
        note_add(entry, &note, entry_say(entry, "set ", entry->variables, " in the environment"));
    }
    if (entry_string(entry, SPAN("envFile"), &file)) {
        note_add(entry, &note, SPAN("envFile is not read: put its variables into env"));
    }
    if (entry->has_text_args) {
        note_add(entry, &note, SPAN("args is a text, and taken as one argument"));
    }
    if (left.n > 0) {
        note_add(entry, &note, entry_say(entry, "not taken over: ", left, ""));
    }
    return note;
}

/* Command and arguments, or the address, without secrets: what people know it by. */
static Span entry_target(ImportEntry *entry, Span masked_json)
{
    Arena *arena = &entry->reader->import->arena;
    Span text = SPAN("");
    JsonValue member;
    JsonDoc doc;
    Bytes out;

    if (json_parse(&doc, arena, masked_json.p, masked_json.n, NULL, NULL) != 0) {
        return text;
    }
    if (json_get(json_root(&doc), SPAN("url"), &member)) {
        return import_entry_text(entry, member);
    }
    bytes_init(&out, IMPORT_ENTRY_BYTES);
    if (json_get(json_root(&doc), SPAN("command"), &member)) {
        (void)bytes_append_span(&out, import_entry_text(entry, member));
    }
    if (json_get(json_root(&doc), SPAN("args"), &member)) {
        for (JsonIter it = json_iter(member); json_iter_next(&it);) {
            (void)bytes_append_byte(&out, ' ');
            (void)bytes_append_span(&out, import_entry_text(entry, it.value));
        }
    }
    text = out.n == 0 ? SPAN("") : arena_copy(arena, bytes_span(&out));
    entry->r = text.p == NULL ? -ENOMEM : entry->r;
    bytes_deinit(&out);
    return text;
}

/* The same name was found before: the first one counts. */
static Span import_taken(const Import *import, const ImportServer *server)
{
    for (size_t i = 0; i < import->n_servers; i++) {
        const ImportServer *other = &import->servers[i];

        if (other->skipped.n == 0 && span_equals(other->name, server->name)) {
            return span_equals(other->json, server->json) ? SPAN("the same as one above")
                                                          : SPAN("clash: one above has that name");
        }
    }
    return SPAN_NULL;
}

/* Claude Code keeps elsewhere which servers of a project's .mcp.json are switched off. */
static bool import_is_off(const Import *import, const ImportServer *server)
{
    for (size_t i = 0; span_ends_with(server->source, SPAN("/.mcp.json")) && i < import->n_off;
         i++) {
        for (JsonIter it = json_iter(import->off[i]); json_iter_next(&it);) {
            if (json_kind(it.value) == JSON_STRING && json_string_equals(it.value, server->name)) {
                return true;
            }
        }
    }
    return false;
}

/* Why nothing is written of a server that could be used; empty: it is. What our own settings would
 * refuse is not written. */
static Span entry_fault(ImportEntry *entry, const ImportServer *server)
{
    const Import *import = entry->reader->import;
    Diag diag = DIAG_NULL;
    int r;

    if (entry->refusal.n > 0) {
        return entry->refusal;
    }
    if (entry->unknown.n > 0) {
        return entry_say(entry, "", entry->unknown, " means nothing here");
    }
    if (import_is_off(import, server)) {
        return SPAN("disabled in Claude Code");
    }
    r = entry->r != 0 ? entry->r : config_check_server(server->name, server->json, &diag);
    entry->r = r < 0 ? r : entry->r;
    return r > 0 ? entry_say(entry, "", span_from_str(diag.message), "")
                 : import_taken(import, server);
}

static int reader_add(const ImportReader *reader, Span name, JsonValue value, Span refusal)
{
    Import *import = reader->import;
    ImportEntry entry = {.reader = reader, .value = value, .name = name};
    JsonValue command = JSON_VALUE_NULL;
    JsonValue url = JSON_VALUE_NULL;
    ImportServer *server = &import->servers[import->n_servers];

    if (import->n_servers == IMPORT_MAX_SERVERS) {
        import->n_beyond++;
        return 0;
    }
    *server = (ImportServer){.name = name, .source = reader->path};
    server->skipped = entry_refusal(&entry, &command, &url);
    if (refusal.n > 0) {
        server->skipped = refusal;
    }
    if (command.node != NULL || url.node != NULL) {
        Span inputs;

        server->json = import_entry_json(&entry, command, url, false);
        inputs = entry.inputs;
        server->masked = import_entry_json(&entry, command, url, true);
        entry.inputs = inputs; /* and not twice */
        server->target = entry_target(&entry, server->masked);
        server->note = entry_note(&entry);
    }
    if (server->skipped.n == 0) {
        server->skipped = entry_fault(&entry, server);
    }
    if (server->skipped.n > 0) {
        server->json = SPAN("");
        server->note = SPAN_NULL;
    }
    import->n_servers += entry.r == 0;
    return err_pass(entry.r);
}

/* ---- one file ---- */

static int reader_add_all(const ImportReader *reader, JsonValue servers, Span refusal)
{
    int r = 0;

    if (json_kind(servers) != JSON_OBJECT) {
        return 0;
    }
    for (JsonIter it = json_iter(servers); r == 0 && json_iter_next(&it);) {
        Span name = SPAN_NULL;

        r = json_string(it.key, &reader->import->arena, &name);
        r = r != 0 ? err_fold(r) : reader_add(reader, name, it.value, refusal);
    }
    return r;
}

/* The user is in that folder, or beneath it. */
static bool is_inside(Span folder, Span project)
{
    return span_equals(folder, project) ||
           (span_starts_with(folder, project) && project.n > 0 && folder.n > project.n &&
            (folder.p[project.n] == '/' || folder.p[project.n] == '\\'));
}

/* Keeps a list of what is switched off, and takes it back where it was added before. */
static void reader_take_off(const ImportReader *reader, JsonValue holder)
{
    Import *import = reader->import;
    JsonValue names;

    if (!json_get(holder, SPAN("disabledMcpjsonServers"), &names) ||
        json_kind(names) != JSON_ARRAY || import->n_off == IMPORT_MAX_LISTS) {
        return;
    }
    import->off[import->n_off++] = names;
    for (size_t i = 0; i < import->n_servers; i++) {
        ImportServer *server = &import->servers[i];

        if (server->skipped.n == 0 && import_is_off(import, server)) {
            server->skipped = SPAN("disabled in Claude Code");
            server->json = SPAN("");
            server->note = SPAN_NULL;
        }
    }
}

/* Before any server of the file: one of a name that is switched off stands in nobody's way. */
static int reader_take_all_off(const ImportReader *reader, JsonValue root)
{
    JsonValue projects;
    Span folder = SPAN("");
    int r = 0;

    reader_take_off(reader, root);
    if (!json_get(root, SPAN("projects"), &projects) || json_kind(projects) != JSON_OBJECT) {
        return 0;
    }
    for (JsonIter it = json_iter(projects); r == 0 && json_iter_next(&it);) {
        r = json_string(it.key, &reader->import->arena, &folder);
        if (r == 0 && is_inside(reader->import->folder, folder)) {
            reader_take_off(reader, it.value);
        }
    }
    return r < 0 ? err_pass(r) : 0;
}

static int reader_add_projects(const ImportReader *reader, JsonValue projects)
{
    int r = 0;

    if (json_kind(projects) != JSON_OBJECT) {
        return 0;
    }
    for (JsonIter it = json_iter(projects); r == 0 && json_iter_next(&it);) {
        ImportReader project = *reader;
        JsonValue servers;

        r = json_string(it.key, &reader->import->arena, &project.folder);
        if (r != 0) {
            return err_fold(r);
        }
        if (json_get(it.value, SPAN("mcpServers"), &servers)) {
            r = reader_add_all(&project, servers,
                               is_inside(reader->import->folder, project.folder)
                                   ? SPAN_NULL
                                   : SPAN("of another project"));
        }
    }
    return r;
}

/* /u/ann/app/.vscode/mcp.json is about /u/ann/app; .mcp.json lies in its project. */
static Span project_of(Span path)
{
    static const Span ends[] = {SPAN_INIT("/.vscode/mcp.json"), SPAN_INIT("/.vscode/settings.json"),
                                SPAN_INIT("/.cursor/mcp.json"), SPAN_INIT("/.mcp.json")};

    for (size_t i = 0; i < TW_ARRAY_SIZE(ends); i++) {
        if (span_ends_with(path, ends[i])) {
            return span_make(path.p, path.n - ends[i].n);
        }
    }
    return SPAN_NULL;
}

static int reader_read(const ImportReader *reader, JsonValue root, Diag *reterr_diag)
{
    JsonValue member;
    JsonValue inner;
    int r = 0;

    if (json_kind(root) != JSON_OBJECT) {
        return diag_set(reterr_diag, IMPORT_E_SYNTAX, "%.*s: expected an object",
                        (int)reader->path.n, reader->path.p);
    }
    r = reader_take_all_off(reader, root);
    if (r == 0 && json_get(root, SPAN("mcpServers"), &member)) {
        r = reader_add_all(reader, member, SPAN_NULL);
    }
    if (r == 0 && json_get(root, SPAN("servers"), &member)) {
        r = reader_add_all(reader, member, SPAN_NULL);
    }
    if (r == 0 && json_get(root, SPAN("mcp"), &member) && json_kind(member) == JSON_OBJECT &&
        json_get(member, SPAN("servers"), &inner)) {
        r = reader_add_all(reader, inner, SPAN_NULL);
    }
    if (r == 0 && json_get(root, SPAN("mcp.servers"), &member)) {
        r = reader_add_all(reader, member, SPAN_NULL);
    }
    if (r == 0 && json_get(root, SPAN("projects"), &member)) {
        r = reader_add_projects(reader, member);
    }
    return r;
}

int import_read(Import *import, Span path, Span text, Diag *reterr_diag)
{
    ImportReader reader = {.import = import, .path = arena_copy(&import->arena, path)};
    JsonDoc doc;
    Bytes plain;
    Span kept;
    int r;

    if (reader.path.p == NULL) {
        return err_raise(-ENOMEM);
    }
    reader.folder = project_of(reader.path);
    bytes_init(&plain, IMPORT_FILE_BYTES);
    r = jsonc_to_json(&plain, text, reterr_diag);
    kept = r == 0 && plain.n > 0 ? arena_copy(&import->arena, bytes_span(&plain)) : SPAN("");
    bytes_deinit(&plain);
    if (kept.p == NULL) {
        return err_raise(-ENOMEM);
    }
    r = r != 0 ? r : json_parse(&doc, &import->arena, kept.p, kept.n, NULL, reterr_diag);
    if (r > 0) {
        if (reterr_diag != NULL) {
            diag_prefix(reterr_diag, "%.*s:%u:%u: ", (int)(path.n < 200 ? path.n : 200), path.p,
                        reterr_diag->line, reterr_diag->column);
        }
        return IMPORT_E_SYNTAX;
    }
    return r < 0 ? err_pass(r) : reader_read(&reader, json_root(&doc), reterr_diag);
}
