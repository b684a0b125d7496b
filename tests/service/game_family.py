"""The game-level resources, which only the vendor's further documentation describes: switched off by default."""

from __future__ import annotations

import uuid
from typing import Any

from .lines import lines, shots
from .season import Action, Event, Season, Session

_NAMESPACE = uuid.UUID("8b0f0f6e-0000-4000-8000-000000000000")
HOOP_ID = "6a2f6b1e-0000-4000-8000-000000000000"


def classification(action: Action) -> str:
    """What happened, in words of the service."""
    if action.shot is not None:
        return f"{'THREE' if action.shot.is_3point else 'TWO'}_POINT_{'MAKE' if action.shot.is_make else 'MISS'}"
    if action.free_throw is not None:
        return "FREE_THROW_MAKE" if action.free_throw else "FREE_THROW_MISS"
    return {"TO": "TURNOVER", "AST": "ASSIST"}.get(action.type, f"{action.type}OUND")


def action_id(session: Session, action: Action) -> str:
    """The same for the same action, whatever else changes."""
    return str(uuid.uuid5(_NAMESPACE, f"{session.id} {action.at} {action.player_id} {action.type}"))


def primary_code(action: Action) -> str:
    """The code of the most specific stat of an action."""
    return list(action.increments)[1 if action.shot is not None else -1]


class GameFamily:
    """Rows by game, with string ids and abbreviated or camelCase names."""

    def __init__(self, season: Season) -> None:
        self.season = season

    def _score(self, sessions: list[Session], team_id: int) -> float:
        return sum(action.increments.get("PTS", 0) for session in sessions for team, action in session.actions() if team == team_id)

    def totals(self, game: Event) -> dict[str, Any]:
        """`gameTotals`, the newest period first."""

        def scores(sessions: list[Session]) -> dict[str, Any]:
            sides = (("awayTeamScore", game.away_id), ("homeTeamScore", game.home_id))
            return {name: {"teamId": str(team), "value": self._score(sessions, team)} for name, team in sides}

        last = game.sessions[-1]
        periods = [scores([session]) | {"period": session.name, "sessionId": session.id} for session in reversed(game.sessions)]
        return scores(game.sessions) | {"period": last.name, "gameClock": "00:00:00", "status": game.status, "periodTotals": periods}

    def play_by_play(self, game: Event) -> dict[str, Any]:
        return {"details": self._details(game), "gameTotals": self.totals(game)}

    def _details(self, game: Event) -> list[dict[str, Any]]:
        rows = []
        for session in game.sessions:
            for team_id, action in session.actions():
                x, y, z = action.position
                sign = 1 if action.hoop[1] > 0 else -1
                row = {"type": "ACTUAL", "eventId": action_id(session, action), "timestamp": action.at, "teamId": str(team_id)}
                row |= {"sessionType": "GAME_ROUND", "sessionId": session.id, "practiceId": None, "practiceDefinitionId": None}
                row |= {"drillDefinitionId": None, "gameId": game.id, "stats": action.increments, "corrected": False}
                row |= {"facilityId": game.facility_id, "courtId": game.court_id, "gameClock": session.game_clock(action.at)}
                row |= {"shotClock": session.shot_clock(action.at), "period": session.name, "playerX": x, "playerY": y, "playerZ": z}
                row |= {"hoopToEventX": -sign * (x - action.hoop[0]), "hoopToEventY": -sign * (y - action.hoop[1]), "clipId": None}
                row |= {"classification": classification(action), "description": f"{action.player_id} {classification(action).lower()}"}
                row |= {"videoAttributes": {"facilityId": game.facility_id, "courtId": game.court_id, "sessionId": session.id}}
                row |= {"baseStats": action.type, "actualStats": primary_code(action), "act": "PLAYER", "pid": str(action.player_id)}
                rows.append(row | {"key": {"actorId": str(action.player_id), "timestamp": action.at}})
        return rows

    def ball_screens(self, game: Event) -> dict[str, Any]:
        return {"ballscreens": [], "gameTotals": self.totals(game)}

    def shots(self, game: Event) -> dict[str, Any]:
        return {"shots": self._shots(game), "gameTotals": self.totals(game)}

    def _shots(self, game: Event) -> list[dict[str, Any]]:
        rows = []
        for session in game.sessions:
            for team_id in game.team_ids:
                for action, shot in shots(session, team_id):
                    row: dict[str, Any] = {"label": None, "t": action.at, "pid": str(action.player_id), "tid": str(team_id), "sid": session.id}
                    row |= {"sst": "GAME_ROUND", "gid": game.id, "st": "MAKE" if shot.is_make else "MISS", "is3": shot.is_3point}
                    row |= {"pts": shot.points if shot.is_make else -1, "z": shot.zone, "az": shot.advanced_zone}
                    row |= {f"p{axis}": value for axis, value in zip("xyz", shot.player, strict=True)}
                    row |= {f"h{axis}": value for axis, value in zip("xyz", shot.hoop, strict=True)}
                    row |= {"hsx": shot.to_hoop[0], "hsy": shot.to_hoop[1], "s": "RECORDED", "drb": 1, "dd": None, "fid": game.facility_id, "hid": HOOP_ID}
                    row |= {"gc": session.game_clock(action.at), "sc": session.shot_clock(action.at), "prd": session.name}
                    rows.append(row | {"attributes": [shot.attribute], "players": [], "d": shot.distance_cm, "shotDefenders": []})
        return rows

    def catch_up(self, game: Event, resources: list[str], *, has_totals: bool = False) -> dict[str, Any]:
        """The parts that were named, and the totals. `has_totals`: the teams' lines are among the stats."""
        body: dict[str, Any] = {}
        if "stats" in resources:
            body["stats"] = [
                {"pid": str(line.player_id), "tid": str(team_id), "totalStats": line.totals}
                for team_id in game.team_ids
                for line in lines(self.season, game.sessions, team_id)
                if line.player_id or has_totals
            ]
        if "details" in resources:
            body["details"] = self._details(game)
        if "shots" in resources:
            body["shots"] = self._shots(game)
        return body | {"gameTotals": self.totals(game)}
