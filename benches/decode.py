"""Stat details of a full game, bytes to Arrow: sideline against msgspec -> pyarrow, in one run.

    make bench          # builds the release extension in an environment of its own, then runs this

The peer is the best plain-Python route we know: typed msgspec structs, one pass that fills a list for each column (parents
repeated, clocks parsed once for each distinct text), `pyarrow.array` with the final types. Both make the same table, which is
checked before anything is timed. Rounds are interleaved, so that a machine that slows down slows both.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from functools import lru_cache

import msgspec
import pyarrow as pa

import sideline


class Occurrence(msgspec.Struct):
    occurred_at: int
    value: float
    period: str
    game_clock: str | None = None
    shot_clock: str | None = None
    x: float | None = None
    y: float | None = None
    z: float | None = None
    hoop_to_event_x: float | None = None
    hoop_to_event_y: float | None = None


class Details(msgspec.Struct):
    firstname: str
    lastname: str


class Line(msgspec.Struct):
    id: int
    version: int
    stats: dict[str, list[Occurrence]]
    player_details: Details | None = None


class Team(msgspec.Struct):
    id: int
    name: str
    player_stats: list[Line]


class Body(msgspec.Struct):
    teams: list[Team]


DECODER = msgspec.json.Decoder(Body)
SCHEMA = pa.schema(sideline.SCHEMAS["stat_events"])
PLAIN = pa.schema([f.with_type(pa.string()) if pa.types.is_dictionary(f.type) else f for f in SCHEMA])


@lru_cache(maxsize=100_000)
def seconds(clock: str | None) -> float | None:
    if clock is None:
        return None
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total


def with_msgspec(raw: bytes, game_id: str) -> pa.Table:
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA.names}
    c = columns
    for team in DECODER.decode(raw).teams:
        for line in team.player_stats:
            who = line.player_details
            for stat, occurrences in line.stats.items():
                n = len(occurrences)
                for name, value in (
                    ("session_id", None), ("game_id", game_id), ("team_id", team.id), ("team_name", team.name), ("player_id", line.id),
                    ("first_name", who and who.firstname), ("last_name", who and who.lastname), ("is_team_total", line.id == 0),
                    ("version", line.version), ("stat", stat),
                ):  # fmt: skip
                    c[name] += [value] * n
                c["occurred_at"] += [o.occurred_at for o in occurrences]
                c["value"] += [o.value for o in occurrences]
                c["game_clock"] += [o.game_clock for o in occurrences]
                c["game_clock_s"] += [seconds(o.game_clock) for o in occurrences]
                c["shot_clock"] += [o.shot_clock for o in occurrences]
                c["shot_clock_s"] += [seconds(o.shot_clock) for o in occurrences]
                c["period"] += [o.period for o in occurrences]
                c["x"] += [o.x for o in occurrences]
                c["y"] += [o.y for o in occurrences]
                c["z"] += [o.z for o in occurrences]
                c["hoop_to_event_x"] += [o.hoop_to_event_x for o in occurrences]
                c["hoop_to_event_y"] += [o.hoop_to_event_y for o in occurrences]
    return pa.Table.from_arrays([pa.array(columns[f.name], f.type) for f in PLAIN], schema=PLAIN)


def with_sideline(raw: bytes, game_id: str) -> pa.Table:
    return pa.table(sideline.Payload.from_bytes("game_stats_details", raw, game_id=game_id).table())


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with sideline.Simulator(seed=7, now="2026-11-20T20:00:00Z") as service, service.client() as client:
        game = service.games[0]["event_id"]
        raw = client.game_stats_details(game).raw
    ours, theirs = with_sideline(raw, game), with_msgspec(raw, game)
    if ours.cast(PLAIN).combine_chunks().to_pylist() != theirs.to_pylist():
        raise SystemExit("the two tables differ: nothing is timed")
    times = [(timed(lambda: with_msgspec(raw, game)), timed(lambda: with_sideline(raw, game))) for _ in range(rounds)]
    ratios = sorted(peer / own for peer, own in times)
    peer, own = (statistics.median(t) * 1e3 for t in zip(*times, strict=True))
    print(
        f"{platform.machine()}, Python {platform.python_version()}, msgspec {msgspec.__version__}, pyarrow {pa.__version__}"
    )
    print(f"stat details of a full game: {len(raw) / 1e6:.2f} MB, {ours.num_rows} rows, {rounds} interleaved rounds")
    print(f"msgspec -> pyarrow {peer:.2f} ms, sideline {own:.2f} ms (medians)")
    print(f"ratio {statistics.median(ratios):.1f} (median; {ratios[0]:.1f} to {ratios[-1]:.1f})")


if __name__ == "__main__":
    main()
