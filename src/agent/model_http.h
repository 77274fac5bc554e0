/* agent/model_http.h: models of services that are asked over HTTP: requests, attempts, streams.
 *
 *     wait ──▶ attempt ──▶ head ──▶ text, tools… ──▶ END
 *      ▲          │          │            └────────▶ FAILED    something was told: never again
 *      └──────────┴──────────┘ what may pass: RETRY
 *
 * Private to agent/model*. Thread: loop.
 */
#pragma once

#include "agent/model.h"
#include "agent/model_settings.h"
#include "io/fetch.h"

/* service->model is not NULL. Copies what it needs of service and config; takes fetcher (may be
 * NULL: one is made when it is needed) on success. 0, or a negative errno. Gives *ret. */
int model_http_new(Model **ret, const ModelService *service, const ModelConfig *config,
                   IoFetcher *fetcher);

/* Room for the fields of a request to a service. */
#define MODEL_HTTP_FIELDS 5

/* What every request to that service is sent with; authorization is "Bearer KEY", or empty.
 * Returns their number. Borrows all for as long as ret is used. */
size_t model_http_fields(IoFetchField ret[MODEL_HTTP_FIELDS], const ModelService *service,
                         Span authorization);

/* "Bearer KEY" in the arena; empty if there is no key. 0, -ENOMEM. */
int model_http_authorization(Arena *arena, const ModelService *service, Span *ret);
