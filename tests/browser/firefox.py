"""A headless Firefox, told what to do over a socket (its Marionette protocol)."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time

NAMES = ("firefox-esr", "firefox")


def find():
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class Firefox:
    """One tab.  errors: what its console complained of, as the page itself can see it."""

    def __init__(self, program, profile):
        port = free_port()
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as prefs:
            prefs.write('user_pref("marionette.port", %d);\n'
                        'user_pref("browser.shell.checkDefaultBrowser", false);\n'
                        'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
                        'user_pref("app.update.enabled", false);\n' % port)
        self.process = subprocess.Popen(
            [program, "--headless", "--marionette", "--no-remote",
             "--remote-allow-system-access", "--profile", profile],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.rest = 0, b""
        self.socket = self.connect(port)
        self.next_message()
        self.ask("WebDriver:NewSession", capabilities={})
        self.ask("WebDriver:SetTimeouts", script=300000, pageLoad=120000)

    def connect(self, port):
        end = time.monotonic() + 120
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), 300)
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.1)

    def next_message(self):
        while b":" not in self.rest:
            self.receive()
        length, self.rest = self.rest.split(b":", 1)
        while len(self.rest) < int(length):
            self.receive()
        message, self.rest = self.rest[:int(length)], self.rest[int(length):]
        return json.loads(message)

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("Firefox has ended")
        self.rest += data

    def ask(self, command, **parameters):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        while True:
            _, number, error, result = self.next_message()
            if number == self.number:
                if error:
                    raise RuntimeError("%s: %s" % (command, error["message"]))
                return result

    def open(self, path):
        self.ask("WebDriver:Navigate", url="file://%s" % path)

    def value(self, expression, wait=False):
        """Of a JavaScript expression; wait: of the promise that it is."""
        if wait:
            script = "const done = arguments[0]; (%s).then(done);" % expression
            return self.ask("WebDriver:ExecuteAsyncScript", script=script, args=[],
                            sandbox=None)["value"]
        return self.ask("WebDriver:ExecuteScript", script="return (%s);" % expression, args=[],
                        sandbox=None)["value"]

    def wait_for(self, expression, seconds=60):
        """Until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                raise TimeoutError("never true: " + expression)
            time.sleep(0.02)

    def screenshot(self, path):
        image = self.ask("WebDriver:TakeScreenshot", full=False)["value"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))

    def close(self):
        try:
            self.ask("Marionette:Quit", flags=["eForceQuit"])
        except (OSError, EOFError, RuntimeError):
            self.process.terminate()
        self.process.wait(60)
        self.socket.close()
