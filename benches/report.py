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
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a round, to see that all runs; writes no report")
    parser.add_argument("--only", help="groups, joined by commas; writes no report")
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
    if given.quick or given.only:
        return
    aimed = [row for row in rows if row.reach]
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
        "know a way for; the others are in its note. Rows without an aim are guards.",
        "Nothing is timed before the contenders' results were compared and found equal. \"Not worse\" is a median within the peer's",
        "middle half or below it.",
        "",
        f"{sum(row.reached is True for row in aimed)} of {len(aimed)} rows with an aim reach it.",
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


if __name__ == "__main__":
    sys.exit(main())
