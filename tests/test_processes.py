"""Signals, threads, forks, event loops and exits around a call."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sideline

# Python 3.12 warns of any fork beside threads.
FORKS = ("-W", "ignore::DeprecationWarning")
SLOW = {"path": "/v1/data/teams", "delay": 30.0}


@pytest.fixture
def run(service: sideline.Simulator) -> Callable[[str], Any]:
    """Runs a program as a user would, with a client of the simulator; it may write nothing to stderr."""

    def run(program: str, *options: str) -> Any:
        # What is registered with atexit before the first client runs after the package's own hook.
        head = """
import atexit, contextlib, json, os, pathlib, sys, threading, time
import sideline
late = []
atexit.register(lambda: [function() for function in late])
client = sideline.Client()
"""
        done = subprocess.run(
            [sys.executable, *options, "-c", head + textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=30,
            env={**os.environ, **service.environ},
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_ctrl_c_ends_a_waiting_call_and_its_request(run: Callable[[str], Any], service: sideline.Simulator) -> None:
    service.faults.add(**SLOW)
    program = """
        import signal
        def press():
            time.sleep(0.5)
            globals()["pressed"] = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press).start()
        try:
            client.teams()
        except KeyboardInterrupt:
            print(time.perf_counter() - pressed)
        """
    # The fastest of five: the machine may be busy with something else.
    assert any(run(program) < 0.5 for _ in range(5))


def test_after_ctrl_c_the_client_still_works(run: Callable[[str], Any], service: sideline.Simulator) -> None:
    service.faults.add(**SLOW, times=1)
    duration = run(
        """
        import signal
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        # One request at a time: the next is sent only when the interrupted one is gone.
        client = sideline.Client(max_concurrency=1)
        try:
            client.teams()
        except KeyboardInterrupt:
            start = time.perf_counter()
            client.teams()
            print(time.perf_counter() - start)
        """
    )
    assert duration < 10


def test_a_signal_handler_that_does_not_raise_lets_the_call_continue(run: Callable[[str], Any], service: sideline.Simulator) -> None:
    service.faults.add("/v1/data/teams", delay=0.6)
    seen = run(
        """
        import signal
        seen = []
        signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        status = client.teams().status
        print(json.dumps([status, len(seen)]))
        """
    )
    assert seen == [200, 1]


def test_a_call_lets_other_threads_run(service: sideline.Simulator, client: sideline.Client) -> None:
    service.faults.add("/v1/data/teams", delay=0.5)
    waiting = threading.Thread(target=client.teams)
    waiting.start()
    start = time.perf_counter()
    turns = 0
    while waiting.is_alive():
        turns += 1
        time.sleep(0.001)
    waiting.join()
    assert turns > 10
    assert time.perf_counter() - start < 5


def test_many_threads_share_a_client(client: sideline.Client) -> None:
    statuses: list[int | None] = []
    threads = [threading.Thread(target=lambda: statuses.extend(client.teams().status for _ in range(10))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 160


def test_a_forked_child_has_connections_of_its_own(run: Callable[[str], Any]) -> None:
    seen = run(
        """
        client.teams()
        reader, writer = os.pipe()
        pids = []
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                os.write(writer, b"+" if client.teams().status == 200 else b"-")
                os._exit(0)
            pids.append(pid)
        after = client.teams().status
        codes = [os.waitpid(pid, 0)[1] for pid in pids]
        print(json.dumps([os.read(reader, 9).decode(), codes, after]))
        """,
        *FORKS,
    )
    assert seen == ["+++++", [0] * 5, 200]


def test_a_fork_while_other_threads_call(run: Callable[[str], Any]) -> None:
    seen = run(
        """
        stop = threading.Event()
        def call():
            while not stop.is_set():
                client.teams()
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads: thread.start()
        codes = []
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                os._exit(0 if client.teams().status == 200 else 1)
            codes.append(os.waitpid(pid, 0)[1])
        stop.set()
        for thread in threads: thread.join()
        print(json.dumps(codes))
        """,
        *FORKS,
    )
    assert seen == [0] * 10


def test_a_forked_child_may_exit_as_python_does(run: Callable[[str], Any]) -> None:
    seen = run(
        """
        client.teams()
        pid = os.fork()
        if pid == 0:
            client.teams()
            del client
            sys.exit(0)
        print(json.dumps(os.waitpid(pid, 0)[1]))
        """,
        *FORKS,
    )
    assert seen == 0


def test_a_forked_child_may_drop_what_it_inherited(run: Callable[[str], Any]) -> None:
    seen = run(
        """
        service = sideline.Simulator(teams=4, games=8)
        inner = service.client()
        inner.teams()
        pid = os.fork()
        if pid == 0:
            start = time.monotonic()
            service.close()
            del service, inner, client
            # The threads to be waited for are the parent's.
            sys.exit(0 if time.monotonic() - start < 10 else 2)
        code = os.waitpid(pid, 0)[1]
        print(json.dumps([code, inner.teams().status]))
        """,
        *FORKS,
    )
    assert seen == [0, 200]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_takes_a_client_along(method: str, service: sideline.Simulator, tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import multiprocessing, sideline, warnings
            warnings.filterwarnings("ignore", category=DeprecationWarning)

            def rows(client):
                return len(client.teams()["teams"])

            if __name__ == "__main__":
                client = sideline.Client()
                client.teams()
                with multiprocessing.get_context({method!r}).Pool(2) as pool:
                    print(pool.map(rows, [client] * 4))
            """
        )
    )
    env = {**os.environ, **service.environ}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=50, env=env)
    assert (done.stdout, done.stderr) == ("[16, 16, 16, 16]\n", "")


