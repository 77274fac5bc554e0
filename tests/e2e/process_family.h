/* tests/e2e/process_family.h: the processes that belong to a test, found in /proc by a word of
 * their command line, and the children of one process. Every failure fails the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct FamilyMember {
    pid_t pid;
    pid_t parent;
    bool is_stopped;
    char name[32]; /* the word behind the tag */
} FamilyMember;

typedef struct Family {
    FamilyMember members[512]; /* those with the tag that run */
    size_t n;
    size_t n_children; /* of these, of the hub */
    size_t n_orphans;  /* of these, neither of the hub nor of one of these */
    size_t n_zombies;  /* children of the hub that are dead and not reaped */
} Family;

/* As it is now. hub: 0: there is none. */
void family_look(Family *family, const char *tag, pid_t hub);
