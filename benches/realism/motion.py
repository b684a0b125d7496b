"""Where players and ball are and how they move, as `../shared/reference` measures it in frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from reference import Numbers, Rows
from season import Game

FOOT = 304.8
"""Millimetres."""
FRAME_FEATURES = (
    "hull of offence",
    "hull of defence",
    "centroids apart",
    "mean defender to nearest attacker",
    "mean attacker to hoop",
    "mean defender to hoop",
    "mean speed of offence",
    "mean speed of defence",
    "sd of speeds",
    "ball to nearest player",
)
SETTLED_AGE = 8.0
"""Seconds of a possession after which its frames count as half-court ones."""


@dataclass
class Frames:
    """Frames of a session in time's order: metres, the five of one team, then those of the other."""

    t: Numbers
    places: Numbers
    """Frame, player, x and y."""
    players: npt.NDArray[np.int64]
    teams: npt.NDArray[np.int64]
    ball: Numbers
    """Frame, x, y and height."""
    is_live: npt.NDArray[np.bool_]
    """Whether the clock has run since the frame before, in which the same players were on court."""
    speeds: Numbers
    """Since the frame before, in metres a second; missing where players changed."""
    ball_speed: Numbers
    owner: npt.NDArray[np.int64]
    """The team that has the ball; 0 between possessions."""
    possession: npt.NDArray[np.int64]
    age: Numbers
    """Seconds on the clock since the possession began."""
    hoop: Numbers
    """The hoop that the owner attacks."""


def frames(game: Game, session: int) -> Frames:
    rows = game.frames[session].with_columns(pl.col("t").dt.epoch("ms")).unique(["t", "tag"], keep="first")
    players = rows.filter(pl.col("player_id").is_not_null()).sort("t", "team_id", "player_id")
    sizes = players.group_by("t", maintain_order=True).len()["len"].to_numpy()
    assert (sizes == 10).all(), "each frame has ten players"
    columns = players.select("x", "y").to_numpy().reshape(-1, 10, 2) / 1000
    ids = players["player_id"].to_numpy().reshape(-1, 10)
    t = players["t"].to_numpy().reshape(-1, 10)[:, 0].astype(float)
    clock = players["game_clock_s"].to_numpy().reshape(-1, 10)[:, 0]
    balls = rows.filter(pl.col("type") == "BALL").sort("t")
    ball = balls.select("x", "y", "z").to_numpy() / 1000
    step = np.diff(t, prepend=t[0]) / 1000
    same = np.zeros((len(t), 10), dtype=bool)
    same[1:] = ids[1:] == ids[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        speeds = np.linalg.norm(np.diff(columns, axis=0, prepend=columns[:1]), axis=2) / step[:, None]
        ball_speed = np.linalg.norm(np.diff(ball[:, :2], axis=0, prepend=ball[:1, :2]), axis=1) / step
    is_live = (np.diff(clock, prepend=clock[0]) < 0) & (step <= 0.5) & (step > 0)
    speeds[~same] = np.nan
    owner, possession, age, hoop = owners(game, session, t, clock)
    teams = players["team_id"].to_numpy().reshape(-1, 10)[0]
    return Frames(t, columns, ids, teams, ball, is_live, speeds, ball_speed, owner, possession, age, hoop)


def owners(
    game: Game, session: int, t: Numbers, clock: Numbers
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Numbers, Numbers]:
    """Return for each frame the team with the ball, its possession, the possession's age, and the hoop it attacks."""
    hoops = {
        int(shot["team_id"]): (shot["hoop_x"] / 1000, shot["hoop_y"] / 1000)
        for shot in game.shots
        if shot["session"] == session
    }
    owner, possession = np.zeros(len(t), dtype=np.int64), np.full(len(t), -1)
    age, hoop = np.full(len(t), np.nan), np.full((len(t), 2), np.nan)
    for number, item in enumerate(game.possessions):
        if item.session != session:
            continue
        within = (t > item.start) & (t <= item.end)
        owner[within], possession[within] = item.team, number
        age[within] = item.start_clock - clock[within]
        hoop[within] = hoops.get(item.team, np.nan)
    return owner, possession, age, hoop


def hull_areas(points: Numbers) -> Numbers:
    """Return the area of the convex hull of the points of each frame: an edge has all other points on its left."""
    count = points.shape[1]
    area = np.zeros(len(points))
    for start in range(count):
        for end in range(count):
            if start == end:
                continue
            a, b = points[:, start], points[:, end]
            sides = (b - a)[:, None, 0] * (points - a[:, None])[:, :, 1] - (b - a)[:, None, 1] * (points - a[:, None])[
                :, :, 0
            ]
            others = [item for item in range(count) if item not in (start, end)]
            is_edge = (sides[:, others] > 0).all(axis=1)
            area += np.where(is_edge, a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], 0) / 2
    return area


