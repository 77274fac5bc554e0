#include "app/import.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static Import *read_all(const char *path, const char *text, bool env_refs)
{
    static Import import;
    Diag diag = DIAG_NULL;

    import_init(&import, SPAN("/u/ann/app/src"), env_refs);
    assert_int_equal(import_read(&import, span_from_str(path), span_from_str(text), &diag), 0);
    return &import;
}

/* NAME=JSON, or NAME!why it is skipped; with the note in brackets. */
static const char *said(const Import *import)
{
    static char text[4096];
    int n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < import->n_servers; i++) {
        const ImportServer *s = &import->servers[i];
        Span what = s->skipped.n > 0 ? s->skipped : s->json;

        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%.*s%c%.*s", i > 0 ? "\n" : "",
                      (int)s->name.n, s->name.p, s->skipped.n > 0 ? '!' : '=', (int)what.n, what.p);
        if (s->note.n > 0) {
            n += snprintf(text + n, sizeof(text) - (size_t)n, " [%.*s]", (int)s->note.n, s->note.p);
        }
    }
    return text;
}

static void expect(const char *path, const char *text, const char *wanted)
{
    Import *import = read_all(path, text, false);

    assert_string_equal(said(import), wanted);
    import_deinit(import);
}

static void every_program_is_understood(void **state)
{
    (void)state;
    expect(
        "/c/claude_desktop_config.json",
        "{\"mcpServers\":{\"fs\":{\"command\":\"npx\",\"args\":[\"-y\",\"fs\"],\"env\":{\"A\":"
        "\"b\"},\"alwaysAllow\":[\"x\"],\"timeout\":60}}}",
        "fs={\"command\":\"npx\",\"args\":[\"-y\",\"fs\"],\"env\":{\"A\":\"b\"}} [not taken over: "
        "timeout]");
    expect("/u/ann/.claude.json",
           "{\"mcpServers\":{\"a\":{\"type\":\"stdio\",\"command\":\"a\",\"args\":[],\"env\":{}}},"
           "\"projects\":{\"/u/ann/app\":{\"mcpServers\":{\"b\":{\"type\":\"http\",\"url\":"
           "\"https://b/mcp\",\"headers\":{\"X\":\"y\"}}}},\"/u/ann/ap\":{\"mcpServers\":{"
           "\"c\":{\"command\":\"c\"}}}}}",
           "a={\"command\":\"a\"}\n"
           "b={\"url\":\"https://b/mcp\",\"headers\":{\"X\":\"y\"}}\n"
           "c!of another project");
    expect("/u/ann/app/.vscode/mcp.json",
           "// mine\n{\"servers\":{\"g\":{\"command\":\"${workspaceFolder}/g\",\"cwd\":"
           "\"${userHome}\",\"env\":{\"T\":\"${input:my-token}\",\"N\":null,\"P\":80,},},},}",
           "g={\"command\":\"/u/ann/app/g\",\"env\":{\"T\":\"${MY_TOKEN}\",\"N\":\"\",\"P\":"
           "\"80\"},\"cwd\":\"${HOME}\"} [asked for by VS Code: set MY_TOKEN in the environment]");
    expect("/c/Code/User/settings.json",
           "{\"editor.tabSize\":4,\"mcp\":{\"servers\":{\"s\":{\"url\":\"https://s\"}}}}",
           "s={\"url\":\"https://s\"}");
    expect("/c/Code/User/settings.json", "{\"editor.tabSize\":4}", "");
}

static void what_cannot_be_used_is_named(void **state)
{
    (void)state;
    expect("/x.json",
           "{\"mcpServers\":{\"me\":{\"command\":\"/usr/bin/toolwire\",\"args\":[\"serve\"]},"
           "\"win\":{\"command\":\"C:\\\\tw\\\\toolwire.exe\"},\"hub\":{\"url\":"
           "\"http://127.0.0.1:7410/mcp\"},\"off\":{\"command\":\"x\",\"disabled\":true},"
           "\"ws\":{\"type\":\"ws\",\"url\":\"ws://x\"},\"none\":{},\"odd\":7,"
           "\"cmd\":{\"command\":\"x\",\"args\":[\"${command:pick}\"]},"
           "\"wf\":{\"command\":\"${workspaceFolder}/x\"}}}",
           "me!toolwire itself\nwin!toolwire itself\nhub!toolwire itself\noff!disabled\n"
           "ws!a transport that is not supported\nnone!neither a command nor a url\n"
           "odd!not an object\ncmd!${command:pick} means nothing here\n"
           "wf!${workspaceFolder} means nothing here");
}

