"""The score margin as a line."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import FuncFormatter

from .._lazy import pl
from ..metrics import game_state
from ._axes import draws, new_axes, nothing
from ._data import Columns, Named, Rows, names_of, team_label
from ._fit import fit
from ._look import team_colours, text_on
from ._possessions import mark_period, period_order

MINUTE = 60.0


@draws
def score_margin(
    possessions: Rows,
    possession_events: Rows | None = None,
    ax: Axes | None = None,
    *,
    teams: Named | None = None,
    colors: Mapping[int, Any] | None = None,
    **options: Any,
) -> Axes:
    """Draw the score margin of a game over time: above the middle one team leads, below it the other.

    It uses `sideline.metrics.game_state`, and requires polars too. Possessions without a game clock are left out; the
    note under the axis gives their number.

    Parameters:
        possessions: `client.possessions` of all sessions of a game, or the table `possessions`.
        possession_events: the table `possession_events` of the same sessions, if `possessions` is a table.
        ax: default: new axes.
        teams: names of teams by id, or the list of teams.
        colors: colours of teams by id; default: those of sideline.
        options: for matplotlib's `step`.

    Raises the errors of `sideline.metrics.game_state`, and `ValueError` for possessions of several games.

    >>> axes = sideline.plot.score_margin(client.possessions(client.game(game_id)))
    >>> axes.get_title(loc="left")
    'Elkhorn Mariners 66, Harrow Rangers 77'
    """
    if ax is None:
        ax = new_axes(10, 3.0)
    ax.spines[["top", "right"]].set_visible(False)
    columns = Columns(possessions, "possessions", ["team_id"])
    if not len(columns.numbers("team_id")):
        ax.set(xticks=[], yticks=[])
        nothing(ax, "possessions")
        return ax
    rows: Any = game_state(cast("Any", possessions), cast("Any", possession_events))
    states = pl.DataFrame(rows)
    if states["game_id"].n_unique() > 1:
        raise ValueError(f"these are possessions of {states['game_id'].n_unique()} games: pass those of one game")
    first, second = sorted(states["team_id"].unique())
    margin, total = _margins(states, first)
    is_timed = np.isfinite(states["seconds_left"].to_numpy())
    left_out = int((~is_timed).sum())
    note = f"{left_out} without a clock, left out" if left_out else ""
    if not is_timed.any():
        ax.set(xticks=[], yticks=[], xlabel=note)
        nothing(ax, "possessions")
        return ax
    margin = margin[np.append(is_timed, True)]
    at, begins = _elapsed(states.filter(is_timed))
    x = np.append(at, max(begins[-1][2], float(at[-1]))) / MINUTE
    lines = ax.step(x, margin, **{"where": "post", "color": "0.2", "linewidth": 1.0, **options})
    fills = team_colours((first, second), colors)
    for colour, is_leading in zip(fills, (margin > 0, margin < 0), strict=True):
        ax.fill_between(x, 0, np.where(is_leading, margin, 0), step="post", color=colour, alpha=0.45, linewidth=0)
    ax.axhline(0, color="0.4", linewidth=0.8, zorder=lines[0].get_zorder() - 0.5)
    for name, start, _ in begins:
        mark_period(ax, start / MINUTE, name)
    labels = columns.team_names(names_of(teams, "team", "teams"))
    names = [team_label(team, labels) for team in (first, second)]
    limit = max(4.0, float(np.abs(margin).max()) * 1.15)
    ax.set(xlim=(0, float(x[-1])), ylim=(-limit, limit), xlabel="; ".join(filter(None, ["minutes played", note])))
    ax.set_title(f"{names[0]} {total}, {names[1]} {total - int(margin[-1])}", loc="left", fontsize=11, pad=16)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):.0f}"))
    _write_leads(ax, names, fills)
    return fit(ax)


def _margins(states: Any, team_id: int) -> tuple[Any, int]:
    """Return the margin of a team before each possession and after the last one, and its points."""
    sign = np.where(states["team_id"].to_numpy() == team_id, 1, -1)
    before = sign * states["margin"].to_numpy()
    margin = sign * (states["points"] - states["opponent_points"]).to_numpy()
    team_points = np.where(sign == 1, states["points"].to_numpy(), states["opponent_points"].to_numpy())
    return np.append(before, before[-1] + margin[-1]), int(team_points.sum())


def _write_leads(ax: Axes, names: Sequence[str], fills: Sequence[Any]) -> None:
    """Write above and below the middle who leads there."""
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": 8}
    # A light colour cannot be read on white.
    above, below = (fill if text_on(to_rgb(fill)) == "white" else "0.25" for fill in fills)
    ax.annotate(f"{names[0]} lead", (0, 1), (4, -12), va="top", color=above, **place)
    ax.annotate(f"{names[1]} lead", (0, 0), (4, 4), va="bottom", color=below, **place)


def _elapsed(states: Any) -> tuple[Any, list[tuple[str, float, float]]]:
    """Return the seconds played at the start of each possession, and name, start and end of each period."""
    left, period = states["seconds_left"].to_numpy(), np.array(states["period"].to_list(), dtype=object)
    at, offset, begins = np.zeros(len(left)), 0.0, []
    names = sorted(set(period.tolist()), key=period_order)
    regular = [name for name in names if not name.upper().startswith("OT")]
    for position, name in enumerate(names):
        in_period = period == name
        # The time left at the end of a regular period is that of the next ones.
        later = np.ceil(left[period == names[position + 1]].max() / MINUTE) * MINUTE if name in regular[:-1] else 0.0
        length = np.ceil((left[in_period].max() - later) / MINUTE) * MINUTE
        at[in_period] = offset + length - (left[in_period] - later)
        begins.append((name, offset, offset + length))
        offset += length
    return at, begins
