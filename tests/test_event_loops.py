"""Calls that an event loop awaits, and the loops that they return to."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

import sideline


class NoReaders(asyncio.SelectorEventLoop):
    """A loop that watches no descriptors of others, as those of Windows."""

    def add_reader(self, *arguments: Any) -> None:
        raise NotImplementedError


@pytest.fixture(params=[asyncio.SelectorEventLoop, NoReaders])
def loop_run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    def loop_run(main: Any) -> Any:
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(main)

    return loop_run


def test_every_call_comes_back_with_its_own_response(service: sideline.Simulator, loop_run: Callable[..., Any]) -> None:
    games = [game["event_id"] for game in service.games[:40]]

    async def main() -> None:
        async with service.async_client() as client:
            calls = [client.game(game) for game in games] + [client.stats("no-such-session")]
            *payloads, last = await asyncio.gather(*calls, return_exceptions=True)
            assert [payload.url.rpartition("/")[2] for payload in payloads] == games
            assert isinstance(last, sideline.NotFound)

    loop_run(main())


def test_responses_received_while_the_loop_was_busy_are_all_delivered(service: sideline.Simulator, loop_run: Callable[..., Any]) -> None:
    async def main() -> None:
        async with service.async_client() as client:
            calls = [asyncio.ensure_future(client.teams()) for _ in range(50)]
            await asyncio.sleep(0)
            time.sleep(0.5)
            assert {(await call).status for call in calls} == {200}
            assert (await client.teams()).status == 200

    loop_run(main())


def test_a_cancelled_call_does_not_hold_the_others_back(service: sideline.Simulator, loop_run: Callable[..., Any]) -> None:
    async def main() -> None:
        async with service.async_client() as client:
            calls = [asyncio.ensure_future(client.teams()) for _ in range(40)]
            await asyncio.sleep(0.001)
            for call in calls[::2]:
                call.cancel()
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert {payload.status for payload in outcomes[1::2]} == {200}

    loop_run(main())


def test_a_signal_ends_a_call_that_is_waited_for_whatever_the_log_level_is(service: sideline.Simulator) -> None:
    """The log level is read in Python, where a signal handler may run."""
    import logging
    import signal
    import threading

    class Told(logging.Logger):
        def isEnabledFor(self, level: int) -> bool:  # noqa: N802
            time.sleep(0.02)
            return super().isEnabledFor(level)

    logger = logging.getLogger("sideline.transport.send")
    original_class, logger.__class__ = logger.__class__, Told
    service.faults.add("/v1/data/teams", delay=60.0)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with service.client() as client:
            timer.start()
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                client.teams()
            assert time.monotonic() - start < 20
    finally:
        timer.cancel()
        logger.__class__ = original_class


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are read from /proc")
def test_a_loop_that_is_closed_leaves_no_descriptor(service: sideline.Simulator) -> None:
    async def main(client: sideline.AsyncClient) -> None:
        await client.teams()
        # Its answer comes when its loop is closed.
        late.append(asyncio.ensure_future(client.teams()))
        await asyncio.sleep(0)

    late: list[asyncio.Future[sideline.Payload]] = []
    client = service.async_client()
    asyncio.run(main(client))
    before = len(os.listdir("/proc/self/fd"))
    loops = []
    for _ in range(20):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main(client))
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        loops.append(loop)
    until = time.monotonic() + 5
    while len(os.listdir("/proc/self/fd")) > before + 8 and time.monotonic() < until:
        time.sleep(0.02)
    # Those of the connections to the service may differ.
    assert len(os.listdir("/proc/self/fd")) <= before + 8
