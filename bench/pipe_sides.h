/* bench/pipe_sides.h: the two things that bench_pipe measures, each with a bare C program at the
 * other end of its socket: the floor, which writes a frame and reads one, and the hub.
 *
 * Every failure ends the program with a message. The programs go with their sockets.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A side asks again and again until the time is over: nanoseconds of each, at most max of them.
 * Returns how many; at least one. */
typedef struct FloorSide FloorSide;
typedef struct HubSide HubSide;

/* folder: for the socket. size: bytes of the one string in the arguments; the floor's frames are as
 * long as the hub's. */
FloorSide *floor_side_new(const char *folder, size_t size);
void floor_side_free(FloorSide *side);
size_t floor_side_run(FloorSide *side, uint64_t for_ns, double *samples, size_t max);
pid_t floor_side_peer(const FloorSide *side);

HubSide *hub_side_new(const char *folder, size_t size);
void hub_side_free(HubSide *side);
size_t hub_side_run(HubSide *side, uint64_t for_ns, double *samples, size_t max);
pid_t hub_side_peer(const HubSide *side);

/* Bytes that cross the socket for one call, both ways; of the hub's frames within a few. */
size_t pipe_side_bytes(size_t size);

/* Where other add-ins find the hub. */
const char *hub_side_path(const HubSide *side);

/* Starts a program that connects to the socket: `program what socket_path`. */
pid_t pipe_side_start(const char *program, const char *what, const char *socket_path);
