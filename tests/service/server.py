"""The server: HTTP/1.1 with keep-alive on a free loopback port, in one thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, TypeVar

from .bodies import Links
from .faults import Faults
from .features import Features
from .live import Live
from .messages import Log, Request, Response
from .mutations import Mutations
from .rest import Rest, http_date, route
from .season import Season, instant, milliseconds
from .signature import Credential
from .truth import Row, Truth

Result = TypeVar("Result")


class Service:
    """A sports tracking data service by the specification alone.

    Without `now` the season ends today and `Date` is the machine's time. With `now` both stand still there (`advance` moves them), and signatures of
    any date are accepted, because a client signs with its own clock; `skew` sets the allowed deviation in seconds anyway.
    """

    def __init__(
        self,
        season: Season | None = None,
        *,
        seed: int = 0,
        now: datetime | str | None = None,
        features: Features | None = None,
        skew: float | str | None = "default",
        link_base: str | None = None,
        **size: Any,
    ) -> None:
        moment = datetime.fromisoformat(now) if isinstance(now, str) else now
        self.season = season if season is not None else Season(seed, now=moment, **size)
        self.is_frozen = moment is not None
        self.change = Mutations(self.season, seed)
        self.features = features or Features()
        self.skew: float | None = (None if self.is_frozen else 300.0) if skew == "default" else skew  # type: ignore[assignment]
        self.clock_offset = 0.0
        """Seconds between the service's clock and its true one."""
        self.send_date = True
        self.username, self.secret, self.api_key = "second-user", "second-secret-0123456789", "second-key-0123456789"
        self.credentials = {self.username: Credential(self.username, self.secret)}
        self.signature_status = 401
        self.signs_query = False
        """Whether the gateway computes signatures over the path with its query, as Kong 3 does; the specification has the path alone."""
        self.request_id_key = "serviceRequestId"
        self.faults = Faults()
        self.requests = Log()
        self.live = Live(self)
        self.port = 0
        self._link_base = link_base
        self._rest = Rest(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    # Addresses and credentials

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    broadcast_base_url = base_url

    @property
    def websocket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def links(self) -> Links:
        """Links name the service's own address unless `link_base` says otherwise."""
        return Links(self._link_base or self.base_url)

    def client_options(self) -> dict[str, Any]:
        """Keyword arguments of a client."""
        addresses = {"base_url": self.base_url, "websocket_url": self.websocket_url, "broadcast_base_url": self.broadcast_base_url}
        return {"username": self.username, "secret": self.secret, "api_key": self.api_key, **addresses}

    @property
    def environ(self) -> dict[str, str]:
        """The same as environment variables, for subprocesses."""
        return {f"SIDELINE_{name.upper()}": value for name, value in self.client_options().items()}

    # Time

    def now(self) -> float:
        """The service's clock, in seconds since the epoch."""
        true = self.season.now / 1000 if self.is_frozen else time.time()
        return true + self.clock_offset

    def advance(self, by: timedelta) -> None:
        """Time passes for a service that stands still."""
        self.change.advance(by)

    def freeze(self, at: datetime) -> None:
        """The service's time stands still from now on."""
        with self.season.lock:
            self.is_frozen, self.season.now = True, milliseconds(at)
            self.season.revision += 1

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.now(), UTC) if not self.is_frozen else instant(round(self.now() * 1000))

    def truth(self, **scope: Any) -> dict[str, list[Row]]:
        """Every table's rows (`Truth` explains the scope), by the season's objects and not by its bodies."""
        return Truth(self.season, self.links, self.features).tables(**scope)

    def truth_of_game(self, game_id: str) -> dict[str, list[Row]]:
        """The rows of a game's own details and shots."""
        return Truth(self.season, self.links, self.features).game(game_id)

    # Life

    def start(self) -> Service:
        """Listens; the port is free until now."""
        ready: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(ready)), name="second-service", daemon=True)
        self._thread.start()
        self.port = ready.result(10)
        return self

    def close(self) -> None:
        """Ends all connections at once."""
        if self._loop is not None and self._thread is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)
            self._loop = None

    def __enter__(self) -> Service:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def in_loop(self, function: Callable[[], Result]) -> Result:
        """Runs a function in the server's thread and returns its result."""
        if self._loop is None:
            raise RuntimeError("the service is not running")
        done: Future[Result] = Future()

        def run() -> None:
            try:
                done.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(10)

    async def _run(self, ready: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 18)
        beats = asyncio.create_task(self.live.beat())
        ready.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        # asyncio never closes a connection whose transport is made after its server was closed.
        self._loop.remove_reader(server.sockets[0].fileno())
        await asyncio.sleep(0)
        server.close()
        beats.cancel()
        connections = dict(self._connections)
        for task, writer in connections.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(beats, *connections, return_exceptions=True)
        # An aborted transport closes its socket in the next turn of the loop.
        await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._stop.is_set():
            # Nothing would end its task.
            writer.transport.abort()
            return
        task = asyncio.create_task(self._connected(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves a connection until its socket is closed."""
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its response; whether the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        request = _parse(head)
        if request is None:
            writer.write(Response.of({"message": "Bad Request"}, 400).wire(self._date(), keep_alive=False))
            return False
        await reader.readexactly(int(request.headers.get("content-length") or 0))
        route(request)
        self.requests.add(request)
        if request.operation in ("live", "live_stats"):
            await self._stream(request, reader, writer)
            return False
        response = self.faults.apply(request, self._rest.respond(request))
        if response.delay:
            await asyncio.sleep(response.delay)
        if response.is_refused:
            return False
        request.status = response.status
        keep_alive = request.headers.get("connection", "").lower() != "close"
        await self._write(writer, request, response, keep_alive=keep_alive)
        return keep_alive and response.cut_at is None

    async def _stream(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        response = self.faults.apply(request, self.live.admit(request, self._rest))
        if response.delay:
            await asyncio.sleep(response.delay)
        if response.is_refused:
            return
        request.status = response.status
        if response.status not in (101, 200):
            await self._write(writer, request, response, keep_alive=False)
            return
        await self.live.serve(request, reader, writer, self._date())

    async def _write(self, writer: asyncio.StreamWriter, request: Request, response: Response, *, keep_alive: bool) -> None:
        raw = response.wire(self._date(), keep_alive=keep_alive)
        if response.cut_at is not None:
            raw = raw[: len(raw) - len(response.body) + response.cut_at]
        elif request.method == "HEAD":
            raw = raw[: len(raw) - len(response.body)]
        writer.write(raw)
        await writer.drain()

    def _date(self) -> str | None:
        return http_date(self.now()) if self.send_date else None


def _parse(head: bytes) -> Request | None:
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3:
        return None
    headers = {}
    for line in lines[1:]:
        name, separator, value = line.partition(":")
        if separator:
            headers[name.strip().lower()] = value.strip()
    return Request(parts[0], parts[1], headers)