static void variables_are_said_in_our_words(void **state)
{
    (void)state;
    expect("/x.json",
           "{\"mcpServers\":{\"v\":{\"command\":\"x\",\"args\":[\"${env:HOME}/a\",\"${B:-c}\","
           "\"$5 a$\",\"${\"]}}}",
           "v={\"command\":\"x\",\"args\":[\"${HOME}/a\",\"${B:-c}\",\"$$5 a$$\",\"$${\"]}");
}

/* What `toolwire up` would refuse is left out, and the rest is not. */
static void only_what_our_settings_take_is_written(void **state)
{
    char name[160] = "";
    char text[512];

    (void)state;
    memset(name, 'n', 129);
    (void)snprintf(
        text, sizeof(text),
        "{\"mcpServers\":{\"\":{\"command\":\"x\"},\"a\\u001bb\":{\"command\":\"x\"},"
        "\"%s\":{\"command\":\"x\"},\"o$k\":{\"command\":\"x\",\"env\":{\"A$\":\"1\"}}}}",
        name);
    (void)snprintf(name + 129, sizeof(name) - 129, "!a name");
    {
        Import *import = read_all("/x.json", text, false);

        assert_non_null(strstr(said(import), "!a name has 1 to 128 bytes\na\x1b"
                                             "b!a name with a control character\n"));
        assert_non_null(strstr(said(import), name));
        assert_non_null(strstr(said(import), "\no$k={\"command\":\"x\",\"env\":{\"A$\":\"1\"}}"));
        import_deinit(import);
    }
    expect(
        "/x.json",
        "{\"mcpServers\":{\"n\":{\"command\":\"x\\u0000y\"},\"e\":{\"command\":\"x\",\"env\":[]},"
        "\"o\":{\"command\":\"x\",\"env\":{\"A\":{}}},\"l\":{\"command\":\"x\",\"args\":[[]]},"
        "\"w\":{\"command\":\"x\",\"cwd\":7},\"h\":{\"url\":\"u\",\"headers\":\"x\"},"
        "\"b\":{\"command\":\"x\",\"args\":7},\"f\":{\"command\":\"x\",\"enabled\":false}}}",
        "n!mcpServers.n.command: a string with a NUL byte\ne!env is no object of texts\n"
        "o!env is no object of texts\nl!args has what is no text\nw!cwd is no text\n"
        "h!headers is no object of texts\nb!args is no list\nf!disabled");
}

static void a_text_that_is_too_long_costs_its_server(void **state)
{
    size_t n = (size_t)300 * 1024;
    char *text = malloc(n + 128);
    int at = snprintf(text, 128, "{\"mcpServers\":{\"a\":{\"command\":\"");

    (void)state;
    assert_non_null(text);
    memset(text + at, 'x', n);
    (void)snprintf(text + at + n, 64, "\"},\"b\":{\"command\":\"y\"}}}");
    expect("/x.json", text, "a!a text is too long\nb={\"command\":\"y\"}");
    text[at + 70000] = '\0';
    (void)snprintf(text + at + 70000, 64, "\"},\"b\":{\"command\":\"y\"}}}");
    expect("/x.json", text,
           "a!mcpServers.a.command: a string grows beyond 65536 bytes\nb={\"command\":\"y\"}");
    free(text);
}

static void nothing_is_dropped_without_a_word(void **state)
{
    (void)state;
    expect("/x.json",
           "{\"mcpServers\":{\"t\":{\"command\":\"x\",\"args\":\"a b\"},"
           "\"c\":{\"url\":\"u\",\"auth\":{\"CLIENT_ID\":\"i\"},\"timeout\":60,\"icon\":\"i\"},"
           "\"f\":{\"command\":\"${input:k}\",\"envFile\":\"e\",\"dev\":{}}}}",
           "t={\"command\":\"x\",\"args\":[\"a b\"]} [args is a text, and taken as one argument]\n"
           "c={\"url\":\"u\"} [not taken over: auth, timeout]\n"
           "f={\"command\":\"${K}\"} [asked for by VS Code: set K in the environment; envFile is "
           "not read: put its variables into env; not taken over: dev]");
}

