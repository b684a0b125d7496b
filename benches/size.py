"""What the package costs before it does anything: its import, and its wheel.

target/bench/bin/python benches/size.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from measure import Row, interleaved, number, spread

WHEELS = Path(__file__).parent.parent / "target" / "bench" / "wheels"
STATEMENTS = {"bare": "pass", "import": "import sideline", "client": "from sideline import Client"}


def run(statement: str) -> None:
    subprocess.run([sys.executable, "-I", "-c", statement], check=True)


def rows(rounds: int) -> list[Row]:
    times = interleaved({name: lambda s=code: run(s) for name, code in STATEMENTS.items()}, rounds)
    found = []
    for name in ("import", "client"):
        more = spread([(a - b) * 1e3 for a, b in zip(times[name], times["bare"], strict=True)])
        found.append(Row("Size", f"`{STATEMENTS[name]}`", "bare Python", f"{more.of(' ms')} more"))
    wheel = max(WHEELS.glob("*.whl"), key=lambda file: file.stat().st_mtime)
    megabytes = wheel.stat().st_size / 1e6
    found.append(Row("Size", f"wheel, `{wheel.name}`", "–", f"{number(megabytes)} MB", note="4.3 at most"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    for row in rows(parser.parse_args().rounds):
        print(f"{row.work} | {row.measured} | {row.reach} {row.reached}", flush=True)


if __name__ == "__main__":
    main()
