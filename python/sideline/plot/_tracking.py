"""Positions of players and ball."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from .._client import Duration, Time, as_seconds
from .._core import _epoch_ms
from .._rows import is_number
from ..court import Court
from ._axes import draws, nothing
from ._court import Football, Rules, court as draw_court
from ._data import Columns, Named, Names, Numbers, Rows, moment_text, names_of, plain, team_label, teams_of
from ._fit import fit
from ._look import BALL, OTHER, team_colours, text_on

MAX_AGE_MS = 1000.0
"""Milliseconds after which a position is outdated: the sensor was off, or the player had left."""


@draws
def tracking(
    locations: Rows,
    ax: Axes | None = None,
    court: Rules | Court | Football = "college",
    *,
    at: Time | None = None,
    trail: Duration = 0.0,
    teams: Named | None = None,
    players: Named | None = None,
    colors: Mapping[int, Any] | None = None,
) -> Axes:
    r"""Draw the positions at a moment on a full court or a football field, with trails.

    A position is the last one of a sensor, at most a second old. A trail is broken where nothing was sent for longer.

    Parameters:
        locations: the table `locations`; required are `t`, `x`, `y`; optional are `tag` or `player_id` (the
            position's owner), `team_id`, `type`, `game_clock`.
        ax: default: new axes.
        court: the court, or "football" for a field; see `court`.
        at: the moment: an aware `datetime`, ISO 8601, or epoch milliseconds; default: the last of the table.
        trail: seconds, or a `timedelta`, of the trail before the moment.
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
    seconds = as_seconds(trail)
    if not (is_number(seconds) and seconds >= 0):
        raise ValueError(f"trail is {trail!r}; it must be 0 or more seconds")
    length = 1000 * seconds
    has_position = np.isfinite(t) & np.isfinite(x) & np.isfinite(y)
    ax = draw_court(ax, court, half=False)
    if not has_position.any():
        nothing(ax, "positions")
        return ax
    moment = float(t[has_position].max()) if at is None else _epoch_ms("at", at)
    order = teams_of(team)
    fills = dict(zip(order, team_colours(order, colors), strict=True))
    names, labels = columns.team_names(teams), names_of(players, "player", "players")
    columns = columns.only(has_position & (t <= moment) & (t >= moment - max(length, MAX_AGE_MS)))
    sensors = list(_sensors(columns, fills, names, labels))
    if length:
        for sensor in sensors:
            _trail(ax, sensor, moment - length)
    current = [sensor for sensor in sensors if sensor.t[-1] >= moment - MAX_AGE_MS]
    # A field is three times as long as a court, and its players are as close to each other.
    _dots(ax, current, is_field=court == "football")
    when = moment_text(moment, "milliseconds")
    clock = next((sensor.clock for sensor in current if sensor.clock), None)
    on_clock = f"; game clock {plain(clock)}" if clock else ""
    ax.set_xlabel(f"{when}\n{len(current)} positions{on_clock}", fontsize=8, color="0.35")
    return fit(ax)


@dataclass(frozen=True)
class _Sensor:
    """The positions of a sensor by time, up to the moment, and how it is drawn."""

    t: Numbers
    x: Numbers
    y: Numbers
    is_ball: bool
    colour: Any
    name: str
    """The ball, or the team."""
    player: str | None
    clock: Any


def _sensors(columns: Columns, fills: Mapping[float, Any], teams: Names, players: Names) -> Iterator[_Sensor]:
    """Yield each sensor: a tag, or a player."""
    t, x, y, team, player = (columns.numbers(name) for name in ("t", "x", "y", "team_id", "player_id"))
    kinds, clocks, tags = columns.texts("type"), columns.texts("game_clock"), columns.texts("tag")
    # In lists: NumPy ignores NULs at the end of strings.
    rows_by_sensor: dict[Any, list[int]] = {}
    for row in np.argsort(t, kind="stable").tolist():
        rows_by_sensor.setdefault(str(player[row]) if tags[row] is None else tags[row], []).append(row)
    for rows in rows_by_sensor.values():
        last = rows[-1]
        is_ball = kinds[last] == "BALL"
        colour = BALL if is_ball else fills.get(team[last], OTHER)
        name = "ball" if is_ball else team_label(team[last], teams)
        has_label = not is_ball and np.isfinite(player[last])
        label = plain(players.get(int(player[last]), str(int(player[last])))) if has_label else None
        yield _Sensor(t[rows], x[rows], y[rows], is_ball, colour, name, label, clocks[last])


def _trail(ax: Axes, sensor: _Sensor, since: float) -> None:
    on_it = sensor.t >= since
    t, x, y = sensor.t[on_it], sensor.x[on_it], sensor.y[on_it]
    breaks = np.flatnonzero(np.diff(t) > MAX_AGE_MS) + 1
    colour = "0.25" if sensor.is_ball else sensor.colour
    ax.plot(
        np.insert(x, breaks, np.nan), np.insert(y, breaks, np.nan), color=colour, linewidth=1.4, alpha=0.55, zorder=2
    )


def _dots(ax: Axes, sensors: Sequence[_Sensor], *, is_field: bool) -> None:
    """Draw the last position of each sensor, and the legend."""
    if not sensors:
        nothing(ax, "positions at this moment")
        return
    seen: set[str] = set()
    for sensor in sensors:
        x, y, is_ball = sensor.x[-1], sensor.y[-1], sensor.is_ball
        ax.scatter(
            x,
            y,
            s=(22 if is_ball else 75) if is_field else (40 if is_ball else 190),
            c=[sensor.colour],
            edgecolors="black" if is_ball else "white",
            linewidths=0.8,
            zorder=4 if is_ball else 3,
            label=None if sensor.name in seen else sensor.name,
        )
        seen.add(sensor.name)
        if sensor.player is not None:
            _mark(ax, x, y, sensor.player, 5.0 if is_field else 7.0, text_on(to_rgb(sensor.colour)))
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3}
    ax.legend(**place, fontsize=8, frameon=False, handletextpad=0.2, columnspacing=1)


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
