"""Tells how reliable the games of an answer are, from `archive.status()`."""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import Any

from .._lazy import pl
from ..archive import RESOURCES, SEVERITY, Archive
from .replies import Judgement

_MAX_AGE_SECONDS = 60.0
"""A verdict also changes with the time."""

_WITHOUT_GAMES = {"teams", *(table for table in RESOURCES["roster"].tables)}
_RECORDS = ("raw", "coverage", "corrections")
"""Tables about what all others have."""
_STATES = ("coverage", "listings")
"""The tables that each sync changes."""


class Verdicts:
    """The verdicts of an archive, read again after each sync."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._lock = Lock()
        self._key: tuple[object, ...] = ()
        self._rows: list[dict[str, Any]] = []
        self._games_ahead: set[str] = set()
        self._read_at = 0.0

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `archive.status()`."""
        with self._lock:
            key = tuple(self._version(name) for name in _STATES)
            if key != self._key or time.monotonic() > self._read_at + _MAX_AGE_SECONDS:
                self._rows = self._archive.status().to_dicts()
                self._games_ahead = self._read_games_ahead()
                self._key, self._read_at = key, time.monotonic()
            return self._rows

    def _version(self, name: Any) -> int | None:
        try:
            return self._archive.delta(name).version()
        except ValueError:
            return None

    def judge(self, scope: Mapping[str, Sequence[str] | None]) -> Judgement:
        """Return the worst verdict of each game on the tables that an answer used.

        A game that had not begun at the last sync has no rows, and belongs only to an answer over `games`.
        """
        records = [name for name in _RECORDS if name in scope]
        rows = [row for row in self.rows() if records or row["table"] in scope] if scope else []
        games: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            of_tables = [scope[name] for name in (row["table"], *records) if name in scope]
            ids = None if None in of_tables else {game for ids in of_tables for game in ids or ()}
            is_used = row["table"] == "games" or row["game_id"] not in self._games_ahead
            if is_used if ids is None else row["game_id"] in ids:
                games[row["game_id"]].append(row)
        verdicts, reasons = {}, {}
        for game, rows_of_game in games.items():
            worst = min((row["status"] for row in rows_of_game), key=SEVERITY.index)
            verdicts[game] = worst
            if worst != "available":
                bad = [row for row in rows_of_game if row["status"] == worst]
                reasons[game] = f"{', '.join(row['table'] for row in bad)}: {'; '.join(bad[0]['reasons'])}"
        times = self._last_listed(
            {row["table"] for rows_of_game in games.values() for row in rows_of_game}, games.keys()
        )
        return Judgement(verdicts, reasons, min(times.values(), default=None), self._notes(scope, rows))

    def _last_listed(self, tables: Collection[str], games: Collection[str]) -> dict[str, datetime]:
        """Return when each game was last listed: in the tables, or in any other if it has nothing in these."""
        times: dict[str, datetime] = {}
        for is_other in (False, True):
            times_in_tables: dict[str, datetime] = {}
            for row in self.rows():
                game, at = row["game_id"], row["last_listed"]
                if game in games and game not in times and at is not None and (is_other or row["table"] in tables):
                    times_in_tables[game] = min(at, times_in_tables.get(game, at))
            times |= times_in_tables
        return times

    def _read_games_ahead(self) -> set[str]:
        """Return the games that had not begun at the time by which the last sync planned."""
        planned_at = pl.scan_delta(self._archive.delta("coverage")).select(pl.max("planned_at")).collect().item()
        games = self._archive.scan("games").select("game_id", "tipoff_at").collect().to_dicts()
        return {
            row["game_id"]
            for row in games
            if planned_at is not None and row["tipoff_at"] is not None and row["tipoff_at"] > planned_at
        }

    def _notes(self, scope: Mapping[str, Sequence[str] | None], rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return what the archive lacks of a scope as a whole."""
        of_games = {table for resource in RESOURCES.values() for table in resource.tables} - _WITHOUT_GAMES
        tables = {row["table"] for row in rows}
        notes = [
            f"The archive has {table} of no game: it was never requested, or the service has none."
            for table in scope
            if table in of_games and table not in tables
        ]
        games = {row["game_id"] for row in self.rows()} if scope else set()
        ids_of_scope = {game for ids in scope.values() for game in ids or ()}
        return notes + [f"The archive has no game {game}." for game in sorted(ids_of_scope - games)]
