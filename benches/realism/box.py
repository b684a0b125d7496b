"""Figures of team-games and games as `../shared/reference` defines them: box score, clock, who plays, places of shots."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby, pairwise

import numpy as np
from season import Event, Game, Possession

Sample = dict[str, list[float]]
ARC_STRAIGHT = 1.415
"""Metres from the hoop's centre towards mid-court up to which the arc is straight."""


def start_of(before: Possession | None, possession: Possession) -> str:
    """Return how a possession began."""
    if before is None or before.session != possession.session:
        return "period"
    if possession.events and possession.events[0].kind == "DEFENSIVE_REB":
        return "dreb"
    if possession.events and possession.events[0].kind == "STL":
        return "steal"
    attempts = [event for event in before.events if event.kind in ("FGA", "FTA")]
    if any(event.kind == "TO" for event in before.events):
        return "dead ball turnover"
    if attempts and attempts[-1].points:
        return "make" if attempts[-1].kind == "FGA" else "ft"
    # A miss that went out of bounds.
    return "dreb"


def with_starts(game: Game) -> list[tuple[str, Possession]]:
    pairs = pairwise([None, *game.possessions])
    return [(start_of(before, item), item) for before, item in pairs if item is not None]


def trips(possession: Possession) -> list[list[Event]]:
    """Return the free throws of a possession, trip by trip."""
    results: list[list[Event]] = []
    for kind, events in groupby(possession.events, key=lambda event: (event.kind == "FTA", event.team)):
        if kind[0]:
            results += [list(trip) for _, trip in groupby(events, key=lambda event: (event.clock, event.player))]
    return results


def scores(game: Game) -> list[tuple[Event, dict[int, int]]]:
    """Return each event that scores with the score after it."""
    score = dict.fromkeys(game.teams, 0)
    results = []
    for event in game.events:
        if event.points:
            score = {**score, event.team: score[event.team] + event.points}
            results.append((event, score))
    return results


def quarter(event: Event) -> int:
    """Return the stretch of ten minutes; from 4 in overtime."""
    return 2 * event.session + (event.clock <= 600) if event.session < 2 else 2 + event.session


def path_figures(game: Game, team: int) -> dict[str, float]:
    """Return the figures of the score's path for a team."""
    own_events, other = team, game.other(team)
    path = scores(game)
    leads = [score[own_events] - score[other] for _, score in path]
    signs = [np.sign(lead) for lead in leads if lead]
    longest = run = 0
    for event, _ in path:
        run = run + event.points if event.team == own_events else 0
        longest = max(longest, run)
    quarters = [0.0] * 4
    for event, _ in path:
        if event.team == own_events and quarter(event) < 4:
            quarters[quarter(event)] += event.points
    return {
        "largest lead": max([0, *leads]),
        "longest run": longest,
        "lead changes": sum(before != after for before, after in pairwise(signs)),
        "final margin": abs(leads[-1]),
        "sd of quarter points": float(np.std(quarters)),
    }


def share(part: float, whole_minutes: float) -> float:
    return 100 * part / whole_minutes if whole_minutes else float("nan")


def shooting_figures(game: Game, team: int) -> dict[str, float]:
    own_events = [event for event in game.events if event.team == team]
    shots = [event for event in own_events if event.kind == "FGA"]
    threes = [shot for shot in shots if shot.is_three]
    twos = [shot for shot in shots if not shot.is_three]
    throws = [event for event in own_events if event.kind == "FTA"]
    makes = sum(shot.points > 0 for shot in shots)

    def count(kind: str) -> int:
        return sum(event.kind == kind for event in own_events)

    away = [float(np.hypot(*shot.chart)) for shot in twos if shot.chart]
    corners = [shot.chart[1] < ARC_STRAIGHT for shot in threes if shot.chart]
    return {
        "PTS": sum(event.points for event in own_events),
        "FG2A": len(twos),
        "FG2P": share(sum(shot.points > 0 for shot in twos), len(twos)),
        "FG3A": len(threes),
        "FG3P": share(sum(shot.points > 0 for shot in threes), len(threes)),
        "FTA": len(throws),
        "FTP": share(sum(throw.points for throw in throws), len(throws)),
        "OREB": count("OFFENSIVE_REB"),
        "DREB": count("DEFENSIVE_REB"),
        "AST": count("AST"),
        "STL": count("STL"),
        "TOV": count("TO"),
        "BLK": count("BLK"),
        "PF": count("FL"),
        "assist share": share(count("AST"), makes),
        "share within 3 m": share(sum(distance < 3 for distance in away), len(shots)),
        "share 3-5 m": share(sum(3 <= distance < 5 for distance in away), len(shots)),
        "share of long twos": share(sum(distance >= 5 for distance in away), len(shots)),
        "corner share of threes": share(sum(corners), len(threes)),
    }


