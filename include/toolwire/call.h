/* toolwire/call.h: one call, seen from the handler that answers it.
 *
 *     static void greet(TwCall *call, void *user)
 *     {
 *         (void)user;
 *         tw_call_textf(call, "Hello, %s!", tw_call_string(call, "name", "world"));
 *     }
 *
 * When the answer is sent. A handler that returns has answered: what it added is sent. One that
 * wants to answer later calls tw_call_keep first; the call then goes on until tw_call_done, from
 * any thread. Exactly one tw_call_done belongs to each tw_call_keep.
 *
 * Threads. A handler runs on the thread that serves, and nothing else happens there meanwhile: one
 * that works long or waits keeps the call and does it elsewhere. Every function here may be called
 * from any thread, for a kept call also from several, until tw_call_done.
 *
 * The end of a call that is kept. The client may cancel it or leave, or its time runs out: then
 * there is nobody to answer. tw_call_is_cancelled says so, functions that add or send do nothing
 * and return TW_ERROR_OVER, what was read stays readable, and tw_call_done is still to be called.
 *
 * Lifetime. A TwCall and every string got from it live until the handler returns, or for a kept
 * call until tw_call_done. Strings passed in are copied.
 *
 * Errors. The functions that add to the answer need no check: the first failure (no memory, text
 * that is not JSON) sticks, and the call is then answered with an error instead. They return it all
 * the same. TW_ERROR_ARGUMENT, for a parameter that is missing or a function that makes no sense
 * for this verb (an image in a completion), adds nothing and does not stick.
 */
#pragma once

#include <toolwire/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwCall TwCall;

/* Answers a call; user is what was registered with the handler. */
typedef void (*TwHandler)(TwCall *call, void *user);

typedef enum TwVerb {
    TW_VERB_TOOL,    /* run a tool */
    TW_VERB_READ,    /* read a resource */
    TW_VERB_PROMPT,  /* fill in a prompt */
    TW_VERB_COMPLETE /* propose values for an argument of a prompt or template */
} TwVerb;

/* ---- What is asked ---------------------------------------------------------------------- */

TW_API TwVerb tw_call_verb(const TwCall *call);

/* The tool's or prompt's name, or the resource's URI; for a completion the prompt's name or the URI
 * template. */
TW_API const char *tw_call_target(const TwCall *call);

/* The arguments, one JSON object ("{}" if there are none). A tool's have been checked against its
 * input schema. NULL if there is no memory. */
TW_API const char *tw_call_arguments(TwCall *call);

/* One argument. name: a member's name or, if it begins with '/', an RFC 6901 pointer into the
 * arguments ("/size/width"). Gives fallback if it is not there or not of that type; an integer in
 * any spelling (1e2) that fits, a double in any. */
TW_API const char *tw_call_string(TwCall *call, const char *name, const char *fallback);
TW_API int64_t tw_call_int(TwCall *call, const char *name, int64_t fallback);
TW_API double tw_call_double(TwCall *call, const char *name, double fallback);
TW_API bool tw_call_bool(TwCall *call, const char *name, bool fallback);

/* As tw_call_string, with the length, for strings that may hold NUL (where tw_call_string seems to
 * end); NULL if it is not there. */
TW_API const char *tw_call_string_n(TwCall *call, const char *name, size_t *ret_n);

/* Its JSON text as the client wrote it; NULL if it is not there. */
TW_API const char *tw_call_json(TwCall *call, const char *name);

/* Elements or members of an array or object; 0 if it is neither. */
TW_API size_t tw_call_count(TwCall *call, const char *name);

/* The value of a variable of the URI template that the resource was found by, percent-decoded; NULL
 * if there is none of that name, or it holds NUL. The client chose it: look for "/" and ".." before
 * a file is opened by it. */
TW_API const char *tw_call_variable(TwCall *call, const char *name);

/* A completion: the argument whose value is being typed, and what has been typed. "" elsewhere. The
 * arguments that were chosen already are what tw_call_string and the others read. */
TW_API const char *tw_call_completing(const TwCall *call);
TW_API const char *tw_call_typed(const TwCall *call);

/* ---- The answer ------------------------------------------------------------------------- */

/* Text: a content block of a tool, a message of a prompt, the content of a resource that is read.
 */
TW_API int tw_call_text(TwCall *call, const char *text);
TW_API int tw_call_text_n(TwCall *call, const char *text, size_t n);
TW_API TW_FORMAT(2, 3) int tw_call_textf(TwCall *call, const char *format, ...);

