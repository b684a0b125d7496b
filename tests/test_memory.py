"""The limit on buffered bytes of responses (`max_response_bytes`). tests/loopback/transport.rs tests what counts towards it."""

from __future__ import annotations

import asyncio
import gzip
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from service import Service

import sideline

MIB = 1 << 20
BODY = b'{"teams": []' + b" " * 3 * MIB + b"}"
TIGHT = 8 * MIB
"""Two such bodies, and their compressed bytes."""


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    with Service(seed=3) as league:
        yield league


@pytest.fixture
def league(running: Service) -> Iterator[Service]:
    yield running
    running.faults.clear()


def options(league: Service, **more: Any) -> dict[str, Any]:
    return league.client_options() | {"max_response_bytes": TIGHT, "max_retries": 0} | more


@pytest.mark.parametrize("headers", [{}, {"content-encoding": "gzip"}], ids=["plain", "gzip"])
def test_the_units_of_a_batch_that_have_no_room_beside_the_others_fail(league: Service, headers: dict[str, str]) -> None:
    league.faults.add("stats", status=200, body=gzip.compress(BODY, 1) if headers else BODY, headers=headers)
    with sideline.Client(**options(league)) as client:
        for _ in range(2):
            batch = client.stats([f"s{number}" for number in range(20)], on_error="keep", progress=False)
            assert [len(payload.raw) for payload in batch] == [len(BODY)] * len(batch)
            # While bodies grow, the compressed and the inflated one count.
            assert 1 <= len(batch) <= TIGHT // len(BODY)
            texts = {str(error) for error in batch.errors.values()}
            assert all("max_response_bytes" in text for text in texts), texts


def test_calls_of_threads_and_tasks_share_the_bound(league: Service) -> None:
    league.faults.add("teams", body=gzip.compress(BODY, 1), headers={"content-encoding": "gzip"})
    with sideline.Client(**options(league)) as client, ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda _: len(client.teams().raw), range(12)))

    async def tasks() -> list[int]:
        async with sideline.AsyncClient(**options(league)) as client:
            return [len(payload.raw) for payload in await asyncio.gather(*(client.teams() for _ in range(12)))]

    assert sizes == asyncio.run(tasks()) == [len(BODY)] * 12


def test_bodies_of_payloads_and_errors_that_are_kept_do_not_count(league: Service) -> None:
    results: list[Any] = []
    with sideline.Client(**options(league)) as client:
        for body in (BODY, BODY.replace(b"teams", b"squad"), b"<" + BODY):
            league.faults.clear()
            league.faults.add("teams", body=body)
            league.faults.add("stats", status=200, body=body)
            for _ in range(4):
                try:
                    results.append(client.teams())
                except sideline.DecodeError as error:
                    results.append(error.payload)
            for number in range(4):
                results += client.stats([f"s{number}"], on_error="keep", progress=False).errors.values()
    assert [len(payload.raw) for payload in results if isinstance(payload, sideline.Payload)] == [len(BODY)] * 8 + [len(BODY) + 1] * 4
    assert len(results) == 12 + 8


@pytest.mark.parametrize("headers", [{}, {"content-encoding": "gzip"}], ids=["plain", "gzip"])
def test_a_body_that_is_too_large_by_itself_names_the_option(league: Service, headers: dict[str, str]) -> None:
    league.faults.add("teams", body=gzip.compress(BODY) if headers else BODY, headers=headers)
    with (
        sideline.Client(**options(league, max_response_bytes=MIB)) as client,
        pytest.raises(sideline.TransportError, match="1 MiB .max_response_bytes.") as excinfo,
    ):
        client.teams()
    assert excinfo.value.attempts == 1
    assert "raise max_response_bytes" in excinfo.value.advice


def test_the_option_is_checked_and_pickled(league: Service) -> None:
    with pytest.raises(sideline.ConfigurationError, match="max_response_bytes must be at least 1"):
        sideline.Client(max_response_bytes=0)
    invalid_values: list[Any] = ["64 MiB", 1.5]
    for value in invalid_values:
        with pytest.raises(TypeError, match="max_response_bytes"):
            sideline.Client(max_response_bytes=value)
    with pytest.raises(ValueError, match="max_response_bytes"):
        sideline.Client(max_response_bytes=-1)
    league.faults.add("teams", body=BODY)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in league.environ.items():
            patch.setenv(name, value)
        client_copy = pickle.loads(pickle.dumps(sideline.Client(**options(league, max_response_bytes=MIB))))
        with client_copy, pytest.raises(sideline.TransportError, match="max_response_bytes"):
            client_copy.teams()
