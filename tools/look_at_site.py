"""Take screenshots of the documentation in a headless browser, and list what is wider than the page.

    python tools/look_at_site.py FOLDER [PAGE ..]

Builds the site, opens each page (default: all) at the widths of a desktop and of a phone, and saves
FOLDER/PAGE-WIDTH.png. Exits with 1 if a page is wider than its window, or if the search finds nothing. Requires
Chromium (`apt install chromium`).
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import CHROMIUM, Tab, browser  # noqa: E402 - the tests' own

WIDTHS = (1280, 375)
MAX_HEIGHT = 4000

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


def open_at(tab: Tab, address: str, width: int) -> None:
    tab.resize(width)
    tab.open(address)
    # The theme wraps tables and lays out the navigation after the load.
    tab.wait("document.readyState === 'complete'")
    tab.run("new Promise(done => setTimeout(done, 300))")


def save(tab: Tab, path: Path, width: int) -> None:
    height = min(MAX_HEIGHT, tab.run("document.documentElement.scrollHeight"))
    tab.screenshot(path, {"x": 0, "y": 0, "width": width, "height": height, "scale": 1})


def main(folder: Path, pages: list[str]) -> int:
    if CHROMIUM is None:
        sys.exit("no browser was found: install Chromium (apt install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    problems = 0
    with tempfile.TemporaryDirectory() as site, tempfile.TemporaryDirectory() as profile, served(Path(site)) as root:
        build = ["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site]
        subprocess.run([sys.executable, *build], cwd=ROOT, check=True)
        with browser(Path(profile)) as tab:
            for page in pages or sorted(path.stem for path in (ROOT / "docs").glob("*.md")):
                for width in WIDTHS:
                    open_at(tab, root if page == "index" else f"{root}{page}/", width)
                    scrolls, wide = tab.run(TOO_WIDE)
                    save(tab, folder / f"{page}-{width}.png", width)
                    if scrolls or wide:
                        problems += 1
                        print(f"{page} at {width}: wider than the page: {wide}")
            open_at(tab, root, WIDTHS[0])
            if not (hits := tab.run(FOUND)):
                problems += 1
            print(f"search for shot_chart: {hits} results")
    return int(problems > 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
