"""Games of a simulated season, read with the client as a user reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

import sideline

NOW = "2027-03-01T12:00:00Z"


@dataclass
class Event:
    """What a player did."""

    session: int
    at: float
    """Milliseconds."""
    clock: float
    """Seconds left in the period."""
    team: int
    player: int
    kind: str
    """FGA, FTA, AST, TO, STL, OFFENSIVE_REB, DEFENSIVE_REB, BLK or FL."""
    details: set[str]
    chart: tuple[float, float] | None = None
    """Of a shot, in metres from the hoop: to the right, and towards mid-court."""

    @property
    def points(self) -> int:
        if self.kind == "FTA":
            return int("FT" in self.details)
        return 3 if "FG3" in self.details else 2 if "FG2" in self.details else 0

    @property
    def is_three(self) -> bool:
        return "FGA3" in self.details


@dataclass
class Possession:
    session: int
    team: int
    start: float
    end: float
    """Milliseconds."""
    start_clock: float
    end_clock: float
    fives: dict[int, tuple[int, ...]]
    events: list[Event] = field(default_factory=list)


@dataclass
class Game:
    teams: tuple[int, int]
    possessions: list[Possession]
    """In order of time."""
    shots: list[dict[str, Any]]
    frames: list[pl.DataFrame]
    """Positions of each session; empty unless they were wanted."""

    @property
    def events(self) -> list[Event]:
        return [event for possession in self.possessions for event in possession.events]

    def other(self, team: int) -> int:
        return self.teams[1] if team == self.teams[0] else self.teams[0]


def games(seed: int, count: int, *, positions: bool = True) -> Iterator[Game]:
    """Read the first games of a season that are over."""
    size = count * 3 // 2 + 4
    with sideline.Simulator(seed=seed, teams=16, games=size, now=NOW) as service, service.client() as client:
        for game in service.games[:count]:
            yield read(client, game, positions)


def read(client: sideline.Client, game: dict[str, Any], positions: bool) -> Game:
    body = client.game(game["event_id"])
    sessions = body.table("sessions").to_polars().sort("position")["session_id"].to_list()
    windows = body.table("location_windows").to_polars().sort("start")
    shots = client.game_shots(game["event_id"]).table().to_polars().sort("occurred_at").to_dicts()
    charts = {
        (round(shot["occurred_at"].timestamp() * 1000), shot["player_id"]): (
            shot["hoop_player_x"] / 1000,
            shot["hoop_player_y"] / 1000,
        )
        for shot in shots
    }
    possessions: list[Possession] = []
    frames = []
    for index, session in enumerate(sessions):
        payload = client.possessions(session)
        results = session_possessions(index, payload.table("possessions").to_polars())
        add_events(index, results, payload.table("possession_events").to_polars(), charts)
        possessions += sorted(results.values(), key=lambda item: item.start)
        if positions:
            session_windows = windows.filter(pl.col("session_id") == session)
            frames.append(
                client.locations(session, session_windows["start"][0], session_windows["end"][-1]).table().to_polars()
            )
    for shot in shots:
        shot["session"] = sessions.index(shot["session_id"])
    return Game((game["home_team_id"], game["away_team_id"]), possessions, shots, frames)


def session_possessions(session: int, rows: pl.DataFrame) -> dict[tuple[int, int], Possession]:
    teams = rows["team_id"].unique().to_list()
    results = {}
    for row in rows.with_columns(pl.col("start_timestamp", "end_timestamp").dt.epoch("ms")).to_dicts():
        team = row["team_id"]
        other = next(item for item in teams if item != team)
        results[team, row["possession"]] = Possession(
            session,
            team,
            row["start_timestamp"],
            row["end_timestamp"],
            row["start_game_clock_s"],
            row["end_game_clock_s"],
            {team: tuple(sorted(row["player_ids"])), other: tuple(sorted(row["opposing_player_ids"]))},
        )
    return results


def add_events(
    session: int,
    possessions: dict[tuple[int, int], Possession],
    rows: pl.DataFrame,
    charts: dict[tuple[int, int], tuple[float, float]],
) -> None:
    rows = rows.with_columns(pl.col("timestamp").dt.epoch("ms")).sort("team_id", "possession", "position")
    for row in rows.to_dicts():
        possession = possessions[row["team_id"], row["possession"]]
        players = possession.fives.items()
        team = next(team for team, five in players if row["player_id"] in five)
        place = charts.get((row["timestamp"], row["player_id"])) if row["possession_type"] == "FGA" else None
        possession.events.append(
            Event(
                session,
                row["timestamp"],
                row["game_clock_s"],
                team,
                row["player_id"],
                row["possession_type"],
                set(row["details"]),
                place,
            )
        )


def percent(flags: list[bool]) -> float:
    return 100 * float(np.mean(flags)) if flags else float("nan")
