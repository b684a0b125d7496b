"""Compare distances, velocities and nearest opponents with floodlight's, on the same frames.

floodlight needs an older Python than sideline, so each side runs in an environment of its own, and the frames travel as Parquet:

    python benches/floodlight_tracking.py write frames.parquet        # with sideline: frames, and its answers beside them
    OTHER/python benches/floodlight_tracking.py compare frames.parquet  # with floodlight 1.2, numpy and pyarrow
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATE, SECONDS, PLAYERS = 25, 48 * 60, 5


def frames() -> pa.Table:
    """Return two teams of five for 48 minutes, and a ball: smooth paths, without noise."""
    ms = np.arange(SECONDS * RATE) * (1000 // RATE)
    t, tracks = ms / 1000, []
    for number in range(2 * PLAYERS + 1):
        x = 5 * np.sin(t / (3 + 0.3 * number)) + np.sin(t / 1.7 + number)
        y = 10 * np.cos(t / (4 + 0.2 * number)) + np.cos(t / 1.3 + number)
        tracks.append((x, y))
    count = len(tracks)
    player = np.tile(np.arange(count), len(t))
    is_ball = player == 2 * PLAYERS
    return pa.table(
        {
            "session_id": pa.array(["s"] * len(player)).dictionary_encode(),
            "t": pa.array(np.repeat(ms, count) + 1_790_000_000_000, pa.timestamp("ms", "UTC")),
            "type": pa.array(np.where(is_ball, "BALL", "PLAYER")).dictionary_encode(),
            "team_id": pa.array(np.where(player < PLAYERS, 1, 2), mask=is_ball),
            "player_id": pa.array(player, mask=is_ball),
            "x": 1000 * np.stack([x for x, _ in tracks], 1).ravel(),
            "y": 1000 * np.stack([y for _, y in tracks], 1).ravel(),
        }
    )


def write(path: Path) -> None:
    import sideline

    table = frames()
    pq.write_table(table, path)
    started_at = time.perf_counter()
    tracking = sideline.Tracking(table)
    loads = tracking.loads(by="player_id")
    opponents = tracking.opponents()
    print(f"sideline: read, loads and opponents in {time.perf_counter() - started_at:.2f} s")
    pq.write_table(loads.to_arrow(), path.with_suffix(".loads.parquet"))
    pq.write_table(opponents.to_arrow(), path.with_suffix(".opponents.parquet"))


def compare(path: Path) -> None:
    from floodlight import XY  # type: ignore[import-not-found, unused-ignore]
    from floodlight.models.geometry import NearestOpponentModel  # type: ignore[import-not-found, unused-ignore]
    from floodlight.models.kinematics import (  # type: ignore[import-not-found, unused-ignore]
        AccelerationModel,
        DistanceModel,
        VelocityModel,
    )

    table = pq.read_table(path)
    count = 2 * PLAYERS + 1
    x, y = (np.asarray(table[name]).reshape(-1, count) / 1000 for name in ("x", "y"))
    sides = [slice(0, PLAYERS), slice(PLAYERS, 2 * PLAYERS)]
    teams = [XY(np.stack([x[:, side], y[:, side]], 2).reshape(len(x), -1), framerate=RATE) for side in sides]
    started_at = time.perf_counter()
    models: list[Any] = []
    for team in teams:
        distance, velocity, acceleration = DistanceModel(), VelocityModel(), AccelerationModel()
        for model in (distance, velocity, acceleration):
            model.fit(team)
        models.append((distance, velocity))
    nearest = NearestOpponentModel()
    nearest.fit(*teams)
    nearest_distances = nearest.distance_to_nearest_opponent()
    print(
        f"floodlight: distance, velocity, acceleration and nearest opponents in {time.perf_counter() - started_at:.2f} s"
    )
    loads = pq.read_table(path.with_suffix(".loads.parquet"))
    metres = dict(zip(loads["player_id"].to_pylist(), loads["distance_m"].to_pylist(), strict=True))
    floodlight_metres = np.concatenate([distance.cumulative_distance_covered().property[-1] for distance, _ in models])
    print(
        f"distance: largest difference {max(abs(metres[i] / floodlight_metres[i] - 1) for i in range(2 * PLAYERS)):.3%}"
    )
    rows = pq.read_table(path.with_suffix(".opponents.parquet"))
    distances = np.asarray(rows["distance_m"]).reshape(-1, 2 * PLAYERS)
    floodlight_distances = np.concatenate([side.property for side in nearest_distances], 1)
    print(f"nearest opponent: largest difference {np.nanmax(np.abs(distances - floodlight_distances)) * 100:.3f} cm")


if __name__ == "__main__":
    {"write": write, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
