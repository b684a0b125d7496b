"""Frames around 20,000 shots of an archived season: time and peak memory, in a process of its own.

    python benches/moments.py [games]

The season is made first, with the simulator, into a folder that is kept: `moments-season` beside the working directory.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import polars as pl

import sideline

FOLDER = Path("moments-season")
SHOTS = 20_000


def make(games: int) -> None:
    """An archive with the shots and locations of a season."""
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z", games=games) as service, service.client() as client:
        archive = sideline.Archive(FOLDER, client)
        report = archive.sync(start="2026-07-01", end="2027-07-01", tables=["shots", "locations"], on_error="keep")
        print(report)


def measure() -> None:
    """Run alone, so that the peak is its own."""
    archive = sideline.Archive(FOLDER)
    began = time.perf_counter()
    found = sideline.moments(archive.scan("shots").head(SHOTS).collect(), archive.scan("locations"))
    took = time.perf_counter() - began
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    shots = pl.DataFrame(found)["row"].n_unique()
    print(f"{shots} shots, {found.num_rows} positions, {took:.1f} s, peak {int(peak.split()[1]) / 1024:.0f} MiB")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        if not FOLDER.exists():
            make(int(sys.argv[1]) if sys.argv[1:] else 200)
        subprocess.run([sys.executable, __file__, "measure"], check=True)
