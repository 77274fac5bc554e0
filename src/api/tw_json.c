#include <stdbool.h>
#include <string.h>
#include <toolwire/json.h>

#include "api/tw_internal.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "json/writer.h"

/* The writer trusts its caller; this remembers enough to refuse what JSON does not allow. */
typedef enum JsonPlace {
    JSON_PLACE_ARRAY,
    JSON_PLACE_KEY,  /* in an object, a key is next */
    JSON_PLACE_VALUE /* in an object, behind a key */
} JsonPlace;

struct TwJson {
    JsonWriter w;
    Bytes out;
    Arena scratch;
    JsonPlace places[LIMIT_JSON_DEPTH];
    size_t depth;
    bool complete; /* one whole value is there */
    bool failed;
};

TwJson *tw_json_new(void)
{
    TwJson *json = mem_alloc(sizeof(*json));

    if (json != NULL) {
        bytes_init(&json->out, LIMIT_JSON_BYTES);
        arena_init(&json->scratch, SIZE_MAX);
        tw_json_reset(json);
    }
    return json;
}

void tw_json_free(TwJson *json)
{
    if (json != NULL) {
        arena_deinit(&json->scratch);
        bytes_deinit(&json->out);
        (void)mem_free(json);
    }
}

void tw_json_reset(TwJson *json)
{
    if (json != NULL) {
        bytes_clear(&json->out);
        json_writer_init(&json->w, &json->out, JSON_STYLE_COMPACT);
        json->depth = 0;
        json->complete = false;
        json->failed = false;
    }
}

/* May a value stand here? Notes that one does. */
static bool json_take_place(TwJson *json)
{
    if (json == NULL || json->failed) {
        return false;
    }
    if (json->depth == 0) {
        json->failed = json->complete;
        json->complete = true;
    } else if (json->places[json->depth - 1] == JSON_PLACE_KEY) {
        json->failed = true;
    } else if (json->places[json->depth - 1] == JSON_PLACE_VALUE) {
        json->places[json->depth - 1] = JSON_PLACE_KEY;
    }
    return !json->failed;
}

static void json_open(TwJson *json, JsonPlace place)
{
    if (!json_take_place(json)) {
        return;
    }
    if (json->depth == LIMIT_JSON_DEPTH) {
        json->failed = true;
        return;
    }
    json->places[json->depth++] = place;
    if (place == JSON_PLACE_ARRAY) {
        json_write_array(&json->w);
    } else {
        json_write_object(&json->w);
    }
}

void tw_json_object(TwJson *json)
{
    json_open(json, JSON_PLACE_KEY);
}

void tw_json_array(TwJson *json)
{
    json_open(json, JSON_PLACE_ARRAY);
}

void tw_json_end(TwJson *json)
{
    if (json == NULL || json->failed) {
        return;
    }
    if (json->depth == 0 || json->places[json->depth - 1] == JSON_PLACE_VALUE) {
        json->failed = true;
        return;
    }
    json->depth--;
    if (json->places[json->depth] == JSON_PLACE_ARRAY) {
        json_write_end_array(&json->w);
    } else {
        json_write_end_object(&json->w);
    }
}

void tw_json_key(TwJson *json, const char *key)
{
    if (json == NULL || json->failed) {
        return;
    }
    if (key == NULL || json->depth == 0 || json->places[json->depth - 1] != JSON_PLACE_KEY) {
        json->failed = true;
        return;
    }
    json->places[json->depth - 1] = JSON_PLACE_VALUE;
    json_write_key(&json->w, span_from_str(key));
}

void tw_json_string_n(TwJson *json, const char *text, size_t n)
{
    if (json_take_place(json)) {
        json->failed = text == NULL && n > 0;
        json_write_string(&json->w, span_make(text, json->failed ? 0 : n));
    }
}

void tw_json_string(TwJson *json, const char *text)
{
    tw_json_string_n(json, text, text == NULL ? 1 : strlen(text));
}

void tw_json_int(TwJson *json, int64_t value)
{
    if (json_take_place(json)) {
        json_write_int(&json->w, value);
    }
}

void tw_json_double(TwJson *json, double value)
{
    if (json_take_place(json)) {
        json_write_double(&json->w, value);
    }
}

void tw_json_bool(TwJson *json, bool value)
{
    if (json_take_place(json)) {
        json_write_bool(&json->w, value);
    }
}

void tw_json_null(TwJson *json)
{
    if (json_take_place(json)) {
        json_write_null(&json->w);
    }
}

void tw_json_raw(TwJson *json, const char *value)
{
    JsonValue v;

    if (!json_take_place(json)) {
        return;
    }
    arena_reset(&json->scratch, LIMIT_KEEP_BYTES);
    if (api_json_check(value, API_JSON_ANY, "value", &json->scratch, &v, NULL) != 0) {
        json->failed = true;
        return;
    }
    json_write_value(&json->w, v);
}

const char *tw_json_text(TwJson *json)
{
    if (json == NULL || json->failed || json->depth > 0 || !json->complete || json->w.r != 0) {
        return NULL;
    }
    /* A NUL behind the text, outside of it: what is written next takes its place. */
    if (bytes_reserve(&json->out, 1) != 0) {
        return NULL;
    }
    json->out.data[json->out.n] = '\0';
    return json->out.data;
}