/* Raw bytes, sent in base64: a content block of a tool, a message of a prompt. */
TW_API int tw_call_image(TwCall *call, const char *mime_type, const void *data, size_t n);
TW_API int tw_call_audio(TwCall *call, const char *mime_type, const void *data, size_t n);

/* A link to a resource that the client may read; mime_type may be NULL. */
TW_API int tw_call_link(TwCall *call, const char *uri, const char *name, const char *mime_type);

/* A resource itself: in a tool or prompt as an embedded block, in a read as its content. uri may be
 * NULL in a read (the one asked for), mime_type always. */
TW_API int tw_call_resource_text(TwCall *call, const char *uri, const char *mime_type,
                                 const char *text);
TW_API int tw_call_resource_blob(TwCall *call, const char *uri, const char *mime_type,
                                 const void *data, size_t n);

/* Any content block, as JSON: one object with a string `type`. */
TW_API int tw_call_block(TwCall *call, const char *json);

/* A tool's structured result, any JSON value; checked against the output schema if the tool has
 * one. Without other content it is also given as text, for clients that know only that. */
TW_API int tw_call_structured(TwCall *call, const char *json);

/* The tool ran and failed: the result is marked so, and text (may be NULL) added. Elsewhere: the
 * JSON-RPC error -32603 with that text. */
TW_API int tw_call_failed(TwCall *call, const char *text);
TW_API TW_FORMAT(2, 3) int tw_call_failedf(TwCall *call, const char *format, ...);

/* Answers with an error instead, and forgets what was added. code: the server's own, best outside
 * -32768…-32000; data: JSON, may be NULL. Resources, prompts and completions: a JSON-RPC error.
 * Tools: the same for clients of revisions before 2025-06-18; those of that one and later ones get
 * a failed result (`isError`) with the message as its text, which their model can read, and code,
 * message and data in `structuredContent.error`. A task (TwTool.task) fails with a code inside
 * -32768…-32000, which is JSON-RPC's. */
TW_API int tw_call_error(TwCall *call, int code, const char *message);
TW_API int tw_call_error_json(TwCall *call, int code, const char *message, const char *data_json);

/* `_meta` of a tool's result, one JSON object. */
TW_API int tw_call_meta(TwCall *call, const char *json);

/* A prompt: who speaks in what is added from here on, "user" (at first) or "assistant"; and what
 * the prompt is about. */
TW_API int tw_call_role(TwCall *call, const char *role);
TW_API int tw_call_description(TwCall *call, const char *text);

/* A resource that is read: how long it stays fresh for a client that caches, and whether caches may
 * share it between users (they may, unless told otherwise). */
TW_API int tw_call_fresh(TwCall *call, int64_t ttl_ms, bool is_private);

/* A completion: one value; and how many there are in all, if more than are given. */
TW_API int tw_call_value(TwCall *call, const char *value);
TW_API int tw_call_total(TwCall *call, int64_t total);

/* ---- Later ------------------------------------------------------------------------------ */

/* The handler may return and the call goes on until tw_call_done. To be called by the handler
 * before it hands the call to anybody. TW_ERROR_MEMORY, TW_ERROR_OVER (after tw_call_done): it is
 * not kept. Twice does nothing more. */
TW_API int tw_call_keep(TwCall *call);

/* Sends the answer of a kept call; the call must not be used again by anybody. In a handler that
 * did not keep the call it does nothing but end the answer. */
TW_API void tw_call_done(TwCall *call);

/* Is there nobody to answer any more? Worth asking often in long work. */
TW_API bool tw_call_is_cancelled(const TwCall *call);

/* It will take long, and the client need not hold its connection until it is done: over HTTP, a
 * client of 2025-11-25 is told to come back, and gets there what it missed. Elsewhere it changes
 * nothing. 0, TW_ERROR_OVER, TW_ERROR_MEMORY. */
TW_API int tw_call_detach(TwCall *call);

/* fn runs once, with user, when a kept call is cancelled, on the serving thread; if it was
 * cancelled already, at once, on this one. It must not wait; it may call tw_call_done, if no other
 * thread uses the call. It does not begin after tw_call_done was called.
 *
 * A call has one fn: another one replaces it, and NULL takes it back. When this function returns,
 * the one before is not running and will not run, so its user may be freed; only when called inside
 * that fn it does not wait for it, of course. tw_call_done, too, waits for one that runs on another
 * thread. So do not call either with a lock that fn takes. Always 0. */
