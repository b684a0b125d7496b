"""An event-stream server whose connections are functions over a socket: one for each connection, the last one again and again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from peers import accepting, read_head

import sideline

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

Connection = Callable[[socket.socket], None]

QUICK: dict[str, Any] = {"retry_wait": 0.02, "max_wait": 0.1, "silence_limit": 5.0}


@dataclass
class Server:
    base_url: str
    requests: list[bytes] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    """Set when a client closed a connection that `hold` kept."""

    def client(self) -> sideline.Client:
        return sideline.Client(api_key="canary-key", broadcast_base_url=self.base_url)

    def async_client(self) -> sideline.AsyncClient:
        return sideline.AsyncClient(api_key="canary-key", broadcast_base_url=self.base_url)

    def hold(self, connection: socket.socket) -> None:
        """Send nothing more until the client closes the connection."""
        with suppress(OSError):
            connection.recv(1)
        self.closed.set()


def send(data: bytes) -> Connection:
    return lambda connection: connection.sendall(HEAD + data)


def numbered_events(count: int, first: int = 0) -> bytes:
    return b"".join(b'id: %d\ndata: {"n":%d}\n\n' % (n, n) for n in range(first, first + count))


def then_hold(data: bytes) -> Connection:
    """Send the data, then keep the connection open until the client closes it."""

    def connection(to: socket.socket) -> None:
        to.sendall(HEAD + data)
        to.recv(1)

    return connection


@contextmanager
def server(scripts: Sequence[Callable[[Server], Connection] | Connection]) -> Iterator[Server]:
    listening = socket.create_server(("127.0.0.1", 0))
    service = Server(f"http://127.0.0.1:{listening.getsockname()[1]}")

    def serve(connection: socket.socket, number: int) -> None:
        with suppress(OSError), connection:
            head = read_head(connection)
            if not head.endswith(b"\r\n\r\n"):
                return
            service.requests.append(head)
            scripts[min(number, len(scripts)) - 1](connection)

    with accepting(listening, serve):
        yield service
