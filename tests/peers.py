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
    threads: list[tuple[socket.socket, threading.Thread]] = []
    is_stopping = threading.Event()

    def accept() -> None:
        while True:
            connection, _ = listening.accept()
            if is_stopping.is_set():
                connection.close()
                return
            threads.append((connection, threading.Thread(target=serve, args=(connection, len(threads) + 1), daemon=True)))
            threads[-1][1].start()

    accept_thread = threading.Thread(target=accept, daemon=True)
    accept_thread.start()
    try:
        yield
    finally:
        is_stopping.set()
        socket.create_connection(listening.getsockname()[:2]).close()
        accept_thread.join()
        listening.close()
        for connection, thread in threads:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            connection.close()
        assert not any(thread.is_alive() for _, thread in threads), "a connection waits for something other than its peer"


def read_head(connection: socket.socket) -> bytes:
    """A request up to its blank line; less where the peer hangs up."""
    data = b""
    while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
        data += more
    return data


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

    def serve(connection: socket.socket, number: int) -> None:
        seen.connections = max(seen.connections, number)
        entry = script[min(number, len(script)) - 1]
        head = read_head(connection)
        if not head.endswith(b"\r\n\r\n"):
            connection.close()
            return
        seen.requests.append(head)
        if entry:
            connection.sendall(entry.removeprefix(b"keep"))
            if entry.startswith(b"keep"):
                return
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with accepting(listening, serve):
        yield seen