typedef void (*TwCancelFn)(TwCall *call, void *user);
TW_API int tw_call_on_cancel(TwCall *call, TwCancelFn fn, void *user);

/* How far the work is, if the client wants to know. progress must grow from one report to the next;
 * total < 0: unknown; message may be NULL. A report also gives the call more time. */
TW_API int tw_call_progress(TwCall *call, double progress, double total, const char *message);

typedef enum TwLogLevel {
    TW_LOG_DEBUG,
    TW_LOG_INFO,
    TW_LOG_NOTICE,
    TW_LOG_WARNING,
    TW_LOG_ERROR,
    TW_LOG_CRITICAL,
    TW_LOG_ALERT,
    TW_LOG_EMERGENCY,
    TW_LOG_NONE /* as a limit: nothing passes */
} TwLogLevel;

/* A log record for the client, sent if it asked for that level. json: any JSON value; logger (may
 * be NULL): which part of the server speaks. */
TW_API int tw_call_log(TwCall *call, TwLogLevel level, const char *text);
TW_API int tw_call_log_json(TwCall *call, TwLogLevel level, const char *logger, const char *json);

/* ---- Questions to the client ------------------------------------------------------------ */

/* A handler that needs something from the person or the model behind the client asks for it under
 * a key and returns. It is run again, from its beginning, when the answers are there:
 *
 *     if (tw_call_answer(call, "who") == NULL) {
 *         tw_call_ask_form(call, "who", "What is your name?", schema);
 *         return;
 *     }
 *     tw_call_textf(call, "Hello, %s!", tw_call_answer_string(call, "who", "name", "nobody"));
 *
 * The same code serves clients that are asked in the middle of a call and clients that repeat the
 * call with the answers (2026-07-28). Several questions may be asked at once. Nothing survives from
 * one run to the next but the arguments, the answers and tw_call_set_state; what was added to the
 * answer of a run that asks is dropped. A kept call asks in the same way, and tw_call_done sends
 * the questions. A prompt and a resource may ask too.
 */
typedef enum TwAskKind {
    TW_ASK_FORM,
    TW_ASK_URL,
    TW_ASK_SAMPLE,
    TW_ASK_ROOTS
} TwAskKind;

/* Can this client be asked that? A question to one that cannot ends the call with an error. */
TW_API bool tw_call_can_ask(const TwCall *call, TwAskKind kind);

/* A form for a person. schema: a JSON Schema object with flat properties of simple types. */
TW_API int tw_call_ask_form(TwCall *call, const char *key, const char *message,
                            const char *schema_json);

/* Asks a person to open a page, for what must not pass through the client (a password). */
TW_API int tw_call_ask_url(TwCall *call, const char *key, const char *message, const char *url);

/* Lets the client's model write a text. params: those of sampling/createMessage (`messages`,
 * `maxTokens`…). */
TW_API int tw_call_ask_sample(TwCall *call, const char *key, const char *params_json);

/* The folders that the client works in. */
TW_API int tw_call_ask_roots(TwCall *call, const char *key);

/* The answer to a question as the client gave it, one JSON object (of a form `{"action":…,
 * "content":{…}}`); NULL if there is none yet. */
TW_API const char *tw_call_answer(TwCall *call, const char *key);

/* What a person did with a form or URL: "accept", "decline" or "cancel"; NULL if there is no
 * answer. */
TW_API const char *tw_call_answer_action(TwCall *call, const char *key);
TW_API bool tw_call_answer_accepted(TwCall *call, const char *key);

/* A field of an accepted form; or, if field begins with '/', the place of the whole answer that
 * the pointer names ("/roots/0/uri", "/content/text"). Fallback as for arguments. */
TW_API const char *tw_call_answer_string(TwCall *call, const char *key, const char *field,
                                         const char *fallback);
TW_API int64_t tw_call_answer_int(TwCall *call, const char *key, const char *field,
                                  int64_t fallback);
TW_API double tw_call_answer_double(TwCall *call, const char *key, const char *field,
                                    double fallback);
TW_API bool tw_call_answer_bool(TwCall *call, const char *key, const char *field, bool fallback);

/* A text that is there again in the next run; the client may see it and cannot change it. state
 * gives NULL if none was set. */
TW_API int tw_call_set_state(TwCall *call, const char *state);
TW_API const char *tw_call_state(const TwCall *call);

TW_END_C
