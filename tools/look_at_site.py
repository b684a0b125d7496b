"""Take screenshots of the documentation in a headless browser, and list what is wider than the page.

    python tools/look_at_site.py FOLDER [PAGE ..]

Builds the site, opens each page (default: all) at the widths of a desktop and of a phone, and saves
FOLDER/PAGE-WIDTH.png. Exits with 1 if a page is wider than its window, or if the search finds nothing. Requires
Chromium (`apt install chromium`).
"""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).parent.parent
WIDTHS = (1280, 375)
MAX_HEIGHT = 4000
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome", "chrome")

# Elements that scroll by themselves may be wider than the page: code, and tables in their frame.
TOO_WIDE = """
[document.documentElement.scrollWidth > innerWidth,
 [...document.querySelectorAll("article *")]
   .filter(one => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest("pre, .md-typeset__scrollwrap"))
   .map(one => one.tagName + ": " + one.textContent.trim().slice(0, 60)).slice(0, 3)]
"""
FOUND = """
new Promise(found => {
  document.querySelector("[name=query]").focus();
  document.querySelector("[name=query]").value = "shot_chart";
  document.querySelector("[name=query]").dispatchEvent(new Event("input"));
  document.querySelector("[name=query]").dispatchEvent(new KeyboardEvent("keyup"));
  setTimeout(() => found(document.querySelectorAll(".md-search-result__link").length), 3000);
})
"""


class Tab:
    """One tab of the browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.session: str | None = None
        self.numbers = itertools.count(1)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **params: Any) -> Any:
        number = next(self.numbers)
        session = {"sessionId": self.session} if self.session else {}
        self.connection.send(json.dumps({"id": number, "method": method, "params": params, **session}))
        return self.receive(lambda message: message.get("id") == number)["result"]

    def receive(self, is_wanted: Any) -> Any:
        while not is_wanted(message := json.loads(self.connection.recv(timeout=60))):
            pass
        return message

    def open(self, address: str, width: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Page.navigate", url=address)
        self.receive(lambda message: message.get("method") == "Page.loadEventFired")
        # The theme wraps tables and lays out the navigation after the load.
        self.evaluate("new Promise(done => setTimeout(done, 300))")

    def evaluate(self, script: str) -> Any:
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return done["result"].get("value")

    def save(self, path: Path, width: int) -> None:
        height = min(MAX_HEIGHT, self.evaluate("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(picture))


@contextlib.contextmanager
def browser() -> Iterator[Tab]:
    """Start a browser; ends it afterwards."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit(f"no browser found: install one of {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory() as profile:
        options = [
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
        ]
        process = subprocess.Popen([program, *options], stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            address = next(
                found[1] for line in process.stderr if (found := re.match(r"DevTools listening on (\S+)", line))
            )
            threading.Thread(target=process.stderr.read, daemon=True).start()
            with connect(address, max_size=None, proxy=None) as connection:
                yield Tab(connection)
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def main(folder: Path, pages: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    problems = 0
    with tempfile.TemporaryDirectory() as site, served(Path(site)) as root:
        build = ["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site]
        subprocess.run([sys.executable, *build], cwd=ROOT, check=True)
        with browser() as tab:
            for page in pages or sorted(path.stem for path in (ROOT / "docs").glob("*.md")):
                for width in WIDTHS:
                    tab.open(root if page == "index" else f"{root}{page}/", width)
                    scrolls, wide = tab.evaluate(TOO_WIDE)
                    tab.save(folder / f"{page}-{width}.png", width)
                    if scrolls or wide:
                        problems += 1
                        print(f"{page} at {width}: wider than the page: {wide}")
            tab.open(root, WIDTHS[0])
            if not (hits := tab.evaluate(FOUND)):
                problems += 1
            print(f"search for shot_chart: {hits} results")
    return int(problems > 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
