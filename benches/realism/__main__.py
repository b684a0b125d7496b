"""How real the simulated season is: `python benches/realism [--seeds 7 8 9] [--games 40]` writes benches/REALISM.md.

Each figure stands beside that of real games (`basketball.json`, whose definitions and sources are in it), with its
distance and a picture. Nothing of the season but the client's tables is read.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from goals import Goal, Season, classifier_goals, motion_goals, play
from pictures import distributions, possessions
from reference import REAL, Numbers, count_distance, sample_distance
from script import counts, samples

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "REALISM.md"
FAR = 0.15
"""A distance that is worth a look: of figures of team-games, chance alone reaches it once in twenty times."""

Figures = dict[str, tuple[Numbers, list[float]]]


def real_sample(name: str) -> list[float] | None:
    for league in ("ncaa", "fiba"):
        if name in REAL[league]["samples"]:
            return list(REAL[league]["samples"][name]["grid"])
    return None


def figures_of(season: Season) -> dict[str, Figures]:
    """Return the values of each figure beside the quantiles of the real one."""
    groups: dict[str, Figures] = {"Team-games": {}, "Games, times and stints": {}, "Motion": {}}
    for name in season.rows[0]:
        grid = real_sample(f"team-game: {name}")
        if grid is not None:
            values = np.array([row[name] for row in season.rows], dtype=float)
            groups["Team-games"][name] = values[~np.isnan(values)], grid
    for name, column in sorted(samples(season.games).items()):
        grid = real_sample(name)
        if grid is not None:
            groups["Games, times and stints"][name] = np.array(column, dtype=float), grid
    real = REAL["tracking"]["frames"]["samples"]
    for name, values in season.motion.figures.items():
        if not name.startswith("%"):
            groups["Motion"][name] = values, real[name]["grid"]
    gaps = np.array([shot.gap for shot in season.releases])
    groups["Motion"]["closest defender at the release, ft"] = (
        gaps,
        REAL["tracking"]["shots"]["closest_defender_ft"]["grid"],
    )
    return groups


def figures_table(figures: Figures) -> list[str]:
    lines = ["| figure | real: 10, 50, 90 % | simulated | distance |", "|---|---|---|---|"]
    for name, (values, grid) in figures.items():
        real = ", ".join(f"{grid[at * (len(grid) - 1) // 100]:.4g}" for at in (10, 50, 90))
        own_text = ", ".join(f"{value:.4g}" for value in np.quantile(values, [0.1, 0.5, 0.9]))
        distance = sample_distance(values, grid)
        lines.append(f"| {name} | {real} | {own_text} | {mark(distance)} |")
    return lines


def mark(distance: float) -> str:
    return f"**{distance:.2f}**" if distance > FAR else f"{distance:.2f}"


def counts_table(groups: dict[str, Counter[str]]) -> tuple[list[str], list[float]]:
    lines = ["| figure | real | simulated | distance |", "|---|---|---|---|"]
    distances = []
    for name, own_counts in sorted(groups.items()):
        real = REAL["ncaa"]["counts"].get(name) or REAL["fiba"]["counts"].get(name)
        if real:
            distances.append(count_distance(own_counts, real))
            lines.append(f"| {name} | {shares(real)} | {shares(own_counts)} | {mark(distances[-1])} |")
    return lines, distances


def shares(counts_by_kind: dict[str, int]) -> str:
    total = sum(counts_by_kind.values())
    if set(counts_by_kind) <= {"True", "False"}:
        return f"{100 * counts_by_kind.get('True', 0) / total:.1f} %"
    return ", ".join(f"{kind} {100 * counts_by_kind[kind] / total:.0f} %" for kind in sorted(counts_by_kind))


def percents_table(season: Season) -> list[str]:
    real = REAL["tracking"]["frames"]["samples"]
    lines = ["| share of frames or steps | real | simulated |", "|---|---|---|"]
    for name, values in season.motion.figures.items():
        if name.startswith("%"):
            lines.append(f"| {name.removeprefix('% ')} | {real[name]['mean']:.1f} % | {values.mean():.1f} % |")
    return lines


def goals_table(seasons: list[Season], goals: list[list[Goal]]) -> list[str]:
    seeds = " | ".join(f"seed {season.seed}" for season in seasons)
    lines = [f"| figure | real | goal | {seeds} | reached |", "|---|---|---|" + "---|" * (len(seasons) + 1)]
    for row in zip(*goals, strict=True):
        values = " | ".join(goal.text for goal in row)
        is_reached = "yes" if all(goal.is_reached for goal in row) else "**no**"
        lines.append(f"| {row[0].figure} | {row[0].real} | {row[0].goal} | {values} | {is_reached} |")
    return lines


def page(seasons: list[Season], games: int) -> str:
    first = seasons[0]
    goals = [[*motion_goals(season), *classifier_goals(season)] for season in seasons]
    figures = figures_of(first)
    for title, group in figures.items():
        distributions(FOLDER / f"{file_of(title)}.png", title, group)
    possessions(FOLDER / "possessions.png", first.seed)
    count_lines, count_distances = counts_table(counts(first.games))
    distances = [sample_distance(*pair) for group in figures.values() for pair in group.values()] + count_distances
    command = f"`make realism` (`python benches/realism --games {games} --seeds {' '.join(str(item.seed) for item in seasons)}`)"
    lines = [
        "# Realism",
        "",
        f"Written by {command}. Real figures: `benches/realism/basketball.json`, whose sources are in it.",
        f"The goals hold for {games} games of any seed. A classifier is gradient boosting; it tells simulated rows from",
        "rows drawn from the real distributions and their correlations, and 0.5 means that it cannot.",
        "",
        "## Goals",
        "",
        *goals_table(seasons, goals),
        "",
        f"Of {len(distances)} figures of seed {first.seed}, {sum(item > FAR for item in distances)} are farther than {FAR} from the real one;",
        f"the median distance is {np.median(distances):.2f}.",
        "",
        "## Ten possessions",
        "",
        f"Of the first game of seed {first.seed}, at equal distances:",
        "",
        "![Ten possessions](realism/possessions.png)",
        "",
        f"## Figures of seed {first.seed}",
        "",
        "The distance of a sample is the largest difference of the two cumulative distributions (Kolmogorov and Smirnov);",
        f"that of counts is half of the sum of the differences of shares. Both lie between 0 and 1; more than {FAR} is bold.",
    ]
    for title, group in figures.items():
        lines += ["", f"### {title}", "", *figures_table(group), "", f"![{title}](realism/{file_of(title)}.png)"]
    lines += ["", *percents_table(first), "", "### Counts", "", *count_lines, ""]
    return "\n".join(lines)


def file_of(title: str) -> str:
    return title.split(",")[0].lower().replace(" ", "-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--seeds", type=int, nargs="+", default=[7, 8, 9])
    options = parser.parse_args()
    text = page([play(seed, options.games) for seed in options.seeds], options.games)
    PAGE.write_text(text, encoding="utf-8")
    print(text.partition("## Ten possessions")[0])


if __name__ == "__main__":
    main()
