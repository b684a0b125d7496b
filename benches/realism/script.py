"""What happens when, as `../shared/reference` counts it: times, stints, scores by stretch, kinds of shots and fouls."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
from box import ARC_STRAIGHT, first_try, path_figures, quarter, scores, trips, with_starts
from season import Event, Game, Possession

Samples = dict[str, list[float]]
Counts = dict[str, Counter[str]]


def whole(clock: float) -> int:
    """Return seconds as a board shows them."""
    return int(np.ceil(clock))


def samples(games: list[Game]) -> Samples:
    results: Samples = defaultdict(list)
    for game in games:
        for part in (game_samples(game), time_samples(game), stint_samples(game), shot_samples(game)):
            for name, values in part.items():
                results[name] += values
    return results


def game_samples(game: Game) -> Samples:
    home, away = game.teams
    path = scores(game)
    leads = [score[home] - score[away] for _, score in path]
    home_path, away_path = path_figures(game, home), path_figures(game, away)
    results: Samples = defaultdict(list)
    results["game: final margin"].append(abs(leads[-1]))
    results["game: largest lead"].append(max(home_path["largest lead"], away_path["largest lead"]))
    results["game: lead changes"].append(home_path["lead changes"])
    results["game: longest run"].append(max(home_path["longest run"], away_path["longest run"]))
    results["game: points of both"].append(sum(path[-1][1].values()))
    results["game: ties after 0-0"].append(sum(lead == 0 for lead in leads))
    for stretch in range(4):
        before = [lead for (event, _), lead in zip(path, leads, strict=True) if quarter(event) <= stretch]
        if stretch < 3:
            results[f"game: margin after {10 * stretch + 10} min"].append(abs(before[-1]) if before else 0)
        for team in game.teams:
            points = sum(event.points for event, _ in path if event.team == team and quarter(event) == stretch)
            results[f"points in 10 minutes: {stretch + 1}"].append(points)
            results["points in 10 minutes"].append(points)
    fouls = Counter(event.player for event in game.events if event.kind == "FL")
    results["fouls of a player who played"] += [fouls[player] for player in players_of(game)]
    return results


def players_of(game: Game) -> set[int]:
    return {player for item in game.possessions for five in item.fives.values() for player in five}


def time_samples(game: Game) -> Samples:
    results: Samples = defaultdict(list)
    for start, item in with_starts(game):
        if start != "period":
            length = whole(item.start_clock) - whole(item.end_clock)
            results["possession s"].append(length)
            results[f"possession s, begun by {start}"].append(length)
            if (shot := first_try(item)) and shot.kind == "FGA":
                results[f"shot after {start}: s"].append(whole(item.start_clock) - whole(shot.clock))
        since, is_second = item.start_clock, False
        for event in item.events:
            if event.kind == "OFFENSIVE_REB":
                since, is_second = event.clock, True
            if event.kind == "FGA":
                time = whole(since) - whole(event.clock)
                results["shot: s since possession or offensive rebound"].append(time)
                if is_second:
                    results["shot after second chance: s"].append(time)
    return results


def stint_samples(game: Game) -> Samples:
    results: Samples = defaultdict(list)
    length = sum(item.start_clock - item.end_clock for item in game.possessions)
    for team in game.teams:
        fives = [(item, set(item.fives[team])) for item in game.possessions]
        starters = fives[0][1]
        minutes: dict[int, float] = defaultdict(float)
        stint: dict[int, float] = defaultdict(float)
        lineup, since, elapsed, first = 0.0, 0.0, 0.0, True
        for number, (item, five) in enumerate(fives):
            before = fives[number - 1][1] if number else five
            if five != before:
                results["lineup stint s"].append(lineup)
                results["s between substitution times" if not first else "first substitution s"].append(elapsed - since)
                lineup, since, first = 0.0, elapsed, False
                for player in before - five:
                    results[kind(player, starters)].append(stint.pop(player))
            time = item.start_clock - item.end_clock
            lineup, elapsed = lineup + time, elapsed + time
            for player in five:
                minutes[player] += time / 60 * 2400 / length
                stint[player] += time
        for player, value in minutes.items():
            results["minutes of starters" if player in starters else "minutes of bench who played"].append(value)
    return results


def kind(player: int, starters: set[int]) -> str:
    return "stint s: starters" if player in starters else "stint s: bench"


def shot_samples(game: Game) -> Samples:
    results: Samples = defaultdict(list)
    for shot in game.events:
        if shot.kind != "FGA" or not shot.chart or shot.chart[1] > 12:
            continue
        x, y = shot.chart
        feet = float(np.hypot(x, y)) / 0.3048
        results["shot distance ft"].append(feet)
        results["shot distance ft: " + ("threes" if shot.is_three else "twos")].append(feet)
        results["shot angle deg, 0 = straight on"].append(float(np.degrees(np.arctan2(abs(x), y))))
    return results


def zone(shot: Event) -> str:
    """Return the kind of a shot by its place; those at the rim and close together."""
    x, y = shot.chart or (0.0, 0.0)
    distance = float(np.hypot(x, y))
    if shot.is_three:
        return "corner three" if y < ARC_STRAIGHT else "arc three"
    return "within 3 m" if distance < 3 else "middle 3-5 m" if distance < 5 else "long two >5 m"


def counts(games: list[Game]) -> Counts:
    results: Counts = defaultdict(Counter)
    for game in games:
        results["overtime"][str(max(item.session for item in game.possessions) > 1)] += 1
        for before, after in pairwise(game.possessions):
            for team in game.teams:
                if new_players := len(set(after.fives[team]) - set(before.fives[team])):
                    results["players changed at once"][str(new_players)] += 1
        last_starts = {item.session: item for item in game.possessions}
        for session, item in last_starts.items():
            is_late = any(event.kind == "FGA" and whole(event.clock) <= 3 for event in item.events)
            before = [away_path for away_path in game.possessions if away_path.session == session][-2:-1]
            is_late |= any(
                event.kind == "FGA" and whole(event.clock) <= 3 for away_path in before for event in away_path.events
            )
            results["shot in the last 3 s of a period"][str(is_late)] += 1
        followers = [*game.possessions[1:], None]
        for item, follower in zip(game.possessions, followers, strict=True):
            count_possession(results, item, follower)
    return results


def count_possession(results: Counts, item: Possession, follower: Possession | None) -> None:
    results["points of a possession"][str(sum(event.points for event in item.events if event.team == item.team))] += 1
    results["end of possession"][end_of(item, follower)] += 1
    for trip in trips(item):
        results["free throws of a trip"][str(len(trip))] += 1
    for number, event in enumerate(item.events):
        later = item.events[number + 1 :]
        same = [away_path.kind for away_path in item.events if away_path.at == event.at]
        if event.kind == "TO":
            is_steal = "LBTO" in event.details
            results["turnover is a steal"][str(is_steal)] += 1
        if event.kind == "FL":
            throws = any(away_path.kind == "FTA" and away_path.clock == event.clock for away_path in later)
            leads = "turnover (offensive foul)" if "TO" in same else "free throws" if throws else "no free throws"
            results["foul leads to"][leads] += 1
        if event.kind == "FGA":
            name = "three" if event.is_three else "two"
            results[f"blocked {name}"][str("BLK" in same)] += 1
            results[f"made: {zone(event)}"][str(event.points > 0)] += 1
            results["zone, rim and close together"][zone(event)] += 1
            if event.points:
                results[f"assisted {name}"][str("AST" in same)] += 1
                results[f"assisted: {zone(event)}"][str("AST" in same)] += 1
        if event.kind in ("FGA", "FTA") and not event.points and (rebound := rebound_of(event, later, follower)):
            kind_of_miss = "free throw" if event.kind == "FTA" else "three" if event.is_three else "two"
            results[f"rebound after {kind_of_miss}"][rebound] += 1


def rebound_of(event: Event, later: list[Event], follower: Possession | None) -> str | None:
    """Return who got the ball after a miss: nobody if another throw follows."""
    following = [away_path for away_path in later if away_path.kind in ("FTA", "FGA", "OFFENSIVE_REB")]
    if following:
        return "oreb" if following[0].kind == "OFFENSIVE_REB" else None
    if follower and follower.session == event.session and follower.events:
        return "dreb"
    return None


def end_of(item: Possession, follower: Possession | None) -> str:
    if any(event.kind == "TO" for event in item.events):
        return "steal" if any("LBTO" in event.details for event in item.events) else "dead ball turnover"
    attempts = [event for event in item.events if event.kind in ("FGA", "FTA")]
    if attempts and attempts[-1].points:
        return "make" if attempts[-1].kind == "FGA" else "ft"
    if item.end_clock < 0.05 or follower is None or follower.session != item.session:
        return "period"
    return "dreb"