def pace_figures(game: Game, team: int) -> dict[str, float]:
    starts = [(start, item) for start, item in with_starts(game) if item.team == team]
    lengths = [item.start_clock - item.end_clock for _, item in starts]
    own_events = [event for event in game.events if event.team == team]
    points = defaultdict(int)
    for event in own_events:
        points[event.player] += event.points
    total = sum(points.values())
    won_possessions = [item for start, item in starts if start in ("dreb", "steal")]
    early = [shot for item in won_possessions if (shot := first_try(item)) and shot.kind == "FGA"]
    item_of = {id(event): item for item in won_possessions for event in item.events}
    rebounds = sum(event.kind == "OFFENSIVE_REB" for event in own_events)
    opposing_rebounds = sum(event.kind == "DEFENSIVE_REB" for event in game.events if event.team != team)
    return {
        "possessions": len(starts),
        "points per possession": total / len(starts),
        "mean possession s": float(np.mean(lengths)),
        "oreb share": share(rebounds, rebounds + opposing_rebounds),
        "free-throw trips": sum(len(trips(item)) for _, item in starts),
        "early shot share": share(
            sum(round(item_of[id(shot)].start_clock) - round(shot.clock) <= 6 for shot in early), len(won_possessions)
        ),
        "players in the play by play": len({event.player for event in own_events}),
        "players with 10 points": sum(value >= 10 for value in points.values()),
        "top scorer's share": share(max(points.values(), default=0), total),
    }


def first_try(possession: Possession) -> Event | None:
    tries = (event for event in possession.events if event.kind in ("FGA", "TO") and event.team == possession.team)
    return next(tries, None)


def minutes_figures(game: Game, team: int) -> dict[str, float]:
    seconds: dict[int, float] = defaultdict(float)
    for item in game.possessions:
        for player in item.fives[team]:
            seconds[player] += (item.start_clock - item.end_clock) / 60
    length = sum(seconds.values()) / 5
    whole_minutes = np.array(sorted((round(value) for value in seconds.values()), reverse=True))
    whole_minutes = whole_minutes[whole_minutes >= 1] * 40 / length
    return {
        "players used": len(whole_minutes),
        "most minutes": float(whole_minutes[0]),
        "sd of minutes": float(whole_minutes.std()),
        "top five's share of minutes": share(float(whole_minutes[:5].sum()), float(whole_minutes.sum())),
    }


def team_games(games: list[Game]) -> list[dict[str, float]]:
    """Return every figure of each team-game; the two of a game follow each other."""
    return [
        {
            **shooting_figures(game, team),
            **pace_figures(game, team),
            **path_figures(game, team),
            **minutes_figures(game, team),
            **rotation_figures(game, team),
        }
        for game in games
        for team in game.teams
    ]


def rotation_figures(game: Game, team: int) -> dict[str, float]:
    fives = [(item.session, item.fives[team]) for item in game.possessions]
    length = sum(item.start_clock - item.end_clock for item in game.possessions) / 60
    starters = set(fives[0][1])
    changes = [len(set(after[1]) - set(before[1])) for before, after in pairwise(fives)]
    seconds = sum(
        (item.start_clock - item.end_clock) * len(starters & set(item.fives[team])) for item in game.possessions
    )
    return {
        "lineups": len({five for _, five in fives}),
        "players in": sum(changes) * 40 / length,
        "substitution times": sum(count > 0 for count in changes) * 40 / length,
        "starters' share of minutes": share(seconds / 60, 5 * length),
    }