@pytest.mark.parametrize(
    "waiting",
    [
        "threading.Thread(target=client.teams, daemon=True).start()",
        """
        async def never():
            async with sideline.AsyncClient() as client:
                await asyncio.gather(*(client.teams() for _ in range(8)))
        import asyncio
        threading.Thread(target=lambda: asyncio.run(never()), daemon=True).start()
        """,
    ],
    ids=["a thread waits", "an event loop waits"],
)
def test_exit_with_calls_in_flight_is_clean(run: Callable[[str], Any], service: sideline.Simulator, waiting: str) -> None:
    """Of the thread it fails where the exit is not announced; of the loop it is a smoke test."""
    service.faults.add(**SLOW)
    start = time.perf_counter()
    for _ in range(5):
        assert run(textwrap.dedent(waiting) + "\ntime.sleep(0.3)\nprint(1)") == 1
    assert time.perf_counter() - start < 75, "each call would wait for 30 s"


@pytest.mark.skipif(sys.platform != "linux", reason="threads are named in /proc")
def test_no_thread_of_ours_outlives_the_exit_hooks(run: Callable[[str], Any]) -> None:
    seen = run(
        """
        def ours():
            count = 0
            for task in pathlib.Path("/proc/self/task").iterdir():
                # A thread that ends meanwhile has no name.
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    count += task.joinpath("comm").read_text() == "sideline\\n"
            return count
        client.teams()
        # A thread names itself when it first runs.
        until = time.monotonic() + 10
        while (before := ours()) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        late.append(lambda: print(json.dumps([before, ours()])))
        """
    )
    assert seen == [2, 0]


def test_a_call_while_the_interpreter_exits_is_an_error_that_says_so(run: Callable[[str], Any]) -> None:
    text = run(
        """
        def call():
            try:
                sideline.Client().teams()
            except sideline.SidelineError as error:
                print(json.dumps(str(error)))
        late.append(call)
        """
    )
    assert "interpreter is exiting" in text


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_run(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """`asyncio.run`, on either loop; an exception that nobody took is a failure."""
    factory = asyncio.new_event_loop
    if request.param == "uvloop":
        factory = pytest.importorskip("uvloop").new_event_loop
    unseen: list[Any] = []

    def loop_run(main: Any) -> Any:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.get_loop().set_exception_handler(lambda loop, context: unseen.append(context))
            return runner.run(main)

    yield loop_run
    assert unseen == []


def test_one_client_serves_one_event_loop_after_another(service: sideline.Simulator, loop_run: Callable[..., Any]) -> None:
    client = service.async_client()

    async def statuses() -> list[int | None]:
        return [payload.status for payload in await asyncio.gather(*(client.teams() for _ in range(20)))]

    assert loop_run(statuses()) == [200] * 20
    assert loop_run(statuses()) == [200] * 20

    async def close() -> None:
        await client.aclose()
        with pytest.raises(sideline.SidelineError, match="closed"):
            await client.teams()

    loop_run(close())


def test_a_call_is_a_coroutine(service: sideline.Simulator, loop_run: Callable[..., Any]) -> None:
    async def main() -> None:
        async with service.async_client() as client:
            task = asyncio.create_task(client.teams())
            async with asyncio.TaskGroup() as group:
                other = group.create_task(client.roster(service.teams[0]["id"]))
            assert (await task).status == other.result().status == 200
            with pytest.raises(sideline.NotFound):
                await client.stats("no-such-session")
            with pytest.raises(ValueError, match="time zone"):
                await client.schedule("2026-11-01T20:00:00")

    loop_run(main())


def test_cancelling_a_task_cancels_its_request(service: sideline.Simulator, loop_run: Callable[..., Any]) -> None:
    service.faults.add(**SLOW)

    async def main() -> float:
        # One request at a time: the next is sent only after the cancelled one has ended.
        async with service.async_client(max_concurrency=1) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.teams(), 0.2)
            start = time.perf_counter()
            await client.roster(service.teams[0]["id"])
            return time.perf_counter() - start

    assert loop_run(main()) < 1


