/* app/up_door.h: the hub's HTTP door with all that it needs to itself: its settings, its
 * credentials. A reload makes another one beside it, and the old one ends in its own time. Thread:
 * loop.
 */
#pragma once

#include "app/config.h"
#include "app/http_door.h"
#include "base/diag.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UP_DOOR_E_CONFIG = 1, /* token or keys cannot be used; the Diag says why */
    UP_DOOR_E_PLACE,      /* it cannot listen there; likewise */
};

typedef struct UpDoor UpDoor;

typedef struct UpDoorConfig {
    Hub *hub;
    const McpIdentity *identity; /* borrowed until free, as all below but config */
    const Config *config;        /* copied; http.address is there */
    HashSeed seed;
    const HttpPage *pages;
    size_t n_pages;
    void *pages_context;
    const HttpSide *side; /* may be NULL */
    const LogSink *log;
    /* It has ended after shutdown; may free it. */
    void (*closed)(void *context, UpDoor *door);
    void *context;
} UpDoorConfig;

/* Reads token and keys; does not listen yet. 0, a negative errno, UP_DOOR_E_CONFIG. Gives *ret. */
int up_door_new(UpDoor **ret, const UpDoorConfig *config, Diag *reterr_diag);
UpDoor *up_door_free(UpDoor *door);

/* Would it be let to listen there: are credentials asked for where other machines can come from? 0,
 * UP_DOOR_E_PLACE. */
int up_door_check(const UpDoor *door, Diag *reterr_diag);

/* Listens and serves, at its address, or in the place of `from` (NULL: of none), an open door that
 * is shut next: it takes the port that this one has got, and nobody is refused in between. 0, a
 * negative errno, UP_DOOR_E_PLACE; then `from` serves as before. */
int up_door_open(UpDoor *door, const UpDoor *from, Diag *reterr_diag);

/* Would it serve the same, at the same place, to the same? What token and key files hold counts. */
bool up_door_is_same(const UpDoor *door, const UpDoor *other);

/* Does it want the other's address? */
bool up_door_is_at(const UpDoor *door, const UpDoor *other);

/* Does it want another address that cannot be had while the other, which is open, has its own:
 * every one of this machine, or one of them, with the same port? */
bool up_door_is_in_way(const UpDoor *door, const UpDoor *other);

/* As http_door_shutdown. */
void up_door_shutdown(UpDoor *door);

HttpDoor *up_door_http(const UpDoor *door); /* NULL: not open */
bool up_door_needs_token(const UpDoor *door);
bool up_door_needs_access(const UpDoor *door);
