"""Processes, threads, loops and signals beside batches and streams: nothing hangs, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from needs import needs

import sideline

# Python 3.12 warns of any fork beside threads.
FORKS = ("-W", "ignore::DeprecationWarning")
CLIENTS = 500
"""`make soak` opens and closes ten thousand."""

HEAD = """
import asyncio, atexit, faulthandler, gc, json, os, pickle, random, signal, sys, threading, time
import sideline
client = sideline.Client()
GAME, OVER, SESSIONS = {given}
def press(after=0.25):
    def pressed():
        time.sleep(after)
        globals()["at"] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=pressed, daemon=True).start()
def fork(child):
    pid = os.fork()
    if pid == 0:
        code = 9
        faulthandler.dump_traceback_later(15, exit=True)  # where it hangs, if it does
        try:
            code = child() or 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    return pid
def ended(*pids):
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
"""


@pytest.fixture(scope="module")
def season() -> Iterator[sideline.Simulator]:
    with sideline.Simulator(seed=7, teams=4, games=12, now="2027-03-01T12:00:00Z") as season:
        season.streams.heartbeat = 0.05
        yield season


@pytest.fixture(autouse=True)
def _no_faults_stay(season: sideline.Simulator) -> Iterator[None]:
    yield
    season.faults.clear()
    season.streams.clear()


@pytest.fixture(scope="module")
def game_ids(season: sideline.Simulator) -> tuple[str, str, list[str]]:
    """A future game, a finished one, and sessions."""
    with season.client() as client:
        games = [game["event_id"] for game in season.games]
        sessions = [row["session_id"] for row in client.game(games[:4]).table("sessions").to_dicts()]
    return games[-1], games[0], sessions


Run = Callable[..., Any]


@pytest.fixture
def run(season: sideline.Simulator, game_ids: tuple[str, str, list[str]]) -> Run:
    """Runs a program as a user would; nothing may come out on stderr. The result is its last line, as JSON."""

    def run(program: str, *options: str, status: int = 0) -> Any:
        text = HEAD.replace("{given}", repr(game_ids)) + textwrap.dedent(program)
        command = [sys.executable, *options, "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, timeout=40, env={**os.environ, **season.environ})
        assert (done.returncode, done.stderr) == (status, ""), (done.returncode, done.stderr)
        lines = done.stdout.splitlines()
        return json.loads(lines[-1]) if lines else None

    return run


# Ctrl-C.

BLOCKING = {
    "next of a stream": "next(stream := client.live(OVER, sources=['x'], notices=False))",
    "next of an event stream": "[_ for _ in client.live_stats(OVER, notices=False)]",
    "a stream's wait to connect again": "[_ for _ in client.live('no-such-game', notices=False, give_up_on=())]",
    "batches of a stream": "[_ for _ in client.live_stats(OVER).batches(max_seconds=60)]",
    "a replay": "[_ for _ in sideline.replay(journal, 1e-9)]",
    "a batch": "client.stats(SESSIONS)",
    "one call": "client.stats(SESSIONS[0])",
    "ranges that are joined": "client.team_events(1001, '2024-01-01', '2027-01-01')",
    "doctor": "client.doctor()",
    "a token": "client.subscription_token(GAME)",
    "a call that is sent again": "client.broadcast_teams()",
    "a body that comes slowly": "client.teams()",
    "the answer of a link": "client.follow(f'https://far.invalid/v1/data/stats/{SESSIONS[0]}/stats')",
    "the sync of an archive": "archive.sync(game_ids=[OVER])",
    "the display of a stream": "client.live(OVER, sources=['x']).display() or (_ for _ in ()).throw(KeyboardInterrupt)",
}


@pytest.mark.parametrize("call", BLOCKING)
def test_ctrl_c_ends_every_call_that_waits(call: str, run: Run, season: sideline.Simulator, tmp_path: Path) -> None:
    if "slowly" in call:
        season.faults.add("/v1/data/teams", bytes_per_second=1)
    elif "stream" not in call and call != "a replay":
        season.faults.add("/broadcast/*", status=503, headers={"Retry-After": "20"})
        season.faults.add("/v1/data/*", delay=30.0)
    journal = tmp_path / "game.journal"
    duration = run(
        f"""
        journal = {str(journal)!r}
        if {call == "a replay"}:
            with client.live_stats(OVER).record(journal) as stream:
                [next(stream), time.sleep(0.3), next(stream)]
        if {"archive" in call}:
            archive = sideline.Archive({str(tmp_path / "season")!r}, client)
            import deltalake, polars
        press()
        try:
            {BLOCKING[call]}
        except KeyboardInterrupt:
            took = time.perf_counter() - at
        else:
            took = 99
        client.close()
        print(took)
        """
    )
    assert duration < 3


def test_ctrl_c_ends_an_event_loop_with_everything_open(run: Run, season: sideline.Simulator) -> None:
    season.faults.add("*/stats", delay=30.0)
    duration = run(
        """
        async def main():
            async with sideline.AsyncClient() as client, client.live(OVER) as stream:
                async def read():
                    async for _ in stream: pass
                async with asyncio.TaskGroup() as group:
                    group.create_task(read())
                    group.create_task(client.stats(SESSIONS))
                    group.create_task(client.stats(SESSIONS[0]))
        press()
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print(time.perf_counter() - at)
        """
    )
    assert duration < 3


# Forks.

STATES = {
    "an event stream": ("stream = client.live_stats(OVER, notices=False); next(stream)", "stream"),
    "a websocket": ("stream = client.live(OVER, sources=['stats'], notices=False); next(stream)", "stream"),
    "a replay": (
        "s = client.live_stats(OVER).record('{journal}'); next(s); next(s); s.close(); stream = sideline.replay('{journal}', None); next(stream)",
        "stream",
    ),
    "a recording": ("stream = client.live_stats(OVER).record('{journal}'); next(stream)", "stream"),
    "a stream that is new": ("stream = client.live(OVER)", "stream"),
    "a stream that connects": ("stream = client.live_stats(GAME); stream.__enter__(); time.sleep(0.3)", "stream"),
    "a stream that waits": ("stream = client.live('none', give_up_on=(), retry_wait=30, max_wait=30); next(stream)", "stream"),
    "a closed client": ("client.teams(); client.close(); client = sideline.Client()", "None"),
    "a batch that is over": ("batch = client.stats(SESSIONS); stream = None", "None"),
    "an open table": ("table = client.stats(SESSIONS[0]).table(); payload = client.teams(); stream = None", "None"),
}


STAYS = {"a stream that is new": "new", "a stream that connects": "connecting", "a stream that waits": "waiting"}
"""The state of the parent's stream, where it is not connected."""


