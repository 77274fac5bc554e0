/* NFKC and lower case as Windows has them, which .NET's are. */
#include "router/safety/fold.h"

#include <windows.h>

#include "base/alloc.h"
#include "base/error.h"

/* A text of LIMIT_SAFETY_FOLD_BYTES fits an int in every form. */
static wchar_t *fold_wide_room(int n)
{
    return n <= 0 ? NULL : mem_alloc_array((size_t)n, sizeof(wchar_t));
}

/* Gives the normalised text. The size that NormalizeString names first is an estimate; when it was
 * too small it names a better one, negative. */
static int fold_normalise(const wchar_t *wide, int n, wchar_t **ret, int *ret_n)
{
    int room = NormalizeString(NormalizationKC, wide, n, NULL, 0);

    for (int tries = 0; tries < 10 && room > 0; tries++) {
        wchar_t *form = fold_wide_room(room);
        int got;

        if (form == NULL) {
            return err_raise(-ENOMEM);
        }
        got = NormalizeString(NormalizationKC, wide, n, form, room);
        if (got > 0) {
            *ret = form;
            *ret_n = got;
            return 0;
        }
        form = mem_free(form);
        if (GetLastError() != ERROR_INSUFFICIENT_BUFFER) {
            break;
        }
        room = -got;
    }
    return err_raise(-ENOTRECOVERABLE);
}

/* The capital sharp s: of all letters that NFKC leaves as they are the only one that Wine 8 does
 * not map as Unicode does. Elsewhere nothing is left to do. */
static void fold_sharp_s(wchar_t *text, int n)
{
    for (int i = 0; i < n; i++) {
        if (text[i] == 0x1E9E) {
            text[i] = 0xDF;
        }
    }
}

int safety_fold_unicode(Span text, Bytes *out)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    CLEANUP(mem_freep) wchar_t *form = NULL;
    CLEANUP(mem_freep) wchar_t *low = NULL;
    int n = MultiByteToWideChar(CP_UTF8, 0, text.p, (int)text.n, NULL, 0);
    int n_out;
    int r;

    wide = fold_wide_room(n);
    if (wide == NULL) {
        return err_raise(-ENOMEM);
    }
    n = MultiByteToWideChar(CP_UTF8, 0, text.p, (int)text.n, wide, n);
    r = fold_normalise(wide, n, &form, &n);
    if (r != 0) {
        return err_pass(r);
    }
    /* Without linguistic casing each letter is mapped to one, and U+0130 to itself. */
    low = fold_wide_room(n);
    if (low == NULL) {
        return err_raise(-ENOMEM);
    }
    if (LCMapStringEx(LOCALE_NAME_INVARIANT, LCMAP_LOWERCASE, form, n, low, n, NULL, NULL, 0) !=
        n) {
        return err_raise(-ENOTRECOVERABLE);
    }
    fold_sharp_s(low, n);
    n_out = WideCharToMultiByte(CP_UTF8, 0, low, n, NULL, 0, NULL, NULL);
    r = n_out < 0 ? -ENOTRECOVERABLE : bytes_reserve(out, (size_t)n_out);
    if (r != 0) {
        return r;
    }
    out->n +=
        (size_t)WideCharToMultiByte(CP_UTF8, 0, low, n, out->data + out->n, n_out, NULL, NULL);
    return 0;
}