def test_the_event_loop_runs_while_a_call_waits(service: sideline.Simulator, loop_run: Callable[..., Any]) -> None:
    service.faults.add("/v1/data/teams", delay=0.5)

    async def main() -> int:
        async with service.async_client() as client:
            waiting = asyncio.create_task(client.teams())
            turns = 0
            while not waiting.done():
                turns += 1
                await asyncio.sleep(0.001)
            return turns

    assert loop_run(main()) > 10


def test_closing_ends_a_waiting_call(service: sideline.Simulator) -> None:
    service.faults.add(**SLOW)
    client = service.client()
    threading.Timer(0.3, client.close).start()
    start = time.perf_counter()
    with pytest.raises(sideline.SidelineError, match="closed"):
        client.teams()
    assert time.perf_counter() - start < 5


def test_a_retry_is_silent_where_logging_is_not_set_up(run: Callable[[str], Any], service: sideline.Simulator) -> None:
    service.faults.add("/v1/data/teams", status=503, headers={"Retry-After": "0"}, times=1)
    assert run("client.teams(); print(1)") == 1
    assert [request.status for request in service.requests[-2:]] == [503, 200]


def test_logging_is_loaded_by_the_program_alone_and_receives_records_from_then_on(run: Callable[[str], Any], service: sideline.Simulator) -> None:
    service.faults.add("/v1/data/teams", delay=1.0, status=503, headers={"Retry-After": "0"}, times=1)
    is_loaded, retries = run(
        """
        waiting = threading.Thread(target=client.teams)
        waiting.start()
        time.sleep(0.3)
        loaded = "logging" in sys.modules
        import io, logging
        seen = io.StringIO()
        logging.basicConfig(level="WARNING", stream=seen, format="%(name)s %(message)s")
        waiting.join()
        print(json.dumps([loaded, seen.getvalue()]))
        """
    )
    assert not is_loaded
    assert "retrying in" in retries


def test_a_new_field_is_a_warning_alone_where_logging_is_not_set_up(run: Callable[[str], Any], service: sideline.Simulator) -> None:
    service.faults.add("/v1/data/teams", status=200, body=json.dumps({"teams": [{"id": 1, "name": "One", "new": 1}]}))
    program = """
        import warnings
        with warnings.catch_warnings(record=True) as warned:
            client.teams()
        print(json.dumps([str(one.message) for one in warned]))
        """
    assert "an unknown field: teams[].new" in run(program)[0]


def test_logging_is_the_standard_one_and_holds_no_secret(run: Callable[[str], Any], service: sideline.Simulator) -> None:
    text = run(
        """
        import io, logging
        seen = io.StringIO()
        client.teams()
        logging.basicConfig(level="DEBUG", stream=seen, format="%(name)s %(levelname)s %(message)s")
        client.teams()
        client.broadcast_teams()
        print(json.dumps(seen.getvalue()))
        """
    )
    assert text.startswith("sideline")
    assert all(line.startswith("sideline") for line in text.splitlines())
    assert service.secret not in text
    assert service.api_key not in text