@pytest.mark.parametrize("state", STATES)
def test_a_fork_in_any_state_leaves_both_working(state: str, run: Run, season: sideline.Simulator, tmp_path: Path) -> None:
    begin, stream = STATES[state]
    if state == "a stream that connects":
        season.faults.add("*stream*", delay=30.0, times=1)
    seen = run(
        f"""
        {begin.replace("{journal}", str(tmp_path / "game.journal"))}
        def child():
            inherited = {stream}
            if inherited is not None:
                try:
                    next(inherited)
                    return 2
                except sideline.StreamClosed:
                    inherited.close()
            if client.teams().status != 200 or len(client.stats(SESSIONS)) != len(SESSIONS):
                return 3
            with client.live_stats(OVER, notices=False) as own:
                return 0 if next(own).to_dict() else 4
        codes = ended(fork(child), fork(child))
        still = client.teams().status
        if {stream} is not None and {state not in ("a replay",)}:
            # The parent's stream goes on: heartbeats come, and it is not lost.
            state = stream.state
            stream.close()
        else:
            state = "connected"
        print(json.dumps([codes, still, state]))
        """,
        *FORKS,
    )
    assert seen == [[0, 0], 200, STAYS.get(state, "connected")]


def test_a_fork_in_the_middle_of_an_event_loop_leaves_both_working(run: Run) -> None:
    seen = run(
        """
        async def main():
            async with sideline.AsyncClient() as mine, mine.live(OVER, sources=["stats"], notices=False) as stream:
                async def ask():
                    return len(await mine.stats(SESSIONS)) == len(SESSIONS) and (await mine.teams()).status == 200
                def child():
                    try:
                        stream._core.take()
                        return 2
                    except sideline.StreamClosed:
                        return 0 if asyncio.run(ask()) else 3
                waiting = [asyncio.ensure_future(what) for what in (ask(), ask(), anext(stream))]
                pids = []
                for _ in range(6):
                    await asyncio.sleep(0.003)
                    pids.append(fork(child))
                asked, again, item = await asyncio.gather(*waiting)
                return [ended(*pids), asked, again, item.seq >= 1, await ask(), stream.state]
        print(json.dumps(asyncio.run(main())))
        """,
        *FORKS,
    )
    assert seen == [[0] * 6, True, True, True, True, "connected"]


