"""The bodies that are measured, made by the simulator and brought to the sizes that a real service sends.

The simulator's games tell fewer stats than real ones, so a body of stat details or possessions is the `teams` of several of its
games (or sessions) in one list, until the size fits. Each body keeps to its schema, and its keys, numbers and texts are the
simulator's.

Rows of one body would measure that body. `bodies` makes five of a kind, each of another season and teams, and each altered in
another way that a service may choose: as it is, names with accents, fields that are missing or null, fields in another order, and
decimals of any length, of whole numbers too. All is made by seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import sideline

NOW = "2027-03-01T20:00:00Z"
HALF_HOUR_MS = 30 * 60 * 1000


@dataclass(frozen=True)
class Workload:
    name: str
    operation: str
    raw: bytes
    made: str
    """Of what."""
    ids: dict[str, str] = field(default_factory=dict)

    def payload(self) -> sideline.Payload:
        return sideline.Payload.from_bytes(self.operation, self.raw, **self.ids)


def _joined(bodies: Iterator[bytes], size: int) -> tuple[bytes, int]:
    """The teams of as many bodies as come nearest to a size; the last one is cut by players or possessions."""
    teams: list[dict[str, object]] = []
    total = used = 0
    while total < size:
        used += 1
        for team in json.loads(next(bodies))["teams"]:
            list_name = "player_stats" if "player_stats" in team else "possessions"
            whole, lines = len(_compact(team)), team[list_name]
            while lines and total + whole > size * 1.02:
                whole -= len(_compact(lines.pop())) + 1
            if lines:
                teams.append(team)
                total += whole
            else:
                return _compact({"teams": teams}), used
    return _compact({"teams": teams}), used


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@cache
def workloads(seed: int = 7) -> dict[str, Workload]:
    """Those of a season, by name, in the order of the report."""
    with sideline.Simulator(seed=seed, now=NOW) as service, service.client() as client:
        games = [game["event_id"] for game in service.games[:40]]
        results = [client.game(game).to_dict()["results"] for game in games]
        sessions = [session["id"] for game in results for session in game]
        first = results[0][0]
        start = first["started_at"]
        game, session = {"game_id": games[0]}, {"session_id": sessions[0]}

        full, games_full = _joined((client.game_stats_details(g).raw for g in games), 2_400_000)
        middle, games_middle = _joined((client.game_stats_details(g).raw for g in games), 1_500_000)
        period, sessions_period = _joined((client.stats_details(s).raw for s in sessions), 550_000)
        possessions, sessions_possessions = _joined((client.possessions(s).raw for s in sessions), 280_000)
        made = [
            Workload("game", "game_stats_details", full, f"stat details of {games_full} games in one body", game),
            Workload("1.5 MB game", "game_stats_details", middle, f"stat details of {games_middle} games in one", game),
            Workload("period", "stats_details", period, f"stat details of {sessions_period} sessions in one", session),
            Workload(
                "possessions", "possessions", possessions, f"those of {sessions_possessions} sessions in one", session
            ),
            Workload("roster", "roster", client.roster(service.teams[0]["id"]).raw, "one team, as it is"),
            Workload("session stats", "stats", client.stats(sessions[0]).raw, "one session, as it is", session),
            Workload(
                "locations",
                "locations",
                client.locations(first["id"], start, start + HALF_HOUR_MS).raw,
                "half an hour of one session at 2 time steps a second, as it is",
            ),
            Workload("small", "game", client.game(games[0]).raw, "one game, as it is", game),
        ]
    with sideline.Simulator(seed=seed, games=5500, teams=360, now=NOW) as service, service.client() as client:
        schedule = client.schedule("2026-01-01", "2027-12-31").raw
    made.append(Workload("schedule", "schedule", schedule, "a season of 5,500 games and 360 teams, as it is"))
    return {one.name: one for one in made}


Member = dict[str, object]
ACCENTS = str.maketrans(
    {"a": "á", "c": "ć", "d": "đ", "e": "ë", "i": "í", "l": "ł", "n": "ñ", "o": "ø", "s": "š", "u": "ů", "z": "ž"}
)
REQUIRED = {"id", "t", "event_id"}
"""Beside the stat codes: the rest may be missing."""


def _accented(_: random.Random) -> Callable[[Member], Member]:
    def change(member: Member) -> Member:
        return {
            key: value.translate(ACCENTS) if isinstance(value, str) and "name" in key else value
            for key, value in member.items()
        }

    return change


def _with_gaps(dice: random.Random) -> Callable[[Member], Member]:
    """Of the texts and numbers a twentieth is missing and a twentieth null."""

    def change(member: Member) -> Member:
        changed = {}
        for key, value in member.items():
            is_kept = isinstance(value, dict | list) or key in REQUIRED or key.isupper()
            chance = 1.0 if is_kept else dice.random()
            if chance >= 0.05:
                changed[key] = value if chance >= 0.1 else None
        return changed

    return change


def _reordered(dice: random.Random) -> Callable[[Member], Member]:
    """One order for all objects, as a service has one."""
    places: dict[str, float] = {}

    def change(member: Member) -> Member:
        return dict(sorted(member.items(), key=lambda item: places.setdefault(item[0], dice.random())))

    return change


def _with_decimals(dice: random.Random) -> Callable[[Member], Member]:
    def number(value: object) -> object:
        match value:
            case float():
                digits = dice.randrange(13)
                return round(value + dice.random(), digits) if digits else int(value)
            case bool():
                return value
            case int() if dice.random() < 0.5:
                return float(value)
        return value

    return lambda member: {key: number(value) for key, value in member.items()}


def _as_it_is(_: random.Random) -> Callable[[Member], Member]:
    return lambda member: member


ALTERATIONS = (_as_it_is, _accented, _with_gaps, _reordered, _with_decimals)


@cache
def bodies(name: str) -> list[Workload]:
    """Five of a kind."""
    made = []
    for number, alteration in enumerate(ALTERATIONS):
        work = workloads(7 + number)[name]
        change = alteration(random.Random(number))
        made.append(replace(work, raw=_compact(json.loads(work.raw, object_hook=change))))
    return made


def snapshots() -> list[str]:
    """Documents of the event stream of a game that is played as fast as it is read: its first hundred."""
    with sideline.Simulator(seed=7, now=NOW) as service, service.client() as client:
        game = service.games[-1]["event_id"]
        with client.live_stats(game) as stream:
            # What plays as fast as it is read plays on where nobody reads yet.
            next(item for item in stream if isinstance(item, sideline.live.Connected))
            service.play(game, None)
            return [next(stream).text for _ in range(100)]


if __name__ == "__main__":
    for one in workloads().values():
        print(f"{one.name:14} {len(one.raw):9} bytes  {one.operation}: {one.made}")
