"""The signature of every request on the wire, verified by two implementations that share no code with us: hmac with httpx, and the
`openssl` command line."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from independent import OPENSSL, Asked, Signed, read, signature, signature_by_openssl, verify
from wire import answering, listener

import sideline

# The bodies here are no more than the subject needs.
pytestmark = pytest.mark.filterwarnings("ignore::sideline.SchemaDriftWarning")

USERNAMES = ["ann", "ann@example.com", "a b,c=d", "  ", "o'brien", "back\\slash", "50%41", "x;y:z", "hmac username=", "Ünal", "名前⚽", "a" * 300]
SECRETS = {
    "short": "x", "blank": " ", "padded": " s3cret ", "quotes": "\"'`", "reserved": "/+=&?#%41@:", "backslash": "\\n\\",
    "63 bytes": "k" * 63, "the block of 64": "k" * 64, "65 bytes": "k" * 65, "1000 bytes": "longer than the block " * 50,
    "unicode": "é⚽ ключ", "unicode beyond the block": "é" * 33,
}  # fmt: skip

Call = Callable[[sideline.Client], Any]
CALLS: dict[str, tuple[Call, str]] = {
    "teams": (lambda c: c.teams(), "/v1/data/teams"),
    "an id with @": (lambda c: c.roster("a@b"), "/v1/data/teams/a@b"),
    "an id with :": (lambda c: c.stats("x:y@z.1-2_3"), "/v1/data/stats/x:y@z.1-2_3/stats"),
    "@ in a query": (lambda c: c.roster(46, game_id="g@h:i"), "/v1/data/teams/46?game_event_id=g@h:i"),
    "times": (lambda c: c.team_events(46, 1_800_000_000_001, 1_800_000_000_002, games_only=True), "/v1/data/teams/46/events?from=1800000000001&to=1800000000002&gamesonly=true"),
    "reserved in a query": (lambda c: c.get("/v1/data/x", {"q": "a@b:c &=+#?/%é'\"", "r s": "~"}), "/v1/data/x?q=a@b:c%20%26%3D%2B%23%3F%2F%25%C3%A9%27%22&r%20s=~"),
    "reserved in a path": (lambda c: c.get("/v1/data/a@b:c$d&e+f,g;h=i!j~k(l)m*n'o"), "/v1/data/a@b:c$d&e+f,g;h=i!j~k(l)m*n'o"),
    "to be encoded in a path": (lambda c: c.get('/v1/data/a b/é/"<>`{}'), "/v1/data/a%20b/%C3%A9/%22%3C%3E%60%7B%7D"),
    "a slash at the end": (lambda c: c.get("/v1/data/teams/"), "/v1/data/teams/"),
    "an empty segment": (lambda c: c.get("/v1/data//teams"), "/v1/data//teams"),
    "a link": (lambda c: c.follow("https://api.shottracker.com/v1/data/sensors/locations?id=a@b&from=1&to=2"), "/v1/data/sensors/locations?id=a@b&from=1&to=2"),
    "a link, encoded": (lambda c: c.follow("/v1/data/sensors/locations?id=a%40b%3a%20c&from=1&to=2"), "/v1/data/sensors/locations?id=a%40b%3a%20c&from=1&to=2"),
    "a link, its path encoded": (lambda c: c.follow("https://elsewhere/v1/data/stats/a%40b%3ac%2Fd%c3%a9/stats"), "/v1/data/stats/a%40b%3ac%2Fd%c3%a9/stats"),
    "a link, to be encoded": (lambda c: c.follow("/v1/data/stats/a b é/stats?q=a b\"é"), "/v1/data/stats/a%20b%20%C3%A9/stats?q=a%20b%22%C3%A9"),
    "a link, wrongly encoded": (lambda c: c.follow("/v1/data/stats/100%/stats?q=%zz"), "/v1/data/stats/100%/stats?q=%zz"),
    "a link with a fragment": (lambda c: c.follow("https://h/v1/data/teams?a=1#part?b=2"), "/v1/data/teams?a=1"),
    "a link with two question marks": (lambda c: c.follow("/v1/data/teams?a=1?b=/c"), "/v1/data/teams?a=1?b=/c"),
    "a link without a value": (lambda c: c.follow("/v1/data/teams?"), "/v1/data/teams"),
}  # fmt: skip

BASES = {"IPv4": ("127.0.0.1", "http://127.0.0.1:{}"), "IPv6 and prefix": ("::1", "http://[::1]:{}/gate way/"), "name": ("127.0.0.1", "http://LOCALHOST:{}")}


@contextmanager
def service(base: str = "IPv4") -> Iterator[tuple[str, list[bytes]]]:
    host, address = BASES[base]
    heads: list[bytes] = []
    with listener(answering(heads), host) as seen:
        yield address.format(seen.port), heads


def verify_signature(head: bytes, username: str, secret: str) -> Asked:
    """Returns the request, after hmac and openssl have computed the same signature."""
    request = read(head)
    assert verify(request, {username: secret}, time.time()) is None
    line = f"GET {request.target.partition('?')[0]} HTTP/1.1"
    by_openssl = signature_by_openssl(secret, request.headers["date"], request.headers["host"], line)
    expected = f'hmac username="{username}",algorithm="hmac-sha1",headers="date host request-line",signature="{by_openssl}"'
    assert request.headers["authorization"] == expected
    return request


needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed (or not in PATH)")


@needs_openssl
@pytest.mark.parametrize(("username", "secret"), [*itertools.product(USERNAMES, SECRETS)])
def test_any_username_and_secret_are_signed_alike_by_hmac_and_openssl(username: str, secret: str) -> None:
    with service() as (base, heads), sideline.Client(username=username, secret=SECRETS[secret], base_url=base) as client:
        client.roster("a@b:c")
    verify_signature(heads[0], username, SECRETS[secret])


@needs_openssl
@pytest.mark.parametrize(("base", "call"), [*itertools.product(BASES, CALLS)])
def test_any_address_is_signed_alike_by_hmac_and_openssl_and_sent_alike_by_httpx(base: str, call: str) -> None:
    username, secret = "ann@example.com, o'brien", SECRETS["unicode beyond the block"]
    send_request, target = CALLS[call]
    with service(base) as (address, heads):
        with sideline.Client(username=username, secret=secret, base_url=address) as client:
            send_request(client)
        prefix = "/gate%20way" if "gate" in address else ""
        request = verify_signature(heads[0], username, secret)
        assert request.target == prefix + target
        # httpx rewrites a broken escape, so its request differs.
        if "wrongly" not in call:
            httpx_request = Signed(f"http://{request.headers['host']}", username, secret, request.target, date=request.headers["date"])
            assert httpx_request.send().status_code == 200
            received_request = read(heads[1])
            assert received_request.target == request.target
            assert {name: received_request.headers[name] for name in ("host", "date", "authorization")} == {
                name: request.headers[name] for name in ("host", "date", "authorization")
            }


@needs_openssl
def test_the_comparison_of_signatures_can_fail() -> None:
    right = ("k", "Sun, 01 Nov 2026 12:00:00 GMT", "h", "GET / HTTP/1.1")
    assert signature(*right) == signature_by_openssl(*right)
    for at, other in enumerate(("l", "Sun, 01 Nov 2026 12:00:01 GMT", "h:80", "GET /? HTTP/1.1")):
        changed_parts = [*right[:at], other, *right[at + 1 :]]
        assert signature(*right) != signature_by_openssl(*changed_parts)