def test_a_forked_child_may_continue_with_its_parents_loop(run: Run) -> None:
    seen = run(
        """
        mine = sideline.AsyncClient()
        stream = mine.live(OVER, sources=["stats"], notices=False)
        loop = asyncio.new_event_loop()
        async def ask():
            payload, batch, item = await asyncio.gather(mine.teams(), mine.stats(SESSIONS), anext(stream))
            return payload.status == 200 and len(batch) == len(SESSIONS) and item.seq >= 1
        async def ask_in_the_child():
            with mine.live(OVER, sources=["stats"], notices=False) as own:
                payload, batch, item = await asyncio.gather(mine.teams(), mine.stats(SESSIONS), anext(own))
            return payload.status == 200 and len(batch) == len(SESSIONS) and item.seq >= 1
        before = loop.run_until_complete(ask())
        codes = ended(fork(lambda: 0 if loop.run_until_complete(ask_in_the_child()) else 2))
        after = loop.run_until_complete(ask())
        stream.close()
        loop.run_until_complete(mine.aclose())
        loop.close()
        print(json.dumps([before, codes, after]))
        """,
        *FORKS,
    )
    assert seen == [True, [0], True]


def test_a_forked_child_may_drop_streams_whatever_their_threads_hold(run: Run, tmp_path: Path) -> None:
    """The streams' thread holds a lock for much of the time; where a child takes it, it hangs."""
    seen = run(
        f"""
        journal = {str(tmp_path / "game.journal")!r}
        with client.live(OVER, sources=["stats"]).record(journal) as recorded:
            for _ in range(2000): next(recorded)
        codes = []
        for _ in range(60):
            streams = [sideline.replay(journal, None, buffer=3000) for _ in range(4)]
            for stream in streams: next(stream)
            del stream
            codes += ended(fork(streams.clear))
        print(json.dumps(codes))
        """,
        *FORKS,
    )
    assert seen == [0] * 60


def test_forks_while_batches_and_streams_run_in_other_threads(run: Run) -> None:
    seen = run(
        """
        stop = threading.Event()
        done = []
        def batches():
            while not stop.is_set():
                done.append(len(client.stats(SESSIONS)))
        def streams():
            while not stop.is_set():
                with client.live(OVER, sources=["stats"], notices=False) as stream:
                    done.append(next(stream).seq)
        def loops():
            async def ask():
                async with sideline.AsyncClient() as mine:
                    await mine.stats(SESSIONS)
            while not stop.is_set():
                asyncio.run(ask())
        threads = [threading.Thread(target=work) for work in (batches, streams, loops)]
        for thread in threads: thread.start()
        def child():
            return 0 if len(client.stats(SESSIONS)) == len(SESSIONS) else 1
        codes = []
        for _ in range(12):
            codes += ended(fork(child))
        stop.set()
        for thread in threads: thread.join()
        print(json.dumps([codes, len(done) > 0]))
        """,
        *FORKS,
    )
    assert seen == [[0] * 12, True]


