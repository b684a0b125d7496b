"""A page on loopback that shows a live stream in a browser; see `LiveStream.serve`."""

import atexit
import errno
import json
import os
import re
import socket
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .._client import is_entered, title_of
from .._lazy import LazyModule
from .._rows import html, notebook_html
from ..court import COLLEGE_MEN
from ._box_score import LiveBoxScore
from ._court_svg import half_court
from ._display import add_counted
from ._scoreboard import GameView, Scoreboard
from ._terminal import follow

if TYPE_CHECKING:
    from . import _streams
else:
    _streams = LazyModule("sideline.live._streams")

__all__ = ["LivePage"]

HOST = "127.0.0.1"

CLOSE_TIMEOUT = 10.0
"""Seconds for which closing a page waits for its connections to end."""

Sections = Mapping[str, str]
"""A view: the JSON of each of its members."""


@dataclass(frozen=True)
class Settings:
    """The limits and waits of a page. No user sets them: tests make them small."""

    max_browsers: int = 16
    """Browsers that follow a page at the same time."""

    max_connections: int = 32

    socket_timeout: float | None = 10.0
    """Seconds after which a connection that takes or sends nothing is closed."""

    heartbeat: float = 5.0
    """Seconds of silence until a comment, which shows whether a browser is still there."""

    send_buffer: int = 64 * 1024
    """Bytes that the system may hold for a browser that does not read."""


