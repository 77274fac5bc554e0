#include "io/windows/account.h"

#include <aclapi.h>
#include <errno.h>

#include "base/error.h"

/* Any of these in the hands of another user exposes a file: reading, changing, or giving rights. */
#define ACCOUNT_RIGHTS                                                                             \
    (FILE_READ_DATA | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_EXECUTE | DELETE | WRITE_DAC |     \
     WRITE_OWNER | GENERIC_ALL | GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE)

static int account_of_token(HANDLE token, WinAccount *ret)
{
    union {
        TOKEN_USER user;
        BYTE room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } answer;
    DWORD n = 0;

    if (!GetTokenInformation(token, TokenUser, &answer, sizeof(answer), &n) ||
        !CopySid(sizeof(ret->id), &ret->id, answer.user.User.Sid)) {
        return err_raise(win_error());
    }
    return 0;
}

static int account_of(HANDLE process, WinAccount *ret)
{
    HANDLE token = NULL;
    int r;

    if (!OpenProcessToken(process, TOKEN_QUERY, &token)) {
        return err_raise(win_error());
    }
    r = account_of_token(token, ret);
    win_close(&token);
    return r;
}

int win_account_own(WinAccount *ret)
{
    return account_of(GetCurrentProcess(), ret);
}

int win_account_of_process(DWORD pid, WinAccount *ret)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    int r;

    if (process == NULL) {
        return err_raise(win_error());
    }
    r = account_of(process, ret);
    win_close(&process);
    return r;
}

static bool account_trusts(PSID sid, const WinAccount *own)
{
    WinAccount copy = *own;

    return EqualSid(sid, &copy.id) || IsWellKnownSid(sid, WinLocalSystemSid) ||
           IsWellKnownSid(sid, WinBuiltinAdministratorsSid);
}

bool win_account_is_trusted(const WinAccount *account)
{
    WinAccount copy = *account;
    WinAccount own;

    return win_account_own(&own) == 0 && account_trusts(&copy.id, &own);
}

bool win_account_owns_pipe(HANDLE handle)
{
    PSECURITY_DESCRIPTOR descriptor = NULL;
    PSID owner = NULL;
    WinAccount own;
    bool is_trusted;

    if (win_account_own(&own) != 0 ||
        GetSecurityInfo(handle, SE_KERNEL_OBJECT, OWNER_SECURITY_INFORMATION, &owner, NULL, NULL,
                        NULL, &descriptor) != ERROR_SUCCESS) {
        return false;
    }
    is_trusted = owner != NULL && account_trusts(owner, &own);
    (void)LocalFree(descriptor);
    return is_trusted;
}

int win_privacy_init(WinPrivacy *ret, bool is_folder)
{
    DWORD inherit = is_folder ? OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE : 0;
    int r = win_account_own(&ret->owner);

    if (r != 0) {
        return err_pass(r);
    }
    /* Protected: what the folder would hand down to it does not count. */
    if (!InitializeAcl(&ret->access.list, sizeof(ret->access), ACL_REVISION) ||
        !AddAccessAllowedAceEx(&ret->access.list, ACL_REVISION, inherit, GENERIC_ALL,
                               &ret->owner.id) ||
        !InitializeSecurityDescriptor(&ret->descriptor, SECURITY_DESCRIPTOR_REVISION) ||
        !SetSecurityDescriptorDacl(&ret->descriptor, TRUE, &ret->access.list, FALSE) ||
        !SetSecurityDescriptorOwner(&ret->descriptor, &ret->owner.id, FALSE) ||
        !SetSecurityDescriptorControl(&ret->descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED)) {
        return err_raise(win_error());
    }
    ret->attributes = (SECURITY_ATTRIBUTES){.nLength = sizeof(ret->attributes),
                                            .lpSecurityDescriptor = &ret->descriptor};
    return 0;
}

/* Does the list let somebody in whom we do not trust? What it denies is not looked at: it can only
 * make the answer better than it is. */
static bool exposure_is_open(PACL list, const WinAccount *own)
{
    if (list == NULL) {
        return true; /* no list: everybody */
    }
    for (DWORD i = 0; i < list->AceCount; i++) {
        ACCESS_ALLOWED_ACE *entry = NULL;

        if (!GetAce(list, i, (void **)&entry)) {
            return true;
        }
        if (entry->Header.AceType == ACCESS_DENIED_ACE_TYPE ||
            (entry->Header.AceFlags & INHERIT_ONLY_ACE) != 0) {
            continue;
        }
        if (entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE) {
            return true; /* conditions and the like: not to be decided here */
        }
        if ((entry->Mask & ACCOUNT_RIGHTS) != 0 && !account_trusts((PSID)&entry->SidStart, own) &&
            !IsWellKnownSid((PSID)&entry->SidStart, WinCreatorOwnerRightsSid)) {
            return true;
        }
    }
    return false;
}

int win_exposure_of(HANDLE handle, WinExposure *ret)
{
    PSECURITY_DESCRIPTOR descriptor = NULL;
    PSID owner = NULL;
    PACL list = NULL;
    WinAccount own;
    DWORD code;
    int r = win_account_own(&own);

    if (r != 0) {
        return err_pass(r);
    }
    code = GetSecurityInfo(handle, SE_FILE_OBJECT,
                           OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, NULL,
                           &list, NULL, &descriptor);
    if (code != ERROR_SUCCESS) {
        return err_raise(win_error_of(code));
    }
    *ret = owner == NULL || !account_trusts(owner, &own) ? WIN_EXPOSURE_OWNER
           : exposure_is_open(list, &own)                ? WIN_EXPOSURE_OTHERS
                                                         : WIN_EXPOSURE_NONE;
    (void)LocalFree(descriptor);
    return 0;
}
