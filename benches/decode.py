"""Bytes to Arrow, to frames and to dicts: against named peers, and against a parse that builds nothing.

    target/bench/bin/python benches/decode.py [--rounds 40]

What a peer makes is compared with what we make before anything is timed.
"""

from __future__ import annotations

import argparse
import math
import statistics

import orjson
import pandas
import peers
import polars
import pyarrow as pa
import simdjson
from measure import Row, faster, interleaved, share, spread
from workloads import Workload, workloads

import sideline

OURS, AS_PYARROW = "sideline", "sideline, as pyarrow's tables"
MSGSPEC, SIMDJSON = "msgspec → pyarrow", "simdjson's DOM parse (pysimdjson)"
DICTS = ("game", "period", "possessions", "schedule", "roster", "session stats", "locations")


def same(work: str, ours: object, theirs: object) -> None:
    if ours != theirs:
        raise SystemExit(f"{work}: the results differ, so nothing is timed")


def text_for_categories(table: pa.Table, schema: pa.Schema) -> list[dict[str, object]]:
    return table.cast(schema).to_pylist()


def to_arrow(work: Workload) -> list[sideline.Table]:
    return list(work.payload().all_tables().values())


def to_pyarrow(work: Workload) -> list[pa.Table]:
    return [pa.table(table) for table in to_arrow(work)]


def parse(raw: bytes) -> object:
    # A new parser each time: a document keeps its parser busy.
    return simdjson.Parser().parse(raw)


def arrow(rounds: int) -> list[Row]:
    rows = []
    for name, peer, schemas, reach in (
        ("game", lambda w: [peers.stat_events(w.raw, **w.ids)], [peers.STAT_EVENTS], (8, 1.2)),
        ("period", lambda w: [peers.stat_events(w.raw, **w.ids)], [peers.STAT_EVENTS], (8, 1.2)),
        ("possessions", lambda w: list(peers.possessions(w.raw, **w.ids)),
         [peers.POSSESSIONS, peers.EVENTS, peers.PLAYERS], (8, 1.6)),
    ):  # fmt: skip
        work = workloads()[name]
        for ours, theirs, schema in zip(to_pyarrow(work), peer(work), schemas, strict=True):
            same(name, text_for_categories(ours, schema), theirs.to_pylist())
        contenders = {
            OURS: lambda work=work: to_arrow(work),
            AS_PYARROW: lambda work=work: to_pyarrow(work),
            MSGSPEC: lambda work=work, peer=peer: peer(work),
            SIMDJSON: lambda work=work: parse(work.raw),
        }
        times = interleaved(contenders, rounds)
        title = {"possessions": "possessions, bytes → its three tables"}.get(
            name, f"stat details of a {name}, bytes → Arrow, all columns"
        )
        rows += [
            faster("Arrow", f"{title}, as pyarrow.Table", MSGSPEC, times, AS_PYARROW, reach[0]),
            share("Arrow", title, SIMDJSON, times, OURS, reach[1]),
            share("Arrow", f"{title}, as pyarrow.Table", SIMDJSON, times, AS_PYARROW, None),
        ]
    for name in ("schedule", "locations", "session stats", "roster"):
        work = workloads()[name]
        times = interleaved({OURS: lambda w=work: to_arrow(w), SIMDJSON: lambda w=work: parse(w.raw)}, rounds)
        tables = len(work.payload().tables)
        rows.append(share("Arrow", f"{name}, bytes → {tables} table{'s' * (tables > 1)}", SIMDJSON, times, OURS, None))
    return rows


def columns(rounds: int) -> list[Row]:
    rows = []
    for name, asked in (
        ("game", ["player_id", "stat", "occurred_at", "value"]),
        ("locations", ["t", "player_id", "x", "y"]),
    ):
        work = workloads()[name]
        whole = work.payload().table()
        same(name, pa.table(work.payload().table(columns=asked)), pa.table(whole).select(asked))
        times = interleaved(
            {
                OURS: lambda w=work, c=asked: pa.table(w.payload().table(columns=c)),
                "all": lambda w=work: pa.table(w.payload().table()),
            },
            rounds,
        )
        title = f"{name}: four columns of {len(whole.column_names)}"
        rows.append(share("Columns", title, "all", times, OURS, 0.7))
    return rows


def values(column: pandas.Series) -> list[object]:
    return [None if value is None or value is pandas.NA or value != value else value for value in column.tolist()]


def frames(rounds: int) -> list[Row]:
    work = workloads()["game"]
    raw, game = work.raw, work.ids["game_id"]
    plain = work.payload().to_polars().with_columns(polars.col(polars.Categorical).cast(polars.String))
    if not plain.equals(peers.to_polars(raw, game)):
        raise SystemExit("polars: the results differ, so nothing is timed")
    ours, theirs = work.payload().to_pandas(), peers.to_pandas(raw, game)
    same("pandas", list(ours), list(theirs))
    for name in theirs:
        same(f"pandas, {name}", values(ours[name]), values(theirs[name]))
    polars_times = interleaved(
        {OURS: lambda: work.payload().to_polars(), "orjson rows": lambda: peers.to_polars(raw, game)}, rounds
    )
    pandas_times = interleaved(
        {OURS: lambda: work.payload().to_pandas(), "orjson rows": lambda: peers.to_pandas(raw, game)}, rounds
    )
    return [
        faster("Frames", "stat details of a game, bytes → polars", "orjson rows", polars_times, OURS, 15),
        faster("Frames", "stat details of a game, bytes → pandas", "orjson rows", pandas_times, OURS, 8),
    ]


def dicts(rounds: int) -> list[Row]:
    rows, all_ratios = [], []
    for name in DICTS:
        work = workloads()[name]
        same(name, work.payload().to_dict(), orjson.loads(work.raw))
        # The payload is made outside: what is compared is the building of the objects.
        times = interleaved({OURS: work.payload().to_dict, "orjson": lambda r=work.raw: orjson.loads(r)}, rounds)
        rows.append(share("Dicts", f"{name}, bytes → dicts", "orjson", times, OURS, 1.1))
        all_ratios.append([o / t for o, t in zip(times[OURS], times["orjson"], strict=True)])
    means = [math.exp(statistics.fmean(map(math.log, one_round))) for one_round in zip(*all_ratios, strict=True)]
    mean = spread(means)
    geometric = Row(
        "Dicts",
        f"bytes → dicts, geometric mean of {len(DICTS)} workloads",
        "orjson",
        f"{mean.of('×')} of its time",
        "≤ 1×",
        mean.median <= 1,
    )
    return [geometric, *rows]


def rows(rounds: int) -> list[Row]:
    return arrow(rounds) + columns(rounds) + frames(max(5, rounds // 3)) + dicts(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    for row in rows(parser.parse_args().rounds):
        print(f"{row.work} | {row.peer} | {row.measured} | {row.reach} {row.reached} | {row.times}", flush=True)


if __name__ == "__main__":
    main()
