#!/usr/bin/env python3
"""A parent, in Python with the standard library only: a program that has tools and keeps their state in memory.

An MCP client can only start a command. `toolwire bridge SOCKET SCHEMA` is that command; it reads the tools from the
file SCHEMA and carries each call to this process, at the Unix socket SOCKET. docs/callsock.md describes what they say
to each other: a frame is a length of 32 bits, big-endian, and that many bytes of JSON. The bridge sends

    {"method": "call_tool", "params": {"name": "count", "arguments": {"by": 5}}}

and waits for one of these before it sends the next:

    {"result": {"content": [{"type": "text", "text": "5"}], "isError": false}}
    {"error": {"message": "Unknown tool: x", "type": "ToolNotFoundError"}}

Start it and give the configuration that it prints to an MCP client. The same in C: examples/library/parent.c.
"""
import json
import os
import signal
import socketserver
import struct
import sys
import tempfile
import threading

MAX_BYTES = 10_485_760  # of a message, in either direction


class ToolNotFoundError(Exception):
    """There is no such tool."""


class IPCError(Exception):
    """No message of this protocol."""


class IPCMessageSizeError(IPCError):
    """A message over MAX_BYTES."""


# ---- the tools: an exception becomes an error response with its class as the type ----

TOOLS = {}  # name: (function, description, input schema)
LOCK = threading.Lock()  # every bridge has a thread, and the state is one
STATE = {"count": 0, "todo": []}


def tool(description, required=(), **properties):
    def register(function):
        schema = {"type": "object", "properties": properties, "required": list(required)}
        TOOLS[function.__name__] = (function, description, schema)
        return function
    return register


@tool("Adds to a counter, and says where it is.", by={"type": "integer"})
def count(by=1):
    STATE["count"] += by
    return str(STATE["count"])


@tool("Puts an item on the to-do list.", ["text"], text={"type": "string"})
def todo_add(text):
    STATE["todo"].append(text)
    return f"{len(STATE['todo'])} to do"


@tool("Takes an item off the list; the first one is 1.", ["item"], item={"type": "integer"})
def todo_done(item):
    if not 1 <= item <= len(STATE["todo"]):
        raise ValueError("There is no such item.")
    return f"done: {STATE['todo'].pop(item - 1)}"


def call_tool(request):
    if request.get("method") != "call_tool":
        raise ValueError(f"Unknown method: {request.get('method')}")
    params = request.get("params")
    if not isinstance(params, dict):
        raise ValueError("Invalid params: expected dict")
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str):
        raise ValueError("Invalid tool name: expected string")
    if not isinstance(arguments, dict):
        raise ValueError("Invalid arguments: expected dict")
    if name not in TOOLS:
        raise ToolNotFoundError(f"Unknown tool: {name}")
    with LOCK:
        text = TOOLS[name][0](**arguments)
    return {"result": {"content": [{"type": "text", "text": text}], "isError": False}}


def failure(error):
    return {"error": {"message": str(error), "type": type(error).__name__}}


def answer(request):
    try:
        return call_tool(request)
    except Exception as error:  # whatever a tool raises is its answer
        return failure(error)


# ---- a connection ----

class Bridge(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            self.serve()
        except ConnectionError:
            pass  # the bridge has gone

    def serve(self):
        try:
            while (request := self.receive()) is not None:
                self.send(answer(request))
        except IPCError as error:  # where the next message begins is not known any more
            self.send(failure(error))

    def receive(self):
        header = self.rfile.read(4)
        if not header:
            return None
        if len(header) < 4:
            raise IPCError("A frame ended inside its length")
        (length,) = struct.unpack("!I", header)
        if length > MAX_BYTES:
            raise IPCMessageSizeError(f"A message of {length} bytes; {MAX_BYTES} are allowed")
        body = self.rfile.read(length)
        if len(body) < length:
            raise IPCError("A frame ended inside its message")
        try:
            request = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise IPCError(f"A message that is not JSON: {error}") from error
        if not isinstance(request, dict):
            raise IPCError("A message that is no JSON object")
        return request

    def send(self, response):
        body = json.dumps(response).encode("utf-8")
        if len(body) > MAX_BYTES:
            error = IPCMessageSizeError(f"A response of {len(body)} bytes; {MAX_BYTES} are allowed")
            body = json.dumps(failure(error)).encode("utf-8")
        self.wfile.write(struct.pack("!I", len(body)) + body)


class Parent(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True  # a bridge that stays connected does not keep us from ending
    request_queue_size = 128


# ---- the process ----

def write_schema(path):
    tools = [{"name": name, "description": description, "input_schema": schema}
             for name, (_, description, schema) in TOOLS.items()]
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(tools, file)


def end(signum, _frame):
    for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)  # a second one must not cut the cleaning up short
    sys.exit(0)


def main():
    os.umask(0o077)  # the socket is for this user only from its first moment
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, end)
    # A folder that only we can enter, and that goes with all that is in it, also after sys.exit.
    with tempfile.TemporaryDirectory(prefix="parent-") as folder:
        socket_path, schema_path = os.path.join(folder, "parent.sock"), os.path.join(folder, "parent.json")
        write_schema(schema_path)
        with Parent(socket_path, Bridge) as parent:
            os.chmod(socket_path, 0o600)
            arguments = ["bridge", socket_path, schema_path]
            print("toolwire", *arguments)
            print(json.dumps({"mcpServers": {"parent": {"command": "toolwire", "args": arguments}}}), flush=True)
            parent.serve_forever()


if __name__ == "__main__":
    main()
