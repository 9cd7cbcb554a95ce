"""A small client of the debug adapter protocol: what an editor does to debugpy."""

import json
import socket


class Client:
    """Talks to the debugger at a port of this machine; every wait ends after `timeout` seconds."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.stream = self.socket.makefile("rwb")
        self.sent = 0
        self.events = []  # not asked for yet, in the order in which they came

    def close(self):
        self.stream.close()
        self.socket.close()

    def _receive(self):
        length = None
        for line in iter(self.stream.readline, b"\r\n"):
            assert line, "the debugger has hung up"
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.stream.read(length).decode())

    def send(self, command, **arguments):
        """Returns the number of the request, by which `response` knows its answer."""
        self.sent += 1
        body = json.dumps({"seq": self.sent, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        self.stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.stream.flush()
        return self.sent

    def response(self, number):
        while True:
            message = self._receive()
            if message["type"] == "event":
                self.events.append(message)
            elif message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body", {})

    def ask(self, command, **arguments):
        return self.response(self.send(command, **arguments))

    def event(self, *names):
        """The next event of one of these names; those before it are passed over."""
        while True:
            message = self.events.pop(0) if self.events else self._receive()
            if message["type"] == "event" and message["event"] in names:
                return message

    def attach(self, path, lines):
        """Attaches with a breakpoint at each of the lines; returns those that it really got."""
        self.ask("initialize", adapterID="test", linesStartAt1=True, columnsStartAt1=True,
                 pathFormat="path")
        attached = self.send("attach", justMyCode=True, subProcess=False)
        self.event("initialized")
        set_ = self.ask("setBreakpoints", source={"path": path},
                        breakpoints=[{"line": line} for line in lines])
        self.ask("configurationDone")
        self.response(attached)
        return [(point["verified"], point["line"]) for point in set_["breakpoints"]]

    def stop(self, wanted=()):
        """Waits until the program stops: (thread, why, its frames, the innermost's variables).

        None when it has ended; `wanted` are expressions to add to the variables."""
        event = self.event("stopped", "terminated")
        if event["event"] == "terminated":
            return None
        stopped = event["body"]
        frames = self.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"]
        scopes = self.ask("scopes", frameId=frames[0]["id"])["scopes"]
        local = self.ask("variables", variablesReference=scopes[0]["variablesReference"])
        values = {one["name"]: one["value"] for one in local["variables"]}
        values.update((text, self.ask("evaluate", expression=text, frameId=frames[0]["id"],
                                      context="watch")["result"]) for text in wanted)
        return (stopped["threadId"], stopped["reason"],
                [(frame["name"], frame["line"]) for frame in frames], values)
