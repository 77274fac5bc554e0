/* io/windows/account.h: whose something is, and how it is kept from others.
 *
 * Ours means: of the user of this process. As elsewhere root, the system itself and its
 * administrators are trusted, since nothing can be kept from them. Thread: any.
 */
#pragma once

#include "io/windows/system.h"

/* One user (a security identifier). */
typedef struct WinAccount {
    union {
        SID sid;
        BYTE room[SECURITY_MAX_SID_SIZE];
    } id;
} WinAccount;

/* The user of this process, and of another. 0 or a negative errno. */
int win_account_own(WinAccount *ret);
int win_account_of_process(DWORD pid, WinAccount *ret);

/* Is it this user, or the system itself? */
bool win_account_is_trusted(const WinAccount *account);

/* What makes a new file, folder or pipe ours alone; see attributes. */
typedef struct WinPrivacy {
    SECURITY_ATTRIBUTES attributes; /* for the call that makes it; points into this struct */
    SECURITY_DESCRIPTOR descriptor;
    WinAccount owner;
    union {
        ACL list;
        BYTE room[sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE];
    } access;
} WinPrivacy;

/* Fills *ret, which must stay where it is. is_folder: what is made inside is ours alone, too. 0 or
 * a negative errno. */
int win_privacy_init(WinPrivacy *ret, bool is_folder);

typedef enum WinExposure {
    WIN_EXPOSURE_NONE,
    WIN_EXPOSURE_OWNER, /* another user has made it */
    WIN_EXPOSURE_OTHERS /* other users may use it */
} WinExposure;

/* Has this user, or one we trust, made the pipe that is open here? False if that cannot be found
 * out.
 */
bool win_account_owns_pipe(HANDLE handle);

/* Who can get at an open file or folder. 0 or a negative errno. */
int win_exposure_of(HANDLE handle, WinExposure *ret);
