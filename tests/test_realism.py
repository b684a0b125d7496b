"""The simulated season stays real: the cheap goals of benches/REALISM.md, on one seed, with a tolerance for few games."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from needs import needs

ROOT = Path(__file__).resolve().parents[1]
GAMES = 10
TOLERANCES = {
    "named defender is the nearest opponent": 0.3,
    "nearest defender in 0-2 ft, 2-4 ft, 4-6 ft, 6+ ft: all": 3.0,
    "nearest defender in 0-2 ft, 2-4 ft, 4-6 ft, 6+ ft: twos": 4.0,
    "nearest defender in 0-2 ft, 2-4 ft, 4-6 ft, 6+ ft: threes": 5.5,
    "nearest defender 1 s before makes and misses, apart": 0.4,
    "all five defenders in the attacked half at a shot": 0.0,
    "live time below 1 m/s": 1.0,
    "median speed": 0.05,
    "steps above 9 m/s": 0.0,
    "nearest to the ball is of the team that has it": 0.5,
}
"""By how much ten games may miss each goal that forty reach."""

BOX_SCORE = {"PTS": 7, "FG2A": 5, "FG3A": 4.5, "FTA": 5, "OREB": 3, "TOV": 3, "PF": 3, "possessions": 5, "most minutes": 3}
"""How far the mean of twenty team-games may be from the real one: about three standard errors."""

pytestmark = [pytest.mark.source, needs("numpy", "polars", "sklearn")]


@pytest.fixture(scope="module")
def goals() -> Iterator[ModuleType]:
    """The module of `make realism`, which is a script's neighbour and not a package."""
    sys.path.insert(0, str(ROOT / "benches" / "realism"))
    try:
        yield import_module("goals")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def season(goals: ModuleType) -> object:
    return goals.play(7, GAMES)


@pytest.mark.parametrize("figure", TOLERANCES)
def test_positions_are_those_of_real_games(figure: str, goals: ModuleType, season: object) -> None:
    goal = next(goal for goal in goals.motion_goals(season) if goal.figure == figure)
    assert goal.low - TOLERANCES[figure] <= goal.value <= goal.high + TOLERANCES[figure], goal.text


def test_every_goal_of_positions_is_guarded(goals: ModuleType, season: object) -> None:
    assert [goal.figure for goal in goals.motion_goals(season)] == list(TOLERANCES)


@pytest.mark.parametrize("figure", BOX_SCORE)
def test_box_scores_are_those_of_real_games(figure: str, goals: ModuleType, season: object) -> None:
    real = goals.REAL["ncaa"]["samples"][f"team-game: {figure}"]["mean"]
    values = [row[figure] for row in season.rows]  # type: ignore[attr-defined]
    assert abs(sum(values) / len(values) - real) < BOX_SCORE[figure]


def test_a_classifier_hardly_tells_half_court_frames_from_real_ones(goals: ModuleType, season: object) -> None:
    frames = goals.sample_frames(season.motion.rows, 7)  # type: ignore[attr-defined]
    real = goals.draw("half-court frames", len(frames.values), 7)
    assert goals.auc(frames, real, shuffles=1) < 0.87