def half_court(frames: Frames) -> dict[str, Numbers]:
    """Return the figures of each half-court frame."""
    is_chosen = frames.is_live & (frames.age >= SETTLED_AGE) & ~np.isnan(frames.speeds).any(axis=1)
    is_chosen &= ~np.isnan(frames.hoop[:, 0])
    places, speeds, hoop = frames.places[is_chosen], frames.speeds[is_chosen], frames.hoop[is_chosen]
    is_first = frames.owner[is_chosen] == frames.teams[0]
    order = np.where(is_first[:, None], np.arange(10), (np.arange(10) + 5) % 10)
    places = np.take_along_axis(places, order[:, :, None], axis=1)
    speeds = np.take_along_axis(speeds, order, axis=1)
    attack, defence = places[:, :5], places[:, 5:]
    gaps = np.linalg.norm(attack[:, :, None] - defence[:, None], axis=3)
    ball = frames.ball[is_chosen]
    to_ball = np.linalg.norm(places - ball[:, None, :2], axis=2)
    holder = to_ball[:, :5].argmin(axis=1)
    side = np.sign(hoop[:, 1])[:, None]
    return {
        "hull of offence": hull_areas(attack),
        "hull of defence": hull_areas(defence),
        "centroids apart": np.linalg.norm(attack.mean(axis=1) - defence.mean(axis=1), axis=1),
        "mean defender to nearest attacker": gaps.min(axis=1).mean(axis=1),
        "mean attacker to hoop": np.linalg.norm(attack - hoop[:, None], axis=2).mean(axis=1),
        "mean defender to hoop": np.linalg.norm(defence - hoop[:, None], axis=2).mean(axis=1),
        "mean speed of offence": speeds[:, :5].mean(axis=1),
        "mean speed of defence": speeds[:, 5:].mean(axis=1),
        "sd of speeds": speeds.std(axis=1),
        "ball to nearest player": to_ball.min(axis=1),
        "possession": frames.possession[is_chosen].astype(float),
        "attacker to the nearest defender m": gaps.min(axis=2),
        "defender to the nearest attacker m": gaps.min(axis=1),
        "attackers to the hoop m": np.linalg.norm(attack - hoop[:, None], axis=2),
        "defenders to the hoop m": np.linalg.norm(defence - hoop[:, None], axis=2),
        "% of offence in the attacked half": 100 * (attack[:, :, 1] * side > 0).mean(axis=1),
        "% of defence in the attacked half": 100 * (defence[:, :, 1] * side > 0).mean(axis=1),
        "% frames with all ten in the attacked half": 100 * (places[:, :, 1] * side > 0).all(axis=1),
        "nearest defender of the ball handler m": np.where(
            (to_ball[:, :5].min(axis=1) < 1.5) & (ball[:, 2] < 2.5),
            np.take_along_axis(gaps.min(axis=2), holder[:, None], axis=1)[:, 0],
            np.nan,
        ),
    }


@dataclass
class Motion:
    """Samples of all frames of all games."""

    figures: dict[str, Numbers]
    rows: Rows
    """Half-court frames, those of a possession in one group."""


def measure(games: list[list[Frames]]) -> Motion:
    samples: dict[str, list[Numbers]] = {}
    halves: dict[str, list[Numbers]] = {}
    groups: list[npt.NDArray[np.int64]] = []
    for number, sessions in enumerate(games):
        for session in sessions:
            for name, values in live_figures(session).items():
                samples.setdefault(name, []).append(values)
            for name, values in half_court(session).items():
                halves.setdefault(name, []).append(values)
            groups.append((1000 * number + halves["possession"][-1]).astype(np.int64))
    figures = {name: np.concatenate(parts) for name, parts in samples.items()}
    all_values = {name: np.concatenate(parts) for name, parts in halves.items()}
    rows = Rows(np.column_stack([all_values[name] for name in FRAME_FEATURES]), np.concatenate(groups))
    for name in ("hull of offence", "hull of defence"):
        figures[f"half-court: {name} m2"] = all_values[name]
    figures["half-court: centroids of the teams apart m"] = all_values["centroids apart"]
    for name in all_values:
        if name not in FRAME_FEATURES and name != "possession":
            values = all_values[name].ravel()
            figures[f"half-court: {name}"] = values[~np.isnan(values)]
    return Motion(figures, rows)


