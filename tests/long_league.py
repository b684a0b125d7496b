"""A league of thousands of games, all over: each one is a game of a small season with other ids and times."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import Any

from service import Service
from service.bodies import Bodies
from service.messages import Request, Response

NOW = "2027-03-01T12:00:00+00:00"
DAY = 86_400_000
TIME = re.compile(r"\b1[5-9]\d{11}\b")
IDS = re.compile(r'("(?:\w+_)?ids?":)(\[[\d,]*\]|\d+)')


class LongLeague(Service):
    """A service whose lists have so many games of `days` until now, and which serves the bodies of each.

    `next_night` advances a day and adds games. `windows`: serve only this many half-hours of locations of a session.
    """

    def __init__(self, games: int, *, days: float = 150, teams: int = 30, possessions: int = 4, sessions: int = 2, **options: Any) -> None:
        size = {"games": 1, "practices": 0, "upcoming": 0, "sessions": (sessions, sessions), "possessions": possessions}
        super().__init__(seed=3, now=NOW, link_base="https://service.invalid", teams=teams, **size, **options)
        template = self.season.games[0]
        self.template_ids = [template.id, *(session.id for session in template.sessions)]
        first, last = self.season.now - days * DAY, self.season.now - 10 * DAY
        self.starts = [round(first + index * (last - first) / games) for index in range(games)]
        bodies = Bodies(self.season, self.links, self.features)
        self._game_entry, self._event = bodies.scheduled(template), bodies.event(template)
        self._teams = [team.id for team in self.season.teams]
        attributes = self._event["game_attributes"]
        self._template_teams = [attributes["home_team_id"], attributes["away_team_id"]]
        self._team_number = re.compile(rf"\b({'|'.join(map(str, self._template_teams))})(\d\d)?\b")
        self._entries: dict[str, list[bytes]] = {"schedule": [], "team_events": []}
        for index in range(games):
            self._add(index)
        # Signatures are checked before.
        self._respond_as_before = self._rest._cached
        vars(self._rest)["_cached"] = self.respond

    def next_night(self, games: int) -> None:
        """Games that ended some hours ago; a day has passed."""
        with self.season.lock:
            self.season.now += DAY
            for number in range(games):
                start = self.season.now - 14 * 3_600_000 + number * 60_000
                self.starts.append(start)
                self._add(len(self.starts) - 1)
            self.season.revision += 1

    def of_index(self, index: int, text: str) -> str:
        """A text of the template with the ids of a game."""
        for key in self.template_ids:
            text = text.replace(key, f"{index:08x}{key[8:]}")
        return text

    def of_game(self, index: int, body: str) -> str:
        """A body of the template with the ids, times, teams and players of a game: a player's id begins with the team's."""
        teams = dict(zip(map(str, self._template_teams), self.teams_of(index), strict=True))

        def with_teams(match: re.Match[str]) -> str:
            return match[1] + self._team_number.sub(lambda number: f"{teams[number[1]]}{number[2] or ''}", match[2])

        return IDS.sub(with_teams, self.at_time_of(index, self.of_index(index, body)))

    def teams_of(self, index: int) -> tuple[int, int]:
        count = len(self._teams)
        home = index % count
        return self._teams[home], self._teams[(home + 1 + index // count % (count - 1)) % count]

    def _add(self, index: int) -> None:
        home, away = self.teams_of(index)

        def playing(entry: dict[str, Any]) -> dict[str, Any]:
            return {**entry, "home_team_id": home, "away_team_id": away}

        event = {**self._event, "game_attributes": playing(self._event["game_attributes"])}
        game_entry = {**playing(self._game_entry), "tipoff_at": self._event["started_at"]}
        for name, entry in (("schedule", game_entry), ("team_events", event)):
            text = self.at_time_of(index, self.of_index(index, json.dumps(entry, separators=(",", ":"))))
            self._entries[name].append(text.encode())

    def at_time_of(self, index: int, text: str) -> str:
        """A text of the template with the times of a game."""
        by = self.starts[index] - self._event["started_at"]
        return TIME.sub(lambda time: str(int(time[0]) + by), text)

    def entries_of(self, operation: str, start: int, end: int, team: int | None) -> bytes:
        places = range(bisect_left(self.starts, start), bisect_right(self.starts, end))
        entries = [self._entries[operation][place] for place in places if team is None or team in self.teams_of(place)]
        name = b"games" if operation == "schedule" else b"events"
        return b'{"' + name + b'":[' + b",".join(entries) + b"]}"

    def respond(self, request: Request) -> Response:
        """The response to a request, without faults."""
        if request.operation in ("schedule", "team_events"):
            team = request.ids.get("team_id")
            start, end = request.number("from") or 0, request.number("to") or 0
            return Response(200, self.entries_of(request.operation, start, end, None if team is None else int(team)))
        key = request.id or request.first("id")
        template = next((key_of for key_of in self.template_ids if key_of[8:] == key[8:]), None)
        if template is None:
            return self._respond_as_before(request)
        index = int(key[:8], 16)
        if request.operation == "game":
            return Response(200, self._entries["team_events"][index])
        ids = dict.fromkeys(request.ids, template)
        response = self._respond_as_before(replace(request, ids=ids, target=request.target.replace(key, template)))
        return Response(response.status, self.of_game(index, response.body.decode()).encode())
