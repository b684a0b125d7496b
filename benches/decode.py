"""Bytes to Arrow, to frames and to dicts: against named peers, and against a parse that builds nothing.

    target/bench/bin/python benches/decode.py [--rounds 20]

A row is the geometric mean over five bodies of its kind (`workloads.py`). Its peer is the fastest of those in `peers.py`, and the
note has the others. What a peer makes is compared with what we make, of every body, before anything is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import orjson
import pandas
import peers
import polars
import pyarrow as pa
import simdjson
from measure import Row, Times, best, faster, interleaved, others, share, together
from workloads import Workload, bodies

import sideline

OURS, AS_PYARROW = "sideline", "sideline, as pyarrow's tables"
SIMDJSON = "simdjson's DOM parse (pysimdjson)"
DICTS = ("game", "period", "possessions", "schedule", "roster", "session stats", "locations")
Contenders = Mapping[str, Callable[[Workload], object]]


def same(work: str, ours: object, theirs: object) -> None:
    if ours != theirs:
        raise SystemExit(f"{work}: the results differ, so nothing is timed")


def rows_of(table: object) -> list[str]:
    """Of any Arrow table, in an order of their own: polars has no map, and loses that of the stats."""
    return sorted(map(repr, pa.table(table).to_pylist()))


def over_bodies(kind: str, contenders: Contenders, rounds: int) -> Times:
    return together(
        [
            interleaved({name: lambda work=work, run=run: run(work) for name, run in contenders.items()}, rounds)
            for work in bodies(kind)
        ]
    )


def to_arrow(work: Workload) -> list[sideline.Table]:
    return list(work.payload().all_tables().values())


def to_first(work: Workload) -> list[sideline.Table]:
    return [work.payload().table()]


def pyarrow_of(made: Callable[[Workload], list[sideline.Table]]) -> Callable[[Workload], list[pa.Table]]:
    return lambda work: [pa.table(table) for table in made(work)]


def parse(work: Workload) -> object:
    # A new parser each time: a document keeps its parser busy.
    return simdjson.Parser().parse(work.raw)


def peers_of(kind: str) -> Contenders:
    return {name: lambda work, run=run: run(work.raw, **work.ids) for name, run in peers.PEERS[kind].items()}


def compared(kind: str, made: Callable[[Workload], list[sideline.Table]], contenders: Contenders) -> None:
    for work in bodies(kind):
        for name, run in contenders.items():
            theirs = run(work)
            for own, other in zip(made(work), theirs if isinstance(theirs, list) else [theirs], strict=True):
                same(f"{work.name}, {name}", rows_of(own), rows_of(other))


def arrow(rounds: int) -> list[Row]:
    rows = []
    for kind, title in (
        ("game", "stat details of a game, bytes → Arrow"),
        ("period", "stat details of a period, bytes → Arrow"),
        ("possessions", "possessions, bytes → its three tables"),
    ):
        rivals = peers_of(kind)
        compared(kind, to_arrow, rivals)
        contenders = {OURS: to_arrow, AS_PYARROW: pyarrow_of(to_arrow), **rivals, SIMDJSON: parse}
        times = over_bodies(kind, contenders, rounds)
        note = others(times, rivals, AS_PYARROW)
        rows += [
            faster("Arrow", f"{title}, as pyarrow.Table", best(times, rivals), times, AS_PYARROW, None, note),
            share("Arrow", title, SIMDJSON, times, OURS, None),
        ]
    for kind in ("session stats", "roster"):
        rivals = peers_of(kind)
        compared(kind, to_first, rivals)
        contenders = {OURS: to_first, AS_PYARROW: pyarrow_of(to_first), **rivals, SIMDJSON: parse}
        times = over_bodies(kind, contenders, rounds)
        peer, title = best(times, rivals), f"{kind}, bytes → one table"
        rows += [
            faster("Arrow", title, peer, times, OURS, 5, others(times, rivals, OURS)),
            faster("Arrow", f"{title}, as pyarrow.Table", peer, times, AS_PYARROW, None),
            share("Arrow", title, SIMDJSON, times, OURS, None),
        ]
    for kind in ("schedule", "locations"):
        times = over_bodies(kind, {OURS: to_arrow, SIMDJSON: parse}, max(3, rounds // 2))
        rows.append(share("Arrow", f"{kind}, bytes → one table", SIMDJSON, times, OURS, None))
    return rows


def columns(rounds: int) -> list[Row]:
    rows = []
    for kind, asked in (
        ("game", ["player_id", "stat", "occurred_at", "value"]),
        ("locations", ["t", "player_id", "x", "y"]),
    ):
        for work in bodies(kind):
            same(kind, pa.table(work.payload().table(columns=asked)), pa.table(work.payload().table()).select(asked))
        times = over_bodies(
            kind,
            {
                OURS: lambda work, c=asked: pa.table(work.payload().table(columns=c)),
                "all": lambda work: pa.table(work.payload().table()),
            },
            rounds,
        )
        rows.append(share("Columns", f"{kind}: four columns", "all", times, OURS, None))
    return rows


def values(column: pandas.Series) -> list[object]:
    return [None if value is None or value is pandas.NA or value != value else value for value in column.tolist()]


def frames(rounds: int) -> list[Row]:
    for work in bodies("game"):
        own = work.payload().to_polars().with_columns(polars.col(polars.Categorical).cast(polars.String))
        if not own.equals(polars.from_arrow(peers.stat_events(work.raw, **work.ids))):
            raise SystemExit("polars: the results differ, so nothing is timed")
        ours, theirs = work.payload().to_pandas(), peers.stat_events(work.raw, **work.ids).to_pandas()
        same("pandas", list(ours), list(theirs))
        for name in theirs:
            same(f"pandas, {name}", values(ours[name]), values(theirs[name]))
    rows = []
    for library, own, taken in (
        ("polars", lambda work: work.payload().to_polars(), polars.from_arrow),
        ("pandas", lambda work: work.payload().to_pandas(), pa.Table.to_pandas),
    ):
        peer = f"{peers.MSGSPEC} → {library}"
        contenders = {OURS: own, peer: lambda work, taken=taken: taken(peers.stat_events(work.raw, **work.ids))}
        times = over_bodies("game", contenders, rounds)
        rows.append(faster("Frames", f"stat details of a game, bytes → {library}", peer, times, OURS, None))
    return rows


def dicts(rounds: int) -> list[Row]:
    rows, of_kinds = [], []
    for kind in DICTS:
        # The payloads are made outside: what is compared is the building of the objects.
        payloads = {work.raw: work.payload() for work in bodies(kind)}
        for raw, payload in payloads.items():
            same(kind, payload.to_dict(), orjson.loads(raw))
        contenders = {
            OURS: lambda work, made=payloads: made[work.raw].to_dict(),
            "orjson": lambda work: orjson.loads(work.raw),
        }
        of_kinds.append(over_bodies(kind, contenders, rounds))
        rows.append(share("Dicts", f"{kind}, bytes → dicts", "orjson", of_kinds[-1], OURS, 1.0))
    mean = f"bytes → dicts, geometric mean of {len(DICTS)} kinds of body"
    return [share("Dicts", mean, "orjson", together(of_kinds), OURS, None), *rows]


def rows(rounds: int) -> list[Row]:
    return arrow(rounds) + columns(rounds) + frames(max(3, rounds // 3)) + dicts(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    for row in rows(parser.parse_args().rounds):
        print(f"{row.work} | {row.peer} | {row.measured} | {row.reach} {row.reached} | {row.times}", flush=True)


if __name__ == "__main__":
    main()
