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
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from threading import TIMEOUT_MAX, Condition, Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs

from .._client import Duration, Unpicklable, as_seconds, core_of_stream, is_entered, set_page
from .._lazy import LazyModule
from .._rows import html, notebook_html
from ..court import COLLEGE_MEN
from ._box_score import LiveBoxScore
from ._court_svg import half_court
from ._feed import plain
from ._follow import follow
from ._scoreboard import GameView
from ._watched import WatchedGame

if TYPE_CHECKING:
    from . import _streams
else:
    _streams = LazyModule("sideline.live._streams")

LOOPBACK = ("127.0.0.1", "localhost", "::1")

MAX_DELAY = 3600.0
"""Seconds by which a page may be late, at most: its items are held in memory."""

MIN_TOKEN = 16
"""Characters of a token, at least."""

CLOSE_TIMEOUT = 10.0
"""Seconds for which closing a page waits for its connections to end."""

NO_POLICY = "default-src 'none'"
"""The policy of what is no page."""

FEED_PATHS = ("/score.json", "/feed.json", "/feed.csv", "/feed.xml", "/overlay", "/healthz")

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


@dataclass(frozen=True, repr=False)
class PageOptions:
    """Where a page listens, who may open it, and what it shows."""

    host: str = LOOPBACK[0]
    port: int = 0
    token: str | None = None
    has_feed: bool = False
    delay_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be, such as another host without a token."""
        if not isinstance(self.port, int):
            raise TypeError(f"port is a number from 0 to 65535, not {type(self.port).__name__}")
        for name, text in (("host", self.host), ("token", self.token or "")):
            if not isinstance(text, str):
                raise TypeError(f"{name} is a str, not {type(text).__name__}")
        if not 0 <= self.port <= 65_535:
            raise ValueError(f"port is {self.port}; it must be from 0 to 65535")
        if not 0 <= self.delay_s <= MAX_DELAY:
            raise ValueError(f"delay_s is {self.delay_s}; it must be from 0 to {MAX_DELAY:g} seconds")
        if self.token is not None and not re.fullmatch(rf"[A-Za-z0-9._~-]{{{MIN_TOKEN},}}", self.token):
            raise ValueError(
                f"token must have at least {MIN_TOKEN} letters, digits, dots, hyphens, underscores or tildes, such as "
                "the text of secrets.token_urlsafe()"
            )
        if not self.host:
            raise ValueError("host is empty: leave it out, or write 0.0.0.0 for every address of this machine")
        if self.token is None and self.host not in LOOPBACK:
            raise ValueError(f"host is {self.host!r}, which other machines can reach: give a token= too")

    @property
    def family(self) -> socket.AddressFamily:
        """The family of the host's address."""
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET

    def is_own(self, name: str) -> bool:
        """Return whether the name in an address leads here, and not by a name of another site.

        A page of another site may reach this one by a name that resolves to it (DNS rebinding). An address of digits
        is no such name.
        """
        name = name.lower()
        if self.host in LOOPBACK or name in LOOPBACK:
            return name in LOOPBACK
        if name in (self.host.lower(), socket.gethostname().lower()):
            return True
        try:
            return bool(ip_address(name))
        except ValueError:
            return False

    def is_allowed(self, query: str) -> bool:
        """Return whether the query of an address has the token."""
        if self.token is None:
            return True
        return any(compare_digest(token.encode(), self.token.encode()) for token in parse_qs(query).get("token", []))


