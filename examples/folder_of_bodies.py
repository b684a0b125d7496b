"""Read a folder of saved bodies, with one table for each operation.

    python examples/folder_of_bodies.py FOLDER [GAME_ID]

The bodies are in FOLDER/<operation>/<id>.json, where the id is that of the request: of a session, a game or a team. They are
read without a request. If the folder does not exist, it is created with the bodies of a game (default: the last finished
one), from the service that SIDELINE_USERNAME, SIDELINE_SECRET, .. select, or else from a simulator. Requires pyarrow.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

import sideline

OF_A_SESSION = ["stats", "stats_details", "possessions", "shots", "locations"]
OF_A_GAME = ["game", "game_stats_details"]
OF_A_TEAM = ["roster", "team_events", "team_game_stats", "practice"]
OF_ALL = ["teams", "schedule"]
ID_OF = {
    **dict.fromkeys(OF_A_SESSION, "session_id"),
    **dict.fromkeys(OF_A_GAME, "game_id"),
    **dict.fromkeys(OF_A_TEAM, "team_id"),
}


def read(folder: Path, operation: str, table: str | None = None) -> pa.Table:
    """Read all bodies of an operation as one table."""
    parts = []
    for file in sorted((folder / operation).glob("*.json")):
        known = {ID_OF[operation]: file.stem} if operation in ID_OF else {}
        parts.append(sideline.Payload.from_bytes(operation, file.read_bytes(), **known).to_arrow(table))
    # A box score may have stat codes that another lacks.
    return pa.concat_tables(parts, promote_options="default")


def save(folder: Path, name: str, payload: sideline.Payload) -> None:
    file = folder / payload.operation / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(payload.raw)


def collect(client: sideline.Client, folder: Path, game_id: str | None) -> None:
    """Save a body of each operation that has tables, for each session of a game."""
    day = timedelta(days=1)
    yesterday = datetime.now(UTC) - day
    if game_id is None:
        schedule = client.schedule(yesterday - 60 * day, yesterday)
        save(folder, "all", schedule)
        game_id = max(schedule.table().to_dicts(), key=lambda game: game["tipoff_at"])["game_id"]
    save(folder, "all", client.teams())
    game = client.game(game_id)
    save(folder, game_id, game)
    save(folder, game_id, client.game_stats_details(game_id))
    sessions = game.table("sessions").to_dicts()
    for team_id in {game.table("events").to_dicts()[0][side] for side in ("home_team_id", "away_team_id")}:
        save(folder, team_id, client.roster(team_id, game_id=game_id))
        save(folder, team_id, client.team_game_stats(team_id, game_id=game_id))
        events = client.team_events(team_id, sessions[0]["started_at"] - 7 * day, sessions[0]["started_at"] + 7 * day)
        save(folder, team_id, events)
        for event in events.table("events").to_dicts():
            if event["is_practice_event"]:
                save(folder, team_id, client.follow(event["self_link"]))
    for session in sessions:
        session_id, start, end = session["session_id"], session["started_at"], session["ended_at"]
        for operation in ("stats", "stats_details", "possessions", "shots"):
            save(folder, session_id, getattr(client, operation)(session_id))
        save(folder, session_id, client.locations(session_id, start, end))


@contextmanager
def connected() -> Iterator[sideline.Client]:
    """Yield a client of the service selected by the environment, or else of a simulator."""
    if "SIDELINE_USERNAME" in os.environ:
        with sideline.Client() as client:
            yield client
    else:
        with sideline.Simulator(seed=7) as service, service.client() as client:
            yield client


def main() -> None:
    parser = argparse.ArgumentParser(description="Saved bodies as tables.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("game_id", nargs="?")
    args = parser.parse_args()
    if not args.folder.exists():
        with connected() as client:
            collect(client, args.folder, args.game_id)
    for operation in [*OF_ALL, *OF_A_TEAM, *OF_A_GAME, *OF_A_SESSION]:
        files = list((args.folder / operation).glob("*.json"))
        for name in sideline.Payload.from_bytes(operation, files[0].read_bytes()).tables if files else []:
            table = read(args.folder, operation, name)
            print(f"{operation}: {len(files)} bodies, {name}: {table.num_rows} rows, {table.num_columns} columns")


if __name__ == "__main__":
    main()
