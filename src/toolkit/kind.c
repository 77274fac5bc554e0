/* What a path tells; what a text tells is in kind_text.c.
 *
 * A file that is left out by mistake is missed by nobody, so only names are here that mean one
 * thing wherever they are found. "build", "external", "lib" and "gen" are not. */
#include "toolkit/kind.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/text.h"
#include "toolkit/kind_impl.h"

/* Folders that package managers, or people, put others' code into. */
static const char *const kind_vendor_folders[] = {
    "node_modules", "bower_components", "jspm_packages", ".yarn",       ".pnpm-store", "vendor",
    "vendored",     "_vendor",          "third_party",   "third-party", "thirdparty",  "3rdparty",
    "3rd_party",    "site-packages",    "dist-packages", ".venv",       ".tox",        ".nox",
    ".eggs",        "__pypackages__",   "Godeps",        "Pods",        "Carthage",    ".bundle",
    "elm-stuff",
};

/* In a folder "venv", which may be anybody's, only what an environment of Python has there. */
static const char *const kind_venv_folders[] = {"bin", "include", "lib", "lib64", "Lib", "Scripts"};

/* Libraries that are copied into projects by hand, as NAME.js, or NAME-VERSION.js. */
static const char *const kind_vendor_scripts[] = {
    "jquery", "jquery-ui", "jquery.mobile", "bootstrap", "modernizr", "mootools",
};

static const char *const kind_locks[] = {
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "Cargo.lock",
    "Gemfile.lock",
    "gems.locked",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "pixi.lock",
    "conda-lock.yml",
    "composer.lock",
    "go.sum",
    "go.work.sum",
    "mix.lock",
    "rebar.lock",
    "pubspec.lock",
    "Podfile.lock",
    "Package.resolved",
    "Cartfile.resolved",
    "flake.lock",
    "packages.lock.json",
    "paket.lock",
    "gradle.lockfile",
    "buildscript-gradle.lockfile",
    ".terraform.lock.hcl",
    "buf.lock",
    "MODULE.bazel.lock",
    "Chart.lock",
};

/* What a name ends in that a generator has given; in any case of letters. */
static const char *const kind_generated_ends[] = {
    ".pb.go",        ".pb.gw.go",    ".pb.cc",        ".pb.h",         ".pb.c",
    ".pb.swift",     ".grpc.swift",  ".pb.dart",      ".pbenum.dart",  ".pbjson.dart",
    ".pbgrpc.dart",  "_pb2.py",      "_pb2.pyi",      "_pb2_grpc.py",  "_pb.js",
    "_pb.d.ts",      "_pb.rb",       "_grpc_pb.js",   ".g.cs",         ".g.i.cs",
    ".designer.cs",  ".designer.vb", ".generated.cs", ".generated.go", ".generated.ts",
    ".generated.js", ".gen.go",      ".gen.ts",       ".g.dart",       ".freezed.dart",
    ".tab.c",        ".tab.h",       ".tab.cc",       ".tab.hh",       "lex.yy.c",
    "lex.yy.cc",     ".umd.js",      ".bundle.js",    ".iife.js",      ".js.map",
    ".mjs.map",      ".cjs.map",     ".css.map",
};

static const char *const kind_minified_ends[] = {
    ".min.js", ".min.mjs", ".min.cjs", ".min.css", "-min.js", "-min.css",
};

TW_PRINTF(2, 0)
static void kind_format(ToolkitKindFound *found, const char *format, va_list args)
{
    (void)vsnprintf(found->detail, sizeof(found->detail), format, args);
}

ToolkitKindFound kind_found(ToolkitKind kind, const char *format, ...)
{
    ToolkitKindFound found = {.kind = kind};
    va_list args;

    va_start(args, format);
    kind_format(&found, format, args);
    va_end(args);
    return found;
}

Span kind_extension(Span path)
{
    for (size_t i = path.n; i > 0 && path.p[i - 1] != '/'; i--) {
        if (path.p[i - 1] == '.') {
            return span_make(path.p + i, path.n - i);
        }
    }
    return SPAN_NULL;
}

/* The next name of the path; *ret_last: it is the file's. */
static Span kind_next_name(Span *path, bool *ret_last)
{
    const char *slash = path->n > 0 ? memchr(path->p, '/', path->n) : NULL;
    Span name = span_make(path->p, slash == NULL ? path->n : (size_t)(slash - path->p));

    *ret_last = slash == NULL;
    *path = slash == NULL ? SPAN_NULL : span_make(slash + 1, path->n - name.n - 1);
    return name;
}

