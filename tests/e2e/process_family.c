#include "e2e/process_family.h"

#include "support/cmocka.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a file of /proc/PID begins with; 0: the process has gone. Leaves room for a NUL. */
static size_t read_some(const char *pid, const char *file, char *p, size_t size)
{
    char path[300];
    size_t n;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
    f = fopen(path, "r");
    if (f == NULL) {
        return 0;
    }
    n = fread(p, 1, size - 1, f);
    (void)fclose(f);
    p[n] = '\0';
    return n;
}

/* "123 (name of any kind) S 1 …" */
static bool read_stat(const char *pid, char *ret_state, pid_t *ret_parent)
{
    char text[512];
    const char *at;

    if (read_some(pid, "stat", text, sizeof(text)) == 0 || (at = strrchr(text, ')')) == NULL ||
        strlen(at) < 5) {
        return false;
    }
    *ret_state = at[2];
    *ret_parent = (pid_t)strtol(at + 4, NULL, 10);
    return true;
}

/* The words of a command line end in NULs. */
static bool read_name(const char *pid, const char *tag, char *ret, size_t size)
{
    char text[4096];
    size_t n = read_some(pid, "cmdline", text, sizeof(text));

    for (size_t at = 0; at < n; at += strlen(text + at) + 1) {
        if (strcmp(text + at, tag) == 0) {
            at += strlen(tag) + 1;
            (void)snprintf(ret, size, "%.31s", at < n ? text + at : "");
            return true;
        }
    }
    return false;
}

static bool has_member(const Family *family, pid_t pid)
{
    for (size_t i = 0; i < family->n; i++) {
        if (family->members[i].pid == pid) {
            return true;
        }
    }
    return false;
}

static void look_at(Family *family, const char *pid, const char *tag, pid_t hub)
{
    FamilyMember member = {.pid = (pid_t)strtol(pid, NULL, 10)};
    char state;

    if (!read_stat(pid, &state, &member.parent)) {
        return;
    }
    if (state == 'Z' || state == 'X') {
        family->n_zombies += hub != 0 && member.parent == hub;
        return;
    }
    if (read_name(pid, tag, member.name, sizeof(member.name))) {
        assert_true(family->n < sizeof(family->members) / sizeof(family->members[0]));
        member.is_stopped = state == 'T';
        family->members[family->n++] = member;
        family->n_children += hub != 0 && member.parent == hub;
    }
}

void family_look(Family *family, const char *tag, pid_t hub)
{
    DIR *folder = opendir("/proc");

    assert_non_null(folder);
    *family = (Family){.n = 0};
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (isdigit((unsigned char)e->d_name[0])) {
            look_at(family, e->d_name, tag, hub);
        }
    }
    (void)closedir(folder);
    for (size_t i = 0; i < family->n; i++) {
        pid_t parent = family->members[i].parent;

        family->n_orphans += parent != hub && !has_member(family, parent);
    }
}
