"""Write the table of bias in docs/tracking.md, measured on paths whose truth is known; a test checks that it is current."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import sideline

PAGE = Path(__file__).with_name("tracking.md")
START = 1_790_000_000_000
SEEDS = 12
HEAD = "| frames/s | noise | distance, walk | distance, circle | distance, sprint | peak speed, sprint | standing | defender's distance | the same, offset 0.7 s |"
Floats = npt.NDArray[np.float64]
Course = Callable[[Floats], tuple[Floats, Floats]]


def walk(t: Floats) -> tuple[Floats, Floats]:
    """A line at 0.5 m/s."""
    return 2 + 0 * t, 0.5 * t - 7


def circle(t: Floats) -> tuple[Floats, Floats]:
    """A radius of 3 m at 4 m/s."""
    return 3 * np.cos(4 / 3 * t), 3 * np.sin(4 / 3 * t)


def sprint(t: Floats) -> tuple[Floats, Floats]:
    """An exponential approach to 8 m/s."""
    return 0 * t, 8 * (t - (1 - np.exp(-t))) - 13


def stand(t: Floats) -> tuple[Floats, Floats]:
    return 2 + 0 * t, 3 + 0 * t


def times(seconds: float, rate: float) -> Floats:
    return np.round(np.arange(int(seconds * rate) + 1) * 1000 / rate)


def positions(path: Course, team: int, player: int, ms: Floats, noise: float, random: np.random.Generator) -> pa.Table:
    x, y = (values + noise * random.standard_normal(len(ms)) for values in path(ms / 1000))
    count = len(ms)
    return pa.table(
        {
            "session_id": ["s"] * count,
            "t": pa.array((START + ms).astype(np.int64), pa.timestamp("ms", "UTC")),
            "team_id": [team] * count,
            "player_id": [player] * count,
            "x": 1000 * x,
            "y": 1000 * y,
        }
    )


def load_of(path: Course, seconds: float, rate: float, noise: float, seed: int) -> dict[str, float]:
    table = positions(path, 1, 11, times(seconds, rate), noise, np.random.default_rng(seed))
    row: dict[str, float] = sideline.Tracking(table).loads(by="player_id").to_dicts()[0]
    return row


def length(path: Course, seconds: float) -> float:
    x, y = path(np.linspace(0, seconds, 200_001))
    return float(np.hypot(np.diff(x), np.diff(y)).sum())


def attacker(slot: int) -> Course:
    phase = slot * math.tau / 5
    return lambda t: (4.5 * np.cos(phase + 0.5 * t), 6 + 4 * np.sin(phase + 0.5 * t))


def defender(slot: int) -> Course:
    path, phase = attacker(slot), slot * math.tau / 5
    return lambda t: tuple(value * (0.75 + 0.1 * np.sin(t / 2 + phase)) for value in path(t))  # type: ignore[return-value]


def defender_error(rate: float, noise: float, offset: float, seed: int) -> float:
    """Return the root mean square error of the nearest defender's distance over 40 shots."""
    random, ms = np.random.default_rng(seed), times(130, rate)
    slots = range(5)
    tables = [positions(attacker(slot), 1, 11 + slot, ms, noise, random) for slot in slots]
    tables += [positions(defender(slot), 2, 21 + slot, ms, noise, random) for slot in slots]
    moments = [(3 + 3.07 * number, number % 5) for number in range(40)]
    shots = []
    truth = []
    for second, slot in moments:
        x, y = (float(value) for value in attacker(slot)(np.array(second)))
        others = (defender(other)(np.array(second)) for other in slots)
        truth.append(min(math.hypot(x - float(a), y - float(b)) for a, b in others))
        at = START + round(1000 * (second - offset))
        shots.append(
            {"session_id": "s", "player_id": 11 + slot, "occurred_at": at, "player_x": 1000 * x, "player_y": 1000 * y}
        )
    distances = sideline.Tracking(pa.concat_tables(tables), pa.Table.from_pylist(shots)).defenders()["distance_m"]
    errors = [distance - true for distance, true in zip(distances, truth, strict=True) if distance is not None]
    return math.sqrt(sum(error**2 for error in errors) / len(errors))


def row(rate: float, noise: float) -> str:
    seeds = range(SEEDS if noise else 1)

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    slow = mean([load_of(walk, 30, rate, noise, seed)["distance_m"] for seed in seeds]) / length(walk, 30) - 1
    around = mean([load_of(circle, 30, rate, noise, seed)["distance_m"] for seed in seeds]) / length(circle, 30) - 1
    sprints = [load_of(sprint, 4, rate, noise, seed) for seed in seeds]
    straight = mean([load["distance_m"] for load in sprints]) / length(sprint, 4) - 1
    peak = mean([load["peak_speed_mps"] for load in sprints]) / (8 * (1 - math.exp(-4))) - 1
    still = mean([load_of(stand, 60, rate, noise, seed)["distance_m"] / 60 for seed in seeds])
    near, shifted = (mean([defender_error(rate, noise, offset, seed) for seed in seeds]) for offset in (0.0, 0.7))
    cells = [f"{round(100 * value, 1) + 0.0:+.1f} %" for value in (slow, around, straight, peak)]
    return f"| {rate:g} | {100 * noise:g} cm | {' | '.join(cells)} | {still:.2f} m/s | {near:.2f} m | {shifted:.2f} m |"


def page() -> str:
    """Return docs/tracking.md with the current table."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    head = lines.index(HEAD) + 2
    end = next(place for place in range(head, len(lines)) if not lines[place].startswith("|"))
    rows = [row(rate, noise) for rate in (2, 5, 10, 25, 50) for noise in (0.0, 0.03, 0.1, 0.3)]
    return "\n".join([*lines[:head], *rows, *lines[end:]]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
