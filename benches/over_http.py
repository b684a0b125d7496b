"""Games and small signed requests over HTTP, and the memory that they take. (It is not named http.py: that is the library's.)

    target/bench/bin/python benches/over_http.py [--rounds 5]

Every contender signs each request, keeps its connections, and has as many requests at once as the others. The server is a process
of its own that answers from memory (`server/serve.rs`); CPU is that of the client's process, all threads.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gc
import hashlib
import hmac
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from email.utils import formatdate
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import sideline

GAMES, SMALL = 300, 20_000
GAMES_AT_ONCE, SMALL_AT_ONCE = 16, 32
USER, SECRET = "bench", "bench-secret"


def game_path(number: int) -> str:
    return f"/v1/data/stats/games/game-{number}/stats/details"


def small_path(number: int) -> str:
    return f"/v1/data/games/game-{number}"


def signed(host: str, path: str) -> dict[str, str]:
    date = formatdate(usegmt=True)
    text = f"date: {date}\nhost: {host}\nGET {path} HTTP/1.1"
    signature = base64.b64encode(hmac.digest(SECRET.encode(), text.encode(), hashlib.sha1)).decode()
    authorization = (
        f'hmac username="{USER}",algorithm="hmac-sha1",headers="date host request-line",signature="{signature}"'
    )
    return {"Date": date, "Authorization": authorization}


def client(base: str, at_once: int) -> sideline.Client:
    return sideline.Client(
        username=USER, secret=SECRET, base_url=base, environment="production", sport="basketball", max_concurrency=at_once
    )  # fmt: skip


def ids(count: int) -> list[str]:
    return [f"game-{number}" for number in range(count)]


async def with_aiohttp(base: str, count: int, path: Callable[[int], str], at_once: int, made: Callable) -> list:
    import aiohttp

    host, answers, numbers = base.removeprefix("http://"), [None] * count, iter(range(count))
    # A small buffer is filled and emptied again and again: a body of 1.5 MB takes twice as long to arrive.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once), read_bufsize=1 << 20) as session:

        async def work() -> None:
            for number in numbers:
                target = path(number)
                async with session.get(base + target, headers=signed(host, target)) as response:
                    assert response.status == 200
                    made_of = made(await response.read(), number)
                answers[number] = await made_of if isinstance(made_of, asyncio.Future) else made_of

        await asyncio.gather(*(work() for _ in range(at_once)))
    return answers


def small_aiohttp(base: str) -> list[bytes]:
    return asyncio.run(with_aiohttp(base, SMALL, small_path, SMALL_AT_ONCE, lambda raw, _: raw))


def small_pycurl(base: str) -> list[bytes]:
    import pycurl

    host, answers, numbers = base.removeprefix("http://"), [b""] * SMALL, iter(range(SMALL))
    multi = pycurl.CurlMulti()
    handles = [pycurl.Curl() for _ in range(SMALL_AT_ONCE)]

    def start(handle: pycurl.Curl) -> int:
        number = next(numbers, None)
        if number is None:
            return 0
        target = small_path(number)
        handle.number, handle.buffer = number, BytesIO()
        handle.setopt(pycurl.URL, base + target)
        handle.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in signed(host, target).items()])
        handle.setopt(pycurl.WRITEDATA, handle.buffer)
        multi.add_handle(handle)
        return 1

    running = sum(start(handle) for handle in handles)
    while running:
        multi.perform()
        _, done, failed = multi.info_read()
        assert not failed
        for handle in done:
            answers[handle.number] = handle.buffer.getvalue()
            multi.remove_handle(handle)
            running += start(handle) - 1
        if running and not done:
            multi.select(1.0)
    return answers


def small_batch(base: str) -> sideline.Batch:
    with client(base, SMALL_AT_ONCE) as asks:
        return asks.game(ids(SMALL), progress=False)


def small_calls(base: str) -> list[sideline.Payload]:
    """A call for each, by as many tasks as there are requests at once."""

    async def run() -> list[sideline.Payload]:
        answers, numbers = [None] * SMALL, iter(range(SMALL))
        async with sideline.AsyncClient(
            username=USER, secret=SECRET, base_url=base, environment="production", sport="basketball",
            max_concurrency=SMALL_AT_ONCE,
        ) as asks:  # fmt: skip

            async def work() -> None:
                for number in numbers:
                    answers[number] = await asks.game(f"game-{number}")

            await asyncio.gather(*(work() for _ in range(SMALL_AT_ONCE)))
        return answers

    return asyncio.run(run())


def games_sideline(base: str) -> object:
    with client(base, GAMES_AT_ONCE) as asks:
        return asks.game_stats_details(ids(GAMES), progress=False).to_arrow()


def games_aiohttp(base: str, pool: Executor | None = None) -> object:
    """Tables made where the answers arrive, or in the processes of a pool."""
    import peers
    import pyarrow

    def made(raw: bytes, number: int) -> object:
        game = f"game-{number}"
        if pool is None:
            return peers.stat_events(raw, game)
        return asyncio.get_running_loop().run_in_executor(pool, peers.stat_events, raw, game)

    return pyarrow.concat_tables(asyncio.run(with_aiohttp(base, GAMES, game_path, GAMES_AT_ONCE, made)))


def clocked(contenders: dict[str, Callable[[], object]], rounds: int) -> tuple[dict, dict]:
    """Wall-clock and CPU seconds of each contender, in turns."""
    wall: dict[str, list[float]] = {name: [] for name in contenders}
    cpu: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    gc.collect()
    gc.freeze()
    for turn in range(rounds):
        gc.collect()
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            start, spent = time.perf_counter(), time.process_time()
            result = contenders[name]()
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - spent)
            del result
    return wall, cpu


def held(what: str, base: str) -> object:
    """All games as bytes, held at once; run in a process of its own."""
    if what == "aiohttp":
        return asyncio.run(with_aiohttp(base, GAMES, game_path, GAMES_AT_ONCE, lambda raw, _: raw))
    with client(base, GAMES_AT_ONCE) as asks:
        batch = asks.game_stats_details(ids(GAMES), progress=False)
    return batch if what == "batch" else [payload.raw for payload in batch]


def peak(what: str, base: str) -> float:
    """Megabytes."""
    command = [sys.executable, __file__, "--held", what, base]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1e3


def rows(rounds: int) -> list:
    import peers
    from measure import Row, best, faster, number, others, ratio, spread
    from serving import serving
    from workloads import workloads

    found = []
    own, alone = "sideline", f"aiohttp + {peers.MSGSPEC}"
    cores = f"{alone}, a process for each core"
    with serving() as served, ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, base in (("plain", served.plain), ("gzip", served.gzip)):
            contenders = {
                own: lambda b=base: games_sideline(b),
                alone: lambda b=base: games_aiohttp(b),
                cores: lambda b=base: games_aiohttp(b, pool),
            }
            ours = games_sideline(base).cast(peers.STAT_EVENTS)
            if any(contenders[rival]() != ours for rival in (alone, cores)):
                raise SystemExit(f"games, {name}: the results differ, so nothing is timed")
            del ours
            work, rivals = f"300 games of 1.5 MB, {name} → Arrow", (alone, cores)
            wall, cpu = clocked(contenders, max(3, rounds - 2))
            rate = GAMES / statistics.median(wall[own])
            note = f"{number(rate)} games/s, {GAMES_AT_ONCE} at once; {others(wall, rivals, own)}"
            found.append(faster("HTTP", work, best(wall, rivals), wall, own, None, note))
            less = ratio(cpu, alone, own)
            seconds = [number(statistics.median(cpu[who])) for who in (own, alone)]
            found.append(Row("HTTP", f"{work}: CPU", alone, f"{less.of('×')} less CPU", "≥ 8×", less.median >= 8,
                             f"{seconds[0]} s, {seconds[1]} s"))  # fmt: skip
        small = workloads()["small"].raw
        contenders = {
            "batch": lambda: small_batch(served.plain),
            "calls": lambda: small_calls(served.plain),
            "aiohttp": lambda: small_aiohttp(served.plain),
            "pycurl multi": lambda: small_pycurl(served.plain),
        }
        for who, work in contenders.items():
            answers = list(work())
            raws = {answer if isinstance(answer, bytes) else answer.raw for answer in answers}
            if len(answers) != SMALL or raws != {small}:
                raise SystemExit(f"small requests, {who}: the results differ, so nothing is timed")
        wall, cpu = clocked(contenders, rounds)
        for own, how in (("batch", "one call for many ids"), ("calls", "AsyncClient, a call each")):
            work = f"20,000 small signed requests, 32 at once: {how}"
            note = f"{number(SMALL / statistics.median(wall[own]))} requests/s"
            found += [faster("HTTP", work, peer, wall, own, None, note) for peer in ("aiohttp", "pycurl multi")]
        peaks = {what: [peak(what, served.plain) for _ in range(3)] for what in ("batch", "bytes", "aiohttp")}
        for what, work in (("batch", "the Batch held"), ("bytes", "and .raw of each beside it")):
            more = spread([a / b for a, b in zip(peaks[what], peaks["aiohttp"], strict=True)])
            megabytes = [number(statistics.median(peaks[who])) for who in (what, "aiohttp")]
            found.append(Row("HTTP", f"peak memory of those 300 games as bytes: {work}", "aiohttp", f"{more.of('×')} its memory",
                             times=f"{megabytes[0]} MB, {megabytes[1]} MB"))  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--held", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.held:
        all_of_it = held(*given.held)
        assert all_of_it
        # Not getrusage: its peak is that of whoever started this process, if that was higher.
        status = Path("/proc/self/status").read_text()
        print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))
        return
    for row in rows(given.rounds):
        print(
            f"{row.work} | {row.peer} | {row.measured} | {row.reach} {row.reached} | {row.times} | {row.note}",
            flush=True,
        )


if __name__ == "__main__":
    main()
