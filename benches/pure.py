"""The pure parts in Rust alone, by criterion: builds and runs `pure.rs`, and reads what it found.

    target/bench/bin/python benches/pure.py [--rounds 7]

A round is half a second of measuring each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path

from measure import Row, Spread, number

ROOT = Path(__file__).parent.parent
FOUND = ROOT / "target" / "bench" / "criterion"


def time_of(nanoseconds: Spread) -> str:
    unit, size = next(
        (unit, size)
        for unit, size in ((" ms", 1e6), (" µs", 1e3), (" ns", 1))
        if nanoseconds.median >= size or size == 1
    )
    return Spread(*(value / size for value in (nanoseconds.median, nanoseconds.low, nanoseconds.high))).of(unit)


def speed(throughput: dict[str, int] | None, nanoseconds: float) -> str:
    match throughput:
        case {"Bytes": count}:
            return f"{number(count / nanoseconds)} GB/s"
        case {"Elements": count}:
            return f"{number(nanoseconds / count)} ns each"
        case _:
            return ""


def rows(rounds: int) -> list[Row]:
    folders = {"CARGO_TARGET_DIR": f"{ROOT}/target/bench/cargo", "CRITERION_HOME": f"{FOUND}"}
    cargo = ["cargo", "bench", "--locked", "--quiet", "--manifest-path", "benches/pure/Cargo.toml", "--", "--quiet"]
    timing = ["--noplot", "--warm-up-time", "1", "--measurement-time", f"{max(1, rounds / 2)}"]
    subprocess.run([*cargo, *timing], check=True, cwd=ROOT, env=os.environ | folders, stdout=subprocess.DEVNULL)
    found = []
    for file in sorted(FOUND.glob("**/new/benchmark.json")):
        bench = json.loads(file.read_bytes())
        median = json.loads((file.parent / "estimates.json").read_bytes())["median"]
        interval = median["confidence_interval"]
        time = Spread(median["point_estimate"], interval["lower_bound"], interval["upper_bound"])
        note = speed(bench["throughput"], time.median)
        found.append(Row("Rust", f"Rust alone: {bench['title'].replace('/', ', ')}", "–", time_of(time), note=note))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    for row in rows(parser.parse_args().rounds):
        print(f"{row.work} | {row.measured} | {row.note}", flush=True)


if __name__ == "__main__":
    main()
