"""Responses as bytes on the wire: no hang, no truncated body as success, no response for another request, and the right class of error.

The project's own cases are in `conformance/http.json`; further ones of outsiders run where they are beside the project.
"""

from __future__ import annotations

import copy
import gzip
import http.client
import io
import json
import re
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NoReturn

import pytest
from cases import Case, check_shape, data, of_outsiders, own, params, reason_without
from peers import HEAD, accepting, make_response, read_head

import sideline

OWN = own("http.json")
FILE = "http_response_cases.json"
OUTSIDERS = of_outsiders(FILE)

# What outsiders' cases call an error, and we read: each says unmistakably where it ends.
READ_ALL_THE_SAME = {
    # The parser that judged these reads on after the message. We take one answer from a connection that says it closes.
    "llhttp-connection-http-1-1-with-keep-alive-disabled-and-204-status": "what follows Connection: close is not read",
    "llhttp-connection-http-1-1-with-keep-alive-disabled-content-length": "what follows Connection: close is not read",
    # The parser pauses at a change of protocol; for us it is an unexpected status.
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


@dataclass(frozen=True)
class Reply:
    """A response, and what its server does then: open (reads on), close or reset."""

    wire: bytes
    end: str


@dataclass
class Seen:
    base_url: str
    #: For each request its path and the number of its connection.
    requests: list[tuple[str, int]] = field(default_factory=list)


@contextmanager
def server(replies: Mapping[str, Reply]) -> Iterator[Seen]:
    """Sends the reply to a path's last part; to any other path the request itself."""
    listening = socket.create_server(("127.0.0.1", 0))
    seen = Seen(f"http://127.0.0.1:{listening.getsockname()[1]}")

    def serve(connection: socket.socket, number: int) -> None:
        with suppress(OSError), connection:
            while (request := read_head(connection)).endswith(b"\r\n\r\n"):
                path = request.split(b" ")[1].decode()
                seen.requests.append((path, number))
                reply = replies.get(path.rpartition("/")[2], Reply(make_response(json.dumps({"asked": path}).encode(), HEAD), "open"))
                connection.sendall(reply.wire)
                if reply.end == "reset":
                    # Afterwards, so that the bytes have arrived.
                    time.sleep(0.02)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if reply.end != "open":
                    return

    with accepting(listening, serve):
        yield seen


def asker(base_url: str, *, max_retries: int = 0) -> sideline.Client:
    limits = sideline.Timeout(connect=1, read=0.3, total=TOTAL)
    return sideline.Client(username="a", secret="b", base_url=base_url, max_retries=max_retries, timeout=limits)


Outcome = sideline.Payload | sideline.SidelineError


def outcome(client: sideline.Client, path: str, call: str = "get") -> Outcome:
    start = time.monotonic()
    try:
        return client.get(path) if call == "get" else getattr(client, call)()
    except sideline.SidelineError as error:
        return error
    finally:
        assert time.monotonic() - start < TOTAL + 20


def has_own_answer(client: sideline.Client, path: str) -> bool:
    """Whether a request gets its own response. It may notice only by sending that its peer has closed the connection.

    A server on a busy machine may take longer than the cases' limit, too. It is requested again twice.
    """
    result = outcome(client, path)
    for _ in range(2):
        if isinstance(result, sideline.TransportError):
            result = outcome(client, path)
    return isinstance(result, sideline.Payload) and result.to_dict() == {"asked": path}


# The project's own cases.


def reply_of(case: Case) -> Reply:
    return Reply(data(case["response"]), case["end"])


NEW = "the next request goes over a new connection"


def mismatch(case: Case) -> str:
    """What is otherwise than the case expects; empty if nothing is. A connection may be back too late for the next request."""
    return next((reason for reason in (mismatch_once(case) for _ in range(3)) if reason != NEW), NEW)


def mismatch_once(case: Case) -> str:
    call = case.get("call", "get")
    with server({"case" if call == "get" else call: reply_of(case)}) as seen, asker(seen.base_url) as client:
        result = outcome(client, "/v1/data/case", call)
        if isinstance(result, sideline.Payload):
            with suppress(sideline.DecodeError):
                result.to_dict()
        if not has_own_answer(client, "/v1/data/next"):
            return "the next request has no answer of its own"
        is_same = seen.requests[-1][1] == seen.requests[0][1]
    expected = case["expected"]
    if isinstance(result, sideline.Payload):
        reason = "" if result.raw == data(expected.get("body", "(an error)")) else f"the body {result.raw[:200]!r}"
    else:
        status = result.status if isinstance(result, sideline.ApiError) else None
        is_expected = (type(result).__name__, status) == (expected.get("error"), expected.get("status")) and expected.get("says", "") in str(result)
        reason = "" if is_expected else f"{type(result).__name__} {status}: {result}"
    connection = "same" if is_same else "new"
    if not reason and case.get("next", connection) != connection:
        return "the next request goes over the same connection" if is_same else NEW
    return reason


def test_every_own_case_can_be_run() -> None:
    check_shape(OWN, {"response", "end", "expected", "next", "call"}, 149)
    for case in OWN:
        assert case["end"] in ("open", "close", "reset")
        assert case.get("next") in (None, "same", "new")
        assert case["expected"].keys() in ({"body"}, {"error"}, {"error", "says"}, {"error", "status"}, {"error", "status", "says"}), case["name"]


@pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")
@pytest.mark.parametrize("case", params(OWN, ""))
def test_an_own_case_comes_out_as_the_standard_says(case: Case) -> None:
    assert mismatch(case) == ""


def own_case(name: str) -> Case:
    return copy.deepcopy(next(case for case in OWN if case["name"] == name))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("a body of a stated length", {"expected": {"body": '{"a":2}'}}),
        ("a body of a stated length", {"expected": {"error": "TransportError"}}),
        ("a body of a stated length", {"next": "new"}),
        ("a body shorter than its length", {"expected": {"body": '{"a":1}'}}),
        ("a body shorter than its length", {"expected": {"error": "RequestTimeout"}}),
        ("connection close with a length", {"next": "same"}),
        ("an error 404", {"expected": {"error": "NotFound", "status": 403}}),
        ("an error 404", {"expected": {"error": "ApiError", "status": 404}}),
        ("an error 404", {"expected": {"error": "NotFound", "status": 404, "says": "other words"}}),
    ],
)
def test_a_wrong_expectation_is_noticed(name: str, changes: Case) -> None:
    assert mismatch(own_case(name) | changes) != ""