static void what_an_editor_means_is_no_variable(void **state)
{
    static const char *const names[] = {"file", "fileBasename", "lineNumber",  "selectedText",
                                        "cwd",  "execPath",     "relativeFile"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        char text[256];
        char wanted[128];

        (void)snprintf(text, sizeof(text),
                       "{\"servers\":{\"v\":{\"command\":\"x\",\"args\":[\"${%s}\"]}}}", names[i]);
        (void)snprintf(wanted, sizeof(wanted), "v!${%s} means nothing here", names[i]);
        expect("/u/ann/app/.vscode/mcp.json", text, wanted);
    }
}

/* Claude Code writes down elsewhere which servers of .mcp.json are switched off. */
static void servers_that_are_switched_off_elsewhere_are(void **state)
{
    static const char project[] = "{\"mcpServers\":{\"a\":{\"command\":\"1\"},\"b\":{\"command\":"
                                  "\"2\"},\"c\":{\"command\":\"3\"}}}";
    static const char user[] =
        "{\"mcpServers\":{\"a\":{\"command\":\"4\"}},\"projects\":{\"/u/ann/app\":{"
        "\"disabledMcpjsonServers\":[\"a\"]},\"/other\":{\"disabledMcpjsonServers\":[\"b\"]}}}";
    static const char local[] = "{\"disabledMcpjsonServers\":[\"c\",7]}";
    Diag diag = DIAG_NULL;
    Import *import = read_all("/u/ann/app/.mcp.json", project, false);

    (void)state;
    assert_int_equal(import_read(import, SPAN("/u/ann/.claude.json"), span_from_str(user), &diag),
                     0);
    assert_int_equal(import_read(import, SPAN("/u/ann/app/.claude/settings.local.json"),
                                 span_from_str(local), &diag),
                     0);
    assert_string_equal(said(import), "a!disabled in Claude Code\nb={\"command\":\"2\"}\n"
                                      "c!disabled in Claude Code\na={\"command\":\"4\"}");
    import_deinit(import);
    import = read_all("/u/ann/.claude.json", user, false);
    assert_int_equal(
        import_read(import, SPAN("/u/ann/app/.mcp.json"), span_from_str(project), &diag), 0);
    assert_string_equal(said(import), "a={\"command\":\"4\"}\na!disabled in Claude Code\n"
                                      "b={\"command\":\"2\"}\nc={\"command\":\"3\"}");
    import_deinit(import);
}

static void addresses_are_masked_wherever_they_stand(void **state)
{
    static const struct {
        const char *argument;
        const char *shown;
    } cases[] = {
        {"postgresql://u:SECRET@h/db", "postgresql://***@h/db"},
        {"--dsn=postgresql://u:SECRET@h/db?password=SECRET",
         "--dsn=postgresql://***@h/db?password=***"},
        {"postgresql://u:SEC/RE?T@h/db", "postgresql://***@h/db"},
        {"redis://:SECRET@h:6379/0", "redis://***@h:6379/0"},
        {"mongodb+srv://u:SEC@RET@h", "mongodb+srv://***@h"},
        {"http://h:80/@scope/p", "http://h:80/@scope/p"},
        {"Authorization: Bearer SECRET", "Authorization:***"},
        {"X-Api-Key:SECRET", "X-Api-Key:***"},
        {"--token=SECRET", "--token=***"},
        {"C:\\tools\\x", "C:\\tools\\x"},
        {"plain", "plain"},
        {"", ""},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        bool is_secret = false;
        Span shown;

        assert_int_equal(
            import_mask_argument(&arena, span_from_str(cases[i].argument), &is_secret, &shown), 0);
        if (!span_equals(shown, span_from_str(cases[i].shown))) {
            fail_msg("%s: %.*s", cases[i].argument, (int)shown.n, shown.p);
        }
    }
    arena_deinit(&arena);
}

