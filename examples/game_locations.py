"""Write the sensor locations of all sessions of a game as one table that need not fit into memory.

    python examples/game_locations.py [--out FOLDER] [GAME_ID]

Sessions are requested, decoded and written as Parquet one after another, so that one session is in memory at a time. polars
then scans the folder as one table. Default: the last finished game.

It uses the service that SIDELINE_USERNAME, SIDELINE_SECRET, .. select, or else a simulator. Requires polars.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

import sideline


@contextmanager
def connected() -> Iterator[sideline.Client]:
    """Yield a client of the service selected by the environment, or else of a simulator."""
    if "SIDELINE_USERNAME" in os.environ:
        with sideline.Client() as client:
            yield client
    else:
        with sideline.Simulator(seed=7, location_rate=20) as service, service.client() as client:
            yield client


def last_played(client: sideline.Client) -> str:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    games = client.schedule(yesterday - timedelta(days=60), yesterday).table(columns=["game_id", "tipoff_at"])
    return max(games.to_dicts(), key=lambda game: game["tipoff_at"])["game_id"]


def tracked(client: sideline.Client, game_id: str) -> dict[str, tuple[datetime, datetime]]:
    """Return the start and end of the locations of each session of a game."""
    sessions: dict[str, tuple[datetime, datetime]] = {}
    for window in client.game(game_id).table("location_windows").to_dicts():
        start, end = sessions.get(window["session_id"], (window["start"], window["end"]))
        sessions[window["session_id"]] = min(start, window["start"]), max(end, window["end"])
    return sessions


def main() -> None:
    parser = argparse.ArgumentParser(description="Sensor locations of a game, as Parquet.")
    parser.add_argument("game_id", nargs="?")
    parser.add_argument("--out", type=Path, default=Path("locations"), help="the folder to write (default: locations)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    files = []
    with connected() as client:
        for session_id, (start, end) in tracked(client, args.game_id or last_played(client)).items():
            # Longer ranges than the service allows are split into windows and merged.
            table = client.locations(session_id, start, end).table()
            files.append(args.out / f"{session_id}.parquet")
            table.to_polars().write_parquet(files[-1])
            print(f"{session_id}: {table.num_rows} rows from {start:%Y-%m-%d %H:%M} to {end:%H:%M}")

    if not files:
        raise SystemExit("the game has no locations")
    locations = pl.scan_parquet(files)
    x, y = (pl.col(axis).diff().over("session_id", "player_id") for axis in ("x", "y"))
    walked = (
        locations.filter(pl.col("player_id").is_not_null())
        .sort("t")
        .with_columns(step=(x**2 + y**2).sqrt())
        .group_by("team_id", "player_id")
        .agg(kilometres=(pl.col("step").sum() / 1e6).round(2), samples=pl.len())
        .sort("kilometres", descending=True, nulls_last=True)
    )
    print(f"{locations.select(pl.len()).collect().item()} rows in all; longest distances:")
    print(walked.head(5).collect())


if __name__ == "__main__":
    main()
