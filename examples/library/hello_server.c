/* The smallest server: one tool, answered at once. */
#include <toolwire/toolwire.h>

static void greet(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "Hello, %s!", tw_call_string(call, "name", "world"));
}

int main(void)
{
    TwServer *server = tw_server_new("hello", "1.0");
    TwTool tool = {.name = "greet", .description = "Greets somebody", .handler = greet};

    tool.input_schema = "{\"properties\":{\"name\":{\"type\":\"string\"}},\"type\":\"object\"}";
    if (tw_server_add_tool(server, &tool) != 0 || tw_server_serve_stdio(server) != 0) {
        return 1;
    }
    tw_server_free(server);
    return 0;
}
