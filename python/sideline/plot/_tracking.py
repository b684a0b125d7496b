"""Positions of players and ball."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from ..court import Court
from ._court import Football, Rules, court as draw_court, nothing
from ._data import Columns, Named, Numbers, Rows, epoch_ms, moment_text, names_of, plain, team_label, teams_of
from ._fit import fit
from ._look import BALL, OTHER, team_colours, text_on

MAX_AGE_MS = 1000.0
"""Milliseconds after which a position is outdated: the sensor was off, or the player had left."""


def tracking(
    locations: Rows,
    ax: Axes | None = None,
    court: Rules | Court | Football = "college",
    *,
    at: datetime | str | float | None = None,
    trail: float | timedelta = 0.0,
    teams: Named | None = None,
    players: Named | None = None,
    colors: Mapping[int, Any] | None = None,
) -> Axes:
    r"""Draw the positions at a moment on a full court or a football field, with trails.

    A position is the last one of a sensor, at most a second old. A trail is broken where nothing was sent for longer.

    Parameters:
        locations: the table `locations`; required are `t`, `x`, `y`; optional are `tag` or `player_id` (whose position
            it is), `team_id`, `type`, `game_clock`.
        ax: default: new axes.
        court: the court, or "football" for a field; see `court`.
        at: the moment: an aware `datetime`, ISO 8601, or epoch milliseconds; default: the last of the table.
        trail: seconds of the trail before the moment.
        teams: names of teams by id, or a roster.
        players: labels of players by id, such as a jersey number or a name; or a roster; default: the id.
        colors: colours of teams by id; default: those of sideline.

    Raises `ValueError` for a missing column, which it names.

    >>> locations = client.locations(session_id, session_start, session_start + 30_000)
    >>> axes = sideline.plot.tracking(locations, at=session_start + 20_000, trail=5)
    >>> axes.get_xlabel()
    '2026-10-23 01:00:20.000 UTC\n11 positions; game clock 19:40.00'
    """
    columns = Columns(locations, "locations", ["t", "x", "y"])
    t, x, y, team = (columns.numbers(name) for name in ("t", "x", "y", "team_id"))
    length = (trail.total_seconds() if isinstance(trail, timedelta) else float(trail)) * 1000
    if not length >= 0:
        raise ValueError(f"trail is {trail}; it must be 0 or more seconds")
    there = np.isfinite(t) & np.isfinite(x) & np.isfinite(y)
    ax = draw_court(ax, court, half=False)
    # A field is three times as long as a court, and its players are as close to each other.
    is_field = court == "football"
    if not there.any():
        nothing(ax, "positions")
        return ax
    moment = float(t[there].max()) if at is None else epoch_ms(at)
    order = teams_of(team)
    fills = team_colours(order, colors)
    labels = columns.team_names(teams)
    players = names_of(players, "player")
    columns = columns.only(there & (t <= moment) & (t >= moment - max(length, MAX_AGE_MS)))
    t, x, y, team, player = (columns.numbers(name) for name in ("t", "x", "y", "team_id", "player_id"))
    kinds, clocks, whose = columns.texts("type"), columns.texts("game_clock"), _whose(columns, player)
    rows = np.argsort(t, kind="stable")
    seen: set[str] = set()
    shown, clock = 0, None
    # By number: NumPy ignores NULs at the end of strings.
    sensors = {one: number for number, one in enumerate(dict.fromkeys(whose[rows].tolist()))}
    numbers = np.array([sensors[one] for one in whose[rows].tolist()], dtype=np.int64)
    for number in sensors.values():
        own = rows[numbers == number]
        last = own[-1]
        is_ball = kinds[last] == "BALL"
        place = order.index(team[last]) if team[last] in order else None
        colour = BALL if is_ball else OTHER if place is None else fills[place]
        if length:
            _trail(ax, t[own], x[own], y[own], moment - length, "0.25" if is_ball else colour)
        if t[last] < moment - MAX_AGE_MS:
            continue
        shown += 1
        clock = clock or clocks[last]
        name = "ball" if is_ball else team_label(team[last], labels)
        ax.scatter(
            x[last],
            y[last],
            s=(22 if is_ball else 75) if is_field else (40 if is_ball else 190),
            c=[colour],
            edgecolors="black" if is_ball else "white",
            linewidths=0.8,
            zorder=4 if is_ball else 3,
            label=None if name in seen else name,
        )
        seen.add(name)
        if not is_ball and np.isfinite(player[last]):
            text = plain(players.get(int(player[last]), str(int(player[last]))))
            _mark(ax, x[last], y[last], text, 5.0 if is_field else 7.0, text_on(to_rgb(colour)))
    if shown:
        ax.legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=3,
            fontsize=8,
            frameon=False,
            handletextpad=0.2,
            columnspacing=1,
        )
    else:
        nothing(ax, "positions at this moment")
    when = moment_text(moment, "milliseconds")
    on_clock = f"game clock {plain(clock)}" if clock else ""
    ax.set_xlabel(f"{when}\n" + "; ".join(filter(None, [f"{shown} positions", on_clock])), fontsize=8, color="0.35")
    return fit(ax)


def _whose(columns: Columns, player: Numbers) -> npt.NDArray[np.object_]:
    """Return the column that identifies a sensor: the tag, or the player."""
    whose = np.empty(len(player), dtype=np.object_)
    whose[:] = [str(one) if tag is None else tag for tag, one in zip(columns.texts("tag"), player, strict=True)]
    return whose


def _trail(ax: Axes, t: Numbers, x: Numbers, y: Numbers, since: float, colour: str) -> None:
    on_it = t >= since
    t, x, y = t[on_it], x[on_it], y[on_it]
    breaks = np.flatnonzero(np.diff(t) > MAX_AGE_MS) + 1
    ax.plot(
        np.insert(x, breaks, np.nan), np.insert(y, breaks, np.nan), color=colour, linewidth=1.4, alpha=0.55, zorder=2
    )


def _mark(ax: Axes, x: float, y: float, text: str, size: float, inside: str) -> None:
    # A short label is drawn in the circle, a long one beside it.
    if len(text) <= 2:
        ax.annotate(text, (x, y), ha="center", va="center", fontsize=size, color=inside, weight="bold", zorder=5)
    else:
        ax.annotate(
            text,
            (x, y),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=size - 0.5,
            zorder=5,
        )
