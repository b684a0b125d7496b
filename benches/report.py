"""Runs every group of rows and writes REPORT.md.

make bench                              # builds, installs the peers, runs this
target/bench/bin/python benches/report.py [--quick] [--only decode,stream]
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import readme
from measure import Row
from workloads import workloads

HERE = Path(__file__).parent
GROUPS = {
    "decode": 20,
    "over_http": 5,
    "stream": 7,
    "rates": 3,
    "process": 10,
    "size": 20,
    "archive": 2,
    "pure": 7,
    "beside": 7,
    "floodlight_tracking": 5,
}
"""Modules and their rounds."""
PEERS = (
    "sideline",
    "msgspec",
    "duckdb",
    "pyarrow",
    "deltalake",
    "pysimdjson",
    "orjson",
    "polars",
    "pandas",
    "aiohttp",
    "pycurl",
    "httpx",
    "httpx-sse",
    "requests",
    "uvloop",
)


def told(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent).stdout.strip()


def machine() -> list[str]:
    processor = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    commit = told(["git", "rev-parse", "--short=12", "HEAD"])
    changed = told(
        ["git", "status", "--porcelain", "--untracked-files=no", "--", "src", "python", "Cargo.toml", "Cargo.lock"]
    )
    versions = ", ".join(f"{name} {version(name)}" for name in PEERS)
    return [
        f"- commit {commit}{' with changes of its sources' if changed else ''}, {datetime.now(UTC):%Y-%m-%d}",
        f"- {processor}, {os.cpu_count()} cores, {platform.system()} on {platform.machine()}; load before and after: {{load}}",
        f"- Python {platform.python_version()}; {told(['rustc', '--version'])}",
        f"- {versions}",
    ]


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def line(row: Row) -> str:
    mark = {True: "reached", False: "**not reached**", None: ""}[row.reached]
    if row.reach and row.reached is None:
        mark = "**not measured**"
    return (
        f"| {row.work} | {row.peer} | {row.measured} | {row.reach or '–'} | {mark or '–'} | {row.times} | {row.note} |"
    )


def count(lines: list[str]) -> str:
    reached, missed = (sum(f"| {mark} |" in text for text in lines) for mark in ("reached", "**not reached**"))
    return f"{reached} of {reached + missed} rows with an aim reach it."


def add(rows: list[Row]) -> None:
    """Replace the rows of the same work and peer in the report, and append the others; each names its commit."""
    commit = f"at {told(['git', 'rev-parse', '--short=12', 'HEAD'])}, {datetime.now(UTC):%Y-%m-%d}"
    path = HERE / "REPORT.md"
    lines = path.read_text(encoding="utf-8").splitlines()
    for row in rows:
        text = line(replace(row, note="; ".join(filter(None, (row.note, commit)))))
        places = [place for place, known in enumerate(lines) if known.startswith(f"| {row.work} | {row.peer} |")]
        last = max(place for place, known in enumerate(lines) if known.startswith("| "))
        lines[places[0] if places else last + 1 : places[0] + 1 if places else last + 1] = [text]
    lines = [count(lines) if known.endswith("rows with an aim reach it.") else known for known in lines]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a round, to see that all runs; writes no report")
    parser.add_argument("--only", help="groups, joined by commas; writes no report")
    parser.add_argument("--add", action="store_true", help="with --only: write its rows into the report")
    given = parser.parse_args()
    before, rows = load(), []
    for group in given.only.split(",") if given.only else GROUPS:
        rounds = 1 if given.quick else GROUPS[group]
        try:
            found = import_module(group).rows(rounds)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the report names a group that fails; the others are still measured
            # The other groups are still worth their time; the report says what is missing and why.
            traceback.print_exc()
            found = [Row(group, f"{group}.py", "–", "failed", "to run", False, note=f"{error}")]
        rows += found
        print(*map(line, found), sep="\n", flush=True)
    if given.only and given.add:
        add(rows)
    if given.quick or given.only:
        return
    text = [
        "# Measured speed",
        "",
        "Written by `make bench`; not edited by hand. What holds back the rows that were not reached is in [README.md](README.md).",
        "",
        *[fact.format(load=f"{before}, {load()}") for fact in machine()],
        "",
        "The machine is shared and noisy, so contenders take turns in one process and a ratio is taken in each round: the cells are",
        "the median of the rounds' ratios and, in brackets, what the middle half of them lies between. Times are medians, ours first.",
        "Arrow, columns, frames and dicts are the geometric mean over five bodies of the kind. A row's peer is the fastest that we",
        "know a way for; the others are in its note. Rows beside an earlier build are guards: at most 5 % more than its time, or",
        "within the middle half of its rounds or below it. Rows without an aim are measured so that a change is seen.",
        "Nothing is timed before the contenders' results were compared and found equal. \"Not worse\" is a median within the peer's",
        "middle half or below it.",
        "",
        count(list(map(line, rows))),
        "",
        "| work | peer or limit | measured | aim | | ours, theirs | |",
        "|---|---|---|---|---|---|---|",
        *[line(row) for row in rows],
        "",
        "The first of the five bodies of each kind (`workloads.py`):",
        "",
        *[f"- {one.name}: {len(one.raw):,} bytes; {one.made}" for one in workloads().values()],
        "",
    ]
    (HERE / "REPORT.md").write_text("\n".join(text))
    readme.write()


if __name__ == "__main__":
    sys.exit(main())
