"""Bytes of a server on an open websocket, and in place of its handshake (`conformance/websocket.json`), on a raw socket."""

from __future__ import annotations

import base64
import copy
import hashlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from cases import Case, check_shape, data, own, params
from peers import accepting, read_head
from wire import headers

import sideline

OWN = own("websocket.json")
HANDSHAKE = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
PING, PONG, CLOSE = 9, 10, 8
#: The message behind the input: on the same connection, or on the next one if the case ends it.
LAST = b"\x81\x08the last"


@dataclass
class Frames:
    """What a client sent on one connection: opcodes and payloads."""

    received_frames: list[tuple[int, bytes]] = field(default_factory=list)
    has_ended: threading.Event = field(default_factory=threading.Event)


def exactly(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        more = connection.recv(count - len(read))
        if not more:
            raise ConnectionError
        read += more
    return read


def read_frames(connection: socket.socket, into: Frames) -> None:
    """Frames of a client up to the end of its connection: none in fragments, all masked, without reserved bits (RFC 6455, 5.2)."""
    with suppress(OSError):
        while True:
            first, second = exactly(connection, 2)
            assert first & 0xF0 == 0x80
            assert second & 0x80
            length = second & 0x7F
            assert length < 126
            mask = exactly(connection, 4)
            payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(exactly(connection, length)))
            into.received_frames.append((first & 0xF, payload))
    into.has_ended.set()


def accept_of(head: bytes) -> str:
    """The answer to a request's key. Checks the request (RFC 6455, 4.1)."""
    request_headers = headers(head)
    assert head.startswith(b"GET /live/v2/games?")
    assert head.split(b"\r\n")[0].endswith(b" HTTP/1.1")
    assert request_headers["upgrade"].lower() == "websocket"
    assert request_headers["connection"].lower() == "upgrade"
    assert request_headers["sec-websocket-version"] == "13"
    assert "sec-websocket-extensions" not in request_headers
    assert len(base64.b64decode(request_headers["sec-websocket-key"], validate=True)) == 16
    guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return base64.b64encode(hashlib.sha1((request_headers["sec-websocket-key"] + guid).encode()).digest()).decode()


def pieces(wire: bytes, way: str) -> list[bytes]:
    """A byte at a time, or, where that would take long, in pieces of no round size."""
    size = len(wire) or 1 if way == "whole" else 1 if len(wire) < 200 else 6_999
    return [wire[at : at + size] for at in range(0, len(wire), size)]


@contextmanager
def server(case: Case, way: str) -> Iterator[tuple[int, list[Frames]]]:
    """Plays a case on the first connection, and the last message on each later one."""
    listening = socket.create_server(("127.0.0.1", 0))
    frames: list[Frames] = []
    is_lost = "lost" in case["expected"] or "refused" in case["expected"]

    def serve(connection: socket.socket, number: int) -> None:
        is_first, into = number == 1, Frames()
        frames.append(into)
        with suppress(OSError), connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            accept = accept_of(read_head(connection))
            handshake = case.get("handshake", HANDSHAKE) if is_first else HANDSHAKE
            handshake = handshake.replace("{accept}", accept).replace("{accept in capitals}", accept.swapcase())
            connection.sendall(handshake.encode())
            reading = threading.Thread(target=read_frames, args=(connection, into), daemon=True)
            # A connection that a thread reads cannot be reset.
            if case.get("end") != "reset" or not is_first:
                reading.start()
            with suppress(OSError):
                for piece in pieces(data(case["input"]) if is_first else b"", way):
                    connection.sendall(piece)
            if is_first and "end" in case:
                # Afterwards, so that the data has arrived.
                time.sleep(0.02)
                if case["end"] == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    into.has_ended.set()
                    return
                connection.shutdown(socket.SHUT_WR)
            elif not (is_first and is_lost):
                connection.sendall(LAST)
            reading.join(10)

    with accepting(listening, serve):
        yield listening.getsockname()[1], frames


