"""A headless Chromium, told what to do over a pipe (the DevTools protocol), and what it saw."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

# Of a page with a timeline, once that can be used.
READY = "document.documentElement?.dataset.timeline === 'ready'"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One tab.  errors: what its console and its policy complained of; requests: all addresses."""

    def __init__(self, program, profile):
        commands, self.to = os.pipe()
        self.answers, replies = os.pipe()

        def arrange():
            # Moved out of the way first: 3 and 4 may be any of them.
            high = [os.dup2(commands, 30), os.dup2(replies, 31)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--user-data-dir=%s" % profile, "about:blank"],
            close_fds=False, preexec_fn=arrange, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(replies)
        self.number, self.rest, self.session = 0, b"", None
        self.errors, self.requests, self.loaded = [], [], False
        targets = self.ask("Target.getTargets")["targetInfos"]
        target = next(target for target in targets if target["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"],
                                flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def next_message(self, seconds):
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], seconds)[0]:
                raise TimeoutError("Chromium says nothing for %d s" % seconds)
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise EOFError("Chromium has ended")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("text"))
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def ask(self, method, seconds=30, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            message = self.next_message(seconds)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError("%s: %s" % (method, message["error"]))
                return message["result"]

    def open(self, path):
        # From another document: an address that differs behind # alone is no new page.
        self.navigate("about:blank")
        self.navigate("file://%s" % path)

    def navigate(self, url):
        self.errors, self.requests, self.loaded = [], [], False
        self.ask("Page.navigate", url=url)
        end = time.monotonic() + 30
        while not self.loaded and time.monotonic() < end:
            self.next_message(30)

    def value(self, expression, wait=False):
        """Of a JavaScript expression; wait: of the promise that it is."""
        result = self.ask("Runtime.evaluate", 300 if wait else 30, expression=expression,
                          returnByValue=True, awaitPromise=wait)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def focus(self, selector):
        self.value("document.querySelector(%s).focus()" % json.dumps(selector))

    def key(self, key, shift=False):
        """Presses and releases it."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind, more in (("keyDown", text), ("keyUp", {})):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0,
                     **more)

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x, y, to_x, to_y):
        """A click where both are the same point."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        if (x, y) != (to_x, to_y):
            self.mouse("mouseMoved", (x + to_x) / 2, (y + to_y) / 2, button="left", buttons=1)
            self.mouse("mouseMoved", to_x, to_y, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def double_click(self, x, y):
        for count in 1, 2:
            self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=count)
            self.mouse("mouseReleased", x, y, button="left", clickCount=count)

    def wheel(self, x, y, delta, ctrl=False):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=2 if ctrl else 0)

    def touch(self, kind, *points):
        """kind: touchStart, touchMove or touchEnd; points: (x, y) of each finger."""
        self.ask("Input.dispatchTouchEvent", type=kind,
                 touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def wait_for(self, expression, seconds=60):
        """Until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                raise TimeoutError("never true: " + expression)
            time.sleep(0.02)

    def resize(self, width, height=900):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=width < 600)

    def prefer(self, scheme):
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        """Of the whole page."""
        image = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(image["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        os.close(self.to)
        os.close(self.answers)
