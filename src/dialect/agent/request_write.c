#include "dialect/agent/message.h"

#include "dialect/agent/message_internal.h"

static void write_attachments(AgentOut *o, const AgentRequest *request)
{
    for (size_t i = 0; i < request->n_attachments; i++) {
        const AgentAttachment *attachment = &request->attachments[i];
        bool is_file = attachment->path.n > 0;

        agent_out_span(o, i == 0 ? SPAN(",\"attachments\":[") : SPAN(","));
        agent_out_span(o, is_file ? SPAN("{\"path\":") : SPAN("{\"data\":"));
        agent_out_string(o, is_file ? attachment->path : attachment->data);
        agent_out_member(o, SPAN(",\"mime\":"), attachment->mime);
        agent_out_member(o, SPAN(",\"name\":"), attachment->name);
        agent_out_span(o, SPAN("}"));
    }
    agent_out_span(o, request->n_attachments > 0 ? SPAN("]") : SPAN_NULL);
}

static void write_metadata(AgentOut *o, const AgentRequest *request)
{
    const struct {
        Span key;
        Span text;
    } members[] = {
        {SPAN("\"conversationId\":"), request->conversation_id},
        {SPAN("\"userId\":"), request->user_id},
        {SPAN("\"title\":"), request->title},
    };
    Span before = SPAN(",\"metadata\":{");

    for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
        if (members[i].text.n > 0) {
            agent_out_span(o, before);
            agent_out_member(o, members[i].key, members[i].text);
            before = SPAN(",");
        }
    }
    agent_out_span(o, before.n == 1 ? SPAN("}") : SPAN_NULL);
}

int agent_request_write(Bytes *out, const AgentRequest *request)
{
    AgentOut o = agent_out_begin(out);

    agent_out_span(&o, SPAN("{\"id\":"));
    agent_out_string(&o, request->id);
    agent_out_span(&o, SPAN(",\"kind\":\""));
    agent_out_span(&o, span_from_str(agent_kind_name(request->kind)));
    agent_out_span(&o, SPAN("\""));
    if (request->kind == AGENT_KIND_USER_MESSAGE) {
        agent_out_span(&o, SPAN(",\"message\":"));
        agent_out_string(&o, request->message);
        write_attachments(&o, request);
    } else if (request->kind == AGENT_KIND_INTERRUPT) {
        agent_out_member(&o, SPAN(",\"requestId\":"), request->request_id);
    } else if (request->kind == AGENT_KIND_TOOL_APPROVAL) {
        agent_out_span(&o, SPAN(",\"toolId\":"));
        agent_out_string(&o, request->tool_id);
        agent_out_span(&o, request->approved ? SPAN(",\"approved\":true")
                                             : SPAN(",\"approved\":false"));
    }
    write_metadata(&o, request);
    agent_out_span(&o, SPAN("}"));
    return agent_out_finish(&o);
}
