"""A service on loopback whose streams and responses are functions, for behaviour that a whole service would not show."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from peers import accepting, read_head
from service import frame

import sideline

Answer = tuple[int, bytes]
PAUSE = 0.2
"""The unit of a recovery's waits in seconds: users have 5."""
STREAMS = ("/live/v2/games", "event-stream")
"""Parts of the paths of both streams."""
EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class Connection:
    """A connection of a stream. Its number counts from 1."""

    socket: socket.socket
    head: bytes
    number: int

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.head.split(b" ")[1].decode()).query)

    @property
    def last_event_id(self) -> str | None:
        match = re.search(rb"(?i)\r\nlast-event-id: *([^\r]*)", self.head + b"\r\n")
        return match.group(1).decode() if match else None

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def begin_events(self) -> None:
        self.send(EVENT_STREAM)

    def begin_messages(self) -> None:
        """Accepts the websocket."""
        match = re.search(rb"(?i)\r\nsec-websocket-key: *([^\r]*)", self.head)
        assert match
        accept = base64.b64encode(hashlib.sha1(match.group(1) + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        self.send(b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")

    def event(self, data: Any, id: str | None = None) -> None:
        self.send((b"" if id is None else b"id: %s\n" % id.encode()) + b"data: " + json.dumps(data).encode() + b"\n\n")

    def message(self, **fields: Any) -> None:
        self.send(frame(1, json.dumps(fields).encode()))

    def stats(self, player_id: int, version: int, **stats: Any) -> None:
        """A stats message of team 1."""
        data = {"occurred_at": 1_797_125_415_378 + version, "team_id": 1, "player_id": player_id, "stats": stats, "version": version}
        self.message(type="stats", source="stats", data=data)

    def hold(self) -> None:
        """Keeps the connection until the client closes it, or the fake ends."""
        with suppress(OSError):
            while self.socket.recv(65536):
                pass


@dataclass
class Fake:
    base_url: str
    requests: list[str] = field(default_factory=list)
    """Paths of requests that open no stream, in order."""
    connections: list[Connection] = field(default_factory=list)
    is_closed: threading.Event = field(default_factory=threading.Event)

    def client(self, **options: Any) -> sideline.Client:
        client = sideline.Client(**self.options(), max_retries=0, **options)
        client._recover_pause = PAUSE
        return client

    def async_client(self) -> sideline.AsyncClient:
        return sideline.AsyncClient(**self.options(), max_retries=0)

    def options(self) -> dict[str, Any]:
        addresses = {"base_url": self.base_url, "broadcast_base_url": self.base_url, "websocket_url": self.base_url.replace("http", "ws")}
        return {"api_key": "canary-key", "username": "canary-user", "secret": "canary-secret", **addresses}


def answers_nothing(path: str) -> Answer | None:
    return 404, b'{"message": "no Route matched with those values"}'


@contextmanager
def fake(stream: Callable[[Connection], None] = Connection.hold, rest: Callable[[str], Answer | None] = answers_nothing) -> Iterator[Fake]:
    """Runs `stream` for each connection of a stream, and answers other paths with `rest`: `None` hangs, status 0 closes."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    service = Fake(f"http://127.0.0.1:{listening.getsockname()[1]}")

    def serve(connection: socket.socket, number: int) -> None:
        with suppress(OSError), connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (request := read_head(connection)).endswith(b"\r\n\r\n"):
                head = request.removesuffix(b"\r\n\r\n")
                path = head.split(b" ")[1].decode()
                if any(part in path for part in STREAMS):
                    stream_connection = Connection(connection, head, len(service.connections) + 1)
                    service.connections.append(stream_connection)
                    stream(stream_connection)
                    return
                if "_subscribe" in path:
                    response: Answer | None = (200, b'{"token": "canary-token"}')
                else:
                    service.requests.append(path)
                    response = rest(path)
                if response is None:
                    service.is_closed.wait(60)
                    return
                status, body = response
                if not status:
                    return
                connection.sendall(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)

    with accepting(listening, serve):
        try:
            yield service
        finally:
            service.is_closed.set()


def take(stream: sideline.LiveStream, seconds: float, until: Callable[[Any], bool] = lambda item: False) -> list[Any]:
    """The items of a stream up to the first for which `until` holds, or until so many seconds have passed."""
    items: list[Any] = []
    timer = threading.Timer(seconds, stream.close)
    timer.start()
    try:
        for item in stream:
            items.append(item)
            if until(item):
                break
    except sideline.StreamClosed:
        pass
    finally:
        timer.cancel()
        stream.close()
    return items


def updates(items: list[Any]) -> list[sideline.Update]:
    return [item for item in items if isinstance(item, sideline.Update)]


def by_player(score: sideline.LiveBoxScore, code: str = "PTS") -> dict[int, Any]:
    return {row["player_id"]: row[code] for row in score.table().to_dicts()}
