"""The future that a task awaits for an item of a stream: every event loop treats it like its own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

import sideline
from streams import HEAD, numbered_events, server
from test_event_loops import NoReaders

NewLoop = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture(params=["asyncio", "without readers", "uvloop"])
def new_loop(request: pytest.FixtureRequest) -> NewLoop:
    if request.param == "uvloop":
        return pytest.importorskip("uvloop", reason="there is no uvloop for this platform").new_event_loop
    return {"asyncio": asyncio.SelectorEventLoop, "without readers": NoReaders}[request.param]


@pytest.fixture
def go() -> threading.Event:
    """Lets the service send."""
    return threading.Event()


@pytest.fixture
def stream(go: threading.Event) -> Iterator[sideline.LiveStream]:
    def wait(to: socket.socket) -> None:
        to.sendall(HEAD)
        go.wait(20)
        to.sendall(numbered_events(2))
        to.recv(1)

    with server([wait]) as service, service.client() as client, client.live_stats("g1", notices=False) as stream:
        yield stream
        go.set()


@pytest.mark.parametrize("names", [["alone"], ["one", "other"]], ids=len)
def test_tasks_continue_in_turn_each_as_itself(stream: sideline.LiveStream, go: threading.Event, new_loop: NewLoop, names: list[str]) -> None:
    variable = contextvars.ContextVar("variable", default="none")

    async def read(name: str) -> tuple[object, ...]:
        variable.set(name)
        item = await anext(stream)
        task = asyncio.current_task()
        assert task
        return variable.get(), task.get_name(), item.to_dict()["n"]

    async def main() -> None:
        tasks = [asyncio.create_task(read(name), name=name) for name in names]
        await asyncio.sleep(0.05)
        go.set()
        assert await asyncio.gather(*tasks) == [(name, name, n) for n, name in enumerate(names)]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(main(), 20))


def test_a_cancelled_wait_says_why_and_takes_nothing(stream: sideline.LiveStream, go: threading.Event, new_loop: NewLoop) -> None:
    async def main() -> None:
        waiting = asyncio.create_task(stream.__anext__())
        await asyncio.sleep(0.05)
        assert waiting.cancel("enough")
        with pytest.raises(asyncio.CancelledError) as excinfo:
            await waiting
        assert excinfo.value.args == ("enough",)
        go.set()
        assert [(await anext(stream)).id, (await anext(stream)).id] == ["0", "1"]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(main(), 20))


def test_system_exit_passes_through_the_event_loop(stream: sideline.LiveStream, go: threading.Event, new_loop: NewLoop) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, go.set)
        loop.call_later(60, loop.stop)
        async for _ in stream:
            raise SystemExit(3)

    began = time.monotonic()
    with asyncio.Runner(loop_factory=new_loop) as runner, pytest.raises(SystemExit, match="3"):
        runner.run(main())
    assert time.monotonic() - began < 30, "it went on until it was stopped"


@pytest.mark.parametrize("way", ["cancelled", "left waiting"])
def test_a_loop_that_waited_is_let_go(stream: sideline.LiveStream, new_loop: NewLoop, way: str) -> None:
    loop = new_loop()
    task = loop.create_task(stream.__anext__())
    loop.run_until_complete(asyncio.sleep(0.05))
    if way == "cancelled":
        task.cancel()
        loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    else:
        # asyncio would write to its log that the task was pending.
        loop.set_exception_handler(lambda *_: None)
    loop.close()
    if way == "left waiting":
        stream.close()
    seen = weakref.ref(loop)
    del loop, task
    gc.collect()
    assert seen() is None


def test_in_debug_mode_the_task_that_takes_long_is_named(stream: sideline.LiveStream, go: threading.Event, caplog: pytest.LogCaptureFixture) -> None:
    async def takes_long() -> None:
        loop = asyncio.get_running_loop()
        loop.slow_callback_duration = 0.2
        loop.call_later(0.05, go.set)
        async for _ in stream:
            time.sleep(0.3)
            break

    asyncio.run(takes_long(), debug=True)
    assert "takes_long" in caplog.text
