"""Live: a websocket and an event stream whose every byte a test decides, and a record of all messages sent and received."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import socket
import struct
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .messages import Request, Response

if TYPE_CHECKING:
    from .rest import Rest
    from .server import Service

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

Kind = Literal["websocket", "sse"]
Result = TypeVar("Result")


def frame(opcode: int, payload: bytes, *, is_final: bool = True) -> bytes:
    """An unmasked frame, as servers send them."""
    head = bytes([(0x80 if is_final else 0) | opcode])
    if len(payload) < 126:
        return head + bytes([len(payload)]) + payload
    if len(payload) < 1 << 16:
        return head + b"\x7e" + struct.pack(">H", len(payload)) + payload
    return head + b"\x7f" + struct.pack(">Q", len(payload)) + payload


@dataclass
class Sent:
    """A message that the service sent, or would have sent to a connection."""

    kind: Kind
    payload: bytes
    """The text of a websocket message, or the data of an event."""
    seq: int | None = None
    source: str | None = None
    id: str | None = None
    epoch: int = 0
    """How often the counter was restarted before."""
    receivers: list[int] = field(default_factory=list)
    """The numbers of the connections that it was written to, replays included."""


@dataclass
class Connection:
    """One stream of a client, as the service sees it."""

    number: int
    kind: Kind
    request: Request
    pings: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    is_open: bool = True
    writer: asyncio.StreamWriter | None = None

    @property
    def query(self) -> dict[str, list[str]]:
        return self.request.query

    @property
    def last_seq(self) -> int | None:
        return self.request.number("last_seq")

    @property
    def last_event_id(self) -> str | None:
        return self.request.headers.get("last-event-id")

    @property
    def sources(self) -> list[str]:
        return self.query.get("source", [])


class Live:
    """The script of a live game. Methods may be called from any thread and return when the bytes are written."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._condition = threading.Condition()
        self.tokens: dict[str, str] = {"token-0": ""}
        """Token → game; these are accepted."""
        self.resume: Literal["exclusive", "inclusive", "ignored"] = "exclusive"
        """What `last_seq=n` replays: from n+1, from n, or all."""
        self.answers_pings = True
        self.answers_text_pings = False
        self.heartbeat_every: float | None = 1.0
        """Seconds between comments of the event stream; `None` stops them."""
        self.snapshot_on_connect = False
        """Whether the last event is sent to a new connection of the event stream."""
        self.sent: list[Sent] = []
        self.history: list[Sent] = []
        """Numbered messages since the last restart: what a replay sends."""
        self.keeps: int | None = None
        """So many messages of the history are kept; `None`: all."""
        self.connections: list[Connection] = []
        self.seq = 0
        self.epoch = 0

    def token_for(self, game_id: str) -> str:
        """A new token, as the subscription operation gives."""
        token = f"token-{uuid.uuid4()}"
        self.tokens[token] = game_id
        return token

    # Sending

    def send(self, data: Any = None, *, source: str | None = None, numbered: bool = False, **fields: Any) -> Sent:
        """A message of the websocket: `{"source", "seq", "data"}`, each where it is given, and further fields.

        With `numbered` it takes the next number and joins the history. `fields` may hold a `seq` that counts nothing.
        """

        def run() -> Sent:
            body: dict[str, Any] = {} if source is None else {"source": source}
            if numbered:
                self.seq += 1
                body["seq"] = self.seq
            body |= {"data": data, **fields}
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            message = Sent("websocket", text, body.get("seq") if numbered else None, source, None, self.epoch)
            if numbered:
                self.history.append(message)
                if self.keeps is not None:
                    del self.history[: -self.keeps]
            return self._deliver(message)

        return self._in_loop(run)

    def send_text(self, text: str | bytes, *, seq: int | None = None, source: str | None = None) -> Sent:
        """A message whose text the caller decides; with `seq` it joins the history under that number."""

        def run() -> Sent:
            message = Sent("websocket", text.encode() if isinstance(text, str) else text, seq, source, None, self.epoch)
            if seq is not None:
                self.seq = max(self.seq, seq)
                self.history.append(message)
            return self._deliver(message)

        return self._in_loop(run)

    def send_event(self, data: Any, *, id: str | None = None, event: str | None = None, retry: int | None = None) -> Sent:
        """An event of the event stream; `data` that is no text is sent as JSON."""
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))

        def run() -> Sent:
            message = Sent("sse", text.encode(), id=id, epoch=self.epoch)
            lines = [f"retry: {retry}"] if retry is not None else []
            lines += [f"event: {event}"] if event is not None else []
            lines += [f"id: {id}"] if id is not None else []
            lines += [f"data: {line}" for line in text.split("\n")]
            return self._deliver(message, ("\n".join(lines) + "\n\n").encode())

        return self._in_loop(run)

    def send_raw(self, raw: bytes, kind: Kind = "websocket") -> None:
        """Unchanged bytes, to every open connection of a kind: whole or broken frames, lines of an event stream."""

        def run() -> None:
            for connection in self._open(kind):
                if connection.writer is not None:
                    connection.writer.write(raw)

        self._in_loop(run)

    def send_frame(self, opcode: int, payload: bytes = b"", *, is_final: bool = True) -> None:
        self.send_raw(frame(opcode, payload, is_final=is_final))

    def _deliver(self, message: Sent, raw: bytes | None = None) -> Sent:
        self.sent.append(message)
        for connection in self._open(message.kind):
            self._write(connection, message, raw)
        return message

    def _write(self, connection: Connection, message: Sent, raw: bytes | None = None) -> None:
        if connection.sources and message.source is not None and message.source not in connection.sources:
            return
        if connection.writer is not None:
            if raw is None:
                raw = frame(TEXT, message.payload) if message.kind == "websocket" else b"data: " + message.payload + b"\n\n"
            # Noted first: the client may have read it before the next statement runs.
            message.receivers.append(connection.number)
            connection.writer.write(raw)

    # Harm

    def restart(self, *, keep_history: bool = False) -> None:
        """The service's counter starts again."""

        def run() -> None:
            self.seq, self.epoch = 0, self.epoch + 1
            if not keep_history:
                self.history.clear()

        self._in_loop(run)

    def cut(self, kind: Kind | None = None) -> None:
        """Every open connection ends without a word (FIN)."""
        self._for_each(kind, lambda writer: writer.close())

    def reset(self, kind: Kind | None = None) -> None:
        """Every open connection is reset (RST)."""

        def reset(writer: asyncio.StreamWriter) -> None:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

        self._for_each(kind, reset)

    def close_with(self, code: int, reason: str = "") -> None:
        """A close frame, and the end of the connection."""

        def close(writer: asyncio.StreamWriter) -> None:
            writer.write(frame(CLOSE, struct.pack(">H", code) + reason.encode()))
            writer.close()

        self._for_each("websocket", close)

    def refuse(self, status: int = 503, *, kind: Kind | None = None, times: int | None = None, body: Any = None, **options: Any) -> Any:
        """New connections are refused with a status. Returns the fault, for `service.faults.remove`."""
        operations = {"websocket": "live", "sse": "live_stats"}
        operation_names = {operations[kind]} if kind else set(operations.values())
        document = {"message": "refused"} if body is None else body
        return self._service.faults.add(when=lambda request: request.operation in operation_names, status=status, body=document, times=times, **options)

    def _for_each(self, kind: Kind | None, action: Callable[[asyncio.StreamWriter], None]) -> None:
        def run() -> None:
            for connection in self._open(kind):
                connection.is_open = False
                # The client may have closed it meanwhile.
                if connection.writer is not None and not connection.writer.is_closing():
                    action(connection.writer)

        self._in_loop(run)
        self._notify()

    # Waiting

    def wait_until(self, condition: Callable[[Live], bool], timeout: float = 10.0) -> None:
        """Waits for connections, pings or texts to make a condition true."""
        with self._condition:
            if not self._condition.wait_for(lambda: condition(self), timeout):
                raise TimeoutError("the condition did not become true")

    def wait_for_connections(self, count: int = 1, *, kind: Kind | None = None, timeout: float = 10.0) -> Connection:
        """The connection that made it so many since the start."""
        self.wait_until(lambda live: len(live.of_kind(kind)) >= count, timeout)
        return self.of_kind(kind)[count - 1]

    def of_kind(self, kind: Kind | None) -> list[Connection]:
        return [connection for connection in list(self.connections) if kind is None or connection.kind == kind]

    def open_connections(self, kind: Kind | None = None) -> list[Connection]:
        return [connection for connection in self.of_kind(kind) if connection.is_open]

    _open = open_connections

    def _in_loop(self, function: Callable[[], Result]) -> Result:
        return self._service.in_loop(function)

    def _notify(self) -> None:
        with self._condition:
            self._condition.notify_all()

    # Serving

    def admit(self, request: Request, rest: Rest) -> Response:
        """The status of a new connection, before faults."""
        from .rest import Refused

        if request.operation == "live_stats":
            try:
                rest.check_key(request)
            except Refused as refusal:
                return Response.of(rest.error(refusal.status, refusal.message), refusal.status)
            return Response(200)
        if request.first("token") not in self.tokens:
            return Response.of({"message": "Unauthorized"}, 401)
        return Response(101) if "sec-websocket-key" in request.headers else Response.of({"message": "Upgrade Required"}, 426)

    async def serve(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, date: str | None) -> None:
        """One connection, from its handshake to its end."""
        connection = Connection(len(self.connections), "sse" if request.operation == "live_stats" else "websocket", request, writer=writer)
        self.connections.append(connection)
        stamp = f"Date: {date}\r\n" if date else ""
        if connection.kind == "sse":
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n{stamp}Connection: close\r\n\r\n".encode())
        else:
            accept = base64.b64encode(hashlib.sha1((request.headers["sec-websocket-key"] + _GUID).encode()).digest()).decode()
            head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            writer.write(f"{head}{stamp}Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        self._replay(connection)
        self._notify()
        try:
            if connection.kind == "sse":
                while await reader.read(1 << 16):
                    pass
            else:
                while await self._receive(connection, reader, writer):
                    self._notify()
        finally:
            connection.is_open = False
            self._notify()

    def _replay(self, connection: Connection) -> None:
        if connection.kind == "sse":
            events = [message for message in self.sent if message.kind == "sse"]
            if self.snapshot_on_connect and events:
                self._write(connection, events[-1])
            return
        last = connection.last_seq if self.resume != "ignored" else None
        for message in self.history:
            number = message.seq or 0
            if last is None or number > last or (self.resume == "inclusive" and number == last):
                self._write(connection, message)

    async def _receive(self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, second = await reader.readexactly(2)
        opcode, length = first & 0x0F, second & 0x7F
        if length == 126:
            length = struct.unpack(">H", await reader.readexactly(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", await reader.readexactly(8))[0]
        mask = await reader.readexactly(4) if second & 0x80 else bytes(4)
        payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(await reader.readexactly(length)))
        if opcode == PING:
            connection.pings.append(payload)
            if self.answers_pings:
                writer.write(frame(PONG, payload))
        elif opcode == TEXT:
            text = payload.decode()
            connection.texts.append(text)
            if self.answers_text_pings and "ping" in text:
                writer.write(frame(TEXT, text.replace("ping", "pong").encode()))
        elif opcode == CLOSE:
            writer.write(frame(CLOSE, payload[:2]))
            return False
        return True

    async def beat(self) -> None:
        """Sends heartbeats to the event streams."""
        wait = 0.0
        while True:
            await asyncio.sleep(0.02)
            wait += 0.02
            if self.heartbeat_every is not None and wait >= self.heartbeat_every:
                wait = 0.0
                for connection in self._open("sse"):
                    if connection.writer is not None and not connection.writer.is_closing():
                        connection.writer.write(b":\n\n")
