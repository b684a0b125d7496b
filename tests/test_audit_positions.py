"""The audit rules between positions and events: each finds a planted fault, and none finds one in a clean game."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from needs import library, require

import sideline
from tracked_game import AWAY, HOME, START, Sensors, TrackedGame, player

require("polars", "pyarrow", extra="arrow,polars")
pa = library("pyarrow")
pc = library("pyarrow.compute")

RULES = {"shooter_is_at_the_shot", "named_defender_is_near", "ball_is_with_its_player", "no_teleport"}


def tables(game: TrackedGame) -> dict[str, pa.Table]:
    return {"shots": game.shots(), "possessions": game.possessions(), "locations": game.locations()}


def replace(table: pa.Table, name: str, values: Callable[[int, object], object]) -> pa.Table:
    column = table[name]
    changed_values = [values(number, value) for number, value in enumerate(column.to_pylist())]
    return table.set_column(table.column_names.index(name), name, pa.array(changed_values, column.type))


def audit(game: TrackedGame, **changes: pa.Table) -> sideline.Table:
    frames = tables(game) | changes
    # The possessions of these games have no events, which the argument `possessions` needs.
    return sideline.audit(shots=frames["shots"], locations=frames["locations"])


def rules(violations: sideline.Table) -> set[str]:
    return set(violations["rule"]) & RULES


def test_a_clean_game_has_no_violation() -> None:
    violations = audit(TrackedGame(Sensors(noise_m=0.05, offset_s=0.7, substitutes=2, ball_of_shooter=True)))
    assert rules(violations) == set()
    assert {run.rule for run in violations.rules if run.is_run} >= RULES


def test_a_shot_from_elsewhere() -> None:
    game = TrackedGame(Sensors(ball_of_shooter=True))
    changed_table = replace(game.shots(), "player_x", lambda number, x: x + 3000 if number == 3 else x)
    violations = audit(game, shots=changed_table)
    [row] = [row for row in violations.to_dicts() if row["rule"] == "shooter_is_at_the_shot"]
    assert (row["session_id"], row["player_id"], row["found"]) == ("s-1", player(HOME, 3), "3.00 m")


def test_clocks_that_no_offset_brings_together() -> None:
    game = TrackedGame(Sensors(offset_s=-20, ball_of_shooter=True))
    violated_rules = [row["rule"] for row in audit(game).to_dicts()]
    assert violated_rules.count("shooter_is_at_the_shot") > 0.5 * len(game.shots_at)


def test_a_defender_who_is_far() -> None:
    game = TrackedGame(Sensors(ball_of_shooter=True))
    second, slot = game.shots_at[2]
    farthest = max((game.distance(second, slot, player(AWAY, other)), other) for other in range(5))[1]
    wrong_names = replace(game.shots(), "defender_ids", lambda number, ids: [player(AWAY, farthest)] if number == 2 else ids)
    violations = audit(game, shots=wrong_names)
    assert rules(violations) == {"named_defender_is_near"}
    [row] = [row for row in violations.to_dicts() if row["rule"] in RULES]
    assert row["player_id"] == player(HOME, slot)


def test_a_ball_elsewhere() -> None:
    game = TrackedGame(Sensors(ball_of_shooter=True))
    is_ball = [kind == "BALL" for kind in game.locations()["type"].to_pylist()]
    at = round(1000 * game.shots_at[4][0])
    t = pc.cast(game.locations()["t"], pa.int64()).to_pylist()
    changed_table = replace(game.locations(), "y", lambda row, y: y - 5000 if is_ball[row] and abs(t[row] - START - at) < 1500 else y)
    assert rules(audit(game, locations=changed_table)) == {"ball_is_with_its_player"}


def test_a_teleport() -> None:
    game = TrackedGame(Sensors(ball_of_shooter=True))
    row = next(number for number, player_id in enumerate(game.locations()["player_id"].to_pylist()) if number > 5000 and player_id == player(AWAY, 1))
    changed_table = replace(game.locations(), "x", lambda number, x: x + (9000 if x < 0 else -9000) if number == row else x)
    violations = audit(game, locations=changed_table)
    assert rules(violations) == {"no_teleport"}
    assert rules(sideline.audit(locations=changed_table, thresholds={"no_teleport": 1})) == set()


def test_thresholds_are_checked() -> None:
    for thresholds, message in (({"five_a_side": 2}, "thresholds has 'five_a_side'"), ({"no_teleport": -1}, "is -1")):
        with pytest.raises(ValueError, match=message):
            sideline.audit(locations=TrackedGame(Sensors(seconds=30)).locations(), thresholds=thresholds)
    game = TrackedGame(Sensors(noise_m=0.05, ball_of_shooter=True))
    strict = sideline.audit(shots=game.shots(), locations=game.locations(), thresholds={"shooter_is_at_the_shot": 0.01})
    assert rules(strict) == {"shooter_is_at_the_shot"}


@pytest.mark.extended
def test_two_hundred_clean_games() -> None:
    for seed in range(200):
        sensors = Sensors(rate=(2, 5, 10)[seed % 3], noise_m=0.1, offset_s=seed / 100 - 1, seconds=120, seed=seed, ball_of_shooter=True)
        assert rules(audit(TrackedGame(sensors))) == set(), seed


def games_of_simulator(seed: int, count: int) -> Iterator[sideline.Table]:
    """The audits of finished games of a season, with all their positions."""
    sensors = {"location_rate": (2, 5, 10)[seed % 3], "clock_offset_s": seed % 5 / 4 - 0.5}
    with sideline.Simulator(seed=seed, teams=4, games=count + 2, now="2026-03-01T12:00:00Z", **sensors) as service, service.client() as client:
        for game in service.games:
            sessions = client.game(game["event_id"]).table("sessions").to_dicts()
            if len(sessions) < 2:
                continue
            locations = [client.locations(session["session_id"], session["started_at"], session["ended_at"]) for session in sessions]
            yield sideline.audit(shots=client.game_shots(game["event_id"]), locations=locations)


@pytest.mark.parametrize(
    ("seeds", "games"),
    [(range(2), 2), pytest.param(range(20), 10, marks=[pytest.mark.extended, pytest.mark.timeout(1800)])],
    ids=["4 games", "200 games"],
)
def test_clean_games_of_the_simulator_raise_no_alarm(seeds: range, games: int) -> None:
    audits = [violations for seed in seeds for violations in games_of_simulator(seed, games)]
    assert len(audits) >= games * len(seeds)
    assert [row for violations in audits for row in violations.to_dicts() if row["rule"] in RULES] == []
    assert all({run.rule for run in violations.rules if run.is_run} >= RULES for violations in audits)
