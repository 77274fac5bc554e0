/* `toolwire validate`: cuts input into messages, checks each as JSON and against a schema, reports.
 *
 * Input is read 64 KiB at a time and a message is forgotten once it is checked, so a recording of
 * any length takes the memory of its longest message.
 */
#include "cli/cmd_validate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/validate_report.h"
#include "frame/len32.h"
#include "frame/ndjson.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/file.h"
#include "json/json.h"

#define VALIDATE_READ_BYTES 65536

/* A schema of more is not written by hand, and compiling it is bounded otherwise anyway. */
#define VALIDATE_MAX_SCHEMA_BYTES (64u << 20)

/* One whole document may be larger than any message on a wire. */
#define VALIDATE_MAX_DOCUMENT_BYTES (1u << 30)

/* The densest text has a node of 16 bytes for every two of its own, and room for nodes doubles. */
#define VALIDATE_INDEX_FACTOR 18

enum {
    OPTION_SCHEMA,
    OPTION_FRAME,
    OPTION_FORMAT_CHECK,
    OPTION_MAX_BYTES,
    OPTION_JSON,
};

static const CliOption validate_options[] = {
    [OPTION_SCHEMA] = {"schema", "FILE", "check every message against this JSON Schema"},
    [OPTION_FRAME] = {"frame", "FRAMING",
                      "json (default: one document), ndjson, len32le or len32be"},
    [OPTION_FORMAT_CHECK] = {"format-check", NULL, "let the schema's \"format\" refuse, too"},
    [OPTION_MAX_BYTES] = {"max-bytes", "SIZE", "refuse longer messages: 4096, 64KiB, 16MiB"},
    [OPTION_JSON] = {"json", NULL, "print findings as JSON, one object a line"},
    {NULL, NULL, NULL},
};

typedef enum Framing {
    FRAMING_JSON,
    FRAMING_NDJSON,
    FRAMING_LEN32LE,
    FRAMING_LEN32BE
} Framing;

static const char *const framing_names[] = {"json", "ndjson", "len32le", "len32be"};

typedef struct Validate {
    const CliArgs *args;
    Framing framing;
    size_t max_bytes;
    Arena arena;
    Schema *schema; /* NULL: any JSON will do */
    SchemaCheck *check;
    ValidateReport report;
    bool failed; /* some input could not be read */
} Validate;

static void validate_deinit(Validate *v)
{
    arena_deinit(&v->arena);
    v->schema = schema_free(v->schema);
    v->check = schema_check_free(v->check);
    validate_report_deinit(&v->report);
}

/* Opens an input; "-" is standard input. 0 or a negative errno. */
static int validate_open(const char *path, int *ret_fd)
{
    if (strcmp(path, "-") == 0) {
        *ret_fd = fileno(stdin);
        return 0;
    }
    return io_file_open(path, ret_fd);
}

static void validate_close(const char *path, int fd)
{
    if (strcmp(path, "-") != 0) {
        io_fd_close(fd);
    }
}

static void validate_cannot_read(Validate *v, const char *path, int error)
{
    logsink_write(&v->args->log, LOGSINK_LEVEL_ERROR, "validate", "cannot read '%s': %s", path,
                  io_error_text(error));
    v->failed = true;
}

/* Checks one message and reports what is wrong with it. 0 or a negative errno. */
static int validate_message(Validate *v, Span message)
{
    JsonDoc doc;
    Diag diag;
    int r;

    validate_report_message(&v->report);
    arena_reset(&v->arena, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &v->arena, message.p, message.n, &(JsonLimits){.max_bytes = v->max_bytes},
                   &diag);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        validate_report_broken(&v->report, &diag);
        validate_report_invalid(&v->report);
        return 0;
    }
    if (v->schema == NULL) {
        return 0;
    }
    r = schema_validate(v->schema, v->check, json_root(&doc));
    if (r < 0) {
        return err_pass(r);
    }
    if (r == SCHEMA_E_LIMIT) {
        validate_report_undecided(&v->report);
    }
    for (size_t i = 0; r == SCHEMA_E_INVALID && i < schema_check_n_errors(v->check); i++) {
        SchemaError error = schema_check_error(v->check, i);

        validate_report_schema_error(&v->report, &error);
    }
    if (r > 0) {
        validate_report_invalid(&v->report);
    }
    return 0;
}

