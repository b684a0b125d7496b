"""Clean games of the simulator and of the second service, with all tables of an audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from service import Features, Service

import sideline

# Long past: the simulator sends the date of the machine, and an audit believes that what ended minutes before may still change.
NOW = "2026-03-01T12:00:00Z"
SPANS = ("2025-08-01", "2026-03-02")
CORRECTED = {"possessions_match_events", "shots_match_events"}
"""A correction of the simulator's changes stats and details, and possessions and shots tell what was seen."""


def responses(client: sideline.Client, events: list[Any], sessions: list[str], rosters: list[Any]) -> dict[str, Any]:
    """Everything that an audit takes of some sessions, as a script would fetch it."""
    payloads: dict[str, Any] = {
        "player_stats": client.stats(sessions),
        "stat_events": client.stats_details(sessions),
        "possessions": client.possessions(sessions),
        "shots": client.shots(sessions),
    }
    coverage = [batch.coverage for batch in payloads.values()]
    return {**payloads, "sessions": events, "players": rosters, "coverage": coverage}


def ids(events: list[Any]) -> list[str]:
    return sorted({row["session_id"] for event in events for row in event.table("sessions").to_dicts()})


def of_simulator(seed: int, games: int, *, sport: str = "basketball", corrections: int = 0) -> dict[str, Any]:
    """Finished games and their practices, of a separate season."""
    with sideline.Simulator(seed=seed, sport=sport, teams=4, games=max(12, games), now=NOW) as service, service.client() as client:
        finished_games = [game for game in service.games if client.game(game["event_id"]).table("sessions").num_rows >= 2][:games]
        for index, game in enumerate(finished_games[:corrections]):
            lines = client.team_game_stats(game["home_team_id"], game_id=game["event_id"]).table("box_score").to_dicts()
            player = next(row for row in lines if row["player_id"] and row["AST"])
            service.correct(game["event_id"], player["player_id"], "AST", 1 if index % 2 else -1)
        events = [client.game(game["event_id"]) for game in finished_games]
        practices = [client.team_events(team["id"], *SPANS, workouts_only=workouts) for team in service.teams[:1] for workouts in (False, True)]
        rosters = [client.roster(game[side], game_id=game["event_id"]) for game in service.games for side in ("home_team_id", "away_team_id")]
        plays = {"play_by_play": [client.play_by_play(game["event_id"]) for game in finished_games]}
        return responses(client, events + practices, ids(events + practices), rosters) | plays


def of_service(seed: int, games: int, features: Features | None = None, **options: Any) -> Iterator[dict[str, Any]]:
    """Games of the second service, before and after corrections of every kind that keeps them consistent."""
    with Service(seed=seed, now=NOW, games=games, features=features or Features(), **options) as service:
        client = sideline.Client(**service.client_options())
        with client:
            for change in (None, service.change.correct_stat, service.change.reorder):
                if change:
                    change()
                events = [client.game(event.id) for event in service.season.played if event.is_game]
                practices = [client.team_events(team.id, "2027-01-01", "2027-03-02") for team in service.season.teams]
                rosters = [
                    client.roster(team.id, game_id=event.id) for event in service.season.games for team in service.season.teams if team.id in event.team_ids
                ]
                yield responses(client, events + practices, ids(events + practices), rosters)
