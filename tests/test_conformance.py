"""Responses as bytes on the wire, each served once: no hang, no truncated body as success, no response for another request, and
the right class of error.

The cases are outside the repository; the most important ones of the project are in `test_wrong_input.py`.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from peers import HEAD, answer

import sideline

CASES = Path(__file__).parents[2] / "shared" / "conformance" / "http_response_cases.json"

# What the cases call an error, and we read: each says unmistakably where it ends.
READ_ALL_THE_SAME = {
    # The parser that judged these reads on after the message. We take one answer from a connection that says it closes.
    "llhttp-connection-http-1-1-with-keep-alive-disabled-and-204-status": "what follows Connection: close is not read",
    "llhttp-connection-http-1-1-with-keep-alive-disabled-content-length": "what follows Connection: close is not read",
    # The parser pauses at a change of protocol; for us it is a status that nobody asked for.
    "llhttp-connection-http-101-response-with-upgrade-and-content-length-header": "a status, 101",
    "llhttp-connection-http-101-response-with-upgrade-and-transfer-encoding-header": "a status, 101",
    "llhttp-invalid-only-lfs-present-and-no-body": "LF alone may end a line (RFC 9112, 2.2)",
    "llhttp-invalid-only-lfs-present": "LF alone may end a line (RFC 9112, 2.2)",
    "llhttp-sample-no-carriage-ret": "LF alone may end a line (RFC 9112, 2.2)",
    "llhttp-transfer-encoding-trailing-space-on-chunked-body": "blanks after a chunk's size are read past",
    "llhttp-transfer-encoding-no-extension-after-semicolon": "a chunk's extensions are read past",
    # The status is known, and says more than how its body ended.
    "own-error-body-cut": "a status, 500",
}
# What the cases call whole, and we refuse.
REFUSED_ALL_THE_SAME = {
    "llhttp-connection-http-103-first-then-200": "17 bytes are stated and 16 sent: whole for a parser that is told of no end",
    "llhttp-content-length-content-length-reset-when-no-body-is-received": "123 bytes are stated and 39 sent",
    "llhttp-invalid-bare-cr-after-response-line-lenient": "for a parser that is told to be lenient",
}
# What a message must name.
SAYS = {
    "own-html-200": "text/html",
    "own-error-kong-401": "HMAC signature does not match",
    "own-date-header-skewed": "clock",
    "own-json-empty-body": "empty",
}
CLASSES: Mapping[int, type[sideline.ApiError]] = {
    401: sideline.AuthenticationError,
    404: sideline.NotFound,
    500: sideline.ServerError,
    502: sideline.ServerError,
    503: sideline.ServerError,
}
TOTAL = 3.0


def cases() -> list[dict[str, Any]]:
    return json.loads(CASES.read_text(encoding="utf-8"))["cases"] if CASES.exists() else []


def wire(text: str) -> bytes:
    named = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    return re.sub(r"\\([nrt\\]|x[0-9A-Fa-f]{2})", lambda m: named.get(m[1]) or chr(int(m[1][1:], 16)), text).encode("latin-1")


@contextmanager
def server(*, closes: bool) -> Iterator[str]:
    """Responds to `/v1/data/cases/<name>` with that case's bytes, then closes or reads on; to any other path with the request itself."""
    bytes_of = {case["name"]: wire(case["input"]) for case in cases()}
    listening = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            for request in iter(lambda: head_of(connection), b""):
                path = request.split(b" ")[1].decode()
                name = path.rpartition("/")[2]
                try:
                    connection.sendall(bytes_of[name] if "/cases/" in path else answer(json.dumps({"asked": path}).encode(), HEAD))
                except OSError:
                    return
                if closes and "/cases/" in path:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            opened.append(connection)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
        for connection in opened:
            connection.close()


def head_of(connection: socket.socket) -> bytes:
    """A request's head; nothing where the connection ended."""
    read = b""
    try:
        while not read.endswith(b"\r\n\r\n"):
            more = connection.recv(1)
            if not more:
                return b""
            read += more
    except OSError:
        return b""
    return read


def asker(base_url: str, *, max_retries: int = 0) -> sideline.Client:
    limits = sideline.Timeout(connect=1, read=0.3, total=TOTAL)
    return sideline.Client(username="a", secret="b", base_url=base_url, max_retries=max_retries, timeout=limits)


def outcome(client: sideline.Client, path: str) -> sideline.Payload | sideline.SidelineError:
    start = time.monotonic()
    try:
        return client.get(path)
    except sideline.SidelineError as error:
        return error
    finally:
        assert time.monotonic() - start < TOTAL + 20


