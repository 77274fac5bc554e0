/* What kind of text a file is, by its name. */
#include "toolkit/templates/manifest_read.h"

/* A whole name, or with a dot in front the end of one: the first that fits counts. */
static const struct {
    const char *name;
    const char *type;
    bool is_end;
} mime_types[] = {
    {"Makefile", "text/x-makefile", false},
    {"Dockerfile", "text/x-dockerfile", false},
    {"CMakeLists.txt", "text/x-cmake", false},
    {"go.mod", "text/x-go-mod", false},
    {".gitignore", "text/x-gitignore", false},
    {".dockerignore", "text/x-dockerignore", false},
    {".editorconfig", "text/x-editorconfig", false},
    {".clang-format", "application/yaml", false},
    {".md", "text/markdown", true},
    {".yml", "application/yaml", true},
    {".yaml", "application/yaml", true},
    {".toml", "application/toml", true},
    {".json", "application/json", true},
    {".xml", "application/xml", true},
    {".html", "text/html", true},
    {".css", "text/css", true},
    {".csv", "text/csv", true},
    {".mk", "text/x-makefile", true},
    {".cmake", "text/x-cmake", true},
    {".sh", "application/x-sh", true},
    {".c", "text/x-c", true},
    {".h", "text/x-c", true},
    {".cpp", "text/x-c++", true},
    {".hpp", "text/x-c++", true},
    {".go", "text/x-go", true},
    {".rs", "text/x-rust", true},
    {".py", "text/x-python", true},
    {".js", "text/javascript", true},
    {".mjs", "text/javascript", true},
    {".ts", "text/x-typescript", true},
    {".java", "text/x-java", true},
};

Span template_mime_type(Span output)
{
    Span name = output;

    for (size_t i = 0; i < output.n; i++) {
        if (output.p[i] == '/') {
            name = span_make(output.p + i + 1, output.n - i - 1);
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(mime_types); i++) {
        Span known = span_from_str(mime_types[i].name);

        if (mime_types[i].is_end ? name.n > known.n && span_ends_with(name, known)
                                 : span_equals(name, known)) {
            return span_from_str(mime_types[i].type);
        }
    }
    return SPAN("text/plain");
}