@needs("pyarrow")
def test_a_spawned_process_takes_clients_payloads_batches_and_errors_and_gives_them_back(season: sideline.Simulator, game_ids: Any, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import multiprocessing, sideline
            SESSIONS = {game_ids[2]!r}

            def work(client, payload, batch):
                again = client.stats(SESSIONS[0])
                try:
                    client.stats([SESSIONS[0], "none"])
                except sideline.IncompleteBatch as error:
                    return again, payload, batch.retry(), error

            if __name__ == "__main__":
                client = sideline.Client()
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    payload, batch = client.teams(), client.stats(SESSIONS)
                    again, same, retried, error = pool.apply(work, (client, payload, batch))
                    assert again.raw == client.stats(SESSIONS[0]).raw
                    assert same.raw == payload.raw
                    assert retried.to_arrow().equals(batch.to_arrow())
                    print(error.batch.counts["missing"], len(error.batch.retry(on_error="keep")))
            """
        )
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=50, env={**os.environ, **season.environ})
    assert (done.stdout, done.stderr) == ("1 1\n", "")


# Threads, loops, cancellation.


def test_threads_with_loops_of_their_own_share_one_client(season: sideline.Simulator, game_ids: tuple[str, str, list[str]]) -> None:
    _, game_over, sessions = game_ids
    client = season.async_client()

    async def work() -> int:
        async def read() -> int:
            with client.live(game_over, sources=["stats"], notices=False) as stream:
                return sum([1 async for _, _item in _first(stream, 50)])

        batch, seen, *payloads = await asyncio.gather(client.stats(sessions), read(), *(client.stats(session) for session in sessions))
        assert [payload.raw for payload in batch] == [single.raw for single in payloads]
        return seen

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: [asyncio.run(work()) for _ in range(3)], range(8)))
    assert seen == [[50] * 3] * 8
    asyncio.run(client.aclose())


async def _first(stream: sideline.LiveStream, count: int) -> Any:
    for n in range(count):
        yield n, await anext(stream)


def test_a_storm_of_cancellations_leaves_nothing_running(season: sideline.Simulator, game_ids: tuple[str, str, list[str]]) -> None:
    _, game_over, sessions = game_ids
    rng = random.Random(3)
    season.faults.add("*/stats", delay=0.02, probability=0.5)

    async def storm() -> None:
        async with season.async_client(max_concurrency=8) as client:

            async def read() -> None:
                async with client.live(game_over, sources=["stats"]) as stream:
                    async for _ in stream:
                        await asyncio.sleep(0)

            makes = [lambda: client.stats(sessions), lambda: client.stats(sessions[0]), read, lambda: client.subscription_token(game_over), client.doctor]
            for _ in range(20):
                tasks = [asyncio.ensure_future(rng.choice(makes)()) for _ in range(30)]
                await asyncio.sleep(rng.random() * 0.03)
                for task in tasks:
                    if rng.random() < 0.9:
                        task.cancel()
                        if rng.random() < 0.3:
                            await asyncio.sleep(0)
                    else:
                        asyncio.get_running_loop().call_later(0.2, task.cancel)
                outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
                errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
                assert errors == []
            assert asyncio.all_tasks() == {asyncio.current_task()}
            # Each of the few places is free again.
            began = time.perf_counter()
            assert len(await client.stats(sessions)) == len(sessions)
            assert time.perf_counter() - began < 20

    asyncio.run(storm())


def test_objects_collected_in_another_thread_are_closed_there(season: sideline.Simulator, game_ids: tuple[str, str, list[str]]) -> None:
    _, game_over, sessions = game_ids
    before = 0, 0
    errors: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, errors.append
    try:
        for turn in range(21):
            if turn == 1:
                # The threads of calls and of streams are made once, when they are first needed.
                before = count_resources()
            client = season.client()
            stream = client.live(game_over, sources=["stats"], notices=False)
            next(stream)
            cycle: dict[str, Any] = {"client": client, "stream": stream, "batch": client.stats(sessions[:2]), "table": client.teams().table()}
            cycle["self"] = cycle
            loop = asyncio.new_event_loop()
            asking = season.async_client()
            waiting = loop.create_task(asking.stats(sessions[0]))
            loop.run_until_complete(asyncio.sleep(0))
            # The loop closes before the response arrives.
            waiting.cancel()
            loop.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
            loop.close()
            cycle["loop"] = loop, asking
            del client, stream, cycle, loop, asking, waiting
            collecting = threading.Thread(target=gc.collect)
            collecting.start()
            collecting.join(10)
            assert not collecting.is_alive()
    finally:
        sys.unraisablehook = hook
    assert errors == []
    _settles(before)


def count_resources() -> tuple[int, int]:
    """Threads and descriptors of this process: the simulator's too."""
    tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else threading.active_count()
    return tasks, len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def _settles(before: tuple[int, int], seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while any(now > earlier + 2 for now, earlier in zip(count_resources(), before, strict=True)) and time.monotonic() < until:
        time.sleep(0.02)
    assert all(now <= earlier + 2 for now, earlier in zip(count_resources(), before, strict=True)), (before, count_resources())


@pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors are read from /proc")
def test_clients_that_are_opened_and_closed_leave_nothing(run: Run) -> None:
    threads, descriptors, tasks, growth = run(
        f"""
        def held():
            with open("/proc/self/statm") as file:
                pages = int(file.read().split()[1])
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), pages * os.sysconf("SC_PAGE_SIZE")
        async def one(n):
            async with sideline.AsyncClient() as client:
                await client.teams()
            return len(asyncio.all_tasks())
        most = 0
        def rounds(count):
            global most
            for n in range(count):
                with sideline.Client() as client:
                    if n % 5 == 0: client.teams()
                    if n % 25 == 0:
                        with client.live(OVER, sources=["stats"]) as stream: next(stream)
                if n % 10 == 0:
                    most = max(most, asyncio.run(one(n)))
            gc.collect()
            time.sleep(0.5)
        rounds({CLIENTS // 5})
        before = held()
        rounds({CLIENTS})
        after = held()
        print(json.dumps([after[0] - before[0], after[1] - before[1], most, (after[2] - before[2]) / {CLIENTS}]))
        """
    )
    assert threads <= 2
    assert descriptors <= 2
    assert tasks == 1
    assert growth < 10_000, "bytes for each client"


# Exits.

UNDER_WAY = {
    "a batch": "client.stats(SESSIONS * 5)",
    "a stream": "[_ for _ in client.live(OVER)]",
    "a recording": "[_ for _ in client.live_stats(OVER).record('{journal}')]",
    "a replay": "[_ for _ in sideline.replay('{recorded}', 0.01)]",
    "the doctor": "client.doctor()",
    "an event loop": "asyncio.run(everything())",
    "many clients": "[sideline.Client().teams() for _ in range(10_000)]",
    "a simulator": "[sideline.Simulator(teams=4, games=8).client().teams() for _ in range(10_000)]",
}


EXITS = ((0.0, "sys.exit(3)"), (0.03, "sys.exit(3)"))
MORE_EXITS = ((0.005, "os._exit(3)"), (0.15, "sys.exit(3)"), (0.3, "os.kill(os.getpid(), signal.SIGKILL)"))
"""After how many seconds, and how."""


@pytest.mark.parametrize("exits", [pytest.param(EXITS, id="few"), pytest.param(MORE_EXITS, id="more", marks=pytest.mark.extended)])
@pytest.mark.parametrize("activity", UNDER_WAY)
def test_an_exit_at_any_point_is_clean(activity: str, exits: Any, run: Run, season: sideline.Simulator, tmp_path: Path) -> None:
    """A smoke test: if the threads were not stopped, only the stream and the loop would fail. pyo3 blocks a thread that
    returns to Python too late; the tests below cover what pyo3 cannot prevent."""
    journal = tmp_path / "recorded"
    with season.client() as client, client.live_stats(season.games[0]["event_id"]).record(journal) as stream:
        _ = [next(stream), next(stream)]
    season.faults.add("*/stats", delay=0.03)
    work = UNDER_WAY[activity].replace("{journal}", str(tmp_path / "journal")).replace("{recorded}", str(journal))
    for after, statement in exits:
        run(
            f"""
            async def everything():
                async with sideline.AsyncClient() as mine, mine.live(OVER) as stream:
                    await asyncio.gather(mine.stats(SESSIONS), anext(stream), mine.doctor())
                    await asyncio.sleep(9)
            def work():
                try:
                    {work}
                except sideline.SidelineError:
                    pass  # what is under way is told that the interpreter exits
            threading.Thread(target=work, daemon=True).start()
            time.sleep({after})
            {statement}
            """,
            status=-9 if "SIGKILL" in statement else 3,
        )


def test_an_exit_writes_what_a_daemon_thread_recorded(run: Run, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    run(
        f"""
        taken = []
        def record():
            with client.live(OVER, sources=["stats"]).record({str(journal)!r}) as stream:
                for item in stream:
                    taken.append(item)
                    if len(taken) == 30: time.sleep(99)
        threading.Thread(target=record, daemon=True).start()
        while len(taken) < 30: time.sleep(0.001)
        """
    )
    items = list(sideline.replay(journal, speed=None))
    assert [type(item).__name__ for item in items[:30]] == ["Connected"] + 29 * ["Update"]


ONCE, SEVERAL = pytest.param(1, id="few"), pytest.param(4, id="more", marks=pytest.mark.extended)
"""How often each exit is tried: the moments differ each time."""


@pytest.mark.parametrize("times", [ONCE, SEVERAL])
@pytest.mark.parametrize(
    "work",
    [
        "table.to_arrow()",
        "table.to_pandas()",
        "table.to_polars()",
        "table._repr_html_()",
        "payload._repr_html_()",
        "payload.headers",
        "str(table)",
        "table.__arrow_c_stream__(wider.__arrow_c_schema__())",
        "sideline.Table._from_arrow('shots', Arrow())",
        "sideline.SCHEMAS['shots']._repr_html_()",
        "service.requests",
        "sideline.Payload.from_bytes('teams', b'[').to_dict()",
    ],
)
@needs("pyarrow")
def test_an_exit_while_a_daemon_thread_is_in_python_below_rust_is_clean(work: str, times: int, run: Run) -> None:
    """Until Python 3.14 such a thread is unwound through Rust's frames, which aborts the process: the exit waits for it.

    Every case is called from Python and ends in ours: `pyarrow.table(…)` in such a thread aborts without sideline too, in its own C++.
    """
    # Not all for all: to import them takes longer than the rest, and `empty_table` imports pandas.
    modules = ", ".join(["pyarrow", *(name for name in ("pandas", "polars") if name in work)])
    for after in (0.05, 0.001, 0.1, 0.2)[:times]:
        run(
            f"""
            import contextlib, {modules}
            payload = client.stats(SESSIONS[0])
            table = payload.table()
            if {"wider" in work}:
                fields = [field.with_type(pyarrow.large_string()) if field.type == pyarrow.string() else field for field in table.to_arrow().schema]
                wider = sideline.Table._from_arrow("wider", pyarrow.schema(fields).empty_table())
            class Arrow:
                def __arrow_c_stream__(self, requested_schema=None):
                    sum(range(1000))
                    return pyarrow.RecordBatchReader.from_stream(table).__arrow_c_stream__()
            if {"service" in work}:
                service = sideline.Simulator(teams=4, games=8)
                inner = service.client()
                _ = [inner.teams() for _ in range(50)]
            def forever():
                while True:
                    with contextlib.suppress(ValueError, sideline.SidelineError): {work}
            with contextlib.suppress(ValueError, sideline.SidelineError): {work}
            for _ in range(2): threading.Thread(target=forever, daemon=True).start()
            time.sleep({after})
            sys.exit(3)
            """,
            status=3,
        )


@pytest.mark.parametrize("times", [ONCE, SEVERAL])
def test_an_exit_while_a_daemon_threads_loop_waits_for_streams_is_clean(
    times: int, run: Run, season: sideline.Simulator, game_ids: Any, tmp_path: Path
) -> None:
    """A loop's callbacks run Python too, and so do the errors of calls that start during the exit."""
    journal = tmp_path / "recorded"
    with season.client() as client, client.live(game_ids[1], sources=["stats"]).record(journal) as stream:
        _ = [next(stream) for _ in range(30)]
    for turn in range(2 * times):
        run(
            f"""
            async def wait(stream): await stream._core.wait()
            async def forever():
                while True:
                    with sideline.replay({str(journal)!r}, None) as stream:
                        async for _ in stream:
                            await asyncio.gather(*(wait(stream) for _ in range(20)))
            for _ in range(2): threading.Thread(target=lambda: asyncio.run(forever()), daemon=True).start()
            time.sleep({0.1 + 0.02 * turn})
            sys.exit(3)
            """,
            status=3,
        )


def test_an_exit_in_the_middle_of_a_call_of_the_main_thread_is_clean(run: Run) -> None:
    for after in (0.001, 0.01, 0.05, 0.2):
        run(
            f"""
            client.stats(SESSIONS)
            client.live(OVER, sources=["stats"]).close()  # what is imported at the first call: Python drops an exit in an import
            signal.signal(signal.SIGALRM, lambda *_: sys.exit(3))
            signal.setitimer(signal.ITIMER_REAL, {after})
            while True:
                client.stats(SESSIONS)
                with client.live(OVER, sources=["stats"]) as stream:
                    [next(stream), next(stream)]
            """,
            status=3,
        )


def test_python_in_development_mode_has_nothing_to_complain_of(run: Run, tmp_path: Path) -> None:
    seen = run(
        f"""
        journal = {str(tmp_path / "game.journal")!r}
        async def main():
            # asyncio's debug mode tells of each 0.1 s in which other tasks stood still: on a busy machine it is Python's imports.
            asyncio.get_running_loop().slow_callback_duration = 5
            async with sideline.AsyncClient() as client, client.live(OVER, sources=["stats"], notices=False) as stream:
                batch, one, item = await asyncio.gather(client.stats(SESSIONS), client.teams(), anext(stream))
                async for _ in stream: break
                waiting = asyncio.create_task(anext(client.live("none", give_up_on=())))
                await asyncio.sleep(0.05)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                return len(batch)
        count = asyncio.run(main())
        batch = client.stats([*SESSIONS, "none"], on_error="keep")
        pickle.loads(pickle.dumps(batch)).table().to_arrow()
        client.team_events(1001, "2024-01-01", "2027-01-01").to_polars()
        client.shots(SESSIONS[0]).to_pandas()
        with client.live_stats(OVER).record(journal) as stream: next(stream), next(stream)
        list(sideline.replay(journal, None))
        for _ in client.live(OVER, sources=["stats"]): break
        assert client.doctor().ok
        with sideline.Simulator(teams=4, games=8) as service, service.client() as other:
            other.teams()
        abandoned = client.live(OVER, sources=["stats"]); next(abandoned)
        del abandoned
        gc.collect()
        print(json.dumps(count == len(SESSIONS)))
        """,
        "-X",
        "dev",
        "-W",
        "error",
        "-X",
        "warn_default_encoding",
    )
    assert seen is True
