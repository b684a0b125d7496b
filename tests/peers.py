"""A server that sends exact bytes, for responses that no HTTP library would write."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def make_response(body: bytes, head: bytes = HEAD) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


@contextmanager
def accepting(listening: socket.socket, serve: Callable[[socket.socket, int], None]) -> Iterator[None]:
    """Calls `serve` for each connection, with its number, in a thread of its own; ends all of them at the end."""
    connections: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=serve, args=(connection, len(connections)), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Peer:
    base_url: str
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0


@contextmanager
def peer(script: Sequence[bytes | None], *, reset: bool = False) -> Iterator[Peer]:
    """Serves one connection for each entry of the script (repeating the last one): reads a request, sends the entry,
    closes. `None` closes before a byte; with `reset` every close is a RST. A bytes entry that starts with b"keep" leaves the
    connection open after the rest of it is sent."""
    listening = socket.create_server(("127.0.0.1", 0))
    seen = Peer(f"http://127.0.0.1:{listening.getsockname()[1]}")
    connections: list[socket.socket] = []

    def serve(connection: socket.socket, number: int) -> None:
        seen.connections = max(seen.connections, number)
        entry = script[min(number, len(script)) - 1]
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                connection.close()
                return
            data += more
        seen.requests.append(data)
        keep = entry is not None and entry.startswith(b"keep")
        if entry:
            connection.sendall(entry.removeprefix(b"keep"))
        if keep:
            connections.append(connection)
            return
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with accepting(listening, serve):
        try:
            yield seen
        finally:
            for connection in connections:
                connection.close()
