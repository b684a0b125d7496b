"""The goals of realism: what each is, and what a simulated season reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from box import team_games
from motion import Frames, Motion, Release, frames, measure, releases
from reference import REAL, Rows, auc, draw
from season import Game, games

BANDS = {"0-2 ft": (0, 2), "2-4 ft": (2, 4), "4-6 ft": (4, 6), "6+ ft": (6, np.inf)}
CLASSIFIERS = {
    "college box score": 0.65,
    "college box score and clock": 0.70,
    "college who plays": 0.70,
    "where shots are taken": 0.65,
    "half-court frames": 0.80,
}
"""The largest AUC that each feature set may have."""
DRAWS = 300
FRAMES = 600
"""Half-court frames that a classifier is given, and as many draws."""


@dataclass
class Season:
    """What is measured of a season."""

    seed: int
    games: list[Game]
    motion: Motion
    releases: list[Release]
    rows: list[dict[str, float]]
    """The figures of each team-game."""


@dataclass(frozen=True)
class Goal:
    figure: str
    real: str
    goal: str
    value: float
    text: str
    low: float
    high: float

    @property
    def is_reached(self) -> bool:
        return self.low <= self.value <= self.high


def play(seed: int, count: int) -> Season:
    """Play a season and read its first games."""
    results: list[Game] = []
    all_frames: list[list[Frames]] = []
    shots: list[Release] = []
    for game in games(seed, count):
        sessions = [frames(game, session) for session in range(len(game.frames))]
        shots += releases(game, sessions)
        game.frames = []
        results.append(game)
        all_frames.append(sessions)
    return Season(seed, results, measure(all_frames), shots, team_games(results))


def bands(shots: list[Release]) -> dict[str, float]:
    """Return the percentage of shots in each band of the nearest defender."""
    gaps = np.array([shot.gap for shot in shots])
    return {name: 100 * float(((gaps >= low) & (gaps < high)).mean()) for name, (low, high) in BANDS.items()}


def band_goals(shots: list[Release]) -> list[Goal]:
    results = []
    kinds = {
        "all": shots,
        "twos": [shot for shot in shots if not shot.is_three],
        "threes": [shot for shot in shots if shot.is_three],
    }
    for kind, sample in kinds.items():
        real = {name: 100 * band["share"] for name, band in REAL["tracking"]["shots"]["bands"][kind].items()}
        own_values = bands(sample)
        worst = max(abs(own_values[name] - real[name]) for name in BANDS)
        results.append(
            Goal(
                f"nearest defender in {', '.join(BANDS)}: {kind}",
                ", ".join(f"{value:.0f}" for value in real.values()) + " %",
                "each within 3 points",
                worst,
                ", ".join(f"{value:.0f}" for value in own_values.values()) + f" % ({worst:.1f} off)",
                0,
                3,
            )
        )
    return results


def within(figure: str, real: str, value: float, low: float, high: float, unit: str, digits: int = 1) -> Goal:
    if high == np.inf:
        goal = f"≥ {low:g} {unit}"
    elif low == -np.inf:
        goal = f"≤ {high:g} {unit}"
    else:
        goal = f"{low:g}–{high:g} {unit}"
    return Goal(figure, real, goal.strip(), value, f"{value:.{digits}f} {unit}".strip(), low, high)


def motion_goals(season: Season) -> list[Goal]:
    """Return the goals that positions decide."""
    shots, figures = season.releases, season.motion.figures
    named_share = 100 * float(np.mean([shot.is_named for shot in shots]))
    set_share = 100 * float(np.mean([shot.is_set for shot in shots]))
    makes, misses = (
        float(np.nanmedian([shot.gap_before for shot in shots if shot.is_make == is_make])) for is_make in (True, False)
    )
    speeds = figures["speed m/s, steps of 0.5 s"]
    with_owner = figures["% frames: the nearest to the ball is of the team that has it"]
    fast = float((speeds > 9).sum())
    return [
        within("named defender is the nearest opponent", "by definition", named_share, 99.95, np.inf, "%"),
        *band_goals(shots),
        within("nearest defender 1 s before makes and misses, apart", "0.1", abs(makes - misses), 0, 0.7, "ft", 2),
        within("all five defenders in the attacked half at a shot", "96 %", set_share, 92, np.inf, "%"),
        within("live time below 1 m/s", "30 %", 100 * float((speeds < 1).mean()), 25, 38, "%"),
        within("median speed", "1.6", float(np.median(speeds)), 1.4, 1.8, "m/s", 2),
        within("steps above 9 m/s", "0.02 %", fast, -np.inf, 0, "", 0),
        within("nearest to the ball is of the team that has it", "86 %", float(with_owner.mean()), 84, np.inf, "%"),
    ]


def classifier_goals(season: Season) -> list[Goal]:
    """Return how well a classifier tells the season from real games, for each feature set."""
    real = REAL["feature_sets"]["sets"]
    results = []
    for name, limit in CLASSIFIERS.items():
        if name == "half-court frames":
            own_values, count = sample_frames(season.motion.rows, season.seed), FRAMES
        else:
            values = np.array([[row[feature] for feature in real[name]["names"]] for row in season.rows], dtype=float)
            own_values, count = Rows(values, np.arange(len(values)) // 2), DRAWS
        value = auc(own_values, draw(name, count, season.seed))
        figure = f"AUC of a classifier, {name} ({len(real[name]['names'])} figures)"
        results.append(within(figure, "0.5", value, -np.inf, limit, "", 2))
    return results


def sample_frames(rows: Rows, seed: int) -> Rows:
    """Return frames of at most a hundred possessions; those of a possession stay together."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(np.unique(rows.groups))[:100]
    sample = np.flatnonzero(np.isin(rows.groups, names))
    sample = np.sort(rng.permutation(sample)[:FRAMES])
    return Rows(rows.values[sample], np.unique(rows.groups[sample], return_inverse=True)[1])