/* A message that could not be cut out of its stream. */
TW_PRINTF(2, 3) static void validate_broken_frame(Validate *v, const char *format, ...)
{
    Diag diag = DIAG_NULL;
    va_list words;

    va_start(words, format);
    (void)vsnprintf(diag.message, sizeof(diag.message), format, words);
    va_end(words);
    validate_report_message(&v->report);
    validate_report_broken(&v->report, &diag);
    validate_report_invalid(&v->report);
}

static int validate_document(Validate *v, int fd)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    int r;

    bytes_init(&text, v->max_bytes);
    r = io_file_read_fd(&text, fd);
    if (r == BYTES_E_FULL) {
        validate_broken_frame(v, "longer than the %zu bytes allowed", v->max_bytes);
        return 0;
    }
    return r != 0 ? r : validate_message(v, bytes_span(&text));
}

static int validate_lines(Validate *v, int fd)
{
    CLEANUP(ndjson_reader_deinit) NdjsonReader reader = NDJSON_READER_NULL;
    int64_t n = 1;
    Span message;
    int r;

    ndjson_reader_init(&reader, v->max_bytes);
    while (n != 0) {
        char *room;
        size_t n_room;

        r = ndjson_reader_reserve(&reader, VALIDATE_READ_BYTES, &room, &n_room);
        if (r != 0) {
            return err_fold(r);
        }
        n = io_file_read_some(fd, room, n_room);
        if (n < 0) {
            return (int)n;
        }
        ndjson_reader_commit(&reader, (size_t)n);
        while ((r = ndjson_reader_next(&reader, &message)) != NDJSON_E_AGAIN) {
            if (r == NDJSON_E_TOO_LONG) {
                validate_broken_frame(v, "longer than the %zu bytes allowed", v->max_bytes);
                continue;
            }
            r = validate_message(v, message);
            if (r != 0) {
                return r;
            }
        }
    }
    /* A file's last line often lacks its newline; here nothing is lost by reading it. */
    if (ndjson_reader_finish(&reader, &message) == NDJSON_E_INCOMPLETE) {
        return validate_message(v, message);
    }
    return 0;
}

static int validate_frames(Validate *v, int fd)
{
    CLEANUP(len32_reader_deinit) Len32Reader reader = LEN32_READER_NULL;
    int64_t n = 1;
    Span message;
    int r = 0;

    len32_reader_init(&reader, v->framing == FRAMING_LEN32LE ? LEN32_ORDER_LE : LEN32_ORDER_BE,
                      v->max_bytes < UINT32_MAX ? (uint32_t)v->max_bytes : UINT32_MAX);
    while (n != 0) {
        char *room;
        size_t n_room;

        r = len32_reader_reserve(&reader, VALIDATE_READ_BYTES, &room, &n_room);
        if (r != 0) {
            return err_fold(r);
        }
        n = io_file_read_some(fd, room, n_room);
        if (n < 0) {
            return (int)n;
        }
        len32_reader_commit(&reader, (size_t)n);
        while ((r = len32_reader_next(&reader, &message)) == 0) {
            r = validate_message(v, message);
            if (r != 0) {
                return r;
            }
        }
        if (r == LEN32_E_TOO_LARGE) {
            validate_broken_frame(v,
                                  "the frame declares %" PRIu32
                                  " bytes, more than the %zu allowed; "
                                  "what follows it cannot be read",
                                  len32_reader_declared(&reader), v->max_bytes);
            return 0;
        }
    }
    if (len32_reader_finish(&reader, &message) == LEN32_E_INCOMPLETE) {
        validate_broken_frame(v, "the input ends inside a frame, after %zu bytes of it", message.n);
    }
    return 0;
}

static int validate_input(Validate *v, const char *path)
{
    int fd = -1;
    int r = validate_open(path, &fd);

    if (r != 0) {
        validate_cannot_read(v, path, -r);
        return 0;
    }
    validate_report_file(&v->report, path, v->framing != FRAMING_JSON);
    switch (v->framing) {
    case FRAMING_JSON:
        r = validate_document(v, fd);
        break;
    case FRAMING_NDJSON:
        r = validate_lines(v, fd);
        break;
    default:
        r = validate_frames(v, fd);
        break;
    }
    validate_close(path, fd);
    if (r == -ENOMEM) {
        return r;
    }
    if (r != 0) {
        validate_cannot_read(v, path, -r);
    }
    return 0;
}

