"""Throughput against a service that refuses with 429, beside httpx with exponential backoff.

    python benches/rates.py [--rounds 1] [--only "random 5 %"]

Both have 16 requests at once and send a refused one again: ours by its rate limiter, httpx after half a second, doubled each
time, with full jitter. The server is a process of its own; it counts what it refuses. httpx does not sign.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import ClassVar

import httpx
from measure import Row, number, spread

import sideline

AT_ONCE, RETRIES = 16, 10
BODY = json.dumps({"teams": []}).encode()
REFUSAL = json.dumps({"status": 429, "message": "Too many requests", "serviceRequestId": "r"}).encode()


@dataclass
class Bucket:
    """Tokens per second and at most, and the rate of another user of the same bucket."""

    rate: float
    size: float
    other: float = 0.0
    tokens: float = field(init=False)
    filled: float = 0.0
    other_turn: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = self.size

    def accepts(self, now: float) -> bool:
        while self.other and self.other_turn < now:
            self.take(self.other_turn)
            self.other_turn += 1 / self.other
        return self.take(now)

    def take(self, now: float) -> bool:
        self.tokens = min(self.size, self.tokens + max(0.0, now - self.filled) * self.rate)
        self.filled = max(self.filled, now)
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


def at_random(share: float) -> Callable[[float], bool]:
    dice = random.Random(7)
    return lambda _: dice.random() >= share


SERVICES: dict[str, tuple[int, Callable[[], Callable[[float], bool]]]] = {
    "no refusals": (5_000, lambda: lambda _: True),
    "random 1 %": (5_000, lambda: at_random(0.01)),
    "random 5 %": (5_000, lambda: at_random(0.05)),
    "bucket of 40/s": (1_200, lambda: Bucket(40, 5).accepts),
    "bucket of 40/s shared with 10/s": (900, lambda: Bucket(40, 5, other=10).accepts),
    "storm of 2 s": (8_000, lambda: lambda now: not 1 <= now < 3),
}
"""Units of a run, and who decides, given the seconds since the first request."""


class Service(asyncio.Protocol):
    """HTTP/1.1 without anything but GET."""

    accepts: Callable[[float], bool]
    begun = 0.0
    counts: ClassVar = [0, 0]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.left = transport, b""

    def data_received(self, data: bytes) -> None:
        *heads, self.left = (self.left + data).split(b"\r\n\r\n")
        for _ in heads:
            now = time.monotonic()
            Service.begun = Service.begun or now
            is_accepted = Service.accepts(now - Service.begun)
            Service.counts[is_accepted] += 1
            status, body = (b"200 OK", BODY) if is_accepted else (b"429 Too Many Requests", REFUSAL)
            head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(body))
            self.transport.write(head + body)  # type: ignore[attr-defined]


def serve(name: str, pipe: Connection) -> None:
    async def run() -> None:
        Service.accepts = staticmethod(SERVICES[name][1]())
        server = await asyncio.get_running_loop().create_server(Service, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)
        pipe.send(Service.counts)

    asyncio.run(run())


def with_sideline(base: str, count: int) -> int:
    with sideline.Client(username="bench", secret="bench-secret", base_url=base, max_concurrency=AT_ONCE) as client:
        batch = client.stats([f"s{number}" for number in range(count)], on_error="keep", progress=False)
    return count - batch.counts["failed"]


def with_httpx(base: str, count: int) -> int:
    async def run() -> int:
        numbers, accepted = iter(range(count)), 0

        async def work(client: httpx.AsyncClient) -> None:
            nonlocal accepted
            for unit in numbers:
                for retry in range(RETRIES):
                    response = await client.get(f"{base}/v1/data/stats/s{unit}/stats")
                    if response.status_code == 200:
                        accepted += len(response.json()) > 0
                        break
                    await asyncio.sleep(0.5 * 2**retry * random.random())

        async with httpx.AsyncClient(trust_env=False) as client:
            await asyncio.gather(*(work(client) for _ in range(AT_ONCE)))
        return accepted

    return asyncio.run(run())


def measured(name: str, run: Callable[[str, int], int], scale: float) -> tuple[float, float, int]:
    """Accepted requests a second, the share of refusals, and units without data."""
    count = int(SERVICES[name][0] * scale)
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(name, there))
    server.start()
    base = f"http://127.0.0.1:{here.recv()}"
    start = time.perf_counter()
    accepted = run(base, count)
    seconds = time.perf_counter() - start
    here.send(None)
    refused, allowed = here.recv()
    server.join()
    return accepted / seconds, refused / (refused + allowed), count - accepted


def rows(rounds: int) -> list[Row]:
    """Only what has an aim; the other services take minutes."""
    name, aim = "random 5 %", 0.5
    runs = [[measured(name, run, 0.4) for run in (with_sideline, with_httpx)] for _ in range(rounds)]
    times = spread([ours[0] / theirs[0] for ours, theirs in runs])
    rates = [
        number(statistics.median(values)) for values in zip(*([run[0] for run in both] for both in runs), strict=True)
    ]
    refused = statistics.median(ours[1] for ours, _ in runs)
    return [
        Row("Refusals", f"small requests, 16 at once, {name} answered with 429", "httpx with backoff",
            f"{times.of('×')} its rate", f"≥ {aim}×", times.median >= aim, f"{rates[0]}/s, {rates[1]}/s", f"{refused:.1%} refused")
    ]  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--scale", type=float, default=1.0, help="of the units, for a slow machine")
    arguments.add_argument("--only", choices=SERVICES)
    options = arguments.parse_args()
    print("| service | sideline/s | refused | failed | httpx/s | refused | failed | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name in [options.only] if options.only else SERVICES:
        rounds = [
            [measured(name, run, options.scale) for run in (with_sideline, with_httpx)] for _ in range(options.rounds)
        ]
        cells = []
        for runs in zip(*rounds, strict=True):
            speed, refused, failed = (statistics.median(values) for values in zip(*runs, strict=True))
            cells += [f"{speed:,.0f}", f"{refused:.1%}", f"{failed:.0f}"]
        ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in rounds)
        print(f"| {name} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
