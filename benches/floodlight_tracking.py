"""Loads and nearest opponents of a game beside floodlight's, on the same frames.

floodlight needs an older pandas, so each side runs in processes of its own, and the frames travel as Parquet. `make bench` makes its
environment:

    python3 -m venv target/floodlight && target/floodlight/bin/python -m pip install "floodlight==1.2.*" pyarrow
    target/bench/bin/python benches/report.py --only floodlight_tracking --add
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATE, SECONDS, PLAYERS = 25, 48 * 60, 5
TRACKS = 2 * PLAYERS + 1
PEER = Path(__file__).parent.parent / "target" / "floodlight" / "bin" / "python"


def frames() -> pa.Table:
    """Return two teams of five for 48 minutes, and a ball: smooth paths, without noise."""
    ms = np.arange(SECONDS * RATE) * (1000 // RATE)
    t, tracks = ms / 1000, []
    for number in range(TRACKS):
        x = 5 * np.sin(t / (3 + 0.3 * number)) + np.sin(t / 1.7 + number)
        y = 10 * np.cos(t / (4 + 0.2 * number)) + np.cos(t / 1.3 + number)
        tracks.append((x, y))
    player = np.tile(np.arange(TRACKS), len(t))
    is_ball = player == 2 * PLAYERS
    return pa.table(
        {
            "session_id": pa.array(["s"] * len(player)).dictionary_encode(),
            "t": pa.array(np.repeat(ms, TRACKS) + 1_790_000_000_000, pa.timestamp("ms", "UTC")),
            "type": pa.array(np.where(is_ball, "BALL", "PLAYER")).dictionary_encode(),
            "team_id": pa.array(np.where(player < PLAYERS, 1, 2), mask=is_ball),
            "player_id": pa.array(player, mask=is_ball),
            "x": 1000 * np.stack([x for x, _ in tracks], 1).ravel(),
            "y": 1000 * np.stack([y for _, y in tracks], 1).ravel(),
        }
    )


def memory(name: str) -> int:
    """Return bytes of this process: `VmRSS` now, `VmHWM` at its peak."""
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.partition(f"{name}:")[2].split()[0])


def measured(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return the seconds of a call and the bytes that it added at its peak, and its result."""
    Path("/proc/self/clear_refs").write_text("5")
    before, started_at = memory("VmRSS"), time.perf_counter()
    result = work()
    return {"seconds": time.perf_counter() - started_at, "bytes": memory("VmHWM") - before}, result


def run_sideline(path: Path) -> None:
    import sideline

    table = pq.read_table(path)
    sideline.Tracking(table.slice(0, TRACKS * RATE)).loads(by="player_id")

    before = memory("VmRSS")
    tracking = sideline.Tracking(table)
    figures, (loads, opponents) = measured(lambda: (tracking.loads(by="player_id"), tracking.opponents()))
    # What it has read is memory too; floodlight's arrays are made before its clock starts as well.
    figures["bytes"] = memory("VmHWM") - before
    pq.write_table(loads.to_arrow(), path.with_suffix(".loads.parquet"))
    pq.write_table(opponents.to_arrow(), path.with_suffix(".opponents.parquet"))
    print(json.dumps(figures | {"input": table.nbytes}))


def run_floodlight(path: Path) -> None:
    from floodlight import XY  # type: ignore[import-not-found, unused-ignore]
    from floodlight.models.geometry import NearestOpponentModel  # type: ignore[import-not-found, unused-ignore]
    from floodlight.models.kinematics import (  # type: ignore[import-not-found, unused-ignore]
        AccelerationModel,
        DistanceModel,
        VelocityModel,
    )

    table = pq.read_table(path)
    x, y = (np.asarray(table[name]).reshape(-1, TRACKS) / 1000 for name in ("x", "y"))
    sides = [slice(0, PLAYERS), slice(PLAYERS, 2 * PLAYERS)]
    teams = [XY(np.stack([x[:, side], y[:, side]], 2).reshape(len(x), -1), framerate=RATE) for side in sides]

    def work() -> tuple[Any, Any]:
        distances = []
        for team in teams:
            distance, velocity, acceleration = DistanceModel(), VelocityModel(), AccelerationModel()
            for model in (distance, velocity, acceleration):
                model.fit(team)
            distances.append(distance.cumulative_distance_covered().property[-1])
        nearest = NearestOpponentModel()
        nearest.fit(*teams)
        return distances, nearest.distance_to_nearest_opponent()

    figures, (distances, nearest) = measured(work)
    loads = pq.read_table(path.with_suffix(".loads.parquet"))
    metres = dict(zip(loads["player_id"].to_pylist(), loads["distance_m"].to_pylist(), strict=True))
    own_distances = np.array([metres[player] for player in range(2 * PLAYERS)])
    own_nearest = np.asarray(pq.read_table(path.with_suffix(".opponents.parquet"))["distance_m"]).reshape(
        -1, 2 * PLAYERS
    )
    differences = {
        "distance": float(np.max(np.abs(own_distances / np.concatenate(distances) - 1))),
        "nearest_m": float(np.nanmax(np.abs(own_nearest - np.concatenate([side.property for side in nearest], 1)))),
    }
    print(json.dumps(figures | differences))


def rows(rounds: int) -> list[Any]:
    from measure import Row, number, spread

    if not PEER.exists():
        raise FileNotFoundError(f"{PEER} is missing; the first lines of {Path(__file__).name} make it")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.parquet"
        pq.write_table(frames(), path)
        sides = {"sideline": Path(sys.executable), "floodlight": PEER}
        figures: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, python in sides.items():
                out = subprocess.run([python, __file__, name, path], check=True, capture_output=True, text=True).stdout
                figures[name].append(json.loads(out))
    own, peer = figures["sideline"], figures["floodlight"]
    distance, nearest = (max(one[name] for one in peer) for name in ("distance", "nearest_m"))
    if distance > 1e-3 or nearest > 0.01:
        raise ValueError(f"the answers differ: distances by {distance:.2%}, nearest opponents by {nearest:.3f} m")
    speed = spread([b["seconds"] / a["seconds"] for a, b in zip(own, peer, strict=True)])
    share = spread([one["bytes"] / one["input"] for one in own])
    peer_share = spread([b["bytes"] / a["input"] for a, b in zip(own, peer, strict=True)])
    times = [f"{number(spread([one['seconds'] for one in side]).median)} s" for side in (own, peer)]
    work = f"loads and nearest opponents of {SECONDS // 60} minutes, {RATE} frames a second, {TRACKS} tracks"
    equal = f"distances differ by at most {distance:.3%}, nearest opponents by {nearest * 100:.3f} cm"
    return [
        Row("Tracking", work, "floodlight 1.2", f"{speed.of('×')} as fast", "≥ 10×", speed.median >= 10, ", ".join(times), equal),
        Row(
            "Tracking", f"{work}: peak memory", "its input", f"{share.of('×')} the memory of its input", "≤ 3×", share.median <= 3,
            note=f"floodlight {peer_share.of('×')}",
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    {"sideline": run_sideline, "floodlight": run_floodlight}[sys.argv[1]](Path(sys.argv[2]))
