"""Possessions on a line of time."""

import numpy as np
from matplotlib.axes import Axes

from sideline.plot._court import new_axes, nothing
from sideline.plot._data import Columns, Names, Rows, moment_text, plain, team_label, teams_of
from sideline.plot._look import team_colour

MINUTE = 60_000.0


def possession_timeline(possessions: Rows, ax: Axes | None = None, *, teams: Names | None = None) -> Axes:
    """Draw possessions as bars over time, a row for each team; a cross is over those that ended in a turnover.

    The axis is in minutes of the clock on the wall, from the first possession. A possession without start or end is not
    shown; the note under the axis counts it.

    Parameters:
        possessions: the table `possessions`; needed are `team_id`, `start_timestamp`, `end_timestamp`; used where they
            are there: `team_name`, `period`, `turnover`.
        ax: default: a new one.
        teams: names of teams by id.

    Raises `ValueError` where a needed column is missing, and names it.

    >>> axes = sideline.plot.possession_timeline(client.possessions(session_id))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['Elkhorn Mariners', 'Harrow Rangers']
    """
    columns = Columns(possessions, "possessions", ["team_id", "start_timestamp", "end_timestamp"])
    team, start, end, turnover = (
        columns.numbers(name) for name in ("team_id", "start_timestamp", "end_timestamp", "turnover")
    )
    period = columns.texts("period")
    if ax is None:
        ax = new_axes(10, 2.6)
    whole = np.isfinite(team) & np.isfinite(start) & np.isfinite(end)
    left_out = int((~whole).sum())
    note = f"{left_out} incomplete, left out" if left_out else ""
    ax.spines[["top", "right", "left"]].set_visible(False)
    if not whole.any():
        ax.set(xticks=[], yticks=[], xlabel=note)
        nothing(ax, "possessions")
        return ax
    team, start, end, turnover, period = team[whole], start[whole], end[whole], turnover[whole], period[whole]
    origin = start.min()
    begin, length = (start - origin) / MINUTE, (end - start) / MINUTE
    labels = columns.team_names(teams)
    order = teams_of(team)
    for row, one in enumerate(order):
        own = team == one
        bars = list(zip(begin[own].tolist(), length[own].tolist(), strict=True))
        ax.broken_barh(bars, (row - 0.3, 0.6), facecolors=team_colour(row), linewidths=0)
        lost = own & (turnover > 0)
        middle = begin[lost] + length[lost] / 2
        ax.scatter(middle, np.full(len(middle), row - 0.4), marker="x", s=12, c="0.15", linewidths=0.9, zorder=3)
    ax.set_yticks(range(len(order)), [team_label(one, labels) for one in order])
    last = float((begin + length).max())
    ax.set(ylim=(len(order) - 0.4, -0.6), xlim=(0, last if last > 0 else 1.0))
    ax.tick_params(axis="y", length=0)
    begins = begin.tolist()
    for name in dict.fromkeys(one for one in period.tolist() if one is not None):
        # Not by an array's ==: comparing texts, NumPy leaves out NULs at their end.
        first = min(at for at, one in zip(begins, period.tolist(), strict=True) if one == name)
        ax.axvline(first, color="0.6", linewidth=0.8, linestyle=":", zorder=0.5)
        ax.annotate(plain(name), (first, 1), (2, 0), ("data", "axes fraction"), "offset points", fontsize=8)
    since = f"minutes from {moment_text(origin)}"
    marks = "x: turnover" if bool((turnover > 0).any()) else ""
    ax.set_xlabel("; ".join(filter(None, [since, marks, note])), fontsize=9, color="0.25")
    return ax
