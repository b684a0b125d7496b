"""Further headers of a client: on every request and stream, never those of the protocol, and no text shows a credential."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from service import Features, Service

import sideline

CANARY = "canary-header-17"
HEADERS = {"X-Tenant": "tenant-17", "X-Gateway-Token": CANARY}


@pytest.fixture
def second() -> Iterator[Service]:
    with Service(seed=1, teams=2, games=1, practices=0, upcoming=0, features=Features(subscription_token=True)) as service:
        yield service


def is_sent(headers: dict[str, str]) -> bool:
    return (headers.get("x-tenant"), headers.get("x-gateway-token")) == ("tenant-17", CANARY)


def test_every_request_and_every_stream_carries_them(second: Service) -> None:
    second.faults.add("teams", times=1, status=503, body={"message": "busy"})
    with sideline.Client(**second.client_options(), headers=HEADERS) as client:
        client.teams()
        client.broadcast_teams()
        game = second.season.games[0].id
        with client.live(game), client.live_stats("g1"):
            second.live.wait_for_connections(2)

    async def run() -> None:
        async with sideline.AsyncClient(**second.client_options(), headers=HEADERS) as client:
            await client.teams()

    asyncio.run(run())
    assert {request.operation for request in second.requests.all()} >= {"teams", "broadcast_teams", "subscription_token", "live", "live_stats"}
    assert [request.operation for request in second.requests.all() if not is_sent(request.headers)] == []


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Host", "belongs to the signature"),
        ("date", "belongs to the signature"),
        ("AUTHORIZATION", "belongs to the signature"),
        ("Accept-Encoding", "belongs to the protocol"),
        ("Connection", "belongs to the protocol"),
        ("Content-Length", "belongs to the protocol"),
        ("Sec-WebSocket-Key", "belongs to the protocol"),
        ("Proxy-Authorization", "belongs to the protocol"),
        ("If-None-Match", "belongs to the protocol"),
        ("Last-Event-ID", "belongs to the protocol"),
        ("User-Agent", "give user_agent="),
        ("apikey", "give api_key="),
        ("X Tenant", "letters, digits and hyphens"),
        ("", "letters, digits and hyphens"),
    ],
)
def test_a_header_of_the_protocol_is_refused_with_the_reason(name: str, advice: str) -> None:
    with pytest.raises(sideline.ConfigurationError, match=advice) as error:
        sideline.Client(headers={name: CANARY})
    assert CANARY not in str(error.value)


@pytest.mark.parametrize("headers", ["text", [("a", "b")], {"X-Tenant": 17}, {"X-Tenant": b"x"}, {17: "x"}])
def test_headers_of_another_type_are_refused(headers: Any) -> None:
    with pytest.raises(TypeError, match="headers is a mapping of names to texts"):
        sideline.Client(headers=headers)


def test_a_repeated_name_and_a_control_character_are_refused() -> None:
    with pytest.raises(sideline.ConfigurationError, match="twice"):
        sideline.Client(headers={"X-Tenant": "a", "x-tenant": CANARY})
    with pytest.raises(ValueError, match="control character") as error:
        sideline.Client(headers={"X-Tenant": f"{CANARY}\r\nHost: evil.example"})
    assert CANARY not in str(error.value)


def test_no_text_shows_a_credential(second: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    second.faults.add("teams", status=401, body={"message": f"the token {CANARY} is wrong"}, headers={"X-Echo": CANARY})
    with sideline.Client(**second.client_options(), headers=HEADERS) as client:
        with pytest.raises(sideline.AuthenticationError) as error:
            client.teams()
        second.live.refuse(503, body={"message": f"not with {CANARY}"}, times=1)
        with client.live_stats("g1", retry_wait=0.05) as stream:
            items = [next(stream), next(stream)]
        texts = [repr(client), str(error.value), repr(error.value), *map(repr, items), str(client.doctor()), caplog.text]
        assert "***" in str(error.value)
        assert not [text for text in texts if CANARY in text]
        assert CANARY.encode() not in pickle.dumps(client) + pickle.dumps(error.value) + pickle.dumps(items)


def test_a_pickle_carries_the_other_headers_and_says_which_is_missing(second: Service) -> None:
    options = second.client_options()
    with sideline.Client(**options, headers={"X-Tenant": "tenant-17"}) as client:
        copy = pickle.loads(pickle.dumps(client))
        assert copy._options["headers"] == {"X-Tenant": "tenant-17"}
    with sideline.Client(**options, headers=HEADERS) as client:
        copy = pickle.loads(pickle.dumps(client))
        assert copy._options["headers"] == {"X-Tenant": "tenant-17", "X-Gateway-Token": None}
        with pytest.raises(sideline.ConfigurationError, match='the header "X-Gateway-Token" has no value: build the client where it is used'):
            copy.live(token="a-token").__enter__().__next__()