class LivePage:
    """A page on this machine that shows a live stream in a browser; `LiveStream.serve` returns it.

    It takes the stream's items in a thread of its own until it is closed. It can be a context manager, and is closed
    when Python exits. Only programs on this machine can open it, those of other users too.

    >>> with client.live_stats(live_game_id) as stream, stream.serve() as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """

    _settings = Settings()

    def __init__(
        self,
        stream: "_streams.LiveStream",
        score: LiveBoxScore,
        port: int,
        on_item: Callable[[object], object] | None = None,
    ) -> None:
        self._stream = stream
        self._on_item = on_item
        self._score = score
        self._board = Scoreboard(title_of(stream), score)
        self._error: Exception | None = None
        self._ended, self._stopped = Event(), Event()
        self._is_closed = False
        self._process = os.getpid()
        self._news = News()
        self._publish()
        self._server = Server(port, self._news, self._settings)
        self._threads = [
            Thread(target=self._server.serve_forever, args=(0.1,), name="sideline page", daemon=True),
            Thread(target=self._follow, name="sideline page's stream", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    @property
    def url(self) -> str:
        """The address to open in a browser on this machine."""
        return f"http://{HOST}:{self._server.server_port}/"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the stream ends, for at most `timeout` seconds; returns whether it has ended.

        Raises the error that ended the stream, such as `AuthenticationError`. The page stays open.

        >>> with client.live_stats(live_game_id) as stream, stream.serve() as page:
        ...     page.wait(0.1)
        False
        """
        has_ended = self._ended.wait(timeout)
        if has_ended and self._error is not None:
            raise self._error
        return has_ended

    def close(self) -> None:
        """Close the page and its browsers' connections, and the stream unless it was entered with `with`.

        Raises `OSError` if the last items of a journal could not be written.
        """
        # A forked child shares the sockets, and must not shut them down.
        if self._is_closed or self._process != os.getpid():
            return
        self._is_closed = True
        atexit.unregister(self.close)
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join()
        if not is_entered(self._stream):
            self._stream.close()

    def _follow(self) -> None:
        try:
            follow(self._stream, self._add, self._publish, self._stopped.is_set)
        except Exception as error:  # noqa: BLE001 - raised by `wait`
            self._error = error
        finally:
            self._publish()
            self._ended.set()

    def _add(self, item: object) -> None:
        add_counted(self._stream, self._score, item, self._board.add)
        if self._on_item is not None:
            self._on_item(item)

    def _publish(self) -> None:
        error = None if self._error is None else str(self._error)
        self._news.publish(self._board.view(self._stream.state, self._stream.stats, error))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sideline.live.LivePage {self.url}, {'closed' if self._is_closed else 'open'}>"

    def _repr_html_(self) -> str:
        return notebook_html({"link": self.url})


class News:
    """The newest view, for any number of browsers: each takes it when it is ready, so none delays the stream."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._sections: Sections = {}
        self.is_closed = False

    def publish(self, view: GameView) -> None:
        """Replace the view."""
        sections = {name: json.dumps(value) for name, value in view.items()}
        with self._condition:
            if sections != self._sections:
                self._sections = sections
                self._condition.notify_all()

    def close(self) -> None:
        """End every wait."""
        with self._condition:
            self.is_closed = True
            self._condition.notify_all()

    def newer(self, seen: Sections | None, timeout: float) -> Sections:
        """Wait for another view than `seen`, and return the newest one."""
        with self._condition:
            self._condition.wait_for(lambda: self.is_closed or self._sections is not seen, timeout)
            return self._sections


def event(seen: Sections | None, newest: Sections) -> bytes:
    """Return the event that brings a browser up to date: the whole state, or the members that changed."""
    if newest is seen:
        return b":\n\n"
    changed_sections = (
        newest if seen is None else {name: text for name, text in newest.items() if seen.get(name) != text}
    )
    document = ",".join(f'"{name}":{text}' for name, text in changed_sections.items())
    return f"event: {'state' if seen is None else 'change'}\ndata: {{{document}}}\n\n".encode()


def refusal(path: str, hosts: list[str], origin: str | None, site: str | None, port: int) -> HTTPStatus | None:
    """Return the status that refuses a request, or `None`.

    A page of another site may reach this one by a name that resolves to loopback (DNS rebinding), which its Host header
    reveals, or directly, which Origin and Sec-Fetch-Site reveal.
    """
    own_origins = {f"{HOST}:{port}", f"localhost:{port}"} | ({HOST, "localhost"} if port == 80 else set())
    if len(hosts) != 1 or hosts[0].lower() not in own_origins:
        return HTTPStatus.MISDIRECTED_REQUEST
    if path == "/":
        return None
    if path != "/events":
        return HTTPStatus.NOT_FOUND
    if origin not in (None, f"http://{hosts[0].lower()}") or site not in (None, "same-origin", "none"):
        return HTTPStatus.FORBIDDEN
    return None


def page() -> tuple[bytes, str]:
    """Return the page, and the content security policy that allows its own style and script alone."""
    text = html("live_page.html", court=half_court(COLLEGE_MEN))
    style, script = (_hash_of(text, tag) for tag in ("style", "script"))
    policy = (
        f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    )
    return text.encode(), policy


def _hash_of(text: str, tag: str) -> str:
    [content] = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


class Server(ThreadingHTTPServer):
    """The page and its events, with a thread for each of a bounded number of connections."""

    daemon_threads = True
    # On Windows it would let another program take the port over.
    allow_reuse_address = os.name == "posix"

    def __init__(self, port: int, news: News, settings: Settings) -> None:
        self.news = news
        self.settings = settings
        self.page, self.policy = page()
        self._connections: dict[Any, bool] = {}
        """Whether a connection has sent its request, the oldest first."""
        self._condition = Condition()
        self._browsers = 0
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            problem = "in use" if error.errno == errno.EADDRINUSE else "not allowed to this user"
            message = f"port {port} is {problem}; choose another one, or 0 for any free port"
            raise OSError(error.errno, message) from None

    def admit(self) -> bool:
        """Return whether one more browser may follow, and count it."""
        with self._condition:
            is_free = self._browsers < self.settings.max_browsers
            self._browsers += is_free
            return is_free

    def leave(self) -> None:
        """Count a browser less."""
        with self._condition:
            self._browsers -= 1

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread. If there are too many, close the oldest that has sent no request yet, or else
        this one."""
        with self._condition:
            is_free = len(self._connections) < self.settings.max_connections or self._drop_slow()
            if is_free:
                self._connections[request] = False
        if is_free:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _drop_slow(self) -> bool:
        slow = next((connection for connection, has_asked in self._connections.items() if not has_asked), None)
        if slow is None:
            return False
        del self._connections[slow]
        # Its thread, which waits for the request, closes it.
        with suppress(OSError):
            slow.shutdown(socket.SHUT_RDWR)
        return True

    def note_request(self, request: Any) -> None:
        """Keep a connection that has sent its request."""
        with self._condition:
            if request in self._connections:
                self._connections[request] = True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        super().shutdown_request(request)
        with self._condition:
            self._connections.pop(request, None)
            self._condition.notify_all()

    def server_close(self) -> None:
        """Close the port and every connection."""
        super().server_close()
        self.news.close()
        with self._condition:
            for connection in self._connections:
                # Ends a write to a browser that does not read.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._condition.wait_for(lambda: not self._connections, CLOSE_TIMEOUT)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: Server
    server_version, sys_version = "sideline", ""

    def setup(self) -> None:
        """Limit how long the connection may take or send nothing."""
        super().setup()
        self.connection.settimeout(self.server.settings.socket_timeout)

    def do_GET(self) -> None:
        """Send the page, or events until either side closes."""
        self.server.note_request(self.connection)
        headers, port = self.headers, self.server.server_port
        path = self.path.partition("?")[0]
        hosts = headers.get_all("Host") or []
        status = refusal(path, hosts, headers.get("Origin"), headers.get("Sec-Fetch-Site"), port)
        if status is not None:
            self._send(status, f"{status.phrase}: open http://{HOST}:{port}/ in a browser on this machine\n".encode())
        elif path == "/":
            self._send(HTTPStatus.OK, self.server.page, "text/html")
        elif not self.server.admit():
            problem = f"{self.server.settings.max_browsers} browsers follow this page already\n"
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, problem.encode())
        else:
            try:
                self._send_events()
            finally:
                self.server.leave()

    def _send(self, status: HTTPStatus, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.server.settings.send_buffer)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"retry: 1000\n\n")
        seen: Sections | None = None
        while not self.server.news.is_closed:
            newest = self.server.news.newer(seen, self.server.settings.heartbeat)
            self.wfile.write(event(seen, newest))
            seen = newest

    def end_headers(self) -> None:
        """Add the headers of every response."""
        for name, value in {
            "Content-Security-Policy": self.server.policy,
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""
