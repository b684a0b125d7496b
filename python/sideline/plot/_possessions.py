"""Possessions on a time axis."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from ._axes import draws, new_axes, nothing
from ._data import Columns, Named, Numbers, Rows, moment_text, plain, team_label, teams_of
from ._fit import fit
from ._look import team_colours

MINUTE = 60.0

_MAX_TICKS = 12
"""The largest number of ticks of a period, however long its clock claims to be."""

Objects = npt.NDArray[np.object_]


@draws
def possession_timeline(
    possessions: Rows,
    ax: Axes | None = None,
    *,
    clock: Literal["game", "wall"] = "game",
    teams: Named | None = None,
    colors: Mapping[int, Any] | None = None,
    **options: Any,
) -> Axes:
    """Draw possessions as bars over time, with a row for each team and a cross over turnovers.

    The axis is the game clock, which runs down in each period, or with `clock="wall"` minutes since the first
    possession. Possessions without start or end are left out; the note under the axis gives their number.

    Parameters:
        possessions: the table `possessions`. Required are `team_id` and `start_game_clock_s`, `end_game_clock_s`, for
            "wall" `start_timestamp`, `end_timestamp`; optional are `team_name`, `period`, `turnover`.
        ax: default: new axes.
        clock: "game" or "wall".
        teams: names of teams by id, or the list of teams.
        colors: colours of teams by id; default: those of sideline.
        options: for matplotlib's `broken_barh`.

    Raises `ValueError` for a missing column, which it names, and for game clocks of two games, or of two sessions that
    have the same period and no `game_id`: pass the possessions of one game.

    >>> axes = sideline.plot.possession_timeline(client.possessions(session_id))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['Elkhorn Mariners', 'Harrow Rangers']
    """
    if clock not in ("game", "wall"):
        raise ValueError(f"clock is {clock!r}; it must be game or wall")
    names = ("start_game_clock_s", "end_game_clock_s") if clock == "game" else ("start_timestamp", "end_timestamp")
    columns = Columns(possessions, "possessions", ["team_id", *names])
    team, start, end = (columns.numbers(name) for name in ("team_id", *names))
    period, is_turnover = columns.texts("period"), columns.numbers("turnover") > 0
    if ax is None:
        ax = new_axes(10, 2.6)
    is_complete = np.isfinite(team) & np.isfinite(start) & np.isfinite(end)
    left_out = int((~is_complete).sum())
    note = f"{left_out} incomplete, left out" if left_out else ""
    ax.spines[["top", "right", "left"]].set_visible(False)
    if not is_complete.any():
        ax.set(xticks=[], yticks=[], xlabel=note)
        nothing(ax, "possessions")
        return ax
    if clock == "game":
        _check_one_game(*(columns.texts(name)[is_complete].tolist() for name in ("game_id", "session_id", "period")))
    team, start, end, period, is_turnover = (
        team[is_complete],
        start[is_complete],
        end[is_complete],
        period[is_complete],
        is_turnover[is_complete],
    )
    place = _on_the_game_clock if clock == "game" else _on_the_wall
    begin, length, axis = place(ax, start, end, period)
    labels = columns.team_names(teams)
    order = teams_of(team)
    for row, (team_id, colour) in enumerate(zip(order, team_colours(order, colors), strict=True)):
        of_team = team == team_id
        look = {"facecolors": colour, "linewidths": 0, **options}
        _draw_row(ax, row, np.column_stack([begin, length])[of_team], is_turnover[of_team], look)
    _name_rows(ax, [team_label(team_id, labels) for team_id in order])
    marks = "x: turnover" if is_turnover.any() else ""
    ax.set_xlabel("; ".join(filter(None, [axis, marks, note])), fontsize=9, color="0.25")
    return fit(ax)


def _check_one_game(games: list[str | None], sessions: list[str | None], periods: list[str | None]) -> None:
    """Raise for possessions of two games, whose clocks have no common axis."""
    if len(set(games)) > 1:
        raise ValueError(f"these are possessions of {len(set(games))} games: pass those of one game")
    if games[0] is None and len(set(zip(sessions, periods, strict=True))) > len(set(periods)):
        raise ValueError("two sessions have the same period and no game_id: pass those of one game")


def _draw_row(ax: Axes, row: int, bars: Numbers, is_turnover: npt.NDArray[np.bool_], look: dict[str, Any]) -> None:
    """Draw the possessions of a team, each with its begin and length, and crosses over its turnovers."""
    ax.broken_barh([(begin, length) for begin, length in bars.tolist()], (row - 0.3, 0.6), **look)
    begin, length = bars[is_turnover].T
    middle = begin + length / 2
    ax.scatter(middle, np.full(len(middle), row - 0.4), marker="x", s=12, c="0.15", linewidths=0.9, zorder=3)


def _name_rows(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set(ylim=(len(names) - 0.4, -0.6))
    ax.tick_params(axis="y", length=0)


def _on_the_game_clock(ax: Axes, start: Numbers, end: Numbers, period: Objects) -> tuple[Numbers, Numbers, str]:
    """Draw minutes from tip-off, one period after another; the ticks show the game clock."""
    names = sorted({name for name in period.tolist() if name is not None}, key=period_order) or [None]
    begin, offset, ticks, texts = np.zeros(len(start)), 0.0, [], []
    for name in names:
        in_period = _is(period, name) if name is not None else np.ones(len(start), dtype=bool)
        # The length of a period is rounded up to whole minutes.
        minutes = math.ceil(float(start[in_period].max()) / MINUTE)
        begin[in_period] = offset + minutes - start[in_period] / MINUTE
        mark_period(ax, offset, name)
        step = 5 if minutes % 5 == 0 else 3 if minutes % 3 == 0 else 1
        step = max(step, minutes // _MAX_TICKS)
        for left in range(minutes, 0, -step):
            ticks.append(offset + minutes - left)
            texts.append(f"{left}:00")
        offset += minutes
    ax.set_xticks([*ticks, offset], [*texts, "0:00"])
    ax.set_xlim(0, offset or 1.0)
    return begin, (start - end) / MINUTE, "game clock"


def _on_the_wall(ax: Axes, start: Numbers, end: Numbers, period: Objects) -> tuple[Numbers, Numbers, str]:
    origin = start.min()
    begin, length = (start - origin) / 1000 / MINUTE, (end - start) / 1000 / MINUTE
    for name in dict.fromkeys(name for name in period.tolist() if name is not None):
        mark_period(ax, float(begin[_is(period, name)].min()), name)
    last = float((begin + length).max())
    ax.set_xlim(0, last if last > 0 else 1.0)
    return begin, length, f"minutes from {moment_text(origin)}"


def _is(period: Objects, name: str) -> npt.NDArray[np.bool_]:
    # Not by ==: NumPy ignores NULs at the end of strings.
    return np.array([value == name for value in period.tolist()], dtype=bool)


def mark_period(ax: Axes, at: float, name: str | None) -> None:
    """Draw a line at the start of a period."""
    if name is not None:
        ax.axvline(at, color="0.6", linewidth=0.8, linestyle=":", zorder=0.5)
        ax.annotate(plain(name), (at, 1), (2, 0), ("data", "axes fraction"), "offset points", fontsize=8)


def period_order(name: str) -> tuple[bool, int, str]:
    """Sort overtimes after halves and quarters, and the tenth after the second."""
    return name.upper().startswith("OT"), len(name), name
