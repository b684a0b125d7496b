"""A real browser without a window, driven over its debugging protocol."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

CHROMIUM = next((chromium for name in ("chromium", "chromium-browser", "google-chrome") if (chromium := shutil.which(name))), None)
"""`None`: none is installed."""

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, such as the package chromium of Debian")


class Tab:
    """A tab, and the addresses that it requested."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._calls = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        """Exceptions of scripts, and what the content security policy blocked."""
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._calls += 1
        self._connection.send(json.dumps({"id": self._calls, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=60))
            if message.get("id") == self._calls:
                assert "error" not in message, message
                return dict(message["result"])
            self._note(message.get("method"), message.get("params", {}))

    def _note(self, method: str | None, parameters: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])

    def open(self, url: str) -> None:
        """Navigates to another document, and returns once its elements exist."""
        self.run("window.isBefore = true")
        self.send("Page.navigate", url=url)
        self.wait("!window.isBefore && document.readyState !== 'loading'")

    def run(self, expression: str) -> Any:
        """The value of an expression; a promise is awaited."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression: str, seconds: float = 60.0) -> Any:
        """The value of an expression once it is true."""
        end = time.monotonic() + seconds
        while True:
            if value := self.run(expression):
                return value
            assert time.monotonic() < end, (expression, self.run("document.body.innerText"), self.complaints)
            time.sleep(0.05)

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def resize(self, width: int, height: int = 900) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def prefer(self, scheme: str) -> None:
        """ "light" or "dark"."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path: Path, clip: dict[str, float] | None = None) -> None:
        """Of the whole page, or of a part in pixels: x, y, width, height and scale."""
        part = {} if clip is None else {"clip": clip}
        reply = self.send("Page.captureScreenshot", captureBeyondViewport=True, **part)
        path.write_bytes(base64.b64decode(reply["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A tab of a browser that keeps its files in a folder."""
    assert CHROMIUM is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"]
    command = [CHROMIUM, *options, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        try:
            assert running.stderr is not None
            match = next(match for line in running.stderr if (match := re.search(r"listening on (ws://\S+)", line)))
            address = match[1].replace("/browser/", "/page/").rpartition("/")[0]
            with connect(match[1], max_size=None) as websocket:
                websocket.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
                reply = json.loads(websocket.recv(timeout=60))
            page = next(target["targetId"] for target in reply["result"]["targetInfos"] if target["type"] == "page")
            # A machine with much to do answers pings too late.
            with connect(f"{address}/{page}", max_size=None, ping_interval=None) as connection:
                yield Tab(connection)
        finally:
            running.terminate()
            with suppress(subprocess.TimeoutExpired):
                running.communicate(timeout=20)
            running.kill()