def live_figures(frames: Frames) -> dict[str, Numbers]:
    live = frames.is_live & (frames.owner != 0)
    is_first = frames.owner[live] == frames.teams[0]
    speeds = frames.speeds[live]
    is_known = ~np.isnan(speeds)
    of_offence = np.where(is_first[:, None], np.arange(10) < 5, np.arange(10) >= 5)
    away = np.linalg.norm(frames.places - frames.ball[:, None, :2], axis=2)[live]
    nearest = np.where(away.argmin(axis=1) < 5, frames.teams[0], frames.teams[5])
    fast = speeds[is_known]
    return {
        "% frames: the nearest to the ball is of the team that has it": 100.0 * (nearest == frames.owner[live]),
        "% of steps faster than 9 m/s (no player runs so fast)": 100.0 * (fast > 9),
        "% of time below 1 m/s": 100.0 * (fast < 1),
        "% of time faster than 4 m/s": 100.0 * (fast > 4),
        "% of time faster than 6 m/s": 100.0 * (fast > 6),
        "acceleration m/s2, steps of 0.5 s": accelerations(frames),
        "ball speed m/s, steps of 0.5 s": frames.ball_speed[live],
        "ball to the nearest player m": away.min(axis=1),
        "speed m/s, steps of 0.5 s": fast,
        "speed of offence m/s": speeds[is_known & of_offence],
        "speed of defence m/s": speeds[is_known & ~of_offence],
    }


def accelerations(frames: Frames) -> Numbers:
    steps = np.diff(frames.places, axis=0) / (np.diff(frames.t) / 1000)[:, None, None]
    turns = np.linalg.norm(np.diff(steps, axis=0), axis=2) / (np.diff(frames.t) / 1000)[1:, None]
    live = frames.is_live[2:] & frames.is_live[1:-1]
    same = ~np.isnan(frames.speeds[2:]) & ~np.isnan(frames.speeds[1:-1])
    return np.asarray(turns[live[:, None] & same])


@dataclass(frozen=True)
class Release:
    """A shot beside the positions at its time."""

    is_make: bool
    is_three: bool
    gap: float
    """To the nearest opponent, in feet."""
    gap_before: float
    """The same one second before, from the shooter's place then."""
    is_named: bool
    """Whether the service names the nearest opponent."""
    is_set: bool
    """Whether all five defenders are in the attacked half."""


def places_at(frames: Frames, at: float) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Return the ten places at a time, between two frames, and the players."""
    after = int(np.searchsorted(frames.t, at).clip(1, len(frames.t) - 1))
    before = after - 1
    nearest = after if frames.t[after] - at < at - frames.t[before] else before
    if (frames.players[before] != frames.players[after]).any():
        return frames.places[nearest], frames.players[nearest]
    part = np.clip((at - frames.t[before]) / (frames.t[after] - frames.t[before]), 0, 1)
    return frames.places[before] * (1 - part) + frames.places[after] * part, frames.players[before]


def releases(game: Game, sessions: list[Frames]) -> list[Release]:
    return [release(shot, sessions[shot["session"]]) for shot in game.shots]


def release(shot: dict[str, Any], frames: Frames) -> Release:
    at = shot["occurred_at"].timestamp() * 1000
    is_opponent = frames.teams != shot["team_id"]
    (places, players), (earlier_places, earlier_players) = places_at(frames, at), places_at(frames, at - 1000)
    away = np.linalg.norm(places[is_opponent] - [shot["player_x"] / 1000, shot["player_y"] / 1000], axis=1)
    is_shooter = earlier_players == shot["player_id"]
    gap_before = np.nan
    if is_shooter.any():
        gaps = np.linalg.norm(earlier_places[is_opponent] - earlier_places[is_shooter][0], axis=1)
        gap_before = gaps.min() * 1000 / FOOT
    return Release(
        bool(shot["is_make"]),
        bool(shot["is_3point"]),
        float(away.min() * 1000 / FOOT),
        float(gap_before),
        int(players[is_opponent][away.argmin()]) in (shot["defender_ids"] or []),
        bool((places[is_opponent][:, 1] * shot["hoop_y"] > 0).all()),
    )
