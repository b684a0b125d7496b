"""The simulator's faults: each has its effect, and the client never mistakes it for data."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import socket
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

import sideline

TEAMS = "/v1/data/teams"
BODY = b'{"teams": [{"id": 46, "name": "Kansas"}]}'
EVIL = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"evil": "yes"}'


@pytest.fixture(scope="module")
def service() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, teams=6, games=12, now="2027-03-01T12:00:00Z") as service:
        yield service


@pytest.fixture(scope="module")
def truth(service: sideline.Simulator) -> bytes:
    with service.client() as client:
        return client.teams().raw


@pytest.fixture
def impatient(service: sideline.Simulator) -> Iterator[sideline.Client]:
    """A client that sends nothing twice."""
    with service.client(max_retries=0, timeout=5) as client:
        yield client


@pytest.fixture
def patient(service: sideline.Simulator) -> Iterator[sideline.Client]:
    """A client as users have it."""
    with service.client() as client:
        yield client


def connected(service: sideline.Simulator) -> socket.socket:
    host, port = service.base_url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    connection.settimeout(5)
    return connection


def receive(connection: socket.socket, quiet: float = 0.3) -> tuple[bytes, bool]:
    """The response to one unsigned request (a fault with a body needs no signature), and whether the connection then ended."""
    connection.sendall(f"GET {TEAMS} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    connection.settimeout(quiet)
    data = b""
    while True:
        try:
            more = connection.recv(65536)
        except TimeoutError:
            return data, False
        except ConnectionResetError:
            return data, True
        if not more:
            return data, True
        data += more


def on_the_wire(service: sideline.Simulator, **fault: Any) -> tuple[bytes, bytes, bool]:
    """The head, the bytes after it, and whether the connection then ended."""
    service.faults.add(body=BODY, times=1, **fault)
    with connected(service) as connection:
        data, is_closed = receive(connection)
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest, is_closed


def attempts(service: sideline.Simulator, since: int) -> int:
    return len(service.requests) - since


# A wrong length.


def test_a_length_that_is_too_long_is_a_connection_that_ends_early(service: sideline.Simulator) -> None:
    head, rest, is_closed = on_the_wire(service, content_length=5)
    assert (b"content-length: %d" % (len(BODY) + 5)) in head
    assert (rest, is_closed) == (BODY, True)


def test_a_length_that_is_too_short_leaves_bytes_behind(service: sideline.Simulator) -> None:
    head, rest, is_closed = on_the_wire(service, content_length=-5)
    assert (b"content-length: %d" % (len(BODY) - 5)) in head
    assert (rest, is_closed) == (BODY, False)


def test_a_body_shorter_than_its_length_is_an_error_and_sent_again(
    service: sideline.Simulator, impatient: sideline.Client, patient: sideline.Client, truth: bytes
) -> None:
    service.faults.add(content_length=5, times=2)
    with pytest.raises(sideline.TransportError):
        impatient.teams()
    before = len(service.requests)
    assert patient.teams().raw == truth
    assert attempts(service, before) == 2


def test_a_body_longer_than_its_length_is_no_data_and_its_rest_no_response(service: sideline.Simulator, impatient: sideline.Client, truth: bytes) -> None:
    service.faults.add(content_length=-5, times=1)
    payload = impatient.teams()
    for read in (payload.to_dict, payload.table):
        with pytest.raises(sideline.DecodeError) as excinfo:
            read()
        assert excinfo.value.offset == len(truth) - 5
    assert impatient.teams().raw == truth


# gzip.


def test_gzip_is_served_whole_and_damaged_and_cut(service: sideline.Simulator) -> None:
    head, rest, is_closed = on_the_wire(service, gzip="whole")
    assert b"content-encoding: gzip" in head
    assert (b"content-length: %d" % len(rest)) in head
    assert (gzip.decompress(rest), is_closed) == (BODY, False)
    _, rest, _ = on_the_wire(service, gzip="damaged")
    with pytest.raises(gzip.BadGzipFile, match="CRC"):
        gzip.decompress(rest)
    # Who does not look at the checksum gets JSON, and wrong data.
    assert json.loads(zlib.decompressobj(-15).decompress(rest[10:])) == {"teams": [{"id": 47, "name": "Kansas"}]}
    head, rest, _ = on_the_wire(service, gzip="cut")
    assert (b"content-length: %d" % len(rest)) in head
    with pytest.raises(EOFError):
        gzip.decompress(rest)


def test_a_compressed_response_is_the_same(service: sideline.Simulator, impatient: sideline.Client, truth: bytes) -> None:
    service.faults.add(gzip="whole", times=1)
    payload = impatient.teams()
    assert payload.raw == truth
    assert payload.table().num_rows == 6


@pytest.mark.parametrize("damage", ["damaged", "cut"])
def test_damaged_gzip_is_never_data(service: sideline.Simulator, impatient: sideline.Client, patient: sideline.Client, truth: bytes, damage: Any) -> None:
    service.faults.add(gzip=damage, times=2)
    with pytest.raises(sideline.TransportError):
        impatient.teams()
    assert patient.teams().raw == truth


# Slow bytes.


def read_response(connection: socket.socket) -> None:
    """Sends a request and reads until all of `BODY` is there."""
    connection.sendall(f"GET {TEAMS} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    connection.settimeout(60)
    data = b""
    while not data.endswith(BODY):
        more = connection.recv(65536)
        assert more, data
        data += more


def test_bytes_come_no_faster_than_requested(service: sideline.Simulator) -> None:
    start = time.monotonic()
    head, rest, _ = on_the_wire(service, bytes_per_second=200)
    duration, size = time.monotonic() - start, len(head) + 4 + len(rest)
    assert rest == BODY
    assert duration >= 0.9 * (size - 4) / 200


def test_slow_bytes_pass_no_read_timeout_but_the_total_one(service: sideline.Simulator, truth: bytes) -> None:
    # The head must be there within the read timeout.
    service.faults.add(body={"x": "y" * 50_000}, bytes_per_second=600, times=1)
    with service.client(timeout=sideline.Timeout(connect=10, read=3, total=3.5), max_retries=0) as client:
        start = time.monotonic()
        with pytest.raises(sideline.RequestTimeout, match="total"):
            client.teams()
        assert 3.4 < time.monotonic() - start < 35
        assert client.teams().raw == truth


def test_slowness_ends_with_the_response(service: sideline.Simulator) -> None:
    service.faults.add(body=BODY, bytes_per_second=100, times=1)
    service.faults.add(body=BODY, times=5)
    with connected(service) as connection:
        start = time.monotonic()
        read_response(connection)
        slow = time.monotonic() - start
        # The fastest of some: the machine may be busy with something else.
        fast = []
        for _ in range(5):
            start = time.monotonic()
            read_response(connection)
            fast.append(time.monotonic() - start)
    assert min(fast) < slow / 2


def test_an_open_stream_is_slow_too_and_keeps_its_framing(service: sideline.Simulator) -> None:
    path = "/broadcast/v1/stats/event-stream"
    service.faults.add(path, bytes_per_second=200, trailing=EVIL, informational=[103], gzip="whole", content_length=5)
    target = f"{path}?apikey={service.api_key}&schedule_id={service.games[0]['event_id']}"
    with connected(service) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        connection.settimeout(60)
        data, start = b"", time.monotonic()
        while len(data) < 300:
            data += connection.recv(65536)
        duration = time.monotonic() - start
    assert data.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"text/event-stream" in data
    assert duration >= 0.9 * (len(data) - 4) / 200


# Bytes after the answer.


def test_bytes_trail_the_response_on_the_same_connection(service: sideline.Simulator) -> None:
    _, rest, is_closed = on_the_wire(service, trailing=EVIL)
    assert (rest, is_closed) == (BODY + EVIL, False)


def test_trailing_bytes_are_never_the_next_response(service: sideline.Simulator, impatient: sideline.Client, truth: bytes) -> None:
    for trailing in (EVIL, b"garbage", b"\r\n" + EVIL, b"\x00"):
        service.faults.add(trailing=trailing, times=3)
        for _ in range(4):
            assert impatient.teams().raw == truth
        service.faults.clear()


def test_trailing_bytes_are_no_response_under_load(service: sideline.Simulator, patient: sideline.Client) -> None:
    service.faults.add(trailing=EVIL, probability=0.5)
    paths = ["/v1/data/teams"] + [f"/v1/data/teams/{team['id']}" for team in service.teams]

    def bodies(path: str) -> set[bytes]:
        return {patient.get(path).raw for _ in range(25)}

    with ThreadPoolExecutor(len(paths)) as pool:
        actual = list(pool.map(bodies, paths))
    service.faults.clear()
    assert actual == [{patient.get(path).raw} for path in paths]


# Headers that come twice.


def test_a_header_is_sent_twice(service: sideline.Simulator) -> None:
    head, _, _ = on_the_wire(service, headers=[("X-Odd", "1"), ("x-odd", "2"), ("Content-Type", "text/plain"), ("Content-Type", "text/html")])
    lines = head.split(b"\r\n")
    assert [line for line in lines if line.startswith((b"x-odd", b"content-type"))] == [
        b"x-odd: 1", b"x-odd: 2", b"content-type: text/plain", b"content-type: text/html",
    ]  # fmt: skip


def test_two_lengths_that_differ_are_an_error_and_sent_again(
    service: sideline.Simulator, impatient: sideline.Client, patient: sideline.Client, truth: bytes
) -> None:
    for lengths in ((len(truth), len(truth) - 2), (2, len(truth)), (len(truth), len(truth) + 2)):
        service.faults.add(headers=[("Content-Length", str(length)) for length in lengths], times=2)
        with pytest.raises(sideline.TransportError, match="content-length"):
            impatient.teams()
        assert patient.teams().raw == truth


# 1xx.


def test_informational_responses_come_before_the_response(service: sideline.Simulator) -> None:
    service.faults.add(body=BODY, informational=[100, 103], times=1)
    with connected(service) as connection:
        data, is_closed = receive(connection)
    assert data.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert data.endswith(b"\r\n\r\n" + BODY)
    assert not is_closed


@pytest.mark.parametrize("statuses", [[103], [100], [102, 103, 103], [199], [100] * 200], ids=lambda statuses: f"{statuses[0]} and {len(statuses) - 1} more")
def test_informational_responses_are_read_past(service: sideline.Simulator, impatient: sideline.Client, truth: bytes, statuses: list[int]) -> None:
    service.faults.add(informational=statuses, times=2)
    payloads = [impatient.teams() for _ in range(3)]
    assert [(payload.status, payload.raw) for payload in payloads] == [(200, truth)] * 3
    service.faults.add(informational=statuses, status=503, times=1)
    with pytest.raises(sideline.ServerError):
        impatient.teams()


# A connection that closes under the client.


@pytest.mark.parametrize("reset", [False, True])
def test_a_stale_connection_closes_when_the_next_request_comes(service: sideline.Simulator, reset: bool) -> None:
    service.faults.add(body=BODY, stale=True, reset=reset, times=1)
    with connected(service) as connection:
        data, is_closed = receive(connection)
        assert data.endswith(BODY)
        assert b"connection: close" not in data.lower()
        assert not is_closed
        before = len(service.requests)
        assert receive(connection) == (b"", True)
    assert len(service.requests) == before, "a request that was never read is in no log"


def test_a_stale_connection_ends_with_a_reset(service: sideline.Simulator) -> None:
    service.faults.add(body=BODY, stale=True, reset=True, times=1)
    with connected(service) as connection:
        receive(connection)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.settimeout(5)
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


@pytest.mark.parametrize("reset", [False, True])
def test_a_request_on_a_stale_connection_is_sent_again(
    service: sideline.Simulator, impatient: sideline.Client, patient: sideline.Client, truth: bytes, reset: bool
) -> None:
    service.faults.add(stale=True, reset=reset, times=1)
    assert impatient.teams().raw == truth
    with pytest.raises(sideline.TransportError) as excinfo:
        impatient.teams()
    assert not isinstance(excinfo.value, sideline.RequestTimeout)
    service.faults.add(stale=True, reset=reset, times=2)
    start = time.monotonic()
    payloads = [patient.teams() for _ in range(4)]
    assert [payload.raw for payload in payloads] == [truth] * 4
    assert time.monotonic() - start < 20


# A rate that no answer tells.


def by_httpx(service: sideline.Simulator, n: int) -> list[httpx.Response]:
    with httpx.Client(base_url=service.base_url) as client:
        return [client.get(TEAMS) for _ in range(n)]


@pytest.mark.parametrize("retry_after", [True, False])
def test_requests_beyond_the_rate_are_refused(service: sideline.Simulator, retry_after: bool) -> None:
    service.faults.add(TEAMS, requests_per_second=0.5, burst=3, retry_after=retry_after)
    responses = by_httpx(service, 5)
    assert [response.status_code for response in responses] == [401, 401, 401, 429, 429], "those that pass meet the gate, unsigned"
    assert [response.headers.get("retry-after") for response in responses[3:]] == (["2", "2"] if retry_after else [None, None])
    with service.client(max_retries=0) as client:
        assert client.roster(service.teams[0]["id"]).status == 200, "another path has its own rate"


def test_a_nightly_loop_keeps_to_retry_after(service: sideline.Simulator, patient: sideline.Client) -> None:
    service.faults.add(requests_per_second=6, burst=5, retry_after=True)
    before, start = len(service.requests), time.monotonic()
    ids = [team["id"] for team in service.teams] * 2
    assert [patient.roster(team).status for team in ids] == [200] * len(ids)
    statuses = [seen.status for seen in service.requests[before:]]
    # Each refusal was followed by the wait that it requested, so that the same request was not refused again.
    assert (statuses.count(200), 0 < statuses.count(429) <= 3) == (len(ids), True)
    assert (429, 429) not in zip(statuses, statuses[1:], strict=False)
    assert statuses.count(429) <= time.monotonic() - start < 60


def test_a_nightly_loop_backs_off_where_nothing_is_said(service: sideline.Simulator) -> None:
    service.faults.add(requests_per_second=20, burst=2)
    ids = [team["id"] for team in service.teams] * 2
    before = len(service.requests)
    with service.client(max_retries=8) as client:
        assert [client.roster(team).status for team in ids] == [200] * len(ids)
    statuses = [seen.status for seen in service.requests[before:]]
    assert statuses.count(200) == len(ids)
    assert statuses.count(429) >= 1


def test_a_rate_that_never_lets_pass_is_named(service: sideline.Simulator) -> None:
    service.faults.add(requests_per_second=0.001, burst=1, retry_after=True)
    with service.client(timeout=60) as client:
        assert client.teams().status == 200
        start = time.monotonic()
        with pytest.raises(sideline.RateLimited, match="requests_per_second"):
            client.teams()
        assert time.monotonic() - start < 20, "a wait that passes the deadline is not begun"


# All of them.


def test_combined_faults_all_apply(service: sideline.Simulator) -> None:
    head, rest, is_closed = on_the_wire(
        service, status=502, informational=[103], gzip="whole", cut_at=7, headers={"X-Odd": "1"}, bytes_per_second=5000, delay=0.2
    )
    assert head == b"HTTP/1.1 103 Early Hints"
    head, _, content = rest.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"x-odd: 1" in head
    assert (content[:3], len(content), is_closed) == (b"\x1f\x8b\x08", 7, True)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"gzip": "broken"}, "gzip"),
        ({"content_length": 2, "headers": {"content-length": "7"}}, "content_length"),
        ({"informational": [200]}, "informational"),
        ({"informational": [101]}, "informational"),
        ({"informational": [70000]}, "informational"),
        ({"bytes_per_second": 0}, "bytes_per_second"),
        ({"bytes_per_second": -1}, "bytes_per_second"),
        ({"requests_per_second": 0}, "requests_per_second"),
        ({"requests_per_second": float("nan")}, "requests_per_second"),
        ({"requests_per_second": 1, "burst": 0}, "burst"),
        ({"burst": 3}, "requests_per_second"),
        ({"retry_after": True}, "requests_per_second"),
        ({"headers": [("a b", "c")]}, "header"),
        ({"times": 2**63}, "^times is a whole number; this one exceeds 64 bits$"),
        ({"delay": 10**400}, "^delay is a number of seconds; this one exceeds 64 bits$"),
    ],
    ids=str,
)
def test_an_impossible_fault_is_refused(service: sideline.Simulator, fault: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        service.faults.add(**fault)
    head = httpx.get(service.base_url + TEAMS)
    assert head.status_code == 401, "nothing was added"


@pytest.mark.parametrize("value", ["x", 3, None, [1, 2]])
def test_trailing_takes_bytes_and_the_refusal_says_so(service: sideline.Simulator, value: Any) -> None:
    with pytest.raises(TypeError, match=rf'^trailing is bytes, not {type(value).__name__}: write b"\.\.\."$'):
        service.faults.add("/v1/data/teams", trailing=value)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"status": "503"}, "^status is a whole number; 'str' object"),
        ({"cut_at": 1.5}, "^cut_at is a whole number; 'float' object"),
        ({"delay": "1"}, "^delay is a number of seconds"),
        ({"probability": "x"}, "^probability is a number"),
        ({"reset": "no"}, "^reset is True or False"),
        ({"gzip": True}, '^gzip is "whole", "damaged" or "cut"'),
        ({"headers": "x"}, "^headers is a mapping of str to str, or pairs"),
        ({"headers": {"a": 1}}, "^headers is a mapping of str to str, or pairs"),
        ({"informational": 103}, r"^informational is a list of statuses such as \[103\]"),
        ({"path": 5}, "^path is a str such as"),
    ],
    ids=str,
)
def test_an_argument_of_the_wrong_type_is_named(service: sideline.Simulator, fault: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        service.faults.add(**fault)


def test_headers_may_be_none(service: sideline.Simulator) -> None:
    service.faults.add("/v1/data/teams", status=404, headers=None)
    with service.client() as client, pytest.raises(sideline.NotFound):
        client.teams()


def test_the_repr_of_the_faults_shows_each_changed_argument(service: sideline.Simulator) -> None:
    service.faults.clear()
    service.faults.add(TEAMS, status=503, headers={"X-Odd": "1"}, delay=0.0, probability=1.0)
    service.faults.add(body=b"x" * 100)
    text = repr(service.faults)
    service.faults.clear()
    assert text == f"<sideline.simulator.Faults: add({TEAMS!r}, status=503, headers={{'X-Odd': '1'}}), add('*', body=b'xxxxxxxxxxx...xxxxxxxxxxxxx')>"


def test_the_clock_of_a_response_is_off(service: sideline.Simulator) -> None:
    service.faults.add(TEAMS, clock_offset=250, times=1)
    with service.client(max_retries=0) as client:
        first, second = (parsedate_to_datetime(client.teams().headers["date"]) - datetime.now(UTC) for _ in range(2))
    assert 150 < first.total_seconds() < 252
    assert abs(second.total_seconds()) < 100


def test_each_option_of_a_fault_has_a_test_here() -> None:
    options = set(inspect.signature(sideline.simulator.Faults.add).parameters) - {"self", "path"}
    source = Path(__file__).read_text(encoding="utf-8")
    assert {option for option in options if not re.search(rf"\b{option}=|\"{option}\":", source)} == set()
