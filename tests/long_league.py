"""A league of thousands of games, all over: each one is a game of a small season with other ids and times."""

from __future__ import annotations

import json
import re
import threading
from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from service import Service
from service.bodies import Bodies
from service.lines import Sample, samples
from service.messages import Request, Response
from service.season import Season

NOW = "2027-03-01T12:00:00+00:00"
DAY = 86_400_000
TIME = re.compile(r"\b1[5-9]\d{11}\b")
IDS = re.compile(r'("(?:\w+_)?ids?":)(\[[\d,]*\]|\d+)')


PERIOD = 10_000_000
"""Milliseconds, of which a time of 13 digits begins with the number of whole ones."""


class Frames:
    """Bodies of locations with many frames. Those of a window are rendered once, and each game's made of them by replacing bytes."""

    def __init__(self, season: Season, frames_per_second: int) -> None:
        self._season = season
        self._step = 1000 // frames_per_second
        self._windows: dict[tuple[str, int], bytes] = {}
        self._lock = threading.Lock()

    def body(self, session_id: bytes, template: str, times: tuple[int, int], by: int, teams: tuple[int, int]) -> bytes:
        """The body of a window; `by`: milliseconds after the template's."""
        start, end = times[0] - by, times[1] - by
        with self._lock:
            if (template, start) not in self._windows:
                self._windows[template, start] = self._render(template, start, end)
        body = self._windows[template, start].replace(template.encode(), session_id)
        for period in range(start // PERIOD, end // PERIOD + 1):
            body = body.replace(b'"t": @%d' % period, b'"t": %d' % (period + by // PERIOD))
        for number, team in enumerate(teams):
            body = body.replace(b"@%d" % number, b"%d" % team)
        return body

    def _render(self, template: str, start: int, end: int) -> bytes:
        session = next(session for session in self._season.games[0].sessions if session.id == template)
        teams = [self._season.games[0].home_id, self._season.games[0].away_id]
        frames = []
        for batch in samples(self._season, session, start, end, self._step):
            rows = []
            for sample in on_court(batch):
                team, player = teams.index(sample.team_id), str(sample.player_id).removeprefix(str(sample.team_id))
                clocks = f'"gc": "{session.game_clock(sample.t)}", "sc": "{session.shot_clock(sample.t)}"'
                ids = f'"type": "PLAYER", "sid": "{template}", "tag": "{sample.tag}", "tid": @{team}, "pid": @{team}{player}'
                rows.append(f'{{"t": @{sample.t}, "x": {sample.x}, "y": {sample.y}, "z": {sample.z}, {ids}, "speed": {sample.speed}, {clocks}}}')
            frames.append(f'{{"locations": [{", ".join(rows)}]}}')
        return f"[{', '.join(frames)}]".encode()


def on_court(batch: list[Sample]) -> list[Sample]:
    """Five players of each team: the season's other bodies are of ten."""
    return [sample for _, of_team in groupby(batch, key=attrgetter("team_id")) for sample in list(of_team)[:5]]


class LongLeague(Service):
    """A service whose lists have so many games of `days` until now, and which serves the bodies of each.

    `next_night` advances a day and adds games. `frames_per_second`: of locations, if not one in half a minute.
    """

    def __init__(
        self, games: int, *, days: float = 150, teams: int = 30, possessions: int = 4, sessions: int = 2, frames_per_second: int = 0, **options: Any
    ) -> None:
        size = {"games": 1, "practices": 0, "upcoming": 0, "sessions": (sessions, sessions), "possessions": possessions}
        super().__init__(seed=3, now=NOW, link_base="https://service.invalid", teams=teams, **size, **options)
        template = self.season.games[0]
        self.template_ids = [template.id, *(session.id for session in template.sessions)]
        first, last = self.season.now - days * DAY, self.season.now - 10 * DAY
        self._frames = Frames(self.season, frames_per_second) if frames_per_second else None
        self.starts = [self._start(first + index * (last - first) / games) for index in range(games)]
        bodies = Bodies(self.season, self.links, self.features)
        self._game_entry, self._event = bodies.schedule_entry(template), bodies.event(template)
        self._teams = [team.id for team in self.season.teams]
        attributes = self._event["game_attributes"]
        self._template_teams = [attributes["home_team_id"], attributes["away_team_id"]]
        self._team_number = re.compile(rf"\b({'|'.join(map(str, self._template_teams))})(\d\d)?\b")
        self._entries: dict[str, list[bytes]] = {"schedule": [], "team_events": []}
        self._pieces: dict[str, list[str]] = {}
        for index in range(games):
            self._add(index)
        # Signatures are checked before.
        self._respond_as_before = self._rest._cached_response
        vars(self._rest)["_cached_response"] = self.respond

    def next_night(self, games: int) -> None:
        """Games that ended some hours ago; a day has passed."""
        with self.season.lock:
            self.season.now += DAY
            for number in range(games):
                self.starts.append(self._start(self.season.now - 14 * 3_600_000 + number * 60_000))
                self._add(len(self.starts) - 1)
            self.season.revision += 1

    def _start(self, time: float) -> int:
        """When a game starts. Those with many frames start whole periods apart: only the first digits of their times differ."""
        if self._frames is None:
            return round(time)
        start = self.season.games[0].start
        return start + (round(time) - start) // PERIOD * PERIOD

    def of_index(self, index: int, text: str) -> str:
        """A text of the template with the ids of a game."""
        for key in self.template_ids:
            text = text.replace(key, f"{index:08x}{key[8:]}")
        return text

    def pieces_of(self, body: str) -> list[str]:
        """A body of the template in pieces: every second one is an id, a time, or the number of a team, that each game has of its own."""

        def with_teams(match: re.Match[str]) -> str:
            # A player's id begins with the team's.
            return match[1] + self._team_number.sub(lambda number: f"\0team {self._template_teams.index(int(number[1]))}\0{number[2] or ''}", match[2])

        text = IDS.sub(with_teams, body)
        text = TIME.sub(lambda time: f"\0time {time[0]}\0", text)
        for key in self.template_ids:
            text = text.replace(key, f"\0index\0{key[8:]}")
        return text.split("\0")

    def of_game(self, index: int, pieces: list[str]) -> str:
        """A body of the template with the ids, times, teams and players of a game."""
        by, teams = self.starts[index] - self._event["started_at"], self.teams_of(index)

        def own(piece: str) -> str:
            kind, _, value = piece.partition(" ")
            return f"{index:08x}" if kind == "index" else str(int(value) + by if kind == "time" else teams[int(value)])

        return "".join([own(piece) if place % 2 else piece for place, piece in enumerate(pieces)])

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
        if request.operation == "locations" and self._frames is not None:
            times = request.number("from") or 0, request.number("to") or 0
            by = self.starts[index] - self._event["started_at"]
            return Response(200, self._frames.body(key.encode(), template, times, by, self.teams_of(index)))
        if request.operation == "game":
            return Response(200, self._entries["team_events"][index])
        target = request.target.replace(key, template)
        if target not in self._pieces:
            ids = dict.fromkeys(request.ids, template)
            response = self._respond_as_before(replace(request, ids=ids, target=target))
            if response.status != 200:
                return response
            self._pieces[target] = self.pieces_of(response.body.decode())
        return Response(200, self.of_game(index, self._pieces[target]).encode())
