"""Drive headless Chromium through its DevTools pipe: no socket, no package.

Usage: python -m tests.support.browser PAGE.html FOLDER NAME takes pictures: desktop, dark, phone.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-sync", "--disable-background-networking", "--disable-component-update",
    "--hide-scrollbars", "--remote-debugging-pipe",
]  # fmt: skip
PATIENCE = 60.0


class Browser:
    """One page in one browser; `ask` sends a DevTools command, `run` evaluates JavaScript."""

    def __init__(self, profile, *, downloads=None):
        reading, self._out = os.pipe()
        self._in, writing = os.pipe()
        command = [shutil.which("chromium"), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        shell = ["bash", "-c", f'exec "$@" 3<&{reading} 4>&{writing}', "bash", *command]
        self._process = subprocess.Popen(
            shell,
            pass_fds=(reading, writing),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reading)
        os.close(writing)
        self._left, self._number, self._session = b"", 0, None
        self.errors = []
        target = self._open_tab()
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        if downloads is not None:
            told = {"behavior": "allow", "downloadPath": str(downloads)}
            self.ask("Browser.setDownloadBehavior", **told)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        self.ask("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._in)
        os.close(self._out)

    def _open_tab(self):
        return self.ask("Target.createTarget", url="about:blank")["targetId"]

    def _message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser is silent")
            more = os.read(self._in, 1 << 20)
            if not more:
                raise ConnectionError("the browser has gone")
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        return json.loads(message)

    def ask(self, method, **params):
        self._number += 1
        told = {"id": self._number, "method": method, "params": params}
        if self._session:
            told["sessionId"] = self._session
        os.write(self._out, json.dumps(told).encode() + b"\0")
        while True:
            message = self._message()
            self._note(message)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def _note(self, message):
        """Keep what the page complains about: errors of scripts, and what its policy refused."""
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"]["text"])
        elif message.get("method") == "Log.entryAdded":
            entry = message["params"]["entry"]
            if entry["level"] == "error":
                self.errors.append(entry["text"])

    def open(self, page):
        self.ask("Page.navigate", url=Path(page).as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def reload(self):
        self.run("window.before = true")
        self.ask("Page.reload")
        self.wait("window.before === undefined && document.readyState === 'complete'")

    def run(self, code):
        found = self.ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{code}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait(self, code):
        end = time.monotonic() + PATIENCE
        while not self.run(code):
            if time.monotonic() > end:
                raise TimeoutError(code)
            time.sleep(0.05)

    def press(self, key):
        """Press a key as a person would."""
        named = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}
        told = {"key": key, "windowsVirtualKeyCode": named.get(key, ord(key.upper()[0]))}
        silent = key == "Tab" or key.startswith("Arrow")
        text = {} if silent else {"text": "\r" if key == "Enter" else key}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **told, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **told)

    def look(self, width, height, *, dark=False, scale=1.0, media=""):
        """Set the window's size and theme; `media` may be print."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[theme])

    def picture(self, path, *, whole=False):
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(found["data"]))


def main(page, folder, name):
    import tempfile

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, Browser(profile) as browser:
        browser.open(Path(page).resolve())
        for kind, (width, height, dark) in {
            "desktop": (1200, 1000, False),
            "dark": (1200, 1000, True),
            "phone": (390, 1200, False),
        }.items():
            browser.look(width, height, dark=dark, scale=0.7)
            browser.picture(folder / f"{name}-{kind}.png")
            print(f"{name}-{kind}.png")


if __name__ == "__main__":
    main(*sys.argv[1:4])
