"""Run a script on a capture of the service: the scorers of its game, without credentials or a network.

    python examples/capture_scorers.py FOLDER

FOLDER is what `sideline capture FOLDER` wrote. If it does not exist, it is created from a simulator. `scorers` is the script
of a user: it only knows a client, so that it runs on the real service as well.
"""

import argparse
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sideline


def scorers(client: sideline.Client, now: datetime) -> list[str]:
    """Return a line for each scorer of the last game that can be read."""
    games = client.schedule(now - timedelta(days=30), now).table().to_dicts()
    for game in sorted(games, key=lambda game: game["tipoff_at"], reverse=True):
        try:
            rows = client.box_score(game["game_id"]).to_dicts()
        except (sideline.errors.NotFound, sideline.errors.PermissionDenied):
            continue
        rows = [row for row in rows if not row["is_team_total"] and row["PTS"]]
        if rows:
            rows.sort(key=lambda row: (-row["PTS"], row["player_id"]))
            return [f"{row['player_name']} ({row['team_name']}): {row['PTS']:g}" for row in rows]
    return []


def main() -> None:
    """Run the script on the capture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    if not folder.exists():
        with sideline.Simulator(seed=7, teams=4, games=12) as season:
            command = [
                sys.executable,
                "-m",
                "sideline",
                "capture",
                str(folder),
                "--live",
                "1",
                "--requests-per-second",
                "50",
            ]
            subprocess.run(command, check=True, env={**os.environ, **season.environ}, capture_output=True)
    with sideline.Simulator.from_capture(folder) as service, service.client() as client:
        at = max(game["tipoff_at"] for game in service.games) / 1000
        lines = scorers(client, min(datetime.now(UTC), datetime.fromtimestamp(at, UTC) + timedelta(days=1)))
    print("\n".join(lines) or "no game of the capture has a box score")


if __name__ == "__main__":
    main()
