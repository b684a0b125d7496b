"""Servers and a proxy on bare sockets: they keep the bytes that they receive, and send any response."""

from __future__ import annotations

import base64
import contextlib
import select
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from peers import accepting, read_head

Serve = Callable[[socket.socket], None]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
ROOTS = {b"/sensors/locations?": b"[]", b"/events?": b'{"events": []}', b"/teams/": b'{"id": 46, "players": []}'}
"""By a part of the address, a body that has its root."""


def respond(head: bytes) -> bytes:
    """A response with the root of the requested resource, and nothing in it."""
    line = head.partition(b"\r\n")[0]
    body = next((body for part, body in ROOTS.items() if part in line), b'{"teams": []}')
    return HEAD % len(body) + body


OK = respond(b"")


@dataclass
class Listener:
    port: int
    connections: int = 0


@contextmanager
def listener(serve: Serve, host: str = "127.0.0.1") -> Iterator[Listener]:
    """Passes each connection to `serve`, in its own thread, and closes it afterwards."""
    listening = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    seen = Listener(listening.getsockname()[1])

    def handle(connection: socket.socket, number: int) -> None:
        seen.connections = max(seen.connections, number)
        # A peer may hang up at any time; a test sees the effect at the client.
        with contextlib.suppress(OSError), connection:
            connection.settimeout(30)
            serve(connection)

    with accepting(listening, handle):
        yield seen


def drain(connection: socket.socket) -> None:
    """Sends nothing until the peer closes the connection."""
    while connection.recv(65536):
        pass


def saying(*parts: bytes | Serve) -> Serve:
    """Reads a request, then performs these steps."""

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        for part in parts:
            if isinstance(part, bytes):
                connection.sendall(part)
            else:
                part(connection)
        # Closing with the client's next bytes unread would reset the connection and take the answer away.
        connection.shutdown(socket.SHUT_WR)
        drain(connection)

    return serve


def saying_nothing(connection: socket.socket) -> None:
    """Takes the request and hangs up."""
    read_head(connection)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def answering(heads: list[bytes], response: bytes | None = None) -> Serve:
    """Keeps a request as received, and responds to it, by default with an empty body of the resource."""

    def serve(connection: socket.socket) -> None:
        if head := read_head(connection):
            heads.append(head)
            connection.sendall(respond(head) if response is None else response)

    return serve


def over_tls(context: ssl.SSLContext, serve: Serve, *, notify: bool = True) -> Serve:
    """`serve` inside TLS; without `notify` it ends as a cut connection does."""

    def serve_secure(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            serve(secure)
            if notify:
                secure.unwrap()

    return serve_secure


@dataclass
class Proxy:
    address: str = ""
    #: Requests to the proxy itself.
    heads: list[bytes] = field(default_factory=list)
    #: Every byte that came from the client: what an eavesdropping proxy has.
    client_bytes: bytearray = field(default_factory=bytearray)
    listener: Listener = field(default_factory=lambda: Listener(0))

    @property
    def lines(self) -> list[str]:
        return [head.split(b"\r\n")[0].decode() for head in self.heads]


@contextmanager
def proxy(ports: Mapping[str, int], *, credentials: str | None = None, host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    """An HTTP proxy, with CONNECT and without. `ports` says where on loopback each `host:port` of a request is."""
    seen = Proxy()

    def serve(connection: socket.socket) -> None:
        head = read_head(connection)
        seen.heads.append(head)
        seen.client_bytes += head
        fields = {name.lower(): value for name, _, value in (line.partition(b": ") for line in head.split(b"\r\n")[1:])}
        proxy_credentials = fields.get(b"proxy-authorization", b"").removeprefix(b"Basic ")
        if credentials is not None and base64.b64decode(proxy_credentials) != credentials.encode():
            connection.sendall(b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="it"\r\nContent-Length: 4\r\n\r\nwho?')
            return
        method, target, _ = head.split(b" ", 2)
        place = target if method == b"CONNECT" else target.split(b"/")[2]
        with socket.create_connection(("127.0.0.1", ports[place.decode()])) as upstream:
            if method == b"CONNECT":
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"proxy-")]
                upstream.sendall(b"\r\n".join(lines).replace(b"http://" + place, b"", 1))
            relay(connection, upstream, seen.client_bytes)

    with listener(serve if context is None else over_tls(context, serve, notify=False), host) as seen.listener:
        address_host = f"[{host}]" if ":" in host else host
        seen.address = f"{'http' if context is None else 'https'}://{address_host}:{seen.listener.port}"
        yield seen


def relay(client: socket.socket, upstream: socket.socket, traffic: bytearray) -> None:
    """Both ways in one thread: a TLS socket of Python's (before 3.13) is not for two at once."""
    to = {client: upstream, upstream: client}
    with contextlib.suppress(OSError):
        while to:
            # What a TLS socket has decrypted already, no selector tells of.
            ready = [end for end in to if isinstance(end, ssl.SSLSocket) and end.pending()]
            for end in ready or select.select(list(to), [], [])[0]:
                more = end.recv(65536)
                if end is client:
                    traffic += more
                if more:
                    to[end].sendall(more)
                else:
                    to.pop(end).shutdown(socket.SHUT_WR)


def headers(head: bytes) -> dict[str, str]:
    """The header fields of a request, names in lower case."""
    lines = head.decode().split("\r\n\r\n")[0].split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