class LivePage(Unpicklable):
    """A page on this machine that shows a live stream in a browser; `LiveStream.serve` returns it.

    It takes the stream's items in a thread of its own until it is closed. It can be a context manager, and is closed
    when Python exits. Unless it was given a host, only programs on this machine can open it, those of other users too.

    >>> with client.live_stats(live_game_id) as stream, stream.serve() as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """

    _settings = Settings()
    _instead = "another process reads its address"

    def __init__(
        self,
        stream: "_streams.LiveStream",
        score: LiveBoxScore,
        options: PageOptions,
        on_item: Callable[[object], object] | None = None,
    ) -> None:
        self._stream = stream
        self._on_item = on_item
        self._listener = options
        self._game = WatchedGame(stream, score, options.delay_s, has_feed=options.has_feed)
        self._end_event, self._stop_event = Event(), Event()
        self._is_closed = False
        self._process = os.getpid()
        self._news = News()
        self._publish()
        self._server = Server(options, self._news, self._game, self._settings)
        self._threads = [
            Thread(target=self._server.serve_forever, args=(0.1,), name="sideline page", daemon=True),
            Thread(target=self._follow, name="sideline page's stream", daemon=True),
        ]
        set_page(stream, has_page=True)
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    @property
    def url(self) -> str:
        """The address to open in a browser. It has the token, if there is one: treat it as a secret then."""
        token = self._listener.token
        return self.address if token is None else f"{self.address}?token={token}"

    @property
    def address(self) -> str:
        """The address without the token, for what is shown or logged."""
        host = self._listener.host
        host = socket.gethostname() if host in ("0.0.0.0", "::") else host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._server.server_port}/"

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until the stream ends, for at most `timeout` (seconds or a `timedelta`); returns whether it has ended.

        Raises the error that ended the stream, such as `AuthenticationError`. The page stays open.

        >>> with client.live_stats(live_game_id) as stream, stream.serve() as page:
        ...     page.wait(0.1)
        False
        """
        seconds = None if timeout is None else as_seconds(timeout, "timeout")
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"timeout is {timeout!r}; it must be 0 or more")
        has_ended = self._end_event.wait(None if seconds is None else min(seconds, TIMEOUT_MAX))
        if has_ended and self._game.error is not None:
            raise self._game.error
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
        self._stop_event.set()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join()
        set_page(self._stream, has_page=False)
        if not is_entered(self._stream):
            self._stream.close()

    def _follow(self) -> None:
        try:
            core_of_stream(self._stream).open()
            self._publish()
            for item in follow(self._stream, self._stop_event.is_set):
                if item is None:
                    self._publish()
                else:
                    self._game.add(item)
                    if self._on_item is not None:
                        self._on_item(item)
            # What the delay still holds back.
            while (seconds := self._game.next_due) is not None and not self._stop_event.wait(seconds):
                self._publish()
        except BaseException as error:  # noqa: BLE001 - raised by `wait`
            self._game.error = error
        finally:
            try:
                self._publish()
            finally:
                self._end_event.set()

    def _publish(self) -> None:
        self._news.publish(self._game.view())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sideline.live.LivePage {self.address}, {'closed' if self._is_closed else 'open'}>"

    def _repr_html_(self) -> str:
        return notebook_html({"link": self.address})


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


def refusal(
    path: str, query: str, hosts: list[str], origin: str | None, site: str | None, options: PageOptions, port: int
) -> HTTPStatus | None:
    """Return the status that refuses a request, or `None`.

    Another site reveals itself by the name in Host (see `PageOptions.is_own`), or by Origin and Sec-Fetch-Site.
    """
    name, separator, named_port = hosts[0].rpartition(":") if len(hosts) == 1 else ("", "", "")
    if not separator or "]" in named_port:
        name, named_port = hosts[0] if len(hosts) == 1 else "", "80"
    if named_port != str(port) or not options.is_own(name.strip("[]")):
        return HTTPStatus.MISDIRECTED_REQUEST
    if not options.is_allowed(query):
        return HTTPStatus.FORBIDDEN
    if path not in ("/", "/events", *(FEED_PATHS if options.has_feed else ())):
        return HTTPStatus.NOT_FOUND
    if path in ("/", "/overlay"):
        return None
    if origin not in (None, f"http://{hosts[0].lower()}") or site not in (None, "same-origin", "none"):
        return HTTPStatus.FORBIDDEN
    return None


def page(template: str = "live_page.html") -> tuple[bytes, str]:
    """Return a page, and the content security policy that allows its own style and script alone."""
    text = html(template, court=half_court(COLLEGE_MEN))
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

    def __init__(self, options: PageOptions, news: News, game: WatchedGame, settings: Settings) -> None:
        self.options = options
        self.news = news
        self.game = game
        self.settings = settings
        self.pages = {"/": page()}
        if options.has_feed:
            self.pages["/overlay"] = page("overlay.html")
        self.address_family = options.family
        self._connections: dict[Any, bool] = {}
        """Whether a connection has sent its request, the oldest first."""
        self._leaving: set[Any] = set()
        """Connections that are closed to make room."""
        self._condition = Condition()
        self._browsers = 0
        try:
            super().__init__((options.host, options.port), Handler)
        except OSError as error:
            problem = {errno.EADDRINUSE: "in use", errno.EACCES: "not allowed to this user"}.get(error.errno or 0)
            message = f"port {options.port} is {problem}; choose another one, or 0 for any free port"
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                message = f"host {options.host!r} is no address of this machine: {error.strerror}"
            elif problem is None:
                raise
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
        self._leaving.add(slow)
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
            self._leaving.discard(request)
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
            self._condition.wait_for(lambda: not self._connections and not self._leaving, CLOSE_TIMEOUT)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


_ADVICE = {
    HTTPStatus.MISDIRECTED_REQUEST: "write the address of this machine, with its port",
    HTTPStatus.FORBIDDEN: "give the token, as ?token=, from a program or a page of this server",
}


class Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: Server
    _policy = NO_POLICY
    server_version, sys_version = "sideline", ""

    def setup(self) -> None:
        """Limit how long the connection may take or send nothing."""
        super().setup()
        self.connection.settimeout(self.server.settings.socket_timeout)

    def do_GET(self) -> None:
        """Send a page, a part of the feed, or events until either side closes."""
        self.server.note_request(self.connection)
        headers, port, options = self.headers, self.server.server_port, self.server.options
        path, _, query = self.path.partition("?")
        hosts = headers.get_all("Host") or []
        status = refusal(path, query, hosts, headers.get("Origin"), headers.get("Sec-Fetch-Site"), options, port)
        if status is not None:
            self._send(status, f"{status.phrase}: {_ADVICE.get(status, 'open the page at /')}\n".encode())
        elif path in self.server.pages:
            self._send(HTTPStatus.OK, self.server.pages[path][0], "text/html", policy=self.server.pages[path][1])
        elif path == "/healthz":
            is_healthy, figures = self.server.game.health()
            status = HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
            self._send(status, json.dumps(figures).encode(), "application/json")
        elif path != "/events":
            self._send_feed(path)
        elif not self.server.admit():
            problem = f"{self.server.settings.max_browsers} browsers follow this page already\n"
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, problem.encode())
        else:
            try:
                self._send_events()
            finally:
                self.server.leave()

    def _send_feed(self, path: str) -> None:
        documents, verdict = self.server.game.documents()
        document = documents[path]
        client_etags = [etag.strip().removeprefix("W/") for etag in self.headers.get("If-None-Match", "").split(",")]
        is_current = document.etag in client_etags or "*" in client_etags
        # An array without rows has no place for them.
        names = {f"Sideline-{name.replace('_', '-').title()}": plain(value) for name, value in verdict.items()}
        status, body = (HTTPStatus.NOT_MODIFIED, b"") if is_current else (HTTPStatus.OK, document.body)
        self._send(status, body, document.media_type, {"ETag": document.etag, **names})

    def _send(
        self,
        status: HTTPStatus,
        body: bytes,
        kind: str = "text/plain",
        headers: Mapping[str, str] | None = None,
        policy: str = NO_POLICY,
    ) -> None:
        self._policy = policy
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
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
            "Content-Security-Policy": self._policy,
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