/* Reads and compiles the schema. 0 or an exit status, the reason said. */
static int validate_load_schema(Validate *v, const char *path)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    SchemaOptions options = {.assert_formats = v->args->values[OPTION_FORMAT_CHECK] != NULL};
    Diag diag = DIAG_NULL;
    int fd = -1;
    int r = validate_open(path, &fd);

    bytes_init(&text, VALIDATE_MAX_SCHEMA_BYTES);
    if (r == 0) {
        r = io_file_read_fd(&text, fd);
        validate_close(path, fd);
    }
    if (r != 0) {
        return cli_usage_error(v->args, "cannot read the schema '%s': %s", path,
                               r == BYTES_E_FULL ? "it is too long" : io_error_text(-r));
    }
    r = schema_check_new(&v->check);
    if (r == 0) {
        r = schema_new(&v->schema, bytes_span(&text), &options, &diag);
    }
    if (r < 0) {
        return cli_usage_error(v->args, "cannot compile the schema '%s': %s", path,
                               io_error_text(-r));
    }
    if (r > 0 && diag.line > 0) {
        return cli_usage_error(
            v->args, "the schema '%s' cannot be used: line %" PRIu32 ", column %" PRIu32 ": %s",
            path, diag.line, diag.column, diag.message);
    }
    if (r > 0) {
        return cli_usage_error(v->args, "the schema '%s' cannot be used: %s%s%s", path, diag.field,
                               diag.field[0] != '\0' ? ": " : "", diag.message);
    }
    return 0;
}

/* Turns the words into settings. 0 or CLI_EXIT_USAGE, the reason said. */
static int validate_configure(Validate *v)
{
    const char *frame = v->args->values[OPTION_FRAME];
    const char *max_bytes = v->args->values[OPTION_MAX_BYTES];
    size_t place = FRAMING_JSON;
    uint64_t size;

    if (frame != NULL && !text_is_one_of(span_from_str(frame), framing_names,
                                         TW_ARRAY_SIZE(framing_names), &place)) {
        return cli_usage_error(
            v->args, "--frame is '%s'; it can be json, ndjson, len32le or len32be", frame);
    }
    v->framing = (Framing)place;
    size = v->framing == FRAMING_JSON ? VALIDATE_MAX_DOCUMENT_BYTES : LIMIT_PIPE_MESSAGE_BYTES;
    if (max_bytes != NULL && (text_parse_size(span_from_str(max_bytes), &size) != 0 || size == 0 ||
                              size > VALIDATE_MAX_DOCUMENT_BYTES)) {
        return cli_usage_error(v->args, "--max-bytes is '%s'; it can be 1 to 1GiB", max_bytes);
    }
    v->max_bytes = (size_t)size;
    arena_init(&v->arena, v->max_bytes * VALIDATE_INDEX_FACTOR + LIMIT_KEEP_BYTES);
    validate_report_init(&v->report, stdout, v->args->values[OPTION_JSON] != NULL);
    v->report.coloured = cli_wants_colour(stdout);
    return 0;
}

static int validate_all(Validate *v)
{
    int r = 0;

    if (v->args->n_operands == 0) {
        r = validate_input(v, "-");
    }
    for (size_t i = 0; i < v->args->n_operands && r == 0; i++) {
        r = validate_input(v, v->args->operands[i]);
    }
    r = r != 0 ? r : v->report.r;
    if (r != 0) {
        logsink_write(&v->args->log, LOGSINK_LEVEL_ERROR, "validate", "cannot go on: %s",
                      r < 0 ? io_error_text(-r) : "a finding is too long to be printed");
        return CLI_EXIT_FAILED;
    }
    validate_report_summary(&v->report);
    return v->failed || v->report.n_invalid > 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}

static int validate_run(const CliArgs *args)
{
    CLEANUP(validate_deinit) Validate v = {.args = args};
    int status = validate_configure(&v);

    if (status == 0 && args->values[OPTION_SCHEMA] != NULL) {
        status = validate_load_schema(&v, args->values[OPTION_SCHEMA]);
    }
    return status != 0 ? status : validate_all(&v);
}

const CliCommand cmd_validate = {
    .name = "validate",
    .operands = "[FILE...]",
    .summary = "check messages: their framing, their JSON, and a JSON Schema",
    .details =
        "Without FILE, or with '-', reads standard input. Exit status: 0 all valid, 1 something\n"
        "invalid or unreadable, 2 wrong use or an unusable schema.",
    .options = validate_options,
    .run = validate_run,
};