def observe(case: Case, way: str) -> dict[str, Any]:
    """What a client makes of a case, with the keys of its expectation."""
    messages: list[bytes] = []
    losses: list[sideline.live.Disconnected] = []
    is_connected, gap_count = False, 0
    limit = {"max_event_bytes": case["limit"]} if "limit" in case else {}
    with server(case, way) as (port, frames):
        with (
            sideline.Client(username="a", secret="b", websocket_url=f"ws://127.0.0.1:{port}") as client,
            client.live(token="t", retry_wait=0.01, max_wait=0.05, **limit) as stream,
        ):
            for item in stream:
                match item:
                    case sideline.Update():
                        messages.append(item.raw)
                        if item.text == "the last":
                            break
                    case sideline.live.Connected():
                        is_connected = is_connected or not losses
                    case sideline.live.Disconnected():
                        losses.append(item)
                    case sideline.live.Gap() if not losses:
                        gap_count += 1
        assert frames[0].has_ended.wait(10)
    received_frames = frames[0].received_frames
    if not losses:
        # The stream's own end, not one of the case.
        assert received_frames.pop() == (CLOSE, b"\x03\xe8")
    observation: dict[str, Any] = {"messages": messages[:-1]}
    closes = [payload for opcode, payload in received_frames if opcode == CLOSE]
    if closes:
        observation["close"] = int.from_bytes(closes[0][:2], "big") or None
        observation["frames after the close"] = len(received_frames) - 1 - received_frames.index((CLOSE, closes[0]))
    observation["pongs"] = [payload for opcode, payload in received_frames if opcode == PONG]
    observation["other frames"] = [frame for frame in received_frames if frame[0] not in (PONG, CLOSE)]
    if losses:
        observation["lost" if is_connected else "refused"] = losses[0].reason
    observation["skipped"] = gap_count
    return observation


def mismatch(case: Case, way: str) -> str:
    """Return the observation that differs from the expectation of the case, or an empty text."""
    observation, expected = observe(case, way), case["expected"]
    reason = {key: observation.pop(key, None) for key in ("lost", "refused")}
    for key, text in reason.items():
        if (text is None) != (key not in expected) or expected.get(key, "") not in (text or ""):
            return f"{key}: {text!r}"
    exact = {"messages": [data(message) for message in expected["messages"]], "pongs": [data(pong) for pong in expected.get("pongs", [])]}
    exact |= {"skipped": expected.get("skipped", 0), "other frames": []}
    if "close" in expected:
        exact |= {"close": expected["close"], "frames after the close": 0}
    elif "end" in case:
        # Whether a close is still written depends on which side notices first.
        observation = {key: value for key, value in observation.items() if "close" not in key}
    return "" if observation == exact else f"{observation!r:.600}"


def test_every_own_case_can_be_run() -> None:
    check_shape(OWN, {"input", "expected", "handshake", "end", "limit"}, 156)
    for case in OWN:
        assert case["expected"].keys() <= {"messages", "pongs", "close", "lost", "skipped", "refused"}, case["name"]
        assert case.get("end", "close") in ("close", "reset")


@pytest.mark.parametrize("way", ["whole", "bytes"])
@pytest.mark.parametrize("case", params(OWN, ""))
def test_an_own_case_comes_out_as_the_standard_says(case: Case, way: str) -> None:
    assert mismatch(case, way) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("three fragments", {"messages": ["abd"]}),
        ("three fragments", {"messages": []}),
        ("three fragments", {"messages": ["abc"], "skipped": 1}),
        ("a ping between fragments", {"messages": ["ab"], "pongs": ["q"]}),
        ("a ping between fragments", {"messages": ["ab"]}),
        ("a normal close", {"messages": [], "close": 1001, "lost": "close code 1000"}),
        ("a normal close", {"messages": [], "close": 1000, "lost": "close code 1001"}),
        ("a normal close", {"messages": [], "lost": "close code 1000"}),
        ("a normal close", {"messages": [], "close": 1000}),
        ("opcode 3", {"messages": [], "close": 1007, "lost": "broke the websocket protocol"}),
        ("no Upgrade", {"messages": []}),
        ("no Upgrade", {"messages": [], "refused": "other words"}),
    ],
)
def test_a_wrong_expectation_is_noticed(name: str, expected: Case) -> None:
    case = copy.deepcopy(next(case for case in OWN if case["name"] == name))
    assert mismatch(case | {"expected": expected}, "whole") != ""