static void settings_are_shown_without_secrets(void **state)
{
    static const char text[] =
        "{ \"http\": {\"token\":\"SECRET\", \"path\":\"/mcp\"},\n \"mcpServers\": {\"a\": "
        "{\"command\":\"x\",\"args\":[\"--key\",\"SECRET\",\"pg://u:SECRET@h\"],\"env\":{\"K\":"
        "\"SECRET\",\"R\":\"${R}\"}}, \"b\":{\"url\":\"https://u:SECRET@h/?k=SECRET\",\"headers\":"
        "{\"A\":\"SECRET\"},\"auth\":{\"client_id\":\"i\",\"client_secret\":\"SECRET\"}} } }\n";
    Bytes out;

    (void)state;
    bytes_init(&out, 4096);
    assert_int_equal(import_mask_settings(span_from_str(text), &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(
        out.data,
        "{ \"http\": {\"token\":\"***\", \"path\":\"/mcp\"},\n \"mcpServers\": {\"a\": "
        "{\"command\":\"x\",\"args\":[\"--key\",\"***\",\"pg://***@h\"],\"env\":{\"K\":"
        "\"***\",\"R\":\"${R}\"}}, \"b\":{\"url\":\"https://***@h/?k=***\",\"headers\":"
        "{\"A\":\"***\"},\"auth\":{\"client_id\":\"i\",\"client_secret\":\"***\"}} } }\n");
    bytes_clear(&out);
    assert_int_equal(import_mask_settings(SPAN("{/*SECRET*/\"a\":1}// SECRET"), &out), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("{          \"a\":1}         ")));
    bytes_clear(&out);
    /* What is no JSON is shown as nothing, and is no lack of memory. */
    assert_int_equal(import_mask_settings(SPAN(""), &out), 0);
    assert_int_equal(import_mask_settings(SPAN("\n"), &out), 0);
    assert_int_equal(import_mask_settings(SPAN("{\"a\":SECRET}"), &out), 0);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

static void secrets_are_masked_and_may_be_left_out(void **state)
{
    static const char text[] =
        "{\"mcpServers\":{\"g h\":{\"command\":\"x\",\"args\":[\"--api-key\",\"s1\",\"--token=s2\","
        "\"https://u:s3@h/p?q=s4&r=s5\",\"plain\"],\"env\":{\"KEY\":\"s6\",\"REF\":\"${KEY}\"}},"
        "\"w\":{\"url\":\"https://h/mcp?k=s7\",\"headers\":{\"X-Auth\":\"s8\"}}}}";
    Import *import = read_all("/x.json", text, false);

    (void)state;
    assert_null(strstr(import->servers[0].masked.p, "s1"));
    for (size_t i = 0; i < import->n_servers; i++) {
        char shown[1024];

        (void)snprintf(shown, sizeof(shown), "%.*s %.*s", (int)import->servers[i].masked.n,
                       import->servers[i].masked.p, (int)import->servers[i].target.n,
                       import->servers[i].target.p);
        for (char c = '1'; c <= '8'; c++) {
            char secret[] = {'s', c, '\0'};

            assert_null(strstr(shown, secret));
        }
    }
    assert_memory_equal(import->servers[0].target.p,
                        "x --api-key *** --token=*** https://***@h/p?q=***&r=*** plain",
                        import->servers[0].target.n);
    import_deinit(import);
    import = read_all("/x.json", text, true);
    assert_non_null(strstr(said(import), "\"env\":{\"KEY\":\"${KEY}\",\"REF\":\"${KEY}\"}"));
    assert_non_null(strstr(said(import), "{\"X-Auth\":\"${W_X_AUTH}\"}} [set W_X_AUTH in the"));
    import_deinit(import);
}

static void the_first_of_a_name_counts(void **state)
{
    Import *import = read_all("/a.json", "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}", false);

    (void)state;
    assert_int_equal(import_read(import, SPAN("/b.json"),
                                 SPAN("{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}"), NULL),
                     0);
    assert_int_equal(import_read(import, SPAN("/c.json"),
                                 SPAN("{\"mcpServers\":{\"a\":{\"command\":\"y\"}}}"), NULL),
                     0);
    assert_string_equal(said(import), "a={\"command\":\"x\"}\na!the same as one above\n"
                                      "a!clash: one above has that name");
    import_deinit(import);
}

static void files_that_are_not_json_are_named(void **state)
{
    Diag diag = DIAG_NULL;
    Import *import = read_all("/a.json", "{}", false);

    (void)state;
    assert_int_equal(import_read(import, SPAN("/b.json"), SPAN("{\n \"a\" 1}"), &diag),
                     IMPORT_E_SYNTAX);
    assert_ptr_equal(strstr(diag.message, "/b.json:2:6: "), diag.message);
    assert_int_equal(import_read(import, SPAN("/b.json"), SPAN("[]"), &diag), IMPORT_E_SYNTAX);
    import_deinit(import);
}

/* ---- merging ---- */

static ImportChange changes[IMPORT_MAX_SERVERS];

static void merged(const char *into, bool replace, int wanted_r, const char *wanted)
{
    Import *import = read_all(
        "/a.json", "{\"mcpServers\":{\"a\":{\"command\":\"x\"},\"b\":{\"url\":\"u\"}}}", false);
    Diag diag = DIAG_NULL;
    Bytes out;

    bytes_init(&out, 4096);
    assert_int_equal(
        import_merge(import, SPAN("t.json"), span_from_str(into), replace, changes, &out, &diag),
        wanted_r);
    assert_int_equal(out.n, strlen(wanted));
    assert_memory_equal(out.data == NULL ? "" : out.data, wanted, out.n);
    bytes_deinit(&out);
    import_deinit(import);
}

#define A "\"a\": {\"command\":\"x\"}"
#define B "\"b\": {\"url\":\"u\"}"

static void what_was_there_is_kept_byte_for_byte(void **state)
{
    (void)state;
    merged("", false, 0, "{\n  \"mcpServers\": {\n    " A ",\n    " B "\n  }\n}\n");
    merged(" \n", false, 0, "{\n  \"mcpServers\": {\n    " A ",\n    " B "\n  }\n}\n");
    merged("{ }", false, 0, "{\n  \"mcpServers\": {\n    " A ",\n    " B "\n  }\n}");
    merged("{\t\"tools\" :  \"t\"\r\n}\n", false, 0,
           "{\t\"tools\" :  \"t\",\n  \"mcpServers\": {\n    " A ",\n    " B "\n  }\r\n}\n");
    merged("{\"mcpServers\":{},\"z\":1.0}", false, 0,
           "{\"mcpServers\":{\n    " A ",\n    " B "\n  },\"z\":1.0}");
    merged("{\"mcpServers\" : { \"o\" : {} } , \"z\":1}", false, 0,
           "{\"mcpServers\" : { \"o\" : {},\n    " A ",\n    " B " } , \"z\":1}");
    /* b is there already, in another spelling. */
    merged("{\"mcpServers\":{\"b\":{ \"url\" : \"\\u0075\"}}}", false, 0,
           "{\"mcpServers\":{\"b\":{ \"url\" : \"\\u0075\"},\n    " A "}}");
    assert_int_equal(changes[0], IMPORT_ADDED);
    assert_int_equal(changes[1], IMPORT_SAME);
    merged("{\"mcpServers\":{ \"a\":{\"command\":\"x\"},\"b\":{\"url\":\"u\"}} }", false, 0,
           "{\"mcpServers\":{ \"a\":{\"command\":\"x\"},\"b\":{\"url\":\"u\"}} }");
}

static void comments_stay_where_they_are(void **state)
{
    (void)state;
    merged("// c", false, 0, "// c\n{\n  \"mcpServers\": {\n    " A ",\n    " B "\n  }\n}\n");
    merged("{ // c\n}", false, 0, "{ // c\n  \"mcpServers\": {\n    " A ",\n    " B "\n  }\n}");
    merged("{\"mcpServers\":{/*,}*/ }}", false, 0,
           "{\"mcpServers\":{/*,}*/\n    " A ",\n    " B "\n  }}");
    merged("/*{*/{\"z\":1, // c\n}", false, 0,
           "/*{*/{\"z\":1,\n  \"mcpServers\": {\n    " A ",\n    " B "\n  }, // c\n}");
    merged("{\"mcpServers\":{\"a\": 7 /*c*/, /*d*/}}", true, 0,
           "{\"mcpServers\":{\"a\": {\"command\":\"x\"},\n    " B " /*c*/, /*d*/}}");
    merged("{/* on and on", false, IMPORT_E_SYNTAX, "");
}

static void another_server_of_the_name_is_only_replaced_on_request(void **state)
{
    (void)state;
    merged("{\"mcpServers\":{\"a\": 7 ,\"c\":{}}}", false, IMPORT_E_CLASH, "");
    assert_int_equal(changes[0], IMPORT_TAKEN);
    assert_int_equal(changes[1], IMPORT_ADDED);
    merged("{\"mcpServers\":{\"a\": 7 ,\"c\":{}}}", true, 0,
           "{\"mcpServers\":{\"a\": {\"command\":\"x\"} ,\"c\":{},\n    " B "}}");
    merged("{\"mcpServers\":[]}", true, IMPORT_E_SYNTAX, "");
    merged("{\"mcpServers\":", true, IMPORT_E_SYNTAX, "");
    merged("[]", true, IMPORT_E_SYNTAX, "");
}

static void no_more_servers_are_written_than_may_be(void **state)
{
    char into[8192] = "{\"mcpServers\":{";
    Bytes out;

    (void)state;
    for (int i = 0; i < 199; i++) {
        (void)snprintf(into + strlen(into), sizeof(into) - strlen(into), "%s\"s%d\":{}",
                       i > 0 ? "," : "", i);
    }
    (void)snprintf(into + strlen(into), sizeof(into) - strlen(into), "}}");
    bytes_init(&out, 8192);
    assert_int_equal(bytes_append(&out, into, strlen(into) - 2), 0);
    assert_int_equal(bytes_append_span(&out, SPAN(",\n    " A "}}")), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    merged(into, false, 0, out.data);
    assert_int_equal(changes[0], IMPORT_ADDED);
    assert_int_equal(changes[1], IMPORT_BEYOND);
    bytes_deinit(&out);
}

/* ---- places ---- */

static int count_places(void *context, const char *kind, const char *path)
{
    size_t *n = context;

    (void)kind;
    *n += strstr(path, "/here/") != NULL || strstr(path, "/u/") != NULL;
    return 0;
}

static void places_are_looked_up_by_kind(void **state)
{
    size_t n = 0;

    (void)state;
    assert_int_equal(setenv("HOME", "/u/ann", 1), 0);
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    assert_int_equal(unsetenv("APPDATA"), 0);
    assert_int_equal(import_places("cursor", "/here", count_places, &n), 0);
    assert_int_equal(n, 2);
    n = 0;
    assert_int_equal(import_places(NULL, "/here", count_places, &n), 0);
    assert_true(n >= 12);
}

static int everything(void *context)
{
    static const char text[] =
        "{\"mcpServers\":{\"a\":{\"command\":\"${input:x}\",\"args\":[\"--token="
        "1\"],\"env\":{\"K\":\"v\"},\"envFile\":\"e\",\"p\":1,\"q\":2},\"b\":{\"url\":\"http://a@b/"
        "?c=d\"}}}";
    Import *import = mem_alloc(sizeof(*import));
    Bytes out;
    int r;

    (void)context;
    if (import == NULL) {
        return -ENOMEM;
    }
    import_init(import, SPAN("/"), true);
    bytes_init(&out, 4096);
    r = import_read(import, SPAN("/x.json"), span_from_str(text), NULL);
    r = r != 0 ? r : import_mask_settings(span_from_str(text), &out);
    r = r != 0 ? r
               : import_merge(import, SPAN("t"), SPAN("{\"tools\":1}"), false, changes, &out, NULL);
    bytes_deinit(&out);
    import_deinit(import);
    mem_free(import);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(everything, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_is_understood),
        cmocka_unit_test(what_cannot_be_used_is_named),
        cmocka_unit_test(variables_are_said_in_our_words),
        cmocka_unit_test(only_what_our_settings_take_is_written),
        cmocka_unit_test(a_text_that_is_too_long_costs_its_server),
        cmocka_unit_test(nothing_is_dropped_without_a_word),
        cmocka_unit_test(what_an_editor_means_is_no_variable),
        cmocka_unit_test(servers_that_are_switched_off_elsewhere_are),
        cmocka_unit_test(addresses_are_masked_wherever_they_stand),
        cmocka_unit_test(settings_are_shown_without_secrets),
        cmocka_unit_test(secrets_are_masked_and_may_be_left_out),
        cmocka_unit_test(the_first_of_a_name_counts),
        cmocka_unit_test(files_that_are_not_json_are_named),
        cmocka_unit_test(what_was_there_is_kept_byte_for_byte),
        cmocka_unit_test(comments_stay_where_they_are),
        cmocka_unit_test(another_server_of_the_name_is_only_replaced_on_request),
        cmocka_unit_test(no_more_servers_are_written_than_may_be),
        cmocka_unit_test(places_are_looked_up_by_kind),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
