"""How everything here is timed: contenders take turns in one process, so that a machine that slows down slows all of them."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Times = dict[str, list[float]]

TURN = 0.005
"""Seconds that a turn fills at least: what takes less is called several times, or the collector's cold caches are measured."""


@dataclass(frozen=True)
class Spread:
    """Of several measurements: the median, and what half of them lie between."""

    median: float
    low: float
    high: float

    def of(self, unit: str) -> str:
        return f"{number(self.median)}{unit} ({number(self.low)}–{number(self.high)})"


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    group: str
    work: str
    peer: str
    measured: str
    reach: str = ""
    """The aim or guard; empty for what is only measured so that a change is seen."""
    reached: bool | None = None
    times: str = ""
    note: str = ""


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(values: Sequence[float]) -> Spread:
    if len(values) < 4:
        return Spread(statistics.median(values), min(values), max(values))
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def timed(work: Callable[[], object], calls: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of a call. What each gives is thrown away while the clock stands."""
    seconds = 0.0
    for _ in range(calls):
        start = clock()
        result = work()
        seconds += clock() - start
        del result
    return seconds / calls


def interleaved(contenders: Mapping[str, Callable[[], object]], rounds: int, warm: int = 2) -> Times:
    """The times of each contender, a turn for each in every round; the order turns too.

    A turn begins with a call that is not timed: what the one before left in the caches and gave back to the system is not its own."""
    names = list(contenders)
    calls = dict.fromkeys(names, 1)
    # What was made before (bodies, libraries) is nobody's garbage.
    gc.collect()
    gc.freeze()
    times: Times = {name: [] for name in names}
    for turn in range(-warm, rounds):
        gc.collect()
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            contenders[name]()
            seconds = timed(contenders[name], calls[name])
            if turn < 0:
                calls[name] = math.ceil(TURN / seconds)
            else:
                times[name].append(seconds)
    return times


def together(of_bodies: Sequence[Times]) -> Times:
    """The geometric mean over several bodies, of each round."""
    return {
        name: [
            statistics.geometric_mean(one_round)
            for one_round in zip(*(times[name] for times in of_bodies), strict=True)
        ]
        for name in of_bodies[0]
    }


def best(times: Times, peers: Iterable[str]) -> str:
    """The fastest of the peers."""
    return min(peers, key=lambda name: statistics.median(times[name]))


def others(times: Times, peers: Iterable[str], own: str) -> str:
    """The slower peers, for a row's note."""
    fastest = best(times, peers)
    slower = [f"{name} {number(ratio(times, name, own).median)}×" for name in peers if name != fastest]
    return f"against {', '.join(slower)}" if slower else ""


def ratio(times: Times, over: str, under: str) -> Spread:
    """Of each round."""
    return spread([a / b for a, b in zip(times[over], times[under], strict=True)])


def faster(group: str, work: str, peer: str, times: Times, own: str, reach: float | None, note: str = "") -> Row:
    """How many times the peer's time is of ours."""
    times_faster = ratio(times, peer, own)
    return Row(
        group,
        work,
        peer,
        f"{times_faster.of('×')} as fast",
        f"≥ {reach:g}×" if reach else "",
        times_faster.median >= reach if reach else None,
        _times(times, own, peer),
        note,
    )


def share(group: str, work: str, limit: str, times: Times, own: str, reach: float | None, note: str = "") -> Row:
    """What part of the limit's time ours is."""
    part = ratio(times, own, limit)
    return Row(
        group,
        work,
        limit,
        f"{part.of('×')} of its time",
        f"≤ {reach:g}×" if reach else "",
        part.median <= reach if reach else None,
        _times(times, own, limit),
        note,
    )


def _times(times: Times, own: str, other: str) -> str:
    ours, theirs = (statistics.median(times[name]) * 1e3 for name in (own, other))
    return f"{number(ours)} ms, {number(theirs)} ms"
