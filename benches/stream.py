"""Event streams to Python dicts: as fast as they come, and paced.

    target/bench/bin/python benches/stream.py [--rounds 7]

A flood is 2,000 snapshots as the simulator sends them, or 20,000 with the teams' totals alone; a round reads all of them. The paced
stream sends an event every 5 ms with the time it was sent; lag is from there until the dict is made.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

import aiohttp
import httpx
import httpx_sse
import orjson
import uvloop
from measure import Row, faster, interleaved, number, spread
from serving import EVENTS, events, serving

import sideline

PATH = "/broadcast/v1/stats/event-stream"
PACED = 400
"""Events of a paced round."""


def address(base: str, name: str) -> str:
    return f"{base}{PATH}?schedule_id={name}&api_key=bench"


def options(base: str) -> dict[str, str]:
    return {"api_key": "bench", "broadcast_base_url": base, "environment": "production", "sport": "basketball"}


def ours(base: str, name: str) -> Iterator[dict]:
    with sideline.Client(**options(base)) as client, client.live_stats(name, notices=False) as stream:
        for item in stream:
            yield item.to_dict()


async def ours_async(base: str, name: str) -> AsyncIterator[dict]:
    async with sideline.AsyncClient(**options(base)) as client, client.live_stats(name, notices=False) as stream:
        async for item in stream:
            yield item.to_dict()


async def by_hand(base: str, name: str) -> AsyncIterator[dict]:
    """Splits at blank lines; knows only events of one data line, which is less than the standard asks."""
    async with aiohttp.ClientSession() as session, session.get(address(base, name)) as response:
        buffer = b""
        async for chunk in response.content.iter_any():
            *whole, buffer = (buffer + chunk).split(b"\n\n")
            for event in whole:
                if event.startswith(b"data: "):
                    yield orjson.loads(event[6:])


async def by_httpx(base: str, name: str) -> AsyncIterator[dict]:
    async with (
        httpx.AsyncClient(timeout=30) as client,
        httpx_sse.aconnect_sse(client, "GET", address(base, name)) as source,
    ):
        async for event in source.aiter_sse():
            yield orjson.loads(event.data)


def taken(reader: Iterator[dict], count: int) -> dict:
    for seen, document in enumerate(reader, 1):
        if seen == count:
            reader.close()
            return document
    raise SystemExit("the stream ended early")


def awaited(reader: Callable[[], AsyncIterator[dict]], count: int) -> dict:
    async def run() -> dict:
        seen, documents = 0, reader()
        try:
            async for document in documents:
                seen += 1
                if seen == count:
                    return document
        finally:
            await documents.aclose()
        raise SystemExit("the stream ended early")

    return asyncio.run(run())


def lags(reader: Callable[[], AsyncIterator[dict]], run: Callable[[Coroutine], None], skip: int = 20) -> list[float]:
    """Milliseconds, of each event after the first ones."""
    found: list[float] = []

    async def read() -> None:
        documents = reader()
        async for document in documents:
            found.append((time.time_ns() - document["sent"]) / 1e6)
            if len(found) == PACED + skip:
                break
        await documents.aclose()

    run(read())
    return found[skip:]


def paced(readers: dict[str, Callable[[], list[float]]], loop: str, rounds: int) -> list[Row]:
    """Of each round the median and the 99th percentile, against the best peer on the same kind of loop."""
    of_rounds: dict[str, list[list[float]]] = {who: [] for who in readers}
    names = list(readers)
    for turn in range(rounds):
        for who in names[turn % 3 :] + names[: turn % 3]:
            of_rounds[who].append(sorted(readers[who]()))
    found = []
    for part in (0.5, 0.99):
        of = {who: [lag[int(part * len(lag))] for lag in rounds_] for who, rounds_ in of_rounds.items()}
        own = spread(of.pop("sideline"))
        peer, best = min(of.items(), key=lambda one: statistics.median(one[1]))
        theirs = spread(best)
        found.append(Row("Streams", f"paced stream{loop}, lag p{part * 100:.0f}", peer, f"{own.of(' ms')} against {theirs.of(' ms')}",
                         "not worse", own.median <= theirs.high, f"{number(own.median)} ms, {number(theirs.median)} ms"))  # fmt: skip
    return found


def rows(rounds: int) -> list[Row]:
    found = []
    documents = events()
    with serving() as served:
        base = served.plain
        for name, count in EVENTS.items():
            contenders = {
                "sideline": lambda n=name, c=count: taken(ours(base, n), c),
                "sideline, async for": lambda n=name, c=count: awaited(lambda: ours_async(base, n), c),
                "aiohttp by hand + orjson": lambda n=name, c=count: awaited(lambda: by_hand(base, n), c),
                "httpx-sse + orjson": lambda n=name, c=count: awaited(lambda: by_httpx(base, n), c),
            }
            expected = orjson.loads(documents[name][(count - 1) % len(documents[name])])
            for who, read in contenders.items():
                if read() != expected:
                    raise SystemExit(f"events, {who}: the results differ, so nothing is timed")
            times = interleaved(contenders, rounds, warm=0)
            size = statistics.fmean(map(len, documents[name])) / 1e3
            for own, aims in (("sideline", (1.2, 3)), ("sideline, async for", (None, None))):
                work = f"events of {number(size)} kB to dicts" + own.removeprefix("sideline")
                note = f"{number(count / statistics.median(times[own]))} events/s"
                for peer, aim in zip(("aiohttp by hand + orjson", "httpx-sse + orjson"), aims, strict=True):
                    found.append(faster("Streams", work, peer, times, own, aim, note))
        readers = {
            "sideline": lambda: ours_async(base, "paced"),
            "aiohttp by hand + orjson": lambda: by_hand(base, "paced"),
            "httpx-sse + orjson": lambda: by_httpx(base, "paced"),
        }
        for loop, run in (("", asyncio.run), (", on uvloop", uvloop.run)):
            found += paced(
                {who: lambda reader=reader, run=run: lags(reader, run) for who, reader in readers.items()}, loop, rounds
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    for row in rows(parser.parse_args().rounds):
        print(
            f"{row.work} | {row.peer} | {row.measured} | {row.reach} {row.reached} | {row.times} | {row.note}",
            flush=True,
        )


if __name__ == "__main__":
    main()
