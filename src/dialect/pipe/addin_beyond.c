/* What is beyond the document, with a hub that understands it: progress, cancelling, changes of
 * what is offered. */
#include "dialect/pipe/addin.h"

#include "base/error.h"
#include "dialect/pipe/addin_impl.h"

/* 0; positive: there is no room, or it is too large, and nothing was sent; a negative errno. */
static int addin_end(PipeAddin *addin, PipeWireMessage *message, int written)
{
    int r = pipe_wire_end(&addin->wire, message, written);

    if (r < 0 && addin->error == 0) {
        addin->error = r;
    }
    return r < 0 ? err_pass(r) : r;
}

bool pipe_addin_hub_understands(const PipeAddin *addin, PipeType type)
{
    return (addin->understood & 1u << type) != 0;
}

/* One report more or less is no loss, so none uses the room of answers. */
void pipe_addin_progress(Call *call, const CallProgress *progress)
{
    AddinItem *item = (AddinItem *)call;
    PipeAddin *addin = item->addin;
    PipeWireMessage message;

    if (!call->wants_progress || addin->is_ending || addin->error != 0 ||
        (addin->config.is_behind != NULL && addin->config.is_behind(addin->config.context))) {
        return;
    }
    if (pipe_wire_begin(&addin->wire, &message) == 0) {
        (void)addin_end(
            addin, &message,
            pipe_write_progress(message.bytes, &message.head, bytes_span(&item->id), progress));
    }
}

bool pipe_addin_tell_changed(PipeAddin *addin)
{
    PipeWireMessage message;

    return !addin->is_ending && pipe_wire_begin(&addin->wire, &message) == 0 &&
           addin_end(addin, &message, pipe_write_changed(message.bytes, &message.head)) == 0;
}

static void addin_unlink_waiting(PipeAddin *addin, const AddinItem *item)
{
    AddinItem **at = &addin->waiting;

    while (*at != item) {
        at = &(*at)->next;
    }
    *at = item->next;
    if (item->next == NULL) {
        addin->waiting_end = at;
    }
    addin->n_waiting--;
    addin->n_waiting_bytes -= item->n_bytes;
}

int pipe_addin_cancel(PipeAddin *addin, Span call_id)
{
    PipeEntry *entry = pipe_entries_find(&addin->items, call_id);
    AddinItem *item = entry != NULL ? PIPE_ENTRY_OWNER(entry, AddinItem, entry) : NULL;
    int r;

    /* One that has ended has crossed this. */
    if (item == NULL || addin->config.cancel == NULL) {
        return 0;
    }
    if (item->is_running) {
        addin->config.cancel(addin->config.context, &item->call);
    } else {
        addin_unlink_waiting(addin, item);
    }
    r = pipe_addin_answer_cancelled(addin, item);
    pipe_addin_release(addin, item);
    return err_pass(r);
}