static bool kind_is_in_venv(Span rest)
{
    bool is_last;
    Span next = kind_next_name(&rest, &is_last);

    return !is_last &&
           text_is_one_of(next, kind_venv_folders, TW_ARRAY_SIZE(kind_venv_folders), NULL);
}

/* Fills *ret for a file beneath such a folder; in any case *ret_name is the file's own name. */
static bool kind_look_at_folders(Span path, Span *ret_name, ToolkitKindFound *ret)
{
    bool is_last = false;

    while (!is_last) {
        *ret_name = kind_next_name(&path, &is_last);
        if (!is_last && (text_is_one_of(*ret_name, kind_vendor_folders,
                                        TW_ARRAY_SIZE(kind_vendor_folders), NULL) ||
                         (span_equals(*ret_name, SPAN("venv")) && kind_is_in_venv(path)))) {
            *ret = kind_found(TOOLKIT_KIND_VENDORED, "%.*s/", (int)ret_name->n, ret_name->p);
            return true;
        }
    }
    return false;
}

static bool kind_ends_nocase(Span name, Span end)
{
    return name.n >= end.n && text_equals_nocase(span_make(name.p + (name.n - end.n), end.n), end);
}

/* Which of the ends the name has, with something before it if that is wanted; NULL if none. */
static const char *kind_find_end(Span name, const char *const *ends, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (kind_ends_nocase(name, span_from_str(ends[i]))) {
            return ends[i];
        }
    }
    return NULL;
}

/* NAME.js, NAME-3.7.1.js, NAME-3.7.1.slim.js */
static bool kind_is_vendor_script(Span name)
{
    if (!span_ends_with(name, SPAN(".js"))) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(kind_vendor_scripts); i++) {
        Span stem = span_from_str(kind_vendor_scripts[i]);
        Span rest;

        if (!span_starts_with(name, stem)) {
            continue;
        }
        rest = span_make(name.p + stem.n, name.n - stem.n);
        if (span_equals(rest, SPAN(".js")) || span_equals(rest, SPAN(".slim.js")) ||
            (rest.n > 1 && rest.p[0] == '-' && rest.p[1] >= '0' && rest.p[1] <= '9')) {
            return true;
        }
    }
    return false;
}

/* Beginnings, each with the ends that it is found with. */
static const char *kind_find_beginning(Span name)
{
    if (span_starts_with(name, SPAN("moc_")) &&
        (span_ends_with(name, SPAN(".cpp")) || span_ends_with(name, SPAN(".cxx")) ||
         span_ends_with(name, SPAN(".cc")))) {
        return "moc_";
    }
    if (span_starts_with(name, SPAN("qrc_")) && span_ends_with(name, SPAN(".cpp"))) {
        return "qrc_";
    }
    if (span_starts_with(name, SPAN("zz_generated")) && span_ends_with(name, SPAN(".go"))) {
        return "zz_generated";
    }
    return NULL;
}

ToolkitKindFound toolkit_kind_of_path(Span path)
{
    ToolkitKindFound found = {.kind = TOOLKIT_KIND_SOURCE};
    const char *why;
    Span name;

    if (kind_look_at_folders(path, &name, &found)) {
        return found;
    }
    if (text_is_one_of(name, kind_locks, TW_ARRAY_SIZE(kind_locks), NULL)) {
        return kind_found(TOOLKIT_KIND_LOCK, "%.*s", (int)name.n, name.p);
    }
    why = kind_find_end(name, kind_minified_ends, TW_ARRAY_SIZE(kind_minified_ends));
    if (why != NULL) {
        return kind_found(TOOLKIT_KIND_MINIFIED, "*%s", why);
    }
    why = kind_find_end(name, kind_generated_ends, TW_ARRAY_SIZE(kind_generated_ends));
    if (why != NULL) {
        return kind_found(TOOLKIT_KIND_GENERATED, "*%s", why);
    }
    why = kind_find_beginning(name);
    if (why != NULL) {
        return kind_found(TOOLKIT_KIND_GENERATED, "%s*", why);
    }
    if (kind_is_vendor_script(name)) {
        return kind_found(TOOLKIT_KIND_VENDORED, "%.*s", (int)name.n, name.p);
    }
    return found;
}

ToolkitKindFound toolkit_kind_of_text(Span path, Span text)
{
    ToolkitKindFound found = toolkit_kind_of_path(path);

    return found.kind != TOOLKIT_KIND_SOURCE ? found : kind_of_content(path, text);
}
