"""Draws the data of a hostile peer from one `random.Random`: bodies, response heads, event streams and websocket frames."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

GOLDEN = {path.stem: json.loads(path.read_bytes()) for path in sorted((Path(__file__).parents[1] / "golden").glob("*.json"))}
"""A documented body of each operation, to be disturbed: decoders read far into these."""

MAX_SIZE = 1 << 20
"""Bytes that a list is repeated to, at most."""
CONTROL = "\x1b[31mred\r\n\u202eback\u200b\x9b\x00\x07"
TEXTS = [
    "",
    " ",
    "null",
    "a$b_{\\frac",
    "<script>alert(1)</script>",
    CONTROL,
    "\ud800",
    "\U0001f3c0" * 9,
    "ﷺ" * 40,
    "n" * 2000,
    "%s%n{0}",
    "../../etc",
    "'; --",
]
KEYS = ["", "id", "ID", "__class__", "seq", "teams", "player_stats", "message", "status", "a.b", "a\nb", *TEXTS[4:7]]
TIMES = [0, -1, 2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001, 1e18, 1.5e12, "2027-01-01T00:00:00Z", "yesterday", True]
NUMBERS = [
    b"1e400", b"-1e400", b"1e-400", b"-0", b"0.1e1", b"1E+2", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"1" * 5000,
    b"0." + b"3" * 5000, b"NaN", b"Infinity", b"01", b"+1", b".5", b"1.", b"0x10", b"1_000", b"12e", b"--1",
]  # fmt: skip


@dataclass(frozen=True)
class Token:
    """Bytes that are written into a body unchanged."""

    text: bytes


@dataclass(frozen=True)
class Members:
    """An object whose keys may come twice."""

    pairs: tuple[tuple[str, Any], ...]


class Grammar:
    """Draws odd things. `secrets` are what the client was built with; `echoes` says where the peer repeats them: "nowhere",
    in "heads" of responses, or "everywhere"."""

    def __init__(self, random: Random, secrets: Sequence[str], echoes: str) -> None:
        self.random = random
        self.secrets = list(secrets)
        self.in_heads, self.in_bodies = echoes != "nowhere", echoes == "everywhere"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def echo(self) -> str:
        """A secret in one of its spellings."""
        secret = self.random.choice(self.secrets)
        twice = quote(quote(secret, safe=""), safe="")
        encoded_secret = base64.b64encode(secret.encode()).decode()
        return self.random.choice([secret, quote(secret, safe=""), twice, encoded_secret, f"/login?next=%2Fteams%3Fapikey%3D{twice}", f"token={secret}&a=1"])

    def text(self) -> str:
        return self.echo() if self.in_bodies and self.chance(0.3) else self.random.choice(TEXTS)

    def key(self) -> str:
        return self.echo() if self.in_bodies and self.chance(0.1) else self.random.choice(KEYS)

    # Values.

    def value(self, depth: int = 0) -> Any:
        kinds: list[Callable[[], Any]] = [
            lambda: None, lambda: self.chance(0.5), lambda: self.random.choice(TIMES), lambda: self.random.randint(-9, 2**40),
            lambda: Token(self.random.choice(NUMBERS)), self.text, self.text, lambda: self.deep(), lambda: self.large(), lambda: Token(b'"\xff\xfe\xc0\x80"'),
        ]  # fmt: skip
        if depth < 4:
            kinds += [lambda: [self.value(depth + 1) for _ in range(self.random.randint(0, 4))]] * 2
            kinds += [lambda: self.members(depth)] * 2
        return self.random.choice(kinds)()

    def members(self, depth: int) -> Members:
        return Members(tuple((self.key(), self.value(depth + 1)) for _ in range(self.random.randint(0, 5))))

    def deep(self) -> Token:
        depth = self.random.choice([3, 100, 127, 128, 129, 1000, 50_000])
        opening, closing = self.random.choice([(b"[", b"]"), (b'{"a":', b"}")])
        inner = b"1" if opening != b"[" or self.chance(0.5) else b""
        return Token(opening * depth + inner + closing * (depth - self.chance(0.2)))

    def large(self) -> Token:
        count = self.random.choice([100, 3000, 30_000])
        piece = self.random.choice([b"{}", b"[]", b"1", b"null", b'{"id":1}', b'{"event_id":"g"}', b'"' + b"x" * 20 + b'"'])
        text = self.random.choice([b"[" + b",".join([piece] * count) + b"]", b'"' + b"L" * count * 8 + b'"', b"{" + self._many_keys(count // 4) + b"}"])
        return Token(text)

    @staticmethod
    def _many_keys(count: int) -> bytes:
        return b",".join(b'"k%d":%d' % (n, n) for n in range(count))

    # Bodies.

    def disturb(self, value: Any, rate: float) -> Any:
        """A documented body with odd values in some places: replaced, missing, twice, or more often than they should be."""
        if self.chance(rate):
            return self.value()
        if isinstance(value, dict):
            pairs = [(key, self.disturb(inner, rate)) for key, inner in value.items() if not self.chance(rate / 2)]
            if pairs and self.chance(rate):
                pairs.append((self.random.choice(pairs)[0], self.value()))
            if self.chance(rate):
                pairs.append((self.key(), self.value()))
            return Members(tuple(pairs))
        if isinstance(value, list):
            inner = [self.disturb(element, rate) for element in value]
            times = self.random.choice([0, 2, 300]) if self.chance(rate / 2) else 1
            return inner if times * len(self.json(inner)) > MAX_SIZE else inner * times
        return value

    def body(self, operation: str | None) -> bytes:
        """A body of an operation, of any other, or nothing like one."""
        draw = self.random.random()
        if draw < 0.7:
            name = operation if operation in GOLDEN and self.chance(0.85) else self.random.choice(sorted(GOLDEN))
            content = self.json(self.disturb(GOLDEN[name], self.random.choice([0.0, 0.01, 0.03, 0.1, 0.3])))
        elif draw < 0.85:
            content = self.json(self.value())
        elif draw < 0.95:
            content = self.json(
                Members((("status", self.random.choice([401, 403, 404, 422, 429, 503, "no"])), ("message", self.text()), (self.key(), self.text())))
            )
        else:
            content = self.random.choice(
                [b"", b" ", b"\x00", b"<html><body>log in</body></html>", b"\xff\xfe{\x00}\x00", self.random.randbytes(200), b"{}{}", b"nul"]
            )
        return self.damage(content)

    def damage(self, body: bytes) -> bytes:
        draw = self.random.random()
        if draw < 0.06:
            return body[: self.random.randint(0, len(body))]
        if draw < 0.10 and body:
            at = self.random.randrange(len(body))
            return body[:at] + self.random.randbytes(1) + body[at + 1 :]
        if draw < 0.12:
            return b"\xef\xbb\xbf" + body
        if draw < 0.13:
            return body + self.random.choice([b" \n", b",", b"x", b"\x00", body])
        if draw < 0.14:
            return body.decode("utf-8", "replace").encode("utf-16")
        return body

    def json(self, value: Any) -> bytes:
        """JSON, with blanks and escapes as nobody writes them."""
        if isinstance(value, Token):
            return value.text
        blank = self.random.choice([b"", b"", b"", b" ", b"\n\t"])
        if isinstance(value, Members):
            return b"{" + blank + b",".join(self.string(key) + b":" + blank + self.json(inner) for key, inner in value.pairs) + b"}"
        if isinstance(value, dict):
            return self.json(Members(tuple(value.items())))
        if isinstance(value, list):
            return b"[" + blank + b",".join(map(self.json, value)) + b"]"
        return self.string(value) if isinstance(value, str) else json.dumps(value).encode()

    def string(self, text: str) -> bytes:
        is_ascii = self.chance(0.5) or any("\ud800" <= letter <= "\udfff" for letter in text)
        written = json.dumps(text, ensure_ascii=is_ascii).encode()
        return b'"' + b"".join(b"\\u%04x" % byte for byte in text.encode("utf-16-be")) + b'"' if text.isascii() and self.chance(0.02) else written

    # Responses.

    def response(self, operation: str | None, *, is_good: bool = False) -> bytes:
        """A whole response, head and framing; a good one is odd in its body alone."""
        body = self.body(operation)
        if is_good:
            return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        fields: list[tuple[bytes, bytes]] = [(b"Content-Type", self.content_type())]
        encoding, body = self.encode(body)
        if encoding:
            fields.append((b"Content-Encoding", encoding))
        fields += [self.field() for _ in range(self.random.choice([0, 0, 1, 3, 30]))]
        framing, body = self.delimit(body)
        fields += framing
        self.random.shuffle(fields)
        return self.status_line() + b"".join(name + b": " + value + b"\r\n" for name, value in fields) + b"\r\n" + body

    def pristine(self, operation: str) -> bytes:
        """A documented response."""
        body = json.dumps(GOLDEN[operation]).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def status_line(self) -> bytes:
        if self.chance(0.65):
            return b"HTTP/1.1 200 OK\r\n"
        status = self.random.choice([100, 103, 201, 204, 206, 301, 302, 304, 307, 400, 401, 403, 404, 408, 422, 425, 429, 500, 502, 503, 599, 999])
        unusual = [
            b"HTTP/1.0 200\r\n",
            b"HTTP/9.9 200 OK\r\n",
            b"200 OK\r\n",
            b"HTTP/1.1 99999 x\r\n",
            b"HTTP/1.1 -1 x\r\n",
            b"\x16\x03\x01\x02\r\n",
            b"HTTP/1.1 200 \x1b[31m\r\n",
        ]
        return self.random.choice(unusual) if self.chance(0.15) else b"HTTP/1.1 %d Odd\r\n" % status

    def content_type(self) -> bytes:
        return self.random.choice(
            [b"application/json"] * 6 + [b"text/html", b"application/json; charset=utf-16", b"", b"application/x-ndjson", b"\xff\xfe", b"text/event-stream"]
        )

    def encode(self, body: bytes) -> tuple[bytes, bytes]:
        draw = self.random.random()
        if draw < 0.7:
            return b"", body
        compressed_body = gzip.compress(body, 1, mtime=0)
        return self.random.choice([
            (b"gzip", compressed_body), (b"gzip", compressed_body), (b"x-gzip", compressed_body), (b"GZIP", compressed_body), (b"gzip", compressed_body[: len(compressed_body) // 2]), (b"gzip", body), (b"gzip", compressed_body + compressed_body),
            (b"gzip", compressed_body + b"junk"), (b"gzip", gzip.compress(b"[" + b"0," * self.random.choice([10_000, 1_000_000]) + b"0]", 9, mtime=0)),
            (b"gzip", gzip.compress(bytes(16 << 20), 9, mtime=0)), (b"deflate", zlib.compress(body)), (b"br", body), (b"gzip, gzip", gzip.compress(compressed_body, mtime=0)),
            (b"identity", body), (b"\x1b", body), (b"gzip", compressed_body[:-8] + bytes(8)),
        ])  # fmt: skip

    def field(self) -> tuple[bytes, bytes]:
        name = self.random.choice([
            b"Date", b"Retry-After", b"X-Request-Id", b"Location", b"Set-Cookie", b"Server", b"WWW-Authenticate", b"Connection", b"X-\xff", b"x" * 300, b"Trailer", b"Age",
        ])  # fmt: skip
        values = [
            b"", b"0", b"-1", b"nan", b"99999999999", b"1e400", b"Wed, 01 Jan 9999 00:00:00 GMT", b"Mon, 01 Jan 0001 00:00:00 GMT", b"close", b"\t \t", b"\xff\xfe",
            b"/v1/data/teams", b"http://127.0.0.1:1/x", b"//evil.invalid/", b"javascript:x", b"\x1b[2J", b"v" * 9000, "ünï".encode(),
        ]  # fmt: skip
        if self.in_heads and self.chance(0.4):
            return name, self.echo().encode()
        return name, self.random.choice(values)

    def delimit(self, body: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
        draw = self.random.random()
        if draw < 0.6:
            return [(b"Content-Length", b"%d" % len(body))], body
        if draw < 0.75:
            return [(b"Transfer-Encoding", b"chunked")], self.chunk(body)
        if draw < 0.8:
            return [(b"Connection", b"close")], body
        lengths = [b"%d" % (len(body) + 7), b"%d" % max(0, len(body) - 7), b"-1", b"18446744073709551616", b"1e3", b"", b"5, 6", b"4611686018427387904"]
        length_and_chunked = [(b"Content-Length", b"3"), (b"Transfer-Encoding", b"chunked")]
        unusual = [
            [(b"Content-Length", self.random.choice(lengths))],
            length_and_chunked,
            [(b"Content-Length", b"1"), (b"Content-Length", b"2")],
            [(b"Transfer-Encoding", b"gzip, x")],
        ]
        return self.random.choice(unusual), self.random.choice([body, self.chunk(body)])

    def chunk(self, body: bytes) -> bytes:
        out, at = [], 0
        while at < len(body):
            size = self.random.choice([1, 7, 1000, 65_536, len(body)]) if len(out) < 500 else len(body)
            piece = body[at : at + size]
            out.append(self.random.choice([b"%x\r\n", b"%X;ext=1\r\n", b"000%x\r\n"]) % len(piece) + piece + b"\r\n")
            at += size
        end = self.random.choice([b"0\r\n\r\n"] * 6 + [b"0\r\nX-T: 1\r\n\r\n", b"", b"-1\r\n\r\n", b"ffffffffffffffff\r\n", b"zz\r\n\r\n"])
        return b"".join(out) + end

    # Streams.

    def message(self) -> bytes:
        """A message of a live stream."""
        base: Any = self.random.choice([
            {"source": "stats", "seq": self.random.choice([0, 1, 2, 3, -1, 2**63, "7", 1.5]), "data": GOLDEN["team_game_stats"]},
            {"source": "clock", "data": {"seq": 3, "period": "Q1"}}, GOLDEN["catch_up"], "ping", {"type": "ping"}, {"event": "ping", "action": "ping"}, GOLDEN["stats"],
        ])  # fmt: skip
        text = self.json(self.disturb(base, self.random.choice([0.0, 0.05, 0.3]))) if self.chance(0.85) else self.body(None)
        return text[: self.random.choice([1 << 12, 1 << 15, 1 << 18])]

    def event_stream(self) -> bytes:
        """An event stream's response, head and events."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        if self.chance(0.1):
            return self.response(None)
        return head + b"".join(self.event() for _ in range(self.random.randint(0, 12)))

    def event(self) -> bytes:
        ending = self.random.choice([b"\n", b"\n", b"\r\n", b"\r"])
        fields = {
            b"data": lambda: b"".join(b"data: " + line + ending for line in self.message().splitlines() or [b""]),
            b"id": lambda: b"id: " + self.random.choice([b"1", b"\x07", b"x" * 2000, b"\x00", self.text().encode("utf-8", "replace"), b""]) + ending,
            b"retry": lambda: b"retry: " + self.random.choice([b"0", b"1", b"99999999999999999999", b"-1", b"x", b""]) + ending,
            b"event": lambda: b"event: " + self.text().encode("utf-8", "replace") + ending,
            b"": lambda: self.random.choice([b":\n", b":" + b"c" * 100_000 + ending, self.random.randbytes(50), b"\n", b"data\n", b"data:::\n"]),
        }
        return b"".join(fields[self.random.choice(list(fields))]() for _ in range(self.random.randint(1, 4))) + b"data: {}" + ending + ending * self.chance(0.9)

    def websocket(self, key: bytes) -> bytes:
        """The answer to a handshake, and frames."""
        if self.chance(0.1):
            return self.response(None)
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        if self.chance(0.05):
            accept = b"wrong"
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        return head + b"".join(self.frame() for _ in range(self.random.randint(0, 12)))

    def frame(self) -> bytes:
        if self.chance(0.8):
            return frame(0x81, self.message())
        close = struct.pack(">H", self.random.choice([0, 999, 1000, 1001, 1005, 1008, 1011, 4001, 65_535])) + self.text().encode("utf-8", "replace")[:120]
        return self.random.choice([
            frame(0x82, self.random.randbytes(40)), frame(0x81, b"\xff\xfe"), frame(0x01, b'{"a":'), frame(0x80, b"1}"), frame(0x89, b"p" * 125), frame(0x89, b"p" * 126),
            frame(0x8A, b""), frame(0x88, close), frame(0x88, b"x"), frame(0xF1, b"{}"), frame(0x83, b"{}"), b"\x81\xff" + b"\xff" * 8, b"\x81\x7f" + b"\xff" * 8,
            b"\x81\x7f" + struct.pack(">Q", 2**62), b"\x81\x83abcd{}}", self.random.randbytes(30), frame(0x81, b'"' + b"x" * 400_000 + b'"'), frame(0x81, b""),
        ])  # fmt: skip


def frame(first: int, payload: bytes) -> bytes:
    """An unmasked frame."""
    size = len(payload)
    length = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 1 << 16 else b"\x7f" + struct.pack(">Q", size)
    return bytes([first]) + length + payload
