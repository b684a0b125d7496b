"""The pure parts in Rust alone: builds and runs `pure.rs`, and reads what it printed.

    target/bench/bin/python benches/pure.py [--rounds 7]

A round is a tenth of a second of measuring each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from measure import Row, Spread, number, spread

ROOT = Path(__file__).parent.parent


def time_of(nanoseconds: Spread) -> str:
    unit, size = next(
        (unit, size)
        for unit, size in ((" ms", 1e6), (" µs", 1e3), (" ns", 1))
        if nanoseconds.median >= size or size == 1
    )
    return Spread(*(value / size for value in (nanoseconds.median, nanoseconds.low, nanoseconds.high))).of(unit)


def rows(rounds: int) -> list[Row]:
    cargo = ["cargo", "bench", "--locked", "--quiet", "--bench", "pure", "--", f"{rounds}"]
    folder = {"CARGO_TARGET_DIR": f"{ROOT}/target/bench/cargo"}
    told = subprocess.run(cargo, check=True, cwd=ROOT, env=os.environ | folder, stdout=subprocess.PIPE, text=True)
    found = []
    for line in told.stdout.splitlines():
        name, amount, unit, times = line.split("\t")
        time = spread([float(value) for value in times.split()])
        count = int(amount)
        note = f"{number(count / time.median)} GB/s" if unit == "bytes" else f"{number(time.median / count)} ns each"
        found.append(Row("Rust", f"Rust alone: {name}", "–", time_of(time), note=note))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    for row in rows(parser.parse_args().rounds):
        print(f"{row.work} | {row.measured} | {row.note}", flush=True)


if __name__ == "__main__":
    main()
