"""Frames around 20,000 shots of an archived season: time and peak memory, in a process of its own.

    python benches/moments.py [games]

The peak has the libraries and the shots in it, but of the result only the pages that are read: it is in a file.
The season is one simulated game, stored again and again under other ids, in a folder that is kept: `moments-season`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import polars as pl
from deltalake import write_deltalake

import sideline

FOLDER = Path("moments-season")
SHOTS = 20_000
TABLES = ("shots", "locations")


def make(games: int) -> None:
    """An archive with the shots and locations of a season, a file for each ten games."""
    with sideline.Simulator(seed=7, now="2027-03-01T12:00:00Z") as service, service.client() as client:
        archive = sideline.Archive(FOLDER, client)
        archive.sync(game_ids=[service.games[0]["event_id"]], tables=TABLES)
    stored = {name: pl.read_delta(str(FOLDER / name)) for name in TABLES}
    for first in range(0, games - 1, 10):
        for name, rows in stored.items():
            copies = [
                rows.with_columns(
                    pl.concat_str(pl.lit(f"{game:04}"), pl.col("session_id").str.slice(4)).alias("session_id")
                )
                for game in range(first, min(first + 10, games - 1))
            ]
            write_deltalake(
                FOLDER / name, pl.concat(copies).sort("session_id", maintain_order=True).to_arrow(), mode="append"
            )


def measure() -> None:
    """Run alone, so that the peak is its own."""
    archive = sideline.Archive(FOLDER)
    shots = archive.scan("shots").head(SHOTS).collect()
    began = time.perf_counter()
    cpu = time.process_time()
    found = sideline.moments(shots, archive.scan("locations"))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(
        f"{pl.DataFrame(found)['row'].n_unique()} of {shots.height} shots, {found.num_rows} positions, "
        f"{took:.1f} s ({used:.1f} s of CPU), peak {int(peak.split()[1]) / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        if not FOLDER.exists():
            make(int(sys.argv[1]) if sys.argv[1:] else 160)
        subprocess.run([sys.executable, __file__, "measure"], check=True)
