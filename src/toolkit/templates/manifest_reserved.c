/* Words that parameters of a manifest cannot be: data of a toolchain, said once for all of its
 * templates. */
#include "base/text.h"
#include "toolkit/templates/manifest_read.h"

/* Words are compared as they are spelt. */
static bool reserved_words_fit(JsonValue words)
{
    if (json_kind(words) != JSON_ARRAY || json_count(words) == 0 ||
        json_count(words) > TEMPLATE_RESERVED_MAX) {
        return false;
    }
    for (JsonIter it = json_iter(words); json_iter_next(&it);) {
        Span word;

        if (json_kind(it.value) != JSON_STRING || !json_string_plain(it.value, &word) ||
            word.n == 0 || word.n > TEXT_NAME_MAX) {
            return false;
        }
    }
    return true;
}

void manifest_reserved(ManifestReader *reader, JsonValue object)
{
    if (object.node == NULL) {
        return;
    }
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        if (!reserved_words_fit(it.value)) {
            manifest_blame(reader, it.value, "reserved",
                           "must have arrays of 1 to %d words without escapes, of %d bytes at most",
                           TEMPLATE_RESERVED_MAX, TEXT_NAME_MAX);
            return; /* and nothing is reserved */
        }
    }
    reader->reserved = object;
}

static bool reserved_is_used(const TemplateManifest *manifest, JsonValue words)
{
    for (size_t i = 0; i < manifest->n_templates; i++) {
        const Template *t = &manifest->templates[i];

        for (size_t j = 0; j < t->n_parameters; j++) {
            if (t->parameters[j].reserved.node == words.node) {
                return true;
            }
        }
    }
    return false;
}

void manifest_reserved_check(ManifestReader *reader)
{
    /* A template with an error is not in the list, so that nobody knows what it has. */
    if (reader->reserved.node == NULL || reader->report.n_errors > 0) {
        return;
    }
    for (JsonIter it = json_iter(reader->reserved); json_iter_next(&it);) {
        if (!reserved_is_used(reader->manifest, it.value)) {
            manifest_blame(reader, it.value, "reserved",
                           "no template has a string parameter of that name");
        }
    }
}