# Answers before the answer, of which the reader below knows only the first kind.
BEFORE_THE_ANSWER = re.compile(rb"\A(HTTP/1\.1 1(?!01)\d\d [^\r\n]*\r\n([^\r\n]+\r\n)*\r\n)+")


class Spoken:
    """A connection with a complete response, for the standard library's reader."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def makefile(self, _: str) -> io.BytesIO:
        return io.BytesIO(self.content)


def by_another_reader(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bytes]:
    """Status and body as Python's standard library reads them; it minds an empty line before an answer, and long ones in it."""
    monkeypatch.setattr(http.client, "_MAXLINE", 1 << 20)
    response = http.client.HTTPResponse(Spoken(BEFORE_THE_ANSWER.sub(b"", raw.lstrip(b"\r\n"))))  # type: ignore[arg-type]
    response.begin()
    body = response.read()
    return response.status, gzip.decompress(body) if (response.headers["content-encoding"] or "").lower().endswith("gzip") else body


# Python's reader takes at most 99.
BEYOND_THE_OTHER_READER = {"one hundred fields"}


@pytest.mark.parametrize("case", params([case for case in OWN if "body" in case["expected"] and case["name"] not in BEYOND_THE_OTHER_READER], ""))
def test_the_body_of_an_own_case_is_what_another_reader_reads(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_another_reader(data(case["response"]), monkeypatch) == (200, data(case["expected"]["body"]))


def test_no_request_has_anothers_response_where_all_own_cases_go_over_the_connections_of_one_client() -> None:
    check_that_no_answer_is_mixed_up({str(at): reply_of(case) for at, case in enumerate(OWN)})


def check_that_no_answer_is_mixed_up(replies: Mapping[str, Reply]) -> None:
    with server(replies) as seen, asker(seen.base_url) as client, ThreadPoolExecutor(8) as pool:

        def has_own(name: str) -> bool:
            outcome(client, f"/v1/data/cases/{name}")
            return all(has_own_answer(client, f"/v1/data/marks/after-{name}-{n}") for n in range(3))

        assert [name for name, is_own in zip(replies, pool.map(has_own, replies), strict=True) if not is_own] == []


# The cases of outsiders.


def wire(text: str) -> bytes:
    escapes = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    return re.sub(r"\\([nrt\\]|x[0-9A-Fa-f]{2})", lambda m: escapes.get(m[1]) or chr(int(m[1][1:], 16)), text).encode("latin-1")


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


@pytest.mark.skipif(not OUTSIDERS, reason=reason_without(FILE))
def test_all_the_cases_of_outsiders_are_there() -> None:
    names = {case["name"] for case in OUTSIDERS}
    assert len(names) == len(OUTSIDERS) == 113
    assert names >= READ_ALL_THE_SAME.keys() | REFUSED_ALL_THE_SAME.keys() | SAYS.keys()


@pytest.mark.parametrize("end", ["close", "open"])
@pytest.mark.parametrize("case", params(OUTSIDERS, FILE))
def test_a_case_of_outsiders_is_read_or_refused_and_the_next_request_has_its_own(case: Case, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, verdict, raw = case["name"], case["verdict"], wire(case["input"])
    # A refusal for the date is corrected and sent again, which meets the connection that the peer has closed.
    retries = 1 if name == "own-date-header-skewed" else 0
    with server({name: Reply(raw, end)}) as seen, asker(seen.base_url, max_retries=retries) as client:
        result = outcome(client, f"/v1/data/cases/{name}")
        for mark in ("first", "second"):
            assert has_own_answer(client, f"/v1/data/marks/{mark}")

    if SAYS.get(name):
        assert SAYS[name] in str(result)
    if isinstance(result, sideline.TransportError):
        assert verdict != "ok" or name in REFUSED_ALL_THE_SAME, result
        assert name not in READ_ALL_THE_SAME or end == "open", result
        # A silent peer is a timeout, a wrong or a lost one is not.
        assert type(result) is sideline.TransportError or (type(result) is sideline.RequestTimeout and end == "open")
        return
    assert verdict != "error" or name in READ_ALL_THE_SAME, result
    if isinstance(result, sideline.ApiError):
        status = int(re.findall(rb"HTTP/1\.[01] (\d\d\d)", BEFORE_THE_ANSWER.sub(b"", raw))[0])
        assert (type(result), result.status) == (CLASSES.get(status, sideline.ApiError), status)
        return
    try:
        status, body = by_another_reader(raw, monkeypatch)
    except (ValueError, http.client.HTTPException):
        assert verdict == "either"
        assert not isinstance(result, sideline.Payload)
        return
    assert status == 200
    if isinstance(result, sideline.Payload):
        assert result.raw == body
        assert could_be_read(result) == is_json(body)
    else:
        assert type(result) is sideline.DecodeError
        assert not is_json(body)


@pytest.mark.parametrize("end", ["close", "open"])
@pytest.mark.skipif(not OUTSIDERS, reason=reason_without(FILE))
def test_no_request_has_anothers_response_where_all_cases_of_outsiders_go_over_the_connections_of_one_client(end: str) -> None:
    check_that_no_answer_is_mixed_up({case["name"]: Reply(wire(case["input"]), end) for case in OUTSIDERS})