def own_answer(client: sideline.Client, path: str) -> bool:
    """Whether a request gets its own response. It may notice only by sending that its peer has closed the connection."""
    got = outcome(client, path)
    for _ in range(2):
        if type(got) is sideline.TransportError:
            got = outcome(client, path)
    return isinstance(got, sideline.Payload) and got.to_dict() == {"asked": path}


# Answers before the answer, of which the reader below knows only the first kind.
BEFORE_THE_ANSWER = re.compile(rb"\A(HTTP/1\.1 1(?!01)\d\d [^\r\n]*\r\n([^\r\n]+\r\n)*\r\n)+")


class Spoken:
    """A connection with a complete response, for the standard library's reader."""

    def __init__(self, said: bytes) -> None:
        self.said = said

    def makefile(self, _: str) -> io.BytesIO:
        return io.BytesIO(self.said)


def by_another_reader(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bytes]:
    """Status and body as Python's standard library reads them; it minds an empty line before an answer, and long ones in it."""
    monkeypatch.setattr(http.client, "_MAXLINE", 1 << 20)
    response = http.client.HTTPResponse(Spoken(BEFORE_THE_ANSWER.sub(b"", raw.lstrip(b"\r\n"))))  # type: ignore[arg-type]
    response.begin()
    return response.status, response.read()


def is_json(body: bytes) -> bool:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    try:
        json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def could_be_read(payload: sideline.Payload) -> bool:
    try:
        payload.to_dict()
    except sideline.DecodeError:
        return False
    return True


@pytest.mark.skipif(not CASES.exists(), reason="the conformance cases lie beside the project, and are not there")
def test_all_the_cases_are_there() -> None:
    names = {case["name"] for case in cases()}
    assert len(names) == len(cases()) == 113
    assert names >= READ_ALL_THE_SAME.keys() | REFUSED_ALL_THE_SAME.keys() | SAYS.keys()


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "open"])
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_a_response_is_read_or_refused_and_the_next_request_has_its_own(case: dict[str, Any], closes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    name, verdict = case["name"], case["verdict"]
    # A refusal for the date is corrected and sent again, which meets the connection that the peer has closed.
    retries = 1 if name == "own-date-header-skewed" else 0
    with server(closes=closes) as base_url, asker(base_url, max_retries=retries) as client:
        got = outcome(client, f"/v1/data/cases/{name}")
        for mark in ("first", "second"):
            assert own_answer(client, f"/v1/data/marks/{mark}")

    if SAYS.get(name):
        assert SAYS[name] in str(got)
    if isinstance(got, sideline.TransportError):
        assert verdict != "ok" or name in REFUSED_ALL_THE_SAME, got
        assert name not in READ_ALL_THE_SAME or not closes, got
        # A silent peer is a timeout, a wrong or a lost one is not.
        assert type(got) is sideline.TransportError or (type(got) is sideline.RequestTimeout and not closes)
        return
    assert verdict != "error" or name in READ_ALL_THE_SAME, got
    if isinstance(got, sideline.ApiError):
        status = int(re.findall(rb"HTTP/1\.[01] (\d\d\d)", BEFORE_THE_ANSWER.sub(b"", wire(case["input"])))[0])
        assert (type(got), got.status) == (CLASSES.get(status, sideline.ApiError), status)
        return
    try:
        status, body = by_another_reader(wire(case["input"]), monkeypatch)
    except (ValueError, http.client.HTTPException):
        assert verdict == "either"
        assert not isinstance(got, sideline.Payload)
        return
    assert status == 200
    if isinstance(got, sideline.Payload):
        assert got.raw == body
        assert could_be_read(got) == is_json(body)
    else:
        assert type(got) is sideline.DecodeError
        assert not is_json(body)


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "open"])
@pytest.mark.skipif(not CASES.exists(), reason="the conformance cases lie beside the project, and are not there")
def test_no_request_has_anothers_response_where_all_cases_go_over_the_connections_of_one_client(closes: bool) -> None:
    with server(closes=closes) as base_url, asker(base_url) as client, ThreadPoolExecutor(8) as pool:

        def ask(case: dict[str, Any]) -> bool:
            outcome(client, f"/v1/data/cases/{case['name']}")
            return all(own_answer(client, f"/v1/data/marks/{case['name']}-{n}") for n in range(3))

        assert [case["name"] for case, own in zip(cases(), pool.map(ask, cases()), strict=True) if not own] == []
