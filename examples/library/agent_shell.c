/* A shell: starts an agent, says one thing, and shows the answer as it comes.
 *
 *     agent_shell MESSAGE COMMAND [ARGUMENT…]
 *     agent_shell 'Which files are here?' toolwire agent
 */
#include <stdio.h>
#include <toolwire/toolwire.h>

static void on_event(const TwAgentEvent *event, void *user)
{
    TwAgentClient **client = user;

    switch (event->kind) {
    case TW_AGENT_TOKEN:
        fwrite(event->text, 1, event->n_text, stdout);
        fflush(stdout);
        break;
    case TW_AGENT_TOOL_USE:
        fprintf(stderr, "[%s %s]\n", event->tool_name, event->json);
        if (event->approval_required) {
            /* A real shell asks the person. */
            tw_agent_client_approve(*client, event->tool_id, false);
        }
        break;
    case TW_AGENT_TOOL_RESULT:
        if (event->is_error) {
            fprintf(stderr, "[%s failed: %s]\n", event->tool_name, event->text);
        }
        break;
    case TW_AGENT_LOG:
        fprintf(stderr, "agent: %s\n", event->text);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    TwAgentClient *client;
    TwAgentClientOptions options = {.event = on_event, .user = &client};
    int r;

    if (argc < 3) {
        fprintf(stderr, "usage: agent_shell MESSAGE COMMAND [ARGUMENT...]\n");
        return 2;
    }
    client = tw_agent_client_new(&options);
    r = tw_agent_client_start(client, (const char *const *)&argv[2]);
    if (r == 0) {
        TwAgentMessage message = {.message = argv[1]};

        r = tw_agent_client_say(client, &message);
        putchar('\n');
    }
    if (r != 0) {
        fprintf(stderr, "agent_shell: %s\n", tw_agent_client_message(client));
    }
    tw_agent_client_free(client);
    return r == 0 ? 0 : 1;
}
