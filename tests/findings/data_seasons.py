"""Histories of a small season of the second service, and what of an archive nothing accounts for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from service import Event, Row, Service, differences

import sideline

for library in ("arro3", "deltalake", "duckdb", "polars", "pyarrow"):
    pytest.importorskip(library, reason=f"needs {library}: pip install 'sideline[archive]'")

NOW = "2027-03-01T12:00:00+00:00"
SPAN: dict[str, Any] = {"start": "2027-01-15", "end": "2027-04-30"}
SIZE: dict[str, Any] = {"seed": 3, "teams": 4, "players": 8, "games": 3, "sessions": (2, 2), "possessions": 4, "practices": 1, "upcoming": 0, "days": 12}
SIZE |= {"link_base": "https://service.invalid"}  # the bodies of every service are the same ones

TABLES = ("sessions", "stat_events", "shots")
"""What most histories sync: a list, and two tables of each session."""

OPERATION = {"stat_events": "stats_details", "shots": "shots", "player_stats": "stats", "possessions": "possessions"}
"""Table → the operation of its sessions' units."""

GOOD = ("fetched", "empty")


def new_service(**options: Any) -> Service:
    return Service(now=NOW, **{**SIZE, **options})


def client_of(service: Service) -> sideline.Client:
    return sideline.Client(**service.client_options(), max_retries=0)


def sync(archive: sideline.Archive, tables: Any = TABLES, **options: Any) -> sideline.archive.SyncReport:
    selection = {"game_ids": options.pop("game_ids")} if "game_ids" in options else SPAN
    return archive.sync(**selection, tables=tables, on_error="keep", progress=False, **options)


def coverage(archive: sideline.Archive) -> dict[str, Row]:
    """The account of each unit by its name."""
    return {row["unit"]: row for row in archive.scan("coverage").collect().to_dicts()}


def rows_of_sessions(archive: sideline.Archive, table: str, sessions: set[str]) -> list[Row]:
    return [row for row in archive.scan(table).collect().to_dicts() if row["session_id"] in sessions]


def find_unaccounted(archive: sideline.Archive, service: Service, table: str) -> list[str]:
    """Return the units whose rows differ from the truth although the coverage of the unit, or of its event, names no hole."""
    units = coverage(archive)
    columns = sideline.SCHEMAS[table].names
    difference = differences(
        [{name: row[name] for name in columns} for row in archive.to_arrow(table).to_pylist()], service.truth(names=[table])[table], columns=columns
    )
    silent = set()
    for row in (*difference.missing, *difference.extra):
        names = [f"{OPERATION[table]}/{row['session_id']}", f"game/{row['game_id']}", f"event/{row['game_id']}"]
        if all(units[name]["status"] in GOOD for name in names if name in units):
            silent.add(names[0])
    return sorted(silent)


def played(service: Service) -> list[Event]:
    """The games that are over, the oldest first."""
    return [event for event in service.season.games if event.sessions]


@contextmanager
def change_season(service: Service) -> Iterator[None]:
    """A change of the season's objects that the service serves from now on."""
    with service.season.lock:
        yield
        service.season.revision += 1


def without_teams(ids: set[int]) -> Callable[[Any], Any]:
    """A list of teams that these have left."""
    return lambda body: {**body, "teams": [team for team in body["teams"] if team["id"] not in ids]}


def verdicts(archive: sideline.Archive, game_id: str) -> dict[str, str]:
    """Table → the verdict on a game."""
    return {row["table"]: row["status"] for row in archive.status().to_dicts() if row["game_id"] == game_id}


def archive_in(folder: Path, client: sideline.Client) -> sideline.Archive:
    return sideline.Archive(folder / "season", client)
